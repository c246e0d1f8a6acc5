/*
 * cancel - threads that are cancelled at every call of annotate.h.
 *
 *	cancel pending|first|random N|async N|disabled|state|main|last|quiet MS|jailed MS|
 *		term
 *
 * Natively no call of annotate.h is a cancellation point: a cancelled thread runs to its own first
 * one, and the rest of the program continues.
 */
#include "harm.h"

enum { CALLS = 100, LEAP = 300000 /* ns: a thread's start and many calls */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

struct job {
	pthread_t thread;
	unsigned int number;
	_Atomic int calls, cleanups, state, type;
};

static void start(struct job *job, void *(*run)(void *))
{
	if (pthread_create(&job->thread, NULL, run, job))
		broken("pthread_create");
}

static const char *joined(struct job *job)
{
	void *result;

	if (pthread_join(job->thread, &result))
		broken("pthread_join");
	return result == PTHREAD_CANCELED ? "cancelled" : "returned";
}

/* The other threads need the program's lock and the agent's. */
static void go_on(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < HARM_CALLS; i++)
		harm_call(i);
	pthread_mutex_unlock(&lock);
}

static void cleanup(void *arg)
{
	struct job *job = arg;

	atomic_fetch_add(&job->cleanups, 1);
	for (unsigned int i = 0; i < HARM_CALLS; i++)
		harm_call(i);
	pthread_mutex_unlock(&lock);
}

/* The thread is cancelled from its start, and has one cancellation point: the last line. */
static void *run_pending(void *arg)
{
	struct job *job = arg;

	pthread_cancel(pthread_self());
	for (int i = 0; i < CALLS; i++) {
		harm_call(job->number);
		atomic_fetch_add(&job->calls, 1);
	}
	pthread_testcancel();
	return NULL;
}

static void pending(int unused)
{
	(void)unused;
	for (unsigned int i = 0; i < HARM_CALLS; i++) {
		struct job job = {.number = i};
		const char *how;

		start(&job, run_pending);
		how = joined(&job);
		harm_print("%s: %d calls, %s", harm_call(i), job.calls, how);
		go_on();
	}
}

/* Many threads at once, in a process without any event so far. */
static void first(int unused)
{
	enum { THREADS = 8 };
	struct job jobs[THREADS] = {0};

	(void)unused;
	for (unsigned int i = 0; i < THREADS; i++) {
		jobs[i].number = i % (HARM_CALLS - 1);
		start(&jobs[i], run_pending);
	}
	for (int i = 0; i < THREADS; i++) {
		const char *how = joined(&jobs[i]);

		harm_print("%d calls, %s", jobs[i].calls, how);
	}
	go_on();
}

static void *run_random(void *arg)
{
	struct job *job = arg;

	pthread_mutex_lock(&lock);
	pthread_cleanup_push(cleanup, job);
	pthread_setspecific(key, job);
	for (unsigned int i = job->number;; i++) {
		harm_call(i);
		atomic_fetch_add(&job->calls, 1);
		if (i % 8 == 0)
			pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return NULL;
}

/* Runs at the thread's end: the agent's own destructor may have run before. */
static void destroy(void *arg)
{
	struct job *job = arg;

	atomic_fetch_add(&job->cleanups, 1);
	go_on();
}

static void random_moments(int n)
{
	int cancelled = 0, cleanups = 0;

	if (pthread_key_create(&key, destroy))
		broken("pthread_key_create");
	for (int i = 0; i < n; i++) {
		struct job job = {.number = (unsigned int)i};

		start(&job, run_random);
		harm_spin(harm_random() % LEAP);
		/* Before the thread has the lock and the cleanup handler, nothing can be observed.
		 */
		while (!atomic_load(&job.calls) && i % 2)
			;
		pthread_cancel(job.thread);
		cancelled += !strcmp(joined(&job), "cancelled");
		cleanups += job.cleanups;
		go_on();
	}
	harm_print("%d cancelled, %d cleanups", cancelled, cleanups);
}

static void *run_async(void *arg)
{
	struct job *job = arg;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (unsigned int i = job->number;; i++) {
		harm_call(i % (HARM_CALLS - 1));
		atomic_store(&job->calls, 1);
	}
	return NULL;
}

/* Cancellation acts at any instruction of a call. */
static void async(int n)
{
	int cancelled = 0;

	for (int i = 0; i < n; i++) {
		struct job job = {.number = (unsigned int)i};

		start(&job, run_async);
		harm_spin(harm_random() % LEAP);
		pthread_cancel(job.thread);
		cancelled += !strcmp(joined(&job), "cancelled");
		go_on();
	}
	harm_print("%d cancelled", cancelled);
}

static void *run_disabled(void *arg)
{
	struct job *job = arg;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	for (unsigned int i = 0; i < CALLS; i++) {
		harm_call(i);
		pthread_testcancel();
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		job->calls += state == PTHREAD_CANCEL_DISABLE;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	return NULL;
}

static void disabled(int unused)
{
	struct job job = {0};
	const char *how;

	(void)unused;
	start(&job, run_disabled);
	how = joined(&job);
	harm_print("disabled after %d calls, %s", job.calls, how);
	go_on();
}

/* The program finds the cancellation state that it has set, after the first call and after all
 * others. */
static void *run_state(void *arg)
{
	struct job *job = arg;
	int want = job->number & 1 ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
	int kind = job->number & 2 ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
	int state, type;

	for (unsigned int i = 0; i < CALLS; i++) {
		pthread_setcancelstate(want, NULL);
		pthread_setcanceltype(kind, NULL);
		harm_call(i);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
		job->state += state == want;
		job->type += type == kind;
	}
	return NULL;
}

static void states(int unused)
{
	(void)unused;
	for (unsigned int i = 0; i < 4; i++) {
		struct job job = {.number = i};
		const char *how;

		start(&job, run_state);
		how = joined(&job);
		harm_print("%u: state %d, type %d, %s", i, job.state, job.type, how);
	}
}

static void *after_main(void *arg)
{
	pthread_t *other = arg;

	pthread_cancel(*other);
	pthread_join(*other, NULL);
	go_on();
	harm_print("main has ended");
	exit(7);
}

/* The main thread is cancelled during its first call; the process continues. */
static void in_main(int unused)
{
	static pthread_t me;
	pthread_t other;

	(void)unused;
	me = pthread_self();
	if (pthread_create(&other, NULL, after_main, &me))
		broken("pthread_create");
	for (unsigned int i = 0;; i++) {
		harm_call(i);
		pthread_testcancel();
	}
}

static void *outlives_main(void *arg)
{
	harm_nap(20);
	go_on();
	harm_print("the last thread ends");
	return arg;
}

static void farewell(void)
{
	go_on();
	harm_print("at exit");
}

/* The main thread ends first. The process ends with its last thread. */
static void last(int unused)
{
	pthread_t thread;

	(void)unused;
	atexit(farewell);
	go_on();
	if (pthread_create(&thread, NULL, outlives_main, NULL))
		broken("pthread_create");
	pthread_exit(NULL);
}

static void *run_quiet(void *arg)
{
	EMIT(pasta_mark("quiet"));
	harm_nap(*(int *)arg);
	return NULL;
}

static void farewell_printed(void)
{
	printf("at exit\n");
}

/* The main thread ends before the others, or after them, without an event. Output to stdout stays
 * in its buffer until exit. */
static void quiet(int ms)
{
	static int nap;
	pthread_t thread;

	nap = ms;
	atexit(farewell_printed);
	printf("buffered\n");
	if (pthread_create(&thread, NULL, run_quiet, &nap))
		broken("pthread_create");
	if (!ms)
		pthread_join(thread, NULL);
	pthread_exit(NULL);
}

static void *leave(void *arg)
{
	pthread_exit(arg);
}

/* The same without /proc. */
static void jailed(int ms)
{
	static int nap;
	pthread_t thread;

	nap = ms;
	atexit(farewell_printed);
	/* pthread_exit loads a library. */
	if (pthread_create(&thread, NULL, leave, NULL) || pthread_join(thread, NULL) ||
	    pthread_create(&thread, NULL, run_quiet, &nap))
		broken("pthread_create");
	harm_nap(ms / 2);
	if (chroot("."))
		broken("chroot");
	pthread_exit(NULL);
}

static void *run_on(void *arg)
{
	for (unsigned int i = 0;; i++) {
		harm_call(i);
		if (i % 1000 == 0)
			pthread_testcancel();
	}
	return arg;
}

/* A thread was cancelled during its first call, and others emit: SIGTERM still ends the program.
 */
static void term(int unused)
{
	struct job job = {0};
	pthread_t thread;

	(void)unused;
	start(&job, run_pending);
	harm_print("%s", joined(&job));
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, run_on, NULL))
			broken("pthread_create");
	go_on();
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"pending", pending}, {"first", first},	      {"random", random_moments},
		{"async", async},     {"disabled", disabled}, {"state", states},
		{"main", in_main},    {"last", last},	      {"quiet", quiet},
		{"jailed", jailed},   {"term", term},	      {NULL, NULL},
	};

	return harm_main(argc, argv, modes);
}
