/*
 * rings.c - raw accesses of a context's launches: the ring that they are written to.
 *
 * It is made when a launch first needs it, and the device's side of it is set up on that launch's
 * stream, as it is where the ring was stopped and is used again. Until that launch is read back,
 * those of other streams wait for it, within bounds: they might run before the ring is there.
 *
 * Nothing that is told while rows are waits for the vendor's library: what the device has to say is
 * read with the slot.
 */
#include <errno.h>

#include "handlers/sanitizer/sanitizer.h"
#include "core/lock.h"

enum { HALF = 1 << 18, FLUSH_MS = 2000, FLUSHES = 5, ABANDON_MS = 500 };

/* Of the launch that begins, or is told, on this thread. */
static _Thread_local const struct san_slot *beginning;
static _Thread_local const struct pasta_gpu_raw *told;

/* Instead of devices, or beside them. */
static bool host_counts(void)
{
	return pasta_accesses_config.on_host || pasta_accesses_config.both;
}

bool san_ring_enabled(void)
{
	return pasta_accesses_config.raw || host_counts();
}

/* -- What raw.c asks for -- */

static int read_device(void *ctx, uint64_t *head, uint64_t *lost)
{
	(void)ctx;
	*head = told->head;
	*lost = told->lost;
	return 0;
}

static int rewind_device(void *ctx)
{
	struct san_ring *ring = ctx;
	size_t from = offsetof(struct pasta_gpu_raw, head);

	if (SAN_CALL(Memset, (char *)ring->device + from, 0, sizeof(*ring->device) - from,
		     beginning->handle) != SAN_OK)
		return -EIO;
	pasta_lock(&san.lock);
	ring->first = beginning;
	ring->lost = 0;
	pasta_unlock(&san.lock);
	return 0;
}

static uint32_t find_site(void *ctx, void *data, uint64_t addr, uint32_t flags)
{
	(void)ctx;
	return san_site(data, addr, flags);
}

/* Where devices count, their rows have them. */
static void lose(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (pasta_accesses_config.on_host)
		pasta_accesses_dropped(launch, count);
	else
		pasta_accesses_raw_dropped(launch, count);
}

/* -- Making it -- */

static const struct pasta_raw_ops ops = {.read = read_device,
					 .rewind = rewind_device,
					 .site = find_site,
					 .batch = pasta_accesses_batch,
					 .lost = lose};

static bool wants_sites(void)
{
	return pasta_accesses_config.raw ||
	       pasta_accesses_config.reducers &
		       (PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(SITE_OBJECT) |
			PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE));
}

/* Both sides, and the threads. Records are at the beginning of a page. */
static const char *make_parts(struct san_ring *ring, void *context)
{
	size_t size = (size_t)2 * HALF * sizeof(*ring->records);
	struct pasta_raw_config config = {
		.half = HALF, .counts = host_counts(), .siteless = !wants_sites()};
	struct pasta_raw_ops own = ops;
	struct pasta_error err = {0};

	if (SAN_CALL(AllocHost, context, (void **)&ring->records, size + sizeof(*ring->host)) !=
	    SAN_OK)
		return "there is no pinned memory for raw accesses";
	if (SAN_CALL(Alloc, context, (void **)&ring->device, sizeof(*ring->device)) != SAN_OK)
		return "there is no memory of its device left for raw accesses";
	ring->host = (struct pasta_gpu_ring *)(ring->records + (size_t)2 * HALF);
	config.ring = ring->host;
	config.records = ring->records;
	own.ctx = ring;
	ring->raw = pasta_raw_new(&config, &own, &err);
	return ring->raw ? NULL : "there is no memory, or no thread, for raw accesses";
}

static const char *make(struct san_ring *ring, void *context, void *stream)
{
	struct pasta_gpu_raw image = {.half = HALF, .wait = !pasta_accesses_config.lossy};
	const char *why = make_parts(ring, context);

	if (!why) {
		image.ring = ring->host;
		image.records = ring->records;
		if (SAN_CALL(MemcpyHostToDeviceAsync, ring->device, &image, sizeof(image),
			     stream) == SAN_OK)
			return NULL;
		why = "its device's memory cannot be written";
	}
	/* Its memory stays: to free it is to wait for all kernels, and it is not tried again. */
	pasta_raw_free(ring->raw);
	ring->raw = NULL;
	return why;
}

/* Who is first makes it; the others wait until that one is read back. */
static const char *enter(struct san_ring *ring, const struct san_slot *s)
{
	const char *why;
	bool mine;

	san_completion_wait_ring(ring, s->handle);
	pasta_lock(&san.lock);
	mine = !ring->made && !ring->trouble && !ring->first;
	if (mine)
		ring->first = s;
	why = ring->trouble;
	if (!why && !mine && ring->first && (!ring->made || ring->first->handle != s->handle))
		why = "the ring of raw accesses waits for a launch that has not ended";
	pasta_unlock(&san.lock);
	if (!mine)
		return why;
	why = make(ring, s->context->handle, s->handle);
	pasta_lock(&san.lock);
	ring->made = !why;
	ring->trouble = why;
	if (why)
		ring->first = NULL;
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
	return why;
}

/* -- Launches -- */

const char *san_ring_begin(struct san_slot *s, uint32_t threads)
{
	struct san_ring *ring = &s->context->ring;
	const char *why;

	if (!san_ring_enabled())
		return NULL;
	if (!s->pc)
		return "where its code lies is not known";
	why = enter(ring, s);
	if (why)
		return why;
	beginning = s;
	s->number = pasta_raw_begin(ring->raw, s->launch, threads, s->pc, s);
	if (!s->number)
		return "too many launches of its context are under way";
	pasta_lock(&san.lock);
	s->lost = ring->lost;
	pasta_unlock(&san.lock);
	/* Another one may have set it up anew meanwhile. */
	why = enter(ring, s);
	s->image.raw = ring->device;
	s->image.number = s->number;
	s->image.base = s->pc;
	return why;
}

/* Its set-up may never be done, or its kernel still write: nobody uses it any more, and nobody
 * waits for it. */
static void give_up(struct san_ring *ring)
{
	pasta_lock(&san.lock);
	ring->trouble = "raw accesses of an earlier launch may still come";
	ring->first = NULL;
	if (ring->host)
		__atomic_store_n(&ring->host->stop, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

void san_ring_cancel(struct san_slot *s)
{
	struct san_ring *ring = &s->context->ring;
	bool first;

	pasta_lock(&san.lock);
	first = ring->made && ring->first == s;
	pasta_unlock(&san.lock);
	if (first)
		give_up(ring);
	if (s->number)
		pasta_raw_abandon(ring->raw, s->number, ABANDON_MS);
}

/* It is set up: the stream has come past it. */
static void is_ready(struct san_ring *ring, const struct san_slot *s)
{
	pasta_lock(&san.lock);
	if (ring->first == s) {
		ring->first = NULL;
		pthread_cond_broadcast(&san.changed);
	}
	pasta_unlock(&san.lock);
}

/* Of launches that lose accesses at the same time, one is told all of them. */
static void know_lost(struct san_ring *ring, const struct san_slot *s, uint64_t lost)
{
	if (lost != s->lost)
		pasta_accesses_partial(s->launch);
	pasta_lock(&san.lock);
	ring->lost = lost;
	pasta_unlock(&san.lock);
}

bool san_ring_end(const struct san_slot *s, const struct pasta_gpu_raw *read)
{
	struct san_ring *ring = &s->context->ring;
	int error = -ETIMEDOUT;

	if (!s->number)
		return true;
	if (read) {
		is_ready(ring, s);
		know_lost(ring, s, read->lost);
		told = read;
		for (int i = 0; i < FLUSHES && error == -ETIMEDOUT; i++)
			error = pasta_raw_flush(ring->raw, s->number, FLUSH_MS);
		if (!error)
			return true;
		lose(s->launch, 1); /* how many there are nobody knows */
	} else {
		give_up(ring);
	}
	return !pasta_raw_abandon(ring->raw, s->number, ABANDON_MS);
}

/* Its memory goes with the context: whoever is still at it stops. A kernel that waits for the ring
 * must not wait for ever. */
void san_ring_close(struct san_context *c)
{
	struct san_ring *ring = &c->ring;
	bool quiet = true;

	if (!ring->made)
		return;
	give_up(ring);
	pasta_lock(&san.lock);
	ring->host = NULL;
	pasta_unlock(&san.lock);
	pasta_raw_cut(ring->raw);
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t number;

		pasta_lock(&san.lock);
		number = c->slots[i]->launch ? c->slots[i]->number : 0;
		pasta_unlock(&san.lock);
		if (!number)
			continue;
		pasta_raw_abandon(ring->raw, number, 0);
		quiet = false;
	}
	if (quiet)
		pasta_raw_free(ring->raw);
}
