/* engine.c - runs the chosen tools over a run's events, on several threads. */
#include "process/run/engine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "process/join/directory.h"
#include "process/run/toolset.h"
#include "process/read/rawfile.h"
#include "process/join/symbols.h"

/* Maximum size of the decoded events of all threads together, in bytes. */
#define BUDGET ((size_t)256 << 20)
#define THREADS_MAX 64
#define CHECK_EVERY 50 /* ms */
/* size of the guard area below each stack; it is large, so that no stack frame extends past it */
#define GUARD (1 << 20)

/* The types of jobs. SHARD reads one shard. WHOLE reads the whole run in order of time. MERGED
 * merges the states of all shards and reports them. */
enum job_type { SHARD, WHOLE, MERGED };
_Static_assert(PASTA_CALL_SLOTS > THREADS_MAX + MERGED,
	       "PASTA_CALL_SLOTS must be enough for all threads and all jobs of the main thread");

struct job {
	enum job_type type;
	size_t shard; /* SIZE_MAX: all */
	struct pasta_toolset *toolset;
	bool read; /* whether all events of the job were read; protected by the engine's lock */
};

struct thread {
	struct engine *engine;
	/* The thread's first job. If NULL, the thread starts with the next shard that was not read
	 * yet. */
	struct job *job;
	size_t number; /* from 1 */
	pthread_t id;
	atomic_bool finished;
};

struct engine {
	const struct pasta_choice *choice;
	const struct pasta_engine_opts *opts;
	struct pasta_stream *stream;
	struct pasta_out *const *outs;
	struct job *jobs; /* one job for each shard, in the shards' order, then the other jobs */
	size_t job_count, shard_jobs, next_job;
	struct thread *threads;
	size_t thread_count; /* number of threads that were started */
	size_t budget;	     /* maximum size of each thread's decoded events, in bytes */
	bool split;	     /* whether each sharded tool has a separate state for each shard */
	pthread_mutex_t lock;
	pthread_cond_t was_read;
	sem_t bell; /* posted when a thread has finished */
	atomic_bool stop;
	int error;
};

/* -- Jobs, which run on the engine's threads. -- */

static void engine_fail(struct engine *engine, int error)
{
	pthread_mutex_lock(&engine->lock);
	engine->error = engine->error ? engine->error : error;
	pthread_mutex_unlock(&engine->lock);
	atomic_store(&engine->stop, true);
}

static bool engine_goes_on(void *ctx)
{
	return !atomic_load_explicit(&((struct engine *)ctx)->stop, memory_order_relaxed);
}

/* Marks the events of a job as read, adds the part's loss counts to the whole stream, and wakes the
 * thread that merges. `part` may be NULL. */
static void job_end_reading(struct engine *engine, struct job *job, struct pasta_stream *part)
{
	pthread_mutex_lock(&engine->lock);
	if (part)
		pasta_stream_join(engine->stream, part);
	job->read = true;
	pthread_cond_broadcast(&engine->was_read);
	pthread_mutex_unlock(&engine->lock);
}

static void job_read(struct engine *engine, struct job *job)
{
	bool silent = job->type == WHOLE && engine->split && engine->shard_jobs;
	struct pasta_stream *part = NULL;
	struct pasta_reader *reader = NULL;

	if (!atomic_load(&engine->stop)) {
		part = pasta_stream_part(engine->stream, job->shard, silent, engine->budget);
		if (part)
			reader = pasta_reader_new(part, pasta_toolset_kinds(job->toolset),
						  pasta_toolset_needs(job->toolset),
						  engine->opts->filter);
		if (!reader)
			engine_fail(engine, -ENOMEM);
	}
	if (reader) {
		pasta_reader_set_cancel(reader, engine_goes_on, engine);
		pasta_toolset_read(job->toolset, reader);
		if (pasta_reader_error(reader))
			engine_fail(engine, -ENOMEM);
	}
	job_end_reading(engine, job, part);
	pasta_reader_free(reader);
	pasta_stream_free(part);
}

static void job_wait(struct engine *engine, const struct job *job)
{
	pthread_mutex_lock(&engine->lock);
	while (!job->read)
		pthread_cond_wait(&engine->was_read, &engine->lock);
	pthread_mutex_unlock(&engine->lock);
}

/* Merges the states in the order of shards, so that results do not depend on the timing of threads.
 * */
static void job_merge(struct engine *engine, const struct job *merged, struct pasta_call_slot *slot)
{
	size_t i;

	for (i = 0; i < engine->shard_jobs; i++) {
		struct pasta_toolset *toolset = engine->jobs[i].toolset;

		job_wait(engine, &engine->jobs[i]);
		pasta_toolset_watch(toolset, slot);
		pasta_toolset_merge(merged->toolset, toolset);
		pasta_toolset_close(toolset);
	}
}

/* Runs a job. A SHARD job leaves its states open; the MERGED job closes them. */
static void job_run(struct engine *engine, struct job *job, struct pasta_call_slot *slot)
{
	pasta_toolset_watch(job->toolset, slot);
	pasta_toolset_open(job->toolset);
	if (job->type == MERGED)
		job_merge(engine, job, slot);
	else
		job_read(engine, job);
	if (job->type == SHARD)
		return;
	pasta_toolset_report(job->toolset);
	if (!engine->opts->reported)
		pasta_toolset_close(job->toolset);
}

static struct job *engine_next_job(struct engine *engine)
{
	struct job *job = NULL;

	pthread_mutex_lock(&engine->lock);
	if (engine->next_job < engine->shard_jobs)
		job = &engine->jobs[engine->next_job++];
	pthread_mutex_unlock(&engine->lock);
	return job;
}

/* Marks the remaining jobs as read when there is no thread left to run them, so that the MERGED job
 * ends. */
static void engine_abandon(struct engine *engine)
{
	struct job *job;

	while ((job = engine_next_job(engine)))
		job_end_reading(engine, job, NULL);
}

static void *engine_work(void *arg)
{
	struct thread *t = arg;
	struct pasta_call_slot *slot = pasta_calls_thread(t->engine->opts->calls, t->number);
	struct job *job;

	for (job = t->job ? t->job : engine_next_job(t->engine); job;
	     job = engine_next_job(t->engine))
		job_run(t->engine, job, slot);
	atomic_store(&t->finished, true);
	sem_post(&t->engine->bell);
	return NULL;
}

/* -- Functions that run on the caller's thread. This thread starts the other threads, and handles
 * all signals except faults. -- */

static int engine_start(struct engine *engine, struct job *job)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	struct thread *t = &engine->threads[engine->thread_count];
	sigset_t all, before;
	pthread_attr_t attr;
	size_t i;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setguardsize(&attr, GUARD);
	*t = (struct thread){.engine = engine, .job = job, .number = engine->thread_count + 1};
	sigfillset(&all);
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&t->id, &attr, engine_work, t);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	engine->thread_count += !error;
	return -error;
}

static bool engine_finished(const struct engine *engine)
{
	size_t i;

	for (i = 0; i < engine->thread_count; i++)
		if (!atomic_load(&engine->threads[i].finished))
			return false;
	return true;
}

/* Waits for all threads. Returns whether go_on requested a stop. */
static bool engine_watch(struct engine *engine)
{
	bool stopped = false;
	struct timespec until;

	while (!engine_finished(engine)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += CHECK_EVERY * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		sem_timedwait(&engine->bell, &until);
		/* Call go_on even after an interrupt, because isolate.c checks its workers in
		 * go_on. */
		if (engine->opts->go_on && !engine->opts->go_on(engine->opts->ctx)) {
			atomic_store(&engine->stop, true);
			stopped = true;
		}
	}
	return stopped;
}

/* -- Set-up and cleanup. -- */

size_t pasta_engine_threads(size_t threads)
{
	cpu_set_t set;

	if (!threads)
		threads = sched_getaffinity(0, sizeof(set), &set) ? 1 : (size_t)CPU_COUNT(&set);
	return threads < THREADS_MAX ? threads : THREADS_MAX;
}

static int engine_add_job(struct engine *engine, enum job_type type, size_t shard,
			  enum pasta_toolset_select select)
{
	struct job *job = &engine->jobs[engine->job_count];

	*job = (struct job){.type = type, .shard = shard};
	job->toolset = pasta_toolset_new(engine->choice, engine->outs, select);
	if (!job->toolset)
		return -ENOMEM;
	engine->job_count++;
	engine->shard_jobs += type == SHARD;
	return 0;
}

static size_t engine_count_sharded(const struct pasta_choice *choice)
{
	size_t i, n = 0;

	for (i = 0; i < choice->count; i++)
		n += pasta_tool_is_sharded(choice->tools[i].tool);
	return n;
}

/* Returns the number of shards that are not excluded from the report. */
static size_t engine_count_shards(const struct pasta_stream *s)
{
	size_t i, n = 0;

	for (i = 0; i < pasta_stream_shards(s); i++)
		n += !pasta_stream_excluded(s, i);
	return n;
}

static int engine_plan(struct engine *engine, size_t threads)
{
	size_t i, sharded = engine_count_sharded(engine->choice),
		  shards = pasta_stream_shards(engine->stream);
	int error = 0;

	/* Reading shard by shard is faster even with one thread, because the events of different
	 * shards need not be sorted by time. */
	engine->split = sharded && engine_count_shards(engine->stream) > 1 &&
			(threads > 1 || sharded == engine->choice->count);
	engine->jobs = calloc(shards + 2, sizeof(*engine->jobs));
	if (!engine->jobs)
		return -ENOMEM;
	if (!engine->split)
		return engine_add_job(engine, WHOLE, SIZE_MAX, PASTA_TOOLSET_ALL);
	for (i = 0; i < shards && !error; i++)
		if (!pasta_stream_excluded(engine->stream, i))
			error = engine_add_job(engine, SHARD, i, PASTA_TOOLSET_SHARDED);
	if (!error)
		error = engine_add_job(engine, MERGED, SIZE_MAX, PASTA_TOOLSET_SHARDED);
	if (!error && sharded < engine->choice->count)
		error = engine_add_job(engine, WHOLE, SIZE_MAX, PASTA_TOOLSET_WHOLE);
	return error;
}

/* Starts all threads. The MERGED job and the WHOLE job have their own threads, because MERGED
 * mostly waits, and WHOLE takes the longest. */
static int engine_start_all(struct engine *engine, size_t threads)
{
	size_t i, own = engine->job_count - engine->shard_jobs;
	int error = 0;

	engine->threads = calloc(threads + own, sizeof(*engine->threads));
	if (!engine->threads)
		return -ENOMEM;
	for (i = 0; i < own && !error; i++)
		error = engine_start(engine, &engine->jobs[engine->shard_jobs + i]);
	/* `threads` includes the thread that runs the WHOLE job. */
	if (own > 1 && threads > 1)
		threads--;
	threads = threads < engine->shard_jobs ? threads : engine->shard_jobs;
	for (i = 0; i < threads && !error; i++)
		error = engine_start(engine, NULL);
	return error;
}

/* Closes the tools that are still open, and frees the engine. */
static void engine_clear(struct engine *engine)
{
	struct pasta_call_slot *slot = engine->opts->calls ? engine->opts->calls->slots : NULL;
	size_t i;

	for (i = 0; i < engine->job_count; i++) {
		pasta_toolset_watch(engine->jobs[i].toolset, slot);
		pasta_toolset_free(engine->jobs[i].toolset);
	}
	free(engine->jobs);
	free(engine->threads);
	sem_destroy(&engine->bell);
	pthread_cond_destroy(&engine->was_read);
	pthread_mutex_destroy(&engine->lock);
}

int pasta_engine_outs(const struct pasta_choice *choice, struct pasta_result *result,
		      const struct pasta_engine_opts *opts)
{
	size_t i;

	for (i = 0; i < choice->count; i++) {
		const struct pasta_tool *tool = choice->tools[i].tool;
		struct pasta_out *out = pasta_result_out(result, tool->name);
		struct pasta_error err = {0};
		int error;

		if (!out)
			return -ENOMEM;
		error = opts->check ? opts->check(tool, &err, opts->ctx) : 0;
		if (error)
			pasta_out_fail(out, error, "%s", err.text);
	}
	return 0;
}

static int engine_run(struct engine *engine, size_t threads)
{
	bool stopped;
	size_t i;

	engine->error = engine_start_all(engine, threads);
	if (engine->error) {
		atomic_store(&engine->stop, true);
		engine_abandon(engine);
	}
	stopped = engine_watch(engine);
	for (i = 0; i < engine->thread_count; i++)
		pthread_join(engine->threads[i].id, NULL);
	for (i = 0; i < engine->choice->count; i++)
		pasta_out_end(engine->outs[i]);
	if (!engine->error && engine->opts->reported)
		engine->opts->reported(engine->opts->ctx);
	return engine->error ? engine->error : stopped ? -EINTR : 0;
}

int pasta_engine_run_into(const struct pasta_choice *choice, struct pasta_stream *s,
			  struct pasta_out *const *outs, const struct pasta_engine_opts *opts)
{
	struct engine engine = {.choice = choice, .opts = opts, .stream = s, .outs = outs};
	size_t threads = pasta_engine_threads(opts->threads);
	int error;

	pthread_mutex_init(&engine.lock, NULL);
	pthread_cond_init(&engine.was_read, NULL);
	sem_init(&engine.bell, 0, 0);
	pasta_symbols_reset();
	error = pasta_rawfile_reset(s);
	if (!error)
		error = pasta_directory_fill(s);
	if (!error)
		error = engine_plan(&engine, threads);
	engine.budget = BUDGET / (engine.split ? threads : 1);
	if (!error)
		error = engine_run(&engine, threads);
	engine_clear(&engine);
	return error;
}

int pasta_engine_run(const struct pasta_choice *choice, struct pasta_stream *s,
		     struct pasta_result *result, const struct pasta_engine_opts *opts)
{
	size_t first = result->count;
	int error = pasta_engine_outs(choice, result, opts);

	return error ? error : pasta_engine_run_into(choice, s, result->outs + first, opts);
}
