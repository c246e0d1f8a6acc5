/*
 * cuda_turns - a CUDA program that is recorded in part, or that uses CUPTI itself.
 *
 *	cuda_turns turns        k_on and k_long are launched between start and stop, k_off is not
 *	cuda_turns paced MS     k_on each millisecond for so long
 *	cuda_turns nvtx         k_on in nested ranges, on four threads
 *	cuda_turns own N FILE   N times k_on; then N times k_off, whose records it has CUPTI, the
 *	                        library FILE, give to itself
 *
 * stdout has what does not change from run to run.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <pasta/annotate.h>

enum { OFF = 100, ON = 50, THREADS = 4, INNER = 3, IN_RANGE = 5 };
#define LONG_NS UINT64_C(2500000000) /* over two of the agent's seconds */

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "cuda_turns: line %d: %s: %s\n", __LINE__, #call,          \
				cudaGetErrorName(e_));                                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

extern "C" __global__ void k_on(void)
{
}

extern "C" __global__ void k_off(void)
{
}

extern "C" __global__ void k_long(uint64_t ns)
{
	uint64_t begin, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < ns);
}

static void on(int n)
{
	while (n-- > 0)
		k_on<<<1, 1>>>();
	CHECK(cudaGetLastError());
}

static void off(int n)
{
	while (n-- > 0)
		k_off<<<1, 1>>>();
	CHECK(cudaGetLastError());
}

/* The long kernel still runs when recording stops, and for long after. */
static void turns(void)
{
	off(OFF);
	pasta_start();
	on(ON);
	k_long<<<1, 1>>>(LONG_NS);
	CHECK(cudaGetLastError());
	pasta_stop();
	off(OFF);
	CHECK(cudaDeviceSynchronize());
	sleep(2);
	off(OFF);
	CHECK(cudaProfilerStart());
	on(ON);
	CHECK(cudaProfilerStop());
	off(OFF);
	CHECK(cudaDeviceSynchronize());
	pasta_start();
	on(ON);
	CHECK(cudaDeviceSynchronize());
	pasta_stop();
	off(OFF);
	CHECK(cudaDeviceSynchronize());
	printf("%d of k_on, 1 of k_long\n", 3 * ON);
}

static void paced(int ms)
{
	const struct timespec pause = {0, 1000000};
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		on(1);
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
	CHECK(cudaDeviceSynchronize());
}

static void *ranges(void *arg)
{
	(void)arg;
	nvtxRangePushA("outer");
	on(IN_RANGE);
	for (int i = 0; i < INNER; i++) {
		nvtxRangePushA("inner");
		on(IN_RANGE);
		nvtxMarkA("mark");
		nvtxRangePop();
	}
	CHECK(cudaDeviceSynchronize());
	nvtxRangePop();
	off(IN_RANGE);
	return NULL;
}

static void nvtx(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, ranges, NULL))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(cudaDeviceSynchronize());
}

/* -- CUPTI, as a program uses it that looks it up by name -- */

static int (*next_record)(uint8_t *, size_t, uint32_t **);
static long records;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 20;
	*buffer = (uint8_t *)malloc(*size);
	*max = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint32_t *record = NULL;

	(void)context, (void)stream, (void)size;
	while (valid && !next_record(buffer, valid, &record))
		records += *record == 10; /* a kernel */
	free(buffer);
}

static void *look(void *lib, const char *name)
{
	void *f = dlsym(lib, name);

	if (!f) {
		fprintf(stderr, "cuda_turns: %s\n", dlerror());
		exit(1);
	}
	return f;
}

static void succeeds(const char *what, int result)
{
	if (!result)
		return;
	fprintf(stderr, "cuda_turns: %s: CUPTI's result %d\n", what, result);
	exit(1);
}

static void own(int n, const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*register_)(void *, void *), (*enable)(int), (*disable)(int), (*flush)(uint32_t);

	if (!lib) {
		fprintf(stderr, "cuda_turns: %s\n", dlerror());
		exit(1);
	}
	*(void **)&register_ = look(lib, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = look(lib, "cuptiActivityEnable");
	*(void **)&disable = look(lib, "cuptiActivityDisable");
	*(void **)&flush = look(lib, "cuptiActivityFlushAll");
	*(void **)&next_record = look(lib, "cuptiActivityGetNextRecord");
	on(n);
	CHECK(cudaDeviceSynchronize());
	succeeds("register", register_((void *)request, (void *)complete));
	succeeds("enable", enable(10));
	off(n);
	CHECK(cudaDeviceSynchronize());
	succeeds("flush", flush(0));
	succeeds("disable", disable(10));
	printf("%ld records of its own\n", records);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (argc == 2 && !strcmp(way, "turns"))
		turns();
	else if (argc == 3 && !strcmp(way, "paced"))
		paced(atoi(argv[2]));
	else if (argc == 2 && !strcmp(way, "nvtx"))
		nvtx();
	else if (argc == 4 && !strcmp(way, "own"))
		own(atoi(argv[2]), argv[3]);
	else {
		fputs("usage: cuda_turns turns | paced MS | nvtx | own N FILE\n", stderr);
		return 2;
	}
	return 0;
}
