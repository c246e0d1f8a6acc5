/*
 * fwdops.h - stores the call path and module of forward operators by sequence number.
 *
 * An operator of the backward pass is attributed to the forward operator with the same sequence
 * number. If several forward operators have the same number, the last one counts. A process retains
 * its last PASTA_FORWARD_OPS_MAX numbers, or fewer if all processes together reach
 * PASTA_FORWARD_OPS_ALL. Only one thread at a time may call these functions.
 */
#ifndef PASTA_PROCESS_FWDOPS_H
#define PASTA_PROCESS_FWDOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_FORWARD_OPS_MAX (1 << 20) /* per process */
#define PASTA_FORWARD_OPS_ALL (1 << 24) /* 256 MiB */

struct pasta_forward_op {
	uint64_t seq;
	/* Ids of the operator's call path and of its module's path. An id is 0 if there is no such
	 * path. */
	uint32_t python, module;
};

/* The forward operators of a process. Zero the struct before use. */
struct pasta_forward_ops {
	/* Slots of operators, by sequence number; NULL until an operator is added. */
	struct pasta_forward_op *slots;
	size_t mask;
	bool full; /* the slots cannot grow; new sequence numbers replace older ones */
};

void pasta_forward_ops_free(struct pasta_forward_ops *f); /* frees the content, not f */
/* Adds an operator, whose seq must not be 0. *all is the number of slots of all processes together.
 * Returns 0 or -ENOMEM. */
int pasta_forward_ops_add(struct pasta_forward_ops *f, const struct pasta_forward_op *forward,
			  size_t *all);
/* Finds an operator by its sequence number. Returns NULL if the number is unknown; sets *expired if
 * a later number has replaced it. */
const struct pasta_forward_op *pasta_forward_ops_find(const struct pasta_forward_ops *f,
						      uint64_t seq, bool *expired);

#endif
