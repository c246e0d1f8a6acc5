/* test_chart.c - charts that tools report: typed, copied, and never a crash. */
/* labels: onethread */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/sample.h"

static const struct pasta_axis time_ = {"time", "ns"}, bytes = {"bytes", NULL};
static const char *const frames[] = {"main", NULL, "leaf"};

static int begin(void **state)
{
	static struct pasta_result result;

	memset(&result, 0, sizeof(result));
	*state = &result;
	return pasta_result_out(&result, "tool") ? 0 : -1;
}

static int end(void **state)
{
	pasta_result_free(*state);
	return 0;
}

static struct pasta_out *out_of(void **state)
{
	return ((struct pasta_result *)*state)->outs[0];
}

static struct pasta_chart *chart(void **state, enum pasta_chart_type type)
{
	return sample_chart(out_of(state), "c", type, &time_, &bytes);
}

/* Checks that the report failed with this error, and has no charts. */
static void failed(void **state, const char *wanted)
{
	struct pasta_out *out = out_of(state);

	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(out->err.text, wanted);
	assert_int_equal(out->chart_count, 0);
}

static void points_are_of_the_last_series(void **state)
{
	struct pasta_chart *c = chart(state, PASTA_CHART_LINE);
	char name[] = "first";

	pasta_chart_series(c, name);
	name[0] = 'X';
	for (int i = 0; i < 100; i++)
		pasta_chart_point(c, i / 2, i);
	pasta_chart_series(c, NULL);
	pasta_chart_series(c, "first");
	pasta_chart_point(c, -1, INFINITY);
	assert_int_equal(pasta_out_end(out_of(state)), 0);
	assert_int_equal(c->series_count, 3);
	assert_string_equal(c->series[0].name, "first");
	assert_int_equal(c->series[0].count, 100);
	assert_string_equal(c->series[1].name, "");
	assert_int_equal(c->series[1].count, 0);
	assert_int_equal(c->series[2].first, 100);
	assert_true(c->items[99].point.x == 49 && c->items[99].point.y == 99);
	assert_true(c->items[100].point.x == -1 && isinf(c->items[100].point.y));
}

static void bars_cells_and_stacks_are_copied(void **state)
{
	struct pasta_out *out = out_of(state);
	struct pasta_chart *bar = sample_chart(out, "b", PASTA_CHART_BAR, NULL, NULL),
			   *heat = sample_heat(out, "h", PASTA_CHART_HEAT, &time_, &bytes,
					       &(struct pasta_axis){"v", "%"}),
			   *flame = sample_chart(out, "f", PASTA_CHART_FLAME, NULL, &time_);
	char label[] = "label";

	pasta_chart_bar(bar, label, NAN);
	label[0] = 'X';
	pasta_chart_cell(heat, -1, 2, 3);
	pasta_chart_stack(flame, frames, 3, INT64_MAX);
	assert_int_equal(pasta_out_end(out), 0);
	assert_string_equal(bar->items[0].bar.label, "label");
	assert_string_equal(bar->x.name, "label");
	assert_string_equal(bar->y.name, "value");
	assert_string_equal(heat->x.unit, "ns");
	assert_null(heat->y.unit);
	assert_string_equal(heat->value.unit, "%");
	assert_true(heat->items[0].cell.x == -1 && heat->items[0].cell.value == 3);
	assert_int_equal(flame->items[0].stack.count, 3);
	assert_string_equal(flame->items[0].stack.frames[0], "main");
	assert_string_equal(flame->items[0].stack.frames[1], "");
	assert_string_equal(flame->items[0].stack.frames[2], "leaf");
	assert_string_equal(flame->x.name, "stack");
}

static void an_item_of_another_chart_type_fails_and_names_the_chart(void **state)
{
	static const char *const wanted[] = {"chart c: type bar has no series",
					     "chart c: type heat has no points",
					     "chart c: type flame has no bars",
					     "chart c: type line has no cells",
					     "chart c: type bar has no stacks"};
	static const enum pasta_chart_type types[] = {PASTA_CHART_BAR, PASTA_CHART_HEAT,
						      PASTA_CHART_FLAME, PASTA_CHART_LINE,
						      PASTA_CHART_BAR};

	for (int i = 0; i < 5; i++) {
		struct pasta_chart *c = chart(state, types[i]);

		if (i == 0)
			pasta_chart_series(c, "s");
		else if (i == 1)
			pasta_chart_point(c, 1, 1);
		else if (i == 2)
			pasta_chart_bar(c, "a", 1);
		else if (i == 3)
			pasta_chart_cell(c, 1, 1, 1);
		else
			pasta_chart_stack(c, frames, 1, 1);
		failed(state, wanted[i]);
		end(state);
		begin(state);
	}
}

static void a_position_that_is_not_a_finite_number_fails(void **state)
{
	struct pasta_chart *c = chart(state, PASTA_CHART_LINE);

	pasta_chart_series(c, "s");
	pasta_chart_point(c, NAN, 1);
	failed(state, "chart c, series s: a point's x is not a finite number");
	end(state);
	begin(state);
	pasta_chart_cell(chart(state, PASTA_CHART_HEAT), 1, -INFINITY, 1);
	failed(state, "chart c: a cell's position is not a finite number");
}

static void the_x_of_a_line_never_decreases(void **state)
{
	struct pasta_chart *c = chart(state, PASTA_CHART_LINE);

	pasta_chart_series(c, "s");
	pasta_chart_point(c, 2, 1);
	pasta_chart_point(c, 1, 1);
	pasta_chart_point(c, 3, 1);
	failed(state, "chart c, series s: x must not decrease");
	end(state);
	begin(state);
	pasta_chart_point(chart(state, PASTA_CHART_LINE), 1, 1);
	failed(state, "chart c: a point was added before the first series");
}

static void a_stack_needs_frames_and_a_value_of_at_least_0(void **state)
{
	pasta_chart_stack(chart(state, PASTA_CHART_FLAME), frames, 0, 1);
	failed(state, "chart c: a stack must have at least one frame, and a value of at least 0");
	end(state);
	begin(state);
	pasta_chart_stack(chart(state, PASTA_CHART_FLAME), frames, 1, -1);
	failed(state, "chart c: a stack must have at least one frame, and a value of at least 0");
	end(state);
	begin(state);
	pasta_chart_stack(chart(state, PASTA_CHART_FLAME), NULL, 1, 1);
	failed(state, "chart c: a stack must have at least one frame, and a value of at least 0");
}

static void a_null_chart_is_ignored(void **state)
{
	assert_null(sample_chart(out_of(state), "", PASTA_CHART_LINE, NULL, NULL));
	assert_null(sample_chart(out_of(state), "c", 99, NULL, NULL));
	pasta_chart_series(NULL, "s");
	pasta_chart_point(NULL, 1, 1);
	pasta_chart_bar(NULL, "a", 1);
	pasta_chart_cell(NULL, 1, 1, 1);
	pasta_chart_stack(NULL, frames, 1, 1);
	failed(state,
	       "cannot add chart '': its type is unknown, or its name is empty or already in use");
}

static void a_name_belongs_to_one_chart_or_table(void **state)
{
	static const struct pasta_column column = {"n", PASTA_COLUMN_INT, NULL};
	struct pasta_out *out = out_of(state);

	assert_non_null(pasta_out_table(out, "t", &column, 1));
	assert_null(sample_chart(out, "t", PASTA_CHART_BAR, NULL, NULL));
	failed(state,
	       "cannot add chart 't': its type is unknown, or its name is empty or already in use");
	end(state);
	begin(state);
	out = out_of(state);
	assert_non_null(chart(state, PASTA_CHART_BAR));
	assert_null(pasta_out_table(out, "c", &column, 1));
	failed(state,
	       "cannot add table 'c': it has no columns, or its name is empty or already in use");
}

static void a_name_with_control_characters_fails_and_is_made_safe(void **state)
{
	assert_null(sample_chart(out_of(state), "c\033[31m", PASTA_CHART_BAR, NULL, NULL));
	failed(state,
	       "the name of chart 'c\\x1b[31m' has a control character: remove the character");
}

static void a_tool_that_failed_has_no_charts(void **state)
{
	struct pasta_out *out = out_of(state);
	struct pasta_chart *c = chart(state, PASTA_CHART_BAR);

	pasta_chart_bar(c, "a", 1);
	pasta_out_fail(out, -EIO, "broken");
	pasta_chart_bar(c, "b", 1);
	assert_int_equal(c->used, 1);
	assert_int_equal(pasta_out_end(out), -EIO);
	assert_int_equal(out->chart_count, 0);
}

/* Makes one error, on a chart that has a lane, a name, a series, edges or a node. */
static void wrong_call(struct pasta_chart *c, int which)
{
	static const double down[] = {0, 2, 1}, nan[] = {0, NAN};
	static const uint64_t counts[] = {1, 2};
	struct pasta_grid grid = {.size = sizeof(grid), .dx = 1, .nx = 2, .dy = 1, .ny = 2};

	switch (which) {
	case 0:
		pasta_chart_slice(c, 1, 0, 1, 0, 0);
		break;
	case 1:
		pasta_chart_slice(c, 0, -1, 1, 0, 0);
		break;
	case 2:
		pasta_chart_slice(c, 0, INT64_MAX, 1, 0, 0);
		break;
	case 3:
		pasta_chart_slice(c, 0, 5, 1, 0, 0), pasta_chart_slice(c, 0, 4, 1, 0, 0);
		break;
	case 4:
		pasta_chart_name(c, "n", (enum pasta_category)9);
		break;
	case 5:
		pasta_chart_spot(c, 1, 1, -1, NULL);
		break;
	case 6:
		pasta_chart_spot(c, 1, NAN, 1, NULL);
		break;
	case 7:
		pasta_chart_limit_slope(c, "l", 0);
		break;
	case 8:
		pasta_chart_point(c, 1, -1);
		break;
	case 9:
		pasta_chart_edges(c, down, 3);
		break;
	case 10:
		pasta_chart_edges(c, nan, 2);
		break;
	case 11:
		pasta_chart_counts(c, counts, 2);
		break;
	case 12:
		pasta_chart_node(c, 0, "n", 1, 1);
		break;
	case 13:
		pasta_chart_edge(c, 0, 0, 1);
		break;
	case 14:
		pasta_chart_cell(c, 0, 0, 1), pasta_chart_grid(c, &grid);
		break;
	case 15:
		pasta_chart_grid(c, &grid), pasta_chart_cell(c, 2, 0, 1);
		break;
	case 16:
		grid.dx = 0, pasta_chart_grid(c, &grid);
		break;
	case 17:
		grid.ny = 0, pasta_chart_grid(c, &grid);
		break;
	default:
		pasta_chart_slice(c, 0, 0, 1, 1, 0);
		break;
	}
}

static void errors_of_new_charts_name_their_cause(void **state)
{
	static const struct {
		enum pasta_chart_type type;
		const char *text;
	} wanted[] = {
		{PASTA_CHART_TIMELINE, "a slice refers to an unknown lane or name"},
		{PASTA_CHART_TIMELINE, "the start or duration of a slice is below 0, or too large"},
		{PASTA_CHART_TIMELINE, "the start or duration of a slice is below 0, or too large"},
		{PASTA_CHART_TIMELINE, "a slice starts before the previous slice of its lane"},
		{PASTA_CHART_TIMELINE, "a slice name has an unknown category"},
		{PASTA_CHART_SCATTER, "the size of a point must be a finite number of at least 0"},
		{PASTA_CHART_SCATTER, "a point's y is not a finite number"},
		{PASTA_CHART_SCATTER, "the slope of a limit line must be above 0"},
		{PASTA_CHART_AREA, "an area must not be below 0"},
		{PASTA_CHART_HISTOGRAM, "the edges of a histogram must ascend"},
		{PASTA_CHART_HISTOGRAM, "an edge is not a finite number"},
		{PASTA_CHART_HISTOGRAM,
		 "pasta_chart_counts must be called once for each series, after pasta_chart_edges, "
		 "with one count for each bin"},
		{PASTA_CHART_GRAPH, "a node of a graph must be added after its parent"},
		{PASTA_CHART_GRAPH, "an edge refers to an unknown node"},
		{PASTA_CHART_HEAT, "pasta_chart_grid must be called once, before pasta_chart_cell"},
		{PASTA_CHART_HEAT, "a cell's position is outside of the grid"},
		{PASTA_CHART_HEAT,
		 "the start positions of a grid must be finite, and its steps must be above 0"},
		{PASTA_CHART_HEAT, "a grid must have 1 to 2^32 - 1 rows and columns"},
		{PASTA_CHART_TIMELINE, "a slice refers to an unknown lane or name"},
	};

	for (int i = 0; i < 19; i++) {
		struct pasta_chart *c = chart(state, wanted[i].type);

		if (c->type == PASTA_CHART_TIMELINE) {
			assert_int_equal(pasta_chart_lane(c, "l", NULL, 0), 0);
			assert_int_equal(pasta_chart_name(c, "n", PASTA_CATEGORY_SYNC), 0);
		}
		if (c->type == PASTA_CHART_AREA || c->type == PASTA_CHART_HISTOGRAM)
			pasta_chart_series(c, "s");
		wrong_call(c, i);
		assert_int_equal(pasta_out_end(out_of(state)), -EINVAL);
		assert_non_null(strstr(out_of(state)->err.text, wanted[i].text));
		assert_memory_equal(out_of(state)->err.text, "chart c", 7);
		end(state);
		begin(state);
	}
}

static void new_calls_fail_on_other_types_and_ignore_a_null_chart(void **state)
{
	struct pasta_grid grid = {.size = sizeof(grid)};

	for (int i = 0; i < 10; i++) {
		for (int null = 0; null < 2; null++) {
			struct pasta_chart *c = null ? NULL : chart(state, PASTA_CHART_BAR);

			switch (i) {
			case 0:
				pasta_chart_lane(c, "l", NULL, 0);
				break;
			case 1:
				pasta_chart_name(c, "n", 0);
				break;
			case 2:
				pasta_chart_slice(c, 0, 0, 1, 0, 1);
				break;
			case 3:
				pasta_chart_spot(c, 1, 1, 1, NULL);
				break;
			case 4:
				pasta_chart_limit_level(c, "l", 1);
				break;
			case 5:
				pasta_chart_edges(c, NULL, 0);
				break;
			case 6:
				pasta_chart_counts(c, NULL, 0);
				break;
			case 7:
				pasta_chart_node(c, PASTA_NO_NODE, "n", 1, 1);
				break;
			case 8:
				pasta_chart_edge(c, 0, 0, 1);
				break;
			default:
				pasta_chart_grid(c, &grid);
				break;
			}
			assert_int_equal(pasta_out_end(out_of(state)), null ? 0 : -EINVAL);
			end(state);
			begin(state);
		}
	}
}

static void a_grid_is_folded_by_the_maximum(void **state)
{
	struct pasta_grid grid = {
		.size = sizeof(grid), .x0 = 10, .dx = 2, .nx = 2, .y0 = -1, .dy = 1, .ny = 2049};
	struct pasta_chart *c = chart(state, PASTA_CHART_HEAT);

	pasta_chart_grid(c, &grid);
	pasta_chart_cell(c, 11, -1, -4);
	pasta_chart_cell(c, 10, 1, -2);
	pasta_chart_cell(c, 10, 2, NAN);
	pasta_chart_cell(c, 13.9, 2047, 5);
	assert_int_equal(pasta_out_end(out_of(state)), 0);
	assert_int_equal(c->grid->as.ny, 683);
	assert_true(c->grid->as.dy == 3);
	assert_int_equal(c->grid->filled, 2);
	assert_true(c->grid->cells[0] == -2);
	assert_true(c->grid->cells[682 * 2 + 1] == 5);
}

static void axes_are_checked(void **state)
{
	static const char *const labels[] = {"a", "b"};
	static const struct pasta_axis named = {.labels = labels, .label_count = 2},
				       none = {.label_count = 2}, strange = {.scale = 2},
				       log = {.scale = PASTA_SCALE_LOG};
	struct pasta_chart *c = sample_chart(out_of(state), "c", PASTA_CHART_HEAT, &named, NULL);

	pasta_chart_cell(c, 1, 7, 1);
	pasta_chart_cell(c, 2, 7, 1);
	failed(state, "chart c: a cell's position must be the index of an axis label");
	end(state), begin(state);
	assert_null(sample_chart(out_of(state), "c", PASTA_CHART_LINE, &named, NULL));
	failed(state, "chart c: only the axes of a heat map have labels");
	end(state), begin(state);
	assert_null(sample_chart(out_of(state), "c", PASTA_CHART_HEAT, &none, NULL));
	failed(state, "chart c: an axis sets .label_count, but its .labels is NULL");
	end(state), begin(state);
	assert_null(sample_chart(out_of(state), "c", PASTA_CHART_HEAT, &strange, NULL));
	failed(state, "chart c: an axis has an unknown scale");
	end(state), begin(state);
	c = sample_chart(out_of(state), "c", PASTA_CHART_LINE, &log, NULL);
	pasta_chart_series(c, "s");
	pasta_chart_point(c, 0, 1);
	failed(state, "chart c, series s: a point's x must be above 0 on a logarithmic axis");
	end(state), begin(state);
	assert_null(pasta_out_chart(out_of(state), &(struct pasta_chart_def){.name = "c"}));
	failed(state, "a chart definition does not set .size: declare it with PASTA_CHART_DEF");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(points_are_of_the_last_series),
		TEST(bars_cells_and_stacks_are_copied),
		TEST(an_item_of_another_chart_type_fails_and_names_the_chart),
		TEST(a_position_that_is_not_a_finite_number_fails),
		TEST(the_x_of_a_line_never_decreases),
		TEST(a_stack_needs_frames_and_a_value_of_at_least_0),
		TEST(a_null_chart_is_ignored),
		TEST(a_name_belongs_to_one_chart_or_table),
		TEST(a_name_with_control_characters_fails_and_is_made_safe),
		TEST(a_tool_that_failed_has_no_charts),
		TEST(errors_of_new_charts_name_their_cause),
		TEST(new_calls_fail_on_other_types_and_ignore_a_null_chart),
		TEST(a_grid_is_folded_by_the_maximum),
		TEST(axes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
