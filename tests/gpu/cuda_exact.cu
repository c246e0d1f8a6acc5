/*
 * cuda_exact - a CUDA program that knows what it did.
 *
 *	cuda_exact work FILE            all types of work, on streams and threads, in graphs
 *	cuda_exact times N FILE         N kernels that look at the GPU's timer, and pairs of the two
 *clocks cuda_exact tick N               N launches cuda_exact fork N               and as many in a
 *child that was forked before CUDA was used cuda_exact children N           and as many in three
 *programs that it starts cuda_exact exit N STATUS        and _exit cuda_exact fault N and a kernel
 *that writes where nothing is
 *
 * Results are checked. stdout has what does not change from run to run, FILE the rest: addresses,
 *times.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime.h>

enum { THREADS = 4, ROUNDS = 25, TICKS = 40, WORDS = 1 << 16, BLOCK = 256 };
enum { GRAPHS = 20, CHAINS = 10, WIDTH = 300, PITCH = 512, HEIGHT = 77 };
enum { MANAGED_WORDS = 16 << 20, BLOCKS = 5, EVENTS = 30 };
enum { ALLOCS_MAX = 4096, PAIRS = 400, GROUPS = 4, WARM = 20 };

extern char **environ;

__attribute__((noreturn)) static void die(int line, const char *what, const char *why)
{
	fprintf(stderr, "cuda_exact: line %d: %s: %s\n", line, what, why);
	exit(1);
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess)                                                             \
			die(__LINE__, #call, cudaGetErrorName(e_));                                \
	} while (0)
#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what))                                                                       \
			die(__LINE__, #what, "does not hold");                                     \
	} while (0)

static uint64_t raw_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* -- What was done. Threads add to it. -- */

#define KERNELS(K) K(k_tick) K(k_scale) K(k_touch) K(k_coop) K(k_node_a) K(k_node_b)
#define K(name) N_##name,
enum { KERNELS(K) KERNEL_COUNT };
#undef K

enum way { H2D, D2H, D2D, SETS, WAYS };
enum type { DEVICE, HOST, MANAGED, POOL, PHYSICAL, MAPPED, TYPES };

static long kernels[KERNEL_COUNT];
static long launches, graph_launches, captured;
static long count[WAYS], calls[WAYS];
static unsigned long long bytes[WAYS];
static struct {
	uint64_t addr, bytes;
	enum type type;
} allocs[ALLOCS_MAX];
static long alloc_count, free_count;
static long streams[2], events; /* that wait for stream 0, and that do not */
static uint64_t managed_addr;

#define ADD(what, n) __atomic_fetch_add(&(what), n, __ATOMIC_RELAXED)

/* A launch that is captured does nothing yet. */
static __thread bool capturing;

static void given(int kernel)
{
	if (capturing) {
		ADD(captured, 1);
		return;
	}
	ADD(launches, 1);
	ADD(kernels[kernel], 1);
}

static void moved(enum way way, size_t n)
{
	if (capturing) {
		ADD(captured, 1);
		return;
	}
	ADD(calls[way], 1);
	ADD(count[way], 1);
	ADD(bytes[way], n);
}

#define LAUNCH(key, kernel, grid, block, stream, ...)                                              \
	do {                                                                                       \
		kernel<<<grid, block, 0, stream>>>(__VA_ARGS__);                                   \
		CHECK(cudaGetLastError());                                                         \
		given(N_##key);                                                                    \
	} while (0)

static void made(void *p, size_t n, enum type type)
{
	long i = ADD(alloc_count, 1);

	EXPECT(i < ALLOCS_MAX);
	allocs[i].addr = (uint64_t)(uintptr_t)p;
	allocs[i].bytes = n;
	allocs[i].type = type;
}

static void *on_device(size_t n)
{
	void *p;

	CHECK(cudaMalloc(&p, n));
	made(p, n, DEVICE);
	return p;
}

static void *pinned(size_t n)
{
	void *p;

	CHECK(cudaMallocHost(&p, n));
	made(p, n, HOST);
	return p;
}

static void release(void *p)
{
	CHECK(cudaFree(p));
	ADD(free_count, 1);
}

static void release_host(void *p)
{
	CHECK(cudaFreeHost(p));
	ADD(free_count, 1);
}

static cudaStream_t new_stream(unsigned int flags)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, flags));
	ADD(streams[flags == cudaStreamNonBlocking], 1);
	return stream;
}

static void copy(void *to, const void *from, size_t n, enum way way, cudaStream_t stream)
{
	static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
					       cudaMemcpyDeviceToDevice};

	CHECK(cudaMemcpyAsync(to, from, n, kinds[way], stream));
	moved(way, n);
}

static void set(void *p, int value, size_t n, cudaStream_t stream)
{
	CHECK(cudaMemsetAsync(p, value, n, stream));
	moved(SETS, n);
}

/* -- Kernels -- */

extern "C" __global__ void k_tick(int *x)
{
	if (!threadIdx.x)
		atomicAdd(x, 1);
}

/* Its name is mangled. */
template <typename T> __global__ void k_scale(T *x, T by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= by;
}

extern "C" __global__ void k_touch(int *x, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x[i] += i;
}

extern "C" __global__ void k_coop(int *x)
{
	atomicAdd(x, 1);
}

extern "C" __global__ void k_node_a(int *x)
{
	atomicAdd(x, 1);
}

extern "C" __global__ void k_node_b(int *x)
{
	atomicAdd(x, 100);
}

extern "C" __global__ void k_fault(int *x)
{
	*x = 1;
}

/* -- Work -- */

static void *thread(void *arg)
{
	long me = (long)(intptr_t)arg;
	size_t size = WORDS * sizeof(int);
	int *host = (int *)pinned(size), *device = (int *)on_device(size);
	cudaStream_t stream = new_stream(cudaStreamNonBlocking);

	for (int r = 0; r < ROUNDS; r++) {
		size_t part = size / 2 + (size_t)(me * ROUNDS + r) * 512;
		int *pool;

		CHECK(cudaMallocAsync((void **)&pool, size, stream));
		made(pool, size, POOL);
		set(pool, 0, size, stream);
		for (int i = 0; i < TICKS; i++)
			LAUNCH(k_tick, k_tick, 1, 32, stream, pool);
		copy(host, pool, sizeof(int), D2H, stream);
		CHECK(cudaStreamSynchronize(stream));
		EXPECT(host[0] == TICKS);
		for (int i = 0; i < WORDS; i++)
			host[i] = i + r;
		copy(device, host, size, H2D, stream);
		LAUNCH(k_scale, k_scale<int>, WORDS / BLOCK, BLOCK, stream, device, 3, WORDS);
		copy(pool, device, part, D2D, stream);
		CHECK(cudaStreamSynchronize(stream));
		memset(host, 0, size);
		copy(host, pool, part, D2H, stream);
		CHECK(cudaFreeAsync(pool, stream));
		ADD(free_count, 1);
		CHECK(cudaStreamSynchronize(stream));
		for (size_t i = 0; i < part / sizeof(int); i++)
			EXPECT(host[i] == 3 * ((int)i + r));
	}
	CHECK(cudaStreamDestroy(stream));
	release(device);
	release_host(host);
	return NULL;
}

static void work_in_threads(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i));
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
}

/* Memory that the system may page out, copied while we wait; and rows of an image. */
static void work_pageable(void)
{
	size_t size = (1 << 20) + 4096;
	char *from = (char *)malloc(size), *to = (char *)malloc(size), *device;

	EXPECT(from && to);
	for (size_t i = 0; i < size; i++)
		from[i] = (char)(i * 7);
	device = (char *)on_device(size);
	CHECK(cudaMemset(device, 0x55, size));
	moved(SETS, size);
	CHECK(cudaMemcpy(device, from, size, cudaMemcpyHostToDevice));
	moved(H2D, size);
	CHECK(cudaMemcpy(to, device, size, cudaMemcpyDeviceToHost));
	moved(D2H, size);
	EXPECT(!memcmp(from, to, size));
	CHECK(cudaMemcpy2D(device, PITCH, from, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
	moved(H2D, WIDTH * HEIGHT);
	CHECK(cudaMemcpy2D(to, WIDTH, device, PITCH, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
	moved(D2H, WIDTH * HEIGHT);
	EXPECT(!memcmp(from, to, WIDTH * HEIGHT));
	release(device);
	free(from);
	free(to);
}

/* 64 MiB, touched by the host, by the device and by the host again. */
static void work_managed(void)
{
	size_t size = MANAGED_WORDS * sizeof(int);
	int *x;

	CHECK(cudaMallocManaged((void **)&x, size, cudaMemAttachGlobal));
	made(x, size, MANAGED);
	managed_addr = (uint64_t)(uintptr_t)x;
	for (int i = 0; i < MANAGED_WORDS; i++)
		x[i] = 1;
	LAUNCH(k_touch, k_touch, 256, BLOCK, 0, x, (int)MANAGED_WORDS);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < MANAGED_WORDS; i++)
		EXPECT(x[i] == i + 1);
	release(x);
}

/* The driver's functions are looked up, as the program is not linked to it. */
#define DRIVER(name, ...)                                                                          \
	do {                                                                                       \
		static decltype(&name) f_ = (decltype(&name))dlsym(driver, #name);                 \
		EXPECT(f_ && f_(__VA_ARGS__) == CUDA_SUCCESS);                                     \
	} while (0)

/* Blocks of memory, one after the other in a range of addresses, where a kernel counts. The first is
 * released while it is mapped, the others afterwards. */
static void work_virtual(cudaStream_t stream)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
	CUmemGenericAllocationHandle handles[BLOCKS];
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUdeviceptr at = 0;
	size_t size = 0;
	int got = 0;

	EXPECT(driver);
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	DRIVER(cuMemGetAllocationGranularity, &size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	DRIVER(cuMemAddressReserve, &at, BLOCKS * size, 0, 0, 0);
	for (int i = 0; i < BLOCKS; i++) {
		DRIVER(cuMemCreate, &handles[i], size, &prop, 0);
		made((void *)(uintptr_t)handles[i], size, PHYSICAL);
		DRIVER(cuMemMap, at + i * size, size, 0, handles[i], 0);
		made((void *)(uintptr_t)(at + i * size), size, MAPPED);
	}
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	DRIVER(cuMemSetAccess, at, BLOCKS * size, &access, 1);
	DRIVER(cuMemRelease, handles[0]);
	set((void *)(uintptr_t)at, 0, BLOCKS * size, stream);
	for (int i = 0; i < BLOCKS; i++)
		LAUNCH(k_tick, k_tick, 1, 32, stream, (int *)(uintptr_t)(at + i * size));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(&got, (void *)(uintptr_t)(at + (BLOCKS - 1) * size), sizeof(got),
			 cudaMemcpyDeviceToHost));
	moved(D2H, sizeof(got));
	EXPECT(got == 1);
	DRIVER(cuMemUnmap, at, BLOCKS * size);
	for (int i = 1; i < BLOCKS; i++)
		DRIVER(cuMemRelease, handles[i]);
	ADD(free_count, 2 * BLOCKS);
	DRIVER(cuMemAddressFree, at, BLOCKS * size);
}

/* Events that one stream records, another waits for, and the host too. */
static void work_events(cudaStream_t stream)
{
	cudaStream_t other = new_stream(cudaStreamNonBlocking);
	int *x = (int *)on_device(512), got = 0;
	cudaEvent_t event;

	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	set(x, 0, 512, stream);
	for (int i = 0; i < EVENTS; i++) {
		LAUNCH(k_tick, k_tick, 1, 32, stream, x);
		CHECK(cudaEventRecord(event, stream));
		events++;
		CHECK(cudaStreamWaitEvent(other, event, 0));
		LAUNCH(k_tick, k_tick, 1, 32, other, x);
		CHECK(cudaEventSynchronize(event));
	}
	CHECK(cudaStreamSynchronize(other));
	CHECK(cudaMemcpy(&got, x, sizeof(got), cudaMemcpyDeviceToHost));
	moved(D2H, sizeof(got));
	EXPECT(got == 2 * EVENTS);
	CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(other));
	release(x);
}

static void CUDART_CB on_host(void *x)
{
	++*(int *)x;
}

/* The other ways to launch; a function of the host is none of them. */
static void work_launches(cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};
	int *x = (int *)on_device(512), got = 0, hosted = 0;
	void *args[] = {&x};

	set(x, 0, 512, stream);
	CHECK(cudaLaunchCooperativeKernel((const void *)k_coop, dim3(1), dim3(1), args, 0, stream));
	given(N_k_coop);
	config.gridDim = config.blockDim = dim3(1);
	config.stream = stream;
	attribute.id = cudaLaunchAttributePriority;
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelExC(&config, (const void *)k_coop, args));
	given(N_k_coop);
	CHECK(cudaLaunchHostFunc(stream, on_host, &hosted));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(&got, x, sizeof(got), cudaMemcpyDeviceToHost));
	moved(D2H, sizeof(got));
	EXPECT(got == 2 && hosted == 1);
	release(x);
}

static void launch_graph(cudaGraph_t graph, int times, cudaStream_t stream)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < times; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	graph_launches += times;
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

/* A fill, a copy and three kernels, as a stream would have done them. */
static void work_captured(cudaStream_t stream)
{
	int *host = (int *)pinned(4096), *x = (int *)on_device(4096), got[3];
	cudaGraph_t graph;

	host[0] = 5;
	set(x, 0, 4096, stream);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capturing = true;
	set(x + 512, 1, 2048, stream);
	copy(x + 1, host, sizeof(int), H2D, stream);
	LAUNCH(k_node_a, k_node_a, 1, 1, stream, x);
	LAUNCH(k_node_b, k_node_b, 1, 1, stream, x);
	LAUNCH(k_node_b, k_node_b, 1, 1, stream, x);
	capturing = false;
	CHECK(cudaStreamEndCapture(stream, &graph));
	launch_graph(graph, GRAPHS, stream);
	kernels[N_k_node_a] += GRAPHS;
	kernels[N_k_node_b] += 2 * GRAPHS;
	count[SETS] += GRAPHS;
	bytes[SETS] += 2048 * GRAPHS;
	count[H2D] += GRAPHS;
	bytes[H2D] += sizeof(int) * GRAPHS;
	CHECK(cudaMemcpy(got, x, sizeof(got), cudaMemcpyDeviceToHost));
	moved(D2H, sizeof(got));
	EXPECT(got[0] == 201 * GRAPHS && got[1] == 5 && got[2] == 0);
	release(x);
	release_host(host);
}

/* A graph that was built by hand: two kernels, one after the other. */
static void work_chained(cudaStream_t stream)
{
	int *x = (int *)on_device(512), got = 0;
	cudaKernelNodeParams params = {};
	cudaGraphNode_t first, second;
	void *args[] = {&x};
	cudaGraph_t graph;

	set(x, 0, 512, stream);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphCreate(&graph, 0));
	params.gridDim = params.blockDim = dim3(1);
	params.kernelParams = args;
	params.func = (void *)k_node_a;
	CHECK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
	params.func = (void *)k_node_b;
	CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &params));
	launch_graph(graph, CHAINS, stream);
	kernels[N_k_node_a] += CHAINS;
	kernels[N_k_node_b] += CHAINS;
	CHECK(cudaMemcpy(&got, x, sizeof(got), cudaMemcpyDeviceToHost));
	moved(D2H, sizeof(got));
	EXPECT(got == 101 * CHAINS);
	release(x);
}

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die(__LINE__, path, strerror(errno));
	return f;
}

static void tell_counters(void)
{
	static const char *const ways[] = {"h2d", "d2h", "d2d", "sets"};
#define K(name) #name,
	static const char *const names[] = {KERNELS(K)};
#undef K

	printf("{\"launches\": %ld, \"graph_launches\": %ld, \"captured\": %ld,\n", launches,
	       graph_launches, captured);
	printf("\"graph_kernels\": [%d, %d],\n\"kernels\": {", 3 * GRAPHS, 2 * CHAINS);
	for (int i = 0; i < KERNEL_COUNT; i++)
		printf("%s\"%s\": %ld", i ? ", " : "", names[i], kernels[i]);
	puts("},");
	for (int i = 0; i < WAYS; i++)
		printf("\"%s\": [%ld, %llu, %ld],\n", ways[i], count[i], bytes[i], calls[i]);
	printf("\"streams\": [%ld, %ld], \"events\": %ld, \"managed\": %zu,\n", streams[0],
	       streams[1], events, MANAGED_WORDS * sizeof(int));
	printf("\"allocated\": %ld, \"freed\": %ld}\n", alloc_count, free_count);
}

static int work(const char *path)
{
	static const char *const types[TYPES] = {"device", "host",     "managed",
						 "pool",   "physical", "mapped"};
	cudaStream_t stream = new_stream(cudaStreamDefault);
	FILE *f = create(path);

	work_in_threads();
	work_pageable();
	work_managed();
	work_virtual(stream);
	work_events(stream);
	work_launches(stream);
	work_captured(stream);
	work_chained(stream);
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaDeviceSynchronize());
	tell_counters();
	fprintf(f, "{\"managed\": %llu,\n", (unsigned long long)managed_addr);
	fputs("\"allocations\": [", f);
	for (long i = 0; i < alloc_count; i++)
		fprintf(f, "%s[%llu, %llu, \"%s\"]", i ? ",\n" : "",
			(unsigned long long)allocs[i].addr, (unsigned long long)allocs[i].bytes,
			types[allocs[i].type]);
	fputs("]}\n", f);
	return fclose(f) ? 1 : 0;
}

/* -- Times -- */

__device__ static unsigned long long timer(void)
{
	unsigned long long t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

/* Some microseconds, from the first look at the timer to the last. */
extern "C" __global__ void k_stamp(unsigned long long *stamp, long long cycles)
{
	long long begin = clock64();

	stamp[0] = timer();
	while (clock64() - begin < cycles)
		;
	stamp[1] = timer();
}

extern "C" __global__ void k_warm(unsigned long long *tick)
{
	unsigned long long last = timer(), least = ~0ull;

	for (int i = 0; i < 20000; i++) {
		unsigned long long t = timer();

		if (t != last && t - last < least)
			least = t - last;
		last = t;
	}
	*tick = least;
}

struct mail {
	unsigned int asked;
	char pad[252]; /* the two sides write to different lines */
	unsigned int answered;
	unsigned long long time;
};

/* Returns the time at each request; ends when requests stop. */
extern "C" __global__ void k_answer(volatile struct mail *mail, unsigned int n)
{
	for (unsigned int i = 1; i <= n; i++) {
		long long begin = clock64();

		while (mail->asked < i)
			if (clock64() - begin > 10000000000ll)
				return;
		mail->time = timer();
		__threadfence_system();
		mail->answered = i;
	}
}

struct pair {
	uint64_t before, timer, after;
};

static void take_pairs(struct pair *pairs, volatile struct mail *mail, cudaStream_t stream)
{
	memset((void *)mail, 0, sizeof(*mail));
	__sync_synchronize();
	k_answer<<<1, 1, 0, stream>>>(mail, PAIRS);
	CHECK(cudaGetLastError());
	for (unsigned int i = 0; i < PAIRS; i++) {
		uint64_t begin = raw_now();

		pairs[i].before = begin;
		mail->asked = i + 1;
		while (mail->answered != i + 1)
			EXPECT(raw_now() - begin < 5000000000);
		pairs[i].after = raw_now();
		pairs[i].timer = mail->time;
	}
	CHECK(cudaStreamSynchronize(stream));
}

static void take_stamps(unsigned long long *stamps, long n, long long cycles, cudaStream_t stream)
{
	for (long i = 0; i < n; i++) {
		k_stamp<<<1, 1, 0, stream>>>(stamps + 2 * i, cycles);
		CHECK(cudaGetLastError());
		CHECK(cudaStreamSynchronize(stream));
	}
}

static void tell_times(const char *path, long n, const unsigned long long *stamps,
		       const struct pair (*pairs)[PAIRS], unsigned long long tick)
{
	FILE *f = create(path);

	fprintf(f, "{\"tick\": %llu,\n\"stamps\": [", tick);
	for (long i = 0; i < n; i++)
		fprintf(f, "%s[%llu, %llu]", i ? ",\n" : "", stamps[2 * i], stamps[2 * i + 1]);
	fputs("],\n\"pairs\": [", f);
	for (int g = 0; g < GROUPS; g++) {
		fputs(g ? "],\n[" : "[", f);
		for (int i = 0; i < PAIRS; i++)
			fprintf(f, "%s[%llu, %llu, %llu]", i ? ",\n" : "",
				(unsigned long long)pairs[g][i].before,
				(unsigned long long)pairs[g][i].timer,
				(unsigned long long)pairs[g][i].after);
	}
	fputs("]]}\n", f);
	EXPECT(!fclose(f));
}

/* N kernels in two halves, and two more that begin a second apart; pairs before, between, after. */
static int times(long n, const char *path)
{
	static struct pair pairs[GROUPS][PAIRS];
	unsigned long long *stamps, *host, tick;
	volatile struct mail *mail;
	cudaStream_t stream;
	int khz = 0;
	long long cycles;

	EXPECT(n > 1);
	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	cycles = (long long)khz / 50; /* 20 us */
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaHostAlloc((void **)&mail, sizeof(*mail), cudaHostAllocMapped));
	CHECK(cudaMalloc((void **)&stamps, (n + 3) * 2 * sizeof(*stamps)));
	host = (unsigned long long *)malloc((n + 2) * 2 * sizeof(*host));
	EXPECT(host);
	for (int i = 0; i < WARM; i++)
		k_warm<<<1, 1, 0, stream>>>(stamps + 2 * (n + 2));
	CHECK(cudaStreamSynchronize(stream));
	take_pairs(pairs[0], mail, stream);
	take_stamps(stamps, n / 2, cycles, stream);
	take_pairs(pairs[1], mail, stream);
	take_stamps(stamps + 2 * (n / 2), n - n / 2, cycles, stream);
	take_pairs(pairs[2], mail, stream);
	take_stamps(stamps + 2 * n, 1, cycles, stream);
	sleep(1);
	take_stamps(stamps + 2 * n + 2, 1, cycles, stream);
	take_pairs(pairs[3], mail, stream);
	CHECK(cudaMemcpy(host, stamps, (n + 2) * 2 * sizeof(*host), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(&tick, stamps + 2 * (n + 2), sizeof(tick), cudaMemcpyDeviceToHost));
	tell_times(path, n + 2, host, pairs, tick);
	CHECK(cudaFree(stamps));
	CHECK(cudaFreeHost((void *)mail));
	free(host);
	return 0;
}

/* -- Ways to begin and to end -- */

static int tick(long n)
{
	int *x, got = -1;

	CHECK(cudaMalloc((void **)&x, sizeof(*x)));
	CHECK(cudaMemset(x, 0, sizeof(*x)));
	for (long i = 0; i < n; i++)
		k_tick<<<1, 1>>>(x);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&got, x, sizeof(got), cudaMemcpyDeviceToHost));
	EXPECT(got == n);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int forked(long n)
{
	pid_t pid = fork();
	int status;

	EXPECT(pid >= 0);
	status = tick(n);
	if (!pid)
		exit(status);
	status |= wait_for(pid);
	printf("%d\n", status);
	return status;
}

static int children(char *self, char *n)
{
	char mode[] = "tick", *args[] = {self, mode, n, NULL};
	int status = tick(atol(n));
	pid_t pid[3];

	for (int i = 0; i < 3; i++)
		EXPECT(!posix_spawn(&pid[i], "/proc/self/exe", NULL, NULL, args, environ));
	for (int i = 0; i < 3; i++)
		status |= wait_for(pid[i]);
	printf("%d\n", status);
	return status;
}

static int fault(long n)
{
	cudaError_t first, then;

	tick(n);
	k_fault<<<1, 1>>>((int *)16);
	first = cudaDeviceSynchronize();
	then = cudaDeviceSynchronize();
	printf("%d %s, then %d\n", first, cudaGetErrorName(first), then);
	return first == cudaSuccess ? 1 : 3;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (!strcmp(mode, "work"))
		return work(argv[2]);
	if (!strcmp(mode, "times") && argc > 3)
		return times(atol(argv[2]), argv[3]);
	if (!strcmp(mode, "tick"))
		return tick(atol(argv[2]));
	if (!strcmp(mode, "fork"))
		return forked(atol(argv[2]));
	if (!strcmp(mode, "children"))
		return children(argv[0], argv[2]);
	if (!strcmp(mode, "fault"))
		return fault(atol(argv[2]));
	if (!strcmp(mode, "exit") && argc > 3) {
		tick(atol(argv[2]));
		_exit(atoi(argv[3]));
	}
	fputs("usage: cuda_exact work|times|tick|fork|children|exit|fault ...\n", stderr);
	return 2;
}
