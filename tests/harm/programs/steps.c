/*
 * steps - interrupts a call at each of its instructions in turn.
 *
 *	steps dropped|names|end
 *
 * Each instruction has a process of its own. One of its threads is traced from a first SIGUSR2 on,
 * instruction by instruction, and then interrupted by SIGUSR1, whose handler emits. If the call is
 * too short, the interruption comes after its end.
 */
#include "harm.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

enum { STEPS = 200, DEPTH = 1024, APART = 64 << 10 };

struct shared {
	_Atomic int tid;   /* the thread to trace */
	_Atomic int go;	   /* the thread is traced */
	_Atomic int asked; /* the other thread may continue */
	_Atomic int answered;
};
static struct shared *shared;

struct way {
	const char *name;
	void (*prepare)(void);
	void (*call)(void); /* NULL: until the thread's end */
	void (*interrupt)(void);
};
static const struct way *way;
static _Atomic int interrupted;

static void wait_for(_Atomic int *word, int value)
{
	while (atomic_load(word) < value)
		sched_yield();
}

/* -- dropped: events past the deepest region are counted, in the thread and in the handler. -- */

static void deep_prepare(void)
{
	for (int i = 0; i < DEPTH; i++)
		EMIT(pasta_region_begin("deep"));
}

static void deep(void)
{
	EMIT(pasta_region_begin("deep"));
}

/* -- names: two names that share a slot of the thread's cache. -- */

static char names[2][APART] = {"first", "second"};

static void first_name(void)
{
	EMIT(pasta_mark(names[0]));
}

static void second_name(void)
{
	EMIT(pasta_mark(names[1]));
}

/* -- end: a thread ends, and a new one may reuse its ring. -- */

static pthread_key_t early;

static void *other(void *arg)
{
	wait_for(&shared->asked, 1);
	EMIT(pasta_mark("other"));
	atomic_store(&shared->answered, 1);
	wait_for(&shared->asked, 2);
	for (int i = 0; i < 3; i++)
		EMIT(pasta_mark("other"));
	return arg;
}

static void end_prepare(void)
{
	EMIT(pasta_mark("ends"));
	pthread_setspecific(early, shared);
}

static void end_interrupt(void)
{
	atomic_store(&shared->asked, 1);
	wait_for(&shared->answered, 1);
	for (int i = 0; i < 3; i++)
		EMIT(pasta_mark("interrupts"));
	atomic_store(&shared->asked, 2);
}

static void at_end(void *arg)
{
	(void)arg;
	raise(SIGUSR2);
}

/* Created before all other keys: its destructor runs first. */
static void make_key(int argc, char **argv, char **env)
{
	(void)argc, (void)argv, (void)env;
	pthread_key_create(&early, at_end);
}
__attribute__((section(".preinit_array"), used)) static void (*make_key_early)(int, char **,
									       char **) = make_key;

static const struct way ways[] = {
	{"dropped", deep_prepare, deep, deep},
	{"names", first_name, second_name, second_name},
	{"end", end_prepare, NULL, end_interrupt},
};

/* -- The process, and the process that traces it -- */

static void on_interrupt(int sig)
{
	int saved = errno;

	(void)sig;
	if (!atomic_exchange(&interrupted, 1))
		way->interrupt();
	errno = saved;
}

static void *run(void *arg)
{
	atomic_store(&shared->tid, (int)syscall(SYS_gettid));
	wait_for(&shared->go, 1);
	way->prepare();
	if (way->call) {
		raise(SIGUSR2);
		way->call();
		raise(SIGUSR2);
		on_interrupt(0); /* if the call was not interrupted */
	}
	return arg;
}

static void traced(void)
{
	pthread_t thread, beside;

	harm_handle(SIGUSR1, on_interrupt, 0);
	harm_handle(SIGUSR2, SIG_IGN, 0);
	if (pthread_create(&thread, NULL, run, NULL))
		broken("pthread_create");
	if (!way->call && pthread_create(&beside, NULL, other, NULL))
		broken("pthread_create");
	pthread_join(thread, NULL);
	if (!way->call) {
		atomic_store(&shared->asked, 2);
		pthread_join(beside, NULL);
	}
	exit(0);
}

static void step_to(pid_t tid, int n)
{
	int status, steps = 0;
	bool stepping = false, sent = false;

	while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status);

		if (sig == SIGUSR2) {
			stepping = !stepping && !sent;
			sig = 0;
		} else if (sig == SIGTRAP) {
			sig = 0;
		}
		if (stepping && ++steps > n) {
			stepping = false;
			sent = true;
			sig = SIGUSR1;
		}
		if (ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, tid, NULL, (long)sig))
			break;
	}
}

/* Returns the number of the first instruction at which something went wrong. */
static void step_through(int last)
{
	for (int n = 0; n < last; n++) {
		int status, tid;
		pid_t pid;

		memset(shared, 0, sizeof(*shared));
		pid = fork();
		if (pid < 0)
			broken("fork");
		if (!pid)
			traced();
		wait_for(&shared->tid, 1);
		tid = atomic_load(&shared->tid);
		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
			broken("ptrace");
		atomic_store(&shared->go, 1);
		step_to(tid, n);
		status = harm_wait(pid);
		if (status) {
			harm_print("%s, instruction %d: %s", way->name, n, harm_ended(status));
			return;
		}
	}
	harm_print("%s: %d instructions", way->name, last);
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		broken("mmap");
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name)) {
			way = &ways[i];
			step_through(argc > 2 ? atoi(argv[2]) : STEPS);
			return 0;
		}
	fprintf(stderr, "%s: no such way\n", argc > 1 ? argv[1] : "(none)");
	return 2;
}
