/*
 * loop - launches, measured by the program itself.
 *
 * loop serve [CORE]       prints "ready", then measures a block for each line of its input,
 *                         "empty N", "burst N" or "saxpy N", and answers with a line of JSON:
 *                         ns per launch, and the number of launches so far. CORE is the core of
 *                         the thread that launches.
 * loop many N             launches N empty kernels; prints when it has ended
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

enum {
	WARM = 100, /* launches before a block: another process had the caches */
	WARM_SAXPY = 3,
	WARM_START = 2000,
	BURST = 500, /* the driver's queue holds about 1000 */
	ELEMENTS = 64 << 20,
};

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

struct server {
	float *x, *y;  /* ELEMENTS each */
	long launches; /* since the program began */
};

static void launch_empty(struct server *s, long n)
{
	for (long i = 0; i < n; i++)
		k_empty<<<1, 1>>>();
	s->launches += n;
}

static void launch_saxpy(struct server *s, long n)
{
	for (long i = 0; i < n; i++)
		k_saxpy<<<ELEMENTS / 256, 256>>>(s->x, s->y, 2);
	s->launches += n;
}

static void finish(void)
{
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
}

/* Far more launches than the queue holds, as a program that only launches. */
static void empty(struct server *s, long n)
{
	double begin, called, all;

	launch_empty(s, WARM);
	finish();
	begin = now(CLOCK_MONOTONIC);
	launch_empty(s, n);
	called = now(CLOCK_MONOTONIC);
	finish();
	all = now(CLOCK_MONOTONIC);
	printf("{\"call\": %.2f, \"all\": %.2f", (called - begin) / (double)n,
	       (all - begin) / (double)n);
}

/* Bursts that the queue holds, so that the call never waits for the GPU. */
static void burst(struct server *s, long n)
{
	double took = 0;
	long done = 0;

	launch_empty(s, WARM);
	while (done < n) {
		double begin;

		finish();
		begin = now(CLOCK_MONOTONIC);
		launch_empty(s, BURST);
		took += now(CLOCK_MONOTONIC) - begin;
		done += BURST;
	}
	finish();
	printf("{\"call\": %.2f", took / (double)done);
}

static void saxpy(struct server *s, long n)
{
	double begin;

	launch_empty(s, WARM);
	launch_saxpy(s, WARM_SAXPY);
	finish();
	begin = now(CLOCK_MONOTONIC);
	launch_saxpy(s, n);
	finish();
	printf("{\"all\": %.2f", (now(CLOCK_MONOTONIC) - begin) / (double)n);
}

static const struct {
	const char *name;
	void (*run)(struct server *s, long n);
} blocks[] = {{"empty", empty}, {"burst", burst}, {"saxpy", saxpy}};

static int block(struct server *s, const char *line)
{
	char name[16];
	long n;

	if (sscanf(line, "%15s %ld", name, &n) != 2 || n <= 0)
		return -1;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		if (strcmp(blocks[i].name, name))
			continue;
		blocks[i].run(s, n);
		printf(", \"launches\": %ld}\n", s->launches);
		fflush(stdout);
		return 0;
	}
	return -1;
}

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "loop: core %d: %s\n", core, strerror(errno));
		exit(1);
	}
}

static int serve(int core)
{
	size_t size = (size_t)ELEMENTS * sizeof(float);
	struct server s = {};
	char line[64];

	CHECK(cudaMalloc((void **)&s.x, size));
	CHECK(cudaMalloc((void **)&s.y, size));
	CHECK(cudaMemset(s.x, 0, size));
	CHECK(cudaMemset(s.y, 0, size));
	launch_empty(&s, WARM_START);
	launch_saxpy(&s, WARM_SAXPY);
	finish();
	/* Only now, because threads that a profiler started must not be bound to this core. */
	if (core >= 0)
		pin(core);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (block(&s, line)) {
			fprintf(stderr, "loop: not 'empty|burst|saxpy N': %s", line);
			return 2;
		}
	}
	CHECK(cudaFree(s.x));
	CHECK(cudaFree(s.y));
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
	if ((argc == 2 || (argc == 3 && *argv[2])) && !strcmp(argv[1], "serve")) {
		char *end = NULL;
		long core = argc == 3 ? strtol(argv[2], &end, 10) : -1;

		if (!end || (!*end && core >= 0 && core < CPU_SETSIZE))
			return serve((int)core);
	}
	if (argc == 3 && !strcmp(argv[1], "many") && atol(argv[2]) > 0)
		return many(atol(argv[2]));
	fputs("usage: loop serve [CORE] | many N\n", stderr);
	return 2;
}
