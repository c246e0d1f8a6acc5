/*
 * trace.h - memory accesses of OpenCL kernels: programs made to tell of each of theirs.
 *
 * An access is a load or a store of the source language, before any optimisation, by one work-item.
 * A variable whose address nobody takes is a register, and so is what the compiler needs to pass a
 * value: their uses are none. The program's own
 * compiler makes the code that is instrumented, so its options, headers and extensions are as ever;
 * the driver then optimises it as it would have, and results stay what they were.
 *
 * Needs a driver that compiles through LLVM, in this process, and takes LLVM's bitcode back: PoCL.
 */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_H
#define PASTA_HANDLERS_OPENCL_TRACE_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Where the memory is. UNKNOWN: a generic pointer; its address tells. */
enum pasta_trace_space {
	PASTA_TRACE_UNKNOWN,
	PASTA_TRACE_GLOBAL,
	PASTA_TRACE_CONSTANT,
	PASTA_TRACE_LOCAL,
	PASTA_TRACE_PRIVATE,
};

/* What a site does. An atomic does both at once; one that is MISSED is not told of: an image, a
 * pipe, a kernel that a kernel starts. */
enum {
	PASTA_TRACE_MISSED = 0,
	PASTA_TRACE_LOAD = 1,
	PASTA_TRACE_STORE = 2,
	PASTA_TRACE_ATOMIC = 4,
};

/* A place in the program that accesses memory. Texts live as long as the module. */
struct pasta_trace_site {
	const char *function; /* of a site that is missed: the one that is called there as well */
	const char *callee;   /* the function of the language that does it, or NULL */
	const char *file;     /* "": the program's own source */
	uint32_t line, column;
	uint32_t bytes; /* of an access; of an element, where it is told of as a range */
	uint8_t does, space;
};

/* A kernel. It takes one argument more than the program's, the last, a ulong: a token, the
 * caller's, that tells one launch from another while several run. Its index is the number of the
 * others. One token is taken: it is what a kernel that calls another gives to that. */
#define PASTA_TRACE_NO_TOKEN UINT64_MAX
struct pasta_trace_kernel {
	const char *name;
	uint32_t arguments; /* the program's own */
};

struct pasta_trace_module {
	void *bitcode;
	size_t size;
	struct pasta_trace_site *sites;
	struct pasta_trace_kernel *kernels;
	size_t site_count, kernel_count;
	bool inexact; /* its options let the compiler round as it likes: results may differ */
	struct pasta_trace_text *texts; /* not the caller's */
};

/* What instrumented code calls, on the driver's threads; set before any of it runs.
 *
 * A work-group runs on one thread from its begin to its end, and nothing else runs there meanwhile:
 * what access and range tell of is of the launch and the group that this thread entered last. item
 * is the work-item's number in its group. Work-items run one after the other, in the order of their
 * numbers, each up to the next barrier, or to the end; then all of them go on from there, again
 * from the first. So the first one's enter begins a group, and all enter before any passes a
 * barrier; a group has no end of its own but the next one's begin, or the launch's completion. An
 * item that is before the last one told of, and does not enter, comes from a barrier; barriers
 * between which only one work-item accesses memory are not seen. What one work-item does is told of
 * in the order in which it does it. */
struct pasta_trace_hooks {
	/* A work-item begins, before all that it does: of which launch, by its token; of which
	 * kernel, in which group, both numbered from 0; of how many in the group. A kernel that is
	 * called by another is a function of that one's, and does not enter. */
	void (*enter)(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		      uint32_t group_size);
	/* The group's first, then: where an argument that is a pointer points to. That is how the
	 * addresses of buffers are known. A structure given by value is none. */
	void (*argument)(uint64_t token, uint32_t index, uint64_t addr);
	void (*access)(uint64_t addr, uint32_t site, uint32_t item);
	/* So many elements, each so many bytes after the one before: a copy by a whole group. All
	 * its work-items tell of it; it is one, and best taken from the first. */
	void (*range)(uint64_t addr, uint32_t site, uint32_t item, uint64_t count, uint64_t stride);
};
extern PASTA_EXPORT struct pasta_trace_hooks pasta_trace_hooks;

/* What is wanted. Sites and kernels are told of by their index plus the first's number. */
struct pasta_trace_subscribe {
	uint32_t spaces; /* a bit each; 0: all. A site that is not known to be elsewhere is in */
	uint32_t first_site, first_kernel;
};

/* Instrument bitcode as the driver's compiler made it, with -g and without optimisation. Several
 * modules become one, as by the linker. The result is the caller's. -EINVAL: it is no bitcode, or
 * not such; -ENOTSUP: of a later LLVM than ours. Any thread. */
PASTA_EXPORT int pasta_trace_instrument(const void *const *bitcode, const size_t *sizes,
					size_t count, const struct pasta_trace_subscribe *want,
					struct pasta_trace_module *out, struct pasta_error *err);
PASTA_EXPORT void pasta_trace_module_free(struct pasta_trace_module *m);

/* The bitcode inside of a program's binary, as the driver packs it: a part of it. -ENOTSUP: it has
 * none. */
PASTA_EXPORT int pasta_trace_unpack(const void *binary, size_t size, const void **bitcode,
				    size_t *bitcode_size, struct pasta_error *err);

/* A program's source, and what it was compiled with. */
struct pasta_trace_part {
	cl_program program;
	const char *options; /* or NULL */
	cl_uint header_count;
	const cl_program *headers;
	const char **header_names;
};

/* A program of the same kernels that tells of their accesses, built for one device; the parts stay
 * as they are. What it knows of its sites is in out. Both are the caller's: release the one, free
 * the other. -ENODEV: the device's driver is not one that it can be done with; -ENOTSUP: a part did
 * not come as source. Takes as long as building the program; any thread. */
PASTA_EXPORT int pasta_trace_build(const cl_icd_dispatch *cl, const struct pasta_trace_part *parts,
				   size_t count, cl_device_id device,
				   const struct pasta_trace_subscribe *want,
				   struct pasta_trace_module *out, cl_program *program,
				   struct pasta_error *err);

#endif
