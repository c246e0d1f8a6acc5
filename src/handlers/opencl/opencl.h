/*
 * opencl.h - the OpenCL handler's inside: what its files share.
 *
 * The handler is a layer: the loader calls our function instead of the driver's, and we call the
 * one below. Every wrapper does what the program asked for, returns what the driver returned, and
 * records beside it. Where anything of ours fails, the call goes through as it is.
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

/* The functions below us. Set once, before any of ours is called. */
extern cl_icd_dispatch cl_below;

/* Put a wrapper into the table that the loader gets, if the loader knows that entry. */
#define CL_WRAP(table, function) ((table)->function = wrap_##function)

/* Each file wraps its own functions. */
void cl_wrap_objects(cl_icd_dispatch *table);
void cl_wrap_kernels(cl_icd_dispatch *table);
void cl_wrap_programs(cl_icd_dispatch *table);
void cl_wrap_memory(cl_icd_dispatch *table);
void cl_wrap_enqueue(cl_icd_dispatch *table);
void cl_wrap_extensions(cl_icd_dispatch *table);

/* objects.c: small numbers for handles, and what is known of them. */
struct cl_queue {
	uint32_t number, context, device;
	uint64_t model; /* a number that equal devices have in common; 0: nobody asked */
	bool ours;	/* profiling is on because we asked for it: the program must not see it */
	char added;	/* to its list of properties: a bit, a pair, a list, or nothing */
};
struct cl_queue cl_queue_of(cl_command_queue queue);

/* Callbacks that a queue's events were given, and those that came. */
struct cl_flow {
	bool ordered; /* a command is done when a later one is */
	_Atomic uint32_t given, came;
};
/* NULL: the queue is not known. It lives for ever. */
struct cl_flow *cl_queue_flow(cl_command_queue queue);
/* Does anybody want to know times? If not, queues are left as they are. */
bool cl_times_enabled(void);
uint32_t cl_context_number(cl_context context);
/* kernels.c */
const char *cl_kernel_name(cl_kernel kernel); /* lives for ever */
uint64_t cl_kernel_code(cl_kernel kernel);    /* its program's; 0: that is not known */

/* Make a queue that tells times, with this function: the core's, or an extension's. */
cl_command_queue cl_queue_make(cl_api_clCreateCommandQueueWithProperties make, cl_context context,
			       cl_device_id device, const cl_queue_properties *properties,
			       cl_int *status);

/* work.c: something was given to a queue. Fill in, call the driver with cl_work_event(), then end
 * it with what the driver returned. */
struct cl_work {
	cl_command_queue queue;
	enum pasta_kind
		kind; /* KERNEL, COPY, SET; NONE: only its times in the API are of interest */
	unsigned int sub;
	cl_kernel kernel;
	uint64_t bytes, addr, src, dst;
	uint32_t grid[3], block[3], value;
	bool blocking;
	/* Not the caller's. */
	const char *function;
	uint32_t stack;
	uint64_t begin, corr;
	cl_event own, *event;
	bool active, timed;
	uint32_t mark;
	/* count.c's: whether accesses are counted, and how. */
	enum pasta_access_launch_sub counted; /* 0: nobody asked */
	uint64_t shape;
	const char *why;
	struct cl_count *count;
	cl_kernel twin;
};
void cl_work_begin(struct cl_work *w, const char *function, cl_event *event);
/* What to give to the driver as the event to fill in. */
static inline cl_event *cl_work_event(struct cl_work *w)
{
	return w->event;
}
/* The kernel to give to it. */
static inline cl_kernel cl_work_kernel(const struct cl_work *w)
{
	return w->twin ? w->twin : w->kernel;
}
cl_int cl_work_end(struct cl_work *w, cl_int status);

/* count.c: between cl_work_begin and the driver's function. The kernel to give it is then w->twin,
 * if there is one; and where again says so, the function is to be called again, with the kernel. */
void cl_count_begin(struct cl_work *w);
bool cl_count_again(struct cl_work *w, cl_int status);
/* After the launch's event, on its thread. */
void cl_count_registered(const struct cl_work *w, uint32_t name);

/* The driver tells the program that its work is done a little before it tells us: so who has seen
 * it done waits for the callbacks that were given before, bounded, lest the program end meanwhile.
 */
void cl_flow_submitted(struct cl_flow *flow);
void cl_flow_came(struct cl_flow *flow);
uint32_t cl_flow_mark(const struct cl_flow *flow);
void cl_flow_settle(struct cl_flow *flow, uint32_t mark);

/* A call that is no work for a device: its host time, where a tool wants it. */
void cl_api(const char *function, uint64_t begin, cl_int status);
/* The host waits for a device. */
void cl_sync(const char *function, uint64_t begin, cl_command_queue queue, cl_int status);

/* memory.c: the size of an image's region. */
uint64_t cl_image_bytes(cl_mem image, const size_t *region);

/* probe.c: whether accesses can be counted here, as pasta_handler.accesses. */
int cl_accesses_probe(char *why, size_t size);

#endif
