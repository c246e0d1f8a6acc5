/* kernelname.h - shortens the names of kernels for people to read. */
#ifndef PASTA_PROCESS_KERNELNAME_H
#define PASTA_PROCESS_KERNELNAME_H

#include <stddef.h>

#define PASTA_KERNELNAME_WIDTH 40 /* maximum length of a short name in code points */
#define PASTA_KERNELNAME_SIZE 164 /* size in bytes of a buffer that any short name fits into */

/*
 * Write a short form of a kernel's name: "gemm bf16 tn 128x128x64 sm90" for a kernel of a library,
 * "mul scalar f32" for an instance of one of PyTorch's generic kernels, and in general the function
 * without its namespaces, template arguments and parameters. Different kernels can have the same
 * short name. The short name of a kernel that is neither templated nor in a namespace is the name
 * of the function. A longer result has an ellipsis in its middle.
 *
 * `full` can contain any bytes. The result is valid UTF-8, cut at `size` bytes, which is at least
 * 1, and may contain control characters if the full name does. Returns the length of the result.
 * Needs time proportional to the length of the full name, and allocates no memory.
 */
size_t pasta_kernelname_short(const char *full, char *text, size_t size);

#endif
