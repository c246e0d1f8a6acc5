/* builtin.h - recognizes the built-in functions of OpenCL C that access memory, by mangled name. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_BUILTIN_H
#define PASTA_HANDLERS_OPENCL_TRACE_BUILTIN_H

#include <stdint.h>

/* One memory access of a call. Each member that refers to an argument contains the argument's
 * index, or -1 for no argument. */
struct trace_access {
	uint8_t does, space; /* PASTA_TRACE_* */
	uint8_t pointer;     /* index of the argument with the address */
	int8_t offset;	     /* index of the argument with an offset to the address, in steps */
	int8_t count;	     /* index of the argument with the number of elements */
	int8_t stride;	/* index of the argument with the distance between elements, in steps */
	uint32_t bytes; /* size in bytes of the access, or of one element of a range */
	uint32_t step;	/* size in bytes of one step of `offset` and `stride` */
};

/* Finds the memory accesses of a call; there are at most two. Returns their number, 0 if the
 * function doesn't access memory, or -1 if its accesses cannot be counted. */
int trace_builtin(const char *mangled, struct trace_access access[2]);

/* Copies the function's demangled name, without its parameters. */
void trace_builtin_name(const char *mangled, char *name, uint32_t size);

#endif
