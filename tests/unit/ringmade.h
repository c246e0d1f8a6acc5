/* ringmade.h - creates ring files in the agent's format. */
#ifndef PASTA_TESTS_RINGMADE_H
#define PASTA_TESTS_RINGMADE_H

#include "support.h"

#include "core/ringfile.h"

enum { PID = 4711, RING = 16384 };

/* With another boot id, so that the process counts as dead. */
static struct pasta_ringfile *ring_begin(struct bytes *b)
{
	static const char zeros[4096];
	struct pasta_ringfile *f;
	const char *schema;
	size_t n;

	while (b->size < PASTA_RINGFILE_HEAD)
		put(b, zeros, sizeof(zeros));
	f = (void *)b->data;
	memcpy(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic));
	f->version = PASTA_RINGFILE_VERSION;
	f->pid = PID;
	f->guid[0] = f->boot[0] = 1; /* equal to put_head's */
	f->raw = RAW_0;
	f->real = REAL_0;
	schema = pasta_schema_text(&n);
	f->schema = pasta_schema_hash(schema, n);
	for (uint32_t i = 0; i < PASTA_LOSS_COUNT; i++)
		f->lost[i] = pasta_seal(0, i);
	f->own = pasta_seal(0, PASTA_OWN_SALT);
	f->sum = pasta_ringfile_sum(f);
	return f;
}

static struct pasta_ringfile *file_of(struct bytes *b)
{
	return (void *)b->data;
}

/* Returns the address of a segment. It is valid until the next segment is added. */
static void *segment_of(struct bytes *b, uint32_t i)
{
	return b->data + file_of(b)->segment[i].offset;
}

static struct pasta_ring *ring_of(struct bytes *b, uint32_t i)
{
	return segment_of(b, i);
}

static uint32_t segment_add(struct bytes *b, uint16_t type, uint64_t size)
{
	static const char zeros[4096];
	uint32_t i = file_of(b)->segments;
	uint64_t offset = b->size;

	for (uint64_t n = 0; n < size; n += sizeof(zeros))
		put(b, zeros, sizeof(zeros));
	file_of(b)->segment[i] =
		(struct pasta_segment){.offset = offset, .size = size, .type = type, .in_file = 1};
	file_of(b)->segment[i].sum = pasta_segment_sum(file_of(b), i);
	file_of(b)->segments = i + 1;
	return i;
}

static uint32_t ring_add(struct bytes *b, uint32_t source)
{
	uint32_t i = segment_add(b, PASTA_SEGMENT_RING, PASTA_RING_DATA + RING);
	struct pasta_ring *r = ring_of(b, i);

	r->size = RING;
	r->source = source;
	r->sum = pasta_ring_sum(file_of(b), r);
	r->state = PASTA_RING_OPEN;
	r->tid = 1;
	for (uint32_t k = 0; k < PASTA_LOSS_COUNT; k++)
		r->dropped[k] = pasta_seal(0, k);
	return i;
}

/* Pushes a record as the agent does, with its check word. */
static void ring_push(struct bytes *b, uint32_t segment, const struct pasta_event *ev)
{
	struct pasta_ring *r = ring_of(b, segment);
	uint64_t off = r->head & (RING - 1), pad = off + ev->size > RING ? RING - off : 0, check;
	uint8_t *data = (uint8_t *)r + PASTA_RING_DATA;

	if (pad) {
		((struct pasta_event *)(void *)(data + off))->size = (uint16_t)pad;
		((struct pasta_event *)(void *)(data + off))->kind = PASTA_KIND_NONE;
		off = 0;
	}
	memcpy(data + off, ev, ev->size);
	check = pasta_record_check(pasta_ring_seed(file_of(b), r->source), r->head + pad,
				   (const void *)(data + off));
	memcpy(data + off + PASTA_RECORD_CHECK, &check, sizeof(check));
	r->head += pad + ev->size;
	r->pushed++;
}

/* Empties the ring as the agent's writer does, without writing a frame. */
__attribute__((unused)) static void ring_drain(struct pasta_ring *r)
{
	r->drained = r->pushed;
	r->tail = r->head;
}

static void push_numbers(struct bytes *b, uint32_t segment, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct pasta_event ev = numbered(first + i, RAW_0 + first + i);

		ring_push(b, segment, &ev);
	}
}

__attribute__((unused)) static void string_put(struct bytes *b, uint32_t segment, uint64_t id,
					       const char *text)
{
	struct pasta_strings *s = segment_of(b, segment);
	struct pasta_string *string = (void *)(s->data + s->used);

	string->size = (uint32_t)strlen(text);
	string->sum = pasta_string_sum(pasta_ring_seed(file_of(b), 0), id, text, string->size);
	memcpy(string->bytes, text, string->size);
	s->used += pasta_string_room(string->size);
}

__attribute__((unused)) static uint32_t strings_add(struct bytes *b, uint64_t first, uint32_t count,
						    const char *const *texts)
{
	uint32_t i = segment_add(b, PASTA_SEGMENT_STRINGS, 8192);
	struct pasta_strings *s = segment_of(b, i);

	s->size = 8192 - sizeof(*s);
	s->first = first;
	s->sum = pasta_strings_sum(file_of(b), s);
	for (uint32_t k = 0; k < count; k++)
		string_put(b, i, first + k, texts[k]);
	return i;
}

#endif
