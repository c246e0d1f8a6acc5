/*
 * test_tracefile.c - traces, plain and compressed, from files and pipes, complete and damaged.
 * timeout: 180
 */
/* labels: notsan */
#include "unit/support.h"

#include <errno.h>
#include <pthread.h>
#include <zlib.h>
#include <zstd.h>

#include "import/tracefile.h"

enum { WINDOW = 1 << 20 };

/* Makes a text of digits, which compress moderately. Long texts repeat. */
static struct bytes make_text(size_t size)
{
	struct bytes b = {0};

	while (b.size < size && b.size < 3 * WINDOW / 2) {
		uint64_t r = random_u64();

		for (int i = 0; i < 16 && b.size < size; i++, r >>= 4)
			put(&b, &"0123456789abcdef"[r & 15], 1);
	}
	while (b.size < size) {
		size_t n = size - b.size < b.size ? size - b.size : b.size;
		void *copy = malloc(n);

		assert_non_null(copy);
		memcpy(copy, b.data, n);
		put(&b, copy, n);
		free(copy);
	}
	return b;
}

static void put_gzip(struct bytes *to, const void *text, size_t size)
{
	z_stream z = {0};
	uint8_t *out;
	uLong bound;

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	bound = deflateBound(&z, size) + 64;
	out = malloc(bound);
	assert_non_null(out);
	z.next_in = (Bytef *)text;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = (uInt)bound;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	put(to, out, bound - z.avail_out);
	deflateEnd(&z);
	free(out);
}

static void put_zstd(struct bytes *to, const void *text, size_t size)
{
	size_t bound = ZSTD_compressBound(size), n;
	uint8_t *out = malloc(bound);

	assert_non_null(out);
	n = ZSTD_compress(out, bound, text, size, 3);
	assert_false(ZSTD_isError(n));
	put(to, out, n);
	free(out);
}

static void put_plain(struct bytes *to, const void *text, size_t size)
{
	put(to, text, size);
}

typedef void packer(struct bytes *to, const void *text, size_t size);
static packer *const packers[] = {put_plain, put_gzip, put_zstd};
static const char *const packer_names[] = {"plain", "gzip", "zstd"};

static void check_pad(const struct pasta_tracefile *f)
{
	static const char zeros[PASTA_TRACEFILE_PAD];

	assert_memory_equal(f->data + f->size, zeros, sizeof(zeros));
}

/* Reads all text, and retains a part of the window each time. *err is the final error. */
static struct bytes read_all(const char *path, bool recover, struct pasta_tracefile *f,
			     struct pasta_error *err)
{
	struct bytes got = {0};
	size_t keep, seen = 0; /* bytes of the window that were already copied */
	int r = pasta_tracefile_open(f, path, recover, err);

	while (!r) {
		check_pad(f);
		assert_int_equal(f->offset + seen, got.size);
		put(&got, f->data + seen, f->size - seen);
		if (f->end)
			break;
		keep = random_below(f->size < 1000 ? f->size + 1 : 1000);
		r = pasta_tracefile_more(f, f->size - keep, err);
		seen = keep;
	}
	assert_int_equal(r, err->code);
	return got;
}

static bool same(const struct bytes *a, const void *data, size_t size)
{
	return a->size == size && (!size || !memcmp(a->data, data, size));
}

static void check_whole(const char *path, const struct bytes *text)
{
	struct pasta_tracefile f = {0};
	struct pasta_error err = {0};
	struct bytes got = read_all(path, false, &f, &err);

	if (err.code)
		fail_msg("%s", err.text);
	assert_true(same(&got, text->data, text->size));
	assert_false(f.torn);
	assert_true(!f.total || f.done == f.total);
	pasta_tracefile_close(&f);
	free(got.data);
}

/* -- Claims ---------------------------------------------------------------------------------------
 */

static void texts_of_any_length_come_back_however_they_are_stored(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       3,
				       4,
				       5,
				       1000,
				       WINDOW - 1,
				       WINDOW,
				       WINDOW + 1,
				       2 * WINDOW,
				       3 * WINDOW + 12345};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct bytes text = make_text(sizes[i]);

		for (size_t k = 0; k < 3; k++) {
			struct bytes file = {0};

			packers[k](&file, text.data, text.size);
			save(&file, file.size, in_dir("text"));
			check_whole(in_dir("text"), &text);
			free(file.data);
		}
		free(text.data);
	}
}

static void members_and_frames_may_follow_each_other(void **state)
{
	for (size_t k = 1; k < 3; k++) {
		struct bytes text = {0}, file = {0};

		for (int i = 0; i < 60; i++) {
			struct bytes part = make_text(random_below(i % 10 ? 3000 : WINDOW));

			packers[k](&file, part.data ? (char *)part.data : "", part.size);
			put(&text, part.data, part.size);
			free(part.data);
		}
		save(&file, file.size, in_dir("members"));
		check_whole(in_dir("members"), &text);
		free(text.data);
		free(file.data);
	}
}

/* A pipe that delivers a text in small pieces. */
struct feeder {
	char *path;
	const struct bytes *bytes;
	size_t piece;
};

static void *feed(void *arg)
{
	const struct feeder *p = arg;
	int fd = open(p->path, O_WRONLY | O_CLOEXEC);

	for (size_t at = 0; fd >= 0 && at < p->bytes->size;) {
		size_t left = p->bytes->size - at;
		ssize_t n = write(fd, p->bytes->data + at, left < p->piece ? left : p->piece);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(fd);
	return NULL;
}

static char *make_pipe(void)
{
	char *path = strdup(in_dir("pipe"));

	assert_non_null(path);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	return path;
}

static void a_pipe_is_read_as_a_file_is(void **state)
{
	static const size_t pieces[] = {1, 3, 4096, 1 << 16};

	for (size_t i = 0; i < 3 * 4; i++) {
		size_t piece = pieces[i / 3];
		struct bytes text = make_text(piece < 10 ? 2000 : 2 * WINDOW + 99), file = {0};
		struct feeder feeder = {make_pipe(), &file, piece};
		pthread_t thread;

		packers[i % 3](&file, text.data, text.size);
		assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
		check_whole(feeder.path, &text);
		assert_int_equal(pthread_join(thread, NULL), 0);
		free(feeder.path);
		free(text.data);
		free(file.data);
	}
}

/* A file cut between two members is valid. Any other cut is an error, or is recovered. */
static void check_torn(const struct bytes *file, size_t size, size_t middle,
		       const struct bytes *text, const char *name)
{
	bool whole = size == file->size || size == middle;
	struct pasta_tracefile f = {0};
	struct pasta_error err = {0};
	struct bytes got;
	char what[64];

	save(file, size, in_dir("torn"));
	got = read_all(in_dir("torn"), false, &f, &err);
	assert_int_equal(err.code, whole ? 0 : -EBADMSG);
	assert_true(got.size <= text->size && same(&got, text->data, got.size));
	snprintf(what, sizeof(what), "byte %zu of the file: the %s data is cut short", size, name);
	if (!whole && !strstr(err.text, what))
		fail_msg("%s, not %s", err.text, what);
	pasta_tracefile_close(&f);
	free(got.data);
	err = (struct pasta_error){0};
	got = read_all(in_dir("torn"), true, &f, &err);
	assert_int_equal(err.code, 0);
	assert_int_equal(f.torn, !whole);
	assert_true(got.size <= text->size && same(&got, text->data, got.size));
	pasta_tracefile_close(&f);
	free(got.data);
}

static void a_tear_anywhere_is_reported_or_recovered(void **state)
{
	struct bytes text = make_text(900);

	for (size_t k = 1; k < 3; k++) {
		struct bytes file = {0};
		size_t middle;

		packers[k](&file, text.data, 400);
		middle = file.size;
		packers[k](&file, text.data + 400, text.size - 400);
		/* With fewer bytes the format cannot be detected. */
		for (size_t n = k == 1 ? 2 : 4; n <= file.size; n++)
			check_torn(&file, n, middle, &text, packer_names[k]);
		free(file.data);
	}
	free(text.data);
}

static void text_unpacked_before_a_tear_is_read(void **state)
{
	struct bytes text = make_text(3 * WINDOW / 2);

	for (size_t k = 1; k < 3; k++) {
		struct pasta_tracefile f = {0};
		struct pasta_error err = {0};
		struct bytes file = {0}, got;

		packers[k](&file, text.data, text.size);
		save(&file, file.size / 2, in_dir("half"));
		got = read_all(in_dir("half"), true, &f, &err);
		assert_int_equal(err.code, 0);
		assert_true(f.torn);
		assert_true(got.size > WINDOW / 4 && same(&got, text.data, got.size));
		pasta_tracefile_close(&f);
		free(got.data);
		free(file.data);
	}
	free(text.data);
}

/* A changed byte is detected or has no effect; zstd without checksums differs. */
static void damage_is_reported_and_never_read_as_text_by_gzip(void **state)
{
	struct bytes text = make_text(900), file = {0};
	size_t detected = 0;

	put_gzip(&file, text.data, text.size);
	for (size_t at = 10; at < file.size; at++) {
		struct pasta_tracefile f = {0};
		struct pasta_error err = {0};
		struct bytes got;

		file.data[at] ^= 0x55;
		save(&file, file.size, in_dir("damaged"));
		file.data[at] ^= 0x55;
		got = read_all(in_dir("damaged"), false, &f, &err);
		/* The byte may belong to a code that the text does not use. */
		if (!err.code) {
			assert_true(same(&got, text.data, text.size));
		} else {
			assert_int_equal(err.code, -EBADMSG);
			assert_non_null(
				strstr(err.text, "--recover imports the part before this byte"));
			detected++;
		}
		pasta_tracefile_close(&f);
		free(got.data);
	}
	assert_true(detected > file.size * 9 / 10);
	free(text.data);
	free(file.data);
}

static void more_until_full(struct pasta_tracefile *f, struct pasta_error *err)
{
	while (!err->code && !f->end)
		pasta_tracefile_more(f, 0, err);
}

static void the_window_grows_to_its_limit_and_no_further(void **state)
{
	struct bytes text = make_text(PASTA_TRACEFILE_WINDOW_MAX + 1);

	for (size_t k = 0; k < 3; k += 2) { /* zlib would be slow */
		struct pasta_tracefile f = {0};
		struct pasta_error err = {0};
		struct bytes file = {0};

		packers[k](&file, text.data, text.size);
		save(&file, file.size, in_dir("long"));
		assert_int_equal(pasta_tracefile_open(&f, in_dir("long"), false, &err), 0);
		more_until_full(&f, &err);
		assert_int_equal(err.code, -EFBIG);
		assert_non_null(strstr(err.text, "byte 0: the trace is not valid"));
		assert_non_null(strstr(err.text, "a value of more than 64 MiB"));
		assert_int_equal(f.size, PASTA_TRACEFILE_WINDOW_MAX);
		assert_memory_equal(f.data, text.data, f.size);
		/* Discarded bytes make room, and the padding after the window is zero. */
		err = (struct pasta_error){0};
		assert_int_equal(pasta_tracefile_more(&f, 7, &err), 0);
		check_pad(&f);
		more_until_full(&f, &err);
		assert_int_equal(err.code, 0);
		assert_int_equal(f.offset + f.size, text.size);
		assert_memory_equal(f.data, text.data + 7, f.size);
		pasta_tracefile_close(&f);
		free(file.data);
	}
	free(text.data);
}

static void a_value_may_be_as_long_as_the_window_from_a_pipe(void **state)
{
	struct bytes text = make_text(PASTA_TRACEFILE_WINDOW_MAX);
	struct feeder feeder = {make_pipe(), &text, 1 << 16};
	struct pasta_tracefile f = {0};
	struct pasta_error err = {0};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
	assert_int_equal(pasta_tracefile_open(&f, feeder.path, false, &err), 0);
	while (!err.code && f.size < text.size)
		pasta_tracefile_more(&f, 0, &err);
	assert_int_equal(err.code, 0);
	assert_memory_equal(f.data, text.data, text.size);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pasta_tracefile_close(&f);
	free(feeder.path);
	free(text.data);
}

static void a_file_that_cannot_be_opened_is_reported(void **state)
{
	struct pasta_tracefile f = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_tracefile_open(&f, in_dir("absent"), true, &err), -ENOENT);
	assert_non_null(strstr(err.text, "absent"));
	pasta_tracefile_close(&f);
	err = (struct pasta_error){0};
	assert_int_equal(pasta_tracefile_open(&f, support_dir, true, &err), -EISDIR);
	assert_non_null(strstr(err.text, "is a folder"));
	pasta_tracefile_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_any_length_come_back_however_they_are_stored),
		cmocka_unit_test(members_and_frames_may_follow_each_other),
		cmocka_unit_test(a_pipe_is_read_as_a_file_is),
		cmocka_unit_test(a_tear_anywhere_is_reported_or_recovered),
		cmocka_unit_test(text_unpacked_before_a_tear_is_read),
		cmocka_unit_test(damage_is_reported_and_never_read_as_text_by_gzip),
		cmocka_unit_test(the_window_grows_to_its_limit_and_no_further),
		cmocka_unit_test(a_value_may_be_as_long_as_the_window_from_a_pipe),
		cmocka_unit_test(a_file_that_cannot_be_opened_is_reported),
	};

	random_begin();
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
