/*
 * shim.h - what the agent and the PyTorch shim say to each other. C, so that the shim alone knows
 * PyTorch's C++.
 *
 * The shim is compiled where the program runs, against its PyTorch. Both sides say
 * PASTA_TORCH_ABI; where they differ nothing is recorded. Nothing here throws, prints or blocks.
 */
#ifndef PASTA_HANDLERS_TORCH_SHIM_H
#define PASTA_HANDLERS_TORCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PASTA_TORCH_ABI 1

/* A tensor, as it is now. Pointers are valid during the call. */
struct pasta_torch_tensor {
	const void *impl;	      /* whose address is the tensor's, while it lives */
	const void *storage;	      /* likewise; NULL: it has none */
	const void *data;	      /* where the storage begins; NULL: nowhere */
	const void *addr;	      /* where the tensor begins */
	const int64_t *shape, *steps; /* steps are the strides; NULL: it has none */
	uint64_t bytes;		      /* of the storage */
	uint32_t dims;
	uint32_t index, list; /* the argument, and the place in it where it is a list */
	uint16_t device;      /* 0: the host; else the device's number + 1 */
	uint8_t dtype;	      /* PyTorch's number of it */
};

enum pasta_torch_scope { PASTA_TORCH_FUNCTION, PASTA_TORCH_BACKWARD, PASTA_TORCH_USER };

/* An operator that begins or ends. One with many tensors comes in parts, of which all but the last
 * say more; time and id are the agent's, and 0 in the first. */
struct pasta_torch_op {
	const void *key; /* the same at its end; unique while it runs */
	const char *name;
	int64_t seq;		  /* autograd's number; less than 0: none */
	uint64_t thread, forward; /* PyTorch's numbers of threads; forward 0: not a backward */
	const struct pasta_torch_tensor *tensors;
	uint32_t count;
	uint16_t scope;
	uint16_t more;
	uint64_t time, id;
};

struct pasta_torch_memory {
	const void *addr;
	int64_t bytes; /* less than 0: freed */
	uint64_t allocated, reserved;
	uint32_t device; /* as a tensor's */
};

/* What the agent wants to hear of. */
enum pasta_torch_records {
	PASTA_TORCH_OPS = 1 << 0,
	PASTA_TORCH_TENSORS = 1 << 1,
	PASTA_TORCH_MEMORY = 1 << 2,
};

/* The agent's side. Any thread; the calls of one operator on one thread, its end perhaps not. */
struct pasta_torch_agent {
	uint32_t abi, size, wants;
	void (*begin)(struct pasta_torch_op *op);
	void (*end)(struct pasta_torch_op *op);
	void (*memory)(const struct pasta_torch_memory *memory);
	/* A segment of the device's memory, out of which it gives pieces; as above. */
	void (*segment)(const struct pasta_torch_memory *segment);
	/* Another profiler has the place where memory is reported: what is allocated and freed now
	 * is not seen. */
	void (*blind)(void);
	/* Tensors that could not be looked at. */
	void (*lost)(uint64_t count);
};

/* The shim's side. */
struct pasta_torch_shim {
	uint32_t abi, size;
	/* Begin to report. 0, or less than 0 and why. */
	int (*start)(char *why, size_t size);
	/* Let go of the calling thread's place for memory reports. */
	void (*yield)(void);
	/* The tensor that this one is a view of; false: it is none. Only for a tensor that the
	 * agent was given, during the call. */
	int (*base)(const struct pasta_torch_tensor *tensor, struct pasta_torch_tensor *base);
	const char *(*dtype)(uint8_t dtype); /* PyTorch's name of it */
};

/* What the agent looks up in the shim, PASTA_TORCH_ENTRY. NULL: it is of another ABI, and why says
 * so. The agent's side must stay where it is. */
typedef const struct pasta_torch_shim *(*pasta_torch_entry)(const struct pasta_torch_agent *agent,
							    char *why, size_t size);
#define PASTA_TORCH_ENTRY "pasta_torch_entry_1"

#ifdef __cplusplus
}
#endif
#endif
