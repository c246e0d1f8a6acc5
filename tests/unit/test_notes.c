/* test_notes.c - notes on what a report's numbers leave out: any front end gets them. */
/* labels: onethread */
#include "unit/support.h"

#include "core/shardwriter.h"
#include "process/read/input.h"
#include "process/run/notes.h"

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	return 0;
}

static const struct pasta_tool tools[] = {
	{PASTA_TOOL_HEAD, .name = "times", .summary = "s", .events = PASTA_MASK(KERNEL),
	 .event = on_event, .report = report},
	{PASTA_TOOL_HEAD, .name = "sums", .summary = "s", .events = PASTA_MASK(ACCESS_SUM),
	 .needs = PASTA_NEED_ACCESS_OBJECT, .event = on_event, .report = report},
};

/* A run of one shard, which has recorded these kinds, and the results of both tools. */
struct noted {
	struct pasta_input in;
	struct pasta_choice choice;
	struct pasta_result result;
};

static void noted_open(struct noted *n, uint64_t kinds)
{
	struct pasta_shard_head head = {.guid = {1}, .boot = {1}, .raw = RAW_0, .real = REAL_0};
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(process), .kind = PASTA_KIND_PROCESS, .time = RAW_0};
	const char *path = in_dir("one.pst");
	struct pasta_shardwriter *w;
	struct pasta_error err = {0};

	memset(n, 0, sizeof(*n));
	unlink(path);
	w = pasta_shardwriter_new(path, &head, &err);
	assert_non_null(w);
	ev.process.kinds = kinds;
	assert_int_equal(pasta_shardwriter_state(w, &ev), 0);
	assert_int_equal(pasta_shardwriter_close(w, &err), 0);
	if (pasta_input_add(&n->in, path, &err) || pasta_choice_add(&n->choice, "times", &err) ||
	    pasta_choice_add(&n->choice, "sums", &err))
		fail_msg("%s", err.text);
	assert_non_null(pasta_result_out(&n->result, "times"));
	assert_non_null(pasta_result_out(&n->result, "sums"));
}

static void noted_close(struct noted *n)
{
	pasta_result_free(&n->result);
	pasta_choice_free(&n->choice);
	pasta_input_free(&n->in);
}

/* Check that the tool's only finding is "WHAT; ACTION". */
static void expect(const struct noted *n, size_t tool, const char *text)
{
	const struct pasta_out *out = n->result.outs[tool];
	char got[400] = "";

	assert_true(out->finding_count < 2);
	if (out->finding_count)
		snprintf(got, sizeof(got), "%s%s%s", out->findings[0].what,
			 out->findings[0].action ? "; " : "",
			 out->findings[0].action ? out->findings[0].action : "");
	assert_string_equal(got, text);
}

static void a_complete_run_has_no_notes(void **state)
{
	struct noted n;

	noted_open(&n, UINT64_MAX);
	pasta_notes_add(&n.result, &n.choice, &n.in);
	expect(&n, 0, "");
	expect(&n, 1, "");
	noted_close(&n);
}

static void missing_kinds_are_named_with_the_option_that_records_them(void **state)
{
	struct noted n;

	noted_open(&n, PASTA_MASK(COPY));
	pasta_notes_add(&n.result, &n.choice, &n.in);
	expect(&n, 0,
	       "1 of 1 processes did not record some kinds of events that times needs: kernel; record again with "
	       "-t times, or with --record all");
	expect(&n, 1,
	       "1 of 1 processes did not record some kinds of events that sums needs: access_sum; record again "
	       "with -t sums");
	noted_close(&n);
	noted_open(&n, PASTA_MASK(LAUNCH) | PASTA_MASK(ACCESS_SUM));
	pasta_notes_add(&n.result, &n.choice, &n.in);
	expect(&n, 0,
	       "1 of 1 processes did not record some kinds of events that times needs: kernel; record again "
	       "without '--level count'");
	noted_close(&n);
}

static void dropped_events_are_a_warning_for_all_tools_that_miss_them(void **state)
{
	struct noted n;

	noted_open(&n, UINT64_MAX);
	n.result.loss.dropped = n.result.loss.by_reason[PASTA_LOSS_FULL] = 5;
	pasta_notes_add(&n.result, &n.choice, &n.in);
	expect(&n, 0,
	       "5 events were dropped: numbers are too low, and events recorded near a dropped event may be attributed "
	       "to the wrong region; record again with a larger --memory");
	assert_int_equal(n.result.outs[0]->findings[0].severity, PASTA_SEVERITY_WARNING);
	noted_close(&n);
	noted_open(&n, UINT64_MAX);
	n.result.loss.dropped = n.result.loss.by_reason[PASTA_LOSS_RAW] = 5;
	pasta_notes_add(&n.result, &n.choice, &n.in);
	expect(&n, 1, "");
	noted_close(&n);
}

static void a_filtered_report_names_the_filter_and_accesses_refuse_devices(void **state)
{
	struct pasta_filter *filter = pasta_filter_new();
	struct pasta_error err = {0};
	struct noted n;

	noted_open(&n, UINT64_MAX);
	assert_int_equal(pasta_filter_add(filter, PASTA_FILTER_DEVICE, "0", &err), 0);
	n.in.filter = filter;
	pasta_notes_add(&n.result, &n.choice, &n.in);
	expect(&n, 0,
	       "the report covers only the part of the run that matches the filter: --device 0");
	assert_int_equal(pasta_notes_check(&tools[0], &n.choice, &n.in, &err), 0);
	assert_int_equal(pasta_notes_check(&tools[1], &n.choice, &n.in, &err), -EINVAL);
	assert_string_equal(
		err.text,
		"--device and --stream cannot select memory accesses: remove these options");
	noted_close(&n);
	pasta_filter_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_complete_run_has_no_notes, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			missing_kinds_are_named_with_the_option_that_records_them, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(
			dropped_events_are_a_warning_for_all_tools_that_miss_them, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(
			a_filtered_report_names_the_filter_and_accesses_refuse_devices, make_dir,
			remove_dir),
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		pasta_tool_register(&tools[i]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
