/*
 * forward.h - where a process's operators came from, by sequence number: what the backward pass
 * runs belongs to the forward operator of the same number.
 *
 * Of several of one number the last counts. The last PASTA_FORWARD_MAX numbers are kept. One thread
 * at a time.
 */
#ifndef PASTA_PROCESS_FORWARD_H
#define PASTA_PROCESS_FORWARD_H

#include <stddef.h>
#include <stdint.h>

#define PASTA_FORWARD_MAX (1 << 20) /* of a process */

struct pasta_forward {
	uint64_t seq;
	uint32_t python, module; /* its call path and its module's path; 0: none */
};

/* Zero it before use. */
struct pasta_forwards {
	struct pasta_forward *slots; /* by seq; NULL: none */
	size_t mask;
};

void pasta_forwards_free(struct pasta_forwards *f); /* what is in it */
/* 0 or -ENOMEM. seq is not 0. */
int pasta_forwards_add(struct pasta_forwards *f, const struct pasta_forward *forward);
/* NULL: not known. *gone: a later one has taken its place. */
const struct pasta_forward *pasta_forwards_find(const struct pasta_forwards *f, uint64_t seq,
						int *gone);

#endif
