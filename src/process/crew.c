/* crew.c - the chosen tools, run over a run's events on worker threads, and watched. */
#include "process/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/directory.h"
#include "process/lane.h"
#include "process/rawfile.h"
#include "process/symbols.h"

#define BUDGET ((size_t)256 << 20) /* bytes of decoded events, of all threads */
#define THREADS_MAX 64
#define LOOK_EVERY 50	 /* ms */
#define PATIENCE 3000	 /* ms that a call may last after an interrupt */
#define REMARKABLE 10000 /* ms of one call, after which a person is told */
#define STANDSTILL 15000 /* ms in which nothing moves, after a tool was lost */
#define ALTSTACK (64 << 10)
#define GUARD (1 << 20) /* bytes below a stack: a tool that overflows it must not step over it */

/* Nobody else's: SIGRTMIN and the next are the C library's. */
#define BREAK (SIGRTMIN + 5)

/* What a thread does, from first to last. All of it can be taken over by another thread. */
enum step { OPEN, READ, MERGE, REPORT, CLOSE, DONE };

enum sort { SHARD, WHOLE, HOME };

struct job {
	enum sort sort;
	enum step step;
	size_t shard; /* SIZE_MAX: all */
	struct pasta_lane *lane;
	struct pasta_stream *part;
	struct pasta_feed *feed;
	size_t merged; /* jobs of shards */
	bool added;    /* its states are in HOME's */
	bool read;     /* to the end or the interrupt; under lock */
};

struct worker {
	struct crew *crew;
	_Atomic(struct job *) job;
	_Atomic(struct pasta_lane *) lane; /* where it calls tools */
	pthread_t thread;
	void *stack; /* for signals */
	bool started, joined;
	atomic_int parked; /* the signal after which it stays where it is; 0: none */
	atomic_bool finished;
	uint64_t broken_call; /* the call that BREAK is for */
	/* The watch's own notes. */
	uint64_t calls;
	int64_t since;
	bool told;
};

struct crew {
	const struct pasta_choice *choice;
	const struct pasta_crew_opts *opts;
	struct pasta_stream *stream;
	struct pasta_out **outs;
	struct job *jobs; /* those of shards first, in order */
	size_t job_count, shard_jobs, next_job;
	struct worker *workers;
	size_t worker_count, worker_room;
	size_t budget; /* of a thread */
	bool split;    /* a state a shard */
	pthread_mutex_t lock;
	pthread_cond_t was_read;
	sem_t bell;	/* something has happened */
	uint64_t moves; /* calls and bytes, and when they were last seen to be more */
	int64_t moved;
	bool stuck;
	atomic_bool stop;
	int error;
};

static __thread struct worker *self;

/*
 * A tool was lost, and its thread with all that it had locked: memory that it allocated may never
 * be freed, in glibc a lock is needed for that. From then on nothing is freed, and no tool is
 * closed.
 */
static atomic_bool lost;

bool pasta_crew_lost(void)
{
	return atomic_load(&lost);
}

/* -- What threads do. -- */

static bool job_start(struct crew *crew, struct job *job)
{
	bool silent = job->sort == WHOLE && crew->split && crew->shard_jobs;

	if (job->sort == HOME)
		return true;
	if (!job->part)
		job->part = pasta_stream_part(crew->stream, job->shard, silent, crew->budget);
	if (job->part && !job->feed)
		job->feed = pasta_feed_new(job->part, pasta_lane_kinds(job->lane),
					   pasta_lane_needs(job->lane), crew->opts->filter);
	return job->feed;
}

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

static void job_read(struct crew *crew, struct job *job)
{
	if (job->sort == HOME || (!job->feed && atomic_load(&crew->stop)))
		return;
	if (!job_start(crew, job)) {
		crew_fail(crew, -ENOMEM);
		return;
	}
	pasta_feed_ask(job->feed, go_on, crew);
	pasta_lane_read(job->lane, job->feed);
	if (pasta_feed_error(job->feed))
		crew_fail(crew, -ENOMEM);
}

/* Decoded events go as soon as they are read; places live on. */
static void job_end_reading(struct crew *crew, struct job *job)
{
	pthread_mutex_lock(&crew->lock);
	if (job->part && !job->read)
		pasta_stream_join(crew->stream, job->part);
	job->read = true;
	pthread_cond_broadcast(&crew->was_read);
	pthread_mutex_unlock(&crew->lock);
	if (atomic_load(&lost))
		return;
	pasta_feed_free(job->feed);
	pasta_stream_free(job->part);
	job->feed = NULL;
	job->part = NULL;
}

static void wait_for(struct crew *crew, const struct job *job)
{
	pthread_mutex_lock(&crew->lock);
	while (!job->read)
		pthread_cond_wait(&crew->was_read, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

static void job_close(struct job *job)
{
	if (!atomic_load(&lost))
		pasta_lane_close(job->lane);
}

/* The states of shards, in their order: results must not depend on who is first. */
static void job_merge(struct crew *crew, struct job *home)
{
	if (home->sort != HOME)
		return;
	while (home->merged < crew->shard_jobs) {
		struct job *job = &crew->jobs[home->merged];

		wait_for(crew, job);
		if (!job->added)
			pasta_lane_merge(home->lane, job->lane);
		job->added = true;
		atomic_store(&self->lane, job->lane);
		job_close(job);
		atomic_store(&self->lane, home->lane);
		home->merged++;
	}
}

static void job_run(struct crew *crew, struct job *job)
{
	for (; job->step < DONE; job->step++) {
		if (job->step == OPEN)
			pasta_lane_open(job->lane);
		else if (job->step == READ)
			job_read(crew, job);
		else if (job->step == MERGE)
			job_merge(crew, job);
		else if (job->step == REPORT)
			pasta_lane_report(job->lane);
		else
			job_close(job);
		if (job->step == READ)
			job_end_reading(crew, job);
		/* A shard's states stay as they are, until they are merged. */
		if (job->step == READ && job->sort == SHARD)
			break;
	}
	job->step = DONE;
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
		job_end_reading(crew, job);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	stack_t stack = {.ss_sp = w->stack, .ss_size = ALTSTACK};
	struct job *job = atomic_load(&w->job);

	self = w;
	sigaltstack(&stack, NULL);
	for (job = job ? job : next_job(w->crew); job; job = next_job(w->crew)) {
		atomic_store(&w->lane, job->lane);
		atomic_store(&w->job, job);
		job_run(w->crew, job);
		atomic_store(&w->lane, NULL);
	}
	stack = (stack_t){.ss_flags = SS_DISABLE};
	sigaltstack(&stack, NULL);
	atomic_store(&w->finished, true);
	sem_post(&w->crew->bell);
	return NULL;
}

/* -- Calls that do not come back. -- */

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FAULTS (sizeof(faults) / sizeof(*faults))

/*
 * On the thread that crashed or is to be broken off. If it is in a tool, it stays here for ever: it
 * may be anywhere in that tool, with any lock, so that nothing but leaving it alone is safe.
 */
static void on_signal(int sig)
{
	struct pasta_lane_call call = {0};
	int before = errno;

	if (self && atomic_load(&self->lane))
		call = pasta_lane_call(atomic_load(&self->lane));
	if (call.seat && (sig != BREAK || call.calls == self->broken_call)) {
		atomic_store(&self->parked, sig);
		sem_post(&self->crew->bell);
		for (;;)
			pause();
	}
	errno = before;
	if (sig == BREAK)
		return;
	/* Our own fault: it happens again, and is not caught. */
	signal(sig, SIG_DFL);
	if (sig == SIGABRT)
		raise(sig);
}

static void catch_signals(struct sigaction *before)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	size_t i;

	for (i = 0; i < FAULTS; i++)
		sigaction(faults[i], &action, &before[i]);
	sigaction(BREAK, &action, &before[FAULTS]);
}

static void restore_signals(const struct sigaction *before)
{
	size_t i;

	for (i = 0; i < FAULTS; i++)
		sigaction(faults[i], &before[i], NULL);
	sigaction(BREAK, &before[FAULTS], NULL);
}

/* Threads get faults and BREAK; all else is the caller's thread's. */
static int start(struct worker *w)
{
	sigset_t all, before;
	pthread_attr_t attr;
	size_t i;
	int error;

	w->stack = malloc(ALTSTACK);
	if (!w->stack)
		return -ENOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setguardsize(&attr, GUARD);
	sigfillset(&all);
	for (i = 0; i < FAULTS; i++)
		sigdelset(&all, faults[i]);
	sigdelset(&all, BREAK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&w->thread, &attr, work, w);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->started = !error;
	return -error;
}

static struct worker *add_worker(struct crew *crew, struct job *job)
{
	struct worker *w;

	if (crew->worker_count == crew->worker_room)
		return NULL;
	w = &crew->workers[crew->worker_count++];
	w->crew = crew;
	atomic_init(&w->job, job);
	return w;
}

/* -- The watch, on the caller's thread. -- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(const struct crew *crew, const char *line)
{
	if (crew->opts->say)
		crew->opts->say(line);
}

/* The tool has failed, for all lanes; its thread's work goes on without it. */
static void replace(struct crew *crew, struct worker *w)
{
	int sig = atomic_load(&w->parked);
	struct job *job = atomic_load(&w->job);
	struct pasta_lane *lane = atomic_load(&w->lane);
	struct pasta_lane_call call = pasta_lane_call(lane);
	struct worker *next;
	char line[200];

	atomic_store(&lost, true);
	if (sig == BREAK)
		snprintf(line, sizeof(line), "it did not return from %s", call.doing);
	else
		snprintf(line, sizeof(line), "it crashed in %s (SIG%s)", call.doing,
			 sigabbrev_np(sig) ? sigabbrev_np(sig) : "?");
	/* What it has reported is whole when it is closed. */
	if (strcmp(call.doing, "close"))
		pasta_out_lose(call.seat->out, sig == BREAK ? -ETIMEDOUT : -EFAULT, line);
	snprintf(line, sizeof(line), "tool %s %s %s; %s", call.seat->tool->name,
		 sig == BREAK ? "does not return from" : "crashed in", call.doing,
		 strcmp(call.doing, "close") ? "it is left out, the others go on"
					     : "its report is whole");
	say(crew, line);
	pasta_lane_lose(lane);
	w->joined = true; /* it never ends */
	next = add_worker(crew, job);
	if (next && !start(next))
		return;
	crew_fail(crew, -EAGAIN);
	job_end_reading(crew, job);
	abandon(crew);
}

/* How long the worker has been in one call, ms; 0: in none. */
static int64_t lasting(struct worker *w, struct pasta_lane_call *call, int64_t now)
{
	struct pasta_lane *lane = atomic_load(&w->lane);

	*call = lane ? pasta_lane_call(lane) : (struct pasta_lane_call){0};
	if (!call->seat || call->calls != w->calls) {
		w->calls = call->calls;
		w->since = now;
		w->told = false;
		return 0;
	}
	return now - w->since;
}

static void look(struct crew *crew, struct worker *w, int64_t now, int64_t stopped)
{
	struct pasta_lane_call call;
	int64_t ms;
	char line[200];

	if (w->joined || !w->started || atomic_load(&w->finished))
		return;
	if (atomic_load(&w->parked)) {
		replace(crew, w);
		return;
	}
	ms = lasting(w, &call, now);
	if (ms > PATIENCE && stopped && now - stopped > PATIENCE) {
		w->broken_call = call.calls;
		pthread_kill(w->thread, BREAK);
	} else if (ms > REMARKABLE && !w->told) {
		w->told = true;
		snprintf(line, sizeof(line),
			 "tool %s is in %s for %d s now; Ctrl-C goes on without it",
			 call.seat->tool->name, call.doing, (int)(ms / 1000));
		say(crew, line);
	}
}

static bool all_finished(const struct crew *crew)
{
	size_t i;

	for (i = 0; i < crew->worker_count; i++)
		if (crew->workers[i].started && !crew->workers[i].joined &&
		    !atomic_load(&crew->workers[i].finished))
			return false;
	return true;
}

/* Whether nothing has moved for long: all wait for what a lost tool has locked. */
static bool stands_still(struct crew *crew, int64_t now)
{
	uint64_t done, total, moves;
	size_t i;

	pasta_stream_progress(crew->stream, &done, &total);
	moves = done;
	for (i = 0; i < crew->worker_count; i++) {
		struct pasta_lane *lane = atomic_load(&crew->workers[i].lane);

		moves += lane ? pasta_lane_call(lane).calls : 0;
	}
	if (moves != crew->moves || !atomic_load(&lost)) {
		crew->moves = moves;
		crew->moved = now;
	}
	return now - crew->moved > STANDSTILL;
}

static int64_t watch(struct crew *crew)
{
	int64_t stopped = 0;
	struct timespec until;
	size_t i;

	while (!all_finished(crew)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_EVERY * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		sem_timedwait(&crew->bell, &until);
		if (!stopped && crew->opts->go_on && !crew->opts->go_on(crew->opts->ctx)) {
			atomic_store(&crew->stop, true);
			stopped = now_ms();
		}
		for (i = 0; i < crew->worker_count; i++)
			look(crew, &crew->workers[i], now_ms(), stopped);
		if (stands_still(crew, now_ms())) {
			say(crew, "nothing moves since then: run again without that tool");
			crew->error = -EDEADLK;
			crew->stuck = true;
			break;
		}
	}
	return stopped;
}

/* -- Setting up, and clearing away. -- */

static size_t processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (size_t)CPU_COUNT(&set);
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

	crew->worker_room = threads + own + crew->choice->count * crew->job_count;
	crew->workers = calloc(crew->worker_room, sizeof(*crew->workers));
	if (!crew->workers)
		return -ENOMEM;
	for (i = 0; i < own && !error; i++)
		error = start(add_worker(crew, &crew->jobs[crew->shard_jobs + i]));
	if (own > 1 && threads > 1)
		threads--; /* WHOLE's thread is one of them */
	threads = threads < crew->shard_jobs ? threads : crew->shard_jobs;
	for (i = 0; i < threads && !error; i++)
		error = start(add_worker(crew, NULL));
	return error;
}

static void crew_free(struct crew *crew)
{
	size_t i;

	for (i = 0; i < crew->worker_count; i++) {
		struct worker *w = &crew->workers[i];

		if (w->started && !w->joined)
			pthread_join(w->thread, NULL);
		if (!atomic_load(&lost))
			free(w->stack);
	}
	if (atomic_load(&lost))
		return;
	for (i = 0; i < crew->job_count; i++)
		pasta_lane_free(crew->jobs[i].lane);
	free(crew->jobs);
	free(crew->outs);
	free(crew->workers);
	sem_destroy(&crew->bell);
	pthread_cond_destroy(&crew->was_read);
	pthread_mutex_destroy(&crew->lock);
	free(crew);
}

static void check(const struct crew *crew, const struct pasta_tool *tool, struct pasta_out *out)
{
	struct pasta_err err = {0};
	int error = crew->opts->check ? crew->opts->check(tool, &err, crew->opts->ctx) : 0;

	if (error)
		pasta_out_fail(out, error, "%s", err.text);
}

static int make_outs(struct crew *crew, struct pasta_result *result)
{
	size_t i;

	crew->outs = calloc(crew->choice->count + 1, sizeof(struct pasta_out *));
	for (i = 0; crew->outs && i < crew->choice->count; i++) {
		crew->outs[i] = pasta_result_out(result, crew->choice->tools[i].tool->name);
		if (!crew->outs[i])
			return -ENOMEM;
		check(crew, crew->choice->tools[i].tool, crew->outs[i]);
	}
	return crew->outs ? 0 : -ENOMEM;
}

static int run(struct crew *crew, size_t threads)
{
	struct sigaction before[FAULTS + 1];
	int64_t stopped;
	size_t i;

	catch_signals(before);
	crew->error = start_all(crew, threads);
	if (crew->error) {
		atomic_store(&crew->stop, true);
		abandon(crew);
	}
	stopped = watch(crew);
	restore_signals(before);
	for (i = 0; i < crew->choice->count; i++)
		pasta_out_end(crew->outs[i]);
	return crew->error ? crew->error : stopped ? -EINTR : 0;
}

/* A tool that calls exit would end all, and without a word. */
static void on_exit_(void)
{
	struct pasta_lane_call call = {0};
	char line[200];
	int n;

	if (self && atomic_load(&self->lane))
		call = pasta_lane_call(atomic_load(&self->lane));
	if (!call.seat)
		return;
	n = snprintf(line, sizeof(line),
		     "accelprof: tool %s called exit in %s: run again without it\n",
		     call.seat->tool->name, call.doing);
	if (write(STDERR_FILENO, line, (size_t)n) != n)
		_exit(2);
	_exit(1);
}

static void watch_exit(void)
{
	atexit(on_exit_);
}

int pasta_crew_run(const struct pasta_choice *choice, struct pasta_stream *s,
		   struct pasta_result *result, const struct pasta_crew_opts *opts)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	/* Threads that are lost may look at it for ever. */
	struct crew *crew = calloc(1, sizeof(*crew));
	size_t threads = opts->threads ? opts->threads : processors();
	int error;

	if (!crew)
		return -ENOMEM;
	pthread_once(&once, watch_exit);
	*crew = (struct crew){.choice = choice, .opts = opts, .stream = s};
	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->was_read, NULL);
	sem_init(&crew->bell, 0, 0);
	pasta_symbols_reset();
	error = pasta_rawfile_reset(s);
	if (!error)
		error = pasta_directory_fill(s);
	if (!error)
		error = make_outs(crew, result);
	if (!error)
		error = plan(crew, threads);
	crew->budget = BUDGET / (crew->split ? threads : 1);
	if (!error)
		error = run(crew, threads);
	if (!crew->stuck)
		crew_free(crew);
	return error;
}
