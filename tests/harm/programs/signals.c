/*
 * signals - a 10 kHz timer whose handler calls annotate.h, in every phase of a program.
 *
 *	signals constructor|first|main|threads|malloc|loader|plugin|stdio|fork|exec|exit|nested|
 *		queue|limit|stack|handled
 *
 * A phase ends after a number of ticks, not after a time.
 */
#include "harm.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

enum { HZ = 10000, TICKS = 200, THREADS = 4 };

static _Atomic int ticks, errors;
static char *self;

/* Calls every function, one after the other; restores errno. */
static void on_tick(int sig)
{
	int saved = errno;

	(void)sig;
	errno = 4711;
	harm_call((unsigned int)atomic_fetch_add(&ticks, 1));
	if (errno != 4711)
		atomic_fetch_add(&errors, 1);
	errno = saved;
}

static void begin(void)
{
	harm_handle(SIGALRM, on_tick, SA_RESTART);
	harm_timer(HZ);
}

/* No tick arrives after this. */
static void end(const char *phase)
{
	harm_timer(0);
	harm_print("%s: %s, %d wrong errno", phase,
		   atomic_load(&ticks) >= TICKS ? "ticked" : "silent", atomic_load(&errors));
}

static bool ticking(void)
{
	return atomic_load(&ticks) < TICKS;
}

/* Runs until the phase ends; the pauses let the writer drain the events. */
static void emit_ticking(void)
{
	for (unsigned int i = 0; ticking(); i++) {
		harm_call(i);
		harm_spin(1000);
	}
}

/* The timer runs before main, and while other constructors attach. */
__attribute__((constructor(102))) static void before_main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "constructor")) {
		begin();
		harm_spin(2000000);
	}
	if (argc > 1 && !strcmp(argv[1], "executed")) {
		begin();
		harm_block(SIG_UNBLOCK, SIGALRM);
	}
}

static void constructor(int unused)
{
	(void)unused;
	emit_ticking();
	end("constructor");
}

/* Only the handler calls: it makes the process's first call. */
static void first(int unused)
{
	(void)unused;
	begin();
	while (ticking())
		;
	end("first");
}

static void in_main(int unused)
{
	(void)unused;
	begin();
	emit_ticking();
	end("main");
}

static void *run_thread(void *arg)
{
	struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	struct itimerspec every = {{0, 1000000000 / HZ}, {0, 1000000000 / HZ}};
	timer_t timer;

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
	to.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &to, &timer) || timer_settime(timer, 0, &every, NULL))
		broken("timer_create");
	emit_ticking();
	timer_delete(timer);
	return arg;
}

/* Each thread has a timer of its own, so that the handler also interrupts first calls. */
static void threads(int unused)
{
	pthread_t thread[THREADS];

	(void)unused;
	harm_handle(SIGALRM, on_tick, SA_RESTART);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run_thread, NULL))
			broken("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	end("threads");
}

/* The handler interrupts malloc, which it must not call itself. */
static void in_malloc(int unused)
{
	static void *held[256];
	size_t i = 0;

	(void)unused;
	begin();
	for (; ticking(); i++) {
		free(held[i % 256]);
		held[i % 256] = malloc(1 + i * 37 % 100000);
		if (!held[i % 256])
			broken("malloc");
	}
	end("malloc");
}

/* The handler interrupts the dynamic loader, whose lock it must not acquire. */
static void in_loader(int unused)
{
	(void)unused;
	begin();
	while (ticking()) {
		void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

		if (!lib || !dlsym(lib, "cos")) {
			fprintf(stderr, "dlopen: %s\n", dlerror());
			exit(92);
		}
		dlclose(lib);
	}
	end("loader");
}

/* A library with its own copy of annotate.h is loaded and unloaded under the timer. */
static void in_plugin(int unused)
{
	char path[4096];
	int rounds = 0;

	(void)unused;
	snprintf(path, sizeof(path), "%.*s/preload_plugin.so", (int)(strrchr(self, '/') - self),
		 self);
	begin();
	while (ticking() || rounds < 20) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void (*mark)(void);

		*(void **)&mark = lib ? dlsym(lib, "plugin_mark") : NULL;
		if (!mark) {
			fprintf(stderr, "dlopen: %s\n", dlerror());
			exit(92);
		}
		EMIT(mark());
		dlclose(lib);
		rounds++;
	}
	end("plugin");
}

/* The handler interrupts stdio. The file's content is compared too. */
static void in_stdio(int unused)
{
	FILE *file = fopen("written", "w");
	int lines = 0, c;

	(void)unused;
	if (!file)
		broken("written");
	begin();
	for (int i = 0; i < 20000 || ticking(); i++)
		fprintf(i < 20000 ? file : stderr, i < 20000 ? "%d\n" : "", i);
	end("stdio");
	fclose(file);
	file = fopen("written", "r");
	while (file && (c = fgetc(file)) != EOF)
		lines += c == '\n';
	harm_print("%d lines", lines);
}

/* The parent forks under the timer; each child has its own timer from its first instruction. */
static void in_fork(int unused)
{
	enum { CHILDREN = 20 };

	(void)unused;
	begin();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		if (pid < 0)
			broken("fork");
		if (!pid) {
			atomic_store(&ticks, TICKS - 50);
			harm_timer(HZ);
			while (ticking() && i % 2 == 0)
				;
			emit_ticking();
			harm_timer(0);
			exit(i);
		}
		harm_call((unsigned int)i);
		status = harm_wait(pid);
		harm_print("child %d: %s", i, harm_ended(status));
	}
	end("fork");
}

/* The timer runs on through exec, and its signals stay blocked until the new program unblocks
 * them. */
static void in_exec(int unused)
{
	(void)unused;
	begin();
	while (ticking())
		;
	harm_block(SIG_BLOCK, SIGALRM);
	execl(self, self, "executed", (char *)NULL);
	broken("exec");
}

static void executed(int unused)
{
	(void)unused;
	emit_ticking();
	end("exec");
}

static void at_end(void)
{
	harm_spin(1000000);
	harm_call(1);
}

__attribute__((destructor)) static void destructor(void)
{
	if (atomic_load(&ticks))
		harm_spin(1000000);
}

/* The timer runs until the end of the process. */
static void at_exit(int unused)
{
	(void)unused;
	atexit(at_end);
	begin();
	emit_ticking();
	harm_print("exits under the timer");
	atexit(at_end);
	exit(5);
}

/* The handler interrupts itself, three levels deep. */
static void on_nested(int sig)
{
	static _Atomic int depth;

	(void)sig;
	atomic_fetch_add(&depth, 1);
	for (int i = 0; i < 50; i++)
		harm_call((unsigned int)i);
	if (atomic_load(&depth) < 4)
		raise(SIGALRM);
	for (int i = 0; i < 50; i++)
		harm_call((unsigned int)i);
	atomic_fetch_sub(&depth, 1);
	atomic_fetch_add(&ticks, 1);
}

static void nested(int unused)
{
	(void)unused;
	harm_handle(SIGALRM, on_nested, SA_RESTART | SA_NODEFER);
	harm_timer(HZ / 10);
	emit_ticking();
	end("nested");
}

static uint64_t sum;
static int received;

static void on_queued(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	sum += (uint64_t)info->si_value.sival_int;
	received++;
	harm_call((unsigned int)received);
}

/* Queued signals arrive exactly once, whichever thread emits meanwhile. */
static void queue(int unused)
{
	struct sigaction action = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO | SA_RESTART};

	(void)unused;
	sigaction(SIGRTMIN, &action, NULL);
	for (int i = 1; i <= 1000; i++) {
		union sigval value = {.sival_int = i};
		char name[32];

		sigqueue(getpid(), SIGRTMIN, value);
		snprintf(name, sizeof(name), "name %d", i);
		EMIT(pasta_mark(name)); /* a new name: it is interned, with signals blocked */
	}
	harm_print("queue: %d signals, sum %llu", received, (unsigned long long)sum);
}

static _Atomic int limits, finished;

static void on_limit(int sig)
{
	(void)sig;
	atomic_fetch_add(&limits, 1);
}

static void *run_limit(void *arg)
{
	harm_block(SIG_UNBLOCK, SIGXFSZ);
	for (unsigned int i = 0; !atomic_load(&finished); i++) {
		char name[32];

		snprintf(name, sizeof(name), "name %u", i % 50000);
		EMIT(pasta_mark(name));
	}
	return arg;
}

/* The agent itself causes SIGXFSZ if a file may not grow. Those of others must arrive: the next
 * one is sent when the last one was received. */
static void limit(int unused)
{
	pthread_t thread;

	(void)unused;
	harm_handle(SIGXFSZ, on_limit, SA_RESTART);
	harm_block(SIG_BLOCK, SIGXFSZ);
	if (pthread_create(&thread, NULL, run_limit, NULL))
		broken("pthread_create");
	for (int i = 1; i <= 2000; i++) {
		kill(getpid(), SIGXFSZ);
		for (uint64_t until = harm_ns() + UINT64_C(20000000000); atomic_load(&limits) < i;)
			if (harm_ns() > until) {
				harm_print("SIGXFSZ %d never came", i);
				exit(1);
			}
	}
	atomic_store(&finished, 1);
	pthread_join(thread, NULL);
	harm_print("limit: %d", atomic_load(&limits));
}

/* A handler on an alternate stack of the usual size makes the first calls. */
static void stack(int unused)
{
	const size_t page = 4096, size = 8192 + getauxval(AT_MINSIGSTKSZ);
	size_t whole = (size + page - 1) / page * page;
	char *at = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t alternate = {.ss_sp = at + page, .ss_size = whole};

	(void)unused;
	if (at == MAP_FAILED || mprotect(at + page, whole, PROT_READ | PROT_WRITE) ||
	    sigaltstack(&alternate, NULL))
		broken("sigaltstack");
	harm_handle(SIGALRM, on_tick, SA_RESTART | SA_ONSTACK);
	harm_timer(HZ);
	while (ticking())
		;
	end("stack");
}

/* Dispositions, masks and the alternate stack stay the program's, before and after the first call.
 */
static void handled(int unused)
{
	(void)unused;
	for (int round = 0; round < 3; round++) {
		sigset_t mask, waiting;
		stack_t alternate;
		int handlers = 0, blocked = 0, pending = 0;

		for (int sig = 1; sig < SIGRTMAX; sig++) {
			struct sigaction action;

			handlers += !sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL;
		}
		pthread_sigmask(SIG_BLOCK, NULL, &mask);
		sigpending(&waiting);
		for (int sig = 1; sig < SIGRTMAX; sig++) {
			blocked += sigismember(&mask, sig);
			pending += sigismember(&waiting, sig);
		}
		sigaltstack(NULL, &alternate);
		harm_print("handlers %d, blocked %d, pending %d, alternate stack %d", handlers,
			   blocked, pending, alternate.ss_flags == SS_DISABLE);
		if (!round)
			harm_call(1);
		else
			harm_block(SIG_BLOCK, SIGUSR1);
		harm_call(2);
	}
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"constructor", constructor},
		{"first", first},
		{"main", in_main},
		{"threads", threads},
		{"malloc", in_malloc},
		{"loader", in_loader},
		{"plugin", in_plugin},
		{"stdio", in_stdio},
		{"fork", in_fork},
		{"exec", in_exec},
		{"executed", executed},
		{"exit", at_exit},
		{"nested", nested},
		{"queue", queue},
		{"limit", limit},
		{"stack", stack},
		{"handled", handled},
		{NULL, NULL},
	};

	self = realpath("/proc/self/exe", NULL);
	return harm_main(argc, argv, modes);
}
