/*
 * rings.c - manages the ring buffer of a context, into which its launches write raw accesses.
 *
 * The ring is created for the first launch that needs the ring. The handler initializes the ring's
 * data in device memory on that launch's stream. A ring that was stopped is restarted in the same
 * way. Until the slot of that launch is read back, launches on other streams wait for a limited
 * time, because they could run before the initialization.
 *
 * While rows are emitted, no function of this file calls the Compute Sanitizer, because the ring's
 * data in device memory has been read together with the slot.
 */
#include <errno.h>

#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/rings.h"
#include "handlers/sanitizer/sites.h"
#include "handlers/sanitizer/slots.h"
#include "core/lock.h"

enum { HALF = 1 << 18, FLUSHES = 5, ABANDON_MS = 500 };

/* While the calling thread submits a launch: the slot of the launch. */
static _Thread_local const struct san_slot *beginning;
/* While the calling thread emits the rows of a slot: the copy of the ring's data that was read from
 * device memory together with the slot. */
static _Thread_local const struct pasta_gpu_raw *read_back;

/* Returns whether the host counts accesses, instead of the device or in addition to it. */
static bool ring_host_counts(void)
{
	return pasta_accesses_config.on_host || pasta_accesses_config.both;
}

bool san_ring_enabled(void)
{
	return pasta_accesses_config.raw || ring_host_counts();
}

/* -- Operations for raw.c -- */

static int ring_read_device(void *ctx, uint64_t *head, uint64_t *dropped)
{
	(void)ctx;
	*head = read_back->head;
	*dropped = read_back->dropped;
	return 0;
}

static int ring_rewind_device(void *ctx)
{
	struct san_ring *ring = ctx;
	size_t from = offsetof(struct pasta_gpu_raw, head);

	if (SAN_CALL(Memset, (char *)ring->device + from, 0, sizeof(*ring->device) - from,
		     beginning->handle) != SAN_OK)
		return -EIO;
	pasta_lock(&san.lock);
	ring->first = beginning;
	ring->dropped = 0;
	pasta_unlock(&san.lock);
	return 0;
}

static uint32_t ring_find_site(void *ctx, void *data, uint64_t addr, uint32_t flags)
{
	(void)ctx;
	return san_site(data, addr, flags);
}

/* Rows that the device has counted include the accesses whose records were dropped. */
static void ring_drop(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (pasta_accesses_config.on_host)
		pasta_accesses_dropped(launch, count);
	else
		pasta_accesses_raw_dropped(launch, count);
}

/* -- Creation -- */

static const struct pasta_raw_ops ops = {.read = ring_read_device,
					 .rewind = ring_rewind_device,
					 .site = ring_find_site,
					 .batch = pasta_accesses_batch,
					 .dropped = ring_drop};

static bool ring_needs_sites(void)
{
	return pasta_accesses_config.raw ||
	       pasta_accesses_config.reducers &
		       (PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(SITE_OBJECT) |
			PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE));
}

/* Creates the ring's data in host memory and in device memory, and the threads that consume the
 * ring. The records start at a page boundary. */
static const char *ring_make_parts(struct san_ring *ring, void *context)
{
	size_t size = (size_t)2 * HALF * sizeof(*ring->records);
	struct pasta_raw_config config = {.half = HALF,
					  .counts = ring_host_counts(),
					  .siteless = !ring_needs_sites(),
					  .stuck_ms = san_limits.stuck_ms};
	struct pasta_raw_ops own = ops;
	struct pasta_error err = {0};

	if (SAN_CALL(AllocHost, context, (void **)&ring->records, size + sizeof(*ring->host)) !=
	    SAN_OK)
		return "not enough pinned memory for the raw-access buffer";
	if (SAN_CALL(Alloc, context, (void **)&ring->device, sizeof(*ring->device)) != SAN_OK)
		return "not enough device memory for the raw-access buffer";
	ring->host = (struct pasta_gpu_ring *)(ring->records + (size_t)2 * HALF);
	config.ring = ring->host;
	config.records = ring->records;
	own.ctx = ring;
	ring->raw = pasta_raw_new(&config, &own, &err);
	return ring->raw ? NULL
			 : "cannot start the threads that store raw accesses, or out of memory";
}

static const char *ring_make(struct san_ring *ring, void *context, void *stream)
{
	struct pasta_gpu_raw image = {.half = HALF, .wait = !pasta_accesses_config.lossy};
	const char *why = ring_make_parts(ring, context);

	if (!why) {
		image.ring = ring->host;
		image.records = ring->records;
		if (SAN_CALL(MemcpyHostToDeviceAsync, ring->device, &image, sizeof(image),
			     stream) == SAN_OK)
			return NULL;
		why = "cannot initialize the raw-access buffer in device memory";
	}
	/* The ring could not be created, and the handler does not try again. The ring's memory
	 * remains allocated, because freeing memory would wait for all kernels. */
	pasta_raw_free(ring->raw);
	ring->raw = NULL;
	return why;
}

/* Creates the ring for the first launch that needs the ring. Other launches wait until the slot of
 * the first launch is read back. Returns NULL on success, or a static string that explains the
 * failure. */
static const char *ring_enter(struct san_ring *ring, const struct san_slot *s)
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
		why = "the raw-access buffer cannot be used yet: an earlier launch that writes to "
		      "it has not ended";
	pasta_unlock(&san.lock);
	if (!mine)
		return why;
	why = ring_make(ring, s->context->handle, s->handle);
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
		return "the address of the kernel's code is unknown";
	why = ring_enter(ring, s);
	if (why)
		return why;
	beginning = s;
	s->number = pasta_raw_begin(ring->raw, s->launch, threads, s->pc, s);
	if (!s->number)
		return "too many launches in the same CUDA context are in progress";
	pasta_lock(&san.lock);
	s->dropped_before = ring->dropped;
	pasta_unlock(&san.lock);
	/* Another launch may have restarted the ring since the numbers of dropped accesses were
	 * read. */
	why = ring_enter(ring, s);
	s->image.raw = ring->device;
	s->image.number = s->number;
	s->image.base = s->pc;
	return why;
}

/* Stops the ring permanently, because the ring's set-up may never run, or because a kernel may
 * still write to the ring. */
static void ring_abandon(struct san_ring *ring)
{
	pasta_lock(&san.lock);
	ring->trouble = "the raw-access buffer can no longer be used: an earlier launch may still "
			"write to it";
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
		ring_abandon(ring);
	if (s->number)
		pasta_raw_abandon(ring->raw, s->number, ABANDON_MS);
}

/* Called when the stream has finished the ring's set-up. */
static void ring_set_ready(struct san_ring *ring, const struct san_slot *s)
{
	pasta_lock(&san.lock);
	if (ring->first == s) {
		ring->first = NULL;
		pthread_cond_broadcast(&san.changed);
	}
	pasta_unlock(&san.lock);
}

/* If several launches drop accesses at the same time, all dropped accesses count for one of these
 * launches. */
static void ring_note_dropped(struct san_ring *ring, const struct san_slot *s, uint64_t dropped)
{
	if (dropped != s->dropped_before)
		pasta_accesses_partial(s->launch);
	pasta_lock(&san.lock);
	ring->dropped = dropped;
	pasta_unlock(&san.lock);
}

bool san_ring_end(const struct san_slot *s, const struct pasta_gpu_raw *read)
{
	struct san_ring *ring = &s->context->ring;
	int error = -ETIMEDOUT;

	if (!s->number)
		return true;
	if (read) {
		ring_set_ready(ring, s);
		ring_note_dropped(ring, s, read->dropped);
		read_back = read;
		for (int i = 0; i < FLUSHES && error == -ETIMEDOUT; i++)
			error = pasta_raw_flush(ring->raw, s->number, san_limits.flush_ms);
		if (!error)
			return true;
		/* if the number of dropped accesses is unknown, count one */
		ring_drop(s->launch, 1);
	} else {
		ring_abandon(ring);
	}
	return !pasta_raw_abandon(ring->raw, s->number, ABANDON_MS);
}

/* Stops the threads that use the ring, because the ring's memory is destroyed with the context.
 * Stops the ring, too, so that a kernel does not wait for room forever. */
void san_ring_close(struct san_context *c)
{
	struct san_ring *ring = &c->ring;
	bool unused = true;

	if (!ring->made)
		return;
	ring_abandon(ring);
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
		unused = false;
	}
	if (unused)
		pasta_raw_free(ring->raw);
}
