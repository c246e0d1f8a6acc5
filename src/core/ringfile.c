/* ringfile.c - computes the checksums of a ring file, and finds valid records in a ring. */
#include "core/ringfile.h"

#include <stddef.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t pasta_ring_seed(const struct pasta_ringfile *f, uint32_t source)
{
	return XXH3_64bits_withSeed(f->guid, sizeof(f->guid), source + UINT64_C(1));
}

uint64_t pasta_ringfile_sum(const struct pasta_ringfile *f)
{
	/* The checksum does not include the magic, which is written last. */
	size_t from = sizeof(f->magic), to = offsetof(struct pasta_ringfile, sum);

	return XXH3_64bits((const char *)f + from, to - from);
}

uint32_t pasta_segment_sum(const struct pasta_ringfile *f, uint32_t i)
{
	return (uint32_t)XXH3_64bits_withSeed(&f->segment[i], offsetof(struct pasta_segment, sum),
					      pasta_ring_seed(f, 0) + i);
}

uint64_t pasta_ring_sum(const struct pasta_ringfile *f, const struct pasta_ring *r)
{
	return XXH3_64bits_withSeed(r, offsetof(struct pasta_ring, sum),
				    pasta_ring_seed(f, r->source));
}

uint64_t pasta_strings_sum(const struct pasta_ringfile *f, const struct pasta_strings *b)
{
	return XXH3_64bits_withSeed(b, offsetof(struct pasta_strings, sum), pasta_ring_seed(f, 0));
}

uint32_t pasta_string_sum(uint64_t seed, uint64_t id, const void *bytes, uint32_t size)
{
	/* The hash includes the size, so that a string of zeros with a wrong size does not
	 * match. */
	return (uint32_t)(XXH3_64bits_withSeed(bytes, size, seed + id) >> 32 ^ size);
}

static const struct pasta_event *ring_record(const struct pasta_ring *r, uint64_t at)
{
	return (const void *)((const char *)r + PASTA_RING_DATA + (at & (r->size - 1)));
}

/* Returns the size of a filler that extends to the end of the ring; 0 if there is no filler. */
static uint64_t ring_filler(const struct pasta_ring *r, uint64_t at)
{
	const struct pasta_event *ev = ring_record(r, at);
	uint64_t left = r->size - (at & (r->size - 1));

	return ev->kind == PASTA_KIND_NONE && ev->size == left ? left : 0;
}

uint64_t pasta_ring_next(const struct pasta_ring *r, uint64_t seed, uint64_t at)
{
	uint64_t from = at + ring_filler(r, at), room = r->size - (from & (r->size - 1));
	const struct pasta_event *ev = ring_record(r, from);
	uint64_t check;

	/* Positions are multiples of 8, so the first word of the record is inside the ring. */
	if (ev->kind == PASTA_KIND_NONE || ev->kind >= PASTA_KIND_MAX || !ev->size ||
	    ev->size != pasta_kinds[ev->kind].size || ev->size > room)
		return 0;
	memcpy(&check, (const char *)ev + PASTA_RECORD_CHECK, sizeof(check));
	return check == pasta_record_check(seed, from, ev) ? from + ev->size : 0;
}

/* Returns the next position that has a valid record; `head` if there is none. Every position is
 * tried, because the size in a damaged record is unreliable. Stale records are not valid, because
 * the check word depends on the position. */
static uint64_t ring_resync(const struct pasta_ring *r, uint64_t seed, uint64_t at, uint64_t head)
{
	for (at += 8; at < head; at += 8)
		if (pasta_ring_next(r, seed, at))
			return at;
	return head;
}

size_t pasta_ring_collect(const struct pasta_ring *r, uint64_t seed, uint64_t *at, uint64_t head,
			  const struct pasta_event **events, size_t max, uint64_t *damaged)
{
	size_t n = 0;

	while (*at < head && n < max) {
		uint64_t next = pasta_ring_next(r, seed, *at);

		if (next && next <= head) {
			events[n++] = ring_record(r, *at + ring_filler(r, *at));
		} else {
			next = ring_resync(r, seed, *at, head);
			*damaged += next - *at;
		}
		*at = next;
	}
	return n;
}

uint64_t pasta_ring_end(const struct pasta_ring *r, uint64_t seed, uint64_t at)
{
	uint64_t end = at, next;

	/* Stop after one lap, which is r->size bytes. */
	while ((next = pasta_ring_next(r, seed, end)) && next - at <= r->size)
		end = next;
	return end;
}
