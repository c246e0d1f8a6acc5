/* test_diagnosis_shared.c - all tools of a toolset share one diagnosis. */
/* labels: onethread */
#include "unit/support.h"

#include "core/strings.h"
#include "process/diagnosis/diagnosis.h"
#include "process/run/toolset.h"
#include "process/sdk/owned.h"

struct state {
	uint64_t reserved;
	struct pasta_diagnosis *diagnosis;
	uint64_t kernels;
};

static struct pasta_diagnosis *reported[2];
static uint64_t kernels_seen[2];

static int report_as(size_t i, const struct state *s)
{
	const struct pasta_usage *u = pasta_diagnosis_usage(s->diagnosis, &(size_t){0});

	reported[i] = s->diagnosis;
	kernels_seen[i] = u ? u->kernels : 0;
	return 0;
}

static int report_first(void *state, struct pasta_out *out, struct pasta_error *err)
{
	return report_as(0, state);
}

static int report_second(void *state, struct pasta_out *out, struct pasta_error *err)
{
	assert_int_equal(((struct state *)state)->kernels, 2); /* its own event function */
	return report_as(1, state);
}

static int report_other(void *state, struct pasta_out *out, struct pasta_error *err)
{
	return 0;
}

static void count(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	assert_int_equal(ev->kind, PASTA_KIND_KERNEL);
	((struct state *)state)->kernels++;
}

static const struct pasta_diagnosis_def def = PASTA_DIAGNOSIS(struct state, diagnosis);

#define TOOL(name_, ...)                                                                           \
	{                                                                                          \
		PASTA_TOOL_HEAD, .name = name_, .summary = "a test",                               \
				 .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS,                      \
				 .state_size = sizeof(struct state), __VA_ARGS__                   \
	}
static const struct pasta_tool first = TOOL("first", .report = report_first, .diagnosis = &def);
static const struct pasta_tool second = TOOL("second", .report = report_second, .event = count,
					     .events = PASTA_MASK(KERNEL), .diagnosis = &def);
static const struct pasta_tool other =
	TOOL("other", .report = report_other, .event = count, .events = PASTA_MASK(KERNEL));

static struct pasta_choice choice;
static struct pasta_result result;
static struct pasta_toolset *set;

static int make_toolset(void **state)
{
	struct pasta_out *outs[3];

	if (!pasta_tool_find("first")) {
		pasta_tool_register(&first);
		pasta_tool_register(&second);
		pasta_tool_register(&other);
	}
	assert_int_equal(pasta_choice_add(&choice, "first,second,other", NULL), 0);
	for (size_t i = 0; i < 3; i++)
		outs[i] = pasta_result_out(&result, choice.tools[i].tool->name);
	set = pasta_toolset_new(&choice, outs, PASTA_TOOLSET_ALL);
	assert_non_null(set);
	pasta_toolset_open(set);
	return 0;
}

static int free_toolset(void **state)
{
	pasta_toolset_free(set);
	pasta_result_free(&result);
	pasta_choice_free(&choice);
	memset(reported, 0, sizeof(reported));
	return 0;
}

static void send_kernel(struct pasta_toolset *to, uint32_t proc, uint64_t time)
{
	struct pasta_event ev = {.size = sizeof(ev), .kind = PASTA_KIND_KERNEL, .proc = proc};

	ev.time = time;
	ev.kernel.dur = 5;
	pasta_toolset_event(to, &ev, NULL);
}

static void tools_share_one_diagnosis(void **state)
{
	assert_int_equal(pasta_toolset_kinds(set), PASTA_DIAGNOSIS_KINDS);
	send_kernel(set, 0, 10);
	send_kernel(set, 0, 20);
	pasta_toolset_report(set);
	assert_non_null(reported[0]);
	assert_ptr_equal(reported[0], reported[1]);
	assert_int_equal(kernels_seen[0], 2); /* each event was delivered once */
	assert_int_equal(kernels_seen[1], 2);
}

static void tools_with_a_diagnosis_fail_without_memory(void **state)
{
	struct pasta_diagnosis *shared;

	send_kernel(set, 0, 10);
	send_kernel(set, 0, 20);
	pasta_toolset_report(set);
	shared = reported[0];
	pasta_diagnosis_fail(shared);
	memset(reported, 0, sizeof(reported));
	pasta_toolset_report(set);
	assert_null(reported[0]);
	assert_int_equal(result.outs[0]->err.code, -ENOMEM);
	assert_int_equal(result.outs[1]->err.code, -ENOMEM);
	assert_int_equal(result.outs[2]->err.code, 0);
}

static void kinds_to_record_do_not_include_api_calls(void **state)
{
	assert_false(pasta_choice_events(&choice) & PASTA_MASK(API));
	assert_true(pasta_choice_events(&choice) & PASTA_MASK(SYNC));
	assert_false(pasta_tool_subscribed(&first) & PASTA_MASK(SYNC));
	assert_true(pasta_tool_subscribed(&first) & PASTA_MASK(LAUNCH));
}

static const char *refusal(const struct pasta_tool *tool)
{
	static struct pasta_error err;

	err = (struct pasta_error){0};
	assert_int_equal(pasta_owned_check(tool, &err), -EINVAL);
	return err.text;
}

static void wrong_declarations_are_refused(void **state)
{
	static const struct pasta_diagnosis_def outside = {sizeof(outside), 1 << 20};
	static const struct pasta_diagnosis_def bad_size = {1, 8};
	static const struct pasta_ledger_def ledger = PASTA_LEDGER(struct state, diagnosis);
	struct pasta_tool tool = first;

	assert_int_equal(pasta_owned_check(&tool, NULL), 0);
	tool.needs = PASTA_NEED_SCOPES;
	assert_non_null(strstr(refusal(&tool), "PASTA_NEED_OPS"));
	tool = first;
	tool.diagnosis = &outside;
	assert_non_null(strstr(refusal(&tool), "outside of the tool's state"));
	tool.diagnosis = &bad_size;
	assert_non_null(strstr(refusal(&tool), "PASTA_DIAGNOSIS"));
	tool = first;
	tool.ledger = &ledger;
	assert_non_null(strstr(refusal(&tool), "the same pointer, at byte 8"));
}

int main(void)
{
#define SHARED(name) cmocka_unit_test_setup_teardown(name, make_toolset, free_toolset)
	const struct CMUnitTest tests[] = {
		SHARED(tools_share_one_diagnosis),
		SHARED(tools_with_a_diagnosis_fail_without_memory),
		SHARED(kinds_to_record_do_not_include_api_calls),
		SHARED(wrong_declarations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
