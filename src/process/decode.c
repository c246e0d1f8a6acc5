/* decode.c - frames back to records, trusting nothing that they say. */
#include "process/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "core/varint.h"

enum { FIXED = 3, COLUMNS = 256, NAME = 64 };

/* Where a column goes: known false is nowhere. */
struct target {
	uint16_t offset;
	uint8_t size;
	bool known, interned;
};

struct kind_plan {
	struct target *fields; /* as the shard has them */
	unsigned int count;
	bool known, zero; /* zero: some bytes of the record are in no column */
};

struct pasta_plan {
	struct kind_plan kinds[PASTA_KINDS_MAX];
};

struct section {
	const uint8_t *columns, *end;
	uint32_t count, first; /* first: of its events in decoder->at */
	unsigned int kind, column_count;
};

struct pasta_decoder {
	ZSTD_DCtx *zstd;
	uint8_t *raw;
	uint64_t column[PASTA_FRAME_EVENTS];
	uint32_t at[PASTA_FRAME_EVENTS]; /* where each record of a section goes */
	struct section sections[PASTA_KINDS_MAX];
};

static const char *const type_names[] = {
	[PASTA_FIELD_u32] = "u32", [PASTA_FIELD_u64] = "u64", [PASTA_FIELD_i64] = "i64",
	[PASTA_FIELD_f64] = "f64", [PASTA_FIELD_str] = "str", [PASTA_FIELD_ref] = "ref",
};

static unsigned int type_of(const char *name)
{
	for (unsigned int i = 1; i < sizeof(type_names) / sizeof(type_names[0]); i++)
		if (!strcmp(type_names[i], name))
			return i;
	return 0;
}

static unsigned int class_of(unsigned int type)
{
	switch (type) {
	case PASTA_FIELD_u32:
	case PASTA_FIELD_u64:
		return 1;
	case PASTA_FIELD_str:
	case PASTA_FIELD_ref:
		return 2;
	default:
		return 2 + type;
	}
}

/* A field of the shard's finds its own here by name; a number may be wider or narrower. */
static struct target match(const struct pasta_kind_info *info, const char *type, const char *name)
{
	unsigned int t = type_of(type);

	for (unsigned int i = 0; t && i < info->count; i++) {
		const struct pasta_field *f = &info->fields[i];

		if (!strcmp(f->name, name) && class_of(f->type) == class_of(t))
			return (struct target){.offset = f->offset,
					       .size = (uint8_t)pasta_field_size(f->type),
					       .known = true,
					       .interned = class_of(f->type) == 2};
	}
	return (struct target){0};
}

static int plan_line(struct pasta_plan *plan, char *line, struct pasta_err *err)
{
	char name[NAME], type[NAME];
	unsigned int number, known = 0;
	int n = 0, used = 0;
	struct kind_plan *k;

	if (sscanf(line, "%2u %63[a-z0-9_]%n", &number, name, &used) != 2 ||
	    number >= PASTA_KINDS_MAX || plan->kinds[number].fields)
		return pasta_fail(err, -EBADMSG, "its schema is damaged");
	k = &plan->kinds[number];
	k->fields = calloc(COLUMNS, sizeof(*k->fields));
	if (!k->fields)
		return pasta_fail(err, -ENOMEM, "out of memory");
	k->known = pasta_kinds[number].name && !strcmp(pasta_kinds[number].name, name);
	for (line += used; *line; line += n) {
		struct target *t = &k->fields[k->count];

		if (k->count == COLUMNS - FIXED ||
		    sscanf(line, " %63[a-z0-9]:%63[a-z0-9_]%n", type, name, &n) != 2)
			return pasta_fail(err, -EBADMSG, "its schema is damaged");
		if (k->known)
			*t = match(&pasta_kinds[number], type, name);
		known += t->known ? t->size : 0;
		k->count++;
	}
	k->zero = PASTA_EVENT_HEAD + known != pasta_kinds[number].size;
	return 0;
}

struct pasta_plan *pasta_plan_new(const char *schema, size_t size, struct pasta_err *err)
{
	struct pasta_plan *plan = calloc(1, sizeof(*plan));
	char *text = malloc(size + 1), *save = NULL, *line;

	if (!plan || !text) {
		pasta_fail(err, -ENOMEM, "out of memory");
		goto fail;
	}
	memcpy(text, schema, size);
	text[size] = '\0';
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (plan_line(plan, line, err))
			goto fail;
	free(text);
	return plan;
fail:
	free(text);
	pasta_plan_free(plan);
	return NULL;
}

void pasta_plan_free(struct pasta_plan *plan)
{
	if (!plan)
		return;
	for (unsigned int i = 0; i < PASTA_KINDS_MAX; i++)
		free(plan->kinds[i].fields);
	free(plan);
}

struct pasta_decoder *pasta_decoder_new(void)
{
	struct pasta_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->raw = malloc(PASTA_FRAME_BYTES);
	d->zstd = ZSTD_createDCtx();
	if (d->raw && d->zstd)
		return d;
	pasta_decoder_free(d);
	return NULL;
}

void pasta_decoder_free(struct pasta_decoder *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	free(d->raw);
	free(d);
}

const uint8_t *pasta_decode_plain(struct pasta_decoder *d, const struct pasta_frame *frame,
				  const void *payload)
{
	size_t n = frame->size;

	if (frame->raw_size > PASTA_FRAME_BYTES || XXH3_64bits(payload, n) != frame->sum)
		return NULL;
	if (frame->flags & PASTA_FRAME_ZSTD)
		n = ZSTD_decompressDCtx(d->zstd, d->raw, frame->raw_size, payload, n);
	else if (n == frame->raw_size)
		memcpy(d->raw, payload, n);
	return n == frame->raw_size ? d->raw : NULL;
}

/* The next column's values to d->column, or NULL. With *same, all are column[0]. */
static const uint8_t *get_column(struct pasta_decoder *d, const uint8_t *p, const uint8_t *end,
				 size_t n, bool *same)
{
	uint64_t *v = d->column, base, step;
	unsigned int tag, width;

	if (p >= end)
		return NULL;
	tag = *p++;
	width = tag & 15;
	p = pasta_varint_get(p, end, &base);
	p = p ? pasta_varint_get(p, end, &step) : NULL;
	if (!p || tag > 31 || width > 8 || (size_t)(end - p) < width * n)
		return NULL;
	step = pasta_unzigzag(step);
	*same = !width && (!(tag & 16) || !step);
	if (*same) {
		v[0] = base;
		return p;
	}
	if (width)
		for (size_t i = 0; i < n; i++)
			v[i] = p[i];
	else
		memset(v, 0, n * sizeof(*v));
	for (unsigned int k = 1; k < width; k++)
		for (size_t i = 0; i < n; i++)
			v[i] |= (uint64_t)p[k * n + i] << (8 * k);
	if (tag & 16) {
		v[0] = base;
		for (size_t i = 1; i < n; i++)
			v[i] += v[i - 1] + step;
	} else {
		for (size_t i = 0; i < n; i++)
			v[i] += base;
	}
	return p + width * n;
}

static void rename_strings(uint64_t *v, size_t n, const struct pasta_mapping *map)
{
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] < map->string_count ? map->strings[v[i]] : 0;
}

static void scatter(const uint64_t *v, bool same, size_t n, uint8_t *data, const uint32_t *at,
		    const struct target *t)
{
	size_t step = same ? 0 : 1;

	if (t->size == 8) {
		for (size_t i = 0; i < n; i++, v += step)
			memcpy(data + at[i] + t->offset, v, 8);
	} else {
		for (size_t i = 0; i < n; i++, v += step) {
			uint32_t x = (uint32_t)*v;

			memcpy(data + at[i] + t->offset, &x, 4);
		}
	}
}

/* sub, tid and time, and with sub all of the head that is no column. */
static void scatter_fixed(const struct section *s, unsigned int column, const uint64_t *v,
			  bool same, uint8_t *data, const uint32_t *at, uint32_t source,
			  uint32_t proc)
{
	size_t step = same ? 0 : 1;

	for (uint32_t i = 0; i < s->count; i++, v += step) {
		struct pasta_event *ev = (void *)(data + at[i]);

		if (column == 2) {
			ev->time = *v;
		} else if (column == 1) {
			ev->tid = (uint32_t)*v;
		} else {
			ev->size = pasta_kinds[s->kind].size;
			ev->kind = (uint8_t)s->kind;
			ev->sub = (uint8_t)*v;
			ev->proc = proc;
			ev->source = source;
		}
	}
}

static int decode_section(struct pasta_decoder *d, const struct kind_plan *plan,
			  const struct section *s, uint32_t source, const struct pasta_mapping *map,
			  uint8_t *data)
{
	const uint32_t *at = d->at + s->first;
	const uint8_t *p = s->columns;

	if (s->column_count != FIXED + plan->count)
		return -EBADMSG;
	for (unsigned int c = 0; c < s->column_count; c++) {
		const struct target *t = c < FIXED ? NULL : &plan->fields[c - FIXED];
		bool same;

		p = get_column(d, p, s->end, s->count, &same);
		if (!p)
			return -EBADMSG;
		if (!t) {
			scatter_fixed(s, c, d->column, same, data, at, source, map->proc);
			continue;
		}
		if (t->interned)
			rename_strings(d->column, same ? 1 : s->count, map);
		if (t->known)
			scatter(d->column, same, s->count, data, at, t);
	}
	return p == s->end ? 0 : -EBADMSG;
}

/* The sections' heads; where the order of their events begins, or NULL. */
static const uint8_t *get_sections(struct pasta_decoder *d, const uint8_t *p, const uint8_t *end,
				   uint32_t events, uint64_t *count)
{
	uint64_t total = 0;

	p = pasta_varint_get(p, end, count);
	if (!p || *count > PASTA_KINDS_MAX)
		return NULL;
	for (uint64_t i = 0; i < *count; i++) {
		struct section *s = &d->sections[i];
		uint64_t n, columns, bytes;

		if (p >= end)
			return NULL;
		s->kind = *p++;
		p = pasta_varint_get(p, end, &n);
		p = p ? pasta_varint_get(p, end, &columns) : NULL;
		p = p ? pasta_varint_get(p, end, &bytes) : NULL;
		if (!p || s->kind >= PASTA_KINDS_MAX || !n || n > events - total ||
		    columns > COLUMNS || bytes > (size_t)(end - p))
			return NULL;
		s->count = (uint32_t)n;
		s->column_count = (unsigned int)columns;
		s->first = (uint32_t)total;
		s->columns = p;
		s->end = p += bytes;
		total += n;
	}
	if (total != events || (size_t)(end - p) != (*count > 1 ? events : 0))
		return NULL;
	return p;
}

/* Give each event its place in the block, in the frame's order. */
static int place(struct pasta_decoder *d, const uint8_t *order, uint64_t sections, uint32_t events,
		 const uint16_t *sizes, struct pasta_block *b)
{
	uint32_t next[PASTA_KINDS_MAX] = {0};
	size_t size = 0;

	for (uint32_t i = 0; i < events; i++) {
		unsigned int s = sections > 1 ? order[i] : 0;

		if (s >= sections || next[s] >= d->sections[s].count)
			return -EBADMSG;
		d->at[d->sections[s].first + next[s]++] = (uint32_t)size;
		size += sizes[s];
		b->count += sizes[s] > 0;
	}
	if (size > b->capacity) {
		uint8_t *data = realloc(b->data, size);

		if (!data)
			return -ENOMEM;
		b->data = data;
		b->capacity = size;
	}
	b->size = size;
	return 0;
}

int pasta_decode_events(struct pasta_decoder *d, const struct pasta_plan *plan,
			const struct pasta_frame *frame, const void *payload,
			const struct pasta_mapping *map, struct pasta_block *b)
{
	const uint8_t *raw, *order;
	uint16_t sizes[PASTA_KINDS_MAX];
	uint64_t sections;
	bool zero = false;
	int r;

	b->size = b->count = b->unknown = 0;
	if (!frame->count || frame->count > PASTA_FRAME_EVENTS)
		return -EBADMSG;
	raw = pasta_decode_plain(d, frame, payload);
	order = raw ? get_sections(d, raw, raw + frame->raw_size, frame->count, &sections) : NULL;
	if (!order)
		return -EBADMSG;
	for (uint64_t i = 0; i < sections; i++) {
		const struct section *s = &d->sections[i];
		const struct kind_plan *k = &plan->kinds[s->kind];
		bool take = k->known && map->want >> s->kind & 1;

		sizes[i] = take ? pasta_kinds[s->kind].size : 0;
		b->unknown += k->known ? 0 : s->count;
		zero |= take && k->zero;
	}
	r = place(d, order, sections, frame->count, sizes, b);
	if (!r && zero)
		memset(b->data, 0, b->size);
	for (uint64_t i = 0; !r && i < sections; i++)
		if (sizes[i])
			r = decode_section(d, &plan->kinds[d->sections[i].kind], &d->sections[i],
					   frame->source, map, b->data);
	return r;
}
