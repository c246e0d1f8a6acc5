/* test_parcel.c - what tools reported, sent to another process: the same there, or refused whole.
 */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>
#include <math.h>

#include "process/run/parcel.h"
#include "unit/sample.h"

/* Three tools, with everything that a result can have. */
static void make(struct pasta_result *r)
{
	const char *frames[] = {"main", "caf\xe9"};
	struct pasta_chart *c;

	sample(r, true);
	sample_gaps(r);
	c = sample_chart(r->outs[0], "line", PASTA_CHART_LINE, NULL, NULL);
	pasta_chart_series(c, "s");
	pasta_chart_point(c, 1, NAN);
	pasta_chart_point(c, 1, 2);
	pasta_chart_series(c, "");
	c = sample_chart(r->outs[0], "bar", PASTA_CHART_BAR, &(struct pasta_axis){"a", "ns"}, NULL);
	pasta_chart_bar(c, "label", 3);
	c = sample_heat(r->outs[0], "heat", PASTA_CHART_HEAT, NULL, NULL,
			&(struct pasta_axis){"v", "bytes"});
	pasta_chart_cell(c, 1, 2, 3);
	c = sample_chart(r->outs[1], "flame", PASTA_CHART_FLAME, NULL, NULL);
	pasta_chart_stack(c, frames, 2, INT64_MAX);
	sample_more(r);
}

static void make_empty(struct pasta_result *r, const struct pasta_result *like)
{
	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < like->count; i++)
		assert_non_null(pasta_result_out(r, like->outs[i]->name));
}

static char *json_of(struct pasta_result *r)
{
	static const struct pasta_runinfo run;
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	int error;
	char *text;

	r->run = &run;
	memset(&r->loss, 0, sizeof(r->loss));
	text = sample_write(&pasta_sink_json, r, &opts, &error, &err);
	assert_int_equal(error, 0);
	return text;
}

static struct pasta_wire packed(struct pasta_result *r)
{
	const struct pasta_parcel parcel = {.captured = 7, .stopped = true, .changed_file = "/x"};
	struct pasta_wire w = {0};

	pasta_parcel_put(&w, &parcel, r->outs, r->count);
	assert_int_equal(w.error, 0);
	return w;
}

static int unpacked(const uint8_t *bytes, size_t size, struct pasta_result *r)
{
	struct pasta_wire_in in = {.at = bytes, .end = bytes + size};
	struct pasta_parcel parcel;

	return pasta_parcel_get(&in, &parcel, r->outs, r->count);
}

static void a_result_is_the_same_on_the_other_side(void **state)
{
	struct pasta_result sent, got;
	struct pasta_parcel parcel;
	struct pasta_wire_in in;
	struct pasta_wire w;
	uint8_t *bytes;
	char *want, *have;
	int fd;

	make(&sent);
	make_empty(&got, &sent);
	w = packed(&sent);
	fd = pasta_wire_seal(&w);
	assert_true(fd >= 0);
	assert_int_equal(pasta_wire_open(fd, &bytes, &in), 0);
	assert_int_equal(pasta_parcel_get(&in, &parcel, got.outs, got.count), 0);
	assert_int_equal(parcel.captured, 7);
	assert_true(parcel.stopped);
	assert_string_equal(parcel.changed_file, "/x");
	want = json_of(&sent);
	have = json_of(&got);
	assert_string_equal(have, want);
	for (size_t i = 0; i < got.count; i++)
		for (size_t k = 0; k < got.outs[i]->table_count; k++)
			assert_ptr_equal(got.outs[i]->tables[k]->out, got.outs[i]);
	close(fd);
	free(bytes);
	free(w.data);
	free(want);
	free(have);
	pasta_result_free(&sent);
	pasta_result_free(&got);
}

static void assert_nothing(const struct pasta_result *r)
{
	for (size_t i = 0; i < r->count; i++) {
		assert_int_equal(r->outs[i]->table_count + r->outs[i]->chart_count, 0);
		assert_int_equal(r->outs[i]->finding_count, 0);
		assert_int_equal(r->outs[i]->err.code, 0);
	}
}

static void what_is_cut_is_refused_whole(void **state)
{
	struct pasta_result sent, got;
	struct pasta_wire w;

	make(&sent);
	make_empty(&got, &sent);
	w = packed(&sent);
	for (size_t size = 0; size < w.size; size++) {
		uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees who reads on */

		memcpy(exact, w.data, size);
		assert_int_equal(unpacked(exact, size, &got), -EBADMSG);
		assert_nothing(&got);
		free(exact);
	}
	free(w.data);
	pasta_result_free(&sent);
	pasta_result_free(&got);
}

static void what_is_changed_is_refused_or_another_result(void **state)
{
	struct pasta_result sent, got;
	struct pasta_wire w;
	size_t refused = 0;

	make(&sent);
	w = packed(&sent);
	for (int i = 0; i < 20000; i++) {
		size_t at = random_below(w.size);
		uint8_t was = w.data[at];
		int error;

		w.data[at] = (uint8_t)random_u64();
		make_empty(&got, &sent);
		error = unpacked(w.data, w.size, &got);
		assert_true(!error || error == -EBADMSG || error == -ENOMEM);
		if (error)
			assert_nothing(&got);
		refused += error != 0;
		w.data[at] = was;
		pasta_result_free(&got);
	}
	assert_true(refused > 1000);
	free(w.data);
	pasta_result_free(&sent);
}

static void results_of_other_tools_are_refused(void **state)
{
	struct pasta_result sent, got;
	struct pasta_wire w;

	make(&sent);
	w = packed(&sent);
	make_empty(&got, &sent);
	got.outs[1]->name[0] = 'x';
	assert_int_equal(unpacked(w.data, w.size, &got), -EBADMSG);
	assert_nothing(&got);
	got.outs[1]->name[0] = 'g';
	got.count = 1;
	assert_int_equal(unpacked(w.data, w.size, &got), -EBADMSG);
	got.count = 3;
	assert_int_equal(unpacked(w.data, w.size, &got), 0);
	free(w.data);
	pasta_result_free(&sent);
	pasta_result_free(&got);
}

static void only_a_sealed_file_of_ours_is_opened(void **state)
{
	struct pasta_wire w = {0};
	struct pasta_wire_in in;
	uint8_t *bytes, head[PASTA_WIRE_HEAD + 8] = {0};
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), null, sealed;

	pasta_wire_head(head, sizeof(head));
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(pasta_wire_open(fd, &bytes, &in), -EINVAL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	assert_int_equal(pasta_wire_open(fd, &bytes, &in), 0);
	assert_int_equal(pasta_wire_get_number(&in), 0);
	assert_false(in.bad);
	assert_null(pasta_wire_get(&in, 1));
	assert_true(in.bad);
	free(bytes);
	close(fd);
	null = open("/dev/null", O_RDONLY);
	assert_int_equal(pasta_wire_open(null, &bytes, &in), -EINVAL);
	assert_int_equal(pasta_wire_open(-1, &bytes, &in), -EINVAL);
	close(null);
	pasta_wire_text(&w, "text");
	sealed = pasta_wire_seal(&w);
	assert_int_equal(write(sealed, "x", 1), -1);
	close(sealed);
	free(w.data);
}

static void a_damaged_head_is_noticed(void **state)
{
	uint8_t bytes[PASTA_WIRE_HEAD + 16] = {0};
	struct pasta_wire_in in;

	pasta_wire_head(bytes, sizeof(bytes));
	assert_int_equal(pasta_wire_check(bytes, sizeof(bytes), &in), 0);
	for (size_t size = 0; size < sizeof(bytes); size++)
		assert_int_equal(pasta_wire_check(bytes, size, &in), -EBADMSG);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 1;
		assert_int_equal(pasta_wire_check(bytes, sizeof(bytes), &in), -EBADMSG);
		bytes[i] ^= 1;
	}
}

static void texts_must_be_utf8_and_have_their_stated_length(void **state)
{
	static const char *const bad[] = {"\xff", "a\0b", "\xed\xa0\x80"};
	static const size_t sizes[] = {1, 3, 3};
	struct pasta_wire w = {0};
	struct pasta_wire_in in;

	for (size_t i = 0; i < 3; i++) {
		w.size = 0;
		pasta_wire_number(&w, sizes[i]);
		pasta_wire_put(&w, bad[i], sizes[i] + 1);
		in = (struct pasta_wire_in){.at = w.data, .end = w.data + w.size};
		assert_string_equal(pasta_wire_get_text(&in), "");
		assert_true(in.bad);
	}
	w.size = 0;
	pasta_wire_text(&w, "a\xff");
	pasta_wire_text(&w, NULL);
	in = (struct pasta_wire_in){.at = w.data, .end = w.data + w.size};
	assert_string_equal(pasta_wire_get_text(&in), "a\xef\xbf\xbd");
	assert_null(pasta_wire_get_text_or_null(&in));
	assert_false(in.bad);
	assert_ptr_equal(in.at, in.end);
	free(w.data);
}

static void unused_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	(void)state;
	(void)ev;
}

static void a_descriptor_is_the_same_but_for_its_functions(void **state)
{
	static const struct pasta_option options[] = {
		{"rows", "20", "how many", PASTA_OPTION_NUMBER}, {"name", NULL, NULL, 0}, {0}};
	static const struct pasta_ledger_def ledger = {.size = sizeof(ledger), .levels = 6};
	static const struct pasta_access_index_def index = {
		.size = sizeof(index), .reducers = 12, .kinds = PASTA_MASK(SITE)};
	static const struct pasta_diagnosis_def diagnosis = {.size = sizeof(diagnosis)};
	const struct pasta_tool tool = {.size = sizeof(tool),
					.name = "mine",
					.summary = "what it does",
					.events = 5,
					.needs = PASTA_NEED_ACCESS_OWN,
					.charts = 3,
					.reducer = "mine.fatbin",
					.flags = PASTA_TOOL_SHARDED,
					.options = options,
					.ledger = &ledger,
					.accesses = &index,
					.diagnosis = &diagnosis,
					.event = unused_event};
	struct pasta_wire w = {0};
	struct pasta_wire_in in;
	struct pasta_tool *got;
	int error;

	pasta_parcel_put_tool(&w, &tool);
	in = (struct pasta_wire_in){.at = w.data, .end = w.data + w.size};
	got = pasta_parcel_get_tool(&in, &error);
	assert_non_null(got);
	assert_string_equal(got->name, tool.name);
	assert_string_equal(got->summary, tool.summary);
	assert_string_equal(got->reducer, tool.reducer);
	assert_int_equal(got->events, 5);
	assert_int_equal(got->needs, tool.needs);
	assert_int_equal(got->charts, 3);
	assert_true(pasta_tool_is_sharded(got));
	assert_int_equal(got->ledger->levels, 6);
	assert_int_equal(got->diagnosis->size, sizeof(diagnosis));
	assert_int_equal(got->accesses->reducers, 12);
	assert_int_equal(got->accesses->kinds, PASTA_MASK(SITE));
	assert_int_equal(pasta_tool_kinds(got), pasta_tool_kinds(&tool));
	assert_string_equal(got->options[0].value, "20");
	assert_int_equal(got->options[0].type, PASTA_OPTION_NUMBER);
	assert_null(got->options[1].value);
	assert_null(got->options[2].name);
	assert_ptr_not_equal(got->event, unused_event);
	pasta_parcel_free_tool(got);
	for (size_t size = 0; size < w.size; size++) {
		in = (struct pasta_wire_in){.at = w.data, .end = w.data + size};
		assert_null(pasta_parcel_get_tool(&in, &error));
		assert_int_equal(error, -EBADMSG);
	}
	free(w.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_is_the_same_on_the_other_side),
		cmocka_unit_test(what_is_cut_is_refused_whole),
		cmocka_unit_test(what_is_changed_is_refused_or_another_result),
		cmocka_unit_test(results_of_other_tools_are_refused),
		cmocka_unit_test(only_a_sealed_file_of_ours_is_opened),
		cmocka_unit_test(a_damaged_head_is_noticed),
		cmocka_unit_test(texts_must_be_utf8_and_have_their_stated_length),
		cmocka_unit_test(a_descriptor_is_the_same_but_for_its_functions),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
