/* contexts.c - numbers the program's contexts and streams, and waits for their launches before the
 * program destroys them. */
#include <stdlib.h>
#include <time.h>

#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/idle.h"
#include "handlers/sanitizer/modules.h"
#include "handlers/sanitizer/objects.h"
#include "handlers/sanitizer/slots.h"
#include "core/lock.h"

struct san_limits san_limits = {.wait_ns = UINT64_C(2000000000), .flush_ms = 2000};

static struct san_context *contexts;
static uint32_t context_count, stream_count;
static struct pasta_map *streams; /* struct san_stream pointers by stream handle */

struct timespec san_deadline(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	return t;
}

static struct san_context *context_lookup(const void *handle)
{
	struct san_context *c = contexts;

	while (c && c->handle != handle)
		c = c->next;
	return c;
}

struct san_context *san_context(void *handle, int device)
{
	struct san_context *c;

	if (!handle)
		return NULL;
	pasta_lock(&san.lock);
	c = context_lookup(handle);
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (c) {
			c->handle = handle;
			c->number = ++context_count;
			c->pages_most = SAN_PAGES_MOST;
			c->next = contexts;
			contexts = c;
		}
	}
	if (c && device >= 0 && c->device != (uint32_t)device)
		c->device = (uint32_t)device;
	pasta_unlock(&san.lock);
	return c;
}

/* Creates the handler's own stream, on which the handler reads slots, because the program's streams
 * may be blocked by work that waits for the program. The stream is created early, because no stream
 * can be created during a stream capture. */
void san_context_begin(void *handle, int device)
{
	struct san_context *c = san_context(handle, device);
	void *own = NULL;

	if (!c || c->own || SAN_CALL(NewStream, handle, &own) != SAN_OK)
		return;
	pasta_lock(&san.lock);
	c->own = own;
	pasta_unlock(&san.lock);
}

struct san_context *san_context_find(const void *handle)
{
	struct san_context *c = NULL;

	if (!handle)
		return NULL;
	pasta_lock(&san.lock);
	c = context_lookup(handle);
	pasta_unlock(&san.lock);
	return c;
}

uint32_t san_context_number(const void *handle)
{
	const struct san_context *c = san_context_find(handle);

	return c ? c->number : 0;
}

size_t san_contexts(struct san_context **list, size_t max)
{
	size_t count = 0;

	for (struct san_context *c = contexts; c; c = c->next) {
		if (!c->handle || c->broken)
			continue;
		if (count < max)
			list[count] = c;
		count++;
	}
	return count;
}

void san_contexts_tidy(void)
{
	struct san_context *c;

	pasta_lock(&san.lock);
	c = contexts;
	pasta_unlock(&san.lock);
	for (; c; c = c->next)
		if (c->handle && !c->broken)
			san_slots_tidy(c);
}

static struct san_stream **stream_lookup(const void *handle)
{
	if (!streams)
		streams = pasta_map_new(sizeof(struct san_stream *));
	return streams ? pasta_map_find(streams, (uintptr_t)handle) : NULL;
}

struct san_stream *san_stream(struct san_context *context, void *handle)
{
	struct san_stream **at, *s = NULL;

	pasta_lock(&san.lock);
	at = stream_lookup(handle);
	if (!at && streams)
		at = pasta_map_add(streams, (uintptr_t)handle);
	if (at && !*at)
		*at = calloc(1, sizeof(**at));
	s = at ? *at : NULL;
	if (s && s->context != context) { /* a handle can be reused */
		s->context = context;
		s->handle = handle;
		s->number = ++stream_count;
	}
	if (s)
		s->users++;
	pasta_unlock(&san.lock);
	return s;
}

/* The caller holds san.lock. */
static void stream_free_unused(struct san_stream *s)
{
	if (s->destroyed && !s->users && !s->pending)
		free(s);
}

void san_stream_put(struct san_stream *s)
{
	if (!s)
		return;
	pasta_lock(&san.lock);
	s->users--;
	stream_free_unused(s);
	pasta_unlock(&san.lock);
}

/* The driver may reuse the handle of a destroyed stream. The struct remains, because an abandoned
 * slot, or a thread that is about to launch on the stream, may still refer to the struct. */
void san_stream_end(void *handle)
{
	struct san_stream **at, *s;

	pasta_lock(&san.lock);
	at = stream_lookup(handle);
	s = at ? *at : NULL;
	pasta_unlock(&san.lock);
	if (!s)
		return;
	san_completion_end(NULL, s);
	pasta_lock(&san.lock);
	pasta_map_remove(streams, (uintptr_t)handle);
	s->destroyed = true;
	stream_free_unused(s);
	pasta_unlock(&san.lock);
}

void san_context_end(void *handle)
{
	struct san_context *c = san_context_find(handle);

	if (!c)
		return;
	san_completion_end(c, NULL);
	c->broken = true; /* from here on, threads do not use the context */
	san_ring_close(c);
	san_modules_end(c);
	san_objects_end(c->number);
	pasta_lock(&san.lock);
	san_idle_stop();
	c->handle = NULL;
	san_slots_end(c);
	pasta_unlock(&san.lock);
}
