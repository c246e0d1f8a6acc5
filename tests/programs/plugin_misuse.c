/*
 * plugin_misuse.c - a tool that does everything a tool must not do, as an option selects.
 *
 * Its option how is WHAT-WHERE: segv-event. MISUSE_CONSTRUCTOR controls the constructor.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <pasta/tool.h>

struct misuse {
	const char *how;
	uint64_t events;
};

/* What the compiler must not know. */
static volatile int forever = 1;
static void *volatile nowhere = (void *)8;

/* -- Crashes -- */

static void do_segv(void)
{
	*(volatile int *)nowhere = 1;
}

static void do_fpe(void)
{
	raise(SIGFPE);
}

static void do_trap(void)
{
	__builtin_trap();
}

/* The C library aborts with the lock of its heap held. */
static void do_double_free(void)
{
	void *volatile block = malloc(4096), *volatile again = block;
	void *volatile above = malloc(4096);

	free(block);
	free(again);
	free(above);
}

static void do_heap_overflow(void)
{
	void *volatile block = malloc(100);
	size_t i;

	for (i = 0; block && i < 4000; i++)
		((volatile char *)block)[i] = (char)0xff;
	for (i = 0; i < 100000; i++)
		block = malloc(3000 + i);
}

static int deeper(volatile char *above)
{
	volatile char here[4096];

	here[0] = above ? above[0] : 0;
	return forever ? deeper(here) + here[1] : 0;
}

static void do_stack_overflow(void)
{
	deeper(NULL);
}

static void *crash_thread(void *arg)
{
	do_segv();
	return arg;
}

static void do_thread_crash(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, crash_thread, NULL))
		pthread_join(thread, NULL);
}

static void do_ignore_and_crash(void)
{
	signal(SIGSEGV, SIG_IGN);
	do_segv();
}

/* -- Ends -- */

static void do_exit(void)
{
	exit(0);
}

static void do_quick_exit(void)
{
	_exit(0);
}

static void do_exit_thread(void)
{
	pthread_exit(NULL);
}

static void do_kill(void)
{
	kill(getpid(), SIGKILL);
}

static void do_term_group(void)
{
	kill(0, SIGTERM);
	for (;;)
		pause();
}

static void do_alarm(void)
{
	alarm(1);
	for (;;)
		pause();
}

/* -- Calls that never return -- */

/* For who waits to interrupt. */
static void begins(void)
{
	static const char line[] = "misuse begins\n";
	static int printed;

	if (!printed++ && write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		abort();
}

static void do_loop(void)
{
	begins();
	while (forever)
		;
}

static void do_sleep(void)
{
	begins();
	for (;;)
		nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
}

static void do_stop(void)
{
	begins();
	kill(getpid(), SIGSTOP);
}

static void do_deadlock(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}

static void do_block_and_loop(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	do_loop();
}

/* -- What is not its own -- */

static void do_close_all(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}

/* Replaces each open descriptor with another file. */
static void do_replace_all(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 3; fd < 256; fd++)
		if (fd != null)
			dup2(null, fd);
}

static void do_garbage(void)
{
	char bytes[64];

	memset(bytes, 0xa5, sizeof(bytes));
	for (int fd = 3; fd < 64; fd++)
		if (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			continue;
}

static void do_mask(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void do_handlers(void)
{
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_IGN);
}

static void do_chdir(void)
{
	if (chdir("/"))
		abort();
}

static void do_no_files(void)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
}

static void do_print(void)
{
	for (int i = 0; i < 1000; i++)
		printf("{\"this\": \"is no report\"}\n");
}

static void do_fork_on(void)
{
	static int forked;

	if (!forked++ && fork() == 0)
		for (;;)
			pause();
}

static void do_fork_back(void)
{
	static int forked;

	if (!forked++)
		fork();
}

static void *spin_thread(void *arg)
{
	while (forever)
		sched_yield();
	return arg;
}

static void do_thread(void)
{
	static int started;
	pthread_t thread;

	if (!started++)
		pthread_create(&thread, NULL, spin_thread, NULL);
}

static void do_outlive(void)
{
	prctl(PR_SET_PDEATHSIG, 0);
}

/* As much as there is: it stops where the limit is. */
static void do_memory(void)
{
	for (size_t i = 0; i < 1024; i++) {
		char *block = malloc((size_t)64 << 20);

		if (!block)
			abort();
		block[i] = 1;
	}
}

static void do_huge(void)
{
	volatile char *block = malloc((size_t)1 << 46);

	block[0] = 1;
}

static const struct {
	const char *what;
	void (*fn)(void);
} kinds[] = {
	{"segv", do_segv},
	{"fpe", do_fpe},
	{"trap", do_trap},
	{"abort", abort},
	{"double_free", do_double_free},
	{"heap_overflow", do_heap_overflow},
	{"stack_overflow", do_stack_overflow},
	{"thread_crash", do_thread_crash},
	{"ignore_and_crash", do_ignore_and_crash},
	{"exit", do_exit},
	{"quick_exit", do_quick_exit},
	{"exit_thread", do_exit_thread},
	{"kill", do_kill},
	{"term_group", do_term_group},
	{"alarm", do_alarm},
	{"loop", do_loop},
	{"sleep", do_sleep},
	{"stop", do_stop},
	{"deadlock", do_deadlock},
	{"block_and_loop", do_block_and_loop},
	{"close_all", do_close_all},
	{"replace_all", do_replace_all},
	{"garbage", do_garbage},
	{"mask", do_mask},
	{"handlers", do_handlers},
	{"chdir", do_chdir},
	{"no_files", do_no_files},
	{"print", do_print},
	{"fork_on", do_fork_on},
	{"fork_back", do_fork_back},
	{"thread", do_thread},
	{"outlive", do_outlive},
	{"memory", do_memory},
	{"huge", do_huge},
};

static void misuse_in(const char *how, const char *where)
{
	size_t i, n = strcspn(how, "-");

	if (!how[n] || strcmp(how + n + 1, where))
		return;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].what) == n && !strncmp(how, kinds[i].what, n))
			kinds[i].fn();
}

/* -- Reports -- */

static const struct pasta_column columns[] = {{"events", PASTA_COLUMN_INT, NULL}};

static void bad_report(const char *how, struct pasta_out *out)
{
	const struct pasta_column strange[] = {{"x", (enum pasta_column_type)77, NULL}};
	const struct pasta_column floats[] = {{"x", PASTA_COLUMN_FLOAT, NULL},
					      {"y", PASTA_COLUMN_STRING, NULL}};
	struct pasta_table *t;
	struct pasta_chart *c;

	if (!strcmp(how, "wrong_type"))
		pasta_cell_str(pasta_out_table(out, "t", columns, 1), "text");
	else if (!strcmp(how, "bad_name"))
		pasta_out_table(out, "t\xff\xfe", columns, 1);
	else if (!strcmp(how, "control_name"))
		pasta_out_table(out, "t\033[31m", columns, 1);
	else if (!strcmp(how, "bad_column"))
		pasta_out_table(out, "t", strange, 1);
	else if (!strcmp(how, "no_columns"))
		pasta_out_table(out, "t", NULL, 0);
	else if (!strcmp(how, "half_row"))
		pasta_cell_float(pasta_out_table(out, "t", floats, 2), 1);
	else if (!strcmp(how, "severity"))
		pasta_out_report(out, .severity = (enum pasta_severity)9, .what = "strange");
	else if (!strcmp(how, "bad_chart")) {
		c = pasta_out_chart(
			out, &(struct pasta_chart_def)PASTA_CHART_DEF(.type = PASTA_CHART_LINE,
								      .name = "c"));
		pasta_chart_series(c, "s");
		pasta_chart_point(c, 2, 1);
		pasta_chart_point(c, 1, 1);
	} else if (!strcmp(how, "nan")) {
		t = pasta_out_table(out, "t", floats, 2);
		pasta_cell_float(t, NAN);
		pasta_cell_str(t, "caf\xe9 \033[31m");
		pasta_cell_float(t, INFINITY);
		pasta_cell_none(t);
	} else if (!strcmp(how, "rows")) {
		t = pasta_out_table(out, "t", columns, 1);
		for (int64_t i = 0; i < 2000000; i++)
			pasta_cell_int(t, i);
	} else if (!strcmp(how, "tables")) {
		for (int i = 0; i < 5000; i++) {
			char name[16];

			snprintf(name, sizeof(name), "t%d", i);
			pasta_out_table(out, name, columns, 1);
		}
	}
}

/* -- The tool -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct misuse *m = state;

	m->how = pasta_opt(opts, "how");
	misuse_in(m->how, "open");
	return strcmp(m->how, "fail-open") ? 0 : pasta_fail(err, -EIO, "told not to open");
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct misuse *m = state;

	(void)ev;
	if (++m->events == 100)
		misuse_in(m->how, "event");
	if (strcmp(m->how, "slow-event"))
		return;
	begins();
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static int merge(void *into, const void *from, struct pasta_error *err)
{
	misuse_in(((struct misuse *)into)->how, "merge");
	((struct misuse *)into)->events += ((const struct misuse *)from)->events;
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct misuse *m = state;

	pasta_cell_int(pasta_out_table(out, "misuse", columns, 1), (int64_t)m->events);
	misuse_in(m->how, "report");
	if (!strncmp(m->how, "report-", 7))
		bad_report(m->how + 7, out);
	return strcmp(m->how, "fail-report") ? 0 : -EIO;
}

static void close_(void *state)
{
	misuse_in(((struct misuse *)state)->how, "close");
}

static const struct pasta_option options[] = {
	{"how", "well", "what to do wrong, and where: segv-event", PASTA_OPTION_TEXT},
	{0},
};

PASTA_TOOL(.name = "misuse", .summary = "does what a tool must not do",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(REGION), .state_size = sizeof(struct misuse),
	   .options = options, .open = open_, .event = on_event, .merge = merge, .report = report,
	   .close = close_);

__attribute__((constructor)) static void misuse_constructor(void)
{
	const char *how = getenv("MISUSE_CONSTRUCTOR");

	if (how)
		misuse_in(how, "constructor");
}
