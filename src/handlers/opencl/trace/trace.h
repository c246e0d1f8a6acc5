/*
 * trace.h - builds OpenCL programs that report their kernels' memory accesses.
 *
 * An access is a load or store in the source language, before optimisation, by one work-item. Loads
 * and stores of variables whose addresses are never taken, and of temporaries that the compiler
 * uses to pass values, don't count.
 *
 * The driver's own compiler produces the code to instrument, so that options, headers and
 * extensions have their usual effect. The driver then optimises the instrumented code like the
 * original code, so that results don't change. Instrumentation needs a driver, such as PoCL, that
 * compiles with LLVM in the application's process and accepts LLVM bitcode.
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

#include <pasta/event.h>

/* The address space of an access. UNKNOWN: the pointer is generic, and only its value at run time
 * shows the address space. */
enum pasta_trace_space {
	PASTA_TRACE_UNKNOWN,
	PASTA_TRACE_GLOBAL,
	PASTA_TRACE_CONSTANT,
	PASTA_TRACE_LOCAL,
	PASTA_TRACE_PRIVATE,
};

/* What a site does. An ATOMIC site both loads and stores. A MISSED site uses an image or a pipe, or
 * enqueues a kernel; the accesses of such a site are not reported. */
enum {
	PASTA_TRACE_MISSED = 0,
	PASTA_TRACE_LOAD = 1,
	PASTA_TRACE_STORE = 2,
	PASTA_TRACE_ATOMIC = 4,
};

/* A site: an instruction that accesses memory. The texts of a site are valid as long as the
 * module. */
struct pasta_trace_site {
	const char *function; /* the function that contains the instruction */
	const char *callee;   /* the built-in function that the instruction calls, or NULL */
	const char *file;     /* "" for the program's own source */
	uint32_t line, column;
	/* Size in bytes of an access, or of one element if the range hook reports the access. */
	uint32_t bytes;
	uint8_t does, space;
};

/* An instrumented kernel has one more argument than the original kernel, at the end: a token of
 * type ulong, which the caller chooses to distinguish launches that run at the same time. NO_TOKEN
 * is reserved, because kernels pass NO_TOKEN to the kernels that they call. */
#define PASTA_TRACE_NO_TOKEN UINT64_MAX
struct pasta_trace_kernel {
	const char *name;
	/* Number of arguments of the original kernel; the token has this index. */
	uint32_t arguments;
};

struct pasta_trace_module {
	void *bitcode;
	size_t size;
	struct pasta_trace_site *sites;
	struct pasta_trace_kernel *kernels;
	size_t site_count, kernel_count;
	/* whether compiler options allow inexact arithmetic, so that results may differ */
	bool inexact;
	struct pasta_trace_text *texts; /* private */
};

/*
 * The hooks are functions that instrumented code calls on the driver's threads. The hooks must be
 * set before the first instrumented kernel runs.
 *
 * A work-group runs on one thread from start to end, and nothing else runs on that thread
 * meanwhile. The hooks `access` and `range` therefore refer to the launch and the work-group of the
 * thread's last call of `enter`.
 *
 * Work-items run one after the other, in the order of their numbers, each up to the next barrier or
 * the end of the kernel. Then all of them continue, starting with the first. So a work-group starts
 * when its first work-item calls `enter`, and all work-items call `enter` before any of them passes
 * a barrier. A work-group ends when `enter` is called for the next work-group on the same thread,
 * or when the launch completes. If the number of a work-item is lower than that of the previous
 * report, and the work-item did not call `enter`, it continues after a barrier. Two barriers cannot
 * be distinguished if only one work-item accesses memory between them. The accesses of one
 * work-item are reported in program order.
 */
struct pasta_trace_hooks {
	/* Called when a work-item starts, with the launch's token, the numbers of the kernel and of
	 * the work-group (from 0), the work-item's number in its work-group, and the work-group's
	 * size. The hook is not called for a kernel that another kernel calls, because such a
	 * kernel acts as a function. */
	void (*enter)(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		      uint32_t group_size);
	/* Called after `enter` in the first work-item of a work-group, with the address in a
	 * pointer argument. This call makes the addresses of buffers known. The hook is not called
	 * for structures that are passed by value. */
	void (*argument)(uint64_t token, uint32_t index, uint64_t addr);
	void (*access)(uint64_t addr, uint32_t site, uint32_t item);
	/* Called for a copy by a whole work-group, which is an access to each of `count` elements,
	 * `stride` bytes apart. All work-items of the work-group report the same copy, so only the
	 * report of the first work-item must be counted. */
	void (*range)(uint64_t addr, uint32_t site, uint32_t item, uint64_t count, uint64_t stride);
};
extern PASTA_EXPORT struct pasta_trace_hooks pasta_trace_hooks;

/* What instrumented code reports to the hooks. Hooks get the index of a site or kernel in the
 * module, plus first_site or first_kernel. */
struct pasta_trace_subscribe {
	/* mask of the address spaces to report, or 0 for all; UNKNOWN is always reported */
	uint32_t spaces;
	uint32_t first_site, first_kernel;
};

/* Instruments bitcode that the driver's compiler has produced with -g and without optimisation.
 * Several modules are linked into one. The caller frees the result. Returns -EINVAL if LLVM cannot
 * read the bitcode, or if the instrumented module is invalid. Any thread may call this function. */
PASTA_EXPORT int pasta_trace_instrument(const void *const *bitcode, const size_t *sizes,
					size_t count, const struct pasta_trace_subscribe *subscribe,
					struct pasta_trace_module *out, struct pasta_error *err);
PASTA_EXPORT void pasta_trace_module_free(struct pasta_trace_module *m);

/* Finds the bitcode inside a program binary of the driver. *bitcode points into `binary`. Returns
 * -ENOTSUP if there is no bitcode. */
PASTA_EXPORT int pasta_trace_unpack(const void *binary, size_t size, const void **bitcode,
				    size_t *bitcode_size, struct pasta_error *err);

/* A program that was compiled from source, and its options and headers. */
struct pasta_trace_part {
	cl_program program;
	const char *options; /* or NULL */
	cl_uint header_count;
	const cl_program *headers;
	const char **header_names;
};

/* Builds an instrumented program with the same kernels for one device. The parts are not changed;
 * *out describes the result. The caller releases *program and frees *out. Returns -ENODEV if the
 * device's driver doesn't support instrumentation, or -ENOTSUP if a part has no source. The build
 * takes about as long as a build of the original. Any thread may call this function. */
PASTA_EXPORT int pasta_trace_build(const cl_icd_dispatch *cl, const struct pasta_trace_part *parts,
				   size_t count, cl_device_id device,
				   const struct pasta_trace_subscribe *subscribe,
				   struct pasta_trace_module *out, cl_program *program,
				   struct pasta_error *err);

#endif
