/* torch.h - what the parts of the PyTorch handler share. */
#ifndef PASTA_HANDLERS_TORCH_TORCH_H
#define PASTA_HANDLERS_TORCH_TORCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collect/agent.h"
#include "handlers/torch/shim.h"

enum {
	TORCH_DEPTH = 256,
	TORCH_KNOWN = 256,
	TORCH_LAYOUT_BITS = 7,
	TORCH_DIMS = 6,
};

/* An operator that has begun and not ended. */
struct torch_open {
	const void *key;
	uint64_t id, time, seq; /* id 0: it is not recorded */
	uint32_t ops;		/* recorded operators that are open, itself included */
	bool backward, region;
};

/* A shape, strides and a type, with their ids. */
struct torch_layout {
	uint32_t dims;
	uint32_t dtype;			       /* PyTorch's number of it */
	uint32_t shape_id, steps_id, dtype_id; /* dtype_id 0: there is none here */
	bool has_steps;
	int64_t shape[TORCH_DIMS], steps[TORCH_DIMS];
};

/* A tensor, by its TensorImpl. */
struct torch_tensor {
	const void *impl;
	_Atomic uint64_t id, touched;
	uint64_t storage; /* 0: nothing tells when it ends */
	uint32_t look;	  /* a hash of all that makes it another one when it changes */
	uint32_t place;	  /* of the storage */
};

/* One that the thread has used: it is still that one while both places have these ids. */
struct torch_known {
	struct torch_tensor *tensor;
	const _Atomic uint64_t *lives;
	const void *impl;
	uint64_t id, storage;
	uint32_t look;
} __attribute__((aligned(64)));

/* A thread of the program. */
struct torch_thread {
	uint32_t gen; /* of the process that the rest belongs to */
	uint32_t depth;
	uint64_t id;	   /* the last one that was given */
	const void *fresh; /* memory that was given out, and is not in the table yet */
	uint32_t torch, annotation, allocated, reserved;
	struct torch_open open[TORCH_DEPTH + 1]; /* the last is that of any deeper one */
	struct torch_layout layouts[1 << TORCH_LAYOUT_BITS];
	struct torch_known known[TORCH_KNOWN];
};

/* A number that nothing else in the process has. */
static inline uint64_t torch_id(struct torch_thread *t)
{
	return ++t->id;
}

extern const struct pasta_torch_shim *torch_shim;

/* -- tensors.c: which tensor, and which storage, is which -- */

/* Once. False: there is no memory. */
bool torch_tensors_open(void);
/* Tensors of an operator, from one up to another: those that are new have their TENSOR event added,
 * and that of their base where that is new, too; then, unless id is 0, each its OP_ARG. since is
 * when the operator began that made or wrote them; 0: the operator reads them. Those that could not
 * be told are counted. */
void torch_args_add(struct torch_thread *t, struct pasta_batch *b, const struct pasta_torch_op *op,
		    uint32_t from, uint32_t to, uint64_t id, enum pasta_op_arg_sub sub,
		    uint64_t since);
/* These are asked for soon. As a rule they are not in the cache. */
void torch_storage_soon(const void *data);
void torch_tensor_soon(const struct pasta_torch_tensor *tensor);
/* Have the memory in the table that is the thread's fresh one. */
void torch_storage_settle(struct torch_thread *t);
/* Memory at this address is taken back. */
void torch_storage_end(const void *data);
/* From now on not all of that is seen. */
void torch_tensors_blind(void);

/* -- torch.c -- */

/* Begin to record with this shim. 0, or a negative errno and why. */
int torch_start(pasta_torch_entry entry, char *why, size_t size);

/* What Python calls (python/accelprof/_torch.py). Any thread. */

/* Whether there is a run, and anything of PyTorch's is wanted: else nothing need be compiled. */
int pasta_torch_enabled(void);
/* Load the shim and begin. Idempotent. 0, or a negative errno and why. */
int pasta_torch_attach(const char *shim, char *why, size_t size);
/* Tell the user, once, what cannot be done. */
void pasta_torch_log(const char *what);
/* Another profiler is about to begin on the calling thread: leave it PyTorch's place for one. */
void pasta_torch_yield(void);

#endif
