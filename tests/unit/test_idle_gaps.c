/* test_idle_gaps.c - tests the example idle_gaps against a search through all events. */
/* labels: onethread */
#include "../../examples/idle_gaps.c"

#include "unit/tooltest.h"

enum { STEPS = 700, EVENTS_MAX = 2 * STEPS, CAUSES = 5 };

static struct pasta_event events[EVENTS_MAX];
static size_t event_count;

static void send_work(uint64_t time, uint64_t corr, uint64_t dur)
{
	send_kernel(0, time, corr, "k", dur);
}

static void send_sync(uint32_t tid, uint64_t time, uint64_t dur, uint8_t sub)
{
	struct pasta_event ev = EVENT(sync, SYNC, 0, tid, time);

	ev.sub = sub;
	ev.sync.dur = dur;
	send_event(&ev);
}

/* A device that is idle from 200 to 300. */
static const char *gap_with(uint8_t sync, uint64_t sync_time, uint64_t launch)
{
	send_launch(0, 7, 90, 1, "k");
	send_work(100, 1, 100);
	if (sync)
		send_sync(7, sync_time, 115, sync);
	send_launch(0, 7, launch, 2, "k");
	send_work(300, 2, 10);
	assert_int_equal(finish(), 0);
	return table("idle_gaps");
}

static void work_that_is_launched_in_the_gap_is_late(void **state)
{
	(void)state;
	assert_string_equal(gap_with(0, 0, 200), "#0 device 0 late launch 1 100 100 100 100.00\n");
	assert_string_equal(finding(0), "an idle device");
	assert_string_equal(result.outs[0]->findings[0].evidence, "late launch: 48% of its time");
}

static void work_that_was_launched_earlier_is_queued(void **state)
{
	(void)state;
	assert_string_equal(gap_with(0, 0, 199), "#0 device 0 queued 1 100 100 100 100.00\n");
}

static void a_wait_that_ends_in_the_gap_is_sync(void **state)
{
	(void)state;
	assert_string_equal(gap_with(PASTA_SYNC_STREAM, 95, 250),
			    "#0 device 0 sync 1 100 100 100 100.00\n");
	start_over(NULL);
	assert_non_null(strstr(gap_with(PASTA_SYNC_STREAM, 80, 250), "late launch"));
	start_over(NULL);
	assert_non_null(strstr(gap_with(PASTA_SYNC_STREAM_WAIT, 95, 250), "late launch"));
}

static void work_that_overlaps_leaves_no_gap(void **state)
{
	(void)state;
	send_work(100, 1, 0);
	send_work(100, 2, 100);
	send_work(120, 3, 10);
	send_work(200, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("idle_gaps"), "");
	assert_string_equal(finding(0), "");
}

/* -- Against all events. -- */

static struct pasta_event *make_event(uint8_t kind, uint32_t proc, uint32_t tid, uint64_t time)
{
	struct pasta_event *ev = &events[event_count];

	/* No two events have the same time, so that their order is unique. */
	*ev = (struct pasta_event){.size = sizeof(*ev), .kind = kind, .proc = proc, .tid = tid};
	ev->time = time * EVENTS_MAX + event_count++;
	return ev;
}

static void make_work(const struct pasta_event *launch, uint64_t time)
{
	static const uint8_t kinds[] = {PASTA_KIND_KERNEL, PASTA_KIND_KERNEL, PASTA_KIND_KERNEL,
					PASTA_KIND_COPY, PASTA_KIND_SET};
	uint8_t kind = kinds[random_below(5)];
	struct pasta_event *ev = make_event(kind, launch->proc, 0, time + 1 + random_below(30));
	uint64_t dur = random_below(12) * EVENTS_MAX, corr = launch->launch.corr;
	uint32_t device = (uint32_t)random_below(2);

	corr += random_below(20) ? 0 : 1000000; /* the launch was not recorded */
	if (kind == PASTA_KIND_KERNEL) {
		ev->kernel.dur = dur;
		ev->kernel.corr = corr;
		ev->kernel.device = device;
	} else if (kind == PASTA_KIND_COPY) {
		ev->sub = (uint8_t)random_below(6);
		ev->copy.dur = dur;
		ev->copy.corr = corr;
		ev->copy.device = device;
	} else {
		ev->set.dur = dur;
		ev->set.corr = corr;
		ev->set.device = device;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct pasta_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static void make_events(void)
{
	uint64_t time = 100;

	event_count = 0;
	for (int i = 0; i < STEPS; i++) {
		uint32_t proc = (uint32_t)random_below(3), tid = 1 + (uint32_t)random_below(2);
		struct pasta_event *ev;

		if (random_below(3)) {
			ev = make_event(PASTA_KIND_LAUNCH, proc, tid, time);
			ev->launch.corr = (uint64_t)i + 1;
			make_work(ev, time);
		} else {
			ev = make_event(PASTA_KIND_SYNC, proc, tid, time);
			ev->sub = (uint8_t)random_below(5);
			ev->sync.dur = random_below(10) * EVENTS_MAX;
		}
		time += random_below(8);
	}
	qsort(events, event_count, sizeof(*events), by_time);
}

static bool is_wait(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_SYNC && ev->sub != PASTA_SYNC_STREAM_WAIT;
}

static bool is_work(const struct pasta_event *ev, uint32_t proc, uint32_t device)
{
	return ev->proc == proc &&
	       ((ev->kind == PASTA_KIND_KERNEL && ev->kernel.device == device) ||
		(ev->kind == PASTA_KIND_COPY && ev->copy.device == device &&
		 ev->sub != PASTA_COPY_H2H) ||
		(ev->kind == PASTA_KIND_SET && ev->set.device == device));
}

/* Returns the last launch or wait of a thread before an event, or NULL. */
static const struct pasta_event *last_of(const struct pasta_event *before, uint32_t proc,
					 uint32_t tid)
{
	while (before-- > events)
		if (before->proc == proc && before->tid == tid &&
		    (before->kind == PASTA_KIND_LAUNCH || is_wait(before)))
			return before;
	return NULL;
}

static const struct pasta_event *launch_of(const struct pasta_event *work)
{
	uint64_t corr = work->kind == PASTA_KIND_KERNEL ? work->kernel.corr : work->set.corr;

	for (const struct pasta_event *ev = events; ev < work; ev++)
		if (ev->kind == PASTA_KIND_LAUNCH && ev->proc == work->proc &&
		    ev->launch.corr == corr)
			return ev;
	return NULL;
}

static enum cause want_cause(const struct pasta_event *work, uint64_t idle_since)
{
	const struct pasta_event *launch = launch_of(work), *at = work, *wait;

	if (work->kind == PASTA_KIND_COPY)
		return COPY;
	if (!launch)
		return UNKNOWN;
	if (launch->time < idle_since)
		return QUEUED;
	/* Go back to the thread's latest launch after a wait. */
	while ((at = last_of(at, work->proc, launch->tid))) {
		wait = last_of(at, work->proc, launch->tid);
		if (at->kind == PASTA_KIND_LAUNCH && wait && is_wait(wait))
			return at == launch && wait->time + wait->sync.dur > idle_since
				       ? SYNC
				       : LATE_LAUNCH;
	}
	return LATE_LAUNCH;
}

struct want {
	uint64_t count, idle, max;
};

static void want_gaps(uint32_t proc, uint32_t device, struct want *wants)
{
	for (const struct pasta_event *ev = events; ev < events + event_count; ev++) {
		uint64_t end = 0;
		struct want *w;

		for (const struct pasta_event *e = events; e < ev; e++)
			if (is_work(e, proc, device) && e->time + pasta_work_ns(e) > end)
				end = e->time + pasta_work_ns(e);
		if (!is_work(ev, proc, device) || !end || ev->time <= end)
			continue;
		w = &wants[want_cause(ev, end)];
		w->count++;
		w->idle += ev->time - end;
		w->max = ev->time - end > w->max ? ev->time - end : w->max;
	}
}

/* All rows of the table are as expected, and none is missing. */
static void check(void)
{
	uint64_t causes_seen[CAUSES] = {0};
	const char *text = table("idle_gaps");
	size_t rows = 0;
	char row[120];

	for (uint32_t i = 0; i < 6; i++) {
		struct want wants[CAUSES] = {0};

		want_gaps(i / 2, i % 2, wants);
		for (int c = 0; c < CAUSES; c++) {
			const struct want *w = &wants[c];

			if (!w->count)
				continue;
			snprintf(row, sizeof(row), "#%u device %u %s %llu %llu %llu %llu ", i / 2,
				 i % 2, causes[c], (unsigned long long)w->count,
				 (unsigned long long)w->idle,
				 (unsigned long long)(w->idle / w->count),
				 (unsigned long long)w->max);
			if (!strstr(text, row))
				fail_msg("no '%s' in\n%s", row, text);
			rows++;
			causes_seen[c]++;
		}
	}
	assert_int_equal(pasta_table_rows(table_of("idle_gaps")), rows);
	for (int c = 0; c < CAUSES; c++)
		assert_true(causes_seen[c] > 0);
}

/* Returns the state of one shard, which has one process. */
static struct pasta_toolset *shard(struct pasta_result *own, uint32_t proc)
{
	struct pasta_toolset *whole = toolset, *part = another_toolset(own);
	struct pasta_correlate *whole_correlate = correlate;

	toolset = part;
	correlate = pasta_correlate_new(true);
	assert_non_null(correlate);
	for (size_t i = 0; i < event_count; i++)
		if (events[i].proc == proc)
			send_event(&events[i]);
	pasta_correlate_end(correlate);
	send_joined();
	pasta_correlate_free(correlate);
	correlate = whole_correlate;
	toolset = whole;
	return part;
}

static void a_search_through_all_events_agrees(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		start_over(NULL);
		make_events();
		for (size_t i = 0; i < event_count; i++)
			send_event(&events[i]);
		assert_int_equal(finish(), 0);
		check();
	}
}

static void merged_states_equal_a_single_one(void **state)
{
	struct pasta_result own = {0};
	struct pasta_toolset *parts[3];

	(void)state;
	make_events();
	for (uint32_t i = 0; i < 3; i++)
		parts[i] = shard(&own, i);
	pasta_toolset_merge(parts[1], parts[0]);
	pasta_toolset_merge(parts[1], parts[2]);
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts[1]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	check();
	for (int i = 0; i < 3; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_that_is_launched_in_the_gap_is_late),
		TEST(work_that_was_launched_earlier_is_queued),
		TEST(a_wait_that_ends_in_the_gap_is_sync),
		TEST(work_that_overlaps_leaves_no_gap),
		TEST(a_search_through_all_events_agrees),
		TEST(merged_states_equal_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
