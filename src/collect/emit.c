/* emit.c - the two ways to emit: a ring of each thread of the program, and ports of vendors. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/stack.h"
#include "collect/state.h"
#include "core/lock.h"

#define PORT_WAIT_NS 100000000L
#define PORT_STALL_NS 1000000000L
#define PORT_NAP_NS 200000L
#define LEFT_NS UINT64_C(100000000) /* no emit is under way for so long */
#define STACK_SHARE 8		    /* call paths take at most this part of the memory */
enum {
	CACHE = 256,
	KNOWN = 1024,
	PEEKS = 64,
	SIGNAL_FRAME = 512, /* at least: registers and a signal's description */
	AHEAD = 512,
	LINE = 64,
};

/* The end of a ring where events go in. */
struct pusher {
	struct pasta_ring *ring; /* NULL: there was no memory for one */
	uint64_t head, tail, check, mask, pushed, seed;
};

/* A thread of the program. Plain pages: a child that forks finds its parent's gen here. */
struct producer {
	struct pusher push;
	uint32_t gen, tid;
	uintptr_t busy; /* the frame of the call that is writing to the ring; 0: there is none */
	uint64_t refused_at, refused_head; /* when a call first found it so, and the head then */
	uint32_t changes, peeks; /* of what follows: how often it changed, and was asked */
	struct {
		const char *text;
		const struct pasta_string *entry;
		uint32_t id;
	} cache[CACHE];
	struct {
		const struct pasta_string *entry;
		uint32_t id;
	} known[KNOWN]; /* by what the text is, wherever it is; one of two places */
};

struct pasta_port {
	pthread_mutex_t lock;
	struct pusher push;
	long patience; /* ns to wait in all, until there is room again */
};

static pthread_key_t thread_end;
/* Small, and of the initial-exec kind: the agent is loaded late. */
static _Thread_local struct producer *self;
static pthread_key_t main_end;
static _Atomic uint32_t main_watched; /* its end will be seen */

/* -- Rings -- */

static void pusher_open(struct pusher *q, struct pasta_ring *r)
{
	*q = (struct pusher){.ring = r};
	if (!r)
		return;
	q->head = atomic_load_explicit(&r->head, memory_order_relaxed);
	q->tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	q->pushed = atomic_load_explicit(&r->pushed, memory_order_relaxed);
	q->mask = r->size - 1;
	q->seed = pasta_ring_seed(pasta_state->file, r->source);
	q->check = pasta_writer_attended() ? q->head + r->size / 8 : 0;
}

/* Now and then: see how full the ring is, and have the writer come in time. */
__attribute__((noinline)) static void pusher_look(struct pusher *q)
{
	uint64_t size = q->mask + 1;

	q->tail = atomic_load_explicit(&q->ring->tail, memory_order_acquire);
	q->check = q->head + size / 8;
	if (__builtin_expect(!pasta_writer_attended(), 0))
		q->check = pasta_writer_drain(q->head - q->tail > size / 4) ? q->check
									    : q->head + size / 64;
	else if (q->head - q->tail > size / 4)
		pasta_writer_wake();
	if (atomic_load(&pasta_state->sync))
		q->check = 0;
}

static inline bool pusher_has_room(struct pusher *q, uint64_t need)
{
	if (q->head + need - q->tail <= q->mask + 1)
		return true;
	q->tail = atomic_load_explicit(&q->ring->tail, memory_order_acquire);
	return q->head + need - q->tail <= q->mask + 1;
}

/* Where size bytes can go, in one piece, after so many that only fill up the end; NULL: full. */
static inline char *pusher_room(struct pusher *q, uint64_t size, uint64_t *pad)
{
	uint64_t off = q->head & q->mask, filler;
	char *data = (char *)q->ring + PASTA_RING_DATA;

	*pad = off + size > q->mask + 1 ? q->mask + 1 - off : 0;
	if (!pusher_has_room(q, *pad + size))
		return NULL;
	if (!*pad)
		return data + off;
	filler = *pad; /* its size; kind and sub are 0 */
	memcpy(data + off, &filler, sizeof(filler));
	return data;
}

/* The records are whole before the head moves past them. True: it is time for pusher_look. */
static inline bool pusher_publish(struct pusher *q, uint64_t head, uint64_t size, uint64_t count)
{
	struct pasta_ring *r = q->ring;
	uint64_t pushed = q->pushed + count;

	head += size;
	q->head = head;
	q->pushed = pushed;
	atomic_store_explicit(&r->head, head, memory_order_release);
	atomic_store_explicit(&r->pushed, pushed, memory_order_relaxed);
	return __builtin_expect(head >= q->check, 0);
}

/* A record, with its words summed up on their way. */
static inline void pusher_copy(char *to, const struct pasta_event *ev, uint32_t tid, uint64_t size,
			       uint64_t seed, uint64_t at)
{
	const char *from = (const char *)ev;
	uint32_t first = pasta_check_half(from);
	struct pasta_check c = pasta_check_begin(seed, at, first, tid, ev->time);
	uint64_t word, check;

	word = first | (uint64_t)tid << 32;
	memcpy(to, &word, 8);
	memcpy(to + 8, &ev->time, 8);
	for (uint64_t i = PASTA_RECORD_CHECK + 8; i < size; i += 8) {
		uint32_t low = pasta_check_half(from + i), high = pasta_check_half(from + i + 4);

		memcpy(to + i, &low, 4);
		memcpy(to + i + 4, &high, 4);
		pasta_check_add(&c, low, high);
	}
	check = pasta_check_end(&c);
	memcpy(to + PASTA_RECORD_CHECK, &check, 8);
}
_Static_assert(offsetof(struct pasta_event, tid) == 4 && offsetof(struct pasta_event, time) == 8 &&
		       offsetof(struct pasta_event, proc) == PASTA_RECORD_CHECK,
	       "as they are copied");

/* The same for one that was made in its place. */
static inline void pusher_seal(const struct pusher *q, struct pasta_event *ev, uint64_t at)
{
	uint64_t check = pasta_record_check(q->seed, at, ev);

	memcpy((char *)ev + PASTA_RECORD_CHECK, &check, 8);
}

/* A handler may come, and count as well. */
static void pusher_drop(const struct pusher *q, enum pasta_loss_sub reason, uint64_t n)
{
	pasta_sealed_add(&q->ring->dropped[reason], reason, n);
}

/* -- The calling thread's ring -- */

static struct pasta_ring *take_ring(uint32_t tid, uint32_t clock, bool port)
{
	struct pasta_ring *r;

	pthread_mutex_lock(&pasta_state->lock);
	r = pasta_ring_pop(tid, clock, port);
	pthread_mutex_unlock(&pasta_state->lock);
	return r;
}

static void producer_end(void *arg)
{
	struct producer *p = arg;
	bool current = p->gen == atomic_load(&pasta_state->gen);

	/* First: a handler that comes now must not push into what another thread may take. */
	if (self == p)
		self = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	if (current && p->push.ring)
		atomic_store_explicit(&p->push.ring->state, PASTA_RING_CLOSED,
				      memory_order_release);
	if (current && !atomic_load_explicit(&main_watched, memory_order_relaxed))
		pasta_writer_look_for_main();
	pasta_memory_free(p, sizeof(*p));
}

/* The main thread comes here only if it ends before the others. While the writer runs, the C
 * library takes no other thread for the last, and the program's functions for its end are not
 * called. */
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

	if (self) /* a forked child's, of its parent */
		pasta_memory_free(self, sizeof(*self));
	self = NULL;
	if (!pasta_agent_begin())
		return NULL;
	p = pasta_memory_new(sizeof(*p));
	if (!p)
		return NULL;
	p->gen = atomic_load(&pasta_state->gen);
	p->tid = (uint32_t)syscall(SYS_gettid);
	if (!atomic_load_explicit(&main_watched, memory_order_relaxed))
		pasta_emit_watch_main();
	pusher_open(&p->push, take_ring(p->tid, PASTA_CLOCK_RAW, false));
	pasta_thread_key_set(thread_end, p);
	self = p;
	return p;
}

__attribute__((noinline)) static struct producer *producer_new(void)
{
	struct producer *p;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	p = producer_make();
	pasta_guard_leave(&guard);
	return p;
}

/* It is this process's. */
static inline bool producer_is_current(const struct producer *p)
{
	return p && p->gen == atomic_load_explicit(&pasta_state->gen, memory_order_relaxed);
}

/* The calling thread's, or NULL: it has none, and can have none now. */
static inline struct producer *producer_get(void)
{
	struct producer *p = self;

	return __builtin_expect(producer_is_current(p), 1) ? p : producer_new();
}

/* Where the calling function's frame is, cheaply. */
static inline __attribute__((always_inline)) uintptr_t producer_frame(void)
{
#ifdef __x86_64__
	uintptr_t sp;

	__asm__("mov %%rsp, %0" : "=r"(sp));
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

static bool is_on(const stack_t *stack, uintptr_t frame)
{
	return frame - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* Whether the call that was writing to the ring is still under way, interrupted by a handler that
 * called us. A call that was left by siglongjmp never ends: stacks grow downwards, so a frame that
 * is not below its own, with what the kernel puts there for a handler between, has replaced it. */
static bool is_under_way(const struct producer *p, uintptr_t frame)
{
	stack_t other = {.ss_flags = SS_DISABLE};

	sigaltstack(NULL, &other);
	if (!(other.ss_flags & SS_DISABLE) && is_on(&other, frame) != is_on(&other, p->busy))
		return is_on(&other, frame);
	if (frame + SIGNAL_FRAME >= p->busy)
		return false;
#ifdef __SANITIZE_THREAD__
	return true; /* it calls handlers itself, later: there is no frame of a signal */
#else
	return pasta_frame_look(p->busy) != PASTA_FRAME_LEFT; /* a deeper one may be a handler's */
#endif
}

/* The ring is not free; true: it is now, for the call that had it has been left. */
__attribute__((noinline)) static bool producer_retake(struct producer *p, uintptr_t frame)
{
	struct pasta_guard guard;
	uint64_t now = pasta_now();
	bool under_way;

	pasta_guard_enter(&guard); /* an unwinder that is left by a jump, too, may keep a lock */
	under_way = is_under_way(p, frame);
	pasta_guard_leave(&guard);
	if (under_way && (!p->refused_at || p->refused_head != p->push.head)) {
		p->refused_at = now;
		p->refused_head = p->push.head;
	}
	if (under_way && now - p->refused_at < LEFT_NS)
		return false;
	p->refused_at = 0;
	p->push.head = atomic_load_explicit(&p->push.ring->head, memory_order_relaxed);
	p->push.pushed = atomic_load_explicit(&p->push.ring->pushed, memory_order_relaxed);
	p->busy = 0;
	return true;
}

/* Take the ring for the calling frame. False: nothing can go in now. */
static inline bool producer_take(struct producer *p, uintptr_t frame)
{
	if (__builtin_expect(!p || !p->push.ring || (p->busy && !producer_retake(p, frame)), 0))
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

/* Why nothing can go in now. */
static enum pasta_loss_sub refusal(const struct producer *p)
{
	return !p ? PASTA_LOSS_CLOSED : !p->push.ring ? PASTA_LOSS_MEMORY : PASTA_LOSS_NESTED;
}

/* The ring was taken from a call that came back after all, out of a handler that ran for long. */
__attribute__((noinline, cold)) static void refuse_taken(uint64_t n)
{
	pasta_count_lost(PASTA_LOSS_NESTED, n);
}

__attribute__((noinline)) static void refuse_full(const struct pusher *q, uint64_t n)
{
	pusher_drop(q, PASTA_LOSS_FULL, n);
	if (pasta_writer_attended())
		pasta_writer_wake();
}

/* There is no ring yet, or its end is near, or it may be full or taken. */
__attribute__((noinline)) static void emit_slowly(const struct pasta_event *ev, uint32_t tid,
						  uintptr_t frame)
{
	struct producer *p = producer_get();
	uint64_t size = ev->size, pad;
	bool look = false;
	char *to;

	if (!producer_take(p, frame)) {
		pasta_count_lost(refusal(p), 1);
		return;
	}
	to = pusher_room(&p->push, size, &pad);
	if (to) {
		pusher_copy(to, ev, tid ? tid : p->tid, size, p->push.seed, p->push.head + pad);
		look = pusher_publish(&p->push, p->push.head, pad + size, 1);
	} else {
		refuse_full(&p->push, 1);
	}
	producer_release(p);
	if (look)
		pusher_look(&p->push);
}

/* tid 0: the calling thread's. What is rare is called last, so that nothing has to be saved. */
static inline __attribute__((always_inline)) void emit(const struct pasta_event *ev, uint32_t tid)
{
	const uintptr_t frame = producer_frame();
	struct producer *p = self;
	uint64_t size = ev->size, head, off;
	struct pusher *q;
	char *to;
	bool look;

	if (__builtin_expect(!producer_is_current(p) || !p->push.ring || p->busy, 0)) {
		emit_slowly(ev, tid, frame);
		return;
	}
	p->busy = frame; /* before the head is read: a handler may move it */
	atomic_signal_fence(memory_order_seq_cst);
	q = &p->push;
	head = q->head;
	off = head & q->mask;
	if (__builtin_expect(off + size > q->mask || head + size - q->tail > q->mask, 0)) {
		producer_release(p);
		emit_slowly(ev, tid, frame);
		return;
	}
	to = (char *)q->ring + PASTA_RING_DATA + off;
	/* The writer has read what lies ahead: have it back before it is needed. */
	__builtin_prefetch(to + AHEAD, 1);
	pusher_copy(to, ev, tid ? tid : p->tid, size, q->seed, head);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(p->busy != frame, 0)) {
		refuse_taken(1);
		return;
	}
	look = pusher_publish(q, head, size, 1);
	producer_release(p);
	if (__builtin_expect(look, 0))
		pusher_look(q);
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

	b->count = b->lost = 0;
	if (!producer_take(p, producer_frame())) {
		b->begin = b->at = b->end = NULL;
		b->tid = 0;
		b->why = refusal(p);
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
	bool look = false;

	if (b->why != PASTA_LOSS_FULL) {
		if (b->lost)
			pasta_count_lost(b->why, b->lost);
		return;
	}
	p = b->producer;
	if (__builtin_expect(!p->busy, 0)) {
		refuse_taken(b->count + b->lost);
		return;
	}
	for (uint64_t i = 0; i < size; i += LINE)
		__builtin_prefetch(b->at + AHEAD + i, 1); /* as in emit */
	at = p->push.head + b->pad;
	for (char *record = b->begin; record < b->at;) {
		struct pasta_event *ev = (void *)record;

		pusher_seal(&p->push, ev, at);
		at += ev->size;
		record += ev->size;
	}
	if (b->count)
		look = pusher_publish(&p->push, p->push.head, b->pad + size, b->count);
	if (__builtin_expect(b->lost, 0))
		refuse_full(&p->push, b->lost);
	producer_release(p);
	if (look)
		pusher_look(&p->push);
}

void *pasta_record_room(size_t size)
{
	struct producer *p = producer_get();
	uint64_t pad;
	void *to;

	if (!producer_take(p, producer_frame())) {
		pasta_count_lost(refusal(p), 1);
		return NULL;
	}
	to = pusher_room(&p->push, size, &pad);
	if (__builtin_expect(to != NULL, 1)) {
		p->push.head += pad; /* published with the record */
		return to;
	}
	refuse_full(&p->push, 1);
	producer_release(p);
	return NULL;
}

void pasta_record_close(struct pasta_event *ev)
{
	struct producer *p = self;
	uint64_t size = ev->size;
	bool look;

	if (__builtin_expect(!p->busy, 0)) {
		refuse_taken(1);
		return;
	}
	ev->tid = p->tid;
	__builtin_prefetch((char *)ev + AHEAD, 1); /* as in emit */
	__builtin_prefetch((char *)ev + AHEAD + LINE, 1);
	pusher_seal(&p->push, ev, p->push.head);
	look = pusher_publish(&p->push, p->push.head, size, 1);
	producer_release(p);
	if (look)
		pusher_look(&p->push);
}

void pasta_emit_name(uint32_t tid, uint32_t name)
{
	struct producer *p = producer_get();
	struct pasta_event ev;
	struct pasta_guard guard;

	/* What the system calls the thread must not come later, and win. */
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
		pasta_count_lost(reason, count);
}

void pasta_emit_look_soon(void)
{
	if (self)
		self->push.check = 0;
}

uint32_t pasta_agent_tid(void)
{
	struct producer *p = producer_get();

	return p ? p->tid : (uint32_t)syscall(SYS_gettid);
}

/* -- Ports -- */

struct pasta_port *pasta_port_open(uint32_t clock)
{
	struct pasta_port *port = NULL;
	struct pasta_ring *r;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	if (pasta_agent_begin())
		port = pasta_memory_new(sizeof(*port));
	r = port ? take_ring(0, clock, true) : NULL;
	if (r) {
		pusher_open(&port->push, r);
		port->patience = PORT_STALL_NS;
	} else {
		pasta_memory_free(port, sizeof(*port));
		port = NULL;
	}
	pasta_guard_leave(&guard);
	return port;
}

/* Wait for the writer, within what is left of the time; false: it is used up. Where the disk hangs,
 * who pushes a million events is not to wait for each of them. */
static bool port_nap(struct pasta_port *port, long *left)
{
	const struct timespec t = {.tv_nsec = PORT_NAP_NS};

	if (*left <= 0 || port->patience <= 0)
		return false;
	if (pasta_writer_attended())
		pasta_writer_wake();
	else
		pasta_writer_drain(true);
	pasta_nap(&t);
	*left -= PORT_NAP_NS;
	port->patience -= PORT_NAP_NS;
	return true;
}

/* False: full. */
static bool port_put(struct pusher *q, const struct pasta_event *ev)
{
	uint64_t size = ev->size, pad;
	char *to = pusher_room(q, size, &pad);

	if (!to)
		return false;
	pusher_copy(to, ev, ev->tid, size, q->seed, q->head + pad);
	if (pusher_publish(q, q->head, pad + size, 1))
		pusher_look(q);
	return true;
}

size_t pasta_port_push(struct pasta_port *port, const void *records, size_t size)
{
	long left = PORT_WAIT_NS;
	size_t dropped = 0;

	pasta_lock(&port->lock);
	for (size_t at = 0; at < size;) {
		const struct pasta_event *ev = (const void *)((const char *)records + at);

		if (port_put(&port->push, ev)) {
			port->patience = PORT_STALL_NS;
		} else if (port_nap(port, &left)) {
			continue;
		} else {
			pusher_drop(&port->push, PASTA_LOSS_FULL, 1);
			dropped++;
		}
		at += ev->size;
	}
	pasta_unlock(&port->lock);
	return dropped;
}

void pasta_port_watermark(struct pasta_port *port, uint64_t time)
{
	atomic_store(&port->push.ring->watermark, time);
}

/* -- Names -- */

/* Under a guard: a handler that interrupted its own thread here must not find the lock taken. */
static uint32_t intern(const void *bytes, size_t size, const struct pasta_string **entry)
{
	uint32_t id;

	pthread_mutex_lock(&pasta_state->lock);
	id = pasta_intern_locked(bytes, size, entry);
	pthread_mutex_unlock(&pasta_state->lock);
	return id;
}

uint32_t pasta_intern(const void *bytes, size_t size)
{
	const struct pasta_string *entry;
	struct pasta_guard guard;
	uint32_t id;

	if (!producer_get())
		return 0;
	pasta_guard_enter(&guard);
	id = intern(bytes, size, &entry);
	pasta_guard_leave(&guard);
	return id;
}

uint32_t pasta_intern_stack(const void *bytes, size_t size)
{
	struct pasta_state *s = pasta_state;
	const struct pasta_string *entry = NULL;
	struct pasta_guard guard;
	uint32_t id = 0;
	size_t count;

	if (!producer_get())
		return 0;
	pasta_guard_enter(&guard);
	pthread_mutex_lock(&s->lock);
	count = s->strings_count;
	if (s->stack_bytes + size <= pasta_config.memory / STACK_SHARE)
		id = pasta_intern_locked(bytes, size, &entry);
	if (s->strings_count != count)
		s->stack_bytes += size;
	pthread_mutex_unlock(&s->lock);
	pasta_guard_leave(&guard);
	return entry ? id : 0;
}

static bool is_same(const char *text, const struct pasta_string *entry)
{
	return !strncmp(text, (const char *)entry->bytes, entry->size) && text[entry->size] == '\0';
}

static bool may_be(const char *text, const struct pasta_string *entry)
{
	return !entry || is_same(text, entry);
}

/* A text's place among the known, or where it is to be. */
static size_t known_at(const struct producer *p, const char *text, size_t size)
{
	size_t at = XXH3_64bits(text, size) % KNOWN;

	if (!may_be(text, p->known[at].entry) && may_be(text, p->known[at ^ 1].entry))
		return at ^ 1;
	return at;
}

/*
 * What a thread remembers of names changes under a guard alone, so that it is never half changed.
 * Who reads it may be interrupted by a handler that changes it: then the count of changes differs,
 * and what was read may be of two names.
 */
static inline uint32_t names_begin(const struct producer *p)
{
	uint32_t changes = p->changes;

	atomic_signal_fence(memory_order_seq_cst);
	return changes;
}

static inline bool names_changed(const struct producer *p, uint32_t changes)
{
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(p->changes != changes, 0);
}

/* Text that is made anew each time has another address, or is another at the same one. */
static uint32_t find_known(struct producer *p, const char *text, const struct pasta_string **entry)
{
	size_t size = strlen(text), at = known_at(p, text, size);
	uint32_t id;

	*entry = p->known[at].entry;
	if (*entry && is_same(text, *entry))
		return p->known[at].id;
	id = intern(text, size, entry);
	p->known[at].entry = *entry;
	p->known[at].id = id;
	return id;
}

__attribute__((noinline)) static uint32_t intern_text(struct producer *p, const char *text,
						      size_t slot)
{
	const struct pasta_string *entry;
	struct pasta_guard guard;
	uint32_t id;

	pasta_guard_enter(&guard);
	id = find_known(p, text, &entry);
	p->changes++;
	p->cache[slot].text = entry ? text : NULL;
	p->cache[slot].entry = entry;
	p->cache[slot].id = id;
	pasta_guard_leave(&guard);
	return id;
}

/* Without a guard, which costs two system calls; 0: it is not there. */
static uint32_t peek_known(const struct producer *p, const char *text)
{
	uint32_t changes = names_begin(p), id;
	size_t at = known_at(p, text, strlen(text));
	const struct pasta_string *entry = p->known[at].entry;

	id = p->known[at].id;
	return entry && is_same(text, entry) && !names_changed(p, changes) ? id : 0;
}

/* Programs name things with literals: look by address first, then at the text. */
uint32_t pasta_intern_str(const char *text)
{
	struct producer *p = producer_get();
	size_t slot = ((uintptr_t)text ^ (uintptr_t)text >> 8) % CACHE;
	const struct pasta_string *entry;
	uint32_t id, changes;

	if (!p || !text)
		return 0;
	changes = names_begin(p);
	id = p->cache[slot].id;
	entry = p->cache[slot].entry;
	if (p->cache[slot].text == text && entry && is_same(text, entry) &&
	    !names_changed(p, changes))
		return id;
	id = peek_known(p, text);
	/* A literal that another text had displaced is soon found by its address again. */
	return id && ++p->peeks % PEEKS ? id : intern_text(p, text, slot);
}
