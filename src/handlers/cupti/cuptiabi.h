/*
 * cuptiabi.h - declares the part of CUPTI's binary interface that the handler uses, for CUDA 12 and
 * 13.
 *
 * Newer versions of CUPTI append fields to their records; the fields declared here are the same in
 * all versions. If NVIDIA's headers are installed, a test compares these declarations with the
 * headers.
 */
#ifndef PASTA_HANDLERS_CUPTIABI_H
#define PASTA_HANDLERS_CUPTIABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
};

enum cupti_domain { CUPTI_DRIVER_API = 1, CUPTI_RUNTIME_API, CUPTI_RESOURCE };
enum cupti_resource {
	CUPTI_CONTEXT_CREATED = 1,
	CUPTI_INIT_FINISHED = 5,
	CUPTI_MODULE_LOADED = 6,
	CUPTI_MODULE_UNLOADING = 7,
	CUPTI_GRAPHNODE_CREATED = 13,
	CUPTI_GRAPHNODE_CLONED = 20,
};

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_DRIVER = 4,
	CUPTI_RUNTIME = 5,
	CUPTI_KERNEL = 10, /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */
	CUPTI_MEMCPY_P2P = 22,
	CUPTI_UVM = 25,
	CUPTI_EVENT = 36,
	CUPTI_STREAM = 37,
	CUPTI_SYNC = 38,
	CUPTI_EXTERNAL = 39,
	CUPTI_MEMORY = 49,
};

typedef struct cupti_subscriber *cupti_subscriber;
typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*cupti_request)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid);

/* The data that CUPTI passes to the callback of a driver or runtime call. */
struct cupti_call {
	uint32_t site; /* 0 when the call begins; 1 when it has ended */
	uint32_t pad;
	const char *function;
	const void *params;
	void *ret;
	const char *symbol; /* the kernel's name, if the call launches a kernel */
	void *context;
	uint32_t context_id;
	uint32_t pad2;
	/* a value that the subscriber may store at the start of the call, and read at its end */
	uint64_t *data;
	uint32_t correlation;
};

/* The data that CUPTI passes to a resource callback. `descriptor` points to a struct cupti_graph
 * for a graph node, and to a struct cupti_module for a module. */
struct cupti_resource_data {
	void *context, *stream;
	const void *descriptor;
};

struct cupti_graph {
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t type, pad;
	void *dependency;
	void *exec;
};
_Static_assert(offsetof(struct cupti_graph, original_node) == 24 &&
		       offsetof(struct cupti_graph, dependency) == 40,
	       "layout of CUPTI");

struct cupti_module {
	uint32_t id;
	size_t bytes;
	const void *cubin;
};

/* The argument of cuptiGetCubinCrc, which stores its result in crc. */
struct cupti_crc {
	size_t size, cubin_size;
	const void *cubin;
	uint64_t crc;
};

struct cupti_record {
	uint32_t kind;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache[2];
	uint16_t registers;
	uint32_t pad[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t shared_static, shared_dynamic;
	uint32_t local, local_total, correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t more[8];
	uint64_t node;
	uint32_t pad2, graph;
};
_Static_assert(offsetof(struct cupti_kernel, start) == 16 &&
		       offsetof(struct cupti_kernel, device) == 40 &&
		       offsetof(struct cupti_kernel, correlation) == 92 &&
		       offsetof(struct cupti_kernel, name) == 104 &&
		       offsetof(struct cupti_kernel, node) == 144 &&
		       offsetof(struct cupti_kernel, graph) == 156,
	       "layout of CUPTI");

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy, source, target, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint64_t pad[2];
	uint64_t node;
};
_Static_assert(offsetof(struct cupti_memcpy, correlation) == 44 &&
		       offsetof(struct cupti_memcpy, node) == 64,
	       "layout of CUPTI");

struct cupti_memcpy_p2p {
	uint32_t kind;
	uint8_t copy, source, target, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t from, from_context, to, to_context, correlation;
	uint64_t pad;
	uint64_t node;
};
_Static_assert(offsetof(struct cupti_memcpy_p2p, correlation) == 60 &&
		       offsetof(struct cupti_memcpy_p2p, node) == 72,
	       "layout of CUPTI");

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint64_t pad[2];
	uint64_t node;
};
_Static_assert(offsetof(struct cupti_memset, node) == 64, "layout of CUPTI");

struct cupti_memory {
	uint32_t kind, operation, type, correlation;
	uint64_t address, bytes, time, pc;
	uint32_t process, device, context, stream;
	const char *name;
	uint32_t async, pad;
	uint32_t pool_type, pad2;
	uint64_t pool; /* the pool's address */
};
_Static_assert(offsetof(struct cupti_memory, name) == 64 &&
		       offsetof(struct cupti_memory, pool_type) == 80 &&
		       offsetof(struct cupti_memory, pool) == 88,
	       "layout of CUPTI");

struct cupti_api {
	uint32_t kind, id;
	uint64_t start, end;
	uint32_t process, thread, correlation, status;
};
_Static_assert(offsetof(struct cupti_api, status) == 36, "layout of CUPTI");

struct cupti_sync {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
};
_Static_assert(offsetof(struct cupti_sync, stream) == 32, "layout of CUPTI");

struct cupti_uvm {
	uint32_t kind, type;
	uint64_t value, start, end, address;
	uint32_t from, to, stream, process, flags, pad;
};
_Static_assert(offsetof(struct cupti_uvm, address) == 32 && offsetof(struct cupti_uvm, flags) == 56,
	       "layout of CUPTI");

struct cupti_uvm_config {
	uint32_t scope, type, device, enable;
};

struct cupti_stream {
	uint32_t kind, context, stream, priority, flags, correlation;
};

/* A cudaEventRecord of the program. */
enum {
	CUPTI_EVENT_HAS_DEVICE = 26
}; /* the first CUPTI version whose event records have the device */
struct cupti_event {
	uint32_t kind, correlation, context, stream, event, pad;
	uint32_t device, pad2;
};
_Static_assert(offsetof(struct cupti_event, device) == 24, "layout of CUPTI");

struct cupti_external {
	uint32_t kind, source;
	uint64_t id;
	uint32_t correlation, pad;
};
_Static_assert(offsetof(struct cupti_external, correlation) == 16, "layout of CUPTI");

/* Parameters of driver calls: cuMemCreate, cuMemRetainAllocationHandle, cuMemRelease,
 * cuMemMap, cuMemUnmap. */
struct cu_mem_prop {
	uint32_t type, handles;
	uint32_t location, id; /* `location` 1: a device */
};
struct cu_mem_create {
	const uint64_t *handle;
	size_t size;
	const struct cu_mem_prop *prop;
	unsigned long long flags;
};
struct cu_mem_retain {
	const uint64_t *handle;
	void *address;
};
struct cu_mem_release {
	uint64_t handle;
};
struct cu_mem_map {
	uint64_t address;
	size_t size, offset;
	uint64_t handle;
	unsigned long long flags;
};
struct cu_mem_unmap {
	uint64_t address;
	size_t size;
};

#endif
