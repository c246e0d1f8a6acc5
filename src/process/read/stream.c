/* stream.c - merges many shards by time within a memory budget. */
#include "process/read/stream.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/io/files.h"
#include "process/read/shard.h"
#include "process/read/stream_internal.h"

#define BUDGET_DEFAULT ((size_t)256 << 20)
enum { WINDOW_MIN = 4 << 10, WINDOW_MAX = 64 << 10 };

struct pasta_stream *pasta_stream_new(size_t budget)
{
	struct pasta_stream *s = calloc(1, sizeof(*s));
	struct rlimit files;

	if (!s)
		return NULL;
	s->budget = budget ? budget : BUDGET_DEFAULT;
	s->kinds = s->safe = UINT64_MAX;
	s->only = SIZE_MAX;
	s->spill = -1;
	s->progress = &s->done;
	s->decoder = pasta_decoder_new();
	if (!s->decoder) {
		free(s);
		return NULL;
	}
	/* Raise the limit on open files, because each shard is an open file, and a run may have
	 * thousands of shards. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return s;
}

static void stream_cursor_free(struct stream_cursor *c)
{
	if (c)
		free(c->block.data);
	free(c);
}

void pasta_stream_free(struct pasta_stream *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->active_count; i++)
		stream_cursor_free(s->active[i].cursor);
	stream_cursor_free(s->current.cursor);
	stream_cursor_free(s->spare);
	for (size_t i = 0; !s->part && i < s->shard_count; i++)
		pasta_shard_close(s->shards[i]);
	if (s->spill >= 0)
		close(s->spill);
	pasta_decoder_free(s->decoder);
	if (!s->part)
		free(s->shards);
	free(s->followers);
	free(s->pending);
	free(s->active);
	free(s);
}

/* Returns whether frame a comes before frame b. Frames that are not open are ordered by the time of
 * their first event. */
static bool stream_pending_before(const struct stream_pending *a, const struct stream_pending *b)
{
	return a->first < b->first;
}

static bool stream_cursor_before(const struct stream_cursor *a, const struct stream_cursor *b)
{
	if (a->shard != b->shard)
		return a->shard < b->shard;
	if (a->source != b->source)
		return a->source < b->source;
	return a->seq < b->seq;
}

static inline bool stream_active_before(const struct stream_active *a,
					const struct stream_active *b)
{
	return a->time != b->time ? a->time < b->time : stream_cursor_before(a->cursor, b->cursor);
}

static void *stream_grown(void *array, size_t *capacity, size_t count, size_t size)
{
	size_t n = *capacity ? *capacity * 2 : 64;
	void *p = array;

	if (count < *capacity)
		return array;
	p = realloc(array, n * size);
	if (p)
		*capacity = n;
	return p;
}

static int stream_pending_push(struct pasta_stream *s, struct stream_pending item)
{
	struct stream_pending *h =
		stream_grown(s->pending, &s->pending_capacity, s->pending_count, sizeof(*h));
	size_t i = s->pending_count;

	if (!h)
		return -ENOMEM;
	s->pending = h;
	s->pending_count++;
	s->limit = 0;
	for (; i && stream_pending_before(&item, &h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = item;
	return 0;
}

static struct stream_pending stream_pending_pop(struct pasta_stream *s)
{
	struct stream_pending *h = s->pending, top = h[0], item = h[--s->pending_count];
	size_t i = 0, n = s->pending_count;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && stream_pending_before(&h[child + 1], &h[child]))
			child++;
		if (!stream_pending_before(&h[child], &item))
			break;
		h[i] = h[child];
	}
	h[i] = item;
	return top;
}

static const struct pasta_event *stream_record(const struct stream_cursor *c)
{
	return (const void *)(c->block.data + c->pos);
}

static int stream_active_push(struct pasta_stream *s, struct stream_cursor *c)
{
	size_t i = s->active_count;
	/* Also make room for the current cursor, which may be put back into the heap. */
	struct stream_active *h = stream_grown(s->active, &s->active_capacity, i + 1, sizeof(*h));
	struct stream_active item = {.time = stream_record(c)->time, .cursor = c};

	if (!h)
		return -ENOMEM;
	s->active = h;
	s->active_count++;
	for (; i && stream_active_before(&item, &h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = item;
	return 0;
}

/* Restores the order of the heap after its top was replaced. */
static void stream_active_sink(struct pasta_stream *s)
{
	struct stream_active *h = s->active, item = h[0];
	size_t i = 0, n = s->active_count;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && stream_active_before(&h[child + 1], &h[child]))
			child++;
		if (!stream_active_before(&h[child], &item))
			break;
		h[i] = h[child];
	}
	if (n)
		h[i] = item;
}

int pasta_stream_add_frames(struct pasta_stream *s, uint32_t shard, size_t from)
{
	const struct pasta_shard *sh = s->shards[shard];

	for (size_t i = from; i < sh->frame_count; i++) {
		struct stream_pending p = {.first = pasta_shard_first(sh, i) + (uint64_t)sh->offset,
					   .shard = shard,
					   .frame = (uint32_t)i};

		if (stream_pending_push(s, p))
			return -ENOMEM;
	}
	return 0;
}

struct pasta_stream *pasta_stream_part(struct pasta_stream *s, size_t shard, bool silent,
				       size_t budget)
{
	struct pasta_stream *part = pasta_stream_new(budget);
	size_t i;

	if (!part)
		return NULL;
	part->part = true;
	part->silent = silent;
	part->only = shard;
	part->shards = s->shards;
	part->shard_count = s->shard_count;
	if (!silent)
		part->progress = &s->done;
	for (i = 0; i < s->shard_count; i++) {
		if ((shard != SIZE_MAX && i != shard) || s->shards[i]->excluded)
			continue;
		if (pasta_stream_add_frames(part, (uint32_t)i, 0)) {
			pasta_stream_free(part);
			return NULL;
		}
	}
	return part;
}

void pasta_stream_join(struct pasta_stream *s, const struct pasta_stream *part)
{
	s->late += part->silent ? 0 : part->late;
}

void pasta_stream_exclude(struct pasta_stream *s, size_t shard)
{
	size_t i, left = 0, count = s->pending_count;

	s->shards[shard]->excluded = true;
	s->excluded += s->shards[shard]->size;
	/* Build the heap again in place. This is safe, because pushing entry i writes only to
	 * entries 0 to i. */
	for (i = 0; i < count; i++)
		if (s->pending[i].shard != shard)
			s->pending[left++] = s->pending[i];
	s->pending_count = 0;
	/* pushing cannot fail here, because the array does not grow */
	for (i = 0; i < left; i++)
		stream_pending_push(s, s->pending[i]);
}

bool pasta_stream_excluded(const struct pasta_stream *s, size_t shard)
{
	return s->shards[shard]->excluded;
}

static struct pasta_shard_tally *stream_tally(struct pasta_stream *s, uint32_t shard)
{
	return s->silent ? &s->ignored : &s->shards[shard]->tally;
}

/* If necessary, reads more records of a frame from the temporary file, so that the next record is
 * completely in memory. Returns false if there is no further record. */
static bool stream_refill(struct pasta_stream *s, struct stream_cursor *c)
{
	struct pasta_block *b = &c->block;
	size_t left = b->size - c->pos, n;

	if (left && (c->spill_at == c->spill_end || (left >= 8 && stream_record(c)->size <= left)))
		return true;
	if (c->spill_at == c->spill_end)
		return false;
	memmove(b->data, b->data + c->pos, left);
	n = c->spill_end - c->spill_at < b->capacity - left ? (size_t)(c->spill_end - c->spill_at)
							    : b->capacity - left;
	if (pread(s->spill, b->data + left, n, (off_t)c->spill_at) != (ssize_t)n) {
		/* The number of events that cannot be read is unknown, so count 1. */
		stream_tally(s, c->shard)->unreadable++;
		c->spill_at = c->spill_end;
		return false;
	}
	/* Release the space in the temporary file, if the file system supports that. Otherwise the
	 * file could become very large, because all events of the run may pass through it. */
	fallocate(s->spill, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)c->spill_at,
		  (off_t)n);
	c->spill_at += n;
	c->pos = 0;
	b->size = left + n;
	return true;
}

static size_t stream_cursors(const struct pasta_stream *s)
{
	return s->active_count + (s->current.cursor != NULL);
}

/* Moves the records of a frame to the temporary file, except for a part of them that stays in
 * memory. This part is smaller if more frames are open. If writing fails, all records stay in
 * memory. */
static void stream_spill(struct pasta_stream *s, struct stream_cursor *c)
{
	struct pasta_block *b = &c->block;
	size_t window = s->budget / 4 / (stream_cursors(s) + 1) & ~(size_t)7, rest;
	uint8_t *data;

	window = window < WINDOW_MIN ? WINDOW_MIN : window > WINDOW_MAX ? WINDOW_MAX : window;
	rest = b->size > window ? b->size - window : 0;
	if (rest && s->spill < 0)
		s->spill = pasta_files_temporary(NULL);
	if (rest && (s->spill < 0 || pwrite(s->spill, b->data + window, rest,
					    (off_t)s->spill_end) != (ssize_t)rest))
		return;
	c->spill_at = s->spill_end;
	c->spill_end = s->spill_end += rest;
	b->size -= rest;
	data = realloc(b->data, b->size);
	if (data) {
		b->data = data;
		b->capacity = b->size;
	}
}

static void stream_recycle(struct pasta_stream *s, struct stream_cursor *c)
{
	s->used -= c->block.capacity;
	if (s->spare)
		stream_cursor_free(c);
	else
		s->spare = c;
}

/* Opens the frame that has the earliest first event of all frames that are not open. */
static void stream_open_frame(struct pasta_stream *s)
{
	struct stream_pending p = stream_pending_pop(s);
	struct pasta_shard *sh = s->shards[p.shard];
	struct stream_cursor *c = s->spare ? s->spare : calloc(1, sizeof(*c));
	struct pasta_frame f;
	int r;

	s->spare = NULL;
	if (!c) {
		stream_tally(s, p.shard)->unreadable++;
		return;
	}
	*c = (struct stream_cursor){.block = c->block, .shard = p.shard};
	r = pasta_shard_read(sh, s->decoder, sh->frames[p.frame].offset, s->kinds, &f, &c->block,
			     stream_tally(s, p.shard));
	atomic_fetch_add_explicit(s->progress, sizeof(f) + (r ? 0 : f.size), memory_order_relaxed);
	s->used += c->block.capacity;
	if (r || !c->block.count) {
		stream_recycle(s, c);
		return;
	}
	c->source = f.source;
	c->seq = f.seq;
	if (s->used > s->budget && stream_cursors(s)) {
		s->used -= c->block.capacity;
		stream_spill(s, c);
		s->used += c->block.capacity;
	}
	if (stream_active_push(s, c)) {
		stream_tally(s, p.shard)->unreadable += c->block.count;
		stream_tally(s, p.shard)->captured -= c->block.count;
		stream_recycle(s, c);
	}
}

/* Moves the current cursor to its next record, or ends it. */
static void stream_advance(struct pasta_stream *s)
{
	struct stream_cursor *c = s->current.cursor;

	if (stream_refill(s, c)) {
		const char *next = (const char *)stream_record(c) + stream_record(c)->size;

		s->current.time = stream_record(c)->time;
		/* Prefetch the cursor's next record. With many cursors, each access to a record
		 * would otherwise be a cache miss. */
		__builtin_prefetch(next);
		__builtin_prefetch(next + 64);
	} else {
		s->current.cursor = NULL;
		stream_recycle(s, c);
	}
}

/* Makes the cursor with the earliest record the current one. Returns false if there is no record
 * left. */
static bool stream_choose(struct pasta_stream *s)
{
	struct stream_active *top = s->active, before = s->current;

	if (!s->active_count)
		return before.cursor;
	if (before.cursor && stream_active_before(&before, top))
		return true;
	s->current = *top;
	*top = before.cursor ? before : top[--s->active_count];
	stream_active_sink(s);
	return true;
}

static uint64_t stream_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static const struct pasta_event *stream_deliver(struct pasta_stream *s,
						const struct pasta_event *ev)
{
	if (ev->time < s->last)
		s->late++;
	else
		s->last = ev->time;
	return ev;
}

/* Returns the earliest event of all shards, or NULL if there is none. Opens frames as needed. */
static const struct pasta_event *stream_first(struct pasta_stream *s)
{
	bool any;

	if (s->current.cursor)
		stream_advance(s);
	any = stream_choose(s);
	while (s->pending_count && (!any || s->pending[0].first <= s->current.time)) {
		stream_open_frame(s);
		any = stream_choose(s);
	}
	if (!any)
		return NULL;
	if (s->current.time > s->safe) { /* a growing shard may still add earlier events */
		stream_active_push(s, s->current.cursor);
		s->current.cursor = NULL;
		return NULL;
	}
	s->limit = s->safe;
	if (s->active_count)
		s->limit = stream_earlier(s->limit, s->active[0].time);
	if (s->pending_count)
		s->limit = stream_earlier(s->limit, s->pending[0].first);
	return stream_deliver(s, stream_record(s->current.cursor));
}

const struct pasta_event *pasta_stream_next(struct pasta_stream *s)
{
	struct stream_cursor *c = s->current.cursor;

	if (!c)
		return stream_first(s);
	c->pos += stream_record(c)->size;
	if (c->pos < c->block.size && c->spill_at == c->spill_end &&
	    stream_record(c)->time < s->limit)
		return stream_deliver(s, stream_record(c));
	return stream_first(s);
}

void pasta_stream_set_kinds(struct pasta_stream *s, uint64_t kinds)
{
	s->kinds = kinds;
}
