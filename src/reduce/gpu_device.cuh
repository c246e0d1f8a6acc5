/* gpu_device.cuh - wraps device instructions for which CUDA has no function. */
#ifndef PASTA_REDUCE_GPU_DEVICE_CUH
#define PASTA_REDUCE_GPU_DEVICE_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t lane_id(void)
{
	uint32_t lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

/* Returns the number of the multiprocessor that runs this thread. */
static __device__ __forceinline__ uint32_t processor_id(void)
{
	uint32_t id;

	asm("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}

/* Returns the time of the device's timer in ns. */
static __device__ __forceinline__ uint64_t device_time(void)
{
	uint64_t time;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
	return time;
}

/* Returns p, and declares that p points to global memory. All memory that patches access is global.
 * Without this declaration, the compiler generates slower, generic accesses that wait for
 * results. */
template <typename T> static __device__ __forceinline__ T *global(T *p)
{
	__builtin_assume(__isGlobal(p));
	return p;
}

/* Returns x, and hides from the compiler that the value is unchanged. The compiler then does not
 * hold values in registers that it derives from x. */
static __device__ __forceinline__ uint32_t afresh(uint32_t x)
{
	asm volatile("" : "+r"(x));
	return x;
}

template <typename T> static __device__ __forceinline__ T *afresh(T *p)
{
	asm volatile("" : "+l"(p));
	return global(p);
}

/* Reads 16 bytes in one load. */
template <typename T> static __device__ __forceinline__ T read_whole(const T *p)
{
	const ulonglong2 words = *(const ulonglong2 *)p;

	static_assert(sizeof(T) == sizeof(words), "T must have the size of two words");
	return {words.x, words.y};
}

/* Adds to a value in memory, without reading the previous value. */
static __device__ __forceinline__ void add64(uint64_t *p, uint64_t n)
{
	asm volatile("red.global.add.u64 [%0], %1;" : : "l"(p), "l"(n) : "memory");
}

/* Reads a value that the host writes. The device does not move later reads before this read. */
static __device__ __forceinline__ uint64_t read_host(const uint64_t *p)
{
	uint64_t value;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
	return value;
}

#endif
