/* test_launch_storms.c - tests the example launch_storms against a count of all pairs. */
/* labels: onethread */
#include "../../examples/launch_storms.c"

#include "unit/tooltest.h"

enum { COUNT = 1200, LEAST = 8, WINDOW = 1000 };

static struct pasta_event launches[COUNT];

static struct pasta_event launch_event(uint32_t proc, uint32_t tid, uint64_t time)
{
	struct pasta_event ev = EVENT(launch, LAUNCH, proc, tid, time);

	return ev;
}

static void send_burst(uint32_t tid, uint64_t time, uint64_t step, int count, uint32_t work)
{
	for (int i = 0; i < count; i++) {
		struct pasta_event ev = launch_event(0, tid, time + step * (uint64_t)i);

		ev.launch.work = work;
		send_event(&ev);
	}
}

static void a_window_with_enough_launches_is_a_storm(void **state)
{
	(void)state;
	start_over("launch_storms.window=1us");
	send_burst(1, 5000, 10, 50, PASTA_LAUNCH_WORK_KERNEL);
	send_burst(2, 5600, 8, 49, PASTA_LAUNCH_WORK_KERNEL);
	send_burst(1, 8000, 1000, 10, PASTA_LAUNCH_WORK_KERNEL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launch_storms"), "thread 1 60 1 1000\nthread 2 49 0 0\n");
	assert_string_equal(table("worst_storms"), "thread 1 0 50 10\n");
	assert_string_equal(finding(0), "storms of kernel launches: 1");
	assert_string_equal(result.outs[0]->findings[0].where, "thread 1");
	assert_string_equal(result.outs[0]->findings[0].evidence,
			    "the worst has 50 launches, 0.0 us apart");
	assert_string_equal(finding(1), "");
}

static void only_launches_of_kernels_count(void **state)
{
	(void)state;
	send_burst(1, 10, 1, 100, PASTA_LAUNCH_WORK_COPY);
	send_burst(1, 200, 1, 100, PASTA_LAUNCH_WORK_GRAPH);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launch_storms"), "");
	start_over(NULL);
	send_burst(1, 10, 1, 100, PASTA_LAUNCH_WORK_UNKNOWN);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launch_storms"), "thread 1 100 1 1000000\n");
}

static void bad_options_are_refused(void **state)
{
	(void)state;
	start_over("launch_storms.least=1");
	assert_int_equal(finish(), -EINVAL);
	pasta_choice_set(&choice, "launch_storms.least=50", NULL);
	start_over("launch_storms.window=0");
	assert_int_equal(finish(), -EINVAL);
}

/* -- Against all pairs: launches of one thread in one window. -- */

static void make_launches(void)
{
	uint64_t time = 12345;

	for (int i = 0; i < COUNT; i++) {
		launches[i] =
			launch_event((uint32_t)random_below(3), (uint32_t)random_below(3), time);
		time += random_below(random_below(20) ? 60 : 3000);
	}
}

static bool same_thread(const struct pasta_event *a, const struct pasta_event *b)
{
	return a->proc == b->proc && a->tid == b->tid;
}

/* Returns the number of launches in a's thread and window; 0 if a is not the first. */
static uint64_t count_from(const struct pasta_event *a, uint64_t *last)
{
	uint64_t count = 0;

	for (const struct pasta_event *b = launches; b < launches + COUNT; b++)
		if (same_thread(a, b) && a->time / WINDOW == b->time / WINDOW) {
			if (b < a)
				return 0;
			count++;
			*last = b->time;
		}
	return count;
}

struct line {
	uint64_t order[3];
	char text[120];
};

static int by_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	for (int i = 0; i < 3; i++)
		if (x->order[i] != y->order[i])
			return x->order[i] < y->order[i] ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void join(struct line *lines, size_t count, char *text)
{
	qsort(lines, count, sizeof(*lines), by_order);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		text += sprintf(text, "%s", lines[i].text);
}

static void want_storms(char *text)
{
	static struct line lines[COUNT];
	size_t n = 0;

	for (int i = 0; i < COUNT; i++) {
		const struct pasta_event *a = &launches[i];
		uint64_t last, gap, count = count_from(a, &last);

		if (count < LEAST)
			continue;
		gap = (last - a->time) / (count - 1);
		lines[n].order[0] = UINT64_MAX - count;
		lines[n].order[1] = gap;
		lines[n].order[2] = a->time;
		sprintf(lines[n++].text, "%s %llu %llu %llu\n", pasta_thread(a->proc, a->tid)->text,
			(unsigned long long)(a->time - launches[0].time), (unsigned long long)count,
			(unsigned long long)gap);
	}
	assert_true(n > 5);
	join(lines, n, text);
}

static void want_threads(char *text)
{
	struct line lines[9] = {0};

	for (uint32_t thread = 0; thread < 9; thread++) {
		const struct pasta_event own = launch_event(thread / 3, thread % 3, 0);
		uint64_t last, count = 0, storms = 0;

		for (int i = 0; i < COUNT; i++)
			if (same_thread(&own, &launches[i])) {
				count++;
				storms += count_from(&launches[i], &last) >= LEAST;
			}
		lines[thread].order[0] = UINT64_MAX - storms;
		lines[thread].order[1] = UINT64_MAX - count;
		sprintf(lines[thread].text, "%s %llu %llu %llu\n",
			pasta_thread(own.proc, own.tid)->text, (unsigned long long)count,
			(unsigned long long)storms, (unsigned long long)storms * WINDOW);
	}
	join(lines, 9, text);
}

static void check(void)
{
	static char text[1 << 17];

	want_storms(text);
	assert_string_equal(table("worst_storms"), text);
	want_threads(text);
	assert_string_equal(table("launch_storms"), text);
}

static void all_pairs_agree_and_merged_states_do(void **state)
{
	struct pasta_result own = {0};
	struct pasta_toolset *parts[3];

	(void)state;
	assert_int_equal(pasta_choice_set(&choice, "launch_storms.window=1us", NULL), 0);
	assert_int_equal(pasta_choice_set(&choice, "launch_storms.least=8", NULL), 0);
	start_over("launch_storms.top=0");
	make_launches();
	for (int i = 0; i < 3; i++)
		parts[i] = another_toolset(&own);
	for (int i = 0; i < COUNT; i++) {
		pasta_toolset_event(parts[launches[i].proc], &launches[i], NULL);
		send_event(&launches[i]);
	}
	assert_int_equal(finish(), 0);
	check();
	pasta_result_free(&result);
	result = own;
	pasta_toolset_merge(parts[2], parts[0]);
	pasta_toolset_merge(parts[2], parts[1]);
	pasta_toolset_report(parts[2]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	check();
	for (int i = 0; i < 3; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_with_enough_launches_is_a_storm),
		TEST(only_launches_of_kernels_count),
		TEST(bad_options_are_refused),
		TEST(all_pairs_agree_and_merged_states_do),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
