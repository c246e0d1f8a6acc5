/* tooltest.h - sends made-up events to a tool. Include it after the tool's own file. */
#ifndef PASTA_TESTS_TOOLTEST_H
#define PASTA_TESTS_TOOLTEST_H

#include "unit/support.h"

#include "core/strings.h"
#include "process/join/correlate.h"
#include "process/join/directory.h"
#include "process/run/toolset.h"

static struct pasta_choice choice;
static struct pasta_result result;
static struct pasta_toolset *toolset;
static struct pasta_correlate *correlate;

/* Returns a new state of the tool, to be merged with others. All states report to the same
 * result. */
__attribute__((unused)) static struct pasta_toolset *another_toolset(struct pasta_result *own)
{
	struct pasta_out *out =
		own->count ? own->outs[0] : pasta_result_out(own, choice.tools[0].tool->name);
	struct pasta_toolset *l = pasta_toolset_new(&choice, &out, PASTA_TOOLSET_ALL);

	assert_non_null(l);
	pasta_toolset_open(l);
	return l;
}

__attribute__((unused)) static void start(void)
{
	correlate = pasta_correlate_new(true);
	assert_non_null(correlate);
	toolset = another_toolset(&result);
	if (pasta_toolset_kinds(toolset) & PASTA_MASK(UNMATCHED))
		assert_int_equal(pasta_correlate_unmatched(correlate), 0);
}

__attribute__((unused)) static void stop(void)
{
	pasta_toolset_free(toolset);
	pasta_correlate_free(correlate);
	pasta_result_free(&result);
	pasta_directory_fill(NULL);
}

/* Only the tool under test is linked. */
__attribute__((unused)) static int setup(void **state)
{
	(void)state;
	if (pasta_choice_add(&choice, pasta_tool_at(0)->name, NULL))
		return -1;
	start();
	return 0;
}

__attribute__((unused)) static int teardown(void **state)
{
	(void)state;
	stop();
	pasta_choice_free(&choice);
	return 0;
}

/* Restarts the tool, with an option such as "regions.iterations=no", or NULL. */
__attribute__((unused)) static void start_over(const char *option)
{
	struct pasta_error err = {0};

	stop();
	if (option && pasta_choice_set(&choice, option, &err))
		fail_msg("%s", err.text);
	start();
}

/* Passes the events that the correlator has released to the tool. */
__attribute__((unused)) static void send_joined(void)
{
	const struct pasta_where *where;
	const struct pasta_event *ev;

	while ((ev = pasta_correlate_next(correlate, &where)))
		pasta_toolset_event(toolset, ev, where);
}

/* Registers a process, as a stream does before its first event. */
static void know_process(const struct pasta_event *ev)
{
	const struct pasta_process_record *r = &ev->process;

	pasta_correlate_recorded(correlate, ev->proc, r->kinds);
	assert_int_equal(pasta_directory_add(&(struct pasta_process_info){
				 .proc = ev->proc,
				 .pid = r->pid,
				 .rank = r->rank ? r->rank - 1 : PASTA_NO_RANK,
				 .world = r->world,
				 .kinds = r->kinds,
				 .host = pasta_str(r->host),
				 .command = pasta_str(r->command),
				 .source = pasta_str(r->source)}),
			 0);
}

/* Sends an event as a stream does: through the correlator to the tool. */
__attribute__((unused)) static void send_event(const struct pasta_event *ev)
{
	const struct pasta_where *where;

	if (ev->kind == PASTA_KIND_PROCESS)
		know_process(ev);
	if (ev->kind == PASTA_KIND_DEVICE)
		assert_int_equal(pasta_directory_event(ev), 0);
	if (pasta_correlate_push(correlate, ev, &where))
		pasta_toolset_event(toolset, ev, where);
	else
		send_joined();
}

/* Ends the events and lets the tool report. Returns the tool's error, or 0. */
__attribute__((unused)) static int finish(void)
{
	pasta_correlate_end(correlate);
	send_joined();
	pasta_toolset_report(toolset);
	return pasta_out_end(result.outs[0]);
}

__attribute__((unused)) static uint32_t id(const char *name)
{
	return name ? pasta_strings_add(name, strlen(name)) : 0;
}

#define EVENT(type, KIND_, proc_, tid_, time_)                                                     \
	{                                                                                          \
		.size = PASTA_EVENT_SIZE(type), .kind = PASTA_KIND_##KIND_, .proc = (proc_),       \
		.tid = (tid_), .time = (time_)                                                     \
	}

__attribute__((unused)) static void send_launch(uint32_t proc, uint32_t tid, uint64_t time,
						uint64_t corr, const char *name)
{
	struct pasta_event ev = EVENT(launch, LAUNCH, proc, tid, time);

	ev.launch.corr = corr;
	ev.launch.name = id(name);
	send_event(&ev);
}

__attribute__((unused)) static struct pasta_event
kernel_event(uint32_t proc, uint64_t time, uint64_t corr, const char *name, uint64_t dur)
{
	struct pasta_event ev = EVENT(kernel, KERNEL, proc, 1, time);

	ev.kernel.corr = corr;
	ev.kernel.name = id(name);
	ev.kernel.dur = dur;
	ev.kernel.grid_x = ev.kernel.grid_y = ev.kernel.grid_z = 1;
	return ev;
}

__attribute__((unused)) static void send_kernel(uint32_t proc, uint64_t time, uint64_t corr,
						const char *name, uint64_t dur)
{
	struct pasta_event ev = kernel_event(proc, time, corr, name, dur);

	send_event(&ev);
}

__attribute__((unused)) static const struct pasta_table *table_of(const char *name)
{
	const struct pasta_out *out = result.outs[0];

	for (size_t i = 0; i < out->table_count; i++)
		if (!strcmp(out->tables[i]->name, name))
			return out->tables[i];
	return NULL;
}

/* Returns a table as text: one line per row, cells separated by spaces, - for no value. Returns
 * NULL if the tool has no such table. */
__attribute__((unused)) static const char *table(const char *name)
{
	static char text[1 << 18];
	const struct pasta_table *t = table_of(name);
	size_t at = 0;

	text[0] = '\0';
	for (size_t row = 0; t && row < pasta_table_rows(t); row++)
		for (size_t col = 0; col < t->count; col++) {
			const union pasta_value *v = pasta_table_cell(t, row, col);
			const char *gap = col + 1 == t->count ? "\n" : " ";
			enum pasta_column_type type = t->columns[col].type;

			if (!v)
				at += (size_t)sprintf(text + at, "-%s", gap);
			else if (type == PASTA_COLUMN_STRING)
				at += (size_t)sprintf(text + at, "%s%s", v->s, gap);
			else if (type == PASTA_COLUMN_INT)
				at += (size_t)sprintf(text + at, "%lld%s", (long long)v->i, gap);
			else
				at += (size_t)sprintf(text + at, "%.2f%s", v->f, gap);
			assert_true(at < sizeof(text) - 4096);
		}
	return t ? text : NULL;
}

/* Returns the text of a finding, counted from 0, or "" past the last one. */
__attribute__((unused)) static const char *finding(size_t i)
{
	return i < result.outs[0]->finding_count ? result.outs[0]->findings[i].what : "";
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
