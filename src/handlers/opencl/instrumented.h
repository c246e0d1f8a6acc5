/*
 * instrumented.h - counts the memory accesses of kernels by running instrumented clones of them.
 *
 * A clone is the same kernel, built a second time from the same source, with a hook call before
 * each access and one more argument, the launch's token. The application sees neither the clone nor
 * the clone's cl_program.
 */
#ifndef PASTA_HANDLERS_OPENCL_INSTRUMENTED_H
#define PASTA_HANDLERS_OPENCL_INSTRUMENTED_H

#include "collect/accesses.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/trace/trace.h"

struct cl_recipe;

/* Returns whether this run counts accesses. If not, kernel arguments and sources aren't tracked. */
static inline bool cl_counts_accesses(void)
{
	return pasta_accesses_host_enabled();
}

/* A counted launch. Freed when the launch's event completes. */
struct cl_counted_launch {
	struct pasta_accesses_launch *launch;
	struct cl_callbacks *callbacks;
	uint64_t token;
	uint32_t context, device;
	uint32_t count; /* of arguments */
	struct {
		cl_mem mem;		 /* the argument's value, if it has the size of a cl_mem */
		_Atomic bool registered; /* whether the reducers know the argument's address */
	} arguments[];
};

/* programs.c */

/* Returns the program's clone for a device, which is built on the first call. The caller releases
 * the clone. Returns NULL and sets *why on failure. Any thread may call this function. */
cl_program cl_program_clone(cl_program program, cl_device_id device, const char **why);
/* Returns the hash (pasta_accesses_code) of the program's source and options; 0 if unknown. */
uint64_t cl_program_code(cl_program program);
/* Add or remove a reference to a program. The application holds references, and so does each kernel
 * of the program. Removing the last reference frees the program's recipe and clones. */
void cl_program_ref(cl_program program);
void cl_program_unref(cl_program program);

/* Defined in programclone.c. Builds an instrumented clone for a device, and emits its sites. The
 * caller releases the clone, and holds a lock that serializes builds. Returns NULL and sets *why on
 * failure. */
cl_program cl_clone_build(const struct cl_recipe *recipe, cl_device_id device, const char **why);

/* kernels.c */

/* Returns the number of arguments of a kernel; 0 if the kernel is unknown. */
uint32_t cl_kernel_arguments(cl_kernel kernel);
/* Returns a clone of the kernel for one launch. Sets the clone's arguments to the kernel's
 * arguments and c's token, and fills in c->arguments. The caller may release the clone as soon as
 * the clone is enqueued, because clEnqueueNDRangeKernel copies the arguments. Returns NULL and sets
 * *why on failure. */
cl_kernel cl_clone_acquire(cl_kernel kernel, cl_device_id device, struct cl_counted_launch *c,
			   const char **why);
void cl_clone_release(cl_kernel kernel, cl_device_id device, cl_kernel clone);

/* memory.c */

/* The position of a buffer in its root buffer: the offset, and the root buffer's size in bytes. The
 * root of a sub-buffer is the sub-buffer's parent; any other buffer is its own root. */
struct cl_range {
	const void *root;
	uint64_t offset, bytes;
};
/* Returns false if mem is not a buffer. */
bool cl_mem_range(cl_mem mem, struct cl_range *range);
/* Sets the number of the object that represents a root buffer. The object is unregistered when the
 * buffer is destroyed. */
void cl_mem_set_object(const void *root, uint64_t addr, uint64_t object);

/* instrumented.c */

/* The hooks: functions that instrumented kernels call. */
extern const struct pasta_trace_hooks cl_instrumented_hooks;
/* Returns the flags of a site's record. */
uint32_t cl_site_flags(const struct pasta_trace_site *site);
/* Reserves a range of site ids for one program. Returns the first id, or 0 if no ids are left. */
uint32_t cl_sites_reserve(void);
/* Makes a program's sites known to the hooks. Returns false if there are too many sites, or when
 * out of memory. */
bool cl_sites_add(const struct pasta_trace_module *module, uint32_t first);

#endif
