/* detour.h - replaces the start of a library function with a jump to another function. */
#ifndef PASTA_HANDLERS_CUDA_DETOUR_H
#define PASTA_HANDLERS_CUDA_DETOUR_H

#include <stdbool.h>
#include <stdint.h>

enum { DETOUR_SIZE = 16 };

struct detour {
	/* start of the function whose code a jump has replaced; NULL if no detour is set */
	uint8_t *at;
	uint8_t before[DETOUR_SIZE];
};

/* Redirects calls of `function` to `to`, which receives the caller's arguments and return address.
 * If the code of `function` is too short or cannot be written, or if the processor is not
 * supported, the code stays unchanged, and the result is false. The caller ensures that no thread
 * is about to call `function`. */
bool detour_set(struct detour *d, void *function, void *to);
/* Restores the original code of the function. Does nothing if no detour is set. */
void detour_undo(struct detour *d);

#endif
