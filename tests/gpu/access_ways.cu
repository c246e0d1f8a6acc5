/*
 * access_ways - ways to launch kernels, whose memory accesses are known beforehand.
 *
 *	access_ways unpatch FILE    a kernel waits for the host, which first launches 200 others
 *	access_ways repatch FILE    and then one that it never launched before
 *	access_ways destroyed FILE  the stream of the kernel that waits is destroyed
 *	access_ways unseen FILE     no kernel waits, but a stream with nothing but a copy
 *	access_ways capture FILE    streams are captured right after, and while, kernels are launched
 *	access_ways fork FILE       graphs: with two ways at once, with copies, changed between launches
 *	access_ways perthread FILE  default streams that threads have of their own
 *	access_ways grid FILE       a cooperative launch, whose blocks wait for one another
 *	access_ways contexts FILE   a second context beside the first
 *	access_ways reset FILE      the device is reset and used again, twice
 *	access_ways exit|abort|interrupt FILE
 *	                            it is left while a kernel runs
 *	access_ways forever FILE    a kernel does not end
 *
 * As access_exact. A program that hangs prints its step after 20 seconds, and ends by SIGALRM. FILE
 * is about a run where all launches are counted, but for the first four 3 of each kernel.
 */
#include <dlfcn.h>

#include <cooperative_groups.h>
#include <cuda.h>

#include "access_forms.cuh"

enum { ELEMENTS = 16 * BLOCK, SAMPLED = 3, BEHIND = 200, LAUNCHES = 5, THREADS = 4 };
enum { STILL_MS = 300, LEFT = 5 };

static void *symbol(const char *name)
{
	static void *driver;
	void *found;

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_LAZY);
	found = driver ? dlsym(driver, name) : NULL;
	if (!found)
		die(__LINE__, name, "is not in libcuda");
	return found;
}

/* -- Kernels -- */

COPY(k_other, 4)
COPY(k_new, 4)
COPY(k_before, 4)
COPY(k_beside, 4)
COPY(k_captured, 4)
COPY(k_fork, 4)
COPY(k_left, 4)
COPY(k_right, 8)
COPY(k_mixed, 4)
COPY(k_changed, 4)
COPY(k_own, 4)
COPY(k_context, 4)
COPY(k_reset, 4)
COPY(k_good, 4)

/* The other half of what the grid has written: it is there only when all blocks have. */
KERNEL k_grid(char *dst, const char *src, char *between)
{
	size_t all = (size_t)gridDim.x * blockDim.x;

	st4(between + INDEX * 4, ld4(src + INDEX * 4));
	cooperative_groups::this_grid().sync();
	st4(dst + INDEX * 4, ld4(between + (all - 1 - INDEX) * 4));
}

struct pair {
	struct memory dst, src;
};

static struct pair make_pair(int size)
{
	return {on_device((size_t)ELEMENTS * size), filled((size_t)ELEMENTS * size)};
}

static cudaStream_t make_stream(void)
{
	cudaStream_t stream;

	/* What fills memory is in the default stream, for which these do not wait. */
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

#define COPY_ALL(kernel, stream, of)                                                               \
	RUN(kernel, ELEMENTS / BLOCK, BLOCK, stream, (of).dst.p, (of).src.p)

static void counts(const char *kernel, struct pair p, int size = 4)
{
	loads(kernel, p.src.target, ELEMENTS, size);
	stores(kernel, p.dst.target, ELEMENTS, size);
}

/* -- A kernel that waits while its module is patched, or no longer -- */

static struct memory make_flag(void)
{
	void *p;

	CHECK(cudaMallocHost(&p, 4096));
	memset(p, 0, 4096);
	return known(p, 4096);
}

static void set_flag(struct memory flag, uint32_t value)
{
	*(volatile uint32_t *)flag.p = value;
}

/* The first three of each are counted. Those that wait do not, for the flag is set: a load each. */
static void launch_first(struct memory flag, struct pair p, cudaStream_t *streams)
{
	set_flag(flag, 1);
	for (int i = 0; i < SAMPLED; i++) {
		RUN(k_wait, 1, 1, streams[0], flag.p);
		COPY_ALL(k_other, streams[1], p);
		loads("k_wait", flag.target, 1, 4);
		counts("k_other", p);
	}
	CHECK(cudaDeviceSynchronize());
	set_flag(flag, 0);
}

/* A copy that waits for the flag, on a stream that no kernel was ever on. */
static void copy_later(struct memory flag, struct pair p)
{
	cudaStream_t stream = make_stream();
	CUresult (*wait)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);

	*(void **)&wait = symbol("cuStreamWaitValue32_v2");
	EXPECT(!wait(stream, (CUdeviceptr)(uintptr_t)flag.p, 1, CU_STREAM_WAIT_VALUE_EQ));
	CHECK(cudaMemcpyAsync(p.dst.p, p.src.p, p.dst.size, cudaMemcpyDeviceToDevice, stream));
}

/* Calls that wait for nothing. */
static void call_beside(struct pair p)
{
	cudaStream_t stream;
	cudaEvent_t event;
	void *more;

	step = "other calls beside it";
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaMalloc(&more, 1 << 20));
	known(more, 1 << 20);
	CHECK(cudaMemcpyAsync(more, p.src.p, p.src.size, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaEventRecord(event, stream));
	CHECK(cudaEventSynchronize(event));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(stream));
	puts("other calls beside it: done");
}

enum waits { PLAIN, AGAIN, DESTROYED, UNSEEN };

static int unpatch(enum waits waits)
{
	struct memory flag = make_flag();
	struct pair p = make_pair(4), other = make_pair(4);
	cudaStream_t streams[] = {make_stream(), make_stream()};

	step = "the first launches";
	launch_first(flag, p, streams);
	if (waits == UNSEEN)
		copy_later(flag, other);
	else
		RUN(k_wait, 1, 1, streams[0], flag.p);
	if (waits == DESTROYED)
		CHECK(cudaStreamDestroy(streams[0]));
	step = "launches beside what waits; is its module unpatched meanwhile?";
	for (int i = 0; i < BEHIND; i++)
		COPY_ALL(k_other, streams[1], p);
	puts("launches beside it: done");
	call_beside(p);
	if (waits == AGAIN) {
		step = "a first launch beside a kernel that waits; is its module patched again?";
		COPY_ALL(k_new, streams[1], other);
		/* Counted, or named. */
		expect_sums("k_new", other.src.target, {}, {ELEMENTS, 0, ELEMENTS * 4, 0});
		expect_sums("k_new", other.dst.target, {}, {0, ELEMENTS, ELEMENTS * 4, 0});
		puts("a new one beside it: done");
	}
	set_flag(flag, 1);
	step = "what waits is to end";
	CHECK(cudaDeviceSynchronize());
	show("k_other", p.dst);
	show("k_new", other.dst);
	return 0;
}

/* -- Capture -- */

enum where { SAME, OTHER, WITHIN };

static cudaError_t capture(cudaStream_t stream, cudaStreamCaptureMode mode, struct pair p,
			   cudaStream_t beside, struct pair q, cudaGraph_t *graph)
{
	cudaError_t error = cudaStreamBeginCapture(stream, mode), ended;

	if (error != cudaSuccess)
		return error;
	k_captured<<<ELEMENTS / BLOCK, BLOCK, 0, stream>>>(p.dst.p, p.src.p);
	error = cudaGetLastError();
	if (beside)
		COPY_ALL(k_beside, beside, q);
	ended = cudaStreamEndCapture(stream, graph);
	return error != cudaSuccess ? error : ended;
}

static void capture_one(cudaStreamCaptureMode mode, enum where where, struct pair p, struct pair q)
{
	static const char *const modes[] = {"global", "thread-local", "relaxed"};
	static const char *const wheres[] = {"the same stream", "another stream", "meanwhile"};
	cudaStream_t streams[] = {make_stream(), make_stream()};
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaError_t error;

	step = wheres[where];
	COPY_ALL(k_before, streams[where == OTHER], p);
	counts("k_before", p);
	error = capture(streams[0], mode, p, where == WITHIN ? streams[1] : NULL, q, &graph);
	printf("%s capture, a kernel before it, %s: %s\n", modes[mode], wheres[where],
	       cudaGetErrorName(error));
	cudaGetLastError(); /* the next launch has not failed */
	if (where == WITHIN)
		counts("k_beside", q);
	if (error == cudaSuccess) {
		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		for (int i = 0; i < SAMPLED; i++) {
			CHECK(cudaGraphLaunch(exec, streams[0]));
			counts("graph: k_captured", p);
		}
		CHECK(cudaStreamSynchronize(streams[0]));
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(graph));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamDestroy(streams[i]));
}

static int captures(void)
{
	static const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeRelaxed,
						      cudaStreamCaptureModeThreadLocal,
						      cudaStreamCaptureModeGlobal};
	struct pair p = make_pair(4), q = make_pair(4);

	for (int i = 0; i < 3; i++)
		for (int where = SAME; where <= WITHIN; where++)
			capture_one(modes[i], (enum where)where, p, q);
	show("k_captured", p.dst);
	show("k_beside", q.dst);
	return 0;
}

/* -- Graphs -- */

static void launch_graph(cudaGraph_t graph, cudaStream_t stream)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

/* One, then two that may run at once, then both are waited for. All have the first one's name. */
static void fork_and_join(void)
{
	struct pair p = make_pair(4), left = make_pair(4), right = make_pair(8);
	cudaStream_t a = make_stream(), b = make_stream();
	cudaEvent_t forked, joined;
	cudaGraph_t graph;

	step = "a graph with a fork";
	CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	COPY_ALL(k_fork, a, p);
	CHECK(cudaEventRecord(forked, a));
	CHECK(cudaStreamWaitEvent(b, forked, 0));
	COPY_ALL(k_left, a, left);
	COPY_ALL(k_right, b, right);
	CHECK(cudaEventRecord(joined, b));
	CHECK(cudaStreamWaitEvent(a, joined, 0));
	CHECK(cudaStreamEndCapture(a, &graph));
	launch_graph(graph, a);
	for (int i = 0; i < LAUNCHES; i++) {
		counts("graph: k_fork", p);
		counts("graph: k_fork", left);
		counts("graph: k_fork", right, 8);
	}
	show("k_left", left.dst);
	show("k_right", right.dst);
}

/* Copies and fills are no kernels' accesses. */
static void with_copies(void)
{
	struct pair p = make_pair(4), q = make_pair(4);
	cudaStream_t a = make_stream();
	cudaGraph_t graph;

	step = "a graph with a copy and a fill";
	CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemcpyAsync(p.src.p, q.src.p, p.src.size, cudaMemcpyDeviceToDevice, a));
	CHECK(cudaMemsetAsync(p.src.p, 7, p.src.size / 2, a));
	COPY_ALL(k_mixed, a, p);
	CHECK(cudaMemcpyAsync(q.dst.p, p.dst.p, p.dst.size, cudaMemcpyDeviceToDevice, a));
	CHECK(cudaStreamEndCapture(a, &graph));
	launch_graph(graph, a);
	for (int i = 0; i < LAUNCHES; i++)
		counts("graph: k_mixed", p);
	show("k_mixed", q.dst);
}

static void set_node(cudaKernelNodeParams *node, void **args, struct pair *p)
{
	args[0] = &p->dst.p;
	args[1] = &p->src.p;
	*node = {};
	node->func = (void *)k_changed;
	node->gridDim = dim3(ELEMENTS / BLOCK);
	node->blockDim = dim3(BLOCK);
	node->kernelParams = args;
}

static void changed(void)
{
	struct pair p[] = {make_pair(4), make_pair(4)};
	cudaStream_t stream = make_stream();
	cudaKernelNodeParams params;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	cudaGraph_t graph;
	void *args[2];

	step = "a graph that is changed";
	CHECK(cudaGraphCreate(&graph, 0));
	set_node(&params, args, &p[0]);
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < LAUNCHES; i++) {
		set_node(&params, args, &p[i % 2]);
		CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
		CHECK(cudaGraphLaunch(exec, stream));
		counts("graph: k_changed", p[i % 2]);
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	show("k_changed", p[0].dst);
	show("k_changed", p[1].dst);
}

static int graphs(void)
{
	fork_and_join();
	with_copies();
	changed();
	return 0;
}

/* -- Default streams -- */

/* 0 is one as well where the program was built so (--default-stream per-thread). */
static void *on_own_stream(void *pair_)
{
	const struct pair *p = (const struct pair *)pair_;

	for (int i = 0; i < LAUNCHES; i++) {
		COPY_ALL(k_own, cudaStreamPerThread, *p);
		COPY_ALL(k_own, 0, *p);
		counts("k_own", *p);
		counts("k_own", *p);
	}
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	CHECK(cudaStreamSynchronize(0));
	return NULL;
}

static int perthread(void)
{
	struct pair pairs[THREADS];
	pthread_t ids[THREADS];

	for (int i = 0; i < THREADS; i++)
		pairs[i] = make_pair(4);
	CHECK(cudaDeviceSynchronize());
	step = "threads on their own default streams";
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&ids[i], NULL, on_own_stream, &pairs[i]));
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(ids[i], NULL));
	for (int i = 0; i < THREADS; i++)
		show("k_own", pairs[i].dst);
	return 0;
}

/* -- A grid whose blocks wait for one another -- */

static int grid(void)
{
	struct pair p = make_pair(4);
	struct memory between = on_device((size_t)ELEMENTS * 4);
	void *args[] = {&p.dst.p, &p.src.p, &between.p};

	step = "a cooperative launch";
	for (int i = 0; i < LAUNCHES; i++) {
		cudaError_t error =
			cudaLaunchCooperativeKernel((const void *)k_grid, dim3(ELEMENTS / BLOCK),
						    dim3(BLOCK), args, 0, (cudaStream_t)0);

		if (error != cudaSuccess) {
			printf("a cooperative launch: %s\n", cudaGetErrorName(error));
			return 1;
		}
		counts("k_grid", {p.dst, between});
		counts("k_grid", {between, p.src});
	}
	something("k_grid", FOREIGN); /* what they wait with is CUDA's */
	CHECK(cudaDeviceSynchronize());
	show("k_grid", p.dst);
	return 0;
}

/* -- Contexts -- */

static void push(CUcontext context)
{
	EXPECT(!((CUresult(*)(CUcontext))symbol("cuCtxPushCurrent_v2"))(context));
}

static void pop(void)
{
	CUcontext was;

	EXPECT(!((CUresult(*)(CUcontext *))symbol("cuCtxPopCurrent_v2"))(&was));
}

static void copy_in_context(struct pair p)
{
	COPY_ALL(k_context, 0, p);
	counts("k_context", p);
	CHECK(cudaStreamSynchronize(0));
}

/* Memory that comes and goes in a context while the other one is there. */
static void copy_in_new(void)
{
	for (int i = 0; i < 2; i++) {
		struct pair p = make_pair(4);

		copy_in_context(p);
		CHECK(cudaFree(p.dst.p));
		CHECK(cudaFree(p.src.p));
	}
}

static int contexts(void)
{
	struct pair mine = make_pair(4), its;
	CUcontext context;

	step = "a second context";
	EXPECT(!((CUresult(*)(CUcontext *, unsigned int, CUdevice))symbol("cuCtxCreate_v2"))(
		&context, 0, 0));
	its = make_pair(4);
	for (int i = 0; i < LAUNCHES; i++) {
		copy_in_context(its);
		pop();
		copy_in_context(mine);
		push(context);
	}
	copy_in_new();
	pop();
	copy_in_new();
	push(context);
	show("k_context, second", its.dst);
	step = "the second context goes, with a launch that was not waited for";
	COPY_ALL(k_context, 0, its);
	counts("k_context", its);
	EXPECT(!((CUresult(*)(CUcontext))symbol("cuCtxDestroy_v2"))(context));
	step = "the first context goes on";
	copy_in_context(mine);
	show("k_context, first", mine.dst);
	return 0;
}

static void use_device(void)
{
	struct pair p = make_pair(4);

	for (int i = 0; i < LAUNCHES; i++) {
		COPY_ALL(k_reset, 0, p);
		counts("k_reset", p);
	}
	show("k_reset", p.dst);
}

static int reset(void)
{
	step = "before it is reset";
	use_device();
	step = "it is reset";
	CHECK(cudaDeviceReset());
	step = "after it was reset";
	use_device();
	RUN(k_slow, 1, 1, make_stream(), STILL_MS);
	step = "it is reset while a kernel runs";
	CHECK(cudaDeviceReset());
	use_device();
	return 0;
}

/* -- Ends -- */

/* All that came before is counted, and a kernel runs. */
static void begin_to_leave(const char *path)
{
	struct pair p = make_pair(4);

	for (int i = 0; i < LAUNCHES; i++) {
		COPY_ALL(k_good, 0, p);
		counts("k_good", p);
	}
	show("k_good", p.dst);
	write_file(path);
	RUN(k_slow, 1, 1, 0, STILL_MS);
	fflush(stdout);
}

static int leave(const char *how, const char *path)
{
	begin_to_leave(path);
	step = "it is left";
	if (!strcmp(how, "exit"))
		_exit(LEFT);
	if (!strcmp(how, "abort"))
		abort();
	kill(getpid(), SIGINT);
	pause();
	return 1;
}

/* Its number is in FILE.pid once the kernel is launched. */
static int forever(const char *path)
{
	struct memory flag = make_flag();
	cudaStream_t stream = make_stream();
	char name[4096];
	FILE *f;

	begin_to_leave(path);
	step = "a kernel that does not end is launched";
	RUN(k_wait, 1, 1, stream, flag.p);
	snprintf(name, sizeof(name), "%s.pid", path);
	f = fopen(name, "w");
	EXPECT(f && fprintf(f, "%d\n", getpid()) > 0 && !fclose(f));
	step = "a kernel does not end, and the program was not killed";
	CHECK(cudaDeviceSynchronize());
	return 1;
}

static int run(const char *what, const char *path)
{
	static const char *const waits[] = {"unpatch", "repatch", "destroyed", "unseen"};

	for (int i = 0; i < 4; i++)
		if (!strcmp(what, waits[i]))
			return unpatch((enum waits)i);
	if (!strcmp(what, "capture"))
		return captures();
	if (!strcmp(what, "fork"))
		return graphs();
	if (!strcmp(what, "perthread"))
		return perthread();
	if (!strcmp(what, "grid"))
		return grid();
	if (!strcmp(what, "contexts"))
		return contexts();
	if (!strcmp(what, "reset"))
		return reset();
	if (!strcmp(what, "exit") || !strcmp(what, "abort") || !strcmp(what, "interrupt"))
		return leave(what, path);
	if (!strcmp(what, "forever"))
		return forever(path);
	fprintf(stderr, "access_ways: %s: there is no such way\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 3) {
		fputs("usage: access_ways unpatch|repatch|destroyed|unseen|capture|fork|perthread|\n"
		      "                   grid|contexts|reset|exit|abort|interrupt|forever FILE\n",
		      stderr);
		return 2;
	}
	watch_for_hangs();
	/* Else a kernel is loaded when it is first launched, which may wait for all that runs. */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	status = run(argv[1], argv[2]);
	if (!status)
		write_file(argv[2]);
	return status;
}
