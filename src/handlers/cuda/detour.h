/* detour.h - replaces the start of a library function with a jump to another function. */
#ifndef PASTA_HANDLERS_CUDA_DETOUR_H
#define PASTA_HANDLERS_CUDA_DETOUR_H

#include <stdbool.h>
#include <stdint.h>

enum { DETOUR_SIZE = 16 };

struct detour {
	uint8_t *at; /* original code that the jump replaced; NULL if no detour is set */
	uint8_t before[DETOUR_SIZE];
};

/* Redirects calls of "function" to "to", which receives the caller's arguments and return address.
 * Returns false, and leaves "function" unchanged, if its code is too short, cannot be written, or
 * the processor is not supported. The caller ensures that no thread is about to call "function". */
bool detour_set(struct detour *d, void *function, void *to);
/* Restores the original code of the function. Does nothing if no detour is set. */
void detour_undo(struct detour *d);

#endif
