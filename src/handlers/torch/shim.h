/*
 * shim.h - the interface between the agent and the PyTorch shim. The interface is plain C, so that
 * only the shim depends on PyTorch's C++ interface.
 *
 * The shim is compiled on the machine where the program runs, against the program's PyTorch. If
 * agent and shim were compiled with different values of PASTA_TORCH_ABI, PyTorch is not recorded.
 * None of these functions throws, prints or blocks.
 */
#ifndef PASTA_HANDLERS_TORCH_SHIM_H
#define PASTA_HANDLERS_TORCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PASTA_TORCH_ABI 2

/* The current state of a tensor. The pointers are valid only during the call that passes them. */
struct pasta_torch_tensor {
	/* address of the TensorImpl, unique while the tensor exists */
	const void *impl;
	/* address of the StorageImpl; NULL if the tensor has no storage */
	const void *storage;
	/* address of the storage's memory; NULL if the storage has no memory */
	const void *data;
	const void *addr;		/* the tensor's first element */
	const int64_t *shape, *strides; /* `strides` is NULL if the tensor has no strides */
	uint64_t bytes;			/* the size of the storage */
	uint32_t dims;
	uint32_t index,
		list; /* the argument's index, and the tensor's index if the argument is a list */
	uint16_t device; /* 0: the host; n: device n - 1 */
	uint8_t dtype;	 /* PyTorch's ScalarType */
};

enum pasta_torch_scope { PASTA_TORCH_FUNCTION, PASTA_TORCH_BACKWARD, PASTA_TORCH_USER };

/* An operator that begins or ends. If the operator has many tensors, the shim reports the operator
 * in several calls, and sets `more` in all calls but the last. The shim sets `time` and `id` to 0
 * before the first call; after that, only the agent changes them. */
struct pasta_torch_op {
	/* unique while the operator runs, and the same at the operator's start and end */
	const void *key;
	const char *name;
	int64_t seq; /* autograd's sequence number; negative if the operator has no number */
	uint64_t thread,
		/* PyTorch's numbers of this thread and of the forward thread; `forward` is 0
		 * outside of a backward pass */
		forward;
	const struct pasta_torch_tensor *tensors;
	uint32_t count;
	uint16_t scope;
	uint16_t more;
	uint64_t time, id;
	/* The arguments at the start and the results at the end, for `describe`, and a hash of
	 * everything in their descriptions. The hash is 0 if they are not described. */
	const void *values;
	uint64_t value_count, values_hash;
};

/* A description of an operator's arguments or results. Each has an entry for each value. */
enum pasta_torch_description {
	/* types and dimensions: "float[16,559], long int[16], Scalar" */
	PASTA_TORCH_SHAPES,
	/* values that are not tensors: ";;[1, 1];False". Arguments only. */
	PASTA_TORCH_SCALARS,
	/* strides of the tensors that are not contiguous: ";[1,512];;". Arguments only. */
	PASTA_TORCH_STRIDES,
	PASTA_TORCH_DESCRIPTIONS,
};

struct pasta_torch_memory {
	const void *addr;
	int64_t bytes; /* negative: memory was freed */
	uint64_t allocated, reserved;
	uint32_t device; /* 0: the host; n: device n - 1 */
};

/* What the shim reports. */
enum pasta_torch_records {
	PASTA_TORCH_OPS = 1 << 0,
	PASTA_TORCH_TENSORS = 1 << 1,
	PASTA_TORCH_MEMORY = 1 << 2,
	PASTA_TORCH_VALUES = 1 << 3, /* hash the values of operators */
};

/* The agent's functions, which any thread may call. The start of an operator may be reported on one
 * thread and its end on another. */
struct pasta_torch_agent {
	uint32_t abi, size;
	uint32_t records; /* enum pasta_torch_records */
	void (*begin)(struct pasta_torch_op *op);
	void (*end)(struct pasta_torch_op *op);
	void (*memory)(const struct pasta_torch_memory *memory);
	/* Reports a segment of device memory, which PyTorch's allocator divides into blocks. */
	void (*segment)(const struct pasta_torch_memory *segment);
	/* Called while another profiler receives PyTorch's memory reports, so that the shim does
	 * not see allocations and frees. */
	void (*blind)(void);
	/* Counts tensors that the shim could not read. */
	void (*dropped)(uint64_t count);
};

/* The shim's functions. */
struct pasta_torch_shim {
	uint32_t abi, size;
	/* Makes the shim start to report to the agent. Returns 0, or a negative number with the
	 * reason in `why`. */
	int (*start)(char *why, size_t size);
	/* Release the calling thread's profiler slot, through which PyTorch delivers memory
	 * reports. */
	void (*yield)(void);
	/* Store in *base the tensor that *tensor is a view of. Returns 0 if *tensor is not a view.
	 * May be called only while the shim reports *tensor to the agent. */
	int (*base)(const struct pasta_torch_tensor *tensor, struct pasta_torch_tensor *base);
	const char *(*dtype)(uint8_t dtype); /* PyTorch's name of a ScalarType */
	/* Write a description, without a terminating zero, and return its length. Returns 0 if all
	 * entries are empty. A description that is too long is cut, and ends with "...". May be
	 * called only while the shim reports *op to the agent. */
	size_t (*describe)(const struct pasta_torch_op *op, enum pasta_torch_description what,
			   char *to, size_t size);
};

/* The shim's entry point, which the agent looks up as PASTA_TORCH_ENTRY. Returns NULL, with the
 * reason in `why`, if agent and shim have different ABIs. The shim copies *agent. */
typedef const struct pasta_torch_shim *(*pasta_torch_entry)(const struct pasta_torch_agent *agent,
							    char *why, size_t size);
#define PASTA_TORCH_ENTRY "pasta_torch_entry_2"

#ifdef __cplusplus
}
#endif
#endif
