/*
 * bench_emit.c - the cost of an event in the program under study, and whether any is dropped.
 *
 * Each value is measured in a separate process with a run of its own. "Paced" is a million events
 * per second and thread, in bursts of a thousand per millisecond; the time between bursts does not
 * count. "Flat out" is as fast as possible: then the writer cannot follow, and events are dropped.
 */
#include "bench.h"

#include <pthread.h>
#include <sys/mman.h>

#include <pasta/annotate.h>

#include "collect/agent.h"
#include "collect/control.h"
#include "handlers/cupti/cupti.h"
#include "process/read/run.h"
#include "process/read/recover.h"
#include "process/read/stream.h"

enum { RUNS = 5, BURST = 1000, BURSTS = 1000, FLAT = 10000, THREADS = 8, SECONDS = 3 };

/* What a child process sends to its parent. */
struct result {
	double ns;	 /* per event: the median of its bursts */
	uint64_t events; /* that it tried to emit */
};
static struct result *result;
static uint32_t name;
static volatile uint64_t sink;

/* -- Bursts of BURST events each -- */

static void clock_burst(void)
{
	for (int i = 0; i < BURST; i++)
		sink = pasta_now();
}

static void emit_burst(void)
{
	for (int i = 0; i < BURST; i++) {
		struct pasta_event ev;

		pasta_event_init(&ev, PASTA_KIND_REGION, PASTA_REGION_MARK,
				 PASTA_EVENT_SIZE(region));
		ev.region.name = name;
		ev.time = pasta_now();
		pasta_emit(&ev);
	}
}

/* A CUDA launch, as CUPTI would report it. */
static cupti_callback callback;
static uint32_t launches;

static void launch_burst(void)
{
	struct cupti_call call = {.symbol = "_Z5saxpyPKfPff", .context_id = 1};

	for (int i = 0; i < BURST; i++) {
		call.correlation = ++launches;
		call.site = 0;
		callback(NULL, CUPTI_DRIVER_API, 1, &call);
		call.site = 1;
		callback(NULL, CUPTI_DRIVER_API, 1, &call);
	}
}

static void annotate_burst(void)
{
	for (int i = 0; i < BURST / 2; i++) {
		pasta_region_begin("forward");
		pasta_region_end();
	}
}

/* -- In the child -- */

static double *times;
static size_t time_count;

/* Waits until the next millisecond of *at. Missed milliseconds are skipped: after a pause, the
 * process would otherwise emit everything at once. */
static void pace(double *at)
{
	double left = (*at += 1e-3) - bench_now();
	struct timespec t = {.tv_nsec = (long)(left * 1e9)};

	if (left > 0)
		nanosleep(&t, NULL);
	else if (left < -5e-3)
		*at = bench_now();
}

static void measure(void (*burst)(void), size_t bursts, bool paced)
{
	double turn = bench_now();

	times = calloc(bursts, sizeof(*times));
	for (time_count = 0; time_count < bursts; time_count++) {
		double at = bench_now();

		burst();
		times[time_count] = (bench_now() - at) * 1e9 / BURST;
		if (paced)
			pace(&turn);
	}
	qsort(times, bursts, sizeof(*times), bench_compare);
	result->ns = times[bursts / 2];
	free(times);
}

static void measure_clock(void)
{
	pasta_clock_begin();
	measure(clock_burst, BURSTS, false);
}

static void begin_emit(void)
{
	if (!pasta_agent_attach())
		bench_die("cannot attach the agent");
	name = pasta_intern_str("forward");
}

static void emit_paced(void)
{
	begin_emit();
	measure(emit_burst, BURSTS, true);
	result->events = (uint64_t)BURSTS * BURST;
}

static void emit_flat(void)
{
	begin_emit();
	measure(emit_burst, FLAT, false);
	result->events = (uint64_t)FLAT * BURST;
}

static int name_of(int domain, uint32_t id, const char **text)
{
	*text = domain == CUPTI_DRIVER_API && id == 1 ? "cuLaunchKernel" : NULL;
	return *text ? CUPTI_OK : -1;
}

static int subscribe(cupti_subscriber *s, cupti_callback call, void *user)
{
	(void)s, (void)user;
	callback = call;
	return CUPTI_OK;
}

static int enable(uint32_t on, cupti_subscriber s, int domain, uint32_t id)
{
	(void)on, (void)s, (void)domain, (void)id;
	return CUPTI_OK;
}

static void begin_launches(void)
{
	begin_emit();
	cupti.GetCallbackName = name_of;
	cupti.Subscribe = subscribe;
	cupti.EnableCallback = enable;
	if (cupti_callbacks_start() != CUPTI_OK)
		bench_die("no callbacks");
}

static void launch_paced(void)
{
	begin_launches();
	measure(launch_burst, BURSTS, true);
	result->events = (uint64_t)BURSTS * BURST;
}

static void launch_flat(void)
{
	begin_launches();
	measure(launch_burst, FLAT, false);
	result->events = (uint64_t)FLAT * BURST;
}

/* Attaches again, because the constructor ran before the run existed. */
static void attach(void)
{
	pasta_annotate_ops_ = (const struct pasta_annotate_ops *)1;
	pasta_annotate_attach_();
}

static void annotate_paced(void)
{
	attach();
	measure(annotate_burst, BURSTS, true);
	result->events = (uint64_t)BURSTS * BURST;
}

static void annotate_flat(void)
{
	attach();
	measure(annotate_burst, FLAT, false);
	result->events = (uint64_t)FLAT * BURST;
}

static void annotate_absent(void)
{
	measure(annotate_burst, FLAT, false);
}

static void *thread_main(void *arg)
{
	double turn = bench_now();

	(void)arg;
	for (int i = 0; i < SECONDS * 1000; i++) {
		emit_burst();
		pace(&turn);
	}
	return NULL;
}

static void emit_threads(void)
{
	pthread_t threads[THREADS];
	double begin;

	begin_emit();
	begin = bench_now();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_main, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	result->events = (uint64_t)THREADS * SECONDS * 1000 * BURST;
	result->ns = (bench_now() - begin) * 1e9 / (double)result->events;
}

/* -- In the parent -- */

/* Reads the loss counts of the run's shards. */
static void read_account(const char *folder, struct pasta_loss_summary *loss)
{
	char *shards = pasta_run_file(folder, PASTA_RUN_SHARDS), **paths;
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_recovered recovered = {0};
	struct pasta_error err = {0};
	size_t count;

	pasta_recover_sweep(shards, &recovered, &err);
	if (pasta_run_shards(shards, &paths, &count, &err))
		bench_die("%s", err.text);
	for (size_t i = 0; i < count; i++)
		if (pasta_stream_add(s, paths[i], &err))
			bench_die("%s", err.text);
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, loss);
	pasta_stream_free(s);
	pasta_run_shards_free(paths);
	free(shards);
}

/* Runs a measurement in a child process. Each emitted event must be captured or counted as dropped.
 * Returns the number of dropped events. */
static uint64_t run_child(void (*child)(void))
{
	struct pasta_loss_summary loss = {0};
	struct pasta_run run = {0};
	struct pasta_error err = {0};
	char path[5000];
	int status = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/run", bench_temp());
	if (pasta_run_create(&run, path, &err))
		bench_die("%s", err.text);
	*result = (struct result){0};
	pid = fork();
	if (!pid) {
		bench_folder[0] = '\0'; /* the parent removes it */
		setenv(PASTA_ENV_RUN, run.path, 1);
		setenv(PASTA_ENV_AGENT, bench_built("lib/libpasta-agent.so"), 1);
		child();
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		bench_die("a measurement failed (%d)", status);
	read_account(run.path, &loss);
	if (loss.expected != result->events)
		bench_die("%llu events were emitted, but %llu were captured or dropped",
			  (unsigned long long)result->events, (unsigned long long)loss.expected);
	pasta_run_free(&run);
	bench_remove(path);
	return loss.dropped;
}

static void figure(const char *what, void (*child)(void))
{
	uint64_t dropped = 0, events = 0;
	struct bench b = {0};

	for (int i = 0; i < RUNS; i++) {
		dropped += run_child(child);
		events += result->events;
		bench_add(&b, result->ns);
	}
	bench_report(&b, what, "ns");
	if (events)
		printf("  dropped %llu of %llu events (%.2f%%)\n", (unsigned long long)dropped,
		       (unsigned long long)events, 100.0 * (double)dropped / (double)events);
	fflush(stdout);
}

static void threads(void)
{
	for (int i = 0; i < 3; i++) {
		uint64_t dropped = run_child(emit_threads);

		printf("%d threads, a million events a second each, %d s: dropped %llu of %llu "
		       "(%.1f M events/s)\n",
		       THREADS, SECONDS, (unsigned long long)dropped,
		       (unsigned long long)result->events, 1e3 / result->ns);
		fflush(stdout);
	}
}

int main(void)
{
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (result == MAP_FAILED)
		bench_die("out of memory");
	figure("the clock alone", measure_clock);
	figure("pasta_emit with the clock, paced", emit_paced);
	figure("pasta_emit with the clock, flat out", emit_flat);
	figure("a CUDA launch, its two callbacks, paced", launch_paced);
	figure("a CUDA launch, its two callbacks, flat out", launch_flat);
	figure("region begin or end by annotate.h, paced", annotate_paced);
	figure("region begin or end by annotate.h, flat out", annotate_flat);
	figure("region begin or end by annotate.h, no agent", annotate_absent);
	threads();
	return 0;
}
