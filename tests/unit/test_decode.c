/* test_decode.c - inconsistent payloads, and schemas of other versions. */
/* labels: onethread */
#include "support.h"

#include <zstd.h>

#include "core/varint.h"
#include "process/read/decode.h"

static struct pasta_decoder *decoder;
static struct pasta_plan *own;

static struct pasta_plan *plan_of(const char *schema)
{
	return pasta_plan_new(schema, strlen(schema), NULL);
}

static int begin(void **state)
{
	size_t n;
	const char *schema = pasta_schema_text(&n);

	decoder = pasta_decoder_new();
	own = pasta_plan_new(schema, n, NULL);
	return decoder && own ? 0 : -1;
}

static int end(void **state)
{
	pasta_plan_free(own);
	pasta_decoder_free(decoder);
	return 0;
}

/* A payload, built by hand. */
struct payload {
	uint8_t data[4096];
	size_t size;
};

static void byte(struct payload *p, unsigned int v)
{
	p->data[p->size++] = (uint8_t)v;
}

static void number(struct payload *p, uint64_t v)
{
	p->size = (size_t)(pasta_varint_put(p->data + p->size, v) - p->data);
}

/* A column whose values are all v. */
static void constant(struct payload *p, uint64_t v)
{
	byte(p, 0);
	number(p, v);
	number(p, 0);
}

static void section(struct payload *p, unsigned int kind, uint64_t events, uint64_t columns,
		    uint64_t bytes)
{
	byte(p, kind);
	number(p, events);
	number(p, columns);
	number(p, bytes);
}

/* One section whose columns are constants: sub 1, tid 2, time 3, then the values of the fields. */
static struct payload plain(unsigned int kind, uint64_t events, size_t fields,
			    const uint64_t *values)
{
	struct payload p = {.size = 0}, columns = {.size = 0};

	for (uint64_t i = 0; i < 3; i++)
		constant(&columns, i + 1);
	for (size_t i = 0; i < fields; i++)
		constant(&columns, values[i]);
	number(&p, 1);
	section(&p, kind, events, 3 + fields, columns.size);
	memcpy(p.data + p.size, columns.data, columns.size);
	p.size += columns.size;
	return p;
}

static struct pasta_block block;
static uint32_t no_strings[1];

/* Decodes a payload with a head that states count events. */
static int decode_with(const struct pasta_plan *plan, const struct payload *p, uint32_t count,
		       uint64_t want)
{
	const struct pasta_mapping map = {.strings = no_strings, .string_count = 1, .kinds = want};
	size_t size;
	const struct pasta_frame *f = pasta_encode_plain(support_encoder(), PASTA_FRAME_EVENTS_T,
							 p->data, p->size, 0, count, &size);

	return pasta_decode_events(decoder, plan, f, f + 1, &map, &block);
}

static int decode(const struct payload *p, uint32_t count)
{
	return decode_with(own, p, count, UINT64_MAX);
}

static const struct pasta_event *event(void)
{
	return (const void *)block.data;
}

static void a_payload_written_by_hand_is_read(void **state)
{
	struct payload p = plain(PASTA_KIND_LINK, 4, 2, (const uint64_t[]){7, 8});

	assert_int_equal(decode(&p, 4), 0);
	assert_int_equal(block.count, 4);
	assert_int_equal(block.size, 4 * PASTA_EVENT_SIZE(link));
	assert_int_equal(event()->sub, 1);
	assert_int_equal(event()->tid, 2);
	assert_int_equal(event()->time, 3);
	assert_int_equal(event()->link.from, 7);
	assert_int_equal(event()->link.to, 8);
}

static void counts_that_do_not_add_up_are_refused(void **state)
{
	static const uint64_t counts[] = {0, 1, 3, 5, 32768, 32769, UINT32_MAX, UINT64_MAX};
	struct payload p;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		p = plain(PASTA_KIND_LINK, counts[i], 2, (const uint64_t[]){7, 8});
		assert_int_equal(decode(&p, 4), -EBADMSG);
		p = plain(PASTA_KIND_LINK, 4, 2, (const uint64_t[]){7, 8});
		assert_int_equal(decode(&p, (uint32_t)counts[i]), -EBADMSG);
	}
	p = plain(PASTA_KIND_LINK, 32769, 2, (const uint64_t[]){7, 8});
	assert_int_equal(decode(&p, 32769), -EBADMSG);
}

static void sections_that_do_not_add_up_are_refused(void **state)
{
	static const uint64_t sections[] = {0, 2, 64, 65, 200, UINT64_MAX};
	struct payload p, q;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		p = plain(PASTA_KIND_LINK, 4, 2, (const uint64_t[]){7, 8});
		q = (struct payload){.size = 0};
		number(&q, sections[i]);
		memcpy(q.data + q.size, p.data + 1, p.size - 1);
		q.size += p.size - 1;
		assert_int_equal(decode(&q, 4), -EBADMSG);
	}
	p = plain(64, 4, 2, (const uint64_t[]){7, 8});
	assert_int_equal(decode(&p, 4), -EBADMSG);
	p = plain(255, 4, 2, (const uint64_t[]){7, 8});
	assert_int_equal(decode(&p, 4), -EBADMSG);
}

static void columns_that_do_not_add_up_are_refused(void **state)
{
	static const uint64_t columns[] = {0, 2, 4, 6, 256, 257, UINT64_MAX};
	static const uint64_t bytes[] = {0, 1, 14, 16, 4096, UINT64_MAX};
	struct payload p, q;

	p = plain(PASTA_KIND_LINK, 4, 2, (const uint64_t[]){7, 8});
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		q = (struct payload){.size = 0};
		number(&q, 1);
		section(&q, PASTA_KIND_LINK, 4, columns[i], 15);
		memcpy(q.data + q.size, p.data + p.size - 15, 15);
		q.size += 15;
		assert_int_equal(decode(&q, 4), -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		q = (struct payload){.size = 0};
		number(&q, 1);
		section(&q, PASTA_KIND_LINK, 4, 5, bytes[i]);
		memcpy(q.data + q.size, p.data + p.size - 15, 15);
		q.size += 15;
		assert_int_equal(decode(&q, 4), -EBADMSG);
	}
}

static void a_column_that_is_too_wide_or_too_short_is_refused(void **state)
{
	for (unsigned int tag = 0; tag < 256; tag++) {
		struct payload p = {.size = 0}, c = {.size = 0};
		unsigned int width = tag & 15;

		byte(&c, tag);
		number(&c, 0);
		number(&c, 0);
		for (unsigned int i = 0; i < width * 4; i++)
			byte(&c, i);
		for (int i = 0; i < 4; i++)
			constant(&c, 0);
		number(&p, 1);
		section(&p, PASTA_KIND_LINK, 4, 5, c.size);
		memcpy(p.data + p.size, c.data, c.size);
		p.size += c.size;
		assert_int_equal(decode(&p, 4), tag <= 31 && width <= 8 ? 0 : -EBADMSG);
	}
}

static void an_order_that_names_a_section_too_often_is_refused(void **state)
{
	struct payload one = plain(PASTA_KIND_OP_END, 2, 2, (const uint64_t[]){7, 0}),
		       p = {.size = 0};
	uint8_t *order;

	number(&p, 2);
	memcpy(p.data + p.size, one.data + 1, one.size - 1);
	p.size += one.size - 1;
	memcpy(p.data + p.size, one.data + 1, one.size - 1);
	p.size += one.size - 1;
	order = p.data + p.size;
	p.size += 4;
	memcpy(order, (uint8_t[]){0, 1, 1, 0}, 4);
	assert_int_equal(decode(&p, 4), 0);
	memcpy(order, (uint8_t[]){0, 0, 0, 1}, 4);
	assert_int_equal(decode(&p, 4), -EBADMSG);
	memcpy(order, (uint8_t[]){0, 1, 2, 0}, 4);
	assert_int_equal(decode(&p, 4), -EBADMSG);
	p.size--;
	assert_int_equal(decode(&p, 4), -EBADMSG);
}

static void a_payload_that_is_shorter_or_longer_than_stated_is_refused(void **state)
{
	struct pasta_event events[50];
	struct payload p = {.size = 0}, cut;
	struct bytes b = {0};

	for (size_t i = 0; i < 50; i++)
		events[i] = i % 3 ? numbered(i * i, i) : loss_of((uint32_t)i, 0, i * 7, i, i);
	put_frame(&b, events, 50, (struct pasta_frame_meta){0});
	p.size = frame_at(&b, 0)->raw_size;
	assert_true(p.size < sizeof(p.data));
	memcpy(p.data,
	       pasta_decode_plain(decoder, frame_at(&b, 0), b.data + sizeof(struct pasta_frame)),
	       p.size);
	assert_int_equal(decode(&p, 50), 0);
	for (cut = p; cut.size-- > 0;)
		assert_int_equal(decode(&cut, 50), -EBADMSG);
	byte(&p, 0);
	assert_int_equal(decode(&p, 50), -EBADMSG);
	free(b.data);
}

static void a_payload_with_any_bytes_changed_is_read_or_refused_but_never_overread(void **state)
{
	struct pasta_event events[60];
	struct payload p = {.size = 0}, changed;
	struct bytes b = {0};

	random_begin();
	for (size_t i = 0; i < 60; i++)
		events[i] = i % 4 ? numbered(random_u64(), i) : clock_at((uint32_t)i, i, i * i);
	put_frame(&b, events, 60, (struct pasta_frame_meta){0});
	p.size = frame_at(&b, 0)->raw_size;
	memcpy(p.data,
	       pasta_decode_plain(decoder, frame_at(&b, 0), b.data + sizeof(struct pasta_frame)),
	       p.size);
	for (int i = 0; i < 20000; i++) {
		int r;

		changed = p;
		for (uint64_t k = 1 + random_below(3); k--;)
			changed.data[random_below(i % 2 ? 24 : p.size)] = (uint8_t)random_u64();
		r = decode(&changed, 60);
		assert_property(r == 0 || r == -EBADMSG);
		assert_property(r || block.count + block.unknown == 60);
	}
	free(b.data);
}

static void compressed_bytes_whose_size_differs_from_their_head_are_refused(void **state)
{
	const size_t bomb = (size_t)64 << 20;
	void *zeros = calloc(1, bomb), *small = malloc(ZSTD_compressBound(bomb));
	size_t n = ZSTD_compress(small, ZSTD_compressBound(bomb), zeros, bomb, 19);
	struct pasta_frame f = {.flags = PASTA_FRAME_ZSTD, .size = (uint32_t)n};

	assert_false(ZSTD_isError(n));
	f.sum = XXH3_64bits(small, n);
	f.raw_size = PASTA_FRAME_BYTES;
	assert_null(pasta_decode_plain(decoder, &f, small));
	f.raw_size = (uint32_t)bomb;
	assert_null(pasta_decode_plain(decoder, &f, small));
	f.raw_size = UINT32_MAX;
	assert_null(pasta_decode_plain(decoder, &f, small));
	n = ZSTD_compress(small, ZSTD_compressBound(bomb), zeros, 1000, 1);
	f.size = (uint32_t)n;
	f.sum = XXH3_64bits(small, n);
	f.raw_size = 1001;
	assert_null(pasta_decode_plain(decoder, &f, small));
	f.raw_size = 999;
	assert_null(pasta_decode_plain(decoder, &f, small));
	f.raw_size = 1000;
	assert_non_null(pasta_decode_plain(decoder, &f, small));
	f.flags = 0;
	assert_null(pasta_decode_plain(decoder, &f, small));
	free(zeros);
	free(small);
}

static void a_payload_with_any_bit_flipped_is_refused_by_its_sum(void **state)
{
	struct bytes b = {0};
	const struct pasta_mapping map = {.kinds = UINT64_MAX};
	size_t head = sizeof(struct pasta_frame);

	put_numbered(&b, 1, 0, 0, 20, 0);
	for (size_t bit = 0; bit < 8 * (size_t)frame_at(&b, 0)->size; bit++) {
		b.data[head + bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pasta_decode_events(decoder, own, frame_at(&b, 0), b.data + head,
						     &map, &block),
				 -EBADMSG);
		b.data[head + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(b.data);
}

static void only_selected_kinds_are_decoded(void **state)
{
	struct pasta_event events[3] = {numbered(1, 1), loss_of(1, 0, 0, 0, 2), numbered(2, 3)};
	struct pasta_mapping map = {.kinds = PASTA_MASK(LOSS)};
	struct bytes b = {0};

	put_frame(&b, events, 3, (struct pasta_frame_meta){0});
	assert_int_equal(pasta_decode_events(decoder, own, frame_at(&b, 0),
					     b.data + sizeof(struct pasta_frame), &map, &block),
			 0);
	assert_int_equal(block.count, 1);
	assert_int_equal(event()->kind, PASTA_KIND_LOSS);
	assert_int_equal(block.size, PASTA_EVENT_SIZE(loss));
	map.kinds = 0;
	assert_int_equal(pasta_decode_events(decoder, own, frame_at(&b, 0),
					     b.data + sizeof(struct pasta_frame), &map, &block),
			 0);
	assert_int_equal(block.count, 0);
	free(b.data);
}

static void a_kind_of_a_later_version_is_skipped_and_counted(void **state)
{
	static const char *const schemas[] = {"19 link u64:from u64:to\n63 novelty u64:x u32:y\n",
					      "19 link u64:from u64:to\n"};
	struct payload p = plain(63, 5, 2, (const uint64_t[]){1, 2});
	struct pasta_plan *plan;

	for (int i = 0; i < 2; i++) {
		plan = plan_of(schemas[i]);
		assert_non_null(plan);
		assert_int_equal(decode_with(plan, &p, 5, UINT64_MAX), 0);
		assert_int_equal(block.count, 0);
		assert_int_equal(block.unknown, 5);
		pasta_plan_free(plan);
	}
}

static void a_kind_number_with_another_name_is_unknown(void **state)
{
	struct pasta_plan *plan = plan_of("19 chain u64:from u64:to\n");
	struct payload p = plain(PASTA_KIND_LINK, 5, 2, (const uint64_t[]){1, 2});

	assert_int_equal(decode_with(plan, &p, 5, UINT64_MAX), 0);
	assert_int_equal(block.count, 0);
	assert_int_equal(block.unknown, 5);
	pasta_plan_free(plan);
}

static void fields_are_found_by_name_in_any_order(void **state)
{
	struct pasta_plan *plan = plan_of("19 link u32:novelty u64:to f64:more u64:from\n");
	struct payload p = plain(PASTA_KIND_LINK, 3, 4, (const uint64_t[]){1, 2, 3, 4});

	assert_int_equal(decode_with(plan, &p, 3, UINT64_MAX), 0);
	assert_int_equal(event()->link.to, 2);
	assert_int_equal(event()->link.from, 4);
	pasta_plan_free(plan);
}

static void a_field_that_the_shard_does_not_have_is_zero(void **state)
{
	struct pasta_plan *plan = plan_of("3 copy u64:bytes\n");
	struct payload p = plain(PASTA_KIND_COPY, 3, 1, (const uint64_t[]){77});
	struct pasta_event want = {
		.size = PASTA_EVENT_SIZE(copy), .kind = PASTA_KIND_COPY, .sub = 1};

	memset(block.data, 0xee, block.capacity);
	assert_int_equal(decode_with(plan, &p, 3, UINT64_MAX), 0);
	want.tid = 2;
	want.time = 3;
	want.copy.bytes = 77;
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(block.data + i * want.size, &want, want.size);
	pasta_plan_free(plan);
}

static void a_field_that_the_shard_has_twice_leaves_no_byte_of_the_record_unset(void **state)
{
	struct pasta_plan *plan = plan_of("19 link u64:from u64:from\n");
	struct payload p = plain(PASTA_KIND_LINK, 3, 2, (const uint64_t[]){5, 6});

	memset(block.data, 0xee, block.capacity);
	assert_int_equal(decode_with(plan, &p, 3, UINT64_MAX), 0);
	assert_int_equal(event()->link.to, 0);
	pasta_plan_free(plan);
}

static void a_number_may_have_been_wider_or_narrower(void **state)
{
	struct pasta_plan *plan = plan_of("7 sync u32:dur u64:stream\n");
	struct payload p = plain(PASTA_KIND_SYNC, 1, 2, (const uint64_t[]){UINT32_MAX, 12});

	assert_int_equal(decode_with(plan, &p, 1, UINT64_MAX), 0);
	assert_int_equal(event()->sync.dur, UINT32_MAX);
	assert_int_equal(event()->sync.stream, 12);
	pasta_plan_free(plan);
}

static void a_field_of_another_type_is_ignored(void **state)
{
	struct pasta_plan *plan = plan_of("15 counter u64:value u32:name str:device\n");
	struct payload p = plain(PASTA_KIND_COUNTER, 1, 3, (const uint64_t[]){1, 2, 3});

	assert_int_equal(decode_with(plan, &p, 1, UINT64_MAX), 0);
	assert_true(event()->counter.value == 0);
	assert_int_equal(event()->counter.name, 0);
	assert_int_equal(event()->counter.device, 0);
	pasta_plan_free(plan);
}

static void a_missing_string_is_0(void **state)
{
	struct payload p = plain(PASTA_KIND_REGION, 1, 4, (const uint64_t[]){0, UINT64_MAX, 0, 0});
	const uint32_t strings[] = {0, 11, 12};
	struct pasta_mapping map = {.strings = strings, .string_count = 3, .kinds = UINT64_MAX};
	const struct pasta_frame *f;
	size_t size;

	assert_int_equal(decode(&p, 1), 0);
	assert_int_equal(event()->region.name, 0);
	assert_int_equal(event()->region.domain, 0);
	p = plain(PASTA_KIND_REGION, 1, 4, (const uint64_t[]){2, 3, 0, 0});
	f = pasta_encode_plain(support_encoder(), PASTA_FRAME_EVENTS_T, p.data, p.size, 0, 1,
			       &size);
	assert_int_equal(pasta_decode_events(decoder, own, f, f + 1, &map, &block), 0);
	assert_int_equal(event()->region.name, 12);
	assert_int_equal(event()->region.domain, 0);
}

/* A column for one of the last two fields of an iteration (index, name, flags); the others are 0.
 */
static struct payload with_column(bool name, uint64_t base, unsigned int width, size_t events,
				  const uint8_t *planes)
{
	struct payload p = {.size = 0}, columns = {.size = 0};

	for (int i = 0; i < 6; i++) {
		if (i != (name ? 4 : 5)) {
			constant(&columns, 0);
			continue;
		}
		byte(&columns, width);
		number(&columns, base);
		number(&columns, 0);
		memcpy(columns.data + columns.size, planes, width * events);
		columns.size += width * events;
	}
	number(&p, 1);
	section(&p, PASTA_KIND_ITERATION, events, 6, columns.size);
	memcpy(p.data + p.size, columns.data, columns.size);
	p.size += columns.size;
	return p;
}

static uint64_t value_at(uint64_t base, unsigned int width, size_t events, const uint8_t *planes,
			 size_t i)
{
	for (unsigned int k = 0; k < width; k++)
		base += (uint64_t)planes[k * events + i] << 8 * k;
	return base;
}

/* Integers of 32 bits, and names, from values of up to 64 bits, which may be out of range. */
static void a_column_of_any_width_and_base_is_decoded_as_specified(void **state)
{
	enum { EVENTS = 300, NAMES = 200, TIMES = 2000 };
	static const uint64_t bases[] = {0,
					 7,
					 NAMES - 3,
					 INT32_MAX - 1,
					 INT32_MAX,
					 UINT32_MAX - 9,
					 UINT64_MAX - 9,
					 UINT64_C(5) << 32};
	uint32_t names[NAMES];
	uint8_t planes[8 * EVENTS];

	for (uint32_t i = 0; i < NAMES; i++)
		names[i] = i + 1000;
	for (int t = 0; t < TIMES; t++) {
		const struct pasta_mapping map = {
			.strings = names, .string_count = NAMES, .kinds = UINT64_MAX};
		uint64_t base = bases[random_below(sizeof(bases) / sizeof(*bases))];
		unsigned int width = 1 + (unsigned int)random_below(8);
		size_t events = 1 + random_below(EVENTS), size;
		bool name = random_below(2);
		const struct pasta_event *ev;
		const struct pasta_frame *f;
		struct payload p;

		for (size_t i = 0; i < width * events; i++)
			planes[i] = i < events || !random_below(4) ? (uint8_t)random_below(256) : 0;
		p = with_column(name, base, width, events, planes);
		f = pasta_encode_plain(support_encoder(), PASTA_FRAME_EVENTS_T, p.data, p.size, 0,
				       (uint32_t)events, &size);
		assert_int_equal(pasta_decode_events(decoder, own, f, f + 1, &map, &block), 0);
		ev = event();
		for (size_t i = 0; i < events;
		     i++, ev = (const void *)((const char *)ev + ev->size)) {
			uint64_t v = value_at(base, width, events, planes, i), id = name ? v : 0;

			assert_property(ev->iteration.flags == (name ? 0 : (uint32_t)v));
			assert_property(ev->iteration.name == (id < NAMES ? names[id] : 0));
		}
	}
}

static void an_invalid_schema_is_refused(void **state)
{
	static const char *const bad[] = {"19",
					  "x link",
					  "64 link u64:from",
					  "-1 link",
					  "19 link u64",
					  "19 link u64:",
					  "19 link u64:from extra",
					  "19 link u64:from ",
					  "19 LINK",
					  "19 link\n19 link u64:from",
					  "19 link :from",
					  "999999999999 link"};
	struct pasta_error err;
	char *longer = malloc(300 * 10 + 10);
	size_t n = (size_t)sprintf(longer, "19 link");

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct pasta_error){0};
		assert_null(pasta_plan_new(bad[i], strlen(bad[i]), &err));
		assert_int_equal(err.code, -EBADMSG);
	}
	for (int i = 0; i < 254; i++)
		n += (size_t)sprintf(longer + n, " u64:f%d", i);
	assert_null(plan_of(longer));
	free(longer);
	longer = calloc(1, 8 << 20);
	memset(longer, 'x', (8 << 20) - 1);
	assert_null(plan_of(longer));
	free(longer);
}

static void a_random_schema_does_no_harm(void **state)
{
	static const char letters[] = "0123 linkfromtou64:str\n\n _z\xff";
	char text[64];

	random_begin();
	for (int i = 0; i < 50000; i++) {
		size_t n = random_below(sizeof(text));

		for (size_t k = 0; k < n; k++)
			text[k] = letters[random_below(sizeof(letters))];
		pasta_plan_free(pasta_plan_new(text, n, NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_written_by_hand_is_read),
		cmocka_unit_test(counts_that_do_not_add_up_are_refused),
		cmocka_unit_test(sections_that_do_not_add_up_are_refused),
		cmocka_unit_test(columns_that_do_not_add_up_are_refused),
		cmocka_unit_test(a_column_that_is_too_wide_or_too_short_is_refused),
		cmocka_unit_test(an_order_that_names_a_section_too_often_is_refused),
		cmocka_unit_test(a_payload_that_is_shorter_or_longer_than_stated_is_refused),
		cmocka_unit_test(
			a_payload_with_any_bytes_changed_is_read_or_refused_but_never_overread),
		cmocka_unit_test(compressed_bytes_whose_size_differs_from_their_head_are_refused),
		cmocka_unit_test(a_payload_with_any_bit_flipped_is_refused_by_its_sum),
		cmocka_unit_test(only_selected_kinds_are_decoded),
		cmocka_unit_test(a_kind_of_a_later_version_is_skipped_and_counted),
		cmocka_unit_test(a_kind_number_with_another_name_is_unknown),
		cmocka_unit_test(fields_are_found_by_name_in_any_order),
		cmocka_unit_test(a_field_that_the_shard_does_not_have_is_zero),
		cmocka_unit_test(
			a_field_that_the_shard_has_twice_leaves_no_byte_of_the_record_unset),
		cmocka_unit_test(a_number_may_have_been_wider_or_narrower),
		cmocka_unit_test(a_field_of_another_type_is_ignored),
		cmocka_unit_test(a_missing_string_is_0),
		cmocka_unit_test(a_column_of_any_width_and_base_is_decoded_as_specified),
		cmocka_unit_test(an_invalid_schema_is_refused),
		cmocka_unit_test(a_random_schema_does_no_harm),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
