/*
 * bench_reduce_raw.c - the cost of counting CUDA accesses on the host: per launch, and per access.
 *
 * A thread acts as the device: it writes records into the ring as the patches do, as fast as it
 * can, waits if there is no room, and signals the end of its launch. The ring, its workers and the
 * driver of the reducers are the handler's own. Warps read and write three arrays of 32 MiB in
 * turns, 16 bytes per thread, at 480 sites; 200 other objects are around them.
 *
 * Each value is measured in a separate process, and the rows that it wrote are checked. Time is
 * wall time from one launch to the next; work is CPU time without that of the device thread.
 */
#include "bench.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "collect/accesses.h"
#include "collect/agent.h"
#include "collect/control.h"
#include "handlers/sanitizer/raw.h"
#include "process/read/run.h"
#include "process/read/recover.h"
#include "process/read/stream.h"

enum { RUNS = 3, HALF = 1 << 18, WARPS = 512, STEPS = 12, ARRAYS = 3, OTHERS = 200, THREADS = 256 };
enum { BYTES = 16, SITES = 480, FLUSH_MS = 60000 };
#define ARRAY (UINT64_C(32) << 20)
#define BASE (UINT64_C(0x7f) << 40)
#define CODE UINT64_C(0x7f0000010000)
#define BY_ALL                                                                                     \
	(PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) |        \
	 PASTA_REDUCER_MASK(SITE_OBJECT) | PASTA_REDUCER_MASK(COALESCE) |                          \
	 PASTA_REDUCER_MASK(DIVERGE))

struct result {
	double wall, work, written; /* s; written: CPU time of the device thread */
};
static struct result *result;

static struct {
	struct pasta_gpu_ring ring;
	struct pasta_access *records;
	uint64_t head;
	sem_t begun, through;
	uint32_t number; /* of the launch; 0: none left */
	uint64_t requests;
	double work;
} device;

/* -- The device -- */

static double cores(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns false if the host has stopped it. */
static bool wait_room(uint64_t end)
{
	struct timespec nap = {.tv_nsec = 1000};

	while (end > __atomic_load_n(&device.ring.consumed, __ATOMIC_ACQUIRE) + 2 * HALF) {
		if (__atomic_load_n(&device.ring.stop, __ATOMIC_RELAXED))
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

static void announce_filled(uint64_t head)
{
	uint64_t n = head / HALF - 1;

	if (!(head % HALF))
		__atomic_store_n(&device.ring.filled[n & 1], (n / 2 + 1) * HALF, __ATOMIC_RELEASE);
}

/* Requests consist of whole warps, which are in one half each. */
static void write_request(uint32_t number, uint64_t k)
{
	uint64_t warp = k / (WARPS * STEPS) * WARPS + k % WARPS, step = k / WARPS % STEPS;
	uint64_t at = (warp * (STEPS / ARRAYS) + step / ARRAYS) * PASTA_WARP * BYTES % ARRAY;
	struct pasta_access *to = &device.records[device.head % (2 * HALF)];
	struct pasta_access a = {.addr = BASE + step % ARRAYS * 2 * ARRAY + at,
				 .size = BYTES,
				 .site = (uint32_t)(k / WARPS * 40 + k % 40) % SITES * 16,
				 .launch = number,
				 .group = (uint32_t)(warp * PASTA_WARP / THREADS),
				 .turn = (uint32_t)device.head,
				 .thread = (uint16_t)(warp * PASTA_WARP % THREADS),
				 .kind = PASTA_ACCESS_LOAD};

	for (uint32_t i = 0; i < PASTA_WARP; i++) {
		to[i] = a;
		a.addr += BYTES;
		a.thread++;
	}
	device.head += PASTA_WARP;
	announce_filled(device.head);
}

static void *device_main(void *arg)
{
	uint64_t k;

	(void)arg;
	while (!sem_wait(&device.begun) && device.number) {
		for (k = 0; k < device.requests && wait_room(device.head + PASTA_WARP); k++)
			write_request(device.number, k);
		device.work = cores(CLOCK_THREAD_CPUTIME_ID);
		sem_post(&device.through);
	}
	return NULL;
}

static int read_device(void *ctx, uint64_t *head, uint64_t *dropped)
{
	(void)ctx;
	*head = device.head;
	*dropped = 0;
	return 0;
}

/* -- In the child: the handler's part -- */

static uint32_t find_site(void *ctx, void *data, uint64_t addr, uint32_t flags)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint32_t numbers[SITES];
	uint32_t *number = &numbers[(addr - CODE) / 16 % SITES], found;

	(void)ctx, (void)data, (void)flags;
	pthread_mutex_lock(&lock);
	if (!*number)
		*number = pasta_accesses_sites(1);
	found = *number;
	pthread_mutex_unlock(&lock);
	return found;
}

static struct pasta_raw *begin(uint32_t workers, bool siteless)
{
	struct pasta_raw_ops ops = {.read = read_device,
				    .site = find_site,
				    .batch = pasta_accesses_batch,
				    .dropped = pasta_accesses_dropped};
	struct pasta_raw_config config = {.ring = &device.ring,
					  .half = HALF,
					  .counts = true,
					  .siteless = siteless,
					  .workers = workers};
	struct pasta_error err = {0};
	struct pasta_raw *r;

	if (!pasta_agent_attach())
		bench_die("cannot attach the agent");
	for (uint64_t i = 0; i < ARRAYS; i++)
		pasta_accesses_object(0, BASE + i * 2 * ARRAY, ARRAY, 1, 0);
	for (uint64_t i = 0; i < OTHERS; i++)
		pasta_accesses_object(0, BASE / 2 + (i << 21), 1 << 20, 1, 0);
	device.records = aligned_alloc(4096, 2 * (size_t)HALF * sizeof(*device.records));
	config.records = device.records;
	r = device.records ? pasta_raw_new(&config, &ops, &err) : NULL;
	if (!r)
		bench_die("no ring: %s", err.text);
	return r;
}

static void launch(struct pasta_raw *r, uint64_t corr, uint32_t name)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(corr, name, 1, NULL);

	if (!l || !pasta_accesses_pin(l))
		bench_die("a launch does not begin");
	device.number = pasta_raw_begin(r, l, THREADS, CODE, NULL);
	sem_post(&device.begun);
	sem_wait(&device.through);
	if (pasta_raw_flush(r, device.number, FLUSH_MS))
		bench_die("a launch is not flushed");
	pasta_accesses_end(l, true);
}

static void child(uint32_t reducers, uint32_t workers, uint32_t accesses, uint32_t launches)
{
	struct pasta_raw *r = begin(workers, reducers == PASTA_REDUCER_MASK(OBJECT));
	uint32_t name = pasta_intern_str("kernel");
	double wall, work, written;
	pthread_t thread;

	device.requests = accesses / PASTA_WARP;
	sem_init(&device.begun, 0, 0);
	sem_init(&device.through, 0, 0);
	if (pthread_create(&thread, NULL, device_main, NULL))
		bench_die("no thread");
	launch(r, 1, name); /* warm-up: touches the memory */
	wall = bench_now();
	work = cores(CLOCK_PROCESS_CPUTIME_ID);
	written = device.work;
	for (uint32_t i = 0; i < launches; i++)
		launch(r, 2 + i, name);
	result->wall = bench_now() - wall;
	result->written = device.work - written;
	result->work = cores(CLOCK_PROCESS_CPUTIME_ID) - work - result->written;
	device.number = 0;
	sem_post(&device.begun);
	pthread_join(thread, NULL);
	if (pasta_raw_free(r))
		bench_die("a worker does not end");
	pasta_agent_close();
}

/* -- In the parent -- */

/* Sums up the loads in the rows. Rows of other objects must not have any. */
static uint64_t read_rows(const char *folder)
{
	char *shards = pasta_run_file(folder, PASTA_RUN_SHARDS), **paths;
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_recovered recovered = {0};
	const struct pasta_event *ev;
	struct pasta_error err = {0};
	uint64_t loads = 0;
	size_t count;

	pasta_recover_sweep(shards, &recovered, &err);
	if (pasta_run_shards(shards, &paths, &count, &err))
		bench_die("%s", err.text);
	for (size_t i = 0; i < count; i++)
		if (pasta_stream_add(s, paths[i], &err))
			bench_die("%s", err.text);
	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_ACCESS_SUM &&
		    ev->access_sum.reducer == PASTA_REDUCER_OBJECT &&
		    ev->access_sum.key0 >= PASTA_OBJECT_FIRST &&
		    ev->access_sum.bytes == BYTES * ev->access_sum.loads)
			loads += ev->access_sum.loads;
	pasta_stream_free(s);
	pasta_run_shards_free(paths);
	free(shards);
	return loads;
}

static void run_child(uint32_t reducers, uint32_t workers, uint32_t accesses, uint32_t launches)
{
	uint64_t made = (uint64_t)(launches + 1) * (accesses / PASTA_WARP * PASTA_WARP), counted;
	struct pasta_run run = {0};
	struct pasta_error err = {0};
	char path[5000], words[64];
	int status = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/run", bench_temp());
	snprintf(words, sizeof(words), "%u,host", reducers);
	if (pasta_run_create(&run, path, &err))
		bench_die("%s", err.text);
	pid = fork();
	if (!pid) {
		bench_folder[0] = '\0'; /* the parent removes it */
		setenv(PASTA_ENV_RUN, run.path, 1);
		setenv(PASTA_ENV_ACCESSES, words, 1);
		child(reducers, workers, accesses, launches);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		bench_die("a measurement failed (%d)", status);
	counted = read_rows(run.path);
	if (counted != made)
		bench_die("%llu accesses were made, but %llu counted", (unsigned long long)made,
			  (unsigned long long)counted);
	pasta_run_free(&run);
	bench_remove(path);
}

static void figure(const char *what, uint32_t reducers, uint32_t workers, uint32_t accesses,
		   uint32_t launches)
{
	struct bench wall = {0}, work = {0}, each = {0};
	char text[80];

	for (int i = 0; i < RUNS; i++) {
		run_child(reducers, workers, accesses, launches);
		bench_add(&wall, result->wall * 1e6 / launches);
		bench_add(&work, result->work * 1e6 / launches);
		bench_add(&each, result->work * 1e9 / launches / accesses);
	}
	snprintf(text, sizeof(text), "%s, %u workers, %u K accesses", what, workers,
		 accesses / 1000);
	bench_report(&wall, text, "us/launch");
	bench_report(&work, "  work", "us/launch");
	bench_report(&each, "  work", "ns/access");
}

int main(int argc, char **argv)
{
	static const uint32_t workers[] = {2, 16};
	bool all = argc < 2 || strcmp(argv[1], "object");

	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (result == MAP_FAILED)
		bench_die("out of memory");
	for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++) {
		figure("by object", PASTA_REDUCER_MASK(OBJECT), workers[i], 10000, 200);
		figure("by object", PASTA_REDUCER_MASK(OBJECT), workers[i], 1000000, 20);
		figure("by object", PASTA_REDUCER_MASK(OBJECT), workers[i], 20000000, 2);
		if (!all)
			continue;
		figure("all", BY_ALL, workers[i], 10000, 200);
		figure("all", BY_ALL, workers[i], 1000000, 5);
	}
	return 0;
}
