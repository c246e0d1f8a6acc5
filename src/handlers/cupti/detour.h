/* detour.h - a library's function that begins with a jump to one of ours. */
#ifndef PASTA_HANDLERS_CUPTI_DETOUR_H
#define PASTA_HANDLERS_CUPTI_DETOUR_H

#include <stdbool.h>
#include <stdint.h>

enum { DETOUR_SIZE = 16 };

struct detour {
	uint8_t *at; /* NULL: there is none */
	uint8_t before[DETOUR_SIZE];
};

/* Calls of function go to to, which sees the caller's arguments and return address. False: it
 * cannot be done, and function is as it was. No thread may be about to enter function. */
bool detour_set(struct detour *d, void *function, void *to);
/* As before, for good. */
void detour_undo(struct detour *d);

#endif
