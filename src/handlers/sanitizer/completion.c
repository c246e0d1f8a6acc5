/*
 * completion.c - threads that wait for streams, and read back what was counted on them.
 *
 * The next launch of a stream waits for that: so a kernel that fails later takes no counts with it.
 * A thread that waits may hold a lock of the driver's, as where a stream goes, and no other
 * thread's calls come back before it goes on. So threads that wait for streams do nothing else,
 * another one reads, and the thread that waits for a slot reads it itself as soon as its stream is
 * through. Both may read: who is first has the rows told. That is one more thread's, while the next
 * launch runs.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "handlers/sanitizer/sanitizer.h"
#include "core/lock.h"

enum { STACK = 512 << 10, WAITS = 5, WAITS_TOLD = 30, UNTOLD = 4, UNTOLD_BYTES = 256 << 20 };

/* A thread, and the streams whose numbers have it in common. */
static struct lane {
	pthread_cond_t wake;
	struct san_slot *first, **last;
	bool runs;
} lanes[SAN_LANES + 1];
static struct lane *const reader = &lanes[SAN_LANES]; /* where calls may not come back */

/* Slots that are read and not told: they may be in a lane as well. */
static struct {
	pthread_cond_t wake;
	struct san_slot *slots[UNTOLD]; /* in turn, from first on */
	uint32_t first, count;
	bool runs;
} teller;

static struct san_slot *under_way; /* launches that are not told yet */

static bool is_over(const struct san_context *c)
{
	return c->broken || atomic_load(&san.ended);
}

/* -- Slots, read back -- */

/* Under the lock: its stream may go on. */
static void leave_stream(struct san_slot *s)
{
	if (!s->stream)
		return;
	s->stream->pending--;
	s->stream->stuck = false;
	s->stream = NULL;
	pthread_cond_broadcast(&san.changed);
}

/* Under the lock. */
static void finished(struct san_slot *s)
{
	struct san_slot **at = &under_way;

	while (*at && *at != s)
		at = &(*at)->next_under_way;
	if (*at)
		*at = s->next_under_way;
	s->launch = NULL;
	leave_stream(s);
	atomic_fetch_sub(&san.pending, 1);
	pthread_cond_broadcast(&san.changed);
}

/* The caller is one of its readers, and has made it done. */
static void tell(struct san_slot *s, const struct san_reading *r)
{
	struct san_told told = {s, r};

	if (r)
		san_fold(s, r);
	else
		pasta_accesses_dropped(s->launch, 1); /* how many there were nobody knows */
	if (san_ring_end(s, r ? san_reading_raw(r) : NULL))
		pasta_accesses_end_with(s->launch, san_pages_each, &told);
	else
		pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
	san_module_put(s->module);
	pasta_lock(&san.lock);
	finished(s);
	pasta_unlock(&san.lock);
}

/* Nobody will wait for it: it stays as it is, for its kernel may still count. */
static void give_up(struct san_slot *s)
{
	bool mine;

	pasta_lock(&san.lock);
	mine = !s->done;
	s->done = true;
	pasta_unlock(&san.lock);
	if (mine)
		tell(s, NULL);
}

/* Under the lock. Where something failed, or was given up, a kernel may still write to it. */
static void let_go(struct san_slot *s)
{
	if (!--s->readers && s->synced)
		san_slot_release(s);
}

static void *tell_all(void *arg)
{
	struct san_slot *s;

	pthread_setname_np(pthread_self(), "pasta-accesses");
	pasta_lock(&san.lock);
	for (;;) {
		while (!teller.count)
			pthread_cond_wait(&teller.wake, &san.lock);
		s = teller.slots[teller.first];
		pasta_unlock(&san.lock);
		tell(s, s->reading);
		san_reading_free(s->reading);
		pasta_lock(&san.lock);
		teller.first = (teller.first + 1) % UNTOLD;
		teller.count--;
		let_go(s);
	}
	return arg;
}

/* Under the lock: whether another slot may be untold. A large one takes memory of the device that
 * the next launch needs; and raw accesses of a launch end before those of the next begin. */
static bool is_room(const struct san_slot *s)
{
	uint32_t most = s->size > UNTOLD_BYTES / UNTOLD ? 1 : UNTOLD;

	return !s->image.raw && teller.count < most;
}

/* As tell, on the teller's thread. False: it has enough to do, or is none. */
static bool hand_on(struct san_slot *s, struct san_reading *r)
{
	bool can;

	pasta_lock(&san.lock);
	teller.runs = teller.runs || san_thread(tell_all, NULL);
	can = teller.runs && is_room(s);
	if (can) {
		s->readers++;
		s->reading = r;
		leave_stream(s);
		teller.slots[(teller.first + teller.count++) % UNTOLD] = s;
		pthread_cond_signal(&teller.wake);
	}
	pasta_unlock(&san.lock);
	return can;
}

static void collect(struct san_slot *s, int result)
{
	struct san_reading *r = NULL;
	bool mine;

	pasta_lock(&san.lock);
	mine = !s->done;
	pasta_unlock(&san.lock);
	if (mine && result == SAN_OK && !is_over(s->context))
		r = san_read(s, &result);
	pasta_lock(&san.lock);
	mine = !s->done;
	if (mine && result != SAN_OK)
		s->context->broken = true;
	s->done = true;
	pasta_unlock(&san.lock);
	if (mine && r && hand_on(s, r))
		return;
	if (mine)
		tell(s, r);
	san_reading_free(r);
}

/* -- Threads -- */

static bool run(struct lane *lane);

/* Under the lock. */
static void put(struct lane *lane, struct san_slot *s)
{
	s->next = NULL;
	*lane->last = s;
	lane->last = &s->next;
	pthread_cond_signal(&lane->wake);
}

/* Under the lock. */
static int wait_for_stream(struct san_slot *s)
{
	int r = SAN_OK;

	if (s->done || is_over(s->context)) /* its stream may be gone */
		return SAN_OK;
	pasta_unlock(&san.lock);
	r = SAN_CALL(StreamSynchronize, s->handle);
	pasta_lock(&san.lock);
	s->synced = r == SAN_OK;
	if (s->synced)
		san_slot_sent(s);
	pthread_cond_broadcast(&san.changed);
	return r;
}

static struct san_slot *take(struct lane *lane)
{
	struct san_slot *s = lane->first;

	lane->first = s->next;
	if (!lane->first)
		lane->last = &lane->first;
	return s;
}

static void run_slot(struct lane *lane)
{
	struct san_slot *s = take(lane);
	int r = SAN_OK;

	if (!s->synced)
		r = wait_for_stream(s);
	if (s->synced && !s->done && s->stream->waiting) {
		s->left = true;
		return;
	}
	if (lane != reader && s->synced && run(reader)) {
		put(reader, s);
		return;
	}
	pasta_unlock(&san.lock);
	collect(s, r);
	pasta_lock(&san.lock);
	let_go(s);
}

static void *main_(void *arg)
{
	struct lane *lane = arg;

	pthread_setname_np(pthread_self(), "pasta-accesses");
	pasta_lock(&san.lock);
	for (;;) {
		if (lane->first)
			run_slot(lane);
		else
			pthread_cond_wait(&lane->wake, &san.lock);
	}
	return NULL;
}

bool san_thread(void *(*run_)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	bool runs;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	runs = !pthread_create(&thread, &attr, run_, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return runs;
}

/* Under the lock. */
static bool run(struct lane *lane)
{
	lane->runs = lane->runs || san_thread(main_, lane);
	return lane->runs;
}

bool san_completion_start(void)
{
	bool made = !pthread_cond_init(&teller.wake, NULL);

	for (uint32_t i = 0; i <= SAN_LANES; i++) {
		lanes[i].last = &lanes[i].first;
		made = made && !pthread_cond_init(&lanes[i].wake, NULL);
	}
	return made;
}

/* -- What is under way -- */

void san_completion_begin(struct san_slot *s)
{
	pasta_lock(&san.lock);
	s->readers = 1;
	s->queued = false;
	s->stream->pending++;
	s->next_under_way = under_way;
	under_way = s;
	atomic_fetch_add(&san.pending, 1);
	pasta_unlock(&san.lock);
}

void san_completion_queue(struct san_slot *s)
{
	struct lane *lane = &lanes[s->lane];
	bool runs;

	pasta_lock(&san.lock);
	runs = run(lane);
	s->queued = true;
	if (runs)
		put(lane, s);
	pasta_unlock(&san.lock);
	if (!runs)
		give_up(s);
}

struct which {
	const struct san_context *context; /* NULL: any */
	const struct san_stream *stream;
	const struct san_ring *ring; /* what it is set up before, on another stream than on */
	const void *on;
	bool untold; /* also those that are read, and not told yet */
};

enum { MOVING, RUNNING, READABLE, LEFT };

static bool is(const struct san_slot *s, const struct which *w, int sort)
{
	if ((w->context && s->context != w->context) || (w->stream && s->stream != w->stream))
		return false;
	if (w->ring && s != w->ring->first)
		return false;
	if (sort == READABLE)
		return s->synced && !s->done;
	if (sort == MOVING && !s->stream)
		return w->untold;
	if (sort == MOVING || sort == RUNNING)
		return s->stream && !s->stream->stuck;
	return s->queued && !s->done; /* what is done is being told */
}

/* Under the lock: one to wait for; one that the caller is to read itself; or one that nobody has.
 */
static struct san_slot *find(const struct which *w, int sort)
{
	struct san_slot *s = under_way;

	while (s && !is(s, w, sort))
		s = s->next_under_way;
	return s;
}

/* Under the lock: what a ring is set up before may not be under way yet. */
static bool is_moving(const struct which *w)
{
	const struct san_ring *ring = w->ring;

	if (!ring)
		return find(w, MOVING);
	return ring->first && (!ring->made || ring->first->handle != w->on) &&
	       !(ring->first->stream && ring->first->stream->stuck) &&
	       !is_over(ring->first->context);
}

/* Under the lock. One that waits to be read, and has been, waits no longer: the reader may be held
 * up for as long as there are launches. */
static void unqueue(struct san_slot *s)
{
	struct san_slot **at = &reader->first;

	if (s->left) {
		s->left = false;
		let_go(s);
		return;
	}
	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = s->next;
	if (!*at)
		reader->last = at;
	let_go(s);
}

/* Under the lock: how far raw accesses of what is waited for have come. */
static uint64_t come(const struct which *w)
{
	const struct pasta_gpu_ring *host;
	uint64_t sum = 0;

	for (const struct san_slot *s = under_way; s; s = s->next_under_way) {
		host = s->number && is(s, w, MOVING) ? s->context->ring.host : NULL;
		for (int i = 0; host && i < 2; i++)
			sum += __atomic_load_n(&host->filled[i], __ATOMIC_RELAXED);
	}
	return sum;
}

/* How far what is waited for has come. */
struct progress {
	uint64_t come, sent;
	uint32_t times, times_sent;
};

/* Under the lock: whether to wait on. Where nothing is left but to tell rows, as long as some are
 * told, for a minute: other threads may launch on and on. A kernel that writes raw accesses waits
 * for the host: it is given more time while they come, but not without end, for it may wait for the
 * program. */
static bool gets_on(const struct which *w, struct progress *p)
{
	const struct progress was = *p;

	p->come = come(w);
	p->sent = pasta_accesses_sent();
	if (p->sent != was.sent && !find(w, RUNNING))
		return ++p->times_sent < WAITS_TOLD;
	return p->come != was.come && ++p->times < WAITS;
}

/* Under the lock. False: it took too long. */
static bool wait_for(const struct which *w)
{
	struct timespec until = san_deadline(SAN_WAIT);
	struct progress p = {0};
	struct san_slot *s;

	gets_on(w, &p);
	p.times = p.times_sent = 0;

	while (is_moving(w)) {
		s = find(w, READABLE);
		if (s) {
			s->readers++;
			pasta_unlock(&san.lock);
			collect(s, SAN_OK);
			pasta_lock(&san.lock);
			unqueue(s);
			let_go(s);
		} else if (pthread_cond_timedwait(&san.changed, &san.lock, &until)) {
			if (!gets_on(w, &p))
				return false;
			until = san_deadline(SAN_WAIT);
		}
	}
	return true;
}

/* Under the lock. Nobody waits for the stream any more: what was left to them is the reader's. */
static void hand_back(const struct san_stream *stream)
{
	for (struct san_slot *s = under_way; s; s = s->next_under_way) {
		if (!s->left || s->done || s->stream != stream)
			continue;
		s->left = false;
		put(reader, s);
	}
	run(reader);
}

void san_completion_wait(struct san_stream *stream)
{
	const struct which w = {.stream = stream};

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed))
		return;
	pasta_lock(&san.lock);
	if (stream->pending && !stream->stuck && !is_over(stream->context)) {
		stream->waiting++;
		if (!wait_for(&w))
			stream->stuck = true;
		if (!--stream->waiting)
			hand_back(stream);
	}
	pasta_unlock(&san.lock);
}

void san_completion_wait_all(void)
{
	const struct which w = {0};

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed))
		return;
	pasta_lock(&san.lock);
	if (!wait_for(&w))
		for (struct san_slot *s = under_way; s; s = s->next_under_way)
			if (s->stream)
				s->stream->stuck = true;
	pasta_unlock(&san.lock);
}

void san_completion_wait_sent(const struct san_context *context)
{
	bool waits;

	pasta_lock(&san.lock);
	waits = san_slots_wait(context);
	pasta_unlock(&san.lock);
	if (waits)
		san_completion_wait_all();
}

void san_completion_wait_emitted(const struct san_context *context)
{
	const struct which w = {.context = context, .untold = true};

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed))
		return;
	pasta_lock(&san.lock);
	wait_for(&w);
	pasta_unlock(&san.lock);
}

void san_completion_wait_ring(const struct san_ring *ring, const void *stream)
{
	const struct which w = {.ring = ring, .on = stream};

	pasta_lock(&san.lock);
	if (!wait_for(&w) && ring->first && ring->first->stream)
		ring->first->stream->stuck = true;
	pasta_unlock(&san.lock);
}

/* A reader of one that is given up finds it done, and tells nothing. */
void san_completion_end(const struct san_context *context, const struct san_stream *stream)
{
	const struct which w = {.context = context, .stream = stream, .untold = true};
	struct san_slot *s;

	pasta_lock(&san.lock);
	wait_for(&w);
	while ((s = find(&w, LEFT))) {
		s->done = true;
		s->readers++;
		pasta_unlock(&san.lock);
		tell(s, NULL);
		pasta_lock(&san.lock);
		unqueue(s);
		let_go(s);
	}
	wait_for(&w); /* for those that are told, beside what was given up */
	pasta_unlock(&san.lock);
}
