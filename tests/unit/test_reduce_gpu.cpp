/*
 * test_reduce_gpu.cpp - the patches on an emulated device, against the reducers on the host.
 *
 * timeout: 120
 */
#include "reduce/gpu_host.h"

#define __host__
#define together warp_together
#include "gpu/reduce_cases.h"

static void *memories[4096];
static int memory_count;

void *memory_new(size_t bytes, bool host)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!p || memory_count == 4096) {
		fprintf(stderr, "test_reduce_gpu: no memory\n");
		exit(1);
	}
	memset(p, 0, bytes);
	memories[memory_count++] = p;
	return p;
}

static void kernel(void *job)
{
	do_all((const struct job *)job);
}

void kernel_run(const struct job *job)
{
	struct dim3 grid = {job->blocks / 2, 2, 1}, block = {THREADS / 2, 2, 1};

	warp_nap = host_turn;
	warp_run(grid, block, kernel, (void *)job);
}

int main()
{
	int failed = run_cases(WARP_STEPS(60), 6);

	while (memory_count)
		free(memories[--memory_count]);
	return failed;
}
