/*
 * fwdops.h - where a process's operators came from, by sequence number: what the backward pass
 * runs belongs to the forward operator of the same number.
 *
 * Of several of one number the last counts. The last PASTA_FORWARD_OPS_MAX numbers are kept; fewer,
 * where all processes together have PASTA_FORWARD_OPS_ALL. One thread at a time.
 */
#ifndef PASTA_PROCESS_FWDOPS_H
#define PASTA_PROCESS_FWDOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_FORWARD_OPS_MAX (1 << 20) /* of a process */
#define PASTA_FORWARD_OPS_ALL (1 << 24) /* 256 MiB */

struct pasta_forward_op {
	uint64_t seq;
	uint32_t python, module; /* its call path and its module's path; 0: none */
};

/* Zero it before use. */
struct pasta_forward_ops {
	struct pasta_forward_op *slots; /* by seq; NULL: none */
	size_t mask;
	bool full; /* older numbers go for newer ones */
};

void pasta_forward_ops_free(struct pasta_forward_ops *f); /* what is in it */
/* 0 or -ENOMEM. seq is not 0. *all counts the slots of all processes. */
int pasta_forward_ops_add(struct pasta_forward_ops *f, const struct pasta_forward_op *forward,
			  size_t *all);
/* NULL: not known. *gone: a later one has taken its place. */
const struct pasta_forward_op *pasta_forward_ops_find(const struct pasta_forward_ops *f,
						      uint64_t seq, bool *expired);

#endif
