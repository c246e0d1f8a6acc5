/*
 * opencl.h - declarations that the files of the OpenCL handler share.
 *
 * The handler is an OpenCL layer. The loader calls a wrapper instead of the driver's function, and
 * the wrapper calls the next layer or the driver. Each wrapper passes on the caller's arguments,
 * returns the driver's result, and emits records. If anything in the handler fails, the call still
 * reaches the driver unchanged.
 *
 * In these files, "program" means a cl_program, and "application" means the program under study.
 */
#ifndef PASTA_HANDLERS_OPENCL_H
#define PASTA_HANDLERS_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdbool.h>

#include "collect/agent.h"

/* The functions of the next layer or the driver. The table is set once, before the first wrapper is
 * called. */
extern cl_icd_dispatch cl_below;

/* Puts a wrapper into the table that is passed to the loader. clInitLayer resets entries that the
 * loader doesn't have. */
#define CL_WRAP(table, function) ((table)->function = wrap_##function)

/* Each file puts its own wrappers into the table. */
void cl_wrap_objects(cl_icd_dispatch *table);
void cl_wrap_kernels(cl_icd_dispatch *table);
void cl_wrap_programs(cl_icd_dispatch *table);
void cl_wrap_memory(cl_icd_dispatch *table);
void cl_wrap_enqueue(cl_icd_dispatch *table);
void cl_wrap_extensions(cl_icd_dispatch *table);

/* -- objects.c: contexts, devices and queues, each with a small number for its handle -- */

struct cl_queue {
	uint32_t number, context, device;
	uint64_t model; /* hash of the device's model; 0 unless accesses are counted */
	/* whether AccelProf has enabled profiling, which must be hidden from the application */
	bool ours;
	char added; /* what was added to the queue's list of properties (see objects.c) */
};
/* Returns the queue's data; all members are zero for an unknown queue. Any thread may call this
 * function. */
struct cl_queue cl_queue_of(cl_command_queue queue);

/* Counts a queue's event callbacks: the callbacks that were set, and the callbacks that were
 * called. */
struct cl_callbacks {
	/* Whether this is an in-order queue, where each command completes before the next command
	 * starts. */
	bool ordered;
	_Atomic uint32_t expected, received;
};
/* Returns the callback counters of a queue, or NULL for an unknown queue. The counters are never
 * freed. */
struct cl_callbacks *cl_queue_callbacks(cl_command_queue queue);
/* Returns whether a tool needs device times. If not, queues are created without profiling. */
bool cl_times_enabled(void);
uint32_t cl_context_number(cl_context context);
/* Creates a queue, with profiling enabled if a tool needs device times. `make` is the function that
 * creates the queue: the core function, or the function of the extension. */
cl_command_queue cl_queue_make(cl_api_clCreateCommandQueueWithProperties make, cl_context context,
			       cl_device_id device, const cl_queue_properties *properties,
			       cl_int *status);

/* -- kernels.c -- */

/* Returns the kernel's name, or "(unknown)" for an unknown kernel. The text is never freed. */
const char *cl_kernel_name(cl_kernel kernel);
/* Returns the hash of the kernel's program (see cl_program_code). */
uint64_t cl_kernel_code(cl_kernel kernel);

/* -- command.c: commands that the application enqueues -- */

/* A wrapper sets the first group of members and calls cl_command_begin. The wrapper then passes the
 * result of cl_command_event to the driver's function, and the driver's result to
 * cl_command_end. */
struct cl_command {
	cl_command_queue queue;
	enum pasta_kind kind; /* KERNEL, COPY or SET; NONE if only the API call is recorded */
	unsigned int sub;
	cl_kernel kernel;
	uint64_t bytes, addr, src, dst;
	/* For copies: whether `src` and `dst` are handles of memory objects, not pointers. */
	bool src_is_object, dst_is_object;
	uint32_t grid[3], block[3], value;
	bool blocking;
	/* Only command.c uses the members below. */
	const char *function;
	uint32_t stack, python;
	uint64_t begin, corr;
	cl_event own, *event;
	bool active, timed;
	uint32_t mark;
	/* Only instrumented.c uses the members below: whether and how accesses are counted. */
	enum pasta_access_launch_sub counted; /* 0 if this run doesn't count accesses */
	uint64_t shape;
	const char *why;
	struct cl_counted_launch *launch;
	cl_kernel clone;
};
void cl_command_begin(struct cl_command *cmd, const char *function, cl_event *event);
/* Returns the event argument to pass to the driver's function. */
static inline cl_event *cl_command_event(struct cl_command *cmd)
{
	return cmd->event;
}
/* Returns the kernel argument to pass to the driver's function: the clone, if the launch is
 * counted. */
static inline cl_kernel cl_command_kernel(const struct cl_command *cmd)
{
	return cmd->clone ? cmd->clone : cmd->kernel;
}
/* Returns status. */
cl_int cl_command_end(struct cl_command *cmd, cl_int status);

/* A driver notifies the application that a command is complete shortly before it calls the
 * handler's callback. A thread that has waited for commands therefore also waits for their
 * callbacks, because the application might exit before the last records are written. */

/* cl_callbacks_expect counts a callback that was set on an event. cl_callbacks_received counts a
 * callback that was called. The argument may be NULL. */
void cl_callbacks_expect(struct cl_callbacks *callbacks);
void cl_callbacks_received(struct cl_callbacks *callbacks);
/* Returns the number of callbacks that were set so far. */
uint32_t cl_callbacks_mark(const struct cl_callbacks *callbacks);
/* Waits until at least `mark` callbacks have been called, but not much longer than 100 ms. */
void cl_callbacks_wait(struct cl_callbacks *callbacks, uint32_t mark);

/* Emits an api record for a call that enqueues no device work. */
void cl_api(const char *function, uint64_t begin, cl_int status);
/* Emits a sync record, because the host has waited for a device. `queue` may be NULL. */
void cl_sync(const char *function, enum pasta_sync_sub sub, uint64_t begin, cl_command_queue queue,
	     cl_int status);

/* -- hostmemory.c: types of memory. Any thread may call these functions -- */

enum pasta_memory cl_memory_object(cl_mem mem);
enum pasta_memory cl_memory_pointer(const void *p);
/* Called when a memory object was mapped, and before it is unmapped. */
void cl_memory_mapped(cl_mem mem, const void *p, size_t size);
void cl_memory_unmapped(const void *p);
/* Called when shared virtual memory was allocated, and before it is freed. */
void cl_memory_shared(const void *p, size_t size);
void cl_memory_unshared(const void *p);

/* -- instrumented.c: counting the accesses of a launch -- */

/* Selects the clone to run, if this launch is counted. Call this function between cl_command_begin
 * and the driver's function. */
void cl_instrumented_begin(struct cl_command *cmd);
/* Call this function with the driver's result. If the function returns true, the driver has refused
 * the clone, and the caller must call the driver's function again with the original kernel. */
bool cl_instrumented_retry(struct cl_command *cmd, cl_int status);
/* Emits the access_launch record. Call this function on the launching thread, after the launch
 * record. */
void cl_instrumented_emit(const struct cl_command *cmd, uint32_t name);

/* Defined in memory.c. Returns the size in bytes of a region of an image. */
uint64_t cl_image_bytes(cl_mem image, const size_t *region);

/* Implements pasta_handler.accesses; defined in probe.c. Returns 0 if accesses can be counted on
 * this machine. */
int cl_accesses_probe(char *why, size_t size);

#endif
