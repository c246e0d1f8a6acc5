/*
 * fake_kernels - a CUDA program without a GPU, whose kernels access memory: it works on
 * fake_sanitizer.so, and prints what its kernels did.
 *
 *	fake_kernels WAY [N]
 *
 * It loads what CUDA_INJECTION64_PATH names, as CUDA's driver does. A line "BYTES LOADS STORES
 * BYTES" counts the accesses to memory of a size, and one "patched P unpatched U bytes B" how
 * often modules were. Ways:
 *	all	N launches on each of four streams, of two threads, with memory that comes and goes
 *	queued	N launches that wait in a stream; their memory is freed and is another's meanwhile
 *	graphs	N graphs of five kernels
 *	windows	N launches of one kernel
 *	long	N launches on each of two streams, of a kernel with a million accesses
 *	again	a new kernel, then N of an old one, three times, the last time twice as many
 *	beside	N launches of one kernel, and of another one, beside one that never ends
 *	stuck	a kernel that never ends, and launches after it, on its stream and on another
 *	fault	N launches, a kernel that fails, and more launches; exits with 3
 *	ends	a stream, then a context is destroyed while kernels run
 *	contexts	N launches in each of two contexts, one of which goes, and more in the other
 *	fork	N launches; its child, which has no CUDA, exits with 4
 *	_exit	N launches, the last of which runs when it goes without a word
 *	killed	N launches that are recorded, and one that never ends, beside which it is killed
 *	many	N pieces of memory, each of which is accessed once
 *	barriers	N launches of a kernel whose blocks synchronise
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../include/pasta/device.h"
#include "fake_sanitizer.h"

#define FUNCTIONS(F)                                                                               \
	F(context)                                                                                 \
	F(context_destroy)                                                                         \
	F(stream)                                                                                  \
	F(stream_destroy)                                                                          \
	F(synchronize)                                                                             \
	F(module)                                                                                  \
	F(module_unload)                                                                           \
	F(alloc)                                                                                   \
	F(free)                                                                                    \
	F(launch)                                                                                  \
	F(graph)                                                                                   \
	F(patched)                                                                                 \
	F(unpatched)                                                                               \
	F(own_bytes)                                                                               \
	F(pc)
static struct {
#define F(name) __typeof__(&fake_##name) name;
	FUNCTIONS(F)
#undef F
} fake;

enum { SIZES = 64 };
static struct {
	uint64_t size, loads, stores, bytes;
} sums[SIZES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load_fake(const char *self)
{
	char path[4096];
	void *lib;

	snprintf(path, sizeof(path), "%.*s/fake_sanitizer.so", (int)(strrchr(self, '/') - self),
		 self);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "fake_kernels: %s\n", dlerror());
		exit(99);
	}
#define F(name) *(void **)&fake.name = dlsym(lib, "fake_" #name);
	FUNCTIONS(F)
#undef F
}

/* As cuInit does. */
static void initialize(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *lib = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*injection)(void) = NULL;

	if (lib)
		*(void **)&injection = dlsym(lib, "InitializeInjection");
	if (injection && !injection()) {
		fprintf(stderr, "fake_kernels: InitializeInjection failed\n");
		exit(98);
	}
}

static void note(uint64_t size, const struct fake_access *a)
{
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < SIZES - 1 && sums[i].size && sums[i].size != size)
		i++;
	sums[i].size = size;
	sums[i].loads += a->kind & PASTA_ACCESS_LOAD ? a->times : 0;
	sums[i].stores += a->kind & PASTA_ACCESS_STORE ? a->times : 0;
	sums[i].bytes += a->times * a->size * (a->kind == PASTA_ACCESS_ATOMIC ? 2 : 1);
	pthread_mutex_unlock(&lock);
}

static void print_all(void)
{
	for (uint32_t i = 0; i < SIZES && sums[i].size; i++)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sums[i].size,
		       sums[i].loads, sums[i].stores, sums[i].bytes);
	printf("patched %" PRIu64 " unpatched %" PRIu64 " bytes %" PRIu64 "\n", fake.patched(),
	       fake.unpatched(), fake.own_bytes());
}

/* A kernel that reads one piece of memory and writes another, and adds to it atomically. */
static void launch(void *stream, void *module, const char *name, uint64_t in, uint64_t in_bytes,
		   uint64_t out, uint64_t out_bytes, int ms)
{
	uint64_t pc = fake.pc(module);
	struct fake_access a[] = {
		{pc + 0x10, in + 4, 100, 4, PASTA_ACCESS_LOAD},
		{pc + 0x20, in + 16, 10, 16, PASTA_ACCESS_LOAD},
		{pc + 0x30, out + 8, 50, 8, PASTA_ACCESS_STORE},
		{pc + 0x40, out, 7, 4, PASTA_ACCESS_ATOMIC},
		{pc + 0x50, out + 1, 3, 12, PASTA_ACCESS_STORE},
	};
	struct fake_kernel k = {module, name, 4, 64, a, 5, ms};

	fake.launch(stream, &k);
	for (uint32_t i = 0; i < 5; i++)
		note(i < 2 ? in_bytes : out_bytes, &a[i]);
}

struct worker {
	void *context, *module, *streams[2];
	uint64_t n;
	uint32_t number;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t size = 4096 * (w->number + 1), retained = fake.alloc(w->context, size, 0);

	for (uint64_t i = 0; i < w->n; i++)
		for (uint32_t k = 0; k < 2; k++) {
			uint64_t out = fake.alloc(w->context, 3 * size, 0);

			launch(w->streams[k], w->module, k ? "one" : "two", retained, size, out,
			       3 * size, 0);
			fake.free(w->context, out);
		}
	for (uint32_t k = 0; k < 2; k++)
		fake.synchronize(w->streams[k]);
	return NULL;
}

static void all(uint64_t n)
{
	void *context = fake.context(0), *module = fake.module(context);
	struct worker w[2];
	pthread_t threads[2];

	for (uint32_t i = 0; i < 2; i++) {
		w[i] = (struct worker){.context = context, .module = module, .n = n, .number = i};
		for (uint32_t k = 0; k < 2; k++)
			w[i].streams[k] = fake.stream(context);
		pthread_create(&threads[i], NULL, work, &w[i]);
	}
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	fake.module_unload(module);
	fake.context_destroy(context);
}

/* Each launch has memory of its own, of another size, at the same address. */
static void queued(uint64_t n)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *streams[8];
	uint64_t in = fake.alloc(context, 1 << 20, 0), out;

	for (uint32_t i = 0; i < 8; i++)
		streams[i] = fake.stream(context);
	for (uint64_t i = 0; i < n; i++) {
		out = fake.alloc(context, 2048, 0);
		launch(streams[i % 8], module, "queued", in, 1 << 20, out, 2048, 20);
		fake.free(context, out);
	}
	for (uint32_t i = 0; i < 8; i++)
		fake.synchronize(streams[i]);
}

static void graphs(uint64_t n)
{
	void *context = fake.context(0), *stream = fake.stream(context);
	void *module = fake.module(context);
	uint64_t addr = fake.alloc(context, 8192, 0);
	struct fake_access a = {fake.pc(module) + 0x10, addr, 11, 8, PASTA_ACCESS_LOAD};
	struct fake_kernel k[5];

	for (uint32_t i = 0; i < 5; i++)
		k[i] = (struct fake_kernel){module, "node", 4, 64, &a, 1, 1};
	for (uint64_t i = 0; i < n; i++) {
		fake.graph(stream, k, 5);
		for (uint32_t j = 0; j < 5; j++)
			note(8192, &a);
	}
	fake.synchronize(stream);
}

static void windows(uint64_t n)
{
	void *context = fake.context(0), *stream = fake.stream(context);
	void *module = fake.module(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);

	for (uint64_t i = 0; i < n; i++)
		launch(stream, module, "window", in, 4096, out, 8192, 0);
	fake.synchronize(stream);
	/* Another shape: its first launches are to be counted. */
	launch(stream, module, "other", in, 4096, out, 8192, 0);
	fake.synchronize(stream);
}

/* The accesses of launch, each so many times. */
static void long_(uint64_t n)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *streams[2] = {fake.stream(context), fake.stream(context)};
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);
	uint64_t pc = fake.pc(module);
	struct fake_access a[] = {
		{pc + 0x10, in + 4, 600000, 4, PASTA_ACCESS_LOAD},
		{pc + 0x20, in + 16, 60000, 16, PASTA_ACCESS_LOAD},
		{pc + 0x30, out + 8, 300000, 8, PASTA_ACCESS_STORE},
		{pc + 0x40, out, 42000, 4, PASTA_ACCESS_ATOMIC},
		{pc + 0x50, out + 1, 18000, 12, PASTA_ACCESS_STORE},
	};
	struct fake_kernel k = {module, "long", 4, 80, a, 5, 0};

	for (uint64_t i = 0; i < 2 * n; i++) {
		fake.launch(streams[i % 2], &k);
		for (uint32_t j = 0; j < 5; j++)
			note(j < 2 ? 4096 : 8192, &a[j]);
	}
	for (uint32_t i = 0; i < 2; i++)
		fake.synchronize(streams[i]);
}

static void again(uint64_t n)
{
	static const char *const names[] = {"first", "second", "third"};
	void *context = fake.context(0), *stream = fake.stream(context);
	void *module = fake.module(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);

	for (uint32_t i = 0; i < 3; i++) {
		launch(stream, module, names[i], in, 4096, out, 8192, 0);
		for (uint64_t k = 0; k < n << (i == 2); k++)
			launch(stream, module, "first", in, 4096, out, 8192, 0);
		fake.synchronize(stream);
	}
}

static void beside(uint64_t n)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *stream = fake.stream(context), *other = fake.stream(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);
	struct fake_kernel k = {
		.module = module, .name = "never", .grid = 1, .block = 32, .ms = FAKE_NEVER};

	fake.launch(stream, &k);
	for (uint64_t i = 0; i < n; i++)
		launch(other, module, "beside", in, 4096, out, 8192, 0);
	launch(other, module, "new", in, 4096, out, 8192, 0);
	fake.synchronize(other);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stuck(void)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *stream = fake.stream(context), *other = fake.stream(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);
	double begin = now();
	struct fake_kernel k = {
		.module = module, .name = "never", .grid = 1, .block = 32, .ms = FAKE_NEVER};

	fake.launch(stream, &k);
	k.name = "after";
	k.ms = 0;
	for (uint32_t i = 0; i < 3; i++)
		fake.launch(stream, &k);
	for (uint32_t i = 0; i < 3; i++)
		launch(other, module, "beside", in, 4096, out, 8192, 0);
	fake.synchronize(other);
	fprintf(stderr, "launches took %.1f s\n", now() - begin);
}

static void killed(uint64_t n)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *stream = fake.stream(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);
	struct fake_kernel k = {
		.module = module, .name = "never", .grid = 1, .block = 32, .ms = FAKE_NEVER};

	for (uint64_t i = 0; i < n; i++)
		launch(stream, module, "good", in, 4096, out, 8192, 0);
	fake.synchronize(stream);
	usleep(500000);
	fake.launch(stream, &k);
	print_all();
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

static void fault(uint64_t n)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *stream = fake.stream(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);
	struct fake_kernel k = {
		.module = module, .name = "faults", .grid = 1, .block = 32, .ms = FAKE_FAULTS};

	for (uint64_t i = 0; i < n; i++)
		launch(stream, module, "good", in, 4096, out, 8192, 0);
	fake.launch(stream, &k);
	k.ms = 0;
	k.name = "late";
	for (uint64_t i = 0; i < 3; i++)
		fake.launch(stream, &k);
	if (!fake.synchronize(stream))
		exit(97);
	print_all();
	exit(3);
}

static void ends(void)
{
	void *context = fake.context(0), *module = fake.module(context);
	void *streams[2] = {fake.stream(context), fake.stream(context)};
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);

	launch(streams[0], module, "stream", in, 4096, out, 8192, 100);
	fake.stream_destroy(streams[0]);
	launch(streams[1], module, "context", in, 4096, out, 8192, 100);
	fake.context_destroy(context);
}

struct own {
	void *context, *module, *stream;
	uint64_t in, in_bytes, out, out_bytes;
};

static struct own make_own(uint64_t size)
{
	void *context = fake.context(0);

	return (struct own){context,
			    fake.module(context),
			    fake.stream(context),
			    fake.alloc(context, size, 0),
			    size,
			    fake.alloc(context, 2 * size, 0),
			    2 * size};
}

static void launch_own(const struct own *o, int ms)
{
	launch(o->stream, o->module, "own", o->in, o->in_bytes, o->out, o->out_bytes, ms);
}

/* Twice, at one address, while the other context is there. */
static void use_twice(const struct own *o, uint64_t bytes)
{
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t out = fake.alloc(o->context, bytes, 0);

		launch(o->stream, o->module, "own", o->in, o->in_bytes, out, bytes, 0);
		fake.synchronize(o->stream);
		fake.free(o->context, out);
	}
}

static void contexts(uint64_t n)
{
	struct own first = make_own(4096), second = make_own(5 * 4096);
	uint64_t between = fake.alloc(first.context, 3 * 4096, 0);

	for (uint64_t i = 0; i < n; i++) {
		launch_own(&second, 0);
		launch_own(&first, 0);
	}
	use_twice(&first, 7 * 4096);
	use_twice(&second, 9 * 4096);
	fake.synchronize(first.stream);
	launch_own(&second, 50);
	fake.context_destroy(second.context);
	launch_own(&first, 0);
	launch(first.stream, first.module, "own", between, 3 * 4096, first.out, first.out_bytes, 0);
	fake.synchronize(first.stream);
}

static void forks(uint64_t n)
{
	pid_t child;
	int status;

	windows(n);
	child = fork();
	if (!child)
		exit(4);
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 4)
		exit(96);
}

static void many(uint64_t n)
{
	void *context = fake.context(0), *stream = fake.stream(context);
	void *module = fake.module(context);
	uint64_t in = fake.alloc(context, 4096, 0), out;

	for (uint64_t i = 0; i < n; i++) {
		out = fake.alloc(context, 8192, 0);
		launch(stream, module, "many", in, 4096, out, 8192, 0);
	}
	fake.synchronize(stream);
}

/* 4 blocks of 2 warps: ten times all of them, then half of each warp, at another barrier. */
static void barriers(uint64_t n)
{
	void *context = fake.context(0), *stream = fake.stream(context);
	void *module = fake.module(context);
	uint64_t in = fake.alloc(context, 4096, 0);
	struct fake_access a[] = {
		{fake.pc(module) + 0x10, in, 256, 4, PASTA_ACCESS_LOAD},
		{fake.pc(module) + 0x20, 0, 80, 32, PASTA_ACCESS_BARRIER},
		{fake.pc(module) + 0x30, 1, 8, 16, PASTA_ACCESS_BARRIER},
	};
	struct fake_kernel k = {module, "waits", 4, 64, a, 3, 0};

	for (uint64_t i = 0; i < n; i++) {
		fake.launch(stream, &k);
		note(4096, &a[0]);
	}
	fake.synchronize(stream);
}

static void leave(uint64_t n)
{
	void *context = fake.context(0), *stream = fake.stream(context);
	void *module = fake.module(context);
	uint64_t in = fake.alloc(context, 4096, 0), out = fake.alloc(context, 8192, 0);

	for (uint64_t i = 0; i < n; i++)
		launch(stream, module, "leave", in, 4096, out, 8192, 50);
	print_all();
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 3;

	load_fake(argv[0]);
	initialize();
	if (!strcmp(way, "all"))
		all(n);
	else if (!strcmp(way, "queued"))
		queued(n);
	else if (!strcmp(way, "graphs"))
		graphs(n);
	else if (!strcmp(way, "windows"))
		windows(n);
	else if (!strcmp(way, "long"))
		long_(n);
	else if (!strcmp(way, "again"))
		again(n);
	else if (!strcmp(way, "beside"))
		beside(n);
	else if (!strcmp(way, "stuck"))
		stuck();
	else if (!strcmp(way, "killed"))
		killed(n);
	else if (!strcmp(way, "fault"))
		fault(n);
	else if (!strcmp(way, "ends"))
		ends();
	else if (!strcmp(way, "contexts"))
		contexts(n);
	else if (!strcmp(way, "fork"))
		forks(n);
	else if (!strcmp(way, "_exit"))
		leave(n);
	else if (!strcmp(way, "many"))
		many(n);
	else if (!strcmp(way, "barriers"))
		barriers(n);
	else
		return 95;
	print_all();
	return 0;
}
