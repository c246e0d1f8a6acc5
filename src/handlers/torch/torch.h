/* torch.h - internal header of the PyTorch handler. */
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
	TORCH_TEXT_SETS = 512,
	TORCH_TEXT_WAYS = 4,
};

/* An operator that has begun and not ended. */
struct torch_open {
	const void *key;
	uint64_t id, time, seq; /* id 0: not recorded */
	uint32_t ops;		/* number of recorded operators that are open, including this one */
	bool backward, region, compiles; /* `compiles`: a region in which torch.compile compiles */
};

/* A cached shape, strides and type, with their interned ids. */
struct torch_layout {
	uint32_t dims;
	uint32_t dtype;				 /* PyTorch's ScalarType */
	uint32_t shape_id, strides_id, dtype_id; /* dtype_id 0: the slot is empty */
	bool has_strides;
	int64_t shape[TORCH_DIMS], strides[TORCH_DIMS];
};

/* A tensor in the table. The address of its TensorImpl is the key. */
struct torch_tensor {
	const void *impl;
	_Atomic uint64_t id, touched;
	uint64_t storage;   /* the storage's id; 0 if the end of the storage is not reported */
	uint32_t signature; /* a hash of the properties that identify the tensor */
	uint32_t slot;	    /* the storage's position in the table */
};

/* An entry of a thread's cache: a tensor that the thread has used before. The entry is valid as
 * long as the tensor and its storage have these ids in the tables. */
struct torch_known {
	struct torch_tensor *tensor;
	const _Atomic uint64_t *alive_id;
	const void *impl;
	uint64_t id, storage;
	uint32_t signature;
} __attribute__((aligned(64)));

/* A cached description of an operator's arguments or results: the interned ids of its texts, by
 * enum pasta_torch_description. */
struct torch_texts {
	uint64_t hash; /* 0: the slot is empty */
	uint32_t ids[PASTA_TORCH_DESCRIPTIONS];
	uint32_t next; /* in the first slot of a set: the slot that is replaced next */
};

/* A thread of the program. */
struct torch_thread {
	uint32_t gen; /* the generation (pasta_agent_gen) of the process that filled this struct */
	uint32_t depth;
	uint64_t id; /* the last id that this thread has assigned */
	/* memory that the thread has newly allocated and not yet added to the table */
	const void *fresh;
	/* whether the thread has freed a segment since the latest operator began */
	bool freed_segment;
	/* whether there was no memory for the latest new text, and how many new operators came
	 * since then */
	bool texts_full;
	uint32_t texts_skipped;
	uint32_t torch, annotation, profiler_step, allocated, reserved;
	/* open operators; all operators past TORCH_DEPTH share the last entry */
	struct torch_open open[TORCH_DEPTH + 1];
	struct torch_layout layouts[1 << TORCH_LAYOUT_BITS];
	struct torch_known known[TORCH_KNOWN];
	struct torch_texts texts[TORCH_TEXT_SETS][TORCH_TEXT_WAYS];
};

/* Returns a number that is unique in the process. */
static inline uint64_t torch_id(struct torch_thread *t)
{
	return ++t->id;
}

extern const struct pasta_torch_shim *torch_shim;

/* -- tensors.c: unique ids of tensors and storages -- */

/* Allocate the tables, once. Returns false when out of memory. */
bool torch_tensors_open(void);
/* Add the records of an operator's tensors from index `from` up to but not including `to`. Each new
 * tensor gets a TENSOR record. If a new tensor is a view of another new tensor, the record of that
 * other tensor comes first. Unless `id` is 0, each tensor also gets an OP_ARG record. `since` is
 * the start time of the operator if the operator returns the tensors, and 0 if the operator reads
 * the tensors. Tensors that could not be recorded are counted as loss. */
void torch_args_add(struct torch_thread *t, struct pasta_batch *b, const struct pasta_torch_op *op,
		    uint32_t from, uint32_t to, uint64_t id, enum pasta_op_arg_sub sub,
		    uint64_t since);
/* Prefetch the table entry of a storage or tensor, which is rarely in the processor's cache. */
void torch_storage_prefetch(const void *data);
void torch_tensor_prefetch(const struct pasta_torch_tensor *tensor);
/* Add to the table the memory that the thread has newly allocated (`fresh`). */
void torch_storage_add_fresh(struct torch_thread *t);
/* End the storage at this address, because its memory was freed. */
void torch_storage_end(const void *data);
/* Called when the shim no longer sees all allocations and frees. */
void torch_tensors_blind(void);

/* -- texts.c: descriptions of arguments and results -- */

/* Returns the description of the operator's values, valid until the next call. If the operator has
 * none, all ids are 0. `results` is true at the end of the operator: only shapes are described. */
const struct torch_texts *torch_texts_get(struct torch_thread *t, const struct pasta_torch_op *op,
					  bool results);

/* -- derive.c -- */

/* Emit an iteration if the region is a step of PyTorch's profiler, such as "ProfilerStep#7". */
void torch_derive_step(const struct torch_thread *t, const char *region);
/* Returns whether torch.compile compiles a frame in this region, and compilations are recorded. */
bool torch_derive_compiles(const char *region);
/* Emit a compilation, as the load of a module. */
void torch_derive_compiled(struct torch_thread *t, uint64_t begin, uint64_t end);
/* Called when the thread frees (`freed`) or allocates a segment. PyTorch's allocator retries after
 * it has freed cached segments, so an allocation after a free in one operator is a retry. Counts
 * the retries. */
void torch_derive_retry(struct torch_thread *t, bool freed, uint32_t device);

/* -- torch.c -- */

/* Start to record with the shim that has this entry point. Returns 0, or a negative errno with the
 * reason in `why`. */
int torch_start(pasta_torch_entry entry, char *why, size_t size);

/* -- Exported for python/accelprof/_torch.py. Any thread may call these functions -- */

/* Returns whether the process belongs to a run that records anything of PyTorch. If not, the shim
 * need not be compiled. */
int pasta_torch_enabled(void);
/* Load the shim and start to record. A second call does nothing. Returns 0, or a negative errno
 * with the reason in `why`. */
int pasta_torch_attach(const char *shim, char *why, size_t size);
/* Print what does not work. The same message is printed only once. */
void pasta_torch_log(const char *what);
/* Release PyTorch's profiler slot, because another profiler is about to start on the calling
 * thread. */
void pasta_torch_yield(void);

#endif
