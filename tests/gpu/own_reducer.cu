/*
 * own_reducer - kernels whose requests of shared memory are known: 7 blocks of 2 warps, and each
 * thread has one access. Those of k_N are N words apart, those of k_0 all the same word.
 */
#include <stdint.h>
#include <stdio.h>

#include <cuda_runtime.h>

enum { BLOCKS = 7, THREADS = 64 };

static __device__ uint32_t shared_of(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

#define STRIDE(n)                                                                                  \
	extern "C" __global__ void k_##n(void)                                                     \
	{                                                                                          \
		__shared__ __align__(128) uint32_t tile[1024];                                     \
		uint32_t at = shared_of(tile) + 4 * n * (threadIdx.x % 32);                        \
                                                                                                   \
		asm volatile(                                                                      \
			"{ .reg .u32 value; ld.volatile.shared.u32 value, [%0]; }" ::"r"(at));     \
	}
STRIDE(0)
STRIDE(1)
STRIDE(2)
STRIDE(4)
STRIDE(8)
STRIDE(16)
STRIDE(32)

/* 16 bytes side by side: four wavefronts, and none too many. */
extern "C" __global__ void k_wide(void)
{
	__shared__ __align__(128) uint32_t tile[128];
	uint32_t at = shared_of(tile) + 16 * (threadIdx.x % 32), zero = 0;

	asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(zero));
}

/* Half of the lanes, two words apart. */
extern "C" __global__ void k_half(void)
{
	__shared__ __align__(128) uint32_t tile[64];
	uint32_t at = shared_of(tile) + 8 * (threadIdx.x % 32), zero = 0;

	if (threadIdx.x % 2)
		asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(zero));
}

int main(void)
{
	static void (*const kernels[])(void) = {k_0,  k_1,  k_2,    k_4,   k_8,
						k_16, k_32, k_wide, k_half};
	cudaError_t error;

	for (auto kernel : kernels)
		kernel<<<BLOCKS, THREADS>>>();
	error = cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorName(error));
	return error != cudaSuccess;
}
