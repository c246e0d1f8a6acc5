/* ringfile.c - the checks of a ring file, and the walk over a ring's spans. */
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
	/* The magic is written last, and is known anyway. */
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
	/* The size is hashed, too, for a longer string of zeros. */
	return (uint32_t)(XXH3_64bits_withSeed(bytes, size, seed + id) >> 32 ^ size);
}

static const struct pasta_event *ring_record(const struct pasta_ring *r, uint64_t at)
{
	return (const void *)((const char *)r + PASTA_RING_DATA + (at & (r->size - 1)));
}

/* The size of a filler that leads to the ring's end, or 0. */
static uint64_t ring_filler(const struct pasta_ring *r, uint64_t at)
{
	const struct pasta_event *ev = ring_record(r, at);
	uint64_t left = r->size - (at & (r->size - 1));

	return ev->kind == PASTA_NONE && ev->sub != PASTA_RING_CHECK && ev->size == left ? left : 0;
}

static bool ring_is_check(const struct pasta_event *ev)
{
	return ev->kind == PASTA_NONE && ev->sub == PASTA_RING_CHECK && ev->size == 8;
}

uint64_t pasta_ring_span(const struct pasta_ring *r, uint64_t seed, uint64_t at, size_t *count)
{
	uint64_t from = at + ring_filler(r, at), room = r->size - (from & (r->size - 1)), size = 0;
	const char *records = (const char *)ring_record(r, from);
	uint64_t check;
	size_t n = 0;

	/* A check word is not cut off by the ring's end: positions are multiples of 8. */
	while (size <= PASTA_RING_SPAN && size + 8 <= room) {
		const struct pasta_event *ev = (const void *)(records + size);

		if (ring_is_check(ev))
			break;
		if (ev->kind == PASTA_NONE || ev->kind >= PASTA_KINDS_MAX || !ev->size ||
		    ev->size != pasta_kinds[ev->kind].size)
			return 0;
		size += ev->size;
		n++;
	}
	if (!n || size > PASTA_RING_SPAN || size + 8 > room)
		return 0;
	memcpy(&check, records + size, 8);
	if (check != pasta_span_check(seed, from + size, records, size))
		return 0;
	*count = n;
	return from + size + 8;
}

/* The next position from which on there is a whole span, or the head. Damage may have hit the sizes
 * by which one would walk; a check word is found without them. */
static uint64_t ring_resync(const struct pasta_ring *r, uint64_t seed, uint64_t at, uint64_t head)
{
	size_t count;

	while (at + 8 <= head) {
		bool check = ring_is_check(ring_record(r, at));

		at += 8;
		if ((check || !(at & (r->size - 1))) && at < head &&
		    pasta_ring_span(r, seed, at, &count))
			return at;
	}
	return head;
}

size_t pasta_ring_collect(const struct pasta_ring *r, uint64_t seed, uint64_t *at, uint64_t head,
			  const struct pasta_event **events, size_t max, uint64_t *damaged)
{
	size_t n = 0, count = 0;

	while (*at < head) {
		uint64_t next = pasta_ring_span(r, seed, *at, &count);
		const char *record;

		if (!next || next > head) {
			next = ring_resync(r, seed, *at, head);
			*damaged += next - *at;
			*at = next;
			continue;
		}
		if (n + count > max)
			break;
		record = (const char *)ring_record(r, *at + ring_filler(r, *at));
		for (size_t i = 0; i < count; i++) {
			events[n++] = (const void *)record;
			record += events[n - 1]->size;
		}
		*at = next;
	}
	return n;
}

uint64_t pasta_ring_end(const struct pasta_ring *r, uint64_t seed, uint64_t at)
{
	uint64_t end = at, next;
	size_t count;

	/* No further than once around. */
	while ((next = pasta_ring_span(r, seed, end, &count)) && next - at <= r->size)
		end = next;
	return end;
}
