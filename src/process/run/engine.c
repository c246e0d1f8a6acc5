/* engine.c - the chosen tools, run over a run's events on several threads. */
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

#define BUDGET ((size_t)256 << 20) /* bytes of decoded events, of all threads */
#define THREADS_MAX 64
#define LOOK_EVERY 50 /* ms */
#define GUARD                                                                                      \
	(1 << 20) /* below a stack: a tool that overflows it must not reach what is behind         \
		   */

enum sort { SHARD, WHOLE, HOME };
_Static_assert(PASTA_CALL_SLOTS > THREADS_MAX + HOME,
	       "a slot for each thread, and for the caller's");

struct job {
	enum sort sort;
	size_t shard; /* SIZE_MAX: all */
	struct pasta_toolset *toolset;
	bool read; /* to the end or the interrupt; under lock */
};

struct thread {
	struct engine *engine;
	struct job *job; /* its first; NULL: a shard's */
	size_t number;	 /* from 1 */
	pthread_t id;
	atomic_bool finished;
};

struct engine {
	const struct pasta_choice *choice;
	const struct pasta_engine_opts *opts;
	struct pasta_stream *stream;
	struct pasta_out *const *outs;
	struct job *jobs; /* those of shards first, in order */
	size_t job_count, shard_jobs, next_job;
	struct thread *threads;
	size_t thread_count; /* that were started */
	size_t budget;	     /* of a thread */
	bool split;	     /* a state a shard */
	pthread_mutex_t lock;
	pthread_cond_t was_read;
	sem_t bell; /* a thread has finished */
	atomic_bool stop;
	int error;
};

/* -- What threads do. -- */

static void engine_fail(struct engine *engine, int error)
{
	pthread_mutex_lock(&engine->lock);
	engine->error = engine->error ? engine->error : error;
	pthread_mutex_unlock(&engine->lock);
	atomic_store(&engine->stop, true);
}

static bool go_on(void *ctx)
{
	return !atomic_load_explicit(&((struct engine *)ctx)->stop, memory_order_relaxed);
}

/* Decoded events go as soon as they are read; places live on. */
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
	bool silent = job->sort == WHOLE && engine->split && engine->shard_jobs;
	struct pasta_stream *part = NULL;
	struct pasta_reader *reader = NULL;

	if (!atomic_load(&engine->stop)) {
		part = pasta_stream_part(engine->stream, job->shard, silent, engine->budget);
		if (part)
			reader = pasta_reader_new(part, pasta_toolset_kinds(job->toolset),
					      pasta_toolset_needs(job->toolset), engine->opts->filter);
		if (!reader)
			engine_fail(engine, -ENOMEM);
	}
	if (reader) {
		pasta_reader_set_cancel(reader, go_on, engine);
		pasta_toolset_read(job->toolset, reader);
		if (pasta_reader_error(reader))
			engine_fail(engine, -ENOMEM);
	}
	job_end_reading(engine, job, part);
	pasta_reader_free(reader);
	pasta_stream_free(part);
}

static void wait_for(struct engine *engine, const struct job *job)
{
	pthread_mutex_lock(&engine->lock);
	while (!job->read)
		pthread_cond_wait(&engine->was_read, &engine->lock);
	pthread_mutex_unlock(&engine->lock);
}

/* The states of shards, in their order: results must not depend on who is first. */
static void job_merge(struct engine *engine, const struct job *home, struct pasta_call_slot *slot)
{
	size_t i;

	for (i = 0; i < engine->shard_jobs; i++) {
		struct pasta_toolset *toolset = engine->jobs[i].toolset;

		wait_for(engine, &engine->jobs[i]);
		pasta_toolset_watch(toolset, slot);
		pasta_toolset_merge(home->toolset, toolset);
		pasta_toolset_close(toolset);
	}
}

/* A shard's states stay as they are, until they are merged. */
static void job_run(struct engine *engine, struct job *job, struct pasta_call_slot *slot)
{
	pasta_toolset_watch(job->toolset, slot);
	pasta_toolset_open(job->toolset);
	if (job->sort == HOME)
		job_merge(engine, job, slot);
	else
		job_read(engine, job);
	if (job->sort == SHARD)
		return;
	pasta_toolset_report(job->toolset);
	if (!engine->opts->reported)
		pasta_toolset_close(job->toolset);
}

static struct job *next_job(struct engine *engine)
{
	struct job *job = NULL;

	pthread_mutex_lock(&engine->lock);
	if (engine->next_job < engine->shard_jobs)
		job = &engine->jobs[engine->next_job++];
	pthread_mutex_unlock(&engine->lock);
	return job;
}

/* There is no thread for what is left to do: who waits for it, waits no longer. */
static void abandon(struct engine *engine)
{
	struct job *job;

	while ((job = next_job(engine)))
		job_end_reading(engine, job, NULL);
}

static void *work(void *arg)
{
	struct thread *t = arg;
	struct pasta_call_slot *slot = pasta_calls_thread(t->engine->opts->calls, t->number);
	struct job *job;

	for (job = t->job ? t->job : next_job(t->engine); job; job = next_job(t->engine))
		job_run(t->engine, job, slot);
	atomic_store(&t->finished, true);
	sem_post(&t->engine->bell);
	return NULL;
}

/* -- The watch, on the caller's thread, whose signals stay its own. -- */

static int start(struct engine *engine, struct job *job)
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
	error = pthread_create(&t->id, &attr, work, t);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	engine->thread_count += !error;
	return -error;
}

static bool all_finished(const struct engine *engine)
{
	size_t i;

	for (i = 0; i < engine->thread_count; i++)
		if (!atomic_load(&engine->threads[i].finished))
			return false;
	return true;
}

/* Returns whether it was interrupted. */
static bool watch(struct engine *engine)
{
	bool stopped = false;
	struct timespec until;

	while (!all_finished(engine)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_EVERY * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		sem_timedwait(&engine->bell, &until);
		/* Asked after an interrupt, too: there may be others who want to be looked after.
		 */
		if (engine->opts->go_on && !engine->opts->go_on(engine->opts->ctx)) {
			atomic_store(&engine->stop, true);
			stopped = true;
		}
	}
	return stopped;
}

/* -- Setting up, and clearing away. -- */

size_t pasta_engine_threads(size_t threads)
{
	cpu_set_t set;

	if (!threads)
		threads = sched_getaffinity(0, sizeof(set), &set) ? 1 : (size_t)CPU_COUNT(&set);
	return threads < THREADS_MAX ? threads : THREADS_MAX;
}

static int add_job(struct engine *engine, enum sort sort, size_t shard, enum pasta_toolset_select who)
{
	struct job *job = &engine->jobs[engine->job_count];

	*job = (struct job){.sort = sort, .shard = shard};
	job->toolset = pasta_toolset_new(engine->choice, engine->outs, who);
	if (!job->toolset)
		return -ENOMEM;
	engine->job_count++;
	engine->shard_jobs += sort == SHARD;
	return 0;
}

static size_t count_merging(const struct pasta_choice *choice)
{
	size_t i, n = 0;

	for (i = 0; i < choice->count; i++)
		n += pasta_tool_is_sharded(choice->tools[i].tool);
	return n;
}

/* Shards that are of the report. */
static size_t read_shards(const struct pasta_stream *s)
{
	size_t i, n = 0;

	for (i = 0; i < pasta_stream_shards(s); i++)
		n += !pasta_stream_excluded(s, i);
	return n;
}

static int plan(struct engine *engine, size_t threads)
{
	size_t i, merging = count_merging(engine->choice), shards = pasta_stream_shards(engine->stream);
	int error = 0;

	/* With one thread, too: shards one after the other need not be put in one order. */
	engine->split = merging && read_shards(engine->stream) > 1 &&
		      (threads > 1 || merging == engine->choice->count);
	engine->jobs = calloc(shards + 2, sizeof(*engine->jobs));
	if (!engine->jobs)
		return -ENOMEM;
	if (!engine->split)
		return add_job(engine, WHOLE, SIZE_MAX, PASTA_TOOLSET_ALL);
	for (i = 0; i < shards && !error; i++)
		if (!pasta_stream_excluded(engine->stream, i))
			error = add_job(engine, SHARD, i, PASTA_TOOLSET_MERGING);
	if (!error)
		error = add_job(engine, HOME, SIZE_MAX, PASTA_TOOLSET_MERGING);
	if (!error && merging < engine->choice->count)
		error = add_job(engine, WHOLE, SIZE_MAX, PASTA_TOOLSET_WHOLE);
	return error;
}

/* HOME and WHOLE have threads of their own: the one mostly waits, the other lasts longest. */
static int start_all(struct engine *engine, size_t threads)
{
	size_t i, own = engine->job_count - engine->shard_jobs;
	int error = 0;

	engine->threads = calloc(threads + own, sizeof(*engine->threads));
	if (!engine->threads)
		return -ENOMEM;
	for (i = 0; i < own && !error; i++)
		error = start(engine, &engine->jobs[engine->shard_jobs + i]);
	if (own > 1 && threads > 1)
		threads--; /* WHOLE's thread is one of them */
	threads = threads < engine->shard_jobs ? threads : engine->shard_jobs;
	for (i = 0; i < threads && !error; i++)
		error = start(engine, NULL);
	return error;
}

/* What is still open is closed on this thread. */
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

static int run(struct engine *engine, size_t threads)
{
	bool stopped;
	size_t i;

	engine->error = start_all(engine, threads);
	if (engine->error) {
		atomic_store(&engine->stop, true);
		abandon(engine);
	}
	stopped = watch(engine);
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
		error = plan(&engine, threads);
	engine.budget = BUDGET / (engine.split ? threads : 1);
	if (!error)
		error = run(&engine, threads);
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
