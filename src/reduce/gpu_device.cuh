/* gpu_device.cuh - what CUDA has no function for: the device's own registers, and the host's
 * memory. */
#ifndef PASTA_REDUCE_GPU_DEVICE_CUH
#define PASTA_REDUCE_GPU_DEVICE_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t lane_id(void)
{
	uint32_t lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

/* The multiprocessor. */
static __device__ __forceinline__ uint32_t processor_id(void)
{
	uint32_t id;

	asm("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}

/* ns */
static __device__ __forceinline__ uint64_t device_time(void)
{
	uint64_t time;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
	return time;
}

/* All that patches touch is global memory: said, or the compiler takes it for anything, and what is
 * added waits to be told that it was there. */
template <typename T> static __device__ __forceinline__ T *global(T *p)
{
	__builtin_assume(__isGlobal(p));
	return p;
}

/* The compiler takes it for another one, and keeps nothing that it made of this. */
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

/* 16 bytes, in one load. */
template <typename T> static __device__ __forceinline__ T read_whole(const T *p)
{
	const ulonglong2 words = *(const ulonglong2 *)p;

	static_assert(sizeof(T) == sizeof(words), "a whole one");
	return {words.x, words.y};
}

/* Nobody wants to know what was there. */
static __device__ __forceinline__ void add64(uint64_t *p, uint64_t n)
{
	asm volatile("red.global.add.u64 [%0], %1;" : : "l"(p), "l"(n) : "memory");
}

/* What the host wrote, and nothing after it before that. */
static __device__ __forceinline__ uint64_t read_host(const uint64_t *p)
{
	uint64_t value;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
	return value;
}

#endif
