/* agent.c - the agent's life in a process, and the two ways to emit. */
#include "collect/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/stack.h"
#include "collect/state.h"

#define MEMORY_DEFAULT (UINT64_C(256) << 20)
#define MEMORY_MIN (UINT64_C(1) << 20)
#define PORT_WAIT_NS 100000000L
#define PORT_STALL_NS 1000000000L
#define PORT_NAP_NS 200000L
#define EXIT_WAIT_S 5
#define STACK_SHARE 8 /* call paths take at most this part of the memory */
#define SAID_MAX 2    /* notes of a handler */
enum { CACHE = 256, KNOWN = 1024, RECORD_MIN = PASTA_EVENT_HEAD + 8, AHEAD = 512, LINE = 64 };

/* The end of a ring where events go in. */
struct pusher {
	struct pasta_ring *ring; /* NULL: there was no memory for one */
	uint64_t head, tail, check, mask, pushed;
};

/* A thread of the program. Plain pages: a child that forks finds its parent's gen here. */
struct producer {
	struct pusher push;
	uint32_t gen, tid;
	bool busy;
	struct {
		const char *text;
		const unsigned char *entry;
		uint32_t id;
	} cache[CACHE];
	struct {
		const unsigned char *entry;
		uint32_t id;
	} known[KNOWN]; /* by what the text is, wherever it is; one of two places */
};

struct pasta_port {
	pthread_mutex_t lock;
	struct pusher push;
	long patience; /* ns to wait in all, until there is room again */
};

struct pasta_config pasta_config;
struct pasta_state *pasta_state;
static bool fork_wipes;
static uint32_t last_gen; /* a child counts on from its parent's */
static pthread_key_t thread_end;
/* Small, and of the initial-exec kind: the agent is loaded late. */
static _Thread_local struct producer *self;

void pasta_agent_fail(int error, const char *what, const char *path)
{
	struct pasta_control *c = pasta_config.control;
	int32_t none = 0;

	if (c && atomic_compare_exchange_strong(&c->error, &none, error))
		snprintf(c->message, sizeof(c->message), "%s %s: %s", what, path, strerror(error));
}

/* Many processes may say the same, and one handler may say much: neither hides the others. */
static void put_note(const char *mark, const char *handler, const char *what)
{
	struct pasta_control *c = pasta_config.control;
	uint64_t name = XXH3_64bits_withSeed(handler, strlen(handler), (uint64_t)*mark) | 1;
	uint64_t who = name << 32 | (uint32_t)XXH3_64bits(what, strlen(what));
	size_t i, said = 0;

	for (i = 0; c && i < PASTA_CONTROL_NOTES && said < SAID_MAX; i++) {
		uint64_t other = 0;

		if (atomic_compare_exchange_strong(&c->notes[i].who, &other, who)) {
			snprintf(c->notes[i].text, sizeof(c->notes[i].text), "%s%s: %s", mark,
				 handler, what);
			return;
		}
		if (other == who)
			return;
		said += other >> 32 == who >> 32;
	}
}

void pasta_agent_say(const char *handler, const char *what)
{
	put_note("", handler, what);
}

void pasta_agent_tell(const char *handler, const char *what)
{
	static const char news[] = {PASTA_CONTROL_NEWS, 0};

	put_note(news, handler, what);
}

/* Counted where there is a ring file, and else on the page that all processes share. */
static void count_lost(enum pasta_loss_sub reason, uint64_t n)
{
	struct pasta_state *s = pasta_state;

	if (atomic_load(&s->gen) && !atomic_load(&s->failed))
		atomic_fetch_add_explicit(&s->file->lost[reason], n, memory_order_relaxed);
	else if (pasta_config.control)
		atomic_fetch_add_explicit(&pasta_config.control->lost, n, memory_order_relaxed);
}

static void pusher_open(struct pusher *q, struct pasta_ring *r)
{
	*q = (struct pusher){.ring = r};
	if (!r)
		return;
	q->head = atomic_load_explicit(&r->head, memory_order_relaxed);
	q->tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	q->pushed = atomic_load_explicit(&r->pushed, memory_order_relaxed);
	q->mask = r->size - 1;
	q->check = atomic_load(&pasta_state->sync) ? 0 : q->head + r->size / 8;
}

/* Now and then: see how full the ring is, and have the writer come in time. */
__attribute__((noinline)) static void look(struct pusher *q)
{
	uint64_t size = q->mask + 1;

	if (atomic_load(&pasta_state->sync)) {
		sigset_t old;

		q->check = 0;
		pasta_signals_hold(&old);
		pasta_writer_tick(true);
		pasta_signals_release(&old);
		return;
	}
	q->tail = atomic_load_explicit(&q->ring->tail, memory_order_acquire);
	q->check = q->head + size / 8;
	if (q->head - q->tail > size / 4)
		pasta_writer_wake();
}

static inline bool has_room(struct pusher *q, uint64_t need)
{
	if (q->head + need - q->tail <= q->mask + 1)
		return true;
	q->tail = atomic_load_explicit(&q->ring->tail, memory_order_acquire);
	return q->head + need - q->tail <= q->mask + 1;
}

/* Where size bytes can go, in one piece, after so many that only fill up the end; NULL: full. */
static inline char *room(struct pusher *q, uint64_t size, uint64_t *pad)
{
	uint64_t off = q->head & q->mask;
	char *data = (char *)q->ring + PASTA_RING_DATA;
	struct pasta_event *to = (void *)(data + off);

	*pad = off + size > q->mask + 1 ? q->mask + 1 - off : 0;
	if (!has_room(q, *pad + size))
		return NULL;
	if (!*pad)
		return data + off;
	to->size = (uint16_t)*pad;
	to->kind = PASTA_NONE;
	return data;
}

/* The records are whole before the head moves past them. */
static inline void publish(struct pusher *q, uint64_t size, uint64_t count)
{
	q->head += size;
	q->pushed += count;
	atomic_store_explicit(&q->ring->head, q->head, memory_order_release);
	atomic_store_explicit(&q->ring->pushed, q->pushed, memory_order_relaxed);
	if (__builtin_expect(q->head >= q->check, 0))
		look(q);
}

/* False: full. */
static inline bool push(struct pusher *q, const struct pasta_event *ev, uint32_t tid)
{
	uint64_t size = ev->size, pad;
	struct pasta_event *to = (void *)room(q, size, &pad);

	if (!to)
		return false;
	/* The writer has read what lies ahead: have it back before it is needed. */
	__builtin_prefetch((char *)to + AHEAD, 1);
	memcpy(to, ev, RECORD_MIN); /* of constant size: no call */
	for (uint64_t i = RECORD_MIN; i < size; i += 8)
		memcpy((char *)to + i, (const char *)ev + i, 8);
	to->tid = tid;
	publish(q, pad + size, 1);
	return true;
}

static void drop(struct pusher *q, enum pasta_loss_sub reason, uint64_t n)
{
	_Atomic uint64_t *count = &q->ring->dropped[reason];

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* From no recording to recording, or to failed. */
static void begin(void)
{
	struct pasta_state *s = pasta_state;
	bool ok;

	pthread_mutex_lock(&s->begin_lock);
	if (!atomic_load(&s->gen)) {
		ok = !pasta_writer_open() && !pasta_writer_start();
		atomic_store(&s->failed, !ok);
		last_gen = last_gen + 1 ? last_gen + 1 : 1;
		atomic_store_explicit(&s->gen, last_gen, memory_order_release);
		if (pasta_config.control)
			atomic_fetch_add(ok ? &pasta_config.control->shards
					    : &pasta_config.control->failed,
					 1);
	}
	pthread_mutex_unlock(&s->begin_lock);
}

static struct pasta_ring *take_ring(uint32_t tid, uint32_t clock, bool port)
{
	struct pasta_ring *r;

	pthread_mutex_lock(&pasta_state->lock);
	r = pasta_ring_take(tid, clock, port);
	pthread_mutex_unlock(&pasta_state->lock);
	return r;
}

static void producer_end(void *arg)
{
	struct producer *p = arg;

	if (p->gen == atomic_load(&pasta_state->gen) && p->push.ring)
		atomic_store_explicit(&p->push.ring->state, PASTA_RING_CLOSED,
				      memory_order_release);
	self = NULL;
	pasta_memory_free(p, sizeof(*p));
}

static struct producer *make_producer(void)
{
	struct pasta_state *s = pasta_state;
	struct producer *p;

	if (self) /* a forked child's, of its parent */
		pasta_memory_free(self, sizeof(*self));
	self = NULL;
	if (!atomic_load(&s->gen))
		begin();
	if (atomic_load(&s->failed))
		return NULL;
	p = pasta_memory_new(sizeof(*p));
	if (!p)
		return NULL;
	p->gen = atomic_load(&s->gen);
	p->tid = (uint32_t)syscall(SYS_gettid);
	pusher_open(&p->push, take_ring(p->tid, PASTA_CLOCK_RAW, false));
	pthread_setspecific(thread_end, p);
	self = p;
	return p;
}

__attribute__((noinline)) static struct producer *producer_new(void)
{
	int saved = errno;
	struct producer *p;
	sigset_t old;

	pasta_signals_hold(&old);
	p = make_producer();
	pasta_signals_release(&old);
	errno = saved;
	return p;
}

/* The calling thread's, or NULL: it has none, and can have none now. */
static inline struct producer *producer_get(void)
{
	struct producer *p = self;

	if (__builtin_expect(p && p->gen == atomic_load_explicit(&pasta_state->gen,
								 memory_order_relaxed),
			     1))
		return p;
	return producer_new();
}

/* tid 0: the calling thread's. */
static inline void emit(const struct pasta_event *ev, uint32_t tid)
{
	struct producer *p = producer_get();

	if (!p) {
		count_lost(PASTA_LOSS_CLOSED, 1);
	} else if (p->busy) {
		count_lost(PASTA_LOSS_NESTED, 1);
	} else if (!p->push.ring) {
		count_lost(PASTA_LOSS_MEMORY, 1);
	} else {
		p->busy = true;
		atomic_signal_fence(memory_order_seq_cst);
		if (!push(&p->push, ev, tid ? tid : p->tid)) {
			drop(&p->push, PASTA_LOSS_FULL, 1);
			pasta_writer_wake();
		}
		atomic_signal_fence(memory_order_seq_cst);
		p->busy = false;
	}
}

void pasta_emit(struct pasta_event *ev)
{
	emit(ev, 0);
}

void pasta_emit_for(struct pasta_event *ev, uint32_t tid)
{
	emit(ev, tid);
}

/* Why nothing can go in now. */
static enum pasta_loss_sub refusal(const struct producer *p)
{
	return !p ? PASTA_LOSS_CLOSED : p->busy ? PASTA_LOSS_NESTED : PASTA_LOSS_MEMORY;
}

__attribute__((noinline)) static void refuse(struct pasta_batch *b, const struct producer *p)
{
	b->begin = b->at = b->end = NULL;
	b->tid = 0;
	b->why = refusal(p);
}

void pasta_batch_open(struct pasta_batch *b, size_t size)
{
	struct producer *p = producer_get();

	b->count = b->lost = 0;
	if (__builtin_expect(!p || p->busy || !p->push.ring, 0)) {
		refuse(b, p);
		return;
	}
	p->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	b->producer = p;
	b->why = PASTA_LOSS_FULL;
	b->tid = p->tid;
	b->begin = b->at = size <= PASTA_BATCH_MAX ? room(&p->push, size, &b->pad) : NULL;
	b->end = b->begin ? b->begin + size : NULL;
}

void pasta_batch_close(struct pasta_batch *b)
{
	uint64_t size = (uint64_t)(b->at - b->begin);
	struct producer *p;

	if (b->why != PASTA_LOSS_FULL) {
		if (b->lost)
			count_lost(b->why, b->lost);
		return;
	}
	p = b->producer;
	for (uint64_t i = 0; i < size; i += LINE)
		__builtin_prefetch(b->at + AHEAD + i, 1); /* as in push */
	if (b->count)
		publish(&p->push, b->pad + size, b->count);
	if (__builtin_expect(b->lost, 0)) {
		drop(&p->push, PASTA_LOSS_FULL, b->lost);
		pasta_writer_wake();
	}
	atomic_signal_fence(memory_order_seq_cst);
	p->busy = false;
}

void *pasta_record_room(size_t size)
{
	struct producer *p = producer_get();
	uint64_t pad;
	void *to;

	if (__builtin_expect(!p || p->busy || !p->push.ring, 0)) {
		count_lost(refusal(p), 1);
		return NULL;
	}
	p->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	to = room(&p->push, size, &pad);
	if (__builtin_expect(to != NULL, 1)) {
		p->push.head += pad; /* published with the record */
		return to;
	}
	drop(&p->push, PASTA_LOSS_FULL, 1);
	pasta_writer_wake();
	atomic_signal_fence(memory_order_seq_cst);
	p->busy = false;
	return NULL;
}

void pasta_record_close(struct pasta_event *ev)
{
	struct producer *p = self;

	ev->tid = p->tid;
	__builtin_prefetch((char *)ev + AHEAD, 1); /* as in push */
	__builtin_prefetch((char *)ev + AHEAD + LINE, 1);
	publish(&p->push, ev->size, 1);
	atomic_signal_fence(memory_order_seq_cst);
	p->busy = false;
}

void pasta_emit_name(uint32_t tid, uint32_t name)
{
	struct producer *p = producer_get();
	struct pasta_event ev;
	sigset_t old;

	/* What the system calls the thread must not come later, and win. */
	if (p && p->push.ring && (!tid || tid == p->tid)) {
		pasta_signals_hold(&old);
		pthread_mutex_lock(&pasta_state->lock);
		p->push.ring->name[0] = '\0';
		pthread_mutex_unlock(&pasta_state->lock);
		pasta_signals_release(&old);
	}
	pasta_event_init(&ev, PASTA_THREAD, 0, PASTA_EVENT_SIZE(thread));
	ev.thread.name = name;
	ev.time = pasta_now();
	emit(&ev, tid);
}

void pasta_emit_lost(enum pasta_loss_sub reason, uint64_t count)
{
	struct producer *p = producer_get();

	if (p && p->push.ring && !p->busy)
		drop(&p->push, reason, count);
	else
		count_lost(reason, count);
}

struct pasta_port *pasta_port_open(uint32_t clock)
{
	struct pasta_port *port = NULL;
	struct pasta_ring *r;
	sigset_t old;

	pasta_signals_hold(&old);
	if (!atomic_load(&pasta_state->gen))
		begin();
	if (!atomic_load(&pasta_state->failed))
		port = pasta_memory_new(sizeof(*port));
	r = port ? take_ring(0, clock, true) : NULL;
	pasta_signals_release(&old);
	if (!r) {
		pasta_memory_free(port, sizeof(*port));
		return NULL;
	}
	pusher_open(&port->push, r);
	port->patience = PORT_STALL_NS;
	return port;
}

/* Wait for the writer, within what is left of the time; false: it is used up. Where the disk hangs,
 * who pushes a million events is not to wait for each of them. */
static bool nap(struct pasta_port *port, long *left)
{
	const struct timespec t = {.tv_nsec = PORT_NAP_NS};

	if (*left <= 0 || port->patience <= 0)
		return false;
	pasta_writer_wake();
	nanosleep(&t, NULL);
	*left -= PORT_NAP_NS;
	port->patience -= PORT_NAP_NS;
	return true;
}

size_t pasta_port_push(struct pasta_port *port, const void *records, size_t size)
{
	long left = PORT_WAIT_NS;
	size_t dropped = 0;

	pthread_mutex_lock(&port->lock);
	for (size_t at = 0; at < size;) {
		const struct pasta_event *ev = (const void *)((const char *)records + at);

		if (push(&port->push, ev, ev->tid)) {
			port->patience = PORT_STALL_NS;
		} else if (nap(port, &left)) {
			continue;
		} else {
			drop(&port->push, PASTA_LOSS_FULL, 1);
			dropped++;
		}
		at += ev->size;
	}
	pthread_mutex_unlock(&port->lock);
	return dropped;
}

void pasta_port_watermark(struct pasta_port *port, uint64_t time)
{
	atomic_store(&port->push.ring->watermark, time);
}

/* A handler that interrupted its own thread here must not find the lock taken. */
static uint32_t intern(const void *bytes, size_t size, const unsigned char **entry)
{
	sigset_t old;
	uint32_t id;

	pasta_signals_hold(&old);
	pthread_mutex_lock(&pasta_state->lock);
	id = pasta_intern_locked(bytes, size, entry);
	pthread_mutex_unlock(&pasta_state->lock);
	pasta_signals_release(&old);
	return id;
}

uint32_t pasta_intern(const void *bytes, size_t size)
{
	const unsigned char *entry;

	return producer_get() ? intern(bytes, size, &entry) : 0;
}

uint32_t pasta_intern_stack(const void *bytes, size_t size)
{
	struct pasta_state *s = pasta_state;
	const unsigned char *entry = NULL;
	sigset_t old;
	uint32_t id = 0;
	size_t count;

	if (!producer_get())
		return 0;
	pasta_signals_hold(&old);
	pthread_mutex_lock(&s->lock);
	count = s->strings_count;
	if (s->stack_bytes + size <= pasta_config.memory / STACK_SHARE)
		id = pasta_intern_locked(bytes, size, &entry);
	if (s->strings_count != count)
		s->stack_bytes += size;
	pthread_mutex_unlock(&s->lock);
	pasta_signals_release(&old);
	return entry ? id : 0;
}

static bool same(const char *text, const unsigned char *entry)
{
	uint32_t n;

	memcpy(&n, entry, sizeof(n));
	return !strncmp(text, (const char *)entry + 4, n) && text[n] == '\0';
}

static bool fits(const char *text, const unsigned char *entry)
{
	return !entry || same(text, entry);
}

/* A text's place among the known, or where it is to be. */
static size_t known_at(const struct producer *p, const char *text, size_t size)
{
	size_t at = XXH3_64bits(text, size) % KNOWN;

	if (!fits(text, p->known[at].entry) && fits(text, p->known[at ^ 1].entry))
		return at ^ 1;
	return at;
}

/* Text that is made anew each time has another address, or is another at the same one. */
static uint32_t intern_text(struct producer *p, const char *text, const unsigned char **entry)
{
	size_t size = strlen(text), at = known_at(p, text, size);
	uint32_t id = p->known[at].id; /* before the entry: a handler may change both */

	atomic_signal_fence(memory_order_seq_cst);
	*entry = p->known[at].entry;
	if (*entry && same(text, *entry))
		return id;
	id = intern(text, size, entry);
	p->known[at].entry = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	p->known[at].id = id;
	atomic_signal_fence(memory_order_seq_cst);
	p->known[at].entry = *entry;
	return id;
}

/* Programs name things with literals: look by address first, then at the text. */
uint32_t pasta_intern_str(const char *text)
{
	struct producer *p = producer_get();
	const unsigned char *entry;
	size_t slot = ((uintptr_t)text ^ (uintptr_t)text >> 8) % CACHE;
	uint32_t id;

	if (!p || p->busy || !text)
		return 0;
	if (p->cache[slot].text == text && same(text, p->cache[slot].entry))
		return p->cache[slot].id;
	id = intern_text(p, text, &entry);
	p->cache[slot].text = NULL; /* a handler may look here between the lines */
	atomic_signal_fence(memory_order_seq_cst);
	p->cache[slot].entry = entry;
	p->cache[slot].id = id;
	atomic_signal_fence(memory_order_seq_cst);
	p->cache[slot].text = entry ? text : NULL;
	return id;
}

uint32_t pasta_agent_tid(void)
{
	struct producer *p = producer_get();

	return p ? p->tid : (uint32_t)syscall(SYS_gettid);
}

/* Where there is no room the next one will do. */
void pasta_agent_clock(uint32_t clock, uint64_t value, uint64_t raw, uint64_t error)
{
	struct pasta_state *s = pasta_state;
	sigset_t old;

	if (!producer_get())
		return;
	pasta_signals_hold(&old);
	pthread_mutex_lock(&s->lock);
	if (s->pair_count < sizeof(s->pairs) / sizeof(s->pairs[0]))
		s->pairs[s->pair_count++] = (struct pasta_clock){
			.value = value, .raw = raw, .error = error, .id = clock};
	pthread_mutex_unlock(&s->lock);
	pasta_signals_release(&old);
}

uint32_t pasta_agent_gen(void)
{
	return atomic_load_explicit(&pasta_state->gen, memory_order_relaxed);
}

bool pasta_agent_wants(enum pasta_kind kind)
{
	return pasta_config.kinds >> kind & 1;
}

bool pasta_agent_asked(enum pasta_kind kind)
{
	return (pasta_config.kinds & pasta_config.asked) >> kind & 1;
}

void pasta_agent_stall(bool stall)
{
	atomic_store(&pasta_state->stall, stall);
}

static bool alone(void)
{
	struct stat st;

	return !stat("/proc/self/task", &st) && st.st_nlink == 3; /* ".", ".." and one thread */
}

/* Rings in plain memory go with the process: what is left in them is lost. */
static void count_left(void)
{
	struct pasta_state *s = pasta_state;
	uint32_t n = atomic_load(&s->file->segments);

	for (uint32_t i = 0; i < n && pasta_config.control; i++) {
		const struct pasta_segment *seg = &s->file->segment[i];
		const struct pasta_ring *r = s->segment[i];
		uint64_t left = 0;

		if (seg->type != PASTA_SEGMENT_RING || seg->in_file)
			continue;
		left = atomic_load(&r->pushed) - r->drained;
		for (int k = 1; k < PASTA_LOSS_REASONS; k++)
			left += atomic_load(&r->dropped[k]) - r->reported[k];
		atomic_fetch_add(&pasta_config.control->lost, left);
	}
}

void pasta_agent_close(void)
{
	struct pasta_state *s = pasta_state;
	struct timespec until;
	sigset_t old;
	bool written;

	if (!s || !atomic_load(&s->gen) || atomic_load(&s->failed) || !s->running)
		return;
	pasta_accesses_close();
	atomic_store(&s->stop, 1);
	pasta_writer_wake();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_WAIT_S;
	if (pthread_timedjoin_np(s->thread, NULL, &until))
		return; /* a disk that hangs: the rings are left to salvage */
	s->running = false;
	pasta_signals_hold(&old);
	written = pasta_writer_tick(true);
	pasta_signals_release(&old);
	if (!written)
		count_left();
	if (!written || !alone())
		return; /* what is left in the rings, or others may still emit, is for salvage */
	atomic_store(&s->sync, 1);
	if (self)
		self->push.check = 0;
	unlink(pasta_ring_file.path);
}

__attribute__((destructor)) static void at_exit(void)
{
	pasta_agent_close();
}

static void after_fork_in_child(void)
{
	pasta_file_close(&pasta_shard_file);
	pasta_file_close(&pasta_ring_file);
	if (!fork_wipes)
		memset(pasta_state, 0, sizeof(*pasta_state));
	pasta_window_forked();
}

static struct pasta_control *map_control(const char *run)
{
	char path[4096];
	struct pasta_control *c = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/control", run);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (lseek(fd, 0, SEEK_END) >= PASTA_CONTROL_SIZE)
		c = mmap(NULL, PASTA_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return NULL;
	if (c->magic == PASTA_CONTROL_MAGIC)
		return c;
	munmap(c, PASTA_CONTROL_SIZE);
	return NULL;
}

static void read_stacks(const char *text)
{
	size_t n;

	for (; text && *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		if (n == 6 && !strncmp(text, "python", n))
			pasta_config.stacks |= PASTA_STACKS_PYTHON;
		else if (n == 7 && !strncmp(text, "modules", n))
			pasta_config.stacks |= PASTA_STACKS_MODULES;
		else if (n >= 6 && !strncmp(text, "native", 6) && (n == 6 || text[6] == '='))
			pasta_config.stacks |= PASTA_STACKS_NATIVE;
		if (n > 7 && !strncmp(text, "native=", 7))
			pasta_config.stack_period = (uint32_t)strtoul(text + 7, NULL, 10);
	}
}

static bool read_config(void)
{
	const char *run = getenv(PASTA_ENV_RUN), *kinds = getenv(PASTA_ENV_KINDS);
	const char *memory = getenv(PASTA_ENV_MEMORY), *paused = getenv(PASTA_ENV_PAUSED);
	const char *keep = getenv(PASTA_ENV_KEEP), *asked = getenv(PASTA_ENV_ASKED);

	if (!run || run[0] != '/' || strlen(run) >= sizeof(pasta_config.run))
		return false;
	memcpy(pasta_config.run, run, strlen(run) + 1);
	pasta_config.kinds = kinds && *kinds ? strtoull(kinds, NULL, 16) : ~UINT64_C(0);
	pasta_config.asked = asked && *asked ? strtoull(asked, NULL, 16) : ~UINT64_C(0);
	pasta_config.memory = memory ? strtoull(memory, NULL, 10) : 0;
	if (!pasta_config.memory)
		pasta_config.memory = MEMORY_DEFAULT;
	if (pasta_config.memory < MEMORY_MIN)
		pasta_config.memory = MEMORY_MIN;
	pasta_window_begin(getenv(PASTA_ENV_WINDOW), paused && *paused == '1');
	read_stacks(getenv(PASTA_ENV_STACKS));
	pasta_config.keep = keep && *keep == '1';
	pasta_config.control = map_control(run);
	return true;
}

static void attach(void)
{
	struct pasta_state *s;

	if (!read_config() || pthread_key_create(&thread_end, producer_end) || pasta_regions_bind())
		return;
	s = pasta_memory_new(sizeof(*s));
	if (!s)
		return;
	fork_wipes = !madvise(s, sizeof(*s), MADV_WIPEONFORK);
	pasta_clock_begin();
	pasta_state = s;
	pthread_atfork(NULL, NULL, after_fork_in_child);
	if (pasta_config.stacks & PASTA_STACKS_NATIVE)
		pasta_stack_bind();
	pasta_accesses_bind();
}

bool pasta_agent_attach(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, attach);
	return pasta_state != NULL;
}
