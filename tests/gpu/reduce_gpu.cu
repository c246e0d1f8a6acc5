/*
 * reduce_gpu - the patches on a GPU, called by kernels of ours, against the reducers on the host.
 *
 * Prints differences, and exits with 1 if there are any. See reduce_cases.h.
 */
#include <cuda_runtime.h>

#define together(mask) ((void)(mask))
#include "gpu/reduce_cases.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "reduce_gpu: line %d: %s: %s\n", __LINE__, #call,          \
				cudaGetErrorString(e_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The host's memory, which it may look at while a kernel runs; and the device's, where it may not.
 * Addresses are the same for both. */
void *memory_new(size_t bytes, bool host)
{
	void *p;

	if (host)
		CHECK(cudaHostAlloc(&p, bytes, cudaHostAllocPortable));
	else
		CHECK(cudaMallocManaged(&p, bytes));
	memset(p, 0, bytes);
	return p;
}

static __global__ void kernel(struct job job)
{
	do_all(&job);
}

void kernel_run(const struct job *job)
{
	dim3 grid(job->blocks / 2, 2, 1), block(THREADS / 2, 2, 1);
	cudaError_t ready;

	kernel<<<grid, block>>>(*job);
	CHECK(cudaGetLastError());
	while ((ready = cudaStreamQuery(0)) == cudaErrorNotReady)
		host_turn();
	CHECK(ready);
}

int main(int argc, char **argv)
{
	CHECK(cudaSetDevice(0));
	return run_cases(argc > 1 ? (uint32_t)atoi(argv[1]) : 200,
			 argc > 2 ? (uint32_t)atoi(argv[2]) : 24);
}
