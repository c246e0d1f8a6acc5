/* emit.c - emits events on the program's threads, each of which has its own ring. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/producer.h"

/* If a ring stays busy for this time without progress, the call that made it busy was abandoned. A
 * call is abandoned if a signal handler leaves the interrupted call by siglongjmp. */
#define ABANDONED_NS UINT64_C(100000000)
enum {
	/* minimum number of bytes that the kernel pushes for a signal handler */
	SIGNAL_FRAME = 512,
	AHEAD = 512, /* distance in bytes from the head to the memory to prefetch */
	LINE = 64,
};

static pthread_key_t thread_end, main_end;
static _Atomic uint32_t main_watched; /* whether main_ended runs when the main thread ends */
_Thread_local struct producer *pasta_producer_self;

/* -- Rings -- */

void pasta_pusher_open(struct pusher *q, uint32_t tid, uint32_t clock, bool port)
{
	struct pasta_ring *r;

	pthread_mutex_lock(&pasta_state->lock);
	r = pasta_ring_pop(tid, clock, port);
	pthread_mutex_unlock(&pasta_state->lock);
	*q = (struct pusher){.ring = r};
	if (!r)
		return;
	q->head = atomic_load_explicit(&r->head, memory_order_relaxed);
	q->tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	q->pushed = atomic_load_explicit(&r->pushed, memory_order_relaxed);
	q->mask = r->size - 1;
	q->seed = pasta_ring_seed(pasta_state->file, r->source);
	q->check = pasta_writer_running() ? q->head + r->size / 8 : 0;
}

__attribute__((noinline)) void pasta_pusher_check(struct pusher *q)
{
	uint64_t size = q->mask + 1;

	q->tail = atomic_load_explicit(&q->ring->tail, memory_order_acquire);
	q->check = q->head + size / 8;
	if (__builtin_expect(!pasta_writer_running(), 0))
		q->check = pasta_writer_drain(q->head - q->tail > size / 4) ? q->check
									    : q->head + size / 64;
	else if (q->head - q->tail > size / 4)
		pasta_writer_wake();
	if (atomic_load(&pasta_state->sync))
		q->check = 0;
}

/* -- Threads -- */

static void producer_end(void *arg)
{
	struct producer *p = arg;
	bool current = p->gen == atomic_load(&pasta_state->gen);

	/* The pointer is reset before the ring is closed. Another thread may acquire a closed ring,
	 * so a signal handler on this thread must not write to a closed ring. */
	if (pasta_producer_self == p)
		pasta_producer_self = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	if (current && p->push.ring)
		atomic_store_explicit(&p->push.ring->state, PASTA_RING_CLOSED,
				      memory_order_release);
	if (current && !atomic_load_explicit(&main_watched, memory_order_relaxed))
		pasta_writer_check_main();
	pasta_memory_free(p, sizeof(*p));
}

/* Runs when the main thread ends before other threads. The C library calls the program's exit
 * functions when the last thread ends. The writer must not be that last thread, so this function
 * stops the writer. */
static void main_ended(void *arg)
{
	(void)arg;
	pasta_writer_retire();
}

void pasta_emit_watch_main(void)
{
	if (syscall(SYS_gettid) != getpid())
		return;
	pasta_thread_key_set(main_end, pasta_state);
	atomic_store(&main_watched, pthread_getspecific(main_end) != NULL);
}

int pasta_emit_bind(void)
{
	int error = pthread_key_create(&thread_end, producer_end);

	return error ? error : pthread_key_create(&main_end, main_ended);
}

static struct producer *producer_make(void)
{
	struct producer *p;

	/* in a forked child, this producer belongs to the parent's thread */
	if (pasta_producer_self)
		pasta_memory_free(pasta_producer_self, sizeof(*pasta_producer_self));
	pasta_producer_self = NULL;
	if (!pasta_agent_begin())
		return NULL;
	p = pasta_memory_new(sizeof(*p));
	if (!p)
		return NULL;
	p->gen = atomic_load(&pasta_state->gen);
	p->tid = (uint32_t)syscall(SYS_gettid);
	if (!atomic_load_explicit(&main_watched, memory_order_relaxed))
		pasta_emit_watch_main();
	pasta_pusher_open(&p->push, p->tid, PASTA_CLOCK_RAW, false);
	pasta_thread_key_set(thread_end, p);
	pasta_producer_self = p;
	return p;
}

__attribute__((noinline)) struct producer *pasta_producer_new(void)
{
	struct producer *p;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	p = producer_make();
	pasta_guard_leave(&guard);
	return p;
}

/* Returns an address within the calling function's stack frame. This function is fast. */
__attribute__((always_inline)) static inline uintptr_t producer_frame(void)
{
#ifdef __x86_64__
	uintptr_t sp;

	__asm__("mov %%rsp, %0" : "=r"(sp));
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

static bool is_on_stack(const stack_t *stack, uintptr_t frame)
{
	return frame - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* Returns whether the call that is writing to the ring will resume. If so, the calling code is a
 * signal handler that has interrupted that call. A call that siglongjmp has abandoned never
 * resumes. Stacks grow downwards. If the calling frame is not below the busy frame, with room for a
 * signal frame in between, then the calling frame has replaced the busy frame. */
static bool producer_is_interrupted(const struct producer *p, uintptr_t frame)
{
	stack_t other = {.ss_flags = SS_DISABLE};

	sigaltstack(NULL, &other);
	if (!(other.ss_flags & SS_DISABLE) &&
	    is_on_stack(&other, frame) != is_on_stack(&other, p->busy))
		return is_on_stack(&other, frame);
	if (frame + SIGNAL_FRAME >= p->busy)
		return false;
#ifdef __SANITIZE_THREAD__
	/* ThreadSanitizer runs signal handlers later, without a signal frame. */
	return true;
#else
	/* The calling frame is below the busy frame, so the calling code may be a signal
	 * handler. */
	return pasta_frame_check(p->busy) != PASTA_FRAME_LEFT;
#endif
}

/* Makes a busy ring free if the call that was writing to the ring was abandoned. Returns true if
 * the ring is free now. */
__attribute__((noinline)) static bool producer_reclaim(struct producer *p, uintptr_t frame)
{
	struct pasta_guard guard;
	uint64_t now = pasta_now();
	bool interrupted;

	/* Without a guard, a signal handler that jumps out of the unwinder could leave the
	 * unwinder's lock held. */
	pasta_guard_enter(&guard);
	interrupted = producer_is_interrupted(p, frame);
	pasta_guard_leave(&guard);
	if (interrupted && (!p->refused_at || p->refused_head != p->push.head)) {
		p->refused_at = now;
		p->refused_head = p->push.head;
	}
	if (interrupted && now - p->refused_at < ABANDONED_NS)
		return false;
	p->refused_at = 0;
	p->push.head = atomic_load_explicit(&p->push.ring->head, memory_order_relaxed);
	p->push.pushed = atomic_load_explicit(&p->push.ring->pushed, memory_order_relaxed);
	p->busy = 0;
	return true;
}

/* Marks the ring as busy, with the caller's stack frame. Returns false if the ring cannot be
 * written to now. */
static inline bool producer_acquire(struct producer *p, uintptr_t frame)
{
	if (__builtin_expect(!p || !p->push.ring || (p->busy && !producer_reclaim(p, frame)), 0))
		return false;
	p->busy = frame;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void producer_release(struct producer *p)
{
	atomic_signal_fence(memory_order_seq_cst);
	p->busy = 0;
}

/* Returns the reason why producer_acquire failed. */
static enum pasta_loss_sub producer_loss_reason(const struct producer *p)
{
	return !p ? PASTA_LOSS_CLOSED : !p->push.ring ? PASTA_LOSS_MEMORY : PASTA_LOSS_NESTED;
}

/* Counts the events of a call as dropped. The call's ring was reclaimed, because a signal handler
 * had interrupted the call for longer than ABANDONED_NS. */
__attribute__((noinline, cold)) static void drop_reclaimed(uint64_t n)
{
	pasta_count_loss(PASTA_LOSS_NESTED, n);
}

__attribute__((noinline)) static void drop_full(const struct pusher *q, uint64_t n)
{
	pusher_drop(q, PASTA_LOSS_FULL, n);
	if (pasta_writer_running())
		pasta_writer_wake();
}

/* Emits an event when the fast path cannot emit it: the thread has no ring yet, or its ring is
 * busy, is full or wraps around. */
__attribute__((noinline)) static void emit_slow(const struct pasta_event *ev, uint32_t tid,
						uintptr_t frame)
{
	struct producer *p = producer_get();
	uint64_t size = ev->size, pad;
	bool check = false;
	char *to;

	if (!producer_acquire(p, frame)) {
		pasta_count_loss(producer_loss_reason(p), 1);
		return;
	}
	to = pusher_room(&p->push, size, &pad);
	if (to) {
		pusher_copy(to, ev, tid ? tid : p->tid, size, p->push.seed, p->push.head + pad);
		check = pusher_publish(&p->push, p->push.head, pad + size, 1);
	} else {
		drop_full(&p->push, 1);
	}
	producer_release(p);
	if (check)
		pasta_pusher_check(&p->push);
}

/* Emits an event for the thread `tid`, or for the calling thread if tid is 0. The slow paths are
 * tail calls, so that the fast path saves no registers. */
__attribute__((always_inline)) static inline void emit(const struct pasta_event *ev, uint32_t tid)
{
	const uintptr_t frame = producer_frame();
	struct producer *p = pasta_producer_self;
	uint64_t size = ev->size, head, off;
	struct pusher *q;
	char *to;
	bool check;

	if (__builtin_expect(!producer_is_current(p) || !p->push.ring || p->busy, 0)) {
		emit_slow(ev, tid, frame);
		return;
	}
	/* The ring is marked as busy before its head is read, because a signal handler may move the
	 * head. */
	p->busy = frame;
	atomic_signal_fence(memory_order_seq_cst);
	q = &p->push;
	head = q->head;
	off = head & q->mask;
	if (__builtin_expect(off + size > q->mask || head + size - q->tail > q->mask, 0)) {
		producer_release(p);
		emit_slow(ev, tid, frame);
		return;
	}
	to = (char *)q->ring + PASTA_RING_DATA + off;
	/* The cache lines of later records are prefetched, because the writer has read them and
	 * they are in another core's cache. */
	__builtin_prefetch(to + AHEAD, 1);
	pusher_copy(to, ev, tid ? tid : p->tid, size, q->seed, head);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(p->busy != frame, 0)) {
		drop_reclaimed(1);
		return;
	}
	check = pusher_publish(q, head, size, 1);
	producer_release(p);
	if (__builtin_expect(check, 0))
		pasta_pusher_check(q);
}

void pasta_emit(struct pasta_event *ev)
{
	emit(ev, 0);
}

void pasta_emit_for(struct pasta_event *ev, uint32_t tid)
{
	emit(ev, tid);
}

void pasta_batch_open(struct pasta_batch *b, size_t size)
{
	struct producer *p = producer_get();

	b->count = b->dropped = 0;
	if (!producer_acquire(p, producer_frame())) {
		b->begin = b->at = b->end = NULL;
		b->tid = 0;
		b->why = producer_loss_reason(p);
		return;
	}
	b->producer = p;
	b->why = PASTA_LOSS_FULL;
	b->tid = p->tid;
	b->begin = b->at = size <= PASTA_BATCH_MAX ? pusher_room(&p->push, size, &b->pad) : NULL;
	b->end = b->begin ? b->begin + size : NULL;
}

void pasta_batch_close(struct pasta_batch *b)
{
	uint64_t size = (uint64_t)(b->at - b->begin), at;
	struct producer *p;
	bool check = false;

	if (b->why != PASTA_LOSS_FULL) {
		if (b->dropped)
			pasta_count_loss(b->why, b->dropped);
		return;
	}
	p = b->producer;
	if (__builtin_expect(!p->busy, 0)) {
		drop_reclaimed(b->count + b->dropped);
		return;
	}
	for (uint64_t i = 0; i < size; i += LINE)
		/* The cache lines of later records are prefetched, as in the function emit. */
		__builtin_prefetch(b->at + AHEAD + i, 1);
	at = p->push.head + b->pad;
	for (char *record = b->begin; record < b->at;) {
		struct pasta_event *ev = (void *)record;

		pusher_seal(&p->push, ev, at);
		at += ev->size;
		record += ev->size;
	}
	if (b->count)
		check = pusher_publish(&p->push, p->push.head, b->pad + size, b->count);
	if (__builtin_expect(b->dropped, 0))
		drop_full(&p->push, b->dropped);
	producer_release(p);
	if (check)
		pasta_pusher_check(&p->push);
}

void *pasta_record_room(size_t size)
{
	struct producer *p = producer_get();
	uint64_t pad;
	void *to;

	if (!producer_acquire(p, producer_frame())) {
		pasta_count_loss(producer_loss_reason(p), 1);
		return NULL;
	}
	to = pusher_room(&p->push, size, &pad);
	if (__builtin_expect(to != NULL, 1)) {
		p->push.head += pad; /* the padding is published together with the record */
		return to;
	}
	drop_full(&p->push, 1);
	producer_release(p);
	return NULL;
}

void pasta_record_close(struct pasta_event *ev)
{
	struct producer *p = pasta_producer_self;
	uint64_t size = ev->size;
	bool check;

	if (__builtin_expect(!p->busy, 0)) {
		drop_reclaimed(1);
		return;
	}
	ev->tid = p->tid;
	/* The cache lines of later records are prefetched, as in the function emit. */
	__builtin_prefetch((char *)ev + AHEAD, 1);
	__builtin_prefetch((char *)ev + AHEAD + LINE, 1);
	pusher_seal(&p->push, ev, p->push.head);
	check = pusher_publish(&p->push, p->push.head, size, 1);
	producer_release(p);
	if (check)
		pasta_pusher_check(&p->push);
}

void pasta_emit_name(uint32_t tid, uint32_t name)
{
	struct producer *p = producer_get();
	struct pasta_event ev;
	struct pasta_guard guard;

	/* Clears the thread's system name in the ring. If the ring still contained that name, the
	 * writer would emit the system name after the new name. */
	if (p && p->push.ring && (!tid || tid == p->tid)) {
		pasta_guard_enter(&guard);
		pthread_mutex_lock(&pasta_state->lock);
		p->push.ring->name[0] = '\0';
		pthread_mutex_unlock(&pasta_state->lock);
		pasta_guard_leave(&guard);
	}
	pasta_event_init(&ev, PASTA_KIND_THREAD, 0, PASTA_EVENT_SIZE(thread));
	ev.thread.name = name;
	ev.time = pasta_now();
	emit(&ev, tid);
}

void pasta_emit_loss(enum pasta_loss_sub reason, uint64_t count)
{
	struct producer *p = producer_get();

	if (p && p->push.ring)
		pusher_drop(&p->push, reason, count);
	else
		pasta_count_loss(reason, count);
}

void pasta_emit_check_soon(void)
{
	if (pasta_producer_self)
		pasta_producer_self->push.check = 0;
}

uint32_t pasta_agent_tid(void)
{
	struct producer *p = producer_get();

	return p ? p->tid : (uint32_t)syscall(SYS_gettid);
}
