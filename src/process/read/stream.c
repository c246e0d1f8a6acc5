/* stream.c - many shards, merged by time within a memory budget. */
#include "process/read/stream.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "process/io/files.h"
#include "process/read/shard.h"

#define BUDGET_DEFAULT ((size_t)256 << 20)
#define QUIET_NS UINT64_C(2500000000) /* a shard that has not grown for so long holds nobody up */
enum { WINDOW_MIN = 4 << 10, WINDOW_MAX = 64 << 10 };

/* A frame that waits for its time. */
struct pending {
	uint64_t first; /* in the run's time */
	uint32_t shard, frame;
};

/* A frame that is being delivered: its records are in the block or, spilled, in the file. */
struct cursor {
	uint32_t shard, source;
	uint64_t seq;
	size_t pos; /* in the block */
	struct pasta_block block;
	uint64_t spill_at, spill_end; /* what of it is still in the file; at == end: nothing */
};

/* The time is here, too, for most comparisons need no more. */
struct active {
	uint64_t time; /* of the record at the cursor's pos */
	struct cursor *cursor;
};

struct follower {
	uint64_t size, grown; /* when it grew to that size, CLOCK_MONOTONIC_RAW */
};

struct pasta_stream {
	size_t budget, used;
	uint64_t want;
	bool following;
	bool part;   /* of another: the shards are not ours */
	size_t only; /* of them this one; SIZE_MAX: all */
	bool silent; /* what is read does not count */
	struct pasta_shard_tally ignored;
	struct pasta_decoder *decoder;
	struct pasta_shard **shards;
	struct follower *followers;
	size_t shard_count;
	struct pending *pending; /* a heap */
	size_t pending_count, pending_capacity;
	struct active *active; /* a heap */
	size_t active_count, active_capacity;
	struct cursor *spare;  /* one that ended, for the next frame */
	struct active current; /* whose event was returned last, if any: not in the heap */
	uint64_t limit;	       /* what it has before this time comes before all that others have */
	int spill;	       /* -1: none yet */
	uint64_t spill_end;
	uint64_t safe; /* events up to here may be delivered */
	uint64_t last, late;
	uint64_t left_out; /* bytes of shards that are not read */
	_Atomic uint64_t done, *progress;
};

struct pasta_stream *pasta_stream_new(size_t budget)
{
	struct pasta_stream *s = calloc(1, sizeof(*s));
	struct rlimit files;

	if (!s)
		return NULL;
	s->budget = budget ? budget : BUDGET_DEFAULT;
	s->want = s->safe = UINT64_MAX;
	s->only = SIZE_MAX;
	s->spill = -1;
	s->progress = &s->done;
	s->decoder = pasta_decoder_new();
	if (!s->decoder) {
		free(s);
		return NULL;
	}
	/* A shard is an open file, and there may be thousands. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return s;
}

static void cursor_free(struct cursor *c)
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
		cursor_free(s->active[i].cursor);
	cursor_free(s->current.cursor);
	cursor_free(s->spare);
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

/* The two heaps differ in what they hold, not in how they are kept. */
static bool pending_before(const struct pending *a, const struct pending *b)
{
	return a->first < b->first;
}

static bool cursor_before(const struct cursor *a, const struct cursor *b)
{
	if (a->shard != b->shard)
		return a->shard < b->shard;
	if (a->source != b->source)
		return a->source < b->source;
	return a->seq < b->seq;
}

static inline bool active_before(const struct active *a, const struct active *b)
{
	return a->time != b->time ? a->time < b->time : cursor_before(a->cursor, b->cursor);
}

static void *grown(void *array, size_t *capacity, size_t count, size_t size)
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

static int pending_push(struct pasta_stream *s, struct pending item)
{
	struct pending *h = grown(s->pending, &s->pending_capacity, s->pending_count, sizeof(*h));
	size_t i = s->pending_count;

	if (!h)
		return -ENOMEM;
	s->pending = h;
	s->pending_count++;
	s->limit = 0;
	for (; i && pending_before(&item, &h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = item;
	return 0;
}

static struct pending pending_pop(struct pasta_stream *s)
{
	struct pending *h = s->pending, top = h[0], item = h[--s->pending_count];
	size_t i = 0, n = s->pending_count;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && pending_before(&h[child + 1], &h[child]))
			child++;
		if (!pending_before(&h[child], &item))
			break;
		h[i] = h[child];
	}
	h[i] = item;
	return top;
}

static const struct pasta_event *record(const struct cursor *c)
{
	return (const void *)(c->block.data + c->pos);
}

static int active_push(struct pasta_stream *s, struct cursor *c)
{
	size_t i = s->active_count;
	/* With room for the current one, which may have to come back. */
	struct active *h = grown(s->active, &s->active_capacity, i + 1, sizeof(*h));
	struct active item = {.time = record(c)->time, .cursor = c};

	if (!h)
		return -ENOMEM;
	s->active = h;
	s->active_count++;
	for (; i && active_before(&item, &h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = item;
	return 0;
}

/* The top has another time now, or is gone and the last takes its place. */
static void active_sink(struct pasta_stream *s)
{
	struct active *h = s->active, item = h[0];
	size_t i = 0, n = s->active_count;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && active_before(&h[child + 1], &h[child]))
			child++;
		if (!active_before(&h[child], &item))
			break;
		h[i] = h[child];
	}
	if (n)
		h[i] = item;
}

static int add_pending(struct pasta_stream *s, uint32_t shard, size_t from)
{
	const struct pasta_shard *sh = s->shards[shard];

	for (size_t i = from; i < sh->frame_count; i++) {
		struct pending p = {.first = pasta_shard_first(sh, i) + (uint64_t)sh->offset,
				    .shard = shard,
				    .frame = (uint32_t)i};

		if (pending_push(s, p))
			return -ENOMEM;
	}
	return 0;
}

/* Shards of one boot share a clock: they get one offset, so that their order is exact. */
static int64_t offset_of(const struct pasta_stream *s, const struct pasta_shard *sh)
{
	static const uint8_t unknown[sizeof(sh->head.boot)];

	for (size_t i = 0; memcmp(sh->head.boot, unknown, sizeof(unknown)) && i < s->shard_count;
	     i++)
		if (!memcmp(s->shards[i]->head.boot, sh->head.boot, sizeof(sh->head.boot)))
			return s->shards[i]->offset;
	return (int64_t)(sh->head.real - sh->head.raw);
}

static int stream_make_room(struct pasta_stream *s)
{
	size_t n = s->shard_count + 1;
	struct pasta_shard **shards = realloc(s->shards, n * sizeof(*shards));
	struct follower *followers;

	if (!shards)
		return -ENOMEM;
	s->shards = shards;
	followers = realloc(s->followers, n * sizeof(*followers));
	if (!followers)
		return -ENOMEM;
	s->followers = followers;
	return 0;
}

int pasta_stream_take(struct pasta_stream *s, const struct pasta_shard_parts *parts,
		      struct pasta_error *err)
{
	size_t n = s->shard_count;
	struct pasta_error own = {0};
	struct pasta_shard *sh;

	err = err ? err : &own;
	sh = pasta_shard_open(parts, (uint32_t)n, s->decoder, err);
	if (!sh)
		return err->code;
	if (stream_make_room(s)) {
		pasta_shard_close(sh);
		return pasta_fail(err, -ENOMEM, "out of memory");
	}
	sh->offset = offset_of(s, sh);
	s->followers[n] = (struct follower){0};
	s->shards[n] = sh;
	s->shard_count = n + 1;
	return add_pending(s, (uint32_t)n, 0) ? pasta_fail(err, -ENOMEM, "out of memory") : 0;
}

int pasta_stream_add(struct pasta_stream *s, const char *path, struct pasta_error *err)
{
	struct pasta_shard_parts parts = {.path = path, .end = UINT64_MAX, .tail = -1};

	parts.file = pasta_files_open_named(path, NULL);
	if (parts.file == -EINVAL)
		return pasta_fail(err, -EINVAL, "%s is not a file", path);
	if (parts.file < 0)
		return pasta_fail(err, parts.file, "cannot open %s: %s", path,
				  strerror(-parts.file));
	return pasta_stream_take(s, &parts, err);
}

void pasta_stream_parts(const struct pasta_stream *s, size_t shard, struct pasta_shard_parts *parts)
{
	*parts = s->shards[shard]->parts;
	parts->limit =
		s->shards[shard]->at; /* what is behind it may be a frame that is being written */
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
		if ((shard != SIZE_MAX && i != shard) || s->shards[i]->left_out)
			continue;
		if (add_pending(part, (uint32_t)i, 0)) {
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
	size_t i, kept = 0;
	struct pending *old = s->pending;
	size_t count = s->pending_count;

	s->shards[shard]->left_out = true;
	s->left_out += s->shards[shard]->size;
	/* The heap is in order of time, and stays a heap when it is filled again in its own order.
	 */
	for (i = 0; i < count; i++)
		if (old[i].shard != shard)
			old[kept++] = old[i];
	s->pending_count = 0;
	for (i = 0; i < kept; i++)
		pending_push(s, old[i]); /* there is room */
}

bool pasta_stream_excluded(const struct pasta_stream *s, size_t shard)
{
	return s->shards[shard]->left_out;
}

static struct pasta_shard_tally *tally_of(struct pasta_stream *s, uint32_t shard)
{
	return s->silent ? &s->ignored : &s->shards[shard]->tally;
}

/* Make the next record lie whole in the block. False: there is none. */
static bool refill(struct pasta_stream *s, struct cursor *c)
{
	struct pasta_block *b = &c->block;
	size_t left = b->size - c->pos, n;

	if (left && (c->spill_at == c->spill_end || (left >= 8 && record(c)->size <= left)))
		return true;
	if (c->spill_at == c->spill_end)
		return false;
	memmove(b->data, b->data + c->pos, left);
	n = c->spill_end - c->spill_at < b->capacity - left ? (size_t)(c->spill_end - c->spill_at)
							    : b->capacity - left;
	if (pread(s->spill, b->data + left, n, (off_t)c->spill_at) != (ssize_t)n) {
		tally_of(s, c->shard)->unreadable++; /* at least; the rest of the frame is gone */
		c->spill_at = c->spill_end;
		return false;
	}
	/* Give the room back, where that is possible: the whole run may pass through here. */
	fallocate(s->spill, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)c->spill_at,
		  (off_t)n);
	c->spill_at += n;
	c->pos = 0;
	b->size = left + n;
	return true;
}

static size_t cursors(const struct pasta_stream *s)
{
	return s->active_count + (s->current.cursor != NULL);
}

/* Move a block's records to the temporary file, but for a window, which is the smaller the more
 * frames there are. Where that fails they stay. */
static void spill(struct pasta_stream *s, struct cursor *c)
{
	struct pasta_block *b = &c->block;
	size_t window = s->budget / 4 / (cursors(s) + 1) & ~(size_t)7, rest;
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

static void recycle(struct pasta_stream *s, struct cursor *c)
{
	s->used -= c->block.capacity;
	if (s->spare)
		cursor_free(c);
	else
		s->spare = c;
}

/* Begin to deliver the frame that is due. */
static void open_frame(struct pasta_stream *s)
{
	struct pending p = pending_pop(s);
	struct pasta_shard *sh = s->shards[p.shard];
	struct cursor *c = s->spare ? s->spare : calloc(1, sizeof(*c));
	struct pasta_frame f;
	int r;

	s->spare = NULL;
	if (!c) {
		tally_of(s, p.shard)->unreadable++;
		return;
	}
	*c = (struct cursor){.block = c->block, .shard = p.shard};
	r = pasta_shard_read(sh, s->decoder, sh->frames[p.frame].offset, s->want, &f, &c->block,
			     tally_of(s, p.shard));
	atomic_fetch_add_explicit(s->progress, sizeof(f) + (r ? 0 : f.size), memory_order_relaxed);
	s->used += c->block.capacity;
	if (r || !c->block.count) {
		recycle(s, c);
		return;
	}
	c->source = f.source;
	c->seq = f.seq;
	if (s->used > s->budget && cursors(s)) {
		s->used -= c->block.capacity;
		spill(s, c);
		s->used += c->block.capacity;
	}
	if (active_push(s, c)) {
		tally_of(s, p.shard)->unreadable += c->block.count;
		tally_of(s, p.shard)->captured -= c->block.count;
		recycle(s, c);
	}
}

/* The current one's record has gone. */
static void advance(struct pasta_stream *s)
{
	struct cursor *c = s->current.cursor;

	if (refill(s, c)) {
		const char *next = (const char *)record(c) + record(c)->size;

		s->current.time = record(c)->time;
		/* With many cursors, each record would be a miss when its turn comes. */
		__builtin_prefetch(next);
		__builtin_prefetch(next + 64);
	} else {
		s->current.cursor = NULL;
		recycle(s, c);
	}
}

/* The first of all becomes the current one; false: there is none. */
static bool choose(struct pasta_stream *s)
{
	struct active *top = s->active, before = s->current;

	if (!s->active_count)
		return before.cursor;
	if (before.cursor && active_before(&before, top))
		return true;
	s->current = *top;
	*top = before.cursor ? before : top[--s->active_count];
	active_sink(s);
	return true;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static const struct pasta_event *deliver(struct pasta_stream *s, const struct pasta_event *ev)
{
	if (ev->time < s->last)
		s->late++;
	else
		s->last = ev->time;
	return ev;
}

/* The first of what all have. */
static const struct pasta_event *first(struct pasta_stream *s)
{
	bool any;

	if (s->current.cursor)
		advance(s);
	any = choose(s);
	while (s->pending_count && (!any || s->pending[0].first <= s->current.time)) {
		open_frame(s);
		any = choose(s);
	}
	if (!any)
		return NULL;
	if (s->current.time > s->safe) { /* its turn has not come */
		active_push(s, s->current.cursor);
		s->current.cursor = NULL;
		return NULL;
	}
	s->limit = s->safe;
	if (s->active_count)
		s->limit = earlier(s->limit, s->active[0].time);
	if (s->pending_count)
		s->limit = earlier(s->limit, s->pending[0].first);
	return deliver(s, record(s->current.cursor));
}

const struct pasta_event *pasta_stream_next(struct pasta_stream *s)
{
	struct cursor *c = s->current.cursor;

	if (!c)
		return first(s);
	c->pos += record(c)->size;
	if (c->pos < c->block.size && c->spill_at == c->spill_end && record(c)->time < s->limit)
		return deliver(s, record(c));
	return first(s);
}

void pasta_stream_set_kinds(struct pasta_stream *s, uint64_t kinds)
{
	s->want = kinds;
}

/* Up to when the order is known: every shard that still grows has told all that is older. */
static uint64_t safe_time(const struct pasta_stream *s, uint64_t now)
{
	uint64_t safe = UINT64_MAX;

	for (size_t i = 0; i < s->shard_count; i++) {
		uint64_t upto = s->shards[i]->last_clock + (uint64_t)s->shards[i]->offset;

		if (now - s->followers[i].grown < QUIET_NS && upto < safe)
			safe = upto;
	}
	return safe;
}

void pasta_stream_follow(struct pasta_stream *s, bool follow)
{
	s->following = follow;
	pasta_stream_refresh(s);
}

size_t pasta_stream_refresh(struct pasta_stream *s)
{
	size_t found = 0;
	uint64_t now;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	for (size_t i = 0; i < s->shard_count; i++) {
		struct pasta_shard *sh = s->shards[i];
		size_t before = sh->frame_count;

		found += pasta_shard_scan(sh, s->decoder);
		if (sh->size != s->followers[i].size) {
			s->followers[i].size = sh->size;
			s->followers[i].grown = now;
		}
		if (add_pending(s, (uint32_t)i, before))
			sh->tally.unreadable++;
	}
	s->safe = s->following ? safe_time(s, now) : UINT64_MAX;
	s->limit = 0;
	return found;
}

void pasta_stream_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total)
{
	*total = 0;
	for (size_t i = 0; i < s->shard_count; i++)
		*total += s->shards[i]->size;
	*total -= s->left_out;
	*done = atomic_load_explicit(&s->done, memory_order_relaxed);
	*done = *done < *total ? *done : *total;
}

size_t pasta_stream_shards(const struct pasta_stream *s)
{
	return s->shard_count;
}

const struct pasta_shard_info *pasta_stream_shard(const struct pasta_stream *s, size_t i)
{
	pasta_shard_loss(s->shards[i], &s->shards[i]->info.loss);
	s->shards[i]->info.ends = pasta_shard_has_end(s->shards[i]);
	s->shards[i]->info.missing = pasta_shard_missing(s->shards[i]);
	return &s->shards[i]->info;
}

uint64_t pasta_stream_kinds(const struct pasta_stream *s, size_t i)
{
	return s->only == SIZE_MAX || s->only == i ? s->shards[i]->info.kinds : 0;
}

void pasta_stream_loss(const struct pasta_stream *s, struct pasta_loss_summary *loss)
{
	*loss = (struct pasta_loss_summary){.late = s->late};
	for (size_t i = 0; i < s->shard_count; i++) {
		struct pasta_loss_summary a;

		if (s->shards[i]->left_out)
			continue;
		pasta_shard_loss(s->shards[i], &a);
		loss->expected += a.expected;
		loss->captured += a.captured;
		loss->dropped += a.dropped;
		loss->damaged += a.damaged;
		loss->damaged_bytes += a.damaged_bytes;
		loss->unknown += a.unknown;
		for (int k = 0; k < PASTA_LOSS_COUNT; k++)
			loss->by_reason[k] += a.by_reason[k];
	}
}
