/* frame.c - encodes records as frames. The values of each field become a column, which is split
 * into byte planes; zstd then compresses the columns. */
#define ZSTD_STATIC_LINKING_ONLY
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/frame.h"
#include "core/varint.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "shards are little endian: this machine must be, too"
#endif

enum { LEVEL = 1 };

struct pasta_encoder {
	ZSTD_CCtx *zstd;
	uint32_t schema;
	uint16_t tag;
	const struct pasta_event *sorted[2][PASTA_FRAME_EVENTS];
	const struct pasta_event *grouped[PASTA_FRAME_EVENTS];
	uint64_t column[PASTA_FRAME_EVENTS];
	uint8_t raw[PASTA_FRAME_BYTES];
	_Alignas(8)
		uint8_t out[sizeof(struct pasta_frame) + ZSTD_COMPRESSBOUND(PASTA_FRAME_BYTES) + 8];
};

static size_t frame_workspace_offset(void)
{
	return (sizeof(struct pasta_encoder) + 63) & ~(size_t)63;
}

size_t pasta_encoder_size(void)
{
	return frame_workspace_offset() + ZSTD_estimateCCtxSize(LEVEL);
}

struct pasta_encoder *pasta_encoder_init(void *memory)
{
	struct pasta_encoder *enc = memory;
	size_t n;
	const char *schema = pasta_schema_text(&n);

	enc->schema = pasta_schema_hash(schema, n);
	enc->zstd = ZSTD_initStaticCCtx((char *)memory + frame_workspace_offset(),
					ZSTD_estimateCCtxSize(LEVEL));
	return enc;
}

void pasta_shard_head_seal(struct pasta_shard_head *head)
{
	memcpy(head->magic, PASTA_SHARD_MAGIC, sizeof(head->magic));
	head->version = PASTA_SHARD_VERSION;
	head->size = sizeof(*head);
	head->sum = XXH3_64bits(head, offsetof(struct pasta_shard_head, sum));
}

bool pasta_shard_head_ok(const struct pasta_shard_head *head)
{
	return !memcmp(head->magic, PASTA_SHARD_MAGIC, sizeof(head->magic)) &&
	       head->sum == XXH3_64bits(head, offsetof(struct pasta_shard_head, sum));
}

bool pasta_frame_head_ok(const struct pasta_frame *frame)
{
	return frame->magic == PASTA_FRAME_MAGIC && frame->size <= PASTA_FRAME_BYTES &&
	       frame->raw_size <= PASTA_FRAME_BYTES &&
	       frame->head_sum == XXH3_64bits(frame, offsetof(struct pasta_frame, head_sum));
}

/* Compresses the first raw_size bytes of enc->raw into the payload of the frame, and completes the
 * frame's head. */
static const void *frame_finish(struct pasta_encoder *enc, struct pasta_frame *frame, size_t *size)
{
	uint8_t *payload = enc->out + sizeof(*frame);
	size_t n = enc->zstd ? ZSTD_compressCCtx(enc->zstd, payload,
						 ZSTD_COMPRESSBOUND(PASTA_FRAME_BYTES), enc->raw,
						 frame->raw_size, LEVEL)
			     : 0;

	if (n && !ZSTD_isError(n) && n < frame->raw_size) {
		frame->flags |= PASTA_FRAME_ZSTD;
	} else {
		n = frame->raw_size;
		memcpy(payload, enc->raw, n);
	}
	frame->magic = PASTA_FRAME_MAGIC;
	frame->tag = enc->tag;
	frame->size = (uint32_t)n;
	frame->sum = XXH3_64bits(payload, n);
	frame->head_sum = XXH3_64bits(frame, offsetof(struct pasta_frame, head_sum));
	memcpy(enc->out, frame, sizeof(*frame));
	memset(payload + n, 0, -n & 7);
	*size = sizeof(*frame) + ((n + 7) & ~(size_t)7);
	return enc->out;
}

uint16_t pasta_shard_tag(const uint8_t guid[16])
{
	return (uint16_t)(XXH3_64bits(guid, 16) >> 48 | 1);
}

void pasta_encoder_tag(struct pasta_encoder *enc, const uint8_t guid[16])
{
	enc->tag = pasta_shard_tag(guid);
}

uint32_t pasta_schema_hash(const char *text, size_t size)
{
	return (uint32_t)XXH3_64bits(text, size);
}

static unsigned int frame_width(uint64_t range)
{
	return range ? (unsigned int)(71 - __builtin_clzll(range)) / 8 : 0;
}

/* Writes a column in its plain form or in its delta form, whichever is narrower. Overwrites the
 * array `v`. */
static uint8_t *frame_put_column(uint8_t *p, uint64_t *v, size_t n)
{
	uint64_t min = v[0], max = v[0], base = v[0], other = 0;
	int64_t dmin = INT64_MAX, dmax = INT64_MIN;
	unsigned int plain, delta;

	for (size_t i = 1; i < n; i++)
		other |= v[i] ^ base;
	if (!other) { /* the most frequent case: all values of the column are equal */
		*p++ = 0;
		p = pasta_varint_put(p, base);
		return pasta_varint_put(p, 0);
	}
	for (size_t i = 1; i < n; i++) {
		int64_t d = (int64_t)(v[i] - v[i - 1]);

		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
		dmin = d < dmin ? d : dmin;
		dmax = d > dmax ? d : dmax;
	}
	plain = frame_width(max - min);
	delta = frame_width((uint64_t)dmax - (uint64_t)dmin);
	if (delta < plain) {
		for (size_t i = n - 1; i > 0; i--)
			v[i] = v[i] - v[i - 1] - (uint64_t)dmin;
		v[0] = 0;
		*p++ = (uint8_t)(delta | 16);
	} else {
		base = min;
		dmin = 0;
		for (size_t i = 0; i < n; i++)
			v[i] -= min;
		*p++ = (uint8_t)plain;
		delta = plain;
	}
	p = pasta_varint_put(p, base);
	p = pasta_varint_put(p, pasta_zigzag((uint64_t)dmin));
	for (unsigned int k = 0; k < delta; k++, p += n)
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)(v[i] >> (8 * k));
	return p;
}

static void frame_gather(uint64_t *v, const struct pasta_event *const *ev, size_t n,
			 const struct pasta_field *f)
{
	if (pasta_field_size(f->type) == 8) {
		for (size_t i = 0; i < n; i++)
			memcpy(&v[i], (const char *)ev[i] + f->offset, 8);
	} else {
		for (size_t i = 0; i < n; i++) {
			uint32_t x;

			memcpy(&x, (const char *)ev[i] + f->offset, 4);
			v[i] = x;
		}
	}
}

static uint8_t *frame_put_section(struct pasta_encoder *enc, uint8_t *p, unsigned int kind,
				  const struct pasta_event *const *ev, size_t n)
{
	const struct pasta_kind_info *info = &pasta_kinds[kind];
	uint64_t *v = enc->column;
	uint8_t head[2 + 3 * PASTA_VARINT_MAX], *h = head, *body = p + sizeof(head);
	uint8_t *q = body;

	for (size_t i = 0; i < n; i++)
		v[i] = ev[i]->sub;
	q = frame_put_column(q, v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = ev[i]->tid;
	q = frame_put_column(q, v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = ev[i]->time;
	q = frame_put_column(q, v, n);
	for (unsigned int f = 0; f < info->count; f++) {
		frame_gather(v, ev, n, &info->fields[f]);
		q = frame_put_column(q, v, n);
	}
	*h++ = (uint8_t)kind;
	h = pasta_varint_put(h, n);
	h = pasta_varint_put(h, 3 + info->count);
	h = pasta_varint_put(h, (uint64_t)(q - body));
	memcpy(p, head, (size_t)(h - head));
	memmove(p + (h - head), body, (size_t)(q - body));
	return p + (h - head) + (q - body);
}

/* Sorts events by time. Events with equal times remain in order. The events of most rings are
 * sorted already. */
static const struct pasta_event **frame_sort(struct pasta_encoder *enc,
					     const struct pasta_event **ev, size_t n)
{
	const struct pasta_event **from = ev, **to = enc->sorted[0];
	size_t i = 1;

	while (i < n && ev[i - 1]->time <= ev[i]->time)
		i++;
	if (i >= n)
		return ev;
	for (size_t w = 1; w < n; w *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * w) {
			size_t mid = lo + w < n ? lo + w : n, hi = lo + 2 * w < n ? lo + 2 * w : n;

			for (size_t a = lo, b = mid, o = lo; o < hi; o++)
				to[o] = b >= hi || (a < mid && from[a]->time <= from[b]->time)
						? from[a++]
						: from[b++];
		}
		from = to;
		to = from == enc->sorted[0] ? enc->sorted[1] : enc->sorted[0];
	}
	return from;
}

const void *pasta_encode_events(struct pasta_encoder *enc, const struct pasta_event **events,
				size_t count, const struct pasta_frame_meta *meta, size_t *size)
{
	size_t counts[PASTA_KIND_MAX] = {0}, start[PASTA_KIND_MAX];
	uint8_t section[PASTA_KIND_MAX] = {0}, sections = 0;
	const struct pasta_event **ev = frame_sort(enc, events, count);
	struct pasta_frame frame = {.type = PASTA_FRAME_EVENTS_T,
				    .flags = (uint8_t)meta->flags,
				    .source = meta->source,
				    .clock = meta->clock,
				    .first = ev[0]->time,
				    .last = ev[count - 1]->time,
				    .watermark = meta->watermark,
				    .seq = meta->seq,
				    .pos = meta->pos,
				    .count = (uint32_t)count,
				    .schema = enc->schema};
	uint8_t *p = enc->raw;
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		counts[ev[i]->kind]++;
	if (counts[PASTA_KIND_DEVICE] || counts[PASTA_KIND_THREAD])
		frame.flags |= PASTA_FRAME_NAMES;
	for (unsigned int k = 0; k < PASTA_KIND_MAX; at += counts[k++]) {
		start[k] = at;
		section[k] = sections;
		sections += counts[k] > 0;
	}
	for (size_t i = 0; i < count; i++)
		enc->grouped[start[ev[i]->kind]++] = ev[i];
	p = pasta_varint_put(p, sections);
	for (unsigned int k = 0; k < PASTA_KIND_MAX; k++)
		if (counts[k])
			p = frame_put_section(enc, p, k, enc->grouped + start[k] - counts[k],
					      counts[k]);
	if (sections > 1)
		for (size_t i = 0; i < count; i++)
			*p++ = section[ev[i]->kind];
	frame.raw_size = (uint32_t)(p - enc->raw);
	return frame_finish(enc, &frame, size);
}

const void *pasta_encode_plain(struct pasta_encoder *enc, enum pasta_frame_type type,
			       const void *payload, size_t payload_size, uint64_t first_id,
			       uint32_t count, size_t *size)
{
	struct pasta_frame frame = {.type = (uint8_t)type,
				    .seq = first_id,
				    .count = count,
				    .raw_size = (uint32_t)payload_size};

	memcpy(enc->raw, payload, payload_size);
	return frame_finish(enc, &frame, size);
}

size_t pasta_encode_string(uint8_t *p, const void *text, uint32_t size)
{
	uint8_t *q = pasta_varint_put(p, size);

	memcpy(q, text, size);
	return (size_t)(q - p) + size;
}
