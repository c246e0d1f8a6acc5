/* drain.c - moves the events of all rings, and the agent's own events, into frames of the shard. */
#include "collect/drain.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "collect/agent.h"
#include "collect/state.h"

#define CLOCK_NS UINT64_C(1000000000) /* number of ns between clock events */

uint64_t pasta_drain_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool pasta_drain_check(int r)
{
	if (r)
		pasta_agent_fail(-r, "cannot write", pasta_shard_file.path);
	return !r;
}

static bool drain_append(const void *frame, size_t size)
{
	struct pasta_shardfile *f = &pasta_state->shard;

	f->fd = pasta_file_fd(&pasta_shard_file);
	return pasta_drain_check(f->fd < 0 ? -errno : pasta_shardfile_append(f, frame, size));
}

static bool drain_put_strings(size_t size, uint64_t first, uint32_t count)
{
	size_t n;
	const void *frame;

	if (!count)
		return true;
	frame = pasta_encode_plain(pasta_state->encoder, PASTA_FRAME_STRINGS, pasta_state->text,
				   size, first, count, &n);
	return drain_append(frame, n);
}

/* Writes the new strings of a segment as one frame. The strings fit into a frame, because a segment
 * of strings is smaller than the largest frame. */
static bool drain_string_block(const struct pasta_strings *b, uint64_t used)
{
	struct pasta_state *s = pasta_state;
	uint64_t at = s->strings_used;
	uint32_t count = 0;
	size_t size = 0;

	while (at < used) {
		const struct pasta_string *entry = (const void *)(b->data + at);

		size += pasta_encode_string(s->text + size, entry->bytes, entry->size);
		at += pasta_string_room(entry->size);
		count++;
	}
	if (!drain_put_strings(size, s->strings_id + 1, count))
		return false;
	s->strings_id += count;
	s->strings_used = used;
	return true;
}

static bool drain_strings(void)
{
	struct pasta_state *s = pasta_state;
	uint32_t n = atomic_load_explicit(&s->file->segments, memory_order_acquire);

	for (uint32_t i = s->strings_segment; i < n; i++) {
		struct pasta_strings *b = s->segment[i];

		if (s->file->segment[i].type != PASTA_SEGMENT_STRINGS)
			continue;
		if (i != s->strings_segment) {
			s->strings_segment = i;
			s->strings_used = 0;
		}
		if (!drain_string_block(b, atomic_load_explicit(&b->used, memory_order_acquire)))
			return false;
	}
	return true;
}

static bool drain_ring_frames(struct pasta_ring *r, uint64_t head)
{
	uint64_t at = atomic_load_explicit(&r->tail, memory_order_relaxed), damaged = 0;
	uint64_t seed = pasta_ring_seed(pasta_state->file, r->source);

	while (at < head) {
		/* pasta_ring_collect skips records that the program has overwritten by mistake.
		 * Readers detect the loss, because the shard also contains the number of records
		 * that were pushed into the ring. */
		size_t size, n = pasta_ring_collect(r, seed, &at, head, pasta_state->events,
						    PASTA_FRAME_EVENTS, &damaged);
		struct pasta_frame_meta meta = {
			.source = r->source,
			.clock = r->clock,
			.seq = r->drained,
			.pos = at,
		};
		const void *frame;

		if (n) {
			meta.watermark = r->port ? atomic_load(&r->watermark)
						 : pasta_state->events[n - 1]->time;
			frame = pasta_encode_events(pasta_state->encoder, pasta_state->events, n,
						    &meta, &size);
			if (!drain_append(frame, size))
				return false;
		}
		r->drained += n;
		atomic_store_explicit(&r->tail, at, memory_order_release);
	}
	return true;
}

bool pasta_drain_flush(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_frame_meta meta = {.seq = s->state_seq, .flags = PASTA_FRAME_STATE};
	size_t size;
	const void *frame;

	if (!s->own_count)
		return true;
	if (!drain_strings())
		return false;
	for (uint32_t i = 0; i < s->own_count; i++) {
		s->events[i] = &s->own[i];
		if (s->own[i].kind == PASTA_KIND_CLOCK)
			meta.flags |= PASTA_FRAME_CLOCK;
	}
	meta.watermark = s->own[s->own_count - 1].time;
	frame = pasta_encode_events(s->encoder, s->events, s->own_count, &meta, &size);
	if (!drain_append(frame, size))
		return false;
	s->state_seq += s->own_count;
	s->own_count = 0;
	atomic_store(&s->file->own, pasta_seal(s->state_seq, PASTA_OWN_SALT));
	return true;
}

struct pasta_event *pasta_drain_event(enum pasta_kind kind, unsigned int sub)
{
	struct pasta_state *s = pasta_state;
	struct pasta_event *ev;

	if (s->own_count == sizeof(s->own) / sizeof(s->own[0]) && !pasta_drain_flush())
		return NULL;
	ev = &s->own[s->own_count++];
	memset(ev, 0, sizeof(*ev));
	ev->size = pasta_kinds[kind].size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
	ev->time = pasta_now();
	return ev;
}

void pasta_drain_clock(uint64_t raw, uint64_t real)
{
	struct pasta_event *ev = pasta_drain_event(PASTA_KIND_CLOCK, 0);

	if (!ev)
		return;
	ev->clock.value = ev->clock.raw = raw;
	ev->clock.real = real;
	ev->clock.id = PASTA_CLOCK_RAW;
	pasta_state->next_clock = raw + CLOCK_NS;
}

/* Writes clock events for the clock readings that handlers reported. */
static void drain_clock_pairs(void)
{
	struct pasta_state *s = pasta_state;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->pair_count; i++) {
		struct pasta_event *ev = pasta_drain_event(PASTA_KIND_CLOCK, 0);

		if (ev)
			ev->clock = s->pairs[i];
	}
	s->pair_count = 0;
	pthread_mutex_unlock(&s->lock);
}

static bool drain_loss_event(uint32_t source, unsigned int reason, uint64_t pushed,
			     uint64_t dropped)
{
	struct pasta_event *ev = pasta_drain_event(PASTA_KIND_LOSS, reason);

	if (!ev)
		return false;
	ev->loss.source = source;
	ev->loss.pushed = pushed;
	ev->loss.dropped = dropped;
	return true;
}

static void drain_losses(uint32_t source, uint64_t pushed, _Atomic uint64_t *dropped,
			 uint64_t *reported)
{
	for (unsigned int i = 1; i < PASTA_LOSS_COUNT; i++) {
		uint64_t n;

		pasta_unseal(atomic_load_explicit(&dropped[i], memory_order_relaxed), i, &n);
		if (n != reported[i] && drain_loss_event(source, i, pushed, n))
			reported[i] = n;
	}
}

uint32_t pasta_drain_intern(const char *text)
{
	const struct pasta_string *entry;
	uint32_t id;

	pthread_mutex_lock(&pasta_state->lock);
	id = pasta_intern_locked(text, strlen(text), &entry);
	pthread_mutex_unlock(&pasta_state->lock);
	return id;
}

/* Emits the name of the ring's thread. */
static void drain_thread_name(struct pasta_ring *r)
{
	uint32_t tid = atomic_load_explicit(&r->tid, memory_order_acquire);
	struct pasta_event *ev;
	char name[sizeof(r->name)];

	if (!tid || r->announced == tid)
		return;
	/* The lock protects the ring's thread name, which pasta_emit_name changes. */
	pthread_mutex_lock(&pasta_state->lock);
	memcpy(name, r->name, sizeof(name));
	tid = atomic_load_explicit(&r->tid, memory_order_relaxed);
	pthread_mutex_unlock(&pasta_state->lock);
	if (!name[0]) {
		r->announced = tid;
		return;
	}
	ev = pasta_drain_event(PASTA_KIND_THREAD, 0);
	if (!ev)
		return;
	ev->tid = r->announced = tid;
	ev->thread.name = pasta_drain_intern(name);
}

/* Drains a ring. The function reads the ring's head before it writes the strings, so that the shard
 * contains the strings before the events that refer to them. */
static bool drain_ring(struct pasta_ring *r, bool last)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	drain_thread_name(r);
	if (!drain_strings() || !drain_ring_frames(r, head))
		return false;
	drain_losses(r->source, r->drained, r->dropped, r->reported);
	return !last || drain_loss_event(r->source, PASTA_LOSS_ACCOUNT, atomic_load(&r->pushed), 0);
}

/* Emits the shard's last event, by which readers recognize a complete shard (PASTA_SHARD_ENDS). */
static void drain_end_event(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_event *ev = pasta_drain_event(PASTA_KIND_LOSS, PASTA_LOSS_ACCOUNT);

	if (!ev)
		return;
	ev->loss.pushed = s->state_seq + s->own_count;
	ev->loss.dropped = s->strings_id;
}

bool pasta_drain(bool last)
{
	struct pasta_state *s = pasta_state;
	uint64_t raw = pasta_drain_clock_ns(CLOCK_MONOTONIC_RAW),
		 real = pasta_drain_clock_ns(CLOCK_REALTIME);
	uint32_t n = atomic_load_explicit(&s->file->segments, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (s->file->segment[i].type == PASTA_SEGMENT_RING &&
		    !drain_ring(s->segment[i], last))
			return false;
	drain_losses(0, 0, s->file->lost, s->loss_reported);
	drain_clock_pairs();
	if (last || raw >= s->next_clock)
		pasta_drain_clock(raw, real);
	if (last && (!drain_strings() || !pasta_drain_flush()))
		return false;
	if (last)
		drain_end_event();
	return pasta_drain_flush();
}
