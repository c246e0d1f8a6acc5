/* calls.c - maintains the shared page that shows which callback of a tool each thread of a worker
 * is in. */
#include "process/run/calls.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define ALTSTACK (64 << 10)

static struct pasta_calls *marked;
static pid_t marked_pid;
static __thread size_t own_slot; /* from 1; 0: none */

const char *pasta_phase_name(uint32_t phase)
{
	static const char *const names[] = {
		[PASTA_PHASE_LOAD] = "load",	 [PASTA_PHASE_OPEN] = "open",
		[PASTA_PHASE_EVENT] = "event",	 [PASTA_PHASE_MERGE] = "merge",
		[PASTA_PHASE_REPORT] = "report", [PASTA_PHASE_CLOSE] = "close"};

	return phase && phase < PASTA_PHASES ? names[phase] : "a callback";
}

/* Sets up a separate stack for the signal handler, because the crash may be a stack overflow. */
static void calls_set_stack(void)
{
	void *room =
		mmap(NULL, ALTSTACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = room, .ss_size = ALTSTACK};

	if (room != MAP_FAILED)
		sigaltstack(&stack, NULL);
}

struct pasta_call_slot *pasta_calls_thread(struct pasta_calls *calls, size_t slot)
{
	if (!calls || slot >= PASTA_CALL_SLOTS)
		return NULL;
	own_slot = slot + 1;
	if (marked)
		calls_set_stack();
	return &calls->slots[slot];
}

/* Do nothing in a process that a tool forked, because accelprof does not watch such a process. */
static void calls_mark(void)
{
	if (own_slot && getpid() == marked_pid)
		atomic_store(&marked->ended, (uint32_t)own_slot);
}

/* Handles a fault. SA_RESETHAND has already restored the default action of the signal, so raising
 * the signal again ends the process when this handler returns. */
static void calls_on_fault(int sig)
{
	calls_mark();
	raise(sig);
}

void pasta_calls_mark_ends(struct pasta_calls *calls)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	struct sigaction action = {.sa_handler = calls_on_fault,
				   .sa_flags = SA_RESETHAND | SA_ONSTACK};
	size_t i;

	marked = calls;
	marked_pid = getpid();
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigaction(faults[i], &action, NULL);
	atexit(calls_mark);
}
