/*
 * shim.h - the interface between the agent and the PyTorch shim. It is C, so that only the shim
 * depends on PyTorch's C++.
 *
 * The shim is compiled where the program runs, against the program's PyTorch. Both sides state
 * their PASTA_TORCH_ABI; if they differ, nothing is recorded. No function throws, prints or blocks.
 */
#ifndef PASTA_HANDLERS_TORCH_SHIM_H
#define PASTA_HANDLERS_TORCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PASTA_TORCH_ABI 1

/* The current state of a tensor. Pointers are valid during the call. */
struct pasta_torch_tensor {
	const void *impl;		/* the TensorImpl; unique while the tensor lives */
	const void *storage;		/* the StorageImpl; NULL: the tensor has none */
	const void *data;		/* the storage's memory; NULL: it has none */
	const void *addr;		/* the tensor's first element */
	const int64_t *shape, *strides; /* strides NULL: the tensor has none */
	uint64_t bytes;			/* the size of the storage */
	uint32_t dims;
	uint32_t index, list; /* the argument's index, and the index within it if it is a list */
	uint16_t device;      /* 0: the host; n: device n - 1 */
	uint8_t dtype;	      /* PyTorch's ScalarType */
};

enum pasta_torch_scope { PASTA_TORCH_FUNCTION, PASTA_TORCH_BACKWARD, PASTA_TORCH_USER };

/* An operator that begins or ends. One with many tensors is reported in several calls, all but the
 * last with more set. time and id belong to the agent: 0 in the first call, then unchanged. */
struct pasta_torch_op {
	const void *key; /* the same at the operator's end; unique while it runs */
	const char *name;
	int64_t seq;		  /* autograd's sequence number; negative: none */
	uint64_t thread, forward; /* PyTorch's thread numbers; forward 0: not a backward operator */
	const struct pasta_torch_tensor *tensors;
	uint32_t count;
	uint16_t scope;
	uint16_t more;
	uint64_t time, id;
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
};

/* The agent's functions. Any thread may call them. The begin of an operator is reported on one
 * thread, its end perhaps on another. */
struct pasta_torch_agent {
	uint32_t abi, size;
	uint32_t records; /* enum pasta_torch_records */
	void (*begin)(struct pasta_torch_op *op);
	void (*end)(struct pasta_torch_op *op);
	void (*memory)(const struct pasta_torch_memory *memory);
	/* A segment of device memory, from which PyTorch's allocator cuts blocks. */
	void (*segment)(const struct pasta_torch_memory *segment);
	/* Another profiler receives the memory reports: allocations and frees are not seen now. */
	void (*blind)(void);
	/* Tensors whose state could not be read. */
	void (*dropped)(uint64_t count);
};

/* The shim's functions. */
struct pasta_torch_shim {
	uint32_t abi, size;
	/* Start to report. Returns 0, or a negative number with the reason in why. */
	int (*start)(char *why, size_t size);
	/* Release PyTorch's profiler slot of the calling thread, which delivers memory reports. */
	void (*yield)(void);
	/* Store the tensor that this one is a view of. Returns 0 if it is not a view. Only for a
	 * tensor of the call that the agent is in. */
	int (*base)(const struct pasta_torch_tensor *tensor, struct pasta_torch_tensor *base);
	const char *(*dtype)(uint8_t dtype); /* PyTorch's name of a ScalarType */
};

/* The shim's entry point, which the agent looks up as PASTA_TORCH_ENTRY. Returns NULL, with the
 * reason in why, if the ABIs differ. The shim copies *agent. */
typedef const struct pasta_torch_shim *(*pasta_torch_entry)(const struct pasta_torch_agent *agent,
							    char *why, size_t size);
#define PASTA_TORCH_ENTRY "pasta_torch_entry_1"

#ifdef __cplusplus
}
#endif
#endif
