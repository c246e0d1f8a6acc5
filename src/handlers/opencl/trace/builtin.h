/* builtin.h - finds the built-in functions of OpenCL C that access memory, by mangled name. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_BUILTIN_H
#define PASTA_HANDLERS_OPENCL_TRACE_BUILTIN_H

#include <stdint.h>

/* One access of a call. Arguments are given by index; -1: none. */
struct trace_access {
	uint8_t does, space; /* PASTA_TRACE_* */
	uint8_t pointer;     /* the argument that is the address */
	int8_t offset;	     /* the argument that is an index from this address */
	int8_t count;	     /* the argument that is a number of elements */
	int8_t stride;	     /* the argument that is the distance between elements */
	uint32_t bytes;	     /* bytes of the access, or of one element of a range */
	uint32_t step;	     /* bytes per index and stride */
};

/* Finds the accesses of a call, at most two. Returns their number; 0 if the function doesn't access
 * memory; -1 if it does but its accesses cannot be counted. */
int trace_builtin(const char *mangled, struct trace_access access[2]);

/* Copies the function's name without its mangling. */
void trace_builtin_name(const char *mangled, char *name, uint32_t size);

#endif
