/* test_shardwriter.c - writes shards with pasta_shardwriter, and reads them back. */
/* labels: onethread */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/shardwriter.h"
#include "process/read/stream.h"

static char folder[64], path[128];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/test_shardwriter-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a.pst", folder);
	return 0;
}

static int remove_folder(void **state)
{
	unlink(path);
	return rmdir(folder);
}

static struct pasta_shardwriter *open_writer(void)
{
	/* The offset between the clocks is 0, so times don't change. */
	struct pasta_shard_head head = {.raw = 1, .real = 1, .pid = 42};
	struct pasta_error err = {0};
	struct pasta_shardwriter *w = pasta_shardwriter_new(path, &head, &err);

	if (!w)
		fail_msg("%s", err.text);
	return w;
}

static void close_writer(struct pasta_shardwriter *w)
{
	struct pasta_error err = {0};

	if (pasta_shardwriter_close(w, &err))
		fail_msg("%s", err.text);
}

static struct pasta_stream *open_stream(void)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_error err = {0};

	if (pasta_stream_add(s, path, &err))
		fail_msg("%s", err.text);
	return s;
}

static struct pasta_event region(uint32_t tid, uint64_t time)
{
	return (struct pasta_event){.size = PASTA_EVENT_SIZE(region),
				    .kind = PASTA_KIND_REGION,
				    .sub = PASTA_REGION_MARK,
				    .tid = tid,
				    .time = time};
}

/* splitmix64; the same numbers in every run */
static uint64_t rnd(void)
{
	static uint64_t state = 1;
	uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Small and large values, and the limits. */
static uint64_t value(void)
{
	static const uint64_t ends[] = {0,	    1,	       UINT32_MAX,	INT64_MAX,
					UINT64_MAX, INT64_MIN, UINT32_MAX - 1u, 255};
	uint64_t how = rnd();

	return how % 4 ? rnd() >> (how >> 8) % 64 : ends[how / 4 % 8];
}

static void fill(struct pasta_event *ev, unsigned int kind, uint64_t time,
		 struct pasta_shardwriter *w)
{
	const struct pasta_kind_info *info = &pasta_kinds[kind];

	memset(ev, 0, sizeof(*ev));
	ev->size = info->size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)value();
	ev->tid = (uint32_t)value();
	ev->time = time;
	for (unsigned int i = 0; i < info->count; i++) {
		const struct pasta_field *f = &info->fields[i];
		uint64_t v = value();
		char text[32];
		uint32_t id;

		if (f->type == PASTA_FIELD_str || f->type == PASTA_FIELD_ref) {
			int n = snprintf(text, sizeof(text), "%s %d", f->name, (int)(v % 50));

			id = v % 7 ? pasta_shardwriter_intern(w, text, (size_t)n) : 0;
			memcpy((char *)ev + f->offset, &id, sizeof(id));
		} else {
			memcpy((char *)ev + f->offset, &v, pasta_field_size(f->type));
		}
	}
}

/* Checks that all fields are equal. String ids of got are the run's; texts[] is indexed by the
 * shard's. */
static void check_fields(const struct pasta_event *got, const struct pasta_event *put,
			 char (*texts)[32])
{
	const struct pasta_kind_info *info = &pasta_kinds[put->kind];

	assert_int_equal(got->size, put->size);
	assert_int_equal(got->sub, put->sub);
	assert_int_equal(got->tid, put->tid);
	for (unsigned int i = 0; i < info->count; i++) {
		const struct pasta_field *f = &info->fields[i];
		const char *a = (const char *)got + f->offset, *b = (const char *)put + f->offset;
		uint32_t x, y;

		if (f->type == PASTA_FIELD_str || f->type == PASTA_FIELD_ref) {
			memcpy(&x, a, sizeof(x));
			memcpy(&y, b, sizeof(y));
			assert_string_equal(pasta_str(x), y ? texts[y] : "");
		} else {
			assert_memory_equal(a, b, pasta_field_size(f->type));
		}
	}
}

static void every_kind_comes_back_with_every_field(void **state)
{
	enum { COUNT = 20000, TEXTS = 16000 };
	struct pasta_event *put = calloc(COUNT, sizeof(*put));
	char(*texts)[32] = calloc(TEXTS, sizeof(*texts));
	struct pasta_shardwriter *w = open_writer();
	struct pasta_stream *s;
	const struct pasta_event *ev;
	struct pasta_loss_summary loss;
	size_t n = 0;

	for (size_t i = 0; i < COUNT; i++) {
		unsigned int kind;

		do
			kind = (unsigned int)(rnd() % PASTA_KIND_MAX);
		while (!pasta_kinds[kind].size);
		fill(&put[i], kind, 1000 + i, w);
		assert_int_equal(pasta_shardwriter_event(w, 1, &put[i]), 0);
	}
	for (unsigned int kind = 1; kind < PASTA_KIND_MAX; kind++)
		for (unsigned int f = 0; f < pasta_kinds[kind].count; f++)
			for (int k = 0; k < 50; k++) {
				char text[32];
				int size = snprintf(text, sizeof(text), "%s %d",
						    pasta_kinds[kind].fields[f].name, k);
				uint32_t id = pasta_shardwriter_intern(w, text, (size_t)size);

				assert_in_range(id, 1, TEXTS - 1);
				strcpy(texts[id], text);
			}
	close_writer(w);
	s = open_stream();
	while ((ev = pasta_stream_next(s))) {
		if (!ev->source)
			continue;
		assert_in_range(n, 0, COUNT - 1);
		assert_int_equal(ev->kind, put[n].kind);
		assert_int_equal(ev->time, put[n].time);
		assert_int_equal(ev->proc, 0);
		check_fields(ev, &put[n++], texts);
	}
	pasta_stream_loss(s, &loss);
	assert_int_equal(n, COUNT);
	assert_int_equal(loss.captured, COUNT);
	assert_int_equal(loss.dropped, 0);
	assert_int_equal(loss.damaged_bytes, 0);
	pasta_stream_free(s);
	free(texts);
	free(put);
}

static void events_of_many_sources_come_in_order_of_time(void **state)
{
	enum { SOURCES = 10000, EACH = 30 };
	struct pasta_shardwriter *w = open_writer();
	uint64_t last = 0, n = 0, found[SOURCES + 1] = {0};
	const struct pasta_event *ev;
	struct pasta_loss_summary loss;
	struct pasta_stream *s;

	for (uint32_t i = 0; i < EACH; i++)
		for (uint32_t source = 1; source <= SOURCES; source++) {
			struct pasta_event e = region(source, 1000 + (i * SOURCES + source) * 7);

			assert_int_equal(pasta_shardwriter_event(w, source, &e), 0);
		}
	close_writer(w);
	s = open_stream();
	while ((ev = pasta_stream_next(s))) {
		assert_true(ev->time >= last);
		last = ev->time;
		if (ev->source) {
			assert_int_equal(ev->source, ev->tid);
			found[ev->source]++;
			n++;
		}
	}
	for (uint32_t source = 1; source <= SOURCES; source++)
		assert_int_equal(found[source], EACH);
	pasta_stream_loss(s, &loss);
	assert_int_equal(n, SOURCES * EACH);
	assert_int_equal(loss.expected, n);
	assert_int_equal(loss.late, 0);
	pasta_stream_free(s);
}

static void events_out_of_order_are_read_in_order(void **state)
{
	enum { COUNT = 3 * PASTA_FRAME_EVENTS + 17 };
	struct pasta_shardwriter *w = open_writer();
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t last = 0, n = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		struct pasta_event e = region(i, 1000 + (COUNT - i) * 3);

		pasta_shardwriter_event(w, 1, &e);
	}
	close_writer(w);
	s = open_stream();
	while ((ev = pasta_stream_next(s))) {
		assert_true(ev->time >= last);
		last = ev->time;
		n += ev->source == 1;
	}
	assert_int_equal(n, COUNT);
	pasta_stream_free(s);
}

static void buffered_events_are_bounded(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	uint64_t pushed = 0;
	struct stat st;

	/* Each source has less than a frame; together they exceed the bound. */
	for (uint32_t i = 0; i < 250; i++)
		for (uint32_t source = 1; source <= 10000; source++) {
			struct pasta_event e = region(source, 1000 + pushed);

			pasta_shardwriter_event(w, source, &e);
			pushed += e.size;
		}
	assert_true(pushed > PASTA_SHARDWRITER_MEMORY);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 1000000);
	close_writer(w);
}

static void the_same_bytes_have_the_same_id(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	char *big = calloc(1, PASTA_SHARDWRITER_STRING + 10);

	assert_int_equal(pasta_shardwriter_str(w, "a"), 1);
	assert_int_equal(pasta_shardwriter_str(w, "b"), 2);
	assert_int_equal(pasta_shardwriter_str(w, "a"), 1);
	assert_int_equal(pasta_shardwriter_intern(w, "a\0a", 3), 3);
	assert_int_equal(pasta_shardwriter_intern(w, "", 0), 4);
	memset(big, 'x', PASTA_SHARDWRITER_STRING + 10);
	assert_int_equal(pasta_shardwriter_intern(w, big, PASTA_SHARDWRITER_STRING), 5);
	assert_int_equal(pasta_shardwriter_intern(w, big, PASTA_SHARDWRITER_STRING + 10), 5);
	big[0] = 'y';
	assert_int_equal(pasta_shardwriter_intern(w, big, PASTA_SHARDWRITER_STRING), 6);
	big[0] = 'z';
	assert_int_equal(pasta_shardwriter_intern(w, big, PASTA_SHARDWRITER_STRING), 7);
	close_writer(w);
	free(big);
}

static void strings_are_defined_before_the_events_that_use_them(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	const struct pasta_event *ev;
	struct pasta_stream *s;
	uint64_t n = 0;

	for (uint32_t i = 0; i < 3 * PASTA_FRAME_EVENTS; i++) {
		struct pasta_event e = region(i, 1000 + i);
		char text[32];

		snprintf(text, sizeof(text), "name %u", i);
		e.region.name = pasta_shardwriter_str(w, text);
		pasta_shardwriter_event(w, 1, &e);
	}
	/* A prefix that ends with a complete frame of events is readable. */
	s = open_stream();
	while ((ev = pasta_stream_next(s))) {
		char text[32];

		snprintf(text, sizeof(text), "name %u", ev->tid);
		assert_string_equal(pasta_str(ev->region.name), text);
		n++;
	}
	assert_true(n >= 2 * PASTA_FRAME_EVENTS);
	pasta_stream_free(s);
	close_writer(w);
}

static void drops_are_in_the_account_by_reason(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	struct pasta_event e = region(1, 1000);
	struct pasta_loss_summary loss;
	struct pasta_stream *s;

	for (int i = 0; i < 10; i++)
		pasta_shardwriter_event(w, 3, &e);
	pasta_shardwriter_drop(w, 3, PASTA_LOSS_FULL, 4);
	pasta_shardwriter_drop(w, 3, PASTA_LOSS_FULL, 1);
	pasta_shardwriter_drop(w, 3, PASTA_LOSS_SOURCE, 7);
	pasta_shardwriter_drop(w, 9, PASTA_LOSS_NESTED, 2);
	pasta_shardwriter_drop(w, 0, PASTA_LOSS_MEMORY, 6);
	close_writer(w);
	s = open_stream();
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &loss);
	assert_int_equal(loss.captured, 10);
	assert_int_equal(loss.dropped, 20);
	assert_int_equal(loss.expected, 30);
	assert_int_equal(loss.by_reason[PASTA_LOSS_FULL], 5);
	assert_int_equal(loss.by_reason[PASTA_LOSS_SOURCE], 7);
	assert_int_equal(loss.by_reason[PASTA_LOSS_NESTED], 2);
	assert_int_equal(loss.by_reason[PASTA_LOSS_MEMORY], 6);
	pasta_stream_free(s);
}

static void a_missing_frame_is_detected_from_the_account(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	struct pasta_loss_summary loss;
	struct pasta_stream *s;
	uint8_t byte = 0;
	int fd;

	for (uint32_t i = 0; i < 2 * PASTA_FRAME_EVENTS; i++) {
		struct pasta_event e = region(i, 1000 + i);

		pasta_shardwriter_event(w, 1, &e);
	}
	close_writer(w);
	fd = open(path, O_RDWR);
	/* The file has the shard's head, the schema, then the events: damage the first events
	 * frame. */
	for (off_t at = sizeof(struct pasta_shard_head);;) {
		struct pasta_frame f;

		assert_int_equal(pread(fd, &f, sizeof(f), at), sizeof(f));
		if (f.type == PASTA_FRAME_EVENTS_T) {
			assert_int_equal(pread(fd, &byte, 1, at + 200), 1);
			byte ^= 1;
			assert_int_equal(pwrite(fd, &byte, 1, at + 200), 1);
			break;
		}
		at += (off_t)(sizeof(f) + ((f.size + 7u) & ~7u));
	}
	close(fd);
	s = open_stream();
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &loss);
	assert_int_equal(loss.captured, PASTA_FRAME_EVENTS);
	assert_int_equal(loss.damaged, PASTA_FRAME_EVENTS);
	assert_int_equal(loss.expected, 2 * PASTA_FRAME_EVENTS);
	pasta_stream_free(s);
}

static void times_of_another_clock_are_converted_by_its_clock_events(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	struct pasta_event clock = {.size = PASTA_EVENT_SIZE(clock), .kind = PASTA_KIND_CLOCK};
	const struct pasta_event *ev;
	struct pasta_stream *s;
	uint64_t n = 0;

	assert_int_equal(pasta_shardwriter_clock(w, 2, 5), 0);
	for (uint64_t i = 0; i < 100; i++) {
		struct pasta_event e = region(7, 50000000 + i * 2000000);

		pasta_shardwriter_event(w, 2, &e);
	}
	/* The source's clock runs at half speed up to this time, and at double speed after it.
	 */
	for (uint64_t i = 0; i < 3; i++) {
		clock.time = clock.clock.raw = 1000000 + i * 200000000;
		clock.clock.value = 50000000 + (i ? 100000000 : 0) + (i > 1 ? 400000000 : 0);
		clock.clock.id = 5;
		assert_int_equal(pasta_shardwriter_state(w, &clock), 0);
	}
	close_writer(w);
	s = open_stream();
	while ((ev = pasta_stream_next(s))) {
		uint64_t value = 2000000 * n;

		if (ev->kind != PASTA_KIND_REGION)
			continue;
		assert_int_equal(ev->time,
				 1000000 + (value < 100000000
						    ? value * 2
						    : 200000000 + (value - 100000000) / 2));
		n++;
	}
	assert_int_equal(n, 100);
	pasta_stream_free(s);
}

static void state_identifies_the_process(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(process), .kind = PASTA_KIND_PROCESS, .time = 5};
	const struct pasta_shard_info *info;
	struct pasta_stream *s;

	ev.process.pid = 42;
	ev.process.rank = 4;
	ev.process.command = pasta_shardwriter_str(w, "train.py");
	ev.process.host = pasta_shardwriter_str(w, "node7");
	assert_int_equal(pasta_shardwriter_state(w, &ev), 0);
	close_writer(w);
	s = open_stream();
	info = pasta_stream_shard(s, 0);
	assert_int_equal(info->pid, 42);
	assert_int_equal(info->rank, 4);
	assert_string_equal(info->command, "train.py");
	assert_string_equal(info->host, "node7");
	pasta_stream_free(s);
}

static void an_existing_file_is_not_overwritten(void **state)
{
	struct pasta_shard_head head = {0};
	struct pasta_error err = {0};

	close_writer(open_writer());
	assert_null(pasta_shardwriter_new(path, &head, &err));
	assert_int_equal(err.code, -EEXIST);
	assert_non_null(strstr(err.text, path));
}

static void a_missing_folder_is_an_error(void **state)
{
	struct pasta_shard_head head = {0};
	struct pasta_error err = {0};

	assert_null(pasta_shardwriter_new("/nowhere/at/all.pst", &head, &err));
	assert_int_equal(err.code, -ENOENT);
}

static void a_full_disk_is_reported_by_close(void **state)
{
	struct pasta_shardwriter *w = open_writer();
	struct pasta_error err = {0};
	int fd = open("/dev/full", O_WRONLY), r = 0, shard = -1;
	char link[64], target[256];

	/* Finds the writer's descriptor: the one that is open on path. */
	for (int i = 3; i < fd && shard < 0; i++) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", i);
		n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (!strcmp(target, path))
			shard = i;
	}
	assert_true(shard >= 0);
	assert_int_equal(dup2(fd, shard), shard);
	close(fd);
	for (uint32_t i = 0; i < 2 * PASTA_FRAME_EVENTS; i++) {
		struct pasta_event e = region(i, 1000 + i);

		r = pasta_shardwriter_event(w, 1, &e);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(pasta_shardwriter_close(w, &err), -ENOSPC);
	assert_non_null(strstr(err.text, path));
}

static void invalid_records_are_refused(void **state)
{
	struct pasta_event good = region(1, 1000), bad = good;
	struct pasta_error err = {0};
	struct pasta_shardwriter *w = open_writer();

	assert_int_equal(pasta_shardwriter_event(w, 0, &good), -EINVAL);
	pasta_shardwriter_close(w, &err);
	unlink(path);
	bad.size += 8;
	w = open_writer();
	assert_int_equal(pasta_shardwriter_event(w, 1, &bad), -EINVAL);
	pasta_shardwriter_close(w, &err);
	unlink(path);
	bad.kind = 60;
	bad.size = 0;
	w = open_writer();
	assert_int_equal(pasta_shardwriter_event(w, 1, &bad), -EINVAL);
	pasta_shardwriter_close(w, &err);
	assert_int_equal(pasta_shardwriter_close(NULL, &err), 0);
}

static void the_same_events_make_the_same_bytes(void **state)
{
	char other[160];
	uint8_t a[4096], b[4096];
	ssize_t n = 0, m = 0;
	int fd[2];

	for (int k = 0; k < 2; k++) {
		struct pasta_shardwriter *w = open_writer();

		for (uint32_t i = 0; i < 1000; i++) {
			struct pasta_event e = region(i % 3, 1000 + i);

			e.region.name = pasta_shardwriter_str(w, i % 2 ? "odd" : "even");
			pasta_shardwriter_event(w, 1 + i % 5, &e);
		}
		close_writer(w);
		snprintf(other, sizeof(other), "%s.first", path);
		if (!k)
			assert_int_equal(rename(path, other), 0);
	}
	fd[0] = open(path, O_RDONLY);
	fd[1] = open(other, O_RDONLY);
	do {
		n = read(fd[0], a, sizeof(a));
		m = read(fd[1], b, sizeof(b));
		assert_int_equal(n, m);
		assert_memory_equal(a, b, n);
	} while (n > 0);
	close(fd[0]);
	close(fd[1]);
	unlink(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_comes_back_with_every_field),
		TEST(events_of_many_sources_come_in_order_of_time),
		TEST(events_out_of_order_are_read_in_order),
		TEST(buffered_events_are_bounded),
		TEST(the_same_bytes_have_the_same_id),
		TEST(strings_are_defined_before_the_events_that_use_them),
		TEST(drops_are_in_the_account_by_reason),
		TEST(a_missing_frame_is_detected_from_the_account),
		TEST(times_of_another_clock_are_converted_by_its_clock_events),
		TEST(state_identifies_the_process),
		TEST(an_existing_file_is_not_overwritten),
		TEST(a_missing_folder_is_an_error),
		TEST(a_full_disk_is_reported_by_close),
		TEST(invalid_records_are_refused),
		TEST(the_same_events_make_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
