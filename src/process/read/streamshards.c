/* streamshards.c - adds shards to a stream, follows them as they grow, and sums up their losses. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "process/io/files.h"
#include "process/read/stream_internal.h"

/* Time in ns. A shard that has not grown for this time no longer delays other shards. */
#define QUIET_NS UINT64_C(2500000000)

/* Returns the offset that is added to a shard's times. Shards from the same boot of a host share a
 * clock, so they get the same offset, and the order of their events is exact. */
static int64_t stream_clock_offset(const struct pasta_stream *s, const struct pasta_shard *sh)
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
	struct stream_follower *followers;

	if (!shards)
		return -ENOMEM;
	s->shards = shards;
	followers = realloc(s->followers, n * sizeof(*followers));
	if (!followers)
		return -ENOMEM;
	s->followers = followers;
	return 0;
}

int pasta_stream_add_open(struct pasta_stream *s, const struct pasta_shard_parts *parts,
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
	sh->offset = stream_clock_offset(s, sh);
	s->followers[n] = (struct stream_follower){0};
	s->shards[n] = sh;
	s->shard_count = n + 1;
	return pasta_stream_add_frames(s, (uint32_t)n, 0)
		       ? pasta_fail(err, -ENOMEM, "out of memory")
		       : 0;
}

int pasta_stream_add(struct pasta_stream *s, const char *path, struct pasta_error *err)
{
	struct pasta_shard_parts parts = {.path = path, .end = UINT64_MAX, .tail = -1};

	parts.file = pasta_files_open_named(path, NULL);
	if (parts.file == -EINVAL)
		return pasta_fail(err, -EINVAL, "%s is not a regular file", path);
	if (parts.file < 0)
		return pasta_fail(err, parts.file, "cannot open %s: %s", path,
				  strerror(-parts.file));
	return pasta_stream_add_open(s, &parts, err);
}

void pasta_stream_parts(const struct pasta_stream *s, size_t shard, struct pasta_shard_parts *parts)
{
	*parts = s->shards[shard]->parts;
	/* Ignore bytes after the last scan, because the process may still be writing a frame
	 * there. */
	parts->limit = s->shards[shard]->at;
}

/* Computes the time up to which the order of events is final: no growing shard can add an event
 * before that time. */
static uint64_t stream_safe_time(const struct pasta_stream *s, uint64_t now)
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
		if (pasta_stream_add_frames(s, (uint32_t)i, before))
			sh->tally.unreadable++;
	}
	s->safe = s->following ? stream_safe_time(s, now) : UINT64_MAX;
	s->limit = 0;
	return found;
}

void pasta_stream_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total)
{
	*total = 0;
	for (size_t i = 0; i < s->shard_count; i++)
		*total += s->shards[i]->size;
	*total -= s->excluded;
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

		if (s->shards[i]->excluded)
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
