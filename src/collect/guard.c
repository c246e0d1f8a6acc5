/* guard.c - protects the agent's work on the program's threads from signals and cancellation,
 * and runs work on files with a separate descriptor table. */
#include "collect/guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "collect/state.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
	STACK = 512 << 10,
	FRAMES = 1024, /* maximum number of frames that are unwound */
	/* for keys from this number on, pthread_setspecific of glibc allocates memory */
	KEYS_INLINE = 32,
	/* maximum number of descriptors that are closed one by one if close_range is missing */
	CLOSE_MOST = 65536
};

/* Signals are blocked first, and pasta_guard_leave unblocks them last. A pending signal is often
 * delivered when signals are unblocked. If its handler leaves by siglongjmp, cancellation must
 * already be in the state that the program has set. */
void pasta_guard_enter(struct pasta_guard *g)
{
	sigset_t all;

	g->error = errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &g->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &g->type);
}

static void guard_unblock(void *arg)
{
	const struct pasta_guard *g = arg;

	pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
}

/* If the program's cancellation type is asynchronous, restoring the type must trigger a pending
 * cancellation. If restoring the state triggers the cancellation, glibc does not report the
 * cancellation to pthread_join. The program's cleanup handlers run with the program's own signal
 * mask. */
void pasta_guard_leave(const struct pasta_guard *g)
{
	errno = g->error;
	pthread_setcancelstate(g->cancel, NULL);
	if (g->type == PTHREAD_CANCEL_ASYNCHRONOUS) {
		pthread_cleanup_push(guard_unblock, (void *)g);
		pthread_setcanceltype(g->type, NULL);
		pthread_cleanup_pop(0);
	}
	pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
}

/* -- Descriptors -- */

#ifdef __SANITIZE_THREAD__
bool pasta_guard_tsan = true;
#else
bool pasta_guard_tsan;
#endif

void pasta_guard_bind(void)
{
	pasta_guard_tsan |= dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

static void guard_close_all(void)
{
	struct rlimit most = {.rlim_cur = CLOSE_MOST};

	getrlimit(RLIMIT_NOFILE, &most);
	for (rlim_t fd = 0; fd < most.rlim_cur && fd < CLOSE_MOST; fd++)
		close((int)fd);
}

bool pasta_files_own(void)
{
	if (pasta_guard_tsan)
		return false;
	if (!syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE))
		return true;
	if (unshare(CLONE_FILES))
		return false;
	/* The copied descriptors are closed, because the reader of a pipe sees no end of file as
	 * long as a copy of the pipe's write end is open. */
	guard_close_all();
	return true;
}

struct aside {
	int (*work)(void *arg);
	void *arg;
	int result;
	bool done;
};

static int guard_aside(void *arg)
{
	struct aside *a = arg;

	if (pasta_files_own()) {
		a->result = a->work(a->arg);
		a->done = true;
	}
	return 0;
}

/* Runs work on the calling thread. A write past the file-size limit raises SIGXFSZ in the writing
 * thread. If the helper thread of pasta_aside writes, the pending signal ends with that thread. The
 * calling thread must remove the pending signal, unless a SIGXFSZ was pending before. */
static int guard_in_place(int (*work)(void *arg), void *arg)
{
	const struct timespec now = {0};
	sigset_t limit, before, after;
	int result;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigpending(&before);
	result = work(arg);
	sigpending(&after);
	if (!sigismember(&before, SIGXFSZ) && sigismember(&after, SIGXFSZ))
		sigtimedwait(&limit, NULL, &now);
	return result;
}

#if defined(__x86_64__) || defined(__aarch64__)
enum { WAIT = CLONE_CHILD_CLEARTID };

/* Waits until the helper thread ends; the kernel then clears the futex word. The helper thread has
 * the same thread pointer as this thread, so this function must not use anything of the C library,
 * not even errno. */
static inline void guard_wait(const uint32_t *word)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE)) {
#ifdef __x86_64__
		long result = SYS_futex;
		register long timeout __asm__("r10") = 0;

		__asm__ volatile("syscall"
				 : "+a"(result)
				 : "D"(word), "S"((long)FUTEX_WAIT), "d"(1L), "r"(timeout)
				 : "rcx", "r11", "memory");
#else
		register long number __asm__("x8") = SYS_futex;
		register long result __asm__("x0") = (long)word;
		register long op __asm__("x1") = FUTEX_WAIT, value __asm__("x2") = 1;
		register long timeout __asm__("x3") = 0;

		__asm__ volatile("svc 0"
				 : "+r"(result)
				 : "r"(number), "r"(op), "r"(value), "r"(timeout)
				 : "memory");
#endif
	}
}
#else
enum { WAIT = CLONE_VFORK };

static inline void guard_wait(const uint32_t *word)
{
	(void)word;
}
#endif

/*
 * Runs work on a helper thread, which the C library does not know, as it does not know the child of
 * posix_spawn. The helper thread shares memory and thread pointer with the calling thread, which
 * does not run in the meantime. Because the helper is a thread and not a child process, it raises
 * no SIGCHLD, and wait functions do not find it. The calling thread waits for a futex, so that a
 * SIGSTOP can stop it. With CLONE_VFORK, a SIGSTOP would stop only the helper thread, and the
 * parent process would not be notified. A guard does not block the signals that the C library uses
 * itself, so this function blocks them.
 */
int pasta_aside(int (*work)(void *arg), void *arg)
{
	const uint64_t all = ~UINT64_C(0);
	struct aside a = {.work = work, .arg = arg};
	uint32_t runs = 1;
	uint64_t mask;
	char *stack = MAP_FAILED;

	if (!pasta_guard_tsan)
		stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (stack != MAP_FAILED) {
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
		if (clone(guard_aside, stack + STACK,
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				  CLONE_SYSVSEM | WAIT,
			  &a, NULL, NULL, &runs) > 0)
			guard_wait(&runs);
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
		munmap(stack, STACK);
	}
	return a.done ? a.result : guard_in_place(work, arg);
}

/* -- Signal handlers -- */

struct unwound {
	uintptr_t until; /* frame after which to stop; 0 for the outermost frame */
	bool handler;	 /* whether a signal frame was found */
	bool whole; /* whether unwinding has reached the frame `until`, or the outermost frame */
	unsigned int frames;
};

static _Unwind_Reason_Code guard_step(struct _Unwind_Context *context, void *arg)
{
	struct unwound *p = arg;
	int interrupted = 0;
	_Unwind_Ptr pc = _Unwind_GetIPInfo(context, &interrupted);

	/* In a frame that a signal has interrupted, the address is the address of the interrupted
	 * instruction; in other frames, the address is a return address. */
	p->handler = p->handler || interrupted;
	p->whole = !pc || (p->until && _Unwind_GetCFA(context) > p->until);
	return p->handler || p->whole || ++p->frames > FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool pasta_may_allocate(void)
{
	struct unwound p = {0};

	_Unwind_Backtrace(guard_step, &p);
	/* A stack cannot be unwound to its end if unwinding tables are missing. Vendors' code may
	 * lack these tables; callbacks from such code may allocate. */
	return !p.handler && (p.whole || pasta_config.vendor);
}

enum pasta_frame_state pasta_frame_check(uintptr_t frame)
{
	struct unwound p = {.until = frame};

	_Unwind_Backtrace(guard_step, &p);
	return p.handler ? PASTA_FRAME_INTERRUPTED
	       : p.whole ? PASTA_FRAME_LEFT
			 : PASTA_FRAME_UNKNOWN;
}

void pasta_thread_key_set(pthread_key_t key, const void *value)
{
	if (key < KEYS_INLINE || pasta_may_allocate())
		pthread_setspecific(key, value);
}
