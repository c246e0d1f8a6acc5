/* test_frame.c - encodes frames, and decodes them again. */
/* labels: onethread */
#include "support.h"

#include "core/varint.h"
#include "process/read/decode.h"

enum { STRINGS = 1000 }; /* lower ids are defined, and don't change */

static uint32_t identity[STRINGS];
static struct pasta_decoder *decoder;
static struct pasta_plan *plan;
static struct pasta_event events[PASTA_FRAME_EVENTS];
static const struct pasta_event *list[PASTA_FRAME_EVENTS];

static int begin(void **state)
{
	size_t n;
	const char *schema = pasta_schema_text(&n);

	for (uint32_t i = 0; i < STRINGS; i++)
		identity[i] = i;
	decoder = pasta_decoder_new();
	plan = pasta_plan_new(schema, n, NULL);
	return decoder && plan ? 0 : -1;
}

static int end(void **state)
{
	pasta_plan_free(plan);
	pasta_decoder_free(decoder);
	return 0;
}

/* Patterns of values in a column. */
enum pattern { ZERO, ONES, NOISE, RANDOM, RISING, FALLING, STRIDED, EXTREMES, NARROW, PATTERNS };

static uint64_t value_of(enum pattern pattern, size_t i)
{
	static const uint64_t extremes[] = {0,
					    UINT64_MAX,
					    INT64_MAX,
					    (uint64_t)INT64_MAX + 1,
					    1,
					    UINT32_MAX,
					    UINT64_C(1) << 32,
					    255,
					    256,
					    65535,
					    65536};

	switch (pattern) {
	case ONES:
		return UINT64_MAX;
	case NOISE:
		return random_u64();
	case RANDOM:
		return random_u64() >> random_below(64);
	case RISING:
		return (UINT64_C(1) << 40) + i * 3 + random_below(3);
	case FALLING:
		return (UINT64_C(1) << 40) - i * 1000;
	case STRIDED:
		return i * UINT64_C(0x1000000000001);
	case EXTREMES:
		return extremes[random_below(sizeof(extremes) / sizeof(extremes[0]))];
	case NARROW:
		return UINT64_MAX - 200 + random_below(200);
	default:
		return 0;
	}
}

static void fill(struct pasta_event *ev, unsigned int kind, enum pattern pattern, size_t i)
{
	const struct pasta_kind_info *info = &pasta_kinds[kind];

	memset(ev, 0, sizeof(*ev));
	ev->size = info->size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)value_of(pattern, i);
	ev->tid = (uint32_t)value_of(pattern, i);
	ev->time = value_of(pattern, i);
	for (unsigned int f = 0; f < info->count; f++) {
		uint64_t v = value_of(pattern, i);

		if (info->fields[f].type == PASTA_FIELD_str ||
		    info->fields[f].type == PASTA_FIELD_ref)
			v %= STRINGS;
		memcpy((char *)ev + info->fields[f].offset, &v,
		       pasta_field_size(info->fields[f].type));
	}
}

static const struct pasta_frame *encode(size_t count, size_t *size)
{
	const struct pasta_frame_meta meta = {
		.source = 9, .clock = 3, .seq = 77, .pos = 78, .watermark = 79};

	for (size_t i = 0; i < count; i++)
		list[i] = &events[i];
	return pasta_encode_events(support_encoder(), list, count, &meta, size);
}

static int by_time(const void *a, const void *b)
{
	const struct pasta_event *x = *(const struct pasta_event *const *)a,
				 *y = *(const struct pasta_event *const *)b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x < y ? -1 : 1; /* equal times: in the original order */
}

/* Encodes the events, decodes them, and compares them with the sorted originals. */
static void round_trip(size_t count)
{
	static const struct pasta_event *sorted[PASTA_FRAME_EVENTS];
	const struct pasta_mapping map = {
		.strings = identity, .string_count = STRINGS, .proc = 5, .kinds = UINT64_MAX};
	struct pasta_block block = {0};
	size_t size, at = 0;
	const struct pasta_frame *f = encode(count, &size);

	for (size_t i = 0; i < count; i++)
		sorted[i] = &events[i];
	qsort(sorted, count, sizeof(sorted[0]), by_time);
	assert_property(pasta_frame_head_ok(f));
	assert_property(size % 8 == 0 && size >= sizeof(*f) + f->size &&
			size < sizeof(*f) + f->size + 8);
	assert_property(f->count == count && f->source == 9 && f->clock == 3 && f->seq == 77);
	assert_property(f->pos == 78 && f->watermark == 79);
	assert_property(f->first == sorted[0]->time && f->last == sorted[count - 1]->time);
	assert_property(!pasta_decode_events(decoder, plan, f, f + 1, &map, &block));
	assert_property(block.count == count && !block.unknown);
	for (size_t i = 0; i < count; i++) {
		struct pasta_event expected = *sorted[i];

		expected.proc = 5;
		expected.source = 9;
		assert_property(at + expected.size <= block.size);
		assert_property(!memcmp(block.data + at, &expected, expected.size));
		at += expected.size;
	}
	assert_property(at == block.size);
	free(block.data);
}

static void every_field_of_every_kind_comes_back_as_it_was(void **state)
{
	static const size_t counts[] = {1, 2, 3, 17, 255, 1000};

	random_begin();
	for (unsigned int kind = 0; kind < PASTA_KIND_MAX; kind++)
		for (int pattern = 0; pasta_kinds[kind].size && pattern < PATTERNS; pattern++)
			for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
				for (size_t i = 0; i < counts[c]; i++)
					fill(&events[i], kind, pattern, i);
				round_trip(counts[c]);
			}
}

static unsigned int random_kind(void)
{
	unsigned int kind;

	do
		kind = (unsigned int)random_below(PASTA_KIND_MAX);
	while (!pasta_kinds[kind].size);
	return kind;
}

static void frames_of_mixed_kinds_come_back_sorted_and_ties_stay_in_order(void **state)
{
	random_begin();
	for (int round = 0; round < 300; round++) {
		size_t count = 1 + random_below(round % 10 ? 200 : 4000);
		uint64_t times = 1 + random_below(count * 2);
		unsigned int kinds[4] = {random_kind(), random_kind(), random_kind(),
					 random_kind()};

		for (size_t i = 0; i < count; i++) {
			fill(&events[i], round % 3 ? kinds[random_below(4)] : random_kind(),
			     (enum pattern)random_below(PATTERNS), i);
			events[i].time = random_below(times);
		}
		round_trip(count);
	}
}

static void a_full_frame_of_the_longest_kind_fits_even_if_nothing_compresses(void **state)
{
	unsigned int longest = 0;

	random_begin();
	for (unsigned int kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_kinds[kind].size > pasta_kinds[longest].size)
			longest = kind;
	for (size_t i = 0; i < PASTA_FRAME_EVENTS; i++)
		fill(&events[i], longest, NOISE, i);
	round_trip(PASTA_FRAME_EVENTS);
}

static void a_column_that_is_constant_or_steady_costs_a_few_bytes(void **state)
{
	size_t size;

	for (size_t i = 0; i < PASTA_FRAME_EVENTS; i++) {
		fill(&events[i], PASTA_KIND_KERNEL, ZERO, i);
		events[i].time = 1000000 + i * 5000;
		events[i].kernel.corr = i;
	}
	encode(PASTA_FRAME_EVENTS, &size);
	assert_in_range(size, 1, 256);
}

static void the_same_events_make_the_same_bytes(void **state)
{
	struct bytes b = {0};
	size_t size;
	const void *frame;

	random_begin();
	for (size_t i = 0; i < 500; i++)
		fill(&events[i], random_kind(), RANDOM, i);
	frame = encode(500, &size);
	put(&b, frame, size);
	frame = encode(500, &size);
	assert_int_equal(size, b.size);
	assert_memory_equal(frame, b.data, size);
	free(b.data);
}

static void a_head_with_any_bit_flipped_is_not_a_head(void **state)
{
	struct pasta_shard_head head = {.raw = 1, .real = 2};
	struct pasta_frame f;
	size_t size;

	fill(&events[0], PASTA_KIND_LINK, RANDOM, 0);
	memcpy(&f, encode(1, &size), sizeof(f));
	assert_true(pasta_frame_head_ok(&f));
	for (size_t bit = 0; bit < 8 * sizeof(f); bit++) {
		((uint8_t *)&f)[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(pasta_frame_head_ok(&f));
		((uint8_t *)&f)[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	pasta_shard_head_seal(&head);
	assert_true(pasta_shard_head_ok(&head));
	for (size_t bit = 0; bit < 8 * sizeof(head); bit++) {
		((uint8_t *)&head)[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(pasta_shard_head_ok(&head));
		((uint8_t *)&head)[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void a_head_beyond_the_limits_of_a_frame_is_not_a_head(void **state)
{
	struct bytes b = {0};
	size_t at = put_numbered(&b, 1, 0, 0, 10, 0);
	struct pasta_frame *f = (void *)(b.data + at);

	f->raw_size = PASTA_FRAME_BYTES + 1;
	f->head_sum = XXH3_64bits(f, offsetof(struct pasta_frame, head_sum));
	assert_false(pasta_frame_head_ok(f));
	f->raw_size = 100;
	f->size = PASTA_FRAME_BYTES + 1;
	f->head_sum = XXH3_64bits(f, offsetof(struct pasta_frame, head_sum));
	assert_false(pasta_frame_head_ok(f));
	free(b.data);
}

static void varints_come_back_and_unterminated_ones_are_refused(void **state)
{
	uint8_t p[16];
	uint64_t v;

	random_begin();
	for (int i = 0; i < 100000; i++) {
		uint64_t expected = i < 64 ? UINT64_MAX >> i : random_u64() >> random_below(64);
		uint8_t *after = pasta_varint_put(p, expected);

		assert_property(after - p <= PASTA_VARINT_MAX);
		assert_property(pasta_varint_get(p, after, &v) == after && v == expected);
		assert_property(pasta_unzigzag(pasta_zigzag(expected)) == expected);
		for (uint8_t *q = p; q < after; q++)
			assert_property(!pasta_varint_get(p, q, &v));
	}
	memset(p, 0x80, sizeof(p));
	assert_null(pasta_varint_get(p, p + sizeof(p), &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_every_kind_comes_back_as_it_was),
		cmocka_unit_test(frames_of_mixed_kinds_come_back_sorted_and_ties_stay_in_order),
		cmocka_unit_test(a_full_frame_of_the_longest_kind_fits_even_if_nothing_compresses),
		cmocka_unit_test(a_column_that_is_constant_or_steady_costs_a_few_bytes),
		cmocka_unit_test(the_same_events_make_the_same_bytes),
		cmocka_unit_test(a_head_with_any_bit_flipped_is_not_a_head),
		cmocka_unit_test(a_head_beyond_the_limits_of_a_frame_is_not_a_head),
		cmocka_unit_test(varints_come_back_and_unterminated_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
