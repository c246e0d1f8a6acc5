/*
 * completion.c - runs the threads that wait for counted launches and read their slots back.
 *
 * A slot is device memory with the counts of one launch. The next launch on a stream waits until
 * the previous launch's slot is read, because a kernel that fails later would destroy the counts. A
 * thread that waits for a stream may hold a lock of the driver, for example while the program
 * destroys the stream, and then blocks driver calls of other threads. For this reason:
 *
 * - The threads of the lanes only wait for streams.
 * - One thread, the reader, only reads slots.
 * - A thread of the program that waits for a slot reads the slot itself as soon as the stream has
 *   finished the launch.
 *
 * Two threads may read the same slot; the first one to finish claims it. Another thread, the
 * emitter, emits the slot's rows while the next launch runs.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/idle.h"
#include "handlers/sanitizer/readback.h"
#include "handlers/sanitizer/rings.h"
#include "handlers/sanitizer/sites.h"
#include "core/lock.h"

enum { STACK = 512 << 10, WAITS = 5, WAITS_EMITTED = 30, EMIT_MOST = 4, EMIT_BYTES = 256 << 20 };

/* A lane is a thread that waits for streams, and the thread's queue of slots. A lane waits for the
 * streams whose number modulo SAN_LANES is the lane's index. */
static struct lane {
	pthread_cond_t wake;
	struct san_slot *first, **last;
	bool runs;
} lanes[SAN_LANES + 1];
static struct lane *const reader = &lanes[SAN_LANES]; /* the library may block this thread */

/* The emitter's queue contains slots that were read back and whose rows are not emitted yet. The
 * queue of a waiting thread (a lane) may contain the same slots. */
static struct {
	pthread_cond_t wake;
	struct san_slot *slots[EMIT_MOST]; /* a ring buffer whose oldest slot has index "first" */
	uint32_t first, count;
	bool runs;
} emitter;

static struct san_slot *slots_under_way; /* slots of launches whose rows are not emitted yet */

static bool completion_is_over(const struct san_context *c)
{
	return c->broken || atomic_load(&san.ended);
}

/* -- Reading slots back -- */

/* Claims the slot for the calling thread, which then emits the slot's counts. Returns false if
 * another thread has claimed the slot. The caller holds san.lock. */
static bool slot_claim(struct san_slot *s)
{
	if (san_slot_done(s))
		return false;
	return san_slot_advance(s, s->state == SAN_SLOT_READABLE ? SAN_SLOT_CLAIMED
								 : SAN_SLOT_ABANDONED);
}

/* Returns whether the stream has finished the slot's launch. The caller holds san.lock. */
static bool slot_is_passed(const struct san_slot *s)
{
	return s->state == SAN_SLOT_READABLE || s->state == SAN_SLOT_CLAIMED;
}

/* Lets the next launch on the slot's stream start. The caller holds san.lock. */
static void slot_leave_stream(struct san_slot *s)
{
	if (!s->stream)
		return;
	s->stream->pending--;
	s->stream->stuck = false;
	s->stream = NULL;
	pthread_cond_broadcast(&san.changed);
}

/* Removes an emitted slot from the list slots_under_way. The caller holds san.lock. */
static void slot_finish(struct san_slot *s)
{
	struct san_slot **at = &slots_under_way;

	while (*at && *at != s)
		at = &(*at)->next_under_way;
	if (*at)
		*at = s->next_under_way;
	s->launch = NULL;
	slot_leave_stream(s);
	atomic_fetch_sub(&san.pending, 1);
	pthread_cond_broadcast(&san.changed);
}

/* Emits the slot's rows. `r` contains the counts that were read from the device, and is NULL for an
 * abandoned slot. The caller has claimed the slot and holds a reference to it. */
static void slot_emit(struct san_slot *s, const struct san_readback *r)
{
	struct san_page_source source = {s, r};

	if (r)
		san_readback_add(s, r);
	else
		pasta_accesses_dropped(s->launch, 1); /* the number is unknown: count 1 */
	if (san_ring_end(s, r ? san_readback_raw(r) : NULL))
		pasta_accesses_end_with(s->launch, san_readback_pages, &source);
	else
		pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
	san_module_put(s->module);
	pasta_lock(&san.lock);
	slot_finish(s);
	pasta_unlock(&san.lock);
}

/* Abandons a slot because no thread can wait for the slot's launch. The slot is not reused, because
 * the launch's kernel may still write to the slot. */
static void slot_abandon(struct san_slot *s)
{
	bool mine;

	pasta_lock(&san.lock);
	mine = slot_claim(s);
	pasta_unlock(&san.lock);
	if (mine)
		slot_emit(s, NULL);
}

/* Drops a reference to the slot, and releases the slot when the last reference is dropped. A slot
 * whose launch failed or was abandoned is never released, because a kernel may still write to it.
 * The caller holds san.lock. */
static void slot_unref(struct san_slot *s)
{
	if (!--s->readers && s->state == SAN_SLOT_CLAIMED)
		san_slot_release(s);
}

static void *emitter_main(void *arg)
{
	struct san_slot *s;

	pthread_setname_np(pthread_self(), "pasta-accesses");
	pasta_lock(&san.lock);
	for (;;) {
		while (!emitter.count)
			pthread_cond_wait(&emitter.wake, &san.lock);
		s = emitter.slots[emitter.first];
		pasta_unlock(&san.lock);
		slot_emit(s, s->readback);
		san_readback_free(s->readback);
		pasta_lock(&san.lock);
		emitter.first = (emitter.first + 1) % EMIT_MOST;
		emitter.count--;
		slot_unref(s);
	}
	return arg;
}

/* Returns whether the emitter can accept this slot. Only one large slot may be queued, because a
 * queued slot occupies device memory that the next launch needs. A launch with raw accesses must
 * end before the next launch starts, so the slot of such a launch is refused. The caller holds
 * san.lock. */
static bool emitter_has_room(const struct san_slot *s)
{
	uint32_t most = s->size > EMIT_BYTES / EMIT_MOST ? 1 : EMIT_MOST;

	return !s->image.raw && emitter.count < most;
}

/* Passes a slot to the emitter. Returns false if the emitter has too many slots or could not be
 * started. */
static bool emitter_push(struct san_slot *s, struct san_readback *r)
{
	bool can;

	pasta_lock(&san.lock);
	emitter.runs = emitter.runs || san_thread(emitter_main, NULL);
	can = emitter.runs && emitter_has_room(s);
	if (can) {
		s->readers++;
		s->readback = r;
		slot_leave_stream(s);
		emitter.slots[(emitter.first + emitter.count++) % EMIT_MOST] = s;
		pthread_cond_signal(&emitter.wake);
	}
	pasta_unlock(&san.lock);
	return can;
}

static void slot_collect(struct san_slot *s, int result)
{
	struct san_readback *r = NULL;
	bool mine;

	pasta_lock(&san.lock);
	mine = !san_slot_done(s);
	pasta_unlock(&san.lock);
	if (mine && result == SAN_OK && !completion_is_over(s->context))
		r = san_readback_new(s, &result);
	pasta_lock(&san.lock);
	mine = slot_claim(s);
	if (mine && result != SAN_OK)
		s->context->broken = true;
	pasta_unlock(&san.lock);
	if (mine && r && emitter_push(s, r))
		return;
	if (mine)
		slot_emit(s, r);
	san_readback_free(r);
}

/* -- Threads -- */

static bool lane_run(struct lane *lane);

/* Appends a slot to the queue of a waiting thread (a lane). The caller holds san.lock. */
static void lane_push(struct lane *lane, struct san_slot *s)
{
	s->next = NULL;
	*lane->last = s;
	lane->last = &s->next;
	pthread_cond_signal(&lane->wake);
}

/* Waits for the slot's stream and returns the library's result. The caller holds san.lock. */
static int lane_wait_for_stream(struct san_slot *s)
{
	int r = SAN_OK;

	if (san_slot_done(s) || completion_is_over(s->context)) /* the stream may be destroyed */
		return SAN_OK;
	pasta_unlock(&san.lock);
	r = SAN_CALL(StreamSynchronize, s->handle);
	pasta_lock(&san.lock);
	if (r == SAN_OK) {
		san_slot_advance(s, san_slot_done(s) ? SAN_SLOT_CLAIMED : SAN_SLOT_READABLE);
		san_slot_sent(s);
	}
	pthread_cond_broadcast(&san.changed);
	return r;
}

static struct san_slot *lane_pop(struct lane *lane)
{
	struct san_slot *s = lane->first;

	lane->first = s->next;
	if (!lane->first)
		lane->last = &lane->first;
	return s;
}

static void lane_run_slot(struct lane *lane)
{
	struct san_slot *s = lane_pop(lane);
	int r = SAN_OK;

	if (!slot_is_passed(s))
		r = lane_wait_for_stream(s);
	if (s->state == SAN_SLOT_READABLE && s->stream->waiting) {
		s->left = true;
		return;
	}
	if (lane != reader && slot_is_passed(s) && lane_run(reader)) {
		lane_push(reader, s);
		return;
	}
	pasta_unlock(&san.lock);
	slot_collect(s, r);
	pasta_lock(&san.lock);
	slot_unref(s);
}

static void *lane_main(void *arg)
{
	struct lane *lane = arg;

	pthread_setname_np(pthread_self(), "pasta-accesses");
	pasta_lock(&san.lock);
	for (;;) {
		if (lane->first)
			lane_run_slot(lane);
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
	/* the new thread blocks signals, because signals belong to the program */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	runs = !pthread_create(&thread, &attr, run_, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return runs;
}

/* Starts the waiting thread of a lane unless the thread is running. Returns false if that fails.
 * The caller holds san.lock. */
static bool lane_run(struct lane *lane)
{
	lane->runs = lane->runs || san_thread(lane_main, lane);
	return lane->runs;
}

bool san_completion_start(void)
{
	bool made = !pthread_cond_init(&emitter.wake, NULL);

	for (uint32_t i = 0; i <= SAN_LANES; i++) {
		lanes[i].last = &lanes[i].first;
		made = made && !pthread_cond_init(&lanes[i].wake, NULL);
	}
	return made;
}

/* -- Waiting for launches -- */

void san_completion_begin(struct san_slot *s)
{
	pasta_lock(&san.lock);
	s->readers = 1;
	s->stream->pending++;
	s->next_under_way = slots_under_way;
	slots_under_way = s;
	atomic_fetch_add(&san.pending, 1);
	pasta_unlock(&san.lock);
}

void san_completion_queue(struct san_slot *s)
{
	struct lane *lane = &lanes[s->lane];
	bool runs;

	pasta_lock(&san.lock);
	runs = lane_run(lane);
	san_slot_advance(s, SAN_SLOT_QUEUED);
	if (runs)
		lane_push(lane, s);
	pasta_unlock(&san.lock);
	if (!runs)
		slot_abandon(s);
}

/* Selects the slots that a thread waits for. */
struct wait_set {
	const struct san_context *context; /* NULL: any */
	const struct san_stream *stream;
	/* If this member is not NULL, only the slot whose launch sets up this ring is selected,
	 * unless that launch is on the stream `on`. */
	const struct san_ring *ring;
	const void *on;
	bool emitting; /* whether to select even slots in the emitter's queue */
};

enum {
	WAIT_MOVING,   /* the slot makes progress */
	WAIT_RUNNING,  /* the slot has not been read back, but its stream makes progress */
	WAIT_READABLE, /* the waiting thread can read the slot */
	WAIT_OPEN,     /* the launch was submitted, and no thread has claimed the launch's slot */
};

static bool slot_matches(const struct san_slot *s, const struct wait_set *w, int type)
{
	if ((w->context && s->context != w->context) || (w->stream && s->stream != w->stream))
		return false;
	if (w->ring && s != w->ring->first)
		return false;
	if (type == WAIT_READABLE)
		return s->state == SAN_SLOT_READABLE;
	if (type == WAIT_MOVING && !s->stream)
		return w->emitting;
	if (type == WAIT_MOVING || type == WAIT_RUNNING)
		return s->stream && !s->stream->stuck;
	return s->state == SAN_SLOT_QUEUED || s->state == SAN_SLOT_READABLE;
}

/* Returns the first slot that `w` selects, or NULL. The caller holds san.lock. */
static struct san_slot *slot_find(const struct wait_set *w, int type)
{
	struct san_slot *s = slots_under_way;

	while (s && !slot_matches(s, w, type))
		s = s->next_under_way;
	return s;
}

/* Returns whether the caller must wait for a selected slot or for a ring. The launch that sets up a
 * ring may not have been submitted yet. The caller holds san.lock. */
static bool wait_needed(const struct wait_set *w)
{
	const struct san_ring *ring = w->ring;

	if (!ring)
		return slot_find(w, WAIT_MOVING);
	return ring->first && (!ring->made || ring->first->handle != w->on) &&
	       !(ring->first->stream && ring->first->stream->stuck) &&
	       !completion_is_over(ring->first->context);
}

/* Removes from the reader's queue a slot that the calling thread has read, and drops the queue's
 * reference. The reader cannot remove the slot itself, because the reader may be blocked for as
 * long as the program launches kernels. The caller holds san.lock. */
static void reader_remove(struct san_slot *s)
{
	struct san_slot **at = &reader->first;

	if (s->left) {
		s->left = false;
		slot_unref(s);
		return;
	}
	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = s->next;
	if (!*at)
		reader->last = at;
	slot_unref(s);
}

/* Returns a count of raw accesses that grows while the selected launches write them. The caller
 * holds san.lock. */
static uint64_t wait_raw_filled(const struct wait_set *w)
{
	const struct pasta_gpu_ring *host;
	uint64_t sum = 0;

	for (const struct san_slot *s = slots_under_way; s; s = s->next_under_way) {
		host = s->number && slot_matches(s, w, WAIT_MOVING) ? s->context->ring.host : NULL;
		for (int i = 0; host && i < 2; i++)
			sum += __atomic_load_n(&host->filled[i], __ATOMIC_RELAXED);
	}
	return sum;
}

/* The progress of the launches that a thread waits for, and the number of times that progress has
 * extended the wait. */
struct wait_progress {
	uint64_t filled, sent;
	uint32_t times, times_sent;
};

/* Returns whether to extend a wait that has timed out. If all selected slots are read back, the
 * wait is extended while rows are emitted, at most WAITS_EMITTED times, because other threads may
 * launch continuously. A kernel that writes raw accesses may be waiting for the host, so the wait
 * is extended while accesses arrive, at most WAITS times, because the kernel may wait for the
 * program. The caller holds san.lock. */
static bool wait_progressed(const struct wait_set *w, struct wait_progress *p)
{
	const struct wait_progress was = *p;

	p->filled = wait_raw_filled(w);
	p->sent = pasta_accesses_sent();
	if (p->sent != was.sent && !slot_find(w, WAIT_RUNNING))
		return ++p->times_sent < WAITS_EMITTED;
	return p->filled != was.filled && ++p->times < WAITS;
}

/* Waits for the slots that `w` selects, and reads back each slot whose launch has finished. Returns
 * false on timeout. The caller holds san.lock. */
static bool wait_for_slots(const struct wait_set *w)
{
	struct timespec until = san_deadline(san_limits.wait_ns);
	struct wait_progress p = {0};
	struct san_slot *s;

	wait_progressed(w, &p);
	p.times = p.times_sent = 0;

	while (wait_needed(w)) {
		s = slot_find(w, WAIT_READABLE);
		if (s) {
			s->readers++;
			pasta_unlock(&san.lock);
			slot_collect(s, SAN_OK);
			pasta_lock(&san.lock);
			reader_remove(s);
			slot_unref(s);
		} else if (pthread_cond_timedwait(&san.changed, &san.lock, &until)) {
			if (!wait_progressed(w, &p))
				return false;
			until = san_deadline(san_limits.wait_ns);
		}
	}
	return true;
}

/* Called when no thread of the program waits for the stream any more. Passes to the reader the
 * slots that were left to such threads. The caller holds san.lock. */
static void reader_reclaim(const struct san_stream *stream)
{
	for (struct san_slot *s = slots_under_way; s; s = s->next_under_way) {
		if (!s->left || san_slot_done(s) || s->stream != stream)
			continue;
		s->left = false;
		lane_push(reader, s);
	}
	lane_run(reader);
}

void san_completion_wait(struct san_stream *stream)
{
	const struct wait_set w = {.stream = stream};

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed))
		return;
	pasta_lock(&san.lock);
	if (stream->pending && !stream->stuck && !completion_is_over(stream->context)) {
		stream->waiting++;
		if (!wait_for_slots(&w))
			stream->stuck = true;
		if (!--stream->waiting)
			reader_reclaim(stream);
	}
	pasta_unlock(&san.lock);
}

void san_completion_wait_all(void)
{
	const struct wait_set w = {0};

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed))
		return;
	pasta_lock(&san.lock);
	if (!wait_for_slots(&w))
		for (struct san_slot *s = slots_under_way; s; s = s->next_under_way)
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
	const struct wait_set w = {.context = context, .emitting = true};

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed))
		return;
	pasta_lock(&san.lock);
	wait_for_slots(&w);
	pasta_unlock(&san.lock);
}

void san_completion_wait_ring(const struct san_ring *ring, const void *stream)
{
	const struct wait_set w = {.ring = ring, .on = stream};

	pasta_lock(&san.lock);
	if (!wait_for_slots(&w) && ring->first && ring->first->stream)
		ring->first->stream->stuck = true;
	pasta_unlock(&san.lock);
}

/* Abandons the slots that are still open after the wait. Other threads that hold such a slot see
 * that the slot is claimed, and do not emit the slot's counts. */
void san_completion_end(const struct san_context *context, const struct san_stream *stream)
{
	const struct wait_set w = {.context = context, .stream = stream, .emitting = true};
	struct san_slot *s;

	pasta_lock(&san.lock);
	wait_for_slots(&w);
	while ((s = slot_find(&w, WAIT_OPEN))) {
		slot_claim(s);
		s->readers++;
		pasta_unlock(&san.lock);
		slot_emit(s, NULL);
		pasta_lock(&san.lock);
		reader_remove(s);
		slot_unref(s);
	}
	wait_for_slots(&w); /* waits until the emitter has finished */
	pasta_unlock(&san.lock);
}
