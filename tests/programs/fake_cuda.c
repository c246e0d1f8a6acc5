/*
 * fake_cuda - a CUDA program without a GPU: it works on fake_cupti.so, and counts what it does.
 *
 *	fake_cuda WAY [N]
 *
 * It loads what CUDA_INJECTION64_PATH names, as CUDA's driver does. Its counters, its own and not
 * the fake's, are printed as JSON when it ends. Ways:
 *	all		four threads, each N times round a loop with all there is in it
 *	status		N launches; exits with 3
 *	_exit, kill	N launches, waits for their records, N more, and goes without a word
 *	before		forks, then N launches in both; "after": N launches, forks, the child exits
 *	exec		N launches, and a child that is another program, with N of its own
 *	modules		N modules, each in two contexts, twice in one of them, where it is unloaded;
 *			their bytes go into the folder FAKE_MODULES, if there is one
 *	pausing		N launches, N between pasta_start() and pasta_stop(), N more
 *	resting		the same twice, with some seconds in between; 93: not all is off by then
 *	uses		N launches, then it uses CUPTI itself for N more; 94: it saw too few
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pasta/annotate.h>

#include "fake_cupti.h"

enum { THREADS = 4, NODES = 3 };

static struct {
	uint32_t (*call)(const struct fake_work *);
	void (*uvm)(const struct fake_work *);
	void (*context)(void);
	void (*module)(uint32_t, const struct cupti_module *, int);
	uint64_t (*made)(void), (*delivered)(void), (*dropped)(void), (*enabled)(void);
	int (*name)(int, uint32_t, const char **), (*on)(uint32_t, cupti_subscriber, int, uint32_t);
	int (*subscribe)(cupti_subscriber *, cupti_callback, void *);
} fake;

struct counts {
	uint64_t launches, kernels, nodes, host_to_device, device_to_host, peer, sets, allocs,
		frees, syncs, calls, runtime_calls, loads, unloads;
	uint64_t bytes_in, bytes_out, bytes_peer, bytes_set, bytes_allocated;
	uint64_t pooled, physical, mapped, bytes_physical;
	uint64_t to_device, to_host, bytes_to_device, bytes_to_host, gpu_faults, gpu_pages,
		cpu_faults;
	uint64_t streams, events, links;
};

static char *self;

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *function(void *lib, const char *name)
{
	void *f = dlsym(lib, name);

	if (!f) {
		fprintf(stderr, "fake_cuda: %s\n", dlerror());
		exit(99);
	}
	return f;
}

/* The fake lies beside the program. */
static void load_fake(void)
{
	char path[4096];
	void *lib;

	snprintf(path, sizeof(path), "%.*s/fake_cupti.so", (int)(strrchr(self, '/') - self), self);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "fake_cuda: %s\n", dlerror());
		exit(99);
	}
	*(void **)&fake.call = function(lib, "fake_call");
	*(void **)&fake.uvm = function(lib, "fake_uvm");
	*(void **)&fake.context = function(lib, "fake_context");
	*(void **)&fake.module = function(lib, "fake_module");
	*(void **)&fake.made = function(lib, "fake_made");
	*(void **)&fake.delivered = function(lib, "fake_delivered");
	*(void **)&fake.dropped = function(lib, "fake_dropped");
	*(void **)&fake.enabled = function(lib, "fake_enabled");
	*(void **)&fake.name = function(lib, "cuptiGetCallbackName");
	*(void **)&fake.on = function(lib, "cuptiEnableCallback");
	*(void **)&fake.subscribe = function(lib, "cuptiSubscribe");
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
		fprintf(stderr, "fake_cuda: InitializeInjection failed\n");
		exit(98);
	}
	fake.context();
	fake.context();
}

static void launch(struct counts *c, uint32_t thread, const char *name)
{
	fake.call(&(struct fake_work){.function = "cuLaunchKernel",
				      .kind = CUPTI_KERNEL,
				      .context = 1 + thread % 2,
				      .device = thread % 2,
				      .stream = 10 + thread,
				      .name = name});
	c->launches++;
	c->kernels++;
	c->calls++;
	c->runtime_calls++;
}

static void copies(struct counts *c, uint32_t thread, uint64_t i)
{
	struct fake_work w = {.function = "cuMemcpyHtoDAsync_v2",
			      .kind = CUPTI_MEMCPY,
			      .context = 1 + thread % 2,
			      .device = thread % 2,
			      .peer = 1 - thread % 2,
			      .stream = 10 + thread,
			      .copy = 1,
			      .bytes = 4096 + i};

	fake.call(&w);
	c->host_to_device++;
	c->bytes_in += w.bytes;
	w.function = "cuMemcpyDtoHAsync_v2";
	w.copy = 2;
	w.bytes = 64 + i;
	fake.call(&w);
	c->device_to_host++;
	c->bytes_out += w.bytes;
	w.function = "cuMemcpyPeerAsync";
	w.kind = CUPTI_MEMCPY_P2P;
	w.bytes = 128 + i;
	fake.call(&w);
	c->peer++;
	c->bytes_peer += w.bytes;
	w.function = "cuMemsetD8Async";
	w.kind = CUPTI_MEMSET;
	w.bytes = 32 + i;
	fake.call(&w);
	c->sets++;
	c->bytes_set += w.bytes;
	c->launches += 4;
	c->calls += 4;
}

static void graph(struct counts *c, uint32_t thread)
{
	struct fake_work w = {.function = "cuGraphAddMemcpyNode",
			      .context = 1 + thread % 2,
			      .device = thread % 2,
			      .stream = 10 + thread};

	fake.call(&w); /* makes nothing run */
	w.function = "cuGraphExecMemsetNodeSetParams";
	fake.call(&w);
	w.function = "cuLaunchHostFunc";
	fake.call(&w);
	w.function = "cuGraphLaunch";
	w.kind = CUPTI_KERNEL;
	w.nodes = NODES;
	w.name = "node";
	fake.call(&w);
	c->launches++;
	c->nodes += NODES;
	c->calls += 4;
}

static void memory(struct counts *c, uint32_t thread, uint64_t i)
{
	struct fake_work w = {.function = "cuMemAlloc_v2",
			      .kind = CUPTI_MEMORY,
			      .context = 1 + thread % 2,
			      .device = thread % 2,
			      .operation = 1,
			      .type = 3,
			      .bytes = 1 << 20,
			      .address = UINT64_C(0x700000000000) + ((uint64_t)thread << 40) +
					 (i << 21)};

	fake.call(&w);
	c->allocs++;
	c->bytes_allocated += w.bytes;
	w.function = "cuMemFree_v2";
	w.operation = 2;
	fake.call(&w);
	c->frees++;
	w.function = "cuMemAllocAsync";
	w.operation = 1;
	w.pool = 0x9000 + thread;
	fake.call(&w);
	c->allocs++;
	c->pooled++;
	c->bytes_allocated += w.bytes;
	w.function = "cuMemFreeAsync";
	w.operation = 2;
	fake.call(&w);
	c->frees++;
	c->calls += 4;
}

/* An event is put into the stream and waited for, in the three ways there are; the program gave it
 * an id of its own. */
static void events(struct counts *c, uint32_t thread, uint64_t i)
{
	static const char *const functions[] = {"cuEventRecord", "cuStreamSynchronize",
						"cuStreamSynchronize", "cuStreamSynchronize"};
	struct fake_work w = {.context = 1 + thread % 2,
			      .device = thread % 2,
			      .stream = 10 + thread,
			      .event = 100 + thread};

	for (uint32_t k = 0; k < 4; k++) {
		w.function = functions[k];
		w.kind = k ? CUPTI_SYNC : CUPTI_EVENT;
		w.type = k;
		w.external = k ? 0 : i + 1;
		fake.call(&w);
	}
	c->events++;
	c->links++;
	c->syncs += 3;
	c->calls += 4;
}

/* Memory without an address, mapped to two of them. */
static void virtual_memory(struct counts *c, uint32_t thread, uint64_t i)
{
	uint64_t handle = 0x5000 + thread * UINT64_C(0x10000) + i;
	uint64_t at = UINT64_C(0x200000000000) + ((uint64_t)thread << 40) + (i << 24);
	struct cu_mem_prop prop = {.type = 1, .location = 1, .id = thread % 2};
	struct cu_mem_create create = {.handle = &handle, .size = 2 << 20, .prop = &prop};
	struct cu_mem_map map = {.address = at, .size = 2 << 20, .handle = handle};
	struct cu_mem_unmap unmap = {.address = at, .size = 4 << 20};
	struct cu_mem_release release = {.handle = handle};
	struct fake_work w = {.context = 1 + thread % 2, .function = "cuMemCreate"};

	w.params = &create;
	fake.call(&w);
	w.function = "cuMemMap";
	w.params = &map;
	fake.call(&w);
	map.address += map.size;
	fake.call(&w);
	w.function = "cuMemRelease";
	w.params = &release;
	fake.call(&w);
	w.function = "cuMemUnmap";
	w.params = &unmap;
	fake.call(&w);
	c->physical++;
	c->mapped += 2;
	c->bytes_physical += create.size;
	c->calls += 5;
}

static void migrate(struct counts *c, uint32_t thread, uint64_t i)
{
	struct fake_work w = {.type = 1, .bytes = 65536, .device = thread % 2, .peer = thread % 2};

	w.address = UINT64_C(0x300000000000) + ((uint64_t)thread << 40) + (i << 16);
	fake.uvm(&w);
	w.type = 2;
	w.bytes = 4096;
	fake.uvm(&w);
	w.type = 3;
	w.bytes = 0x401000; /* where the program was */
	fake.uvm(&w);
	w.type = 4;
	w.bytes = 5;
	fake.uvm(&w);
	c->to_device++;
	c->to_host++;
	c->cpu_faults++;
	c->gpu_faults++;
	c->bytes_to_device += 65536;
	c->bytes_to_host += 4096;
	c->gpu_pages += 5;
}

struct job {
	pthread_t thread;
	struct counts counts;
	uint64_t n;
	uint32_t number;
};

static void *loop(void *arg)
{
	struct job *j = arg;

	fake.call(&(struct fake_work){.function = "cuStreamCreate",
				      .kind = CUPTI_STREAM,
				      .context = 1 + j->number % 2,
				      .stream = 10 + j->number,
				      .type = 2,
				      .priority = -1});
	j->counts.streams++;
	j->counts.calls++;
	for (uint64_t i = 0; i < j->n; i++) {
		launch(&j->counts, j->number, i % 3 ? "often" : "seldom");
		if (i % 10 == 0)
			copies(&j->counts, j->number, i);
		if (i % 20 == 0)
			graph(&j->counts, j->number);
		if (i % 50)
			continue;
		memory(&j->counts, j->number, i);
		events(&j->counts, j->number, i);
		virtual_memory(&j->counts, j->number, i);
		migrate(&j->counts, j->number, i);
	}
	return NULL;
}

static void add(struct counts *to, const struct counts *from)
{
	const uint64_t *more = (const void *)from;
	uint64_t *sum = (void *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += more[i];
}

static void all(struct counts *c, uint64_t n)
{
	struct job jobs[THREADS] = {0};

	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i].n = n;
		jobs[i].number = i;
		if (pthread_create(&jobs[i].thread, NULL, loop, &jobs[i]))
			exit(97);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(jobs[i].thread, NULL);
		add(c, &jobs[i].counts);
	}
}

static void some(struct counts *c, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		launch(c, 0, "some");
}

static void print(const struct counts *c, uint64_t begin)
{
	printf("{\"pid\":%d,\"begin\":%" PRIu64 ",\"end\":%" PRIu64, (int)getpid(), begin,
	       realtime());
#define P(name) printf(",\"" #name "\":%" PRIu64, c->name)
	P(launches), P(kernels), P(nodes), P(host_to_device), P(device_to_host), P(peer), P(sets);
	P(allocs), P(frees), P(syncs), P(calls), P(runtime_calls), P(bytes_in), P(bytes_out);
	P(bytes_peer), P(bytes_set), P(bytes_allocated), P(pooled), P(physical), P(mapped);
	P(bytes_physical), P(to_device), P(to_host), P(bytes_to_device), P(bytes_to_host);
	P(gpu_faults), P(gpu_pages), P(cpu_faults), P(streams), P(events), P(links);
	P(loads), P(unloads);
#undef P
	printf(",\"made\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"enabled\":%" PRIu64 "}\n",
	       fake.made(), fake.dropped(), fake.enabled());
	fflush(stdout);
}

/* Until all that was made has been delivered, ten seconds at most. */
static void wait_for_records(void)
{
	for (int i = 0; i < 1000 && fake.delivered() < fake.made(); i++)
		usleep(10000);
}

static int wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 96;
	return WEXITSTATUS(status);
}

static int go(struct counts *c, const char *way, uint64_t n, uint64_t begin)
{
	wait_for_records();
	print(c, begin);
	some(c, n);
	if (!strcmp(way, "kill"))
		raise(SIGKILL);
	_exit(5);
}

static int after(const struct counts *c, uint64_t begin)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		exit(4); /* runs what was registered with atexit, as Python's children do */
	status = wait_for(pid);
	print(c, begin);
	return status;
}

static int exec_another(const struct counts *c, char *n, uint64_t begin)
{
	pid_t pid = fork();
	char way[] = "one", *argv[] = {self, way, n, NULL};
	int status;

	if (!pid) {
		execv(self, argv);
		_exit(95);
	}
	status = wait_for(pid);
	print(c, begin);
	return status;
}

static void save(const void *bytes, size_t size, uint64_t number)
{
	const char *folder = getenv("FAKE_MODULES");
	char path[4096];
	FILE *file;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%" PRIu64, folder, number);
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(94);
	}
}

/* Of one size and with one beginning, two by two: what differs lies at the end. */
static void module(struct counts *c, uint64_t number)
{
	size_t size = 100000 + number / 2 * 1000;
	unsigned char *bytes = malloc(size);
	struct cupti_module m = {.id = (uint32_t)number * 3 + 1, .bytes = size, .cubin = bytes};

	if (!bytes)
		exit(93);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)((i * i * 31 + number / 2) >> 3);
	bytes[size - 1] = (unsigned char)number;
	save(bytes, size, number);
	for (uint32_t i = 0; i < 3; i++, m.id++)
		fake.module(1 + i % 2, &m, 1);
	m.id--;
	fake.module(1, &m, 0);
	c->loads += 3;
	c->unloads++;
	memset(bytes, 0, size); /* they are the program's, to do with as it likes */
	free(bytes);
}

static void modules(struct counts *c, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		module(c, i);
	launch(c, 0, "some");
}

static void pausing(struct counts *c, uint64_t n)
{
	struct counts not_counted = {0};

	some(&not_counted, n);
	pasta_start();
	some(c, n);
	pasta_stop();
	some(&not_counted, n);
}

/* Memory is recorded all the time; no work is while it rests. */
static int resting(struct counts *c, uint64_t n)
{
	const uint64_t work = UINT64_C(1) << CUPTI_KERNEL | UINT64_C(1) << CUPTI_MEMCPY |
			      UINT64_C(1) << CUPTI_MEMSET | UINT64_C(1) << CUPTI_SYNC |
			      UINT64_C(1) << CUPTI_DRIVER | UINT64_C(1) << CUPTI_RUNTIME;
	bool is_off = false;

	pausing(c, n);
	for (int i = 0; i < 100 && !is_off; i++) {
		is_off = !(fake.enabled() & work);
		usleep(100000);
	}
	pausing(c, n);
	return is_off ? 0 : 93;
}

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
	uint64_t *calls = user;

	(void)domain, (void)id, (void)data;
	++*calls;
}

static int uses(uint64_t n)
{
	struct counts not_counted = {0};
	cupti_subscriber subscriber;
	const char *name = NULL;
	uint64_t calls = 0;

	if (fake.subscribe(&subscriber, on_call, &calls) != CUPTI_OK)
		return 94;
	for (uint32_t id = 1; !fake.name(CUPTI_DRIVER_API, id, &name); id++)
		if (!strcmp(name, "cuLaunchKernel"))
			fake.on(1, subscriber, CUPTI_DRIVER_API, id);
	some(&not_counted, n);
	return calls == 2 * n ? 0 : 94;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 100, begin = realtime();
	struct counts c = {0};
	pid_t child = -1;
	int status = 0;

	self = realpath("/proc/self/exe", NULL);
	if (!self)
		return 99;
	load_fake();
	if (!strcmp(way, "before"))
		child = fork();
	initialize();
	if (!strcmp(way, "all"))
		all(&c, n);
	else if (!strcmp(way, "modules"))
		modules(&c, n);
	else if (!strcmp(way, "pausing"))
		pausing(&c, n);
	else if (!strcmp(way, "resting"))
		status = resting(&c, n);
	else
		some(&c, n);
	if (!strcmp(way, "uses"))
		status = uses(n);
	if (!strcmp(way, "kill") || !strcmp(way, "_exit"))
		return go(&c, way, n, begin);
	if (!strcmp(way, "after"))
		return after(&c, begin);
	if (!strcmp(way, "exec"))
		return exec_another(&c, argv[2], begin);
	if (child > 0)
		status = wait_for(child);
	print(&c, begin);
	return !strcmp(way, "status") ? 3 : status;
}
