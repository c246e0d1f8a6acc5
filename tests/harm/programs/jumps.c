/*
 * jumps - jumps out of calls of annotate.h.
 *
 *	jumps longjmp|deeper|nested|altstack|cancellable|coroutines|small
 *
 * Afterwards the thread still records: the last marks, "after", are emitted with signals blocked.
 * The report must have all of them.
 */
#include "harm.h"

#include <setjmp.h>
#include <ucontext.h>

enum {
	HZ = 10000,
	JUMPS = 300,
	QUIET = 100000, /* ns between two ticks, part of which passes before the calls */
	BURST = 500,	/* calls: with the last marks, they fit into a ring */
	AFTER = 1000,
	ROUTINES = 8,
};

static sigjmp_buf back;
static volatile sig_atomic_t jumping;
static _Atomic int jumped;
static _Atomic bool printed;
static bool nests;

static void on_tick(int sig)
{
	(void)sig;
	if (!jumping)
		return;
	if (nests) /* interrupted, and interrupting another call */
		harm_call(1);
	atomic_fetch_add(&jumped, 1);
	siglongjmp(back, 1);
}

/* Emits at another depth of the stack each time, and at another distance from the next tick. */
__attribute__((noinline)) static unsigned int deep(int depth)
{
	volatile char room[4096];
	unsigned int sum = 0;

	memset((char *)room, depth, sizeof(room));
	if (depth)
		return deep(depth - 1) + (unsigned int)room[7];
	harm_spin(harm_random() % QUIET);
	for (unsigned int i = 0; jumping; i++)
		sum += i < BURST ? (unsigned int)*harm_call(i % (HARM_CALLS - 1)) : 0;
	return sum;
}

static void after(void)
{
	harm_timer(0);
	harm_block(SIG_BLOCK, SIGALRM);
	for (int i = 0; i < AFTER; i++)
		EMIT(pasta_mark("after"));
}

/* The frames of the abandoned calls lie above. */
__attribute__((noinline)) static int after_deep(int depth)
{
	volatile char room[4096];

	memset((char *)room, depth, sizeof(room));
	if (depth)
		return after_deep(depth - 1) + room[5];
	after();
	return 0;
}

static bool deeper;

static void jump(int flags)
{
	static volatile int turn;

	harm_handle(SIGALRM, on_tick, flags);
	harm_timer(HZ);
	sigsetjmp(back, 1);
	if (atomic_load(&jumped) < JUMPS) {
		jumping = 1;
		turn = turn + 1;
		deep(turn % 7);
	}
	jumping = 0;
	if (deeper)
		after_deep(20);
	else
		after();
	harm_print("jumped");
}

static void longjmps(int unused)
{
	(void)unused;
	jump(0);
}

static void longjmps_deeper(int unused)
{
	(void)unused;
	deeper = true;
	jump(0);
}

static void nested(int unused)
{
	(void)unused;
	nests = true;
	jump(0);
}

static void altstack(int unused)
{
	stack_t alternate = {.ss_size = 1 << 16};

	(void)unused;
	alternate.ss_sp = malloc(alternate.ss_size);
	if (!alternate.ss_sp || sigaltstack(&alternate, NULL))
		broken("sigaltstack");
	nests = true;
	jump(SA_ONSTACK);
	harm_print("%s the alternate stack",
		   sigaltstack(NULL, &alternate) || alternate.ss_flags ? "on" : "not on");
}

/* A jump out of a call leaves the thread's cancellation state as it was. */
static void *run_cancellable(void *arg)
{
	static volatile int turn, disabled;
	int state;

	(void)arg;
	harm_block(SIG_UNBLOCK, SIGALRM);
	sigsetjmp(back, 1);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	disabled = disabled + (state != PTHREAD_CANCEL_ENABLE);
	jumping = atomic_load(&jumped) < JUMPS;
	for (; jumping; turn = turn + 1) {
		char name[32];

		snprintf(name, sizeof(name), "turn %d", turn); /* new, so that it is interned */
		EMIT(pasta_mark(name));
	}
	after();
	harm_print("jumped; not to be cancelled: %d", disabled);
	atomic_store(&printed, true);
	pause();
	return NULL;
}

static void cancellable(int unused)
{
	pthread_t thread;
	void *result;

	(void)unused;
	harm_block(SIG_BLOCK, SIGALRM);
	harm_handle(SIGALRM, on_tick, 0);
	harm_timer(HZ);
	if (pthread_create(&thread, NULL, run_cancellable, NULL))
		broken("pthread_create");
	while (!atomic_load(&printed))
		harm_nap(1);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	harm_print("%s", result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

static ucontext_t contexts[ROUTINES + 1];
static int turns[ROUTINES];

static void routine(int number)
{
	for (unsigned int i = 0; i < 100; i++) {
		EMIT(pasta_region_begin("routine"));
		harm_call(i);
		turns[number]++;
		swapcontext(&contexts[number], &contexts[number + 1 < ROUTINES ? number + 1 : 0]);
		EMIT(pasta_region_end());
	}
	setcontext(&contexts[ROUTINES]);
}

static void make_routine(int number)
{
	const size_t size = 16384, page = 4096;
	char *at = mmap(NULL, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t *c = &contexts[number];

	if (at == MAP_FAILED || mprotect(at + page, size, PROT_READ | PROT_WRITE) || getcontext(c))
		broken("a stack");
	c->uc_stack.ss_sp = at + page;
	c->uc_stack.ss_size = size;
	makecontext(c, (void (*)(void))routine, 1, number);
}

/* Coroutines switch inside regions. The first call runs on a stack of the smallest size. */
static void coroutines(int unused)
{
	(void)unused;
	for (int i = 0; i < ROUTINES; i++)
		make_routine(i);
	swapcontext(&contexts[ROUTINES], &contexts[0]);
	for (int i = 0; i < ROUTINES; i++)
		harm_print("routine %d: %d turns", i, turns[i]);
	after();
}

static void *run_small(void *arg)
{
	for (unsigned int i = 0; i < 100; i++)
		harm_call(i);
	return arg;
}

/* Threads with the smallest possible stacks; the first makes the process's first call. */
static void small(int unused)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)unused;
	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)))
		broken("pthread_attr_setstacksize");
	for (int i = 0; i < 10; i++) {
		if (pthread_create(&thread, &attr, run_small, NULL))
			broken("pthread_create");
		pthread_join(thread, NULL);
	}
	after();
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"longjmp", longjmps},
		{"deeper", longjmps_deeper},
		{"nested", nested},
		{"altstack", altstack},
		{"cancellable", cancellable},
		{"coroutines", coroutines},
		{"small", small},
		{NULL, NULL},
	};

	return harm_main(argc, argv, modes);
}
