/* test_import_odd.c - Kineto and Chrome traces that are cut, damaged or unusual. */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>

#include "import/import.h"

enum { TEXT = 1 << 20 };

static size_t slurp(const char *name, char *text)
{
	const char *src = getenv("SRC");
	char path[512];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/tests/data/import/%s", src ? src : ".", name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: set SRC to the source tree", path);
	n = fread(text, 1, TEXT, f);
	assert_true(n < TEXT);
	fclose(f);
	return n;
}

/* Imports the text and returns the result; *events is the number of events in the shard. */
static int import_text(const char *text, size_t size, bool recover, uint64_t *events)
{
	const char *path = in_dir("trace.json"), *shard = in_dir("shard.pst");
	struct pasta_import_options options = {.recover = recover};
	struct pasta_import_info info = {0};
	struct pasta_error err = {0};
	FILE *f = fopen(path, "wb");
	int r;

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	unlink(shard);
	r = pasta_import(path, shard, &options, &info, &err);
	assert_property(!r == !access(shard, F_OK));
	assert_property(!r || (err.code == r && strstr(err.text, "trace.json")));
	*events = r ? 0 : info.events;
	pasta_import_info_free(&info);
	return r;
}

/* The longest possible inputs: a name that is not a string needs more room than its text. */
static void inputs_that_are_not_types_fit_in_their_buffer(void **state)
{
	char *text = malloc(TEXT), *p = text;
	uint64_t events;

	(void)state;
	assert_non_null(text);
	p += sprintf(p, "{\"schemaVersion\": 1, \"traceEvents\": [");
	for (int n = 100; n < 600; n++) {
		p += sprintf(
			p,
			"%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"pid\":1,\"tid\":1,"
			"\"ts\":%d,\"dur\":1,\"args\":{\"Input type\":[1",
			n > 100 ? "," : "", 10 * n);
		for (int i = 0; i < n; i++)
			p += sprintf(p, ",1");
		p += sprintf(p, "]}}");
	}
	p += sprintf(p, "]}");
	assert_int_equal(import_text(text, (size_t)(p - text), false, &events), 0);
	assert_int_equal(events, 2 * 500);
	free(text);
}

static void every_prefix(const char *name, bool loose)
{
	char *text = malloc(TEXT);
	size_t size, step = support_slow ? 11 : 5;
	uint64_t events, before = 0;

	assert_non_null(text);
	size = slurp(name, text);
	while (size && text[size - 1] <= ' ')
		size--;
	for (size_t n = 1; n < size; n += step) {
		int r = import_text(text, n, false, &events);

		assert_property(r < 0 || loose);
		r = import_text(text, n, true, &events);
		assert_property(!r || !before); /* there may be nothing to recover */
		assert_property(events >= before);
		before = events;
	}
	assert_int_equal(import_text(text, size, false, &events), 0);
	assert_true(events >= before);
	free(text);
}

static void every_prefix_is_refused_and_the_more_there_is_the_more_is_recovered(void **state)
{
	(void)state;
	every_prefix("kineto-sorted.json", false);
	every_prefix("kineto-edges.json", false);
}

static void an_array_may_lack_its_end(void **state)
{
	(void)state;
	every_prefix("kineto-array.json", true);
}

static void random_damage_is_an_error_or_passed_over(void **state)
{
	static const char *const names[] = {"kineto-cuda.json",	      "kineto-rocm.json",
					    "kineto-nccl-rank0.json", "kineto-sorted.json",
					    "chrome-phases.json",     "chrome-open.json"};
	char *text = malloc(TEXT);
	int tries = support_slow ? 200 : 400;

	(void)state;
	assert_non_null(text);
	random_begin();
	for (int i = 0; i < tries; i++) {
		size_t size = slurp(names[random_below(6)], text), count = 1 + random_below(4);
		uint64_t events;

		while (count--) {
			static const char odd[] = "{}[],:\"\\0123456789-.eE \n\t\377";
			size_t at = random_below(size), n = random_below(40);

			n = n < size - at ? n : size - at;
			switch (random_below(3)) {
			case 0:
				text[at] = odd[random_below(sizeof(odd) - 1)];
				break;
			case 1:
				memmove(text + at, text + at + n, size - at - n);
				size -= n;
				break;
			default:
				memmove(text + at, text + random_below(size - n), n);
				break;
			}
		}
		import_text(text, size, i % 2, &events);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs_that_are_not_types_fit_in_their_buffer),
		cmocka_unit_test(
			every_prefix_is_refused_and_the_more_there_is_the_more_is_recovered),
		cmocka_unit_test(an_array_may_lack_its_end),
		cmocka_unit_test(random_damage_is_an_error_or_passed_over),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
