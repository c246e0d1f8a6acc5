/*
 * access_held - a program that its device waits for, while it launches kernels whose memory accesses
 * are known beforehand.
 *
 *	access_held value FILE    a stream waits for a value that the program is to write
 *	access_held host FILE     or for a function of the program's
 *	access_held memory FILE   a kernel waits, and there is more memory than before
 *	access_held objects FILE  a kernel waits, and there are many objects, and launches behind it
 *
 * As access_ways. The device goes on only when all launches have come back.
 */
#include <dlfcn.h>

#include <cuda.h>

#include "access_forms.cuh"

enum { ELEMENTS = 16 * BLOCK, OBJECTS = 3000, LAUNCHES = 60, SOON_MS = 20, LATE_MS = 200, STILL_MS = 500 };

COPY(k_copy, 4)
COPY(k_other, 4)

/* So that what comes behind it is there before it has ended. */
KERNEL k_late(char *dst, const char *src)
{
	uint64_t until = timer() + (uint64_t)LATE_MS * 1000000;

	while (timer() < until)
		;
	st4(dst + INDEX * 4, ld4(src + INDEX * 4));
}

static struct memory dst, src;
static cudaStream_t streams[2];
static volatile bool may_go;

#define COPY_ALL(kernel, stream)                                                                   \
	do {                                                                                       \
		RUN(kernel, ELEMENTS / BLOCK, BLOCK, stream, dst.p, src.p);                        \
		loads(#kernel, src.target, ELEMENTS, 4);                                            \
		stores(#kernel, dst.target, ELEMENTS, 4);                                           \
	} while (0)

static void sleep_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static struct memory make_flag(void)
{
	void *p;

	CHECK(cudaMallocHost(&p, 4096));
	memset(p, 0, 4096);
	return known(p, 4096);
}

static void set_flag(struct memory flag)
{
	*(volatile uint32_t *)flag.p = 1;
}

/* -- A stream waits -- */

static void wait_value(cudaStream_t stream, struct memory flag)
{
	CUresult (*wait)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY);

	EXPECT(lib);
	*(void **)&wait = dlsym(lib, "cuStreamWaitValue32_v2");
	EXPECT(wait);
	EXPECT(!wait(stream, (CUdeviceptr)(uintptr_t)flag.p, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void wait_host(void *arg)
{
	(void)arg;
	while (!may_go)
		sleep_ms(1);
}

static int stream_waits(bool host)
{
	struct memory flag = make_flag();

	for (int i = 0; i < 2; i++) {
		step = "what a stream is to wait for is given to it";
		COPY_ALL(k_late, streams[0]);
		sleep_ms(SOON_MS);
		if (host)
			CHECK(cudaLaunchHostFunc(streams[0], wait_host, NULL));
		else
			wait_value(streams[0], flag);
		sleep_ms(STILL_MS);
		step = "a kernel is launched behind it, or beside it";
		COPY_ALL(k_copy, streams[i]);
		COPY_ALL(k_other, streams[1 - i]);
		may_go = true;
		set_flag(flag);
		step = "all is waited for";
		CHECK(cudaDeviceSynchronize());
		may_go = false;
		*(volatile uint32_t *)flag.p = 0;
	}
	return 0;
}

/* -- A kernel waits -- */

static void begin_to_wait(struct memory flag)
{
	step = "a kernel that waits is launched";
	RUN(k_wait, 1, 1, streams[0], flag.p);
	something("k_wait", flag.target);
}

static int more_memory(void)
{
	struct memory flag = make_flag();
	void *p;

	COPY_ALL(k_late, streams[0]);
	COPY_ALL(k_late, streams[1]);
	CHECK(cudaDeviceSynchronize());
	sleep_ms(STILL_MS);
	begin_to_wait(flag);
	for (int i = 1; i < 4; i++) {
		step = "memory is allocated beside it";
		CHECK(cudaMalloc(&p, (size_t)i << 30));
		known(p, (size_t)i << 30);
		step = "a kernel is launched beside it";
		COPY_ALL(k_copy, streams[1]);
	}
	set_flag(flag);
	return 0;
}

static int many_objects(void)
{
	struct memory flag = make_flag();
	void *p;

	COPY_ALL(k_copy, streams[0]);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < OBJECTS; i++)
		CHECK(cudaMalloc(&p, 512));
	begin_to_wait(flag);
	for (int i = 0; i < LAUNCHES; i++) {
		step = "a kernel is launched behind it";
		COPY_ALL(k_copy, streams[0]);
	}
	set_flag(flag);
	return 0;
}

static int run(const char *what)
{
	if (!strcmp(what, "value") || !strcmp(what, "host"))
		return stream_waits(*what == 'h');
	if (!strcmp(what, "memory"))
		return more_memory();
	if (!strcmp(what, "objects"))
		return many_objects();
	fprintf(stderr, "access_held: %s: there is no such thing to wait for\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 3) {
		fputs("usage: access_held value|host|memory|objects FILE\n", stderr);
		return 2;
	}
	watch_for_hangs();
	/* Else a kernel is loaded when it is first launched, which may wait for all that runs. */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	dst = on_device((size_t)ELEMENTS * 4);
	src = filled((size_t)ELEMENTS * 4);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	status = run(argv[1]);
	if (status)
		return status;
	step = "all is waited for";
	CHECK(cudaDeviceSynchronize());
	show("copied", dst);
	write_file(argv[2]);
	return 0;
}
