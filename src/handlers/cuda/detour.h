/* detour.h - replace the start of a library function with a jump to another function. */
#ifndef PASTA_HANDLERS_CUDA_DETOUR_H
#define PASTA_HANDLERS_CUDA_DETOUR_H

#include <stdbool.h>
#include <stdint.h>

enum { DETOUR_SIZE = 16 };

struct detour {
	uint8_t *at; /* the function with the jump; NULL: no detour is set */
	uint8_t before[DETOUR_SIZE];
};

/* Make calls of function go to the function "to", which sees the caller's arguments and return
 * address. Returns false, with function unchanged, if it is too short, its code cannot be written
 * or the processor is not supported. No thread may be about to enter function. */
bool detour_set(struct detour *d, void *function, void *to);
/* Restore the function. Does nothing if no detour is set. */
void detour_undo(struct detour *d);

#endif
