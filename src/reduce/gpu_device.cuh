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

/* ns */
static __device__ __forceinline__ uint64_t device_time(void)
{
	uint64_t time;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
	return time;
}

/* What the host wrote, and nothing after it before that. */
static __device__ __forceinline__ uint64_t read_host(const uint64_t *p)
{
	uint64_t value;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
	return value;
}

#endif
