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
	struct pasta_lane *lane;
	bool read; /* to the end or the interrupt; under lock */
};

struct thread {
	struct crew *crew;
	struct job *job; /* its first; NULL: a shard's */
	size_t number;	 /* from 1 */
	pthread_t id;
	atomic_bool finished;
};

struct crew {
	const struct pasta_choice *choice;
	const struct pasta_crew_opts *opts;
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

static void crew_fail(struct crew *crew, int error)
{
	pthread_mutex_lock(&crew->lock);
	crew->error = crew->error ? crew->error : error;
	pthread_mutex_unlock(&crew->lock);
	atomic_store(&crew->stop, true);
}

static bool go_on(void *ctx)
{
	return !atomic_load_explicit(&((struct crew *)ctx)->stop, memory_order_relaxed);
}

/* Decoded events go as soon as they are read; places live on. */
static void job_end_reading(struct crew *crew, struct job *job, struct pasta_stream *part)
{
	pthread_mutex_lock(&crew->lock);
	if (part)
		pasta_stream_join(crew->stream, part);
	job->read = true;
	pthread_cond_broadcast(&crew->was_read);
	pthread_mutex_unlock(&crew->lock);
}

static void job_read(struct crew *crew, struct job *job)
{
	bool silent = job->sort == WHOLE && crew->split && crew->shard_jobs;
	struct pasta_stream *part = NULL;
	struct pasta_feed *feed = NULL;

	if (!atomic_load(&crew->stop)) {
		part = pasta_stream_part(crew->stream, job->shard, silent, crew->budget);
		if (part)
			feed = pasta_feed_new(part, pasta_lane_kinds(job->lane),
					      pasta_lane_needs(job->lane), crew->opts->filter);
		if (!feed)
			crew_fail(crew, -ENOMEM);
	}
	if (feed) {
		pasta_feed_ask(feed, go_on, crew);
		pasta_lane_read(job->lane, feed);
		if (pasta_feed_error(feed))
			crew_fail(crew, -ENOMEM);
	}
	job_end_reading(crew, job, part);
	pasta_feed_free(feed);
	pasta_stream_free(part);
}

static void wait_for(struct crew *crew, const struct job *job)
{
	pthread_mutex_lock(&crew->lock);
	while (!job->read)
		pthread_cond_wait(&crew->was_read, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

/* The states of shards, in their order: results must not depend on who is first. */
static void job_merge(struct crew *crew, const struct job *home, struct pasta_call_slot *slot)
{
	size_t i;

	for (i = 0; i < crew->shard_jobs; i++) {
		struct pasta_lane *lane = crew->jobs[i].lane;

		wait_for(crew, &crew->jobs[i]);
		pasta_lane_watch(lane, slot);
		pasta_lane_merge(home->lane, lane);
		pasta_lane_close(lane);
	}
}

/* A shard's states stay as they are, until they are merged. */
static void job_run(struct crew *crew, struct job *job, struct pasta_call_slot *slot)
{
	pasta_lane_watch(job->lane, slot);
	pasta_lane_open(job->lane);
	if (job->sort == HOME)
		job_merge(crew, job, slot);
	else
		job_read(crew, job);
	if (job->sort == SHARD)
		return;
	pasta_lane_report(job->lane);
	if (!crew->opts->reported)
		pasta_lane_close(job->lane);
}

static struct job *next_job(struct crew *crew)
{
	struct job *job = NULL;

	pthread_mutex_lock(&crew->lock);
	if (crew->next_job < crew->shard_jobs)
		job = &crew->jobs[crew->next_job++];
	pthread_mutex_unlock(&crew->lock);
	return job;
}

/* There is no thread for what is left to do: who waits for it, waits no longer. */
static void abandon(struct crew *crew)
{
	struct job *job;

	while ((job = next_job(crew)))
		job_end_reading(crew, job, NULL);
}

static void *work(void *arg)
{
	struct thread *t = arg;
	struct pasta_call_slot *slot = pasta_calls_thread(t->crew->opts->calls, t->number);
	struct job *job;

	for (job = t->job ? t->job : next_job(t->crew); job; job = next_job(t->crew))
		job_run(t->crew, job, slot);
	atomic_store(&t->finished, true);
	sem_post(&t->crew->bell);
	return NULL;
}

/* -- The watch, on the caller's thread, whose signals stay its own. -- */

static int start(struct crew *crew, struct job *job)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	struct thread *t = &crew->threads[crew->thread_count];
	sigset_t all, before;
	pthread_attr_t attr;
	size_t i;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setguardsize(&attr, GUARD);
	*t = (struct thread){.crew = crew, .job = job, .number = crew->thread_count + 1};
	sigfillset(&all);
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&t->id, &attr, work, t);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	crew->thread_count += !error;
	return -error;
}

static bool all_finished(const struct crew *crew)
{
	size_t i;

	for (i = 0; i < crew->thread_count; i++)
		if (!atomic_load(&crew->threads[i].finished))
			return false;
	return true;
}

/* Returns whether it was interrupted. */
static bool watch(struct crew *crew)
{
	bool stopped = false;
	struct timespec until;

	while (!all_finished(crew)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_EVERY * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		sem_timedwait(&crew->bell, &until);
		/* Asked after an interrupt, too: there may be others who want to be looked after.
		 */
		if (crew->opts->go_on && !crew->opts->go_on(crew->opts->ctx)) {
			atomic_store(&crew->stop, true);
			stopped = true;
		}
	}
	return stopped;
}

/* -- Setting up, and clearing away. -- */

size_t pasta_crew_threads(size_t threads)
{
	cpu_set_t set;

	if (!threads)
		threads = sched_getaffinity(0, sizeof(set), &set) ? 1 : (size_t)CPU_COUNT(&set);
	return threads < THREADS_MAX ? threads : THREADS_MAX;
}

static int add_job(struct crew *crew, enum sort sort, size_t shard, enum pasta_lane_who who)
{
	struct job *job = &crew->jobs[crew->job_count];

	*job = (struct job){.sort = sort, .shard = shard};
	job->lane = pasta_lane_new(crew->choice, crew->outs, who);
	if (!job->lane)
		return -ENOMEM;
	crew->job_count++;
	crew->shard_jobs += sort == SHARD;
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
		n += !pasta_stream_left_out(s, i);
	return n;
}

static int plan(struct crew *crew, size_t threads)
{
	size_t i, merging = count_merging(crew->choice), shards = pasta_stream_shards(crew->stream);
	int error = 0;

	/* With one thread, too: shards one after the other need not be put in one order. */
	crew->split = merging && read_shards(crew->stream) > 1 &&
		      (threads > 1 || merging == crew->choice->count);
	crew->jobs = calloc(shards + 2, sizeof(*crew->jobs));
	if (!crew->jobs)
		return -ENOMEM;
	if (!crew->split)
		return add_job(crew, WHOLE, SIZE_MAX, PASTA_LANE_ALL);
	for (i = 0; i < shards && !error; i++)
		if (!pasta_stream_left_out(crew->stream, i))
			error = add_job(crew, SHARD, i, PASTA_LANE_MERGING);
	if (!error)
		error = add_job(crew, HOME, SIZE_MAX, PASTA_LANE_MERGING);
	if (!error && merging < crew->choice->count)
		error = add_job(crew, WHOLE, SIZE_MAX, PASTA_LANE_WHOLE);
	return error;
}

/* HOME and WHOLE have threads of their own: the one mostly waits, the other lasts longest. */
static int start_all(struct crew *crew, size_t threads)
{
	size_t i, own = crew->job_count - crew->shard_jobs;
	int error = 0;

	crew->threads = calloc(threads + own, sizeof(*crew->threads));
	if (!crew->threads)
		return -ENOMEM;
	for (i = 0; i < own && !error; i++)
		error = start(crew, &crew->jobs[crew->shard_jobs + i]);
	if (own > 1 && threads > 1)
		threads--; /* WHOLE's thread is one of them */
	threads = threads < crew->shard_jobs ? threads : crew->shard_jobs;
	for (i = 0; i < threads && !error; i++)
		error = start(crew, NULL);
	return error;
}

/* What is still open is closed on this thread. */
static void crew_clear(struct crew *crew)
{
	struct pasta_call_slot *slot = crew->opts->calls ? crew->opts->calls->slots : NULL;
	size_t i;

	for (i = 0; i < crew->job_count; i++) {
		pasta_lane_watch(crew->jobs[i].lane, slot);
		pasta_lane_free(crew->jobs[i].lane);
	}
	free(crew->jobs);
	free(crew->threads);
	sem_destroy(&crew->bell);
	pthread_cond_destroy(&crew->was_read);
	pthread_mutex_destroy(&crew->lock);
}

int pasta_crew_outs(const struct pasta_choice *choice, struct pasta_result *result,
		    const struct pasta_crew_opts *opts)
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

static int run(struct crew *crew, size_t threads)
{
	bool stopped;
	size_t i;

	crew->error = start_all(crew, threads);
	if (crew->error) {
		atomic_store(&crew->stop, true);
		abandon(crew);
	}
	stopped = watch(crew);
	for (i = 0; i < crew->thread_count; i++)
		pthread_join(crew->threads[i].id, NULL);
	for (i = 0; i < crew->choice->count; i++)
		pasta_out_end(crew->outs[i]);
	if (!crew->error && crew->opts->reported)
		crew->opts->reported(crew->opts->ctx);
	return crew->error ? crew->error : stopped ? -EINTR : 0;
}

int pasta_crew_run_into(const struct pasta_choice *choice, struct pasta_stream *s,
			struct pasta_out *const *outs, const struct pasta_crew_opts *opts)
{
	struct crew crew = {.choice = choice, .opts = opts, .stream = s, .outs = outs};
	size_t threads = pasta_crew_threads(opts->threads);
	int error;

	pthread_mutex_init(&crew.lock, NULL);
	pthread_cond_init(&crew.was_read, NULL);
	sem_init(&crew.bell, 0, 0);
	pasta_symbols_reset();
	error = pasta_rawfile_reset(s);
	if (!error)
		error = pasta_directory_fill(s);
	if (!error)
		error = plan(&crew, threads);
	crew.budget = BUDGET / (crew.split ? threads : 1);
	if (!error)
		error = run(&crew, threads);
	crew_clear(&crew);
	return error;
}

int pasta_crew_run(const struct pasta_choice *choice, struct pasta_stream *s,
		   struct pasta_result *result, const struct pasta_crew_opts *opts)
{
	size_t first = result->count;
	int error = pasta_crew_outs(choice, result, opts);

	return error ? error : pasta_crew_run_into(choice, s, result->outs + first, opts);
}
