/*
 * fwdops.h - the call path and module of a process's forward operators, by sequence number.
 *
 * An operator of the backward pass is attributed to the forward operator with the same sequence
 * number. If several have the same number, the last one counts. A process retains its last
 * PASTA_FORWARD_OPS_MAX numbers, or fewer if all processes together reach PASTA_FORWARD_OPS_ALL.
 * One thread at a time.
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
	uint32_t python, module; /* ids of its call path and its module's path; 0: none */
};

/* Zero it before use. */
struct pasta_forward_ops {
	struct pasta_forward_op *slots; /* by seq; NULL: empty */
	size_t mask;
	bool full; /* new numbers replace older ones */
};

void pasta_forward_ops_free(struct pasta_forward_ops *f); /* frees the content, not f */
/* Adds an operator, whose seq is not 0. *all counts the slots of all processes. 0 or -ENOMEM. */
int pasta_forward_ops_add(struct pasta_forward_ops *f, const struct pasta_forward_op *forward,
			  size_t *all);
/* Returns NULL if the number is unknown. *expired: a later number has replaced it. */
const struct pasta_forward_op *pasta_forward_ops_find(const struct pasta_forward_ops *f,
						      uint64_t seq, bool *expired);

#endif
