/* builtin.h - functions of OpenCL C that access memory, known by their mangled names. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_BUILTIN_H
#define PASTA_HANDLERS_OPENCL_TRACE_BUILTIN_H

#include <stdint.h>

/* One access that a call makes. */
struct trace_access {
	uint8_t does, space;
	uint8_t pointer; /* which argument */
	int8_t offset;	 /* which argument is an index from there, or -1 */
	int8_t count;	 /* which argument is a number of elements, or -1 */
	int8_t stride;	 /* which argument is their distance, or -1 */
	uint32_t bytes;	 /* of the access, or of an element of a range */
	uint32_t step;	 /* what an index counts: bytes */
};

/* What a call of this function does: up to two accesses. Returns how many; 0: it accesses no memory
 * that is told of; -1: it does, and we cannot tell. */
int trace_builtin(const char *mangled, struct trace_access access[2]);

/* The name without its mangling, copied; the whole of it, where it is not mangled. */
void trace_builtin_name(const char *mangled, char *name, uint32_t size);

#endif
