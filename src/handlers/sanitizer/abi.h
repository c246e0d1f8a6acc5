/*
 * abi.h - the structures and constants of the Compute Sanitizer's ABI that the handler uses, for
 * CUDA 13.
 *
 * This file declares them again, so that a build needs neither NVIDIA's headers nor its libraries.
 * Unused fields are named pad.
 */
#ifndef PASTA_HANDLERS_SANITIZER_ABI_H
#define PASTA_HANDLERS_SANITIZER_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { SAN_OK = 0, SAN_INVALID_PARAMETER = 1, SAN_MAX_LIMIT = 10, SAN_NOT_INITIALIZED = 13 };
/* Error codes of the driver. Codes from 900 on are errors of stream capture; 999 is an unknown
 * error. */
enum { SAN_CAPTURE_ERRORS = 900, SAN_UNKNOWN_ERROR = 999 };

enum san_domain {
	SAN_DRIVER_API = 1,
	SAN_RESOURCE = 3,
	SAN_LAUNCH = 5,
	SAN_GRAPHS = 10,
};

enum san_driver_id {
	SAN_LAUNCH_OLD = 115,
	SAN_LAUNCH_GRID = 116,
	SAN_LAUNCH_GRID_ASYNC = 117,
	SAN_LAUNCH_KERNEL = 307,
	SAN_PROFILER_START = 308,
	SAN_PROFILER_STOP = 309,
	SAN_ADD_CALLBACK = 346,
	SAN_ADD_CALLBACK_PTSZ = 437,
	SAN_LAUNCH_KERNEL_PTSZ = 442,
	SAN_WAIT_VALUE32 = 458,
	SAN_WAIT_VALUE32_PTSZ = 459,
	SAN_BATCH_MEM_OP = 462,
	SAN_BATCH_MEM_OP_PTSZ = 463,
	SAN_WAIT_VALUE64 = 473,
	SAN_WAIT_VALUE64_PTSZ = 474,
	SAN_LAUNCH_COOPERATIVE = 477,
	SAN_LAUNCH_COOPERATIVE_PTSZ = 478,
	SAN_WAIT_EXTERNAL = 492,
	SAN_WAIT_EXTERNAL_PTSZ = 493,
	SAN_CAPTURE = 495,
	SAN_CAPTURE_PTSZ = 496,
	SAN_CAPTURE_END = 497,
	SAN_CAPTURE_END_PTSZ = 498,
	SAN_CAPTURE_2 = 539,
	SAN_CAPTURE_2_PTSZ = 540,
	SAN_CAPTURE_GRAPH = 720,
	SAN_CAPTURE_GRAPH_PTSZ = 721,
	SAN_GRAPH_LAUNCH = 514,
	SAN_GRAPH_LAUNCH_PTSZ = 515,
	SAN_LAUNCH_HOST = 527,
	SAN_LAUNCH_HOST_PTSZ = 528,
	SAN_INSTANTIATE = 643,
	SAN_INSTANTIATE_PARAMS = 656,
	SAN_INSTANTIATE_PARAMS_PTSZ = 657,
	SAN_LAUNCH_KERNEL_EX = 652,
	SAN_LAUNCH_KERNEL_EX_PTSZ = 653,
	SAN_WAIT_VALUE32_2 = 659,
	SAN_WAIT_VALUE32_2_PTSZ = 660,
	SAN_WAIT_VALUE64_2 = 661,
	SAN_WAIT_VALUE64_2_PTSZ = 662,
	SAN_BATCH_MEM_OP_2 = 667,
	SAN_BATCH_MEM_OP_2_PTSZ = 668,
};

enum san_resource_id {
	SAN_CONTEXT_CREATED = 3,
	SAN_CONTEXT_DESTROYING = 4,
	SAN_CONTEXT_DESTROYED = 5,
	SAN_STREAM_CREATED = 6,
	SAN_STREAM_DESTROYING = 7,
	SAN_MODULE_LOADED = 9,
	SAN_MODULE_UNLOADING = 10,
	SAN_DEVICE_ALLOC = 11,
	SAN_DEVICE_FREE = 12,
	SAN_HOST_ALLOC = 13,
	SAN_HOST_FREE = 14,
	SAN_ASYNC_ALLOC = 15,
	SAN_ASYNC_FREE = 16,
};

enum san_launch_id { SAN_LAUNCH_BEGIN = 1, SAN_LAUNCH_END = 3 };

enum san_graphs_id {
	SAN_NODE_LAUNCH_BEGIN = 4,
	SAN_GRAPH_LAUNCH_BEGIN = 6,
	SAN_GRAPH_LAUNCH_END = 7,
};

enum { SAN_NODE_KERNEL = 0 }; /* the CUgraphNodeType of a kernel node, from cuda.h */

/* Memory with the flag SAN_MEMORY_PEER belongs to another device. The library has already reported
 * this memory for that device's context. */
enum san_memory_flags {
	SAN_MEMORY_MODULE = 0x1,
	SAN_MEMORY_MANAGED = 0x2,
	SAN_MEMORY_HOST = 0x8,
	SAN_MEMORY_PEER = 0x10,
};

typedef struct san_subscriber *san_subscriber;
typedef void (*san_callback)(void *user, int domain, uint32_t id, const void *data);

struct san_call {
	uint32_t site; /* 0: the call begins */
	uint32_t pad;
	const char *function;
	const void *arguments, *result;
	const char *symbol;
	void *context;
};

struct san_context_data {
	void *context;
	int32_t device; /* set only in the callback that reports a new context */
	uint32_t pad;
};

struct san_stream_data {
	void *context, *stream, *handle;
};

struct san_module_data {
	void *context, *module;
	size_t size;
	const char *cubin;
	void *library;
};

struct san_memory_data {
	uint64_t addr, bytes;
	void *context;
	int32_t device;
	uint32_t pad;
	void *stream, *handle, *pool;
	uint32_t flags, permissions;
	uint32_t visibility;
	int32_t source;
};

struct san_launch_data {
	void *context, *stream, *handle, *module, *function;
	const char *name;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t pad;
	uint64_t grid_id;
	void *launch;
	int32_t device;
	uint32_t pad2;
	/* set only if the launch is a node of a CUDA graph */
	void *api_context, *api_stream, *api_handle;
};

struct san_node_data {
	void *graph;
	uint32_t launch_id, pad;
	void *node;
	uint32_t type, pad2;
	union {
		struct san_launch_data launch;
		uint64_t others[18];
	};
	uint32_t upload, pad3;
};

struct san_graph_data {
	void *context, *stream, *handle, *graph;
	uint32_t upload, pad;
};

#define SAN_IS(type, field, at)                                                                    \
	_Static_assert(offsetof(struct type, field) == (at), #type "." #field " is not there")
#define SAN_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " has holes")
SAN_SIZE(san_call, 48);
SAN_SIZE(san_context_data, 16);
SAN_SIZE(san_stream_data, 24);
SAN_SIZE(san_module_data, 40);
SAN_SIZE(san_memory_data, 72);
SAN_IS(san_memory_data, flags, 56);
SAN_SIZE(san_launch_data, 136);
SAN_IS(san_launch_data, grid_id, 88);
SAN_IS(san_launch_data, api_handle, 128);
SAN_SIZE(san_node_data, 184);
SAN_IS(san_node_data, launch, 32);
SAN_IS(san_node_data, upload, 176);
SAN_SIZE(san_graph_data, 40);
#undef SAN_IS
#undef SAN_SIZE

#endif
