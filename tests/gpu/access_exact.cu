/*
 * access_exact - kernels whose memory accesses are known beforehand.
 *
 *	access_exact work FILE [ELEMENTS]  one kernel for each way to access memory; graphs, threads,
 *	                                   a module that comes late, memory that is used again
 *	access_exact repeat N FILE         N launches of one kernel, and of another shape of it
 *	access_exact trap N FILE           N launches, and a kernel that traps: status 3
 *	access_exact wait FILE             a kernel that ends only when later ones were launched
 *
 * stdout has what does not change from run to run, FILE what a profiler should have counted.
 */
#include <dlfcn.h>

#include <cuda.h>

#include "access_forms.cuh"

enum { COUNTERS = 16, CHUNK = 4096, PIECE = 1024 };
enum { GRAPHS = 5, THREADS = 4, STREAMS = 4, ROUNDS = 10, SLOW_MS = 20 };

/* -- Kernels: loads and stores -- */

COPY(k_copy1, 1)
COPY(k_copy2, 2)
COPY(k_copy4, 4)
COPY(k_copy8, 8)
COPY(k_copy16, 16)
COPY(k_hosts, 4)
COPY(k_good, 4)
COPY(k_graph_a, 4)
COPY(k_graph_b, 16)
COPY(k_thread, 4)
COPY(k_first, 4)
COPY(k_second, 8)
COPY(k_after, 4)
COPY(k_other, 4)

KERNEL k_generic(char *dst, const char *src)
{
	uint32_t v;

	asm volatile("ld.u32 %0, [%1];" : "=r"(v) : "l"(src + INDEX * 4) : "memory");
	asm volatile("st.u32 [%0], %1;" ::"l"(dst + INDEX * 4), "r"(v) : "memory");
}

KERNEL k_tail(char *dst, const char *src, size_t n)
{
	if (INDEX < n)
		st4(dst + INDEX * 4, ld4(src + INDEX * 4));
}

KERNEL k_odd(char *dst, const char *src)
{
	if (threadIdx.x & 1)
		st4(dst + INDEX * 4, ld4(src + INDEX * 4));
}

KERNEL k_stride(char *dst, const char *src)
{
	st4(dst + INDEX * 4, ld4(src + INDEX * SECTOR));
}

KERNEL k_gather(char *dst, const char *src, const char *index)
{
	st4(dst + INDEX * 4, ld4(src + (size_t)ld4(index + INDEX * 4) * 4));
}

KERNEL k_atomic(char *dst, char *counters)
{
	uint32_t was;

	asm volatile("atom.global.add.u32 %0, [%1], 1;"
		     : "=r"(was)
		     : "l"(GLOBAL(counters + INDEX % COUNTERS * 4))
		     : "memory");
	/* What it was depends on the order, that it was something does not. */
	st4(dst + INDEX * 4, was < 0xffffffffu);
}

KERNEL k_reduce(char *counters)
{
	asm volatile("red.global.add.u32 [%0], 2;" ::"l"(GLOBAL(counters + INDEX % COUNTERS * 4))
		     : "memory");
}

/* 64 threads, 1000 bytes: the last but one crosses their end, the last is beyond it. Memory is
 * given out in multiples of 256 bytes at least. */
KERNEL k_edge(char *dst, const char *src)
{
	st16(dst + threadIdx.x * 16, ld16(src + threadIdx.x * 16));
}

__device__ uint32_t variable[BLOCK];

KERNEL k_variable(char *dst)
{
	st4(dst + INDEX * 4, ld4(&variable[threadIdx.x]));
}

KERNEL k_tile(char *dst, const char *src)
{
	__shared__ uint32_t tile[BLOCK];
	uint32_t at = shared_addr(tile);

	sts(at + threadIdx.x * 4, ld4(src + INDEX * 4));
	__syncthreads();
	st4(dst + INDEX * 4, lds(at + (BLOCK - 1 - threadIdx.x) * 4));
}

/* Where the second store goes is not known, so that the load cannot be left out. */
KERNEL k_local(char *dst, const char *src)
{
	uint32_t v = ld4(src + INDEX * 4);

	asm volatile("{\n\t"
		     ".local .align 4 .b8 own[16];\n\t"
		     ".reg .u32 p, q, w;\n\t"
		     "mov.u32 p, own;\n\t"
		     "add.u32 q, p, %2;\n\t"
		     "add.u32 p, p, %1;\n\t"
		     "add.u32 w, %0, 1;\n\t"
		     "st.local.u32 [p], %0;\n\t"
		     "st.local.u32 [q], w;\n\t"
		     "ld.local.u32 %0, [p];\n\t"
		     "}"
		     : "+r"(v)
		     : "r"((v & 3) * 4), "r"((v >> 2 & 3) * 4)
		     : "memory");
	st4(dst + INDEX * 4, v);
}

/* -- Kernels: copies that the hardware makes -- */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define COPY_ASYNC(how, size, to, from)
#define COPY_ASYNC_NONE(to, from)
#define COPY_ASYNC_WAIT()
#else
#define COPY_ASYNC(how, size, to, from)                                                            \
	asm volatile("cp.async." how ".shared.global [%0], [%1], " size ";" ::"r"(to),             \
		     "l"(GLOBAL(from))                                                             \
		     : "memory")
#define COPY_ASYNC_NONE(to, from)                                                                  \
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(GLOBAL(from)),  \
		     "r"(0)                                                                        \
		     : "memory")
#define COPY_ASYNC_WAIT() asm volatile("cp.async.wait_all;" ::: "memory")
#endif

KERNEL k_async4(char *dst, const char *src)
{
	__shared__ uint32_t tile[BLOCK];
	uint32_t at = shared_addr(tile) + threadIdx.x * 4;

	COPY_ASYNC("ca", "4", at, src + INDEX * 4);
	COPY_ASYNC_WAIT();
	st4(dst + INDEX * 4, lds(at));
}

KERNEL k_async16(char *dst, const char *src)
{
	__shared__ uint4 tile[BLOCK];
	uint32_t at = shared_addr(tile) + threadIdx.x * 16;

	COPY_ASYNC("cg", "16", at, src + INDEX * 16);
	COPY_ASYNC_WAIT();
	st4(dst + INDEX * 4, lds(at));
}

/* It reads nothing: zeros are written. */
KERNEL k_zeros(char *dst, const char *src)
{
	__shared__ uint32_t tile[BLOCK];
	uint32_t at = shared_addr(tile) + threadIdx.x * 4;

	COPY_ASYNC_NONE(at, src + INDEX * 4);
	COPY_ASYNC_WAIT();
	st4(dst + INDEX * 4, lds(at));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
KERNEL k_bulk(char *, const char *)
{
}

KERNEL k_bulk_add(char *)
{
}

KERNEL k_cluster(char *)
{
}
#else
static __device__ __forceinline__ void bulk_get(uint32_t to, const char *from, uint32_t barrier)
{
	asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
	asm volatile("fence.proxy.async;" ::: "memory");
	asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
		     "n"((int)CHUNK)
		     : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
		     "[%1], %2, [%3];" ::"r"(to),
		     "l"(GLOBAL(from)), "n"((int)CHUNK), "r"(barrier)
		     : "memory");
	asm volatile("{\n\t"
		     ".reg .pred done;\n\t"
		     "again:\n\t"
		     "mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n\t"
		     "@!done bra again;\n\t"
		     "}" ::"r"(barrier)
		     : "memory");
}

static __device__ __forceinline__ void bulk_done(void)
{
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
	asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* A block has one thread. */
KERNEL k_bulk(char *dst, const char *src)
{
	__shared__ __align__(128) char tile[CHUNK];
	__shared__ uint64_t barrier;
	size_t at = (size_t)blockIdx.x * CHUNK;

	bulk_get(shared_addr(tile), src + at, shared_addr(&barrier));
	asm volatile("fence.proxy.async;" ::: "memory");
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
			     GLOBAL(dst + at)),
		     "r"(shared_addr(tile)), "n"((int)CHUNK)
		     : "memory");
	bulk_done();
}

KERNEL k_bulk_add(char *dst)
{
	__shared__ __align__(128) uint32_t tile[PIECE / 4];

	sts(shared_addr(tile) + threadIdx.x * 4, threadIdx.x);
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	if (threadIdx.x)
		return;
	asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], "
		     "%2;" ::"l"(GLOBAL(dst + (size_t)blockIdx.x * PIECE)),
		     "r"(shared_addr(tile)), "n"((int)PIECE)
		     : "memory");
	bulk_done();
}

/* Blocks in pairs: each writes into the other's shared memory. */
KERNEL k_cluster(char *dst)
{
	__shared__ uint32_t tile[BLOCK];
	uint32_t own = shared_addr(tile) + threadIdx.x * 4, other, rank;

	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
		     : "=r"(other)
		     : "r"(own), "r"(rank ^ 1));
	/* The other has begun, so that its memory is there. */
	asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::
			     : "memory");
	asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(other), "r"(blockIdx.x + threadIdx.x)
		     : "memory");
	asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::
			     : "memory");
	st4(dst + INDEX * 4, lds(own));
}
#endif

/* -- Kernels that take their time -- */

KERNEL k_trap(void)
{
	asm volatile("trap;");
}

/* -- Closed forms -- */

static void full_requests(const char *kernel, int kind, long n, long sectors)
{
	requested(kernel, kind, n / WARP, WARP, sectors);
}

#define SIMPLE(kernel, size)                                                                       \
	do {                                                                                       \
		struct memory dst = on_device((size_t)n * (size));                                 \
		struct memory src = filled((size_t)n * (size));                                    \
		RUN(kernel, n / BLOCK, BLOCK, 0, dst.p, src.p);                                    \
		copies(#kernel, dst, src, n, size);                                                \
		full_requests(#kernel, 1, n, size);                                                \
		full_requests(#kernel, 2, n, size);                                                \
		show(#kernel, dst);                                                                \
	} while (0)

static void simple(long n)
{
	SIMPLE(k_copy1, 1);
	SIMPLE(k_copy2, 2);
	SIMPLE(k_copy4, 4);
	SIMPLE(k_copy8, 8);
	SIMPLE(k_copy16, 16);
	SIMPLE(k_generic, 4);
}

static void hosts(long n)
{
	struct memory dst, src;
	void *p;

	CHECK(cudaMallocHost(&p, (size_t)n * 4));
	dst = known(p, (size_t)n * 4);
	memset(p, 0, dst.size);
	CHECK(cudaMallocManaged(&p, (size_t)n * 4));
	src = known(p, (size_t)n * 4);
	for (long i = 0; i < n; i++)
		((uint32_t *)p)[i] = (uint32_t)i * 3;
	RUN(k_hosts, n / BLOCK, BLOCK, 0, dst.p, src.p);
	copies("k_hosts", dst, src, n, 4);
	show("k_hosts", dst);
}

static void predicated(long n)
{
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);
	long most = n - 24; /* the last warp that has any has 8 */

	RUN(k_tail, n / BLOCK, BLOCK, 0, dst.p, src.p, (size_t)most);
	copies("k_tail", dst, src, most, 4);
	for (int kind = 1; kind <= 2; kind++) {
		requested("k_tail", kind, most / WARP, WARP, 4);
		requested("k_tail", kind, 1, 8, 1);
	}
	show("k_tail", dst);
	RUN(k_odd, n / BLOCK, BLOCK, 0, dst.p, src.p);
	loads("k_odd", src.target, n / 2, 4);
	stores("k_odd", dst.target, n / 2, 4);
	touches("k_odd", src.p + 4, 8, n / 2);
	touches("k_odd", dst.p + 4, 8, n / 2);
	requested("k_odd", 1, n / WARP, WARP / 2, 4);
	requested("k_odd", 2, n / WARP, WARP / 2, 4);
	show("k_odd", dst);
}

static void strided(long n)
{
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * SECTOR);

	RUN(k_stride, n / BLOCK, BLOCK, 0, dst.p, src.p);
	loads("k_stride", src.target, n, 4);
	stores("k_stride", dst.target, n, 4);
	touches("k_stride", src.p, SECTOR, n);
	touches("k_stride", dst.p, 4, n);
	full_requests("k_stride", 1, n, WARP);
	full_requests("k_stride", 2, n, 4);
	show("k_stride", dst);
}

/* Different sectors of 4-byte words at these indices, by warp. */
static void gathered(const uint32_t *index, long n)
{
	for (long warp = 0; warp < n; warp += WARP) {
		long sectors = 0;

		for (long i = warp; i < warp + WARP; i++) {
			long j = warp;

			while (j < i && index[j] / (SECTOR / 4) != index[i] / (SECTOR / 4))
				j++;
			sectors += j == i;
		}
		requested("k_gather", 1, 1, WARP, sectors);
	}
}

static void indirect(long n)
{
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);
	struct memory index = on_device((size_t)n * 4);
	uint32_t *host = (uint32_t *)malloc((size_t)n * 4);

	EXPECT(host);
	/* An odd factor and a power of two: each once. Then some that are the same. */
	for (long i = 0; i < n; i++)
		host[i] = (uint32_t)(i % 8 ? (uint64_t)i * 7919 % (uint64_t)n : 0);
	CHECK(cudaMemcpy(index.p, host, (size_t)n * 4, cudaMemcpyHostToDevice));
	RUN(k_gather, n / BLOCK, BLOCK, 0, dst.p, src.p, index.p);
	loads("k_gather", index.target, n, 4);
	loads("k_gather", src.target, n, 4);
	stores("k_gather", dst.target, n, 4);
	full_requests("k_gather", 1, n, 4);
	gathered(host, n);
	full_requests("k_gather", 2, n, 4);
	free(host);
	show("k_gather", dst);
}

static void counters(long n)
{
	struct memory dst = on_device((size_t)n * 4), sums = on_device(COUNTERS * 4);

	RUN(k_atomic, n / BLOCK, BLOCK, 0, dst.p, sums.p);
	atomics("k_atomic", sums.target, n, 4);
	stores("k_atomic", dst.target, n, 4);
	full_requests("k_atomic", 3, n, COUNTERS * 4 / SECTOR);
	full_requests("k_atomic", 2, n, 4);
	show("k_atomic", dst);
	RUN(k_reduce, n / BLOCK, BLOCK, 0, sums.p);
	atomics("k_reduce", sums.target, n, 4);
	touches("k_reduce", sums.p, 4, COUNTERS);
	full_requests("k_reduce", 3, n, COUNTERS * 4 / SECTOR);
	show("k_reduce", sums);
}

static void edges(void)
{
	struct memory src = filled(1000), dst = on_device(1024);
	void *p;

	RUN(k_edge, 1, 64, 0, dst.p, src.p);
	expect_sums("k_edge", src.target, {63, 0, 63 * 16, 1});
	loads("k_edge", OUTSIDE, 1, 16);
	stores("k_edge", dst.target, 64, 16);
	requested("k_edge", 1, 2, WARP, 16);
	requested("k_edge", 2, 2, WARP, 16);
	CHECK(cudaMemset(dst.p + 1000, 0, 24)); /* what was outside is not ours to know */
	show("k_edge", dst);
	CHECK(cudaGetSymbolAddress(&p, variable));
	variable_addr = (uint64_t)(uintptr_t)p;
	RUN(k_variable, 1, BLOCK, 0, dst.p);
	loads("k_variable", VARIABLE, BLOCK, 4);
	stores("k_variable", dst.target, BLOCK, 4);
	show("k_variable", dst);
}

static void spaces(long n)
{
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);

	RUN(k_tile, n / BLOCK, BLOCK, 0, dst.p, src.p);
	copies("k_tile", dst, src, n, 4);
	expect_sums("k_tile", SHARED, {n, n, 8 * n, 0});
	show("k_tile", dst);
	RUN(k_local, n / BLOCK, BLOCK, 0, dst.p, src.p);
	copies("k_local", dst, src, n, 4);
	expect_sums("k_local", LOCAL, {n, 2 * n, 12 * n, 0});
	show("k_local", dst);
}

/* Of a copy it is the side in global memory that has to be there. */
static void async(long n)
{
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 16);

	if (!has(80, (const void *)k_async4)) {
		puts("no cp.async on this device");
		return;
	}
	RUN(k_async4, n / BLOCK, BLOCK, 0, dst.p, src.p);
	copies("k_async4", dst, src, n, 4);
	expect_sums("k_async4", SHARED, {n, 0, 4 * n, 0}, {0, n, 4 * n, 0});
	show("k_async4", dst);
	RUN(k_async16, n / BLOCK, BLOCK, 0, dst.p, src.p);
	loads("k_async16", src.target, n, 16);
	stores("k_async16", dst.target, n, 4);
	touches("k_async16", src.p, 16, n);
	touches("k_async16", dst.p, 4, n);
	expect_sums("k_async16", SHARED, {n, 0, 4 * n, 0}, {0, n, 16 * n, 0});
	show("k_async16", dst);
	RUN(k_zeros, n / BLOCK, BLOCK, 0, dst.p, src.p);
	expect_sums("k_zeros", src.target, {}, {n, 0, 4 * n, 0});
	expect_sums("k_zeros", OUTSIDE, {});
	expect_sums("k_zeros", SHARED, {n, 0, 4 * n, 0}, {0, n, 4 * n, 0});
	stores("k_zeros", dst.target, n, 4);
	show("k_zeros", dst);
}

static void bulk(long n)
{
	long chunks = n * 4 / CHUNK, pieces = n * 4 / PIECE;
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);

	RUN(k_bulk, chunks, 1, 0, dst.p, src.p);
	copies("k_bulk", dst, src, chunks, CHUNK);
	expect_sums("k_bulk", SHARED, {}, {chunks, chunks, 2 * chunks * CHUNK, 0});
	show("k_bulk", dst);
	RUN(k_bulk_add, pieces, PIECE / 4, 0, dst.p);
	atomics("k_bulk_add", dst.target, pieces, PIECE);
	touches("k_bulk_add", dst.p, PIECE, pieces);
	expect_sums("k_bulk_add", SHARED, {0, pieces * (PIECE / 4), pieces * PIECE, 0},
		    {pieces, 0, pieces * PIECE, 0});
	show("k_bulk_add", dst);
}

static void clusters(long n)
{
	struct memory dst = on_device((size_t)n * 4);
	cudaLaunchAttribute pair = {};
	cudaLaunchConfig_t config = {};

	pair.id = cudaLaunchAttributeClusterDimension;
	pair.val.clusterDim = {2, 1, 1};
	config.gridDim = dim3((unsigned int)(n / BLOCK));
	config.blockDim = dim3(BLOCK);
	config.attrs = &pair;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&config, k_cluster, dst.p));
	stores("k_cluster", dst.target, n, 4);
	stores("k_cluster", REMOTE, n, 4);
	loads("k_cluster", SHARED, n, 4);
	touches("k_cluster", dst.p, 4, n);
	show("k_cluster", dst);
}

static void hopper(long n)
{
	if (!has(90, (const void *)k_bulk)) {
		puts("no bulk copies and no clusters on this device");
		return;
	}
	bulk(n);
	clusters(n);
}

/* -- Memory that is used again, graphs, threads, modules -- */

static struct memory pooled(size_t size, cudaStream_t stream)
{
	void *p;

	CHECK(cudaMallocAsync(&p, size, stream));
	return known(p, size);
}

/* The address is the second's while the first's kernel is still to run. */
static void reused(long n)
{
	size_t size = (size_t)n * 8;
	struct memory out = on_device(size), a, b;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	a = pooled(size, stream);
	CHECK(cudaMemsetAsync(a.p, 1, size, stream));
	RUN(k_slow, 1, 1, stream, SLOW_MS);
	RUN(k_first, n / BLOCK, BLOCK, stream, out.p, a.p);
	CHECK(cudaFreeAsync(a.p, stream));
	b = pooled(size, stream);
	CHECK(cudaMemsetAsync(b.p, 2, size, stream));
	RUN(k_second, n / BLOCK, BLOCK, stream, out.p, b.p);
	CHECK(cudaFreeAsync(b.p, stream));
	copies("k_first", out, a, n, 4);
	copies("k_second", out, b, n, 8);
	show("k_second", out);
	printf("the address was used again: %s\n", a.p == b.p ? "yes" : "no");
	CHECK(cudaStreamDestroy(stream));
}

static void graphs(long n)
{
	struct memory dst = on_device((size_t)n * 16), src = filled((size_t)n * 16);
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	RUN(k_graph_a, n / BLOCK, BLOCK, stream, dst.p, src.p);
	RUN(k_graph_b, n / BLOCK, BLOCK, stream, dst.p, src.p);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < GRAPHS; i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		copies("graph: k_graph_a", dst, src, n, 4); /* all of it has that name */
		copies("graph: k_graph_a", dst, src, n, 16);
	}
	CHECK(cudaStreamSynchronize(stream));
	show("k_graph_b", dst);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(stream));
}

static long thread_elements;

static void *launcher(void *)
{
	struct memory dst[STREAMS], src[STREAMS];
	cudaStream_t stream[STREAMS];
	long n = thread_elements;

	for (int i = 0; i < STREAMS; i++) {
		dst[i] = on_device((size_t)n * 4);
		src[i] = filled((size_t)n * 4);
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
	}
	/* Fills are in the default stream, for which these do not wait. */
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ROUNDS * STREAMS; i++) {
		int at = i % STREAMS;

		RUN(k_thread, n / BLOCK, BLOCK, stream[at], dst[at].p, src[at].p);
		loads("k_thread", src[at].target, n, 4);
		stores("k_thread", dst[at].target, n, 4);
	}
	for (int i = 0; i < STREAMS; i++) {
		touches("k_thread", src[i].p, 4, n);
		touches("k_thread", dst[i].p, 4, n);
		CHECK(cudaStreamSynchronize(stream[i]));
		CHECK(cudaStreamDestroy(stream[i]));
	}
	return NULL;
}

static void threads(long n)
{
	pthread_t ids[THREADS];

	thread_elements = n / 4;
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&ids[i], NULL, launcher, NULL));
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(ids[i], NULL));
	puts("k_thread done");
}

static const char late_text[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry k_late(.param .u64 dst, .param .u64 src)\n{\n"
	"\t.reg .b32 %r<5>;\n\t.reg .b64 %rd<6>;\n"
	"\tld.param.u64 %rd1, [dst];\n\tld.param.u64 %rd2, [src];\n"
	"\tcvta.to.global.u64 %rd1, %rd1;\n\tcvta.to.global.u64 %rd2, %rd2;\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmad.lo.u32 %r1, %r1, %r2, %r3;\n\tmul.wide.u32 %rd3, %r1, 4;\n"
	"\tadd.u64 %rd1, %rd1, %rd3;\n\tadd.u64 %rd2, %rd2, %rd3;\n"
	"\tld.global.u32 %r4, [%rd2];\n\tst.global.u32 [%rd1], %r4;\n\tret;\n}\n";

/* The driver's functions, of the library that the runtime has loaded. */
#define DRIVER(name) ((decltype(&name))symbol(driver, #name))

static void *symbol(void *lib, const char *name)
{
	void *found = dlsym(lib, name);

	if (!found)
		die(__LINE__, name, "is not in libcuda");
	return found;
}

static void late(long n)
{
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY), *args[] = {&dst.p, &src.p};
	CUfunction function;
	CUmodule module;

	EXPECT(driver);
	EXPECT(!DRIVER(cuModuleLoadData)(&module, late_text));
	EXPECT(!DRIVER(cuModuleGetFunction)(&function, module, "k_late"));
	EXPECT(!DRIVER(cuLaunchKernel)(function, (unsigned int)(n / BLOCK), 1, 1, BLOCK, 1, 1, 0,
				       NULL, args, NULL));
	copies("k_late", dst, src, n, 4);
	full_requests("k_late", 1, n, 4);
	full_requests("k_late", 2, n, 4);
	show("k_late", dst);
	EXPECT(!DRIVER(cuModuleUnload)(module));
}

static int work(const char *path, long n)
{
	simple(n);
	hosts(n);
	predicated(n);
	strided(n);
	indirect(n);
	counters(n);
	edges();
	spaces(n);
	async(n);
	hopper(n);
	reused(n);
	graphs(n);
	threads(n);
	late(n);
	write_file(path);
	return 0;
}

/* -- Other commands -- */

static int repeat(long times, const char *path)
{
	long n = 64 * BLOCK;
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);

	for (long i = 0; i < times; i++) {
		RUN(k_good, n / BLOCK, BLOCK, 0, dst.p, src.p);
		RUN(k_good, n / BLOCK / 2, BLOCK, 0, dst.p, src.p);
	}
	loads("k_good", src.target, (n + n / 2) * times, 4);
	stores("k_good", dst.target, (n + n / 2) * times, 4);
	touches("k_good", src.p, 4, n);
	touches("k_good", dst.p, 4, n);
	show("k_good", dst);
	write_file(path);
	return 0;
}

static int trap(long times, const char *path)
{
	long n = 64 * BLOCK;
	struct memory dst = on_device((size_t)n * 4), src = filled((size_t)n * 4);
	cudaError_t error;

	for (long i = 0; i < times; i++)
		RUN(k_good, n / BLOCK, BLOCK, 0, dst.p, src.p);
	loads("k_good", src.target, n * times, 4);
	stores("k_good", dst.target, n * times, 4);
	write_file(path);
	RUN(k_trap, 1, 1, 0);
	error = cudaDeviceSynchronize();
	printf("%s, then %s\n", cudaGetErrorName(error), cudaGetErrorName(cudaDeviceSynchronize()));
	return error == cudaSuccess ? 1 : 3;
}

static void after(long n, cudaStream_t stream, cudaStream_t other, const struct memory *m)
{
	RUN(k_after, n / BLOCK, BLOCK, stream, m[0].p, m[1].p);
	RUN(k_other, n / BLOCK, BLOCK, other, m[2].p, m[1].p);
	loads("k_after", m[1].target, n, 4);
	stores("k_after", m[0].target, n, 4);
	loads("k_other", m[1].target, n, 4);
	stores("k_other", m[2].target, n, 4);
}

static int wait(const char *path)
{
	long n = 64 * BLOCK;
	struct memory m[] = {on_device((size_t)n * 4), filled((size_t)n * 4),
			     on_device((size_t)n * 4)};
	volatile uint32_t *flag;
	cudaStream_t stream[2];
	void *p;

	CHECK(cudaMallocHost(&p, 4096));
	flag = (volatile uint32_t *)p;
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
	/* Once before: a kernel may be loaded when it is first launched, and that may wait for all
	 * that runs. */
	*flag = 1;
	RUN(k_wait, 1, 1, stream[0], (const char *)p);
	after(n, stream[0], stream[1], m);
	CHECK(cudaDeviceSynchronize());
	*flag = 0;
	RUN(k_wait, 1, 1, stream[0], (const char *)p);
	after(n, stream[0], stream[1], m);
	*flag = 1;
	CHECK(cudaDeviceSynchronize());
	show("k_after", m[0]);
	show("k_other", m[2]);
	write_file(path);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long n = argc > 3 ? atol(argv[!strcmp(what, "work") ? 3 : 2]) : 1 << 16;

	/* A power of two, and no less than a chunk for each of some blocks. */
	if ((argc == 3 || argc == 4) && !strcmp(what, "work") && n >= 4096 && !(n & (n - 1)))
		return work(argv[2], n);
	if (argc == 4 && !strcmp(what, "repeat") && n > 0)
		return repeat(n, argv[3]);
	if (argc == 4 && !strcmp(what, "trap") && n > 0)
		return trap(n, argv[3]);
	if (argc == 3 && !strcmp(what, "wait"))
		return wait(argv[2]);
	fputs("usage: access_exact work FILE [ELEMENTS, a power of two from 4096 on] | "
	      "repeat N FILE |\n                    trap N FILE | wait FILE\n",
	      stderr);
	return 2;
}
