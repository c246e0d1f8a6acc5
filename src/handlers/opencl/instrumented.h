/*
 * instrumented.h - accesses of kernels counted: instead of a kernel its twin runs, which tells of each.
 *
 * A twin is the same kernel, built from the same source once more, with one more argument: the
 * launch's token. The program sees neither it nor its program.
 */
#ifndef PASTA_HANDLERS_OPENCL_INSTRUMENTED_H
#define PASTA_HANDLERS_OPENCL_INSTRUMENTED_H

#include "collect/accesses.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/trace/trace.h"

/* Whether this run counts accesses at all: if not, arguments and sources are of no interest. */
static inline bool cl_counts(void)
{
	return pasta_accesses_host_enabled();
}

/* A launch that is counted. */
struct cl_count {
	struct pasta_accesses_launch *launch;
	struct cl_flow *flow;
	uint64_t token;
	uint32_t context, device;
	uint32_t count;
	struct {
		cl_mem mem; /* if the argument is one */
		_Atomic bool told;
	} arguments[];
};

/* programs.c: the program that tells, built when it is first asked for; to be released. NULL: *why
 * says why there is none. */
cl_program cl_clone(cl_program program, cl_device_id device, const char **why);
/* pasta_accesses_code of what the program was built from; 0: that is not known. */
uint64_t cl_program_code(cl_program program);
/* A kernel of the program's own is made of it, is released: what is kept of a program ends with the
 * last of them and the program's own references. */
void cl_program_hold(cl_program program);
void cl_program_let_go(cl_program program);

/* kernels.c: how many arguments a kernel has. */
uint32_t cl_kernel_arguments(cl_kernel kernel);
/* A twin with the kernel's arguments, and c's token, for one launch; c's arguments are filled in.
 * To be given back when it is enqueued: the driver has taken the arguments then. NULL: *why. */
cl_kernel cl_clone_acquire(cl_kernel kernel, cl_device_id device, struct cl_count *c, const char **why);
void cl_clone_release(cl_kernel kernel, cl_device_id device, cl_kernel twin);

/* memory.c: where an address that a kernel is given for this object lies in which memory: bytes
 * from its root's begin. False: it is no buffer. */
struct cl_place {
	const void *root;
	uint64_t offset, bytes;
};
bool cl_mem_place(cl_mem mem, struct cl_place *place);
/* It is this object of the reducers' now, which ends with it. */
void cl_mem_object(const void *root, uint64_t addr, uint64_t object);

/* count.c: what the instrumented kernels call; what a site's events and the hooks know of it. */
extern const struct pasta_trace_hooks cl_count_hooks;
uint32_t cl_count_flags(const struct pasta_trace_site *site);
/* The first of the numbers that are set aside for a program's sites; 0: there are none left. */
uint32_t cl_count_block(void);
/* False: there are too many. */
bool cl_count_sites(const struct pasta_trace_module *module, uint32_t first);

#endif
