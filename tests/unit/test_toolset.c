/* test_toolset.c - tools: registered, chosen, given options and events, and allowed to fail. */
/* labels: onethread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/run/toolset.h"

/* Tools that count what happens to them. */
static int opened, closed;

struct counter {
	int64_t events;
	const char *mode;
};

static int counter_open(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct counter *c = state;

	opened++;
	c->mode = pasta_opt(opts, "mode");
	assert_null(pasta_opt(opts, "nosuch"));
	return strcmp(c->mode, "no-open") ? 0 : pasta_fail(err, -EIO, "cannot open: by request");
}

static void counter_event(void *state, const struct pasta_event *ev,
			  const struct pasta_where *where)
{
	assert_null(where); /* it does not ask for it */
	((struct counter *)state)->events++;
}

static int counter_report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column columns[] = {{"events", PASTA_COLUMN_INT, NULL}};
	struct counter *c = state;
	struct pasta_table *t = pasta_out_table(out, "events", columns, 1);

	if (!strcmp(c->mode, "bad-cell"))
		pasta_cell_str(t, "many");
	else
		pasta_cell_int(t, c->events);
	if (!strcmp(c->mode, "talk"))
		for (int i = 0; i < 150; i++)
			pasta_log(i ? PASTA_LOG_NOTE : PASTA_LOG_WARNING, "%d\033[31m", i);
	if (!strcmp(c->mode, "explain"))
		return pasta_fail(err, -EIO, "the moon is full");
	return strcmp(c->mode, "no-report") ? 0 : -ENOSPC;
}

static void counter_close(void *state)
{
	closed++;
}

static const struct pasta_option counter_options[] = {
	{"mode", "well", "how to behave", PASTA_OPTION_TEXT}, {0}};

#define COUNTER(name_, events_)                                                                    \
	{                                                                                          \
		PASTA_TOOL_HEAD, .name = name_, .summary = "a test", .events = events_,            \
				 .state_size = sizeof(struct counter), .options = counter_options, \
				 .open = counter_open, .event = counter_event,                     \
				 .report = counter_report, .close = counter_close                  \
	}

static const struct pasta_tool alpha = COUNTER("alpha", PASTA_MASK(REGION));
static const struct pasta_tool beta = COUNTER("beta", PASTA_MASK(REGION) | PASTA_MASK(KERNEL));
static const struct pasta_tool gamma_ = COUNTER("gamma", PASTA_MASK(COUNTER));

static int begin(void **state)
{
	opened = closed = 0;
	return 0;
}

/* Chooses tools, sets an option, sends three regions and a kernel, and reports. */
static size_t drive(struct pasta_result *result, const char *names, const char *option)
{
	struct pasta_event region = {.size = PASTA_EVENT_SIZE(region), .kind = PASTA_KIND_REGION};
	struct pasta_event kernel = {.size = PASTA_EVENT_SIZE(kernel), .kind = PASTA_KIND_KERNEL};
	struct pasta_event strange = {.size = PASTA_EVENT_HEAD, .kind = 200};
	struct pasta_choice choice = {0};
	struct pasta_toolset *l;
	size_t i, failed = 0;

	memset(result, 0, sizeof(*result));
	assert_int_equal(pasta_choice_add(&choice, names, NULL), 0);
	if (option)
		assert_int_equal(pasta_choice_set(&choice, option, NULL), 0);
	for (i = 0; i < choice.count; i++)
		assert_non_null(pasta_result_out(result, choice.tools[i].tool->name));
	l = pasta_toolset_new(&choice, result->outs, PASTA_TOOLSET_ALL);
	assert_non_null(l);
	pasta_toolset_open(l);
	pasta_toolset_event(l, &region, NULL);
	pasta_toolset_event(l, &kernel, NULL);
	pasta_toolset_event(l, &strange, NULL);
	pasta_toolset_event(l, &region, NULL);
	pasta_toolset_event(l, &region, NULL);
	pasta_toolset_report(l);
	pasta_toolset_close(l);
	for (i = 0; i < result->count; i++)
		failed += pasta_out_end(result->outs[i]) != 0;
	pasta_toolset_free(l);
	pasta_choice_free(&choice);
	return failed;
}

/* The same, with what is written to stderr; to be freed. */
static char *drive_aloud(struct pasta_result *result, const char *names, const char *option)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char *text = calloc(1, 1 << 16);

	assert_true(file && saved >= 0 && text);
	dup2(fileno(file), STDERR_FILENO);
	drive(result, names, option);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static int64_t events_of(const struct pasta_result *result, size_t i)
{
	return pasta_table_cell(result->outs[i]->tables[0], 0, 0)->i;
}

static void tools_get_the_kinds_that_they_want(void **state)
{
	struct pasta_result result;

	assert_int_equal(drive(&result, "alpha,beta,gamma", NULL), 0);
	assert_int_equal(events_of(&result, 0), 3);
	assert_int_equal(events_of(&result, 1), 4);
	assert_int_equal(events_of(&result, 2), 0);
	assert_int_equal(opened, 3);
	assert_int_equal(closed, 3);
	pasta_result_free(&result);
}

static void a_tool_that_fails_is_closed_and_the_others_go_on(void **state)
{
	static const char *const modes[] = {"beta.mode=no-open", "beta.mode=no-report",
					    "beta.mode=bad-cell"};
	static const char *const texts[] = {
		"cannot open: by request", "cannot report: No space left on device",
		"table events, column events: the tool added a cell of type string, not int"};
	struct pasta_result result;
	int i;

	for (i = 0; i < 3; i++) {
		begin(NULL);
		assert_int_equal(drive(&result, "alpha,beta,gamma", modes[i]), 1);
		assert_int_equal(result.count, 3);
		assert_int_equal(events_of(&result, 0), 3);
		assert_string_equal(result.outs[1]->err.text, texts[i]);
		assert_int_equal(result.outs[1]->table_count, 0);
		assert_int_equal(events_of(&result, 2), 0);
		assert_int_equal(closed, 3);
		pasta_result_free(&result);
	}
}

static void a_toolset_that_is_freed_early_closes_its_tools(void **state)
{
	struct pasta_choice choice = {0};
	struct pasta_result result = {0};
	struct pasta_toolset *l;

	assert_int_equal(pasta_choice_add(&choice, "alpha", NULL), 0);
	assert_non_null(pasta_result_out(&result, "alpha"));
	l = pasta_toolset_new(&choice, result.outs, PASTA_TOOLSET_ALL);
	pasta_toolset_open(l);
	pasta_toolset_free(l);
	pasta_toolset_free(NULL);
	assert_int_equal(closed, 1);
	pasta_result_free(&result);
	pasta_choice_free(&choice);
}

static void what_cannot_be_chosen_is_explained(void **state)
{
	struct pasta_choice choice = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_choice_add(&choice, "alpha,nosuch", &err), -ENOENT);
	assert_string_equal(err.text,
			    "unknown tool 'nosuch': 'accelprof tools' lists all tools, and "
			    "--tool-path DIR adds the tools of a folder");
	assert_int_equal(pasta_choice_add(&choice, "", &err), -ENOENT);
	assert_int_equal(pasta_choice_set(&choice, "alpha.speed=1", &err), -ENOENT);
	assert_string_equal(
		err.text,
		"tool alpha has no option 'speed': 'accelprof tools alpha' lists its options");
	assert_int_equal(pasta_choice_set(&choice, "alph.mode=1", &err), -ENOENT);
	assert_int_equal(pasta_choice_set(&choice, "alpha.mode", &err), -EINVAL);
	assert_int_equal(pasta_choice_set(&choice, "mode=well", &err), -EINVAL);
	assert_int_equal(pasta_choice_set(&choice, "alpha.mode=a=b.c", &err), 0);
	assert_string_equal(pasta_opt(&choice.tools[0], "mode"), "a=b.c");
	pasta_choice_free(&choice);
}

static void a_tool_is_chosen_once(void **state)
{
	struct pasta_choice choice = {0};

	assert_int_equal(pasta_choice_add(&choice, "beta,alpha,beta", NULL), 0);
	assert_int_equal(choice.count, 2);
	assert_true(pasta_choice_events(&choice) == (PASTA_MASK(REGION) | PASTA_MASK(KERNEL)));
	pasta_choice_free(&choice);
}

static void the_registry_refuses_what_cannot_work(void **state)
{
	static struct pasta_tool other, newer, nameless, silent;
	struct pasta_error err = {0};

	assert_int_equal(pasta_tool_check(&err), 0);
	other = newer = nameless = silent = alpha;
	pasta_tool_register(&other);
	assert_int_equal(pasta_tool_check(&err), -EEXIST);
	assert_string_equal(err.text, "tool alpha is left out: another tool has the same name "
				      "(built in): rename one of the two");
	newer.api_major++;
	newer.name = "newer";
	pasta_tool_register(&newer);
	nameless.name = "No Name";
	pasta_tool_register(&nameless);
	silent.name = "silent";
	silent.report = NULL;
	pasta_tool_register(&silent);
	assert_null(pasta_tool_find("newer"));
	assert_null(pasta_tool_find("silent"));
	assert_ptr_equal(pasta_tool_find("alpha"), &alpha);
	assert_ptr_equal(pasta_tool_at(0), &alpha);
	assert_ptr_equal(pasta_tool_at(2), &gamma_);
	assert_null(pasta_tool_at(3));
}

static void messages_have_the_name_of_their_tool_and_end_at_a_hundred(void **state)
{
	struct pasta_result result;
	char *text = drive_aloud(&result, "alpha", "alpha.mode=talk");
	size_t lines = 0;

	assert_ptr_equal(strstr(text, "accelprof: alpha: warning: 0\\x1b[31m\n"), text);
	assert_non_null(strstr(text, "\naccelprof: alpha: 99\\x1b[31m\n"));
	assert_null(strstr(text, "alpha: 100"));
	assert_non_null(strstr(text, "\naccelprof: alpha: 50 more messages\n"));
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 101);
	free(text);
	pasta_result_free(&result);
}

static void a_tool_returns_why_it_cannot_report(void **state)
{
	struct pasta_result result;

	assert_int_equal(drive(&result, "alpha", "alpha.mode=explain"), 1);
	assert_int_equal(result.outs[0]->err.code, -EIO);
	assert_non_null(strstr(result.outs[0]->err.text, "cannot report: the moon is full"));
	pasta_result_free(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tools_get_the_kinds_that_they_want, begin),
		cmocka_unit_test_setup(a_tool_that_fails_is_closed_and_the_others_go_on, begin),
		cmocka_unit_test_setup(a_toolset_that_is_freed_early_closes_its_tools, begin),
		cmocka_unit_test_setup(messages_have_the_name_of_their_tool_and_end_at_a_hundred,
				       begin),
		cmocka_unit_test_setup(a_tool_returns_why_it_cannot_report, begin),
		cmocka_unit_test(what_cannot_be_chosen_is_explained),
		cmocka_unit_test(a_tool_is_chosen_once),
		cmocka_unit_test(the_registry_refuses_what_cannot_work),
	};

	pasta_tool_register(&gamma_);
	pasta_tool_register(&alpha);
	pasta_tool_register(&beta);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
