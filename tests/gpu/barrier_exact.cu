/*
 * barrier_exact FILE - kernels whose arrivals at barriers are known beforehand.
 *
 * stdout has what does not change from run to run. FILE has what a profiler should have counted, as
 * JSON: for each kernel and number of a barrier, arrivals of warps and of threads, and the threads
 * that those warps have. Barriers are written in PTX, with a store between two of them, so that no
 * compiler has fewer or others. The last warp of a block has 8 threads.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

enum { WARP = 32, BLOCK = 200, GRID = 12, WARPS = 7, ROUNDS = 10, SOME = 64, STAY = 190 };

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "barrier_exact: line %d: %s\n", __LINE__,                  \
				cudaGetErrorName(e_));                                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define KERNEL extern "C" __global__ void

static __device__ __forceinline__ void put(uint32_t *to, uint32_t v)
{
	asm volatile("st.global.u32 [%0], %1;" ::"l"(
			     __cvta_generic_to_global(to + blockIdx.x * BLOCK + threadIdx.x)),
		     "r"(v)
		     : "memory");
}

KERNEL k_rounds(uint32_t *dst, uint32_t rounds)
{
#pragma unroll 1
	for (uint32_t i = 0; i < rounds; i++) {
		put(dst, i);
		asm volatile("bar.sync 0;" ::: "memory");
	}
}

/* The first two warps have a barrier of their own, beside that of the block. */
KERNEL k_some(uint32_t *dst, uint32_t rounds)
{
	if (threadIdx.x < SOME) {
#pragma unroll 1
		for (uint32_t i = 0; i < rounds; i++) {
			put(dst, 2 * i);
			asm volatile("bar.sync 1, %0;" ::"n"((int)SOME) : "memory");
		}
	}
	put(dst, threadIdx.x);
	asm volatile("bar.sync 0;" ::: "memory");
	put(dst, 3);
}

/* Two threads of the last warp but one have exited, and all of the last. */
KERNEL k_gone(uint32_t *dst)
{
	put(dst, 4);
	if (threadIdx.x >= STAY)
		return;
	__syncthreads();
	put(dst, 5);
}

KERNEL k_none(uint32_t *dst)
{
	put(dst, 6);
}

static void show(const char *what, const uint32_t *from)
{
	static uint32_t host[GRID * BLOCK];
	uint64_t sum = 0;

	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, from, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < GRID * BLOCK; i++)
		sum += host[i];
	printf("%s %llu\n", what, (unsigned long long)sum);
}

/* What one block does. */
static void print_expected(FILE *f, const char *kernel, int number, int warps, int threads, int all)
{
	static const char *comma = "{\"barriers\": [";

	fprintf(f, "%s[\"%s\", %d, %d, %d, %d]", comma, kernel, number, GRID * warps,
		GRID * threads, GRID * all);
	comma = ",\n";
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "w") : NULL;
	uint32_t *dst;

	if (!f) {
		fputs("usage: barrier_exact FILE, which can be written\n", stderr);
		return 2;
	}
	CHECK(cudaMalloc(&dst, GRID * BLOCK * sizeof(*dst)));
	CHECK(cudaMemset(dst, 0, GRID * BLOCK * sizeof(*dst)));
	k_rounds<<<GRID, BLOCK>>>(dst, ROUNDS);
	print_expected(f, "k_rounds", 0, ROUNDS * WARPS, ROUNDS * BLOCK, ROUNDS * BLOCK);
	show("k_rounds", dst);
	k_some<<<GRID, BLOCK>>>(dst, ROUNDS);
	print_expected(f, "k_some", 0, WARPS, BLOCK, BLOCK);
	print_expected(f, "k_some", 1, ROUNDS * SOME / WARP, ROUNDS * SOME, ROUNDS * SOME);
	show("k_some", dst);
	k_gone<<<GRID, BLOCK>>>(dst);
	print_expected(f, "k_gone", 0, WARPS - 1, STAY, (WARPS - 1) * WARP);
	show("k_gone", dst);
	k_none<<<GRID, BLOCK>>>(dst);
	show("k_none", dst);
	fputs("]}\n", f);
	return fclose(f) ? 1 : 0;
}
