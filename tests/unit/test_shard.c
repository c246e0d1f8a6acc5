/* test_shard.c - damaged shards: intact frames are read, and the rest is counted. */
/* timeout: 120 */
/* labels: onethread */
#include "support.h"

#include <sys/wait.h>

#include "process/read/shard.h"

/* -- A small shard with frames of all types
 * -------------------------------------------------------- */

enum { FRAMES = 10, NUMBERS = 64 };

struct part {
	size_t at, end; /* offsets in the bytes */
	uint64_t first; /* number of its first event */
	size_t count;	/* of numbered events; 0: none */
	uint32_t source;
};

static struct bytes small;
static struct part parts[FRAMES];
static size_t part_count;
static uint64_t total; /* numbered events */

static void part(uint32_t source, uint64_t seq, size_t count)
{
	size_t at = put_numbered(&small, source, seq, total, count, RAW_0 + 100 * total);

	parts[part_count++] = (struct part){at, small.size, total, count, source};
	total += count;
}

static void whole(size_t at)
{
	parts[part_count++] = (struct part){.at = at, .end = small.size};
}

static int make_small(void **state)
{
	static const char *const texts[] = {"(too many names)", "main", "host"};
	struct pasta_event process = {
		.size = PASTA_EVENT_SIZE(process),
		.kind = PASTA_KIND_PROCESS,
		.time = RAW_0,
		.process = {.kinds = 99, .command = 2, .host = 3, .pid = 4711}};
	struct pasta_event clock = clock_at(PASTA_CLOCK_RAW, RAW_0, RAW_0);
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region),
				     .kind = PASTA_KIND_REGION,
				     .time = RAW_0 + 50,
				     .region = {.name = 2}};
	struct pasta_event account[2] = {loss_of(1, PASTA_LOSS_ACCOUNT, 20, 0, RAW_0 + 9000),
					 loss_of(2, PASTA_LOSS_FULL, 10, 3, RAW_0 + 9000)};
	size_t at;

	put_head(&small, 1, REAL_0);
	at = small.size;
	put_schema(&small, NULL, 0);
	whole(at);
	at = small.size;
	put_strings(&small, 1, 3, texts);
	whole(at);
	whole(put_state(&small, 0, &process));
	whole(put_state(&small, 1, &clock));
	part(1, 0, 7);
	part(2, 0, 10);
	whole(put_frame(&small, &region, 1, (struct pasta_frame_meta){.source = 3}));
	part(1, 7, 8);
	part(1, 15, 5);
	at = put_frame(&small, account, 2,
		       (struct pasta_frame_meta){.seq = 2, .flags = PASTA_FRAME_STATE});
	whole(at);
	assert_int_equal(part_count, FRAMES);
	return make_dir(state);
}

static int free_small(void **state)
{
	free(small.data);
	return remove_dir(state);
}

/* The stream must have the numbered events of all parts that are not lost. */
static void check_numbers(struct pasta_stream *s, const bool *lost)
{
	uint64_t got[NUMBERS];
	size_t n = read_numbers(s, got, NUMBERS), i = 0;

	for (size_t k = 0; k < FRAMES; k++)
		for (uint64_t v = 0; !lost[k] && v < parts[k].count; v++, i++) {
			assert_true(i < n);
			assert_int_equal(got[i], parts[k].first + v);
		}
	assert_int_equal(i, n);
}

static uint64_t events_in(const bool *lost)
{
	uint64_t n = 0;

	for (size_t k = 0; k < FRAMES; k++)
		n += lost[k] ? 0 : parts[k].count;
	return n;
}

static void all_of_an_intact_shard_is_read_and_its_counts_add_up(void **state)
{
	const char *path = in_dir("sound.pst");
	const bool lost[FRAMES] = {false};
	struct pasta_stream *s;
	const struct pasta_shard_info *info;
	struct pasta_loss_summary a;

	save(&small, small.size, path);
	s = open_stream(path);
	check_numbers(s, lost);
	a = account_of(s);
	assert_int_equal(a.captured, total + 1);
	assert_int_equal(a.dropped, 3);
	assert_int_equal(a.by_reason[PASTA_LOSS_FULL], 3);
	assert_int_equal(a.damaged_bytes, 0);
	assert_int_equal(a.late, 0);
	info = pasta_stream_shard(s, 0);
	assert_string_equal(info->command, "main");
	assert_string_equal(info->host, "host");
	assert_int_equal(info->pid, 4711);
	assert_int_equal(info->kinds, 99);
	assert_int_equal(info->frames, FRAMES);
	assert_int_equal(info->created, REAL_0);
	assert_int_equal(info->loss.captured, a.captured);
	pasta_stream_free(s);
}

static void all_frames_before_a_tear_at_any_byte_are_read(void **state)
{
	const char *path = in_dir("torn.pst");
	struct pasta_error err;

	for (size_t size = 0; size < small.size; size += support_slow && size > 200 ? 7 : 1) {
		struct pasta_stream *s = pasta_stream_new(0);
		size_t end = sizeof(struct pasta_shard_head);
		bool lost[FRAMES];
		struct pasta_loss_summary a;

		save(&small, size, path);
		if (size < 12) {
			assert_int_equal(pasta_stream_add(s, path, &err), -EINVAL);
			assert_non_null(strstr(err.text, path));
			pasta_stream_free(s);
			continue;
		}
		assert_int_equal(pasta_stream_add(s, path, &err), 0);
		for (size_t k = 0; k < FRAMES; k++) {
			lost[k] = parts[k].end > size;
			end = lost[k] ? end : parts[k].end;
		}
		check_numbers(s, lost);
		a = account_of(s);
		assert_int_equal(a.captured, events_in(lost) + !lost[6]);
		if (size < sizeof(struct pasta_shard_head))
			assert_int_equal(a.damaged_bytes, size); /* a truncated head */
		else
			assert_int_equal(a.damaged_bytes, size > end ? size - end : 0);
		pasta_stream_free(s);
	}
}

/* The part that a byte belongs to, or -1 for the head. */
static int part_at(size_t byte)
{
	for (int k = 0; k < FRAMES; k++)
		if (byte >= parts[k].at && byte < parts[k].end)
			return k;
	return -1;
}

/* The bytes of a part, without its padding. */
static size_t length(int k)
{
	return sizeof(struct pasta_frame) + frame_at(&small, parts[k].at)->size;
}

static bool is_padding(size_t byte)
{
	int k = part_at(byte);

	return k >= 0 && byte >= parts[k].at + length(k);
}

static void a_flipped_bit_costs_at_most_its_frame(void **state)
{
	const char *path = in_dir("flipped.pst");
	int fd;

	save(&small, small.size, path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (size_t bit = 0; bit < small.size * 8; bit++) {
		uint8_t flipped = small.data[bit / 8] ^ (uint8_t)(1u << bit % 8);
		int k = part_at(bit / 8);
		bool lost[FRAMES] = {false};
		struct pasta_stream *s;
		struct pasta_loss_summary a;
		uint64_t gone;

		/* The schema is long and uniform: a sample suffices. */
		if (k == 0 && bit / 8 > parts[0].at + sizeof(struct pasta_frame) && bit % 61)
			continue;
		if (support_slow && bit % 11)
			continue;
		assert_int_equal(pwrite(fd, &flipped, 1, (off_t)(bit / 8)), 1);
		s = open_stream(path);
		if (k >= 0 && !is_padding(bit / 8))
			lost[k] = true;
		check_numbers(s, lost);
		a = account_of(s);
		gone = total - events_in(lost);
		assert_int_equal(a.captured, total + 1 - gone - lost[6]);
		/* Source 3 has no loss record: if its head is missing, nothing shows that. */
		if (!lost[6] && !lost[9])
			assert_int_equal(a.dropped, gone + 3);
		assert_true(lost[0] || lost[1] || a.damaged_bytes < 700);
		pasta_stream_free(s);
		assert_int_equal(pwrite(fd, &small.data[bit / 8], 1, (off_t)(bit / 8)), 1);
	}
	close(fd);
}

static void a_hole_costs_the_frames_it_touches(void **state)
{
	const char *path = in_dir("hole.pst");

	random_begin();
	for (int round = 0; round < (support_slow ? 60 : 500); round++) {
		struct bytes b = {0};
		size_t at = parts[0].at + random_below(small.size - parts[0].at);
		size_t end = at + 1 + random_below((small.size - at) < 900 ? small.size - at : 900);
		bool lost[FRAMES] = {false};
		struct pasta_stream *s;

		put(&b, small.data, small.size);
		for (size_t i = at; i < end; i++) {
			b.data[i] = round % 2 ? 0 : (uint8_t)random_u64();
			if (b.data[i] != small.data[i] && part_at(i) >= 0 && !is_padding(i))
				lost[part_at(i)] = true;
		}
		save(&b, b.size, path);
		s = open_stream(path);
		check_numbers(s, lost);
		account_of(s);
		pasta_stream_free(s);
		free(b.data);
	}
}

static void bytes_cut_out_or_put_in_cost_the_frames_they_touch(void **state)
{
	const char *path = in_dir("cut.pst");

	random_begin();
	for (int round = 0; round < (support_slow ? 60 : 500); round++) {
		struct bytes b = {0};
		size_t at = parts[0].at + random_below(small.size - parts[0].at);
		size_t n = 1 + random_below(40);
		bool lost[FRAMES] = {false};
		struct pasta_stream *s;
		int k = part_at(at);

		put(&b, small.data, at);
		if (round % 2) {
			put(&b, "a text of forty bytes that is not a frame", n);
			put(&b, small.data + at, small.size - at);
			lost[k] = at > parts[k].at && !is_padding(at);
		} else {
			n = n < small.size - at ? n : small.size - at;
			put(&b, small.data + at + n, small.size - at - n);
			for (size_t i = at; i < at + n; i++)
				if (!is_padding(i) || i + n >= small.size)
					lost[part_at(i)] = true;
		}
		save(&b, b.size, path);
		s = open_stream(path);
		/* The removed bytes may leave the frame intact, if they were zero like the padding.
		 */
		if (b.size < small.size && b.size >= parts[k].at + length(k) &&
		    !memcmp(b.data + parts[k].at, small.data + parts[k].at, length(k)))
			lost[k] = false;
		/* A frame that begins in the padding of the previous one is not found. */
		if (b.size < small.size && !lost[k] && k + 1 < FRAMES)
			lost[k + 1] = true;
		check_numbers(s, lost);
		account_of(s);
		pasta_stream_free(s);
		free(b.data);
	}
}

/* A process is killed while it writes a frame; recovery appends the events of the ring. */
static void a_torn_frame_hides_nothing_that_was_appended_after_it(void **state)
{
	static const char zeros[600];
	const char *path = in_dir("appended.pst");

	for (size_t cut = sizeof(struct pasta_frame); cut < 400; cut += 8) {
		struct bytes b = {0}, torn = {0};
		uint64_t got[200];
		struct pasta_stream *s;
		struct pasta_loss_summary a;

		put_numbered(&torn, 1, 5, 5, 100, RAW_0 + 50);
		put(&torn, zeros, sizeof(zeros)); /* longer than the appended frames */
		((struct pasta_frame *)(void *)torn.data)->size += sizeof(zeros);
		reseal(&torn, 0);
		put_head(&b, 1, REAL_0);
		put_schema(&b, NULL, 0);
		put_numbered(&b, 1, 0, 0, 5, RAW_0);
		put(&b, torn.data, cut < torn.size ? cut : torn.size);
		put_numbered(&b, 1, 5, 5, 60, RAW_0 + 50);
		put_numbered(&b, 1, 65, 65, 40, RAW_0 + 150);
		put_numbered(&b, 1, 105, 105, 10, RAW_0 + 300);
		save(&b, b.size, path);
		s = open_stream(path);
		assert_int_equal(read_numbers(s, got, 200), 115);
		for (uint64_t i = 0; i < 115; i++)
			assert_int_equal(got[i], i);
		a = account_of(s);
		assert_int_equal(a.captured, 115);
		assert_int_equal(a.dropped, 0);
		pasta_stream_free(s);
		free(b.data);
		free(torn.data);
	}
}

static void a_damaged_last_frame_is_known_to_be_missing_by_its_head(void **state)
{
	const char *path = in_dir("last.pst");
	struct bytes b = {0};
	struct pasta_stream *s;
	struct pasta_loss_summary a;

	put_head(&b, 1, REAL_0);
	put_numbered(&b, 1, 0, 0, 5, RAW_0);
	put_numbered(&b, 1, 5, 5, 30, RAW_0);
	b.data[b.size - 20] ^= 1;
	save(&b, b.size, path);
	s = open_stream(path);
	a = account_of(s);
	assert_int_equal(a.captured, 5);
	assert_int_equal(a.damaged, 30);
	pasta_stream_free(s);
	free(b.data);
}

static void a_missing_frame_is_counted_by_the_numbers_of_the_others(void **state)
{
	const char *path = in_dir("missing.pst");
	struct bytes b = {0};
	struct pasta_stream *s;
	struct pasta_loss_summary a;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_numbered(&b, 1, 0, 0, 10, RAW_0);
	put_numbered(&b, 1, 25, 25, 10, RAW_0 + 1000); /* 10 to 24 are missing */
	save(&b, b.size, path);
	s = open_stream(path);
	a = account_of(s);
	assert_int_equal(a.captured, 20);
	assert_int_equal(a.damaged, 15);
	assert_int_equal(a.expected, 35);
	pasta_stream_free(s);
	free(b.data);
}

static void a_duplicated_frame_counts_once(void **state)
{
	const char *path = in_dir("twice.pst");
	struct bytes b = {0};
	struct pasta_event account = loss_of(1, PASTA_LOSS_FULL, 15, 4, RAW_0 + 9000);
	uint64_t got[NUMBERS];
	struct pasta_stream *s;
	struct pasta_loss_summary a;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	for (int i = 0; i < 2; i++) { /* recovery was killed, and ran again */
		put_numbered(&b, 1, 0, 0, 10, RAW_0);
		put_numbered(&b, 1, 10, 10, 5, RAW_0 + 1000);
		put_state(&b, (uint64_t)i, &account);
	}
	save(&b, b.size, path);
	s = open_stream(path);
	assert_int_equal(read_numbers(s, got, NUMBERS), 15);
	a = account_of(s);
	assert_int_equal(a.captured, 15);
	assert_int_equal(a.dropped, 4);
	assert_int_equal(a.expected, 19);
	pasta_stream_free(s);
	free(b.data);
}

static void loss_is_cumulative_by_source_and_reason(void **state)
{
	const char *path = in_dir("loss.pst");
	const struct pasta_event losses[] = {
		loss_of(1, PASTA_LOSS_FULL, 5, 2, RAW_0),
		loss_of(1, PASTA_LOSS_FULL, 9, 7, RAW_0),
		loss_of(1, PASTA_LOSS_FULL, 9, 6, RAW_0),
		loss_of(1, PASTA_LOSS_DEPTH, 9, 1, RAW_0),
		loss_of(2, PASTA_LOSS_FULL, 0, 100, RAW_0),
		loss_of(0, PASTA_LOSS_MEMORY, 0, 11, RAW_0),
		loss_of(1, PASTA_LOSS_ACCOUNT, 12, 0, RAW_0),
		loss_of(3, PASTA_LOSS_ACCOUNT, 4, 0, RAW_0),
		loss_of(1, 200, 12, 1000, RAW_0), /* a reason of a later version */
	};
	struct bytes b = {0};
	struct pasta_stream *s;
	struct pasta_loss_summary a;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_numbered(&b, 1, 0, 0, 10, RAW_0);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		put_state(&b, i, &losses[i]);
	save(&b, b.size, path);
	s = open_stream(path);
	a = account_of(s);
	assert_int_equal(a.captured, 10);
	assert_int_equal(a.by_reason[PASTA_LOSS_FULL], 107);
	assert_int_equal(a.by_reason[PASTA_LOSS_DEPTH], 1);
	assert_int_equal(a.by_reason[PASTA_LOSS_MEMORY], 11);
	assert_int_equal(a.damaged, 2 + 4);
	assert_int_equal(a.expected, 10 + 107 + 1 + 11 + 6);
	pasta_stream_free(s);
	free(b.data);
}

static void impossible_numbers_are_damage_and_do_not_affect_the_counts(void **state)
{
	const char *path = in_dir("numbers.pst");
	struct bytes b = {0};
	struct pasta_frame *f;
	struct pasta_stream *s;
	struct pasta_loss_summary a;
	size_t at;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_numbered(&b, 1, 0, 0, 10, RAW_0);
	put_numbered(&b, 1, UINT64_MAX - 3, 10, 10, RAW_0);
	for (uint64_t i = 0; i < 2; i++) {
		at = put_numbered(&b, 1, 10, 10, 10, RAW_0);
		f = (void *)(b.data + at);
		f->count = i ? 0 : UINT32_MAX;
		reseal(&b, at);
	}
	put_numbered(&b, 1, 20, 20, 10, RAW_0);
	save(&b, b.size, path);
	s = open_stream(path);
	a = account_of(s);
	assert_int_equal(a.captured, 20);
	assert_int_equal(a.damaged, 10);
	assert_in_range(a.damaged_bytes, 3 * sizeof(*f), 1000);
	pasta_stream_free(s);
	free(b.data);
}

/* -- Schemas and strings
 * ----------------------------------------------------------------------------- */

/* A shard of a later version, with an additional kind and field. */
static void a_shard_of_a_later_schema_is_read_but_for_what_is_new(void **state)
{
	const char *path = in_dir("later.pst");
	const char *text = "19 link u64:from u32:novelty u64:to\n62 novelty u64:x\n";
	uint8_t payload[256];
	struct pasta_frame *f;
	struct bytes b = {0};
	uint64_t got[NUMBERS];
	struct pasta_stream *s;
	struct pasta_loss_summary a;
	size_t n, at;
	uint8_t *p = payload;

	*p++ = 2; /* sections; then kind, events, columns, bytes; a column is tag, base, step */
	memcpy(p, (uint8_t[]){19, 2, 6, 20}, 4);
	memcpy(p + 4, (uint8_t[]){0, 0, 0, 0, 1, 0, 0, 5, 0, 0, 7, 0, 0, 9, 0, 0}, 16);
	memcpy(p + 20, (uint8_t[]){16 | 0, 0, 0, 0}, 4);
	/* to is ~from, in ten bytes. */
	p[1 + 2] = 27;
	memcpy(p + 19, (uint8_t[]){0, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0},
	       12);
	p[3] = 15 + 12;
	p += 4 + 27;
	memcpy(p, (uint8_t[]){62, 3, 4, 12, 0, 0, 0, 0, 1, 0, 0, 5, 0, 0, 4, 0}, 16);
	p += 16;
	memcpy(p, (uint8_t[]){0, 1, 1, 0, 1}, 5);
	p += 5;
	put_head(&b, 1, REAL_0);
	put_schema(&b, text, strlen(text));
	at = b.size;
	f = (void *)(uintptr_t)pasta_encode_plain(support_encoder(), PASTA_FRAME_EVENTS_T, payload,
						  (size_t)(p - payload), 0, 5, &n);
	put(&b, f, n);
	f = (void *)(b.data + at);
	f->source = 1;
	f->schema = pasta_schema_hash(text, strlen(text));
	reseal(&b, at);
	save(&b, b.size, path);
	s = open_stream(path);
	assert_int_equal(read_numbers(s, got, NUMBERS), 2);
	assert_int_equal(got[0], 7);
	a = account_of(s);
	assert_int_equal(a.captured, 5);
	assert_int_equal(a.unknown, 3);
	assert_int_equal(a.dropped, 0);
	pasta_stream_free(s);
	free(b.data);
}

static void events_of_a_missing_schema_are_counted_as_damaged(void **state)
{
	const char *path = in_dir("schemaless.pst");
	struct bytes b = {0};
	struct pasta_stream *s;
	struct pasta_loss_summary a;
	size_t at;

	put_head(&b, 1, REAL_0);
	at = put_numbered(&b, 1, 0, 0, 10, RAW_0);
	((struct pasta_frame *)(void *)(b.data + at))->schema ^= 1;
	reseal(&b, at);
	put_numbered(&b, 2, 0, 0, 7, RAW_0);
	save(&b, b.size, path);
	s = open_stream(path);
	a = account_of(s);
	assert_int_equal(a.captured, 7);
	assert_int_equal(a.damaged, 10);
	pasta_stream_free(s);
	free(b.data);
}

static void strings_may_be_missing_huge_or_out_of_order_and_nothing_breaks(void **state)
{
	const char *path = in_dir("strings.pst");
	static const char *const texts[] = {"alpha", "beta"};
	static const uint64_t firsts[] = {0,
					  100,
					  UINT64_C(1) << 27,
					  (UINT64_C(1) << 28) - 2,
					  UINT64_C(1) << 28,
					  UINT64_MAX - 1,
					  UINT64_MAX};
	struct bytes b = {0};
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region), .kind = PASTA_KIND_REGION};
	struct pasta_stream *s;
	const struct pasta_event *ev;
	struct pasta_frame *f;
	size_t at, seen = 0;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
		put_strings(&b, firsts[i], 2, texts);
	at = b.size;
	put_strings(&b, 5, 2, texts);
	f = (void *)(b.data + at);
	f->count = 3; /* one more than there are */
	reseal(&b, at);
	at = b.size;
	put_strings(&b, 200, 2, texts);
	f = (void *)(b.data + at);
	f->count = UINT32_MAX;
	reseal(&b, at);
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t ids[] = {0, 101, 50, UINT32_MAX};

		region.region.name = ids[i];
		region.time = i;
		put_frame(&b, &region, 1, (struct pasta_frame_meta){.source = 1, .seq = i});
	}
	save(&b, b.size, path);
	s = open_stream(path);
	while ((ev = pasta_stream_next(s)))
		assert_string_equal(pasta_str(ev->region.name), seen++ == 1 ? "beta" : "");
	assert_int_equal(seen, 4);
	pasta_stream_free(s);
	free(b.data);
}

/* A damaged head hides the identity of the process; clocks are recorded again every second. */
static void with_a_damaged_head_times_are_still_those_of_the_wall(void **state)
{
	const char *path = in_dir("headless.pst");
	struct bytes b = {0};
	struct pasta_stream *s;
	const struct pasta_event *ev;

	put(&b, small.data, small.size);
	b.data[offsetof(struct pasta_shard_head, boot)] ^= 1;
	save(&b, b.size, path);
	s = open_stream(path);
	while ((ev = pasta_stream_next(s)) && ev->kind != PASTA_KIND_LINK)
		;
	assert_non_null(ev);
	assert_int_equal(ev->time, REAL_0);
	assert_int_equal(pasta_stream_shard(s, 0)->pid, 4711);
	pasta_stream_free(s);
	free(b.data);
}

/* -- Files that are not shards
 * ------------------------------------------------------------------------ */

static int add_error(const char *path)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_error err = {0};
	int r = pasta_stream_add(s, path, &err);

	assert_int_equal(r, err.code);
	assert_true(!r || strstr(err.text, path));
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(pasta_stream_shards(s), r ? 0 : 1);
	assert_int_equal(pasta_stream_next(s) != NULL, !r);
	pasta_stream_free(s);
	return r;
}

static void what_is_not_a_shard_is_refused_with_one_line_that_names_it(void **state)
{
	struct bytes b = {0};

	assert_int_equal(add_error(in_dir("absent.pst")), -ENOENT);
	save(&b, 0, in_dir("empty.pst"));
	assert_int_equal(add_error(in_dir("empty.pst")), -EINVAL);
	put(&b, "#!/bin/sh\necho this is a script, and a long one at that, of more than a head\n",
	    76);
	put(&b, b.data, 16);
	save(&b, b.size, in_dir("script.pst"));
	assert_int_equal(add_error(in_dir("script.pst")), -EINVAL);
	assert_int_equal(add_error(support_dir), -EINVAL);
	assert_int_equal(add_error("/proc/self/mem"), -EIO); /* cannot be read at offset 0 */
	assert_int_equal(mkfifo(in_dir("pipe.pst"), 0666), 0);
	assert_int_equal(add_error(in_dir("pipe.pst")), -EINVAL);
	free(b.data);
}

static void a_later_version_of_the_format_is_distinguished_from_damage(void **state)
{
	const char *path = in_dir("version.pst");
	struct bytes b = {0};
	struct pasta_shard_head *head;

	put(&b, small.data, small.size);
	head = (void *)b.data;
	head->version = PASTA_SHARD_VERSION + 1;
	save(&b, b.size, path); /* the checksum is that of version 1: a bit has flipped */
	assert_int_equal(add_error(path), 0);
	head->sum = XXH3_64bits(head, offsetof(struct pasta_shard_head, sum));
	save(&b, b.size, path);
	assert_int_equal(add_error(path), -EPROTONOSUPPORT);
	head->sum = 12345; /* or the head is longer, and the checksum elsewhere */
	save(&b, b.size, path);
	assert_int_equal(add_error(path), -EPROTONOSUPPORT);
	free(b.data);
}

static void a_file_that_may_not_be_read_is_refused(void **state)
{
	const char *path = in_dir("forbidden.pst");

	if (!geteuid())
		skip();
	save(&small, small.size, path);
	chmod(path, 0);
	assert_int_equal(add_error(path), -EACCES);
}

static void a_terabyte_of_nothing_takes_no_time(void **state)
{
	const char *path = in_dir("sparse.pst");
	const bool lost[FRAMES] = {false};
	struct pasta_stream *s;
	struct bytes b = {0};
	int fd;

	save(&small, small.size, path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (ftruncate(fd, (off_t)1 << 40) || lseek(fd, 1 << 20, SEEK_DATA) > 0) {
		close(fd);
		skip(); /* the file system has no such files */
	}
	put_numbered(&b, 1, 20, 30, 0 + 1, RAW_0 + 8999);
	s = open_stream(path);
	check_numbers(s, lost);
	pasta_stream_free(s);
	/* Data behind the hole is found. */
	assert_int_equal(pwrite(fd, b.data, b.size, ((off_t)1 << 40) - 4096), b.size);
	close(fd);
	s = open_stream(path);
	assert_int_equal(read_numbers(s, (uint64_t[NUMBERS]){0}, NUMBERS), total + 1);
	pasta_stream_free(s);
	assert_int_equal(truncate(path, 0), 0);
	free(b.data);
}

static void a_file_cut_short_while_it_is_read_does_no_harm(void **state)
{
	const char *path = in_dir("shrinks.pst");
	struct pasta_stream *s;

	save(&small, small.size, path);
	s = open_stream(path);
	assert_non_null(pasta_stream_next(s));
	assert_int_equal(truncate(path, 100), 0);
	while (pasta_stream_next(s))
		;
	assert_int_equal(pasta_stream_refresh(s), 0);
	assert_in_range(account_of(s).damaged_bytes, 0, small.size);
	pasta_stream_free(s);
}

/* Small frames with thousands of sources and clocks. */
static void a_frame_that_names_endless_sources_and_clocks_takes_bounded_memory(void **state)
{
	enum { ROUNDS = 40 };
	static struct pasta_event events[PASTA_FRAME_EVENTS];
	const char *path = in_dir("endless.pst");
	struct bytes b = {0};
	struct pasta_decoder *d = pasta_decoder_new();
	struct pasta_shard *sh;

	put_head(&b, 1, REAL_0);
	for (uint32_t k = 0; k < ROUNDS; k++) {
		for (uint32_t i = 0; i < PASTA_FRAME_EVENTS; i++)
			events[i] = k % 2 ? clock_at(i + 1, k, RAW_0 + k)
					  : loss_of(k * PASTA_FRAME_EVENTS * 2 + i, 1, 0, 1, RAW_0);
		put_frame(&b, events, PASTA_FRAME_EVENTS,
			  (struct pasta_frame_meta){.seq = k * (uint64_t)PASTA_FRAME_EVENTS,
						    .flags = PASTA_FRAME_STATE});
	}
	save(&b, b.size, path);
	sh = pasta_shard_open(&(struct pasta_shard_parts){.path = path,
							  .file = open(path, O_RDONLY | O_CLOEXEC),
							  .end = UINT64_MAX,
							  .tail = -1},
			      0, d, NULL);
	assert_non_null(sh);
	assert_in_range(pasta_map_count(sh->sources), 2, 1 << 20);
	assert_in_range(pasta_map_count(sh->clocks), 2, 1 << 10);
	pasta_shard_close(sh);
	pasta_decoder_free(d);
	free(b.data);
}

static size_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	size_t all, resident = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu %zu", &all, &resident), 2);
	fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* A table that grows to the huge id would need a page for each thousand ids in between. */
static void strings_with_huge_ids_take_memory_for_themselves_alone(void **state)
{
	static const char *const texts[] = {"alpha", "beta"};
	static const uint64_t firsts[] = {1, (UINT64_C(1) << 27) - 2, (UINT64_C(1) << 28) - 2};
	const char *path = in_dir("huge_ids.pst");
	struct bytes b = {0};
	struct pasta_stream *s;
	size_t before, after;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
		put_strings(&b, firsts[i], 2, texts);
	save(&b, b.size, path);
	before = resident_bytes();
	s = open_stream(path);
	after = resident_bytes();
	assert_in_range(after > before ? after - before : 0, 0, 64 << 20);
	pasta_stream_free(s);
	free(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_an_intact_shard_is_read_and_its_counts_add_up),
		cmocka_unit_test(all_frames_before_a_tear_at_any_byte_are_read),
		cmocka_unit_test(a_flipped_bit_costs_at_most_its_frame),
		cmocka_unit_test(a_hole_costs_the_frames_it_touches),
		cmocka_unit_test(bytes_cut_out_or_put_in_cost_the_frames_they_touch),
		cmocka_unit_test(a_torn_frame_hides_nothing_that_was_appended_after_it),
		cmocka_unit_test(a_damaged_last_frame_is_known_to_be_missing_by_its_head),
		cmocka_unit_test(a_missing_frame_is_counted_by_the_numbers_of_the_others),
		cmocka_unit_test(a_duplicated_frame_counts_once),
		cmocka_unit_test(loss_is_cumulative_by_source_and_reason),
		cmocka_unit_test(impossible_numbers_are_damage_and_do_not_affect_the_counts),
		cmocka_unit_test(a_shard_of_a_later_schema_is_read_but_for_what_is_new),
		cmocka_unit_test(events_of_a_missing_schema_are_counted_as_damaged),
		cmocka_unit_test(strings_may_be_missing_huge_or_out_of_order_and_nothing_breaks),
		cmocka_unit_test(with_a_damaged_head_times_are_still_those_of_the_wall),
		cmocka_unit_test(what_is_not_a_shard_is_refused_with_one_line_that_names_it),
		cmocka_unit_test(a_later_version_of_the_format_is_distinguished_from_damage),
		cmocka_unit_test(a_file_that_may_not_be_read_is_refused),
		cmocka_unit_test(a_terabyte_of_nothing_takes_no_time),
		cmocka_unit_test(a_file_cut_short_while_it_is_read_does_no_harm),
		cmocka_unit_test(
			a_frame_that_names_endless_sources_and_clocks_takes_bounded_memory),
		cmocka_unit_test(strings_with_huge_ids_take_memory_for_themselves_alone),
	};

	return cmocka_run_group_tests(tests, make_small, free_small);
}
