/*
 * trace.h - builds OpenCL programs that report their kernels' memory accesses.
 *
 * An access is a load or store in the source language, before optimisation, by one work-item. Uses
 * of a variable whose address is never taken don't count, nor do temporaries that the compiler
 * needs to pass values. The driver's own compiler produces the code to instrument, so that options,
 * headers and extensions have their usual effect. The driver then optimises the instrumented code
 * as it would the original, and results don't change.
 *
 * This needs a driver that compiles with LLVM in the program's process and accepts LLVM bitcode:
 * PoCL.
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

/* The address space of an access. UNKNOWN: a generic pointer; only the address shows it. */
enum pasta_trace_space {
	PASTA_TRACE_UNKNOWN,
	PASTA_TRACE_GLOBAL,
	PASTA_TRACE_CONSTANT,
	PASTA_TRACE_LOCAL,
	PASTA_TRACE_PRIVATE,
};

/* What a site does. An ATOMIC both loads and stores. The accesses of a MISSED site are not
 * reported: it uses an image or a pipe, or enqueues a kernel. */
enum {
	PASTA_TRACE_MISSED = 0,
	PASTA_TRACE_LOAD = 1,
	PASTA_TRACE_STORE = 2,
	PASTA_TRACE_ATOMIC = 4,
};

/* An instruction that accesses memory. Texts live as long as the module. */
struct pasta_trace_site {
	const char *function; /* the function that contains it */
	const char *callee;   /* the built-in function that it calls, or NULL */
	const char *file;     /* "": the program's own source */
	uint32_t line, column;
	uint32_t bytes; /* bytes of an access, or of one element if the range hook reports it */
	uint8_t does, space;
};

/* An instrumented kernel. It has one more argument than the original, the last: a ulong token that
 * the caller chooses to distinguish launches that run at the same time. The token's index is the
 * number of the original's arguments. NO_TOKEN is reserved: kernels pass it to kernels that they
 * call. */
#define PASTA_TRACE_NO_TOKEN UINT64_MAX
struct pasta_trace_kernel {
	const char *name;
	uint32_t arguments; /* of the original */
};

struct pasta_trace_module {
	void *bitcode;
	size_t size;
	struct pasta_trace_site *sites;
	struct pasta_trace_kernel *kernels;
	size_t site_count, kernel_count;
	bool inexact; /* compiler options allow inexact arithmetic: results may differ */
	struct pasta_trace_text *texts; /* private */
};

/*
 * The functions that instrumented code calls, on the driver's threads. Set them before the first
 * instrumented kernel runs.
 *
 * A work-group runs on one thread from start to end, and nothing else runs on the thread meanwhile.
 * access and range therefore refer to the launch and the work-group of the thread's last enter.
 *
 * Work-items run one after the other, in the order of their numbers, each up to the next barrier or
 * the end; then all continue from there, starting with the first. So the first work-item's enter
 * starts a work-group, and all work-items enter before any of them passes a barrier. A work-group
 * ends when the thread enters the next one, or when the launch completes. A work-item with a lower
 * number than the last one reported, and without an enter, continues after a barrier. Barriers
 * between which only one work-item accesses memory cannot be seen. The accesses of one work-item
 * are reported in program order.
 */
struct pasta_trace_hooks {
	/* A work-item starts: the launch's token, the kernel and the work-group (numbered from 0),
	 * the work-item's number in its group, and the group's size. A kernel that is called by
	 * another kernel acts as a function of it, and does not enter. */
	void (*enter)(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		      uint32_t group_size);
	/* After the enter of a group's first work-item: the address in a pointer argument. This
	 * makes the addresses of buffers known. Structures passed by value are not reported. */
	void (*argument)(uint64_t token, uint32_t index, uint64_t addr);
	void (*access)(uint64_t addr, uint32_t site, uint32_t item);
	/* Accesses count elements, stride bytes apart: a copy by a whole work-group. All its
	 * work-items report the same copy; count it for the first one only. */
	void (*range)(uint64_t addr, uint32_t site, uint32_t item, uint64_t count, uint64_t stride);
};
extern PASTA_EXPORT struct pasta_trace_hooks pasta_trace_hooks;

/* What to report. The hooks get first_site or first_kernel plus the index in the module. */
struct pasta_trace_subscribe {
	uint32_t spaces; /* one bit per address space; 0: all. UNKNOWN is always reported */
	uint32_t first_site, first_kernel;
};

/* Instruments bitcode that the driver's compiler produced with -g and without optimisation. Several
 * modules are linked into one. The caller frees the result. Returns -EINVAL if LLVM cannot
 * read the bitcode, or if the instrumented module is invalid. Any thread. */
PASTA_EXPORT int pasta_trace_instrument(const void *const *bitcode, const size_t *sizes,
					size_t count, const struct pasta_trace_subscribe *subscribe,
					struct pasta_trace_module *out, struct pasta_error *err);
PASTA_EXPORT void pasta_trace_module_free(struct pasta_trace_module *m);

/* Finds the bitcode inside a binary of the driver. *bitcode points into binary. Returns -ENOTSUP if
 * there is none. */
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

/* Builds an instrumented program with the same kernels for one device, from parts, which don't
 * change. out describes it. The caller releases *program and frees out. Returns -ENODEV if the
 * device's driver doesn't support it, -ENOTSUP if a part has no source. Takes as long as building
 * the original. Any thread. */
PASTA_EXPORT int pasta_trace_build(const cl_icd_dispatch *cl, const struct pasta_trace_part *parts,
				   size_t count, cl_device_id device,
				   const struct pasta_trace_subscribe *subscribe,
				   struct pasta_trace_module *out, cl_program *program,
				   struct pasta_error *err);

#endif
