/*
 * loop - launches, measured by the program itself.
 *
 *	loop measure BATCHES BATCH      empty kernels and saxpy; ns a launch of each batch, as JSON
 *	loop many N                     N empty kernels; says when it was at its end
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

enum { WARM = 5, SAXPY_BATCH = 20, SAXPY_BATCHES = 12, ELEMENTS = 64 << 20 };

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "loop: %s: %s\n", #call, cudaGetErrorName(e_));            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

extern "C" __global__ void k_empty(void)
{
}

extern "C" __global__ void k_saxpy(const float *x, float *y, float a)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	y[i] += a * x[i];
}

static void tell(const char *name, const double *x, int n, const char *after)
{
	printf("\"%s\": [", name);
	for (int i = 0; i < n; i++)
		printf("%s%.1f", i ? ", " : "", x[i]);
	printf("]%s\n", after);
}

static void measure_empty(int batches, int batch, double *call, double *all)
{
	for (int i = -WARM; i < batches; i++) {
		double begin = now(CLOCK_MONOTONIC), called;

		for (int k = 0; k < batch; k++)
			k_empty<<<1, 1>>>();
		called = now(CLOCK_MONOTONIC);
		CHECK(cudaDeviceSynchronize());
		if (i < 0)
			continue;
		call[i] = (called - begin) / batch;
		all[i] = (now(CLOCK_MONOTONIC) - begin) / batch;
	}
	CHECK(cudaGetLastError());
}

static void measure_saxpy(double *all)
{
	size_t size = (size_t)ELEMENTS * sizeof(float);
	float *x, *y;

	CHECK(cudaMalloc((void **)&x, size));
	CHECK(cudaMalloc((void **)&y, size));
	CHECK(cudaMemset(x, 0, size));
	CHECK(cudaMemset(y, 0, size));
	for (int i = -WARM; i < SAXPY_BATCHES; i++) {
		double begin = now(CLOCK_MONOTONIC);

		for (int k = 0; k < SAXPY_BATCH; k++)
			k_saxpy<<<ELEMENTS / 256, 256>>>(x, y, 2);
		CHECK(cudaDeviceSynchronize());
		if (i >= 0)
			all[i] = (now(CLOCK_MONOTONIC) - begin) / SAXPY_BATCH;
	}
	CHECK(cudaGetLastError());
	CHECK(cudaFree(x));
	CHECK(cudaFree(y));
}

static int measure(int batches, int batch)
{
	double *call = (double *)calloc(2 * (size_t)batches, sizeof(*call)), saxpy[SAXPY_BATCHES];

	if (!call)
		return 1;
	measure_empty(batches, batch, call, call + batches);
	measure_saxpy(saxpy);
	printf("{\"launches\": %d,\n",
	       (batches + WARM) * batch + (SAXPY_BATCHES + WARM) * SAXPY_BATCH);
	tell("call", call, batches, ",");
	tell("all", call + batches, batches, ",");
	tell("saxpy", saxpy, SAXPY_BATCHES, "}");
	free(call);
	return 0;
}

static int many(long n)
{
	double begin = now(CLOCK_MONOTONIC);

	for (long i = 0; i < n; i++)
		k_empty<<<1, 1>>>();
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	printf("{\"seconds\": %.3f, \"end\": %.6f}\n", (now(CLOCK_MONOTONIC) - begin) / 1e9,
	       now(CLOCK_REALTIME) / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "measure") && atoi(argv[2]) > 0 && atoi(argv[3]) > 0)
		return measure(atoi(argv[2]), atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "many") && atol(argv[2]) > 0)
		return many(atol(argv[2]));
	fputs("usage: loop measure BATCHES BATCH | many N\n", stderr);
	return 2;
}
