/* decode.c - decodes frames to records and validates everything in them. */
#include "process/read/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "core/varint.h"

/* A section is decoded in tiles of TILE events, all columns of one tile before the next tile, so
 * that the records stay in the cache. */
enum { FIXED = 3, COLUMNS = 256, NAME = 64, SCHEMA_MAX = 256 << 10, TILE = 128 };

/* The field of a record into which a column is decoded. If `known` is false, the column is
 * skipped. */
struct target {
	uint16_t offset;
	uint8_t size;
	bool known, interned, time;
};

/* The columns that every kind has. */
static const struct target fixed[FIXED] = {
	{.offset = offsetof(struct pasta_event, sub), .size = 1, .known = true},
	{.offset = offsetof(struct pasta_event, tid), .size = 4, .known = true},
	{.offset = offsetof(struct pasta_event, time), .size = 8, .known = true, .time = true},
};

struct kind_plan {
	struct target *fields; /* fields in the order of the shard's schema */
	unsigned int count;
	bool known;
};

struct pasta_plan {
	struct kind_plan kinds[PASTA_KIND_MAX];
};

struct section {
	const uint8_t *columns, *end;
	uint32_t count, first; /* `first`: index of the section's first event in decoder->at */
	unsigned int kind, column_count;
};

struct column {
	const uint8_t *planes; /* the unread part of the lowest byte plane */
	/* `value` is the base of the column; while a delta column is decoded, it is the last
	 * decoded value. */
	uint64_t value, step;
	unsigned int width;
	bool delta, same; /* `same`: all values are equal */
	const struct target *target;
};

struct room {
	uint8_t *data;
	size_t size;
};

struct pasta_decoder {
	ZSTD_DCtx *zstd;
	struct room raw, payload;
	struct column columns[COLUMNS];
	uint64_t tile[TILE];
	uint32_t narrow[TILE]; /* decoded values of a column that needs only 32 bits */
	/* Offset of each record in the block of decoded records, section by section. */
	uint32_t at[PASTA_FRAME_EVENTS];
	struct section sections[PASTA_KIND_MAX];
};

static const char *const type_names[] = {
	[PASTA_FIELD_u32] = "u32", [PASTA_FIELD_u64] = "u64", [PASTA_FIELD_i64] = "i64",
	[PASTA_FIELD_f64] = "f64", [PASTA_FIELD_str] = "str", [PASTA_FIELD_ref] = "ref",
};

static unsigned int decode_type(const char *name)
{
	for (unsigned int i = 1; i < sizeof(type_names) / sizeof(type_names[0]); i++)
		if (!strcmp(type_names[i], name))
			return i;
	return 0;
}

static unsigned int decode_class(unsigned int type)
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

/* Returns the field of this build that has the same name as a field of the shard. The two fields
 * may have integers of different widths. */
static struct target decode_match_field(const struct pasta_kind_info *info, const char *type,
					const char *name)
{
	unsigned int t = decode_type(type);

	for (unsigned int i = 0; t && i < info->count; i++) {
		const struct pasta_field *f = &info->fields[i];

		if (!strcmp(f->name, name) && decode_class(f->type) == decode_class(t))
			return (struct target){.offset = f->offset,
					       .size = (uint8_t)pasta_field_size(f->type),
					       .known = true,
					       .interned = decode_class(f->type) == 2};
	}
	return (struct target){0};
}

static int decode_plan_line(struct pasta_plan *plan, char *line, struct pasta_error *err)
{
	char name[NAME], type[NAME];
	unsigned int number;
	int n = 0, used = 0;
	struct target *fit;
	struct kind_plan *k;

	if (sscanf(line, "%2u %63[a-z0-9_]%n", &number, name, &used) != 2 ||
	    number >= PASTA_KIND_MAX || plan->kinds[number].fields)
		return pasta_fail(err, -EBADMSG, "the schema is damaged");
	k = &plan->kinds[number];
	k->fields = calloc(COLUMNS, sizeof(*k->fields));
	if (!k->fields)
		return pasta_fail(err, -ENOMEM, "out of memory");
	k->known = pasta_kinds[number].name && !strcmp(pasta_kinds[number].name, name);
	for (line += used; *line; line += n) {
		struct target *t = &k->fields[k->count];

		if (k->count == COLUMNS - FIXED ||
		    sscanf(line, " %63[a-z0-9]:%63[a-z0-9_]%n", type, name, &n) != 2)
			return pasta_fail(err, -EBADMSG, "the schema is damaged");
		if (k->known)
			*t = decode_match_field(&pasta_kinds[number], type, name);
		k->count++;
	}
	/* Shrink the array: each shard has its own plan, and there may be many shards. */
	fit = realloc(k->fields, (k->count + 1) * sizeof(*fit));
	k->fields = fit ? fit : k->fields;
	return 0;
}

struct pasta_plan *pasta_plan_new(const char *schema, size_t size, struct pasta_error *err)
{
	struct pasta_plan *plan = calloc(1, sizeof(*plan));
	char *text = size <= SCHEMA_MAX ? malloc(size + 1) : NULL, *save = NULL, *line;

	if (size > SCHEMA_MAX) {
		pasta_fail(err, -EBADMSG, "the schema is damaged");
		goto fail;
	}
	if (!plan || !text) {
		pasta_fail(err, -ENOMEM, "out of memory");
		goto fail;
	}
	memcpy(text, schema, size);
	text[size] = '\0';
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (decode_plan_line(plan, line, err))
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
	for (unsigned int i = 0; i < PASTA_KIND_MAX; i++)
		free(plan->kinds[i].fields);
	free(plan);
}

struct pasta_decoder *pasta_decoder_new(void)
{
	/* Don't zero the decoder: it is large, and its members are written before they are read. */
	struct pasta_decoder *d = malloc(sizeof(*d));

	if (!d)
		return NULL;
	d->raw = d->payload = (struct room){0};
	d->zstd = ZSTD_createDCtx();
	if (d->zstd)
		return d;
	pasta_decoder_free(d);
	return NULL;
}

void pasta_decoder_free(struct pasta_decoder *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	free(d->raw.data);
	free(d->payload.data);
	free(d);
}

/* Returns a buffer of at least `size` bytes, or NULL when out of memory. A buffer that grows loses
 * its content. */
static uint8_t *decode_room(struct room *r, size_t size)
{
	if (size > r->size) {
		free(r->data);
		r->data = malloc(size);
		r->size = r->data ? size : 0;
	}
	return r->data;
}

void *pasta_decoder_payload(struct pasta_decoder *d, size_t size)
{
	return decode_room(&d->payload, size ? size : 1);
}

bool pasta_decode_check(const struct pasta_frame *frame, const void *payload)
{
	return XXH3_64bits(payload, frame->size) == frame->sum;
}

const uint8_t *pasta_decode_plain(struct pasta_decoder *d, const struct pasta_frame *frame,
				  const void *payload)
{
	size_t n = frame->size;
	uint8_t *raw;

	if (frame->raw_size > PASTA_FRAME_BYTES || !pasta_decode_check(frame, payload))
		return NULL;
	/* decode_tile always reads a full tile, so its last read may extend past the end of the
	 * plane. */
	raw = decode_room(&d->raw, frame->raw_size + (size_t)TILE);
	if (!raw)
		return NULL;
	if (frame->flags & PASTA_FRAME_ZSTD)
		n = ZSTD_decompressDCtx(d->zstd, raw, frame->raw_size, payload, n);
	else if (n == frame->raw_size)
		memcpy(raw, payload, n);
	return n == frame->raw_size ? raw : NULL;
}

/* Parses the head of a column of n values. Returns a pointer to the byte after the column, or NULL
 * if the column is damaged. */
static const uint8_t *decode_column(struct column *c, const uint8_t *p, const uint8_t *end,
				    size_t n)
{
	unsigned int tag;

	if (p >= end)
		return NULL;
	tag = *p++;
	c->width = tag & 15;
	c->delta = tag & 16;
	p = pasta_varint_get(p, end, &c->value);
	p = p ? pasta_varint_get(p, end, &c->step) : NULL;
	if (!p || tag > 31 || c->width > 8 || (size_t)(end - p) < c->width * n)
		return NULL;
	c->step = pasta_unzigzag(c->step);
	c->same = !c->width && (!c->delta || !c->step);
	c->planes = p;
	/* decode_tile adds the step to every value, even to the first one. */
	if (c->delta)
		c->value -= c->step;
	return p + c->width * n;
}

/* Decodes the next TILE values of a column whose planes have n bytes each. Values past the end are
 * undefined. The constant trip count lets the compiler vectorize the loops, which makes them
 * several times faster. */
static void decode_tile(struct column *c, size_t n, uint64_t *restrict v)
{
	const uint8_t *restrict p = c->planes;
	uint64_t value = c->value, step = c->step;

	for (size_t i = 0; i < TILE; i++)
		v[i] = p[i];
	for (unsigned int shift = 8; shift < 8 * c->width; shift += 8) {
		p += n;
		for (size_t i = 0; i < TILE; i++)
			v[i] |= (uint64_t)p[i] << shift;
	}
	if (!c->width)
		memset(v, 0, TILE * sizeof(*v));
	c->planes += c->width ? TILE : 0;
	if (c->delta) {
		for (size_t i = 0; i < TILE; i++)
			v[i] = value += v[i] + step;
		c->value = value;
	} else {
		for (size_t i = 0; i < TILE; i++)
			v[i] += value;
	}
}

/* Returns whether the values of a column, or the field that they are written to, fit into 32
 * bits. */
static bool decode_is_narrow(const struct column *c)
{
	if (c->delta || c->target->size > 4)
		return false;
	return !c->target->interned || (c->width < 4 && c->value < UINT32_MAX >> 1);
}

/* Like decode_tile, but with 32-bit values, for narrow columns. */
static void decode_narrow_tile(struct column *c, size_t n, uint32_t *restrict v)
{
	const uint8_t *restrict p = c->planes;
	uint32_t value = (uint32_t)c->value;
	unsigned int width = c->width < 4 ? c->width : 4;

	for (size_t i = 0; i < TILE; i++)
		v[i] = value + p[i];
	for (unsigned int shift = 8; shift < 8 * width; shift += 8) {
		p += n;
		for (size_t i = 0; i < TILE; i++)
			v[i] += (uint32_t)p[i] << shift;
	}
	c->planes += TILE;
}

static void decode_scatter_narrow(uint32_t *v, size_t n, uint8_t *data, const uint32_t *at,
				  const struct target *t, const struct pasta_mapping *map)
{
	data += t->offset;
	if (t->size == 1) {
		for (size_t i = 0; i < n; i++)
			data[at[i]] = (uint8_t)v[i];
		return;
	}
	for (size_t i = 0; t->interned && i < n; i++)
		v[i] = v[i] < map->string_count ? map->strings[v[i]] : 0;
	for (size_t i = 0; i < n; i++)
		memcpy(data + at[i], &v[i], 4);
}

/* Converts a shard's string ids and times to those of the run. */
static void decode_convert(uint64_t *v, size_t n, const struct target *t,
			   const struct pasta_mapping *map)
{
	if (t->interned) {
		for (size_t i = 0; i < n; i++)
			v[i] = v[i] < map->string_count ? map->strings[v[i]] : 0;
	} else if (t->time) {
		if (map->clock)
			pasta_clockmap_convert(map->clock, v, n);
		for (size_t i = 0; i < n; i++)
			v[i] += (uint64_t)map->offset;
	}
}

static void decode_scatter(const uint64_t *v, size_t n, uint8_t *data, const uint32_t *at,
			   const struct target *t)
{
	data += t->offset;
	if (t->size == 8) {
		for (size_t i = 0; i < n; i++)
			memcpy(data + at[i], &v[i], 8);
	} else if (t->size == 4) {
		/* On a little-endian machine, the first 4 bytes of a 64-bit value are its lower
		 * half. */
		for (size_t i = 0; i < n; i++)
			memcpy(data + at[i], &v[i], 4);
	} else {
		for (size_t i = 0; i < n; i++)
			data[at[i]] = (uint8_t)v[i];
	}
}

/* Parses the columns of a section. If all values of a column are equal, writes the value to the
 * model record instead. Every record starts as a copy of the model. Returns the number of remaining
 * columns, or -EBADMSG. */
static int decode_columns(struct pasta_decoder *d, const struct kind_plan *plan,
			  const struct section *s, const struct pasta_mapping *map,
			  struct pasta_event *model)
{
	static const uint32_t here = 0;
	const uint8_t *p = s->columns;
	int n = 0;

	if (s->column_count != FIXED + plan->count)
		return -EBADMSG;
	for (unsigned int i = 0; i < s->column_count; i++) {
		struct column *c = &d->columns[n];

		c->target = i < FIXED ? &fixed[i] : &plan->fields[i - FIXED];
		p = decode_column(c, p, s->end, s->count);
		if (!p)
			return -EBADMSG;
		if (c->target->known && c->same) {
			decode_convert(&c->value, 1, c->target, map);
			decode_scatter(&c->value, 1, (uint8_t *)model, &here, c->target);
		} else if (c->target->known) {
			n++;
		}
	}
	return p == s->end ? n : -EBADMSG;
}

__attribute__((always_inline)) static inline void decode_copy_sized(uint8_t *data,
								    const uint32_t *at, size_t n,
								    const struct pasta_event *model,
								    size_t size)
{
	for (size_t i = 0; i < n; i++)
		memcpy(data + at[i], model, size);
}

/* Initializes n records as copies of the model record. A constant size compiles to a few stores
 * instead of a call. */
static void decode_copy_model(uint8_t *data, const uint32_t *at, size_t n,
			      const struct pasta_event *model)
{
	static const size_t launch = PASTA_EVENT_SIZE(launch), kernel = PASTA_EVENT_SIZE(kernel),
			    begin = PASTA_EVENT_SIZE(op_begin), end = PASTA_EVENT_SIZE(op_end);

	if (model->size == launch)
		decode_copy_sized(data, at, n, model, launch);
	else if (model->size == kernel)
		decode_copy_sized(data, at, n, model, kernel);
	else if (model->size == begin)
		decode_copy_sized(data, at, n, model, begin);
	else if (model->size == end)
		decode_copy_sized(data, at, n, model, end);
	else
		decode_copy_sized(data, at, n, model, model->size);
}

static int decode_section(struct pasta_decoder *d, const struct kind_plan *plan,
			  const struct section *s, uint32_t source, const struct pasta_mapping *map,
			  uint8_t *data)
{
	const uint32_t *at = d->at + s->first;
	struct pasta_event model;
	int columns;

	memset(&model, 0, sizeof(model)); /* fields without a column are 0 */
	model.size = pasta_kinds[s->kind].size;
	model.kind = (uint8_t)s->kind;
	model.proc = map->proc;
	model.source = source;
	columns = decode_columns(d, plan, s, map, &model);
	for (size_t from = 0; columns >= 0 && from < s->count; from += TILE, at += TILE) {
		size_t n = s->count - from < TILE ? s->count - from : TILE;

		decode_copy_model(data, at, n, &model);
		for (int i = 0; i < columns; i++) {
			struct column *c = &d->columns[i];

			if (decode_is_narrow(c)) {
				decode_narrow_tile(c, s->count, d->narrow);
				decode_scatter_narrow(d->narrow, n, data, at, c->target, map);
			} else {
				decode_tile(c, s->count, d->tile);
				decode_convert(d->tile, n, c->target, map);
				decode_scatter(d->tile, n, data, at, c->target);
			}
		}
	}
	return columns < 0 ? columns : 0;
}

/* Parses the heads of all sections. Returns a pointer to the bytes after the sections, which
 * contain the order of events; NULL if a section is damaged. */
static const uint8_t *decode_sections(struct pasta_decoder *d, const uint8_t *p, const uint8_t *end,
				      uint32_t events, uint64_t *count)
{
	uint64_t total = 0;

	p = pasta_varint_get(p, end, count);
	if (!p || *count > PASTA_KIND_MAX)
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
		if (!p || s->kind >= PASTA_KIND_MAX || !n || n > events - total ||
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

/* Allocates memory for the decoded events, and computes the offset of each event. The events have
 * the order of the frame. */
static int decode_layout(struct pasta_decoder *d, const uint8_t *order, uint64_t sections,
			 uint32_t events, const uint16_t *sizes, struct pasta_block *b)
{
	/* The section number of an event may be invalid. Section numbers that are not in use have
	 * no events. */
	uint32_t next[UINT8_MAX + 1] = {0}, end[UINT8_MAX + 1] = {0};
	size_t size = 0;

	for (uint64_t i = 0; i < sections; i++) {
		next[i] = d->sections[i].first;
		end[i] = next[i] + d->sections[i].count;
		b->count += sizes[i] ? d->sections[i].count : 0;
	}
	for (uint32_t i = 0; i < events; i++) {
		unsigned int s = sections > 1 ? order[i] : 0;

		if (next[s] >= end[s])
			return -EBADMSG;
		d->at[next[s]++] = (uint32_t)size;
		size += sizes[s];
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
	uint16_t sizes[PASTA_KIND_MAX] = {0};
	uint64_t sections;
	int r;

	b->size = b->count = b->unknown = 0;
	if (!frame->count || frame->count > PASTA_FRAME_EVENTS)
		return -EBADMSG;
	raw = pasta_decode_plain(d, frame, payload);
	order = raw ? decode_sections(d, raw, raw + frame->raw_size, frame->count, &sections)
		    : NULL;
	if (!order)
		return -EBADMSG;
	for (uint64_t i = 0; i < sections; i++) {
		const struct section *s = &d->sections[i];
		const struct kind_plan *k = &plan->kinds[s->kind];
		bool decode = k->known && map->kinds >> s->kind & 1;

		sizes[i] = decode ? pasta_kinds[s->kind].size : 0;
		b->unknown += k->known ? 0 : s->count;
	}
	r = decode_layout(d, order, sections, frame->count, sizes, b);
	for (uint64_t i = 0; !r && i < sections; i++)
		if (sizes[i])
			r = decode_section(d, &plan->kinds[d->sections[i].kind], &d->sections[i],
					   frame->source, map, b->data);
	return r;
}
