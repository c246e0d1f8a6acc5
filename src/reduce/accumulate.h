/* accumulate.h - functions that count an access. C and CUDA code include the same file. */
#ifndef PASTA_REDUCE_ACCUMULATE_H
#define PASTA_REDUCE_ACCUMULATE_H

#include <pasta/device.h>

#ifdef __CUDACC__
#define PASTA_DEV static __host__ __device__ __forceinline__
#else
#define PASTA_DEV static inline
#endif

/* PASTA_READ32 and PASTA_READ64 read a value that other threads may change concurrently. On a
 * device, they read memory anew each time. */
#ifdef __CUDA_ARCH__
#define PASTA_READ32(p) (*(const volatile uint32_t *)(p))
#define PASTA_READ64(p) (*(const volatile uint64_t *)(p))
#else
#define PASTA_READ32(p) (*(p))
#define PASTA_READ64(p) (*(p))
#endif

/* Returns the number of bytes that an access moves. An atomic operation moves its bytes twice. */
PASTA_DEV uint64_t pasta_access_bytes(uint32_t kind, uint32_t size)
{
	return (uint64_t)size << (kind == PASTA_ACCESS_ATOMIC);
}

/* Returns the number of bytes that accesses of one kind write, given the number of bytes that
 * they move. */
PASTA_DEV uint64_t pasta_access_written(uint32_t kind, uint64_t bytes)
{
	return kind & PASTA_ACCESS_STORE ? bytes >> (kind == PASTA_ACCESS_ATOMIC) : 0;
}

/* Returns whether an access reaches beyond `last`, the last byte of the range that contains the
 * access's first byte. The function does not add address and size, because the sum may overflow. */
PASTA_DEV uint32_t pasta_access_crosses(uint64_t addr, uint32_t size, uint64_t last)
{
	return size && size - 1 > last - addr;
}

#endif
