/* test_plot.c - charts of the text format, compared to the character. */
/* labels: onethread */
#include <float.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sink/cell.h"
#include "sink/plot.h"
#include "unit/sample.h"

static struct pasta_result result;
static const struct pasta_axis time_ = {"time", "ns"}, bytes = {"size", "bytes"};

static struct pasta_chart *chart(enum pasta_chart_type type, const struct pasta_axis *x,
				 const struct pasta_axis *y)
{
	pasta_result_free(&result);
	return sample_chart(pasta_result_out(&result, "tool"), "c", type, x, y);
}

static int teardown(void **state)
{
	pasta_result_free(&result);
	return 0;
}

/* Draw a chart and compare. No line ends in a space or is wider than the terminal, unless that is
 * very narrow. */
static void draws(const struct pasta_chart *c, struct pasta_sink_opts opts, const char *expected)
{
	size_t size;
	char *text = NULL, *line, *rest;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(pasta_out_end(c->out), 0);
	assert_int_equal(pasta_plot(f, c, &opts), 0);
	fclose(f);
	assert_string_equal(text, expected);
	rest = text;
	while (!opts.color && (line = strsep(&rest, "\n"))) {
		assert_true(!*line || line[strlen(line) - 1] != ' ');
		assert_true(opts.width < 40 || pasta_cell_width(line) <= opts.width);
	}
	free(text);
}

#define DRAWS(c, expected, ...) draws(c, (struct pasta_sink_opts){__VA_ARGS__}, expected)

/* -- Lines -- */

static struct pasta_chart *line(const double *values, size_t count)
{
	struct pasta_chart *c = chart(PASTA_CHART_LINE, &time_, &bytes);

	pasta_chart_series(c, "s");
	for (size_t i = 0; i < count; i++)
		pasta_chart_point(c, (double)i * 1000, values[i]);
	return c;
}

static void a_line_has_one_column_per_point_and_series_share_a_scale(void **state)
{
	struct pasta_chart *c =
		line((const double[]){0, 1024, 2048, 3072, 4096, 5120, 6144, 7168}, 8);

	pasta_chart_series(c, "half");
	for (int i = 0; i < 8; i++)
		pasta_chart_point(c, i * 1000, i * 512);
	DRAWS(c,
	      "c\n"
	      "series  min        max       last  size\n"
	      "s       0 B  7.000 KiB  7.000 KiB  ▁▂▃▄▅▆▇█\n"
	      "half    0 B  3.500 KiB  3.500 KiB  ▁▁▂▂▃▃▄▅\n"
	      "time: 0 ns to 7.000 us\n",
	      .width = 80);
	DRAWS(c,
	      "c\n"
	      "series  min        max       last  size\n"
	      "s       0 B  7.000 KiB  7.000 KiB  .:-=+*##\n"
	      "time: 0 ns to 7.000 us\n"
	      "... 1 more series (--rows 0 for all)\n",
	      .width = 80, .rows = 1, .ascii = true);
}

static void a_column_has_the_maximum_of_its_points(void **state)
{
	double values[1000] = {0};

	values[500] = 1 << 20;
	DRAWS(line(values, 1000),
	      "c\n"
	      "series  min        max  last  size\n"
	      "s       0 B  1.000 MiB   0 B  ▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁\n"
	      "time: 0 ns to 999.000 us\n"
	      "each column shows the maximum\n",
	      .width = 50);
}

static void a_line_is_interpolated_between_points_but_not_over_a_gap(void **state)
{
	struct pasta_chart *c = line((const double[]){0, 7, NAN, 7, 0, 7, INFINITY, NAN, 1}, 9);

	DRAWS(c,
	      "c\n"
	      "series  min  max  last  size\n"
	      "s       0 B  7 B   1 B  ▁█ █▁█  ▂\n"
	      "time: 0 ns to 8.000 us\n",
	      .width = 80);
	c = line((const double[]){8}, 1);
	pasta_chart_point(c, 1, 0);
	for (int i = 0; i < 6; i++)
		pasta_chart_point(c, 7, 8);
	DRAWS(c,
	      "c\n"
	      "series  min  max  last  size\n"
	      "s       0 B  8 B   8 B  █▁▂▃▅▆▇█\n"
	      "time: 0 ns to 7 ns\n",
	      .width = 80);
}

static void one_point_equal_points_and_no_points_are_lines_too(void **state)
{
	struct pasta_chart *c = line((const double[]){5}, 1);

	DRAWS(c,
	      "c\nseries  min  max  last  size\n"
	      "s       5 B  5 B   5 B  █\ntime: 0 ns\n",
	      .width = 80);
	DRAWS(line((const double[]){5, 5, 5}, 3),
	      "c\nseries  min  max  last  size\n"
	      "s       5 B  5 B   5 B  ███\ntime: 0 ns to 2.000 us\n",
	      .width = 80);
	DRAWS(line((const double[]){0, 0, 0}, 3),
	      "c\nseries  min  max  last  size\n"
	      "s       0 B  0 B   0 B  ▁▁▁\ntime: 0 ns to 2.000 us\n",
	      .width = 80);
	c = line((const double[]){NAN, NAN}, 2);
	pasta_chart_series(c, "none");
	DRAWS(c,
	      "c\nseries  min  max  last  size\n"
	      "s         -    -     -\n"
	      "none      -    -     -\ntime: 0 ns to 1.000 us\n",
	      .width = 80);
}

static void negative_and_huge_numbers_are_drawn(void **state)
{
	DRAWS(line((const double[]){-4, -2, 0, 2, 4}, 5),
	      "c\nseries   min  max  last  size\n"
	      "s       -4 B  4 B   4 B  ▁▃▅▇█\ntime: 0 ns to 4.000 us\n",
	      .width = 80);
	DRAWS(line((const double[]){-5, -5}, 2),
	      "c\nseries   min   max  last  size\n"
	      "s       -5 B  -5 B  -5 B  ▁▁\ntime: 0 ns to 1.000 us\n",
	      .width = 80);
	pasta_chart_series(chart(PASTA_CHART_LINE, NULL, NULL), "s");
	pasta_chart_point(result.outs[0]->charts[0], -DBL_MAX, DBL_MAX);
	pasta_chart_point(result.outs[0]->charts[0], 0, DBL_TRUE_MIN);
	pasta_chart_point(result.outs[0]->charts[0], DBL_MAX, -DBL_MAX);
	DRAWS(result.outs[0]->charts[0],
	      "c\n"
	      "series            min           max           last  y\n"
	      "s       -1.79769e+308  1.79769e+308  -1.79769e+308  █▅▁\n"
	      "x: -1.79769e+308 to 1.79769e+308\n",
	      .width = 80);
}

static void a_narrow_terminal_cuts_names_then_removes_min_and_last(void **state)
{
	struct pasta_chart *c = line((const double[]){0}, 0);

	pasta_chart_series(c, SAMPLE_HOSTILE " and 漢字 and more");
	for (int i = 0; i < 100; i++)
		pasta_chart_point(c, i, 1e9 * i);
	DRAWS(c,
	      "c\n"
	      "series               max  size\n"
	      "s                      -\n"
	      "\\x1b[…d more  92.201 GiB  ▁▂▂▃▃▄▄▅▆▆▇▇██\n"
	      "time: 0 ns to 99 ns\n"
	      "each column shows the maximum\n",
	      .width = 40);
	DRAWS(c,
	      "c\n"
	      "series               max        last  size\n"
	      "s                      -           -\n"
	      "\\x1b[…d more  92.201 GiB  92.201 GiB  ▁▂▂▃▄▄▅▆▆▇██\n"
	      "time: 0 ns to 99 ns; each column shows the maximum\n",
	      .width = 50);
}

/* -- Bars -- */

static void bars_have_eighths_and_small_values_are_visible(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_BAR, &(struct pasta_axis){"what", NULL}, NULL);

	pasta_chart_bar(c, "all", 80);
	pasta_chart_bar(c, "43", 43);
	pasta_chart_bar(c, "one", 1);
	pasta_chart_bar(c, "bit", 0.001);
	pasta_chart_bar(c, "zero", 0);
	pasta_chart_bar(c, "none", NAN);
	pasta_chart_bar(c, "debt", -40);
	DRAWS(c,
	      "c\n"
	      "what  value\n"
	      "all      80  ██████████\n"
	      "43       43  █████▍\n"
	      "one       1  ▏\n"
	      "bit   0.001  ▏\n"
	      "zero      0\n"
	      "none      -\n"
	      "debt    -40  █████\n",
	      .width = 23);
	DRAWS(c,
	      "c\n"
	      "what  value\n"
	      "all      80  ##########\n"
	      "43       43  #####\n"
	      "... 5 more bars (--rows 0 for all)\n",
	      .width = 23, .rows = 2, .ascii = true);
	DRAWS(c,
	      "\033[1mc\033[m\n"
	      "\033[1mwhat  value\033[m\n"
	      "all      80  \033[36m██████████\033[m\n"
	      "… 6 more bars (--rows 0 for all)\n",
	      .width = 23, .rows = 1, .color = true);
}

static void bars_at_40_columns_cut_labels(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_BAR, &(struct pasta_axis){"name", NULL}, &bytes);

	pasta_chart_bar(c, "a/very/long/name/that/does/not/fit", 0x1p41);
	pasta_chart_bar(c, "größe 漢字" SAMPLE_HOSTILE, 0x1p40);
	DRAWS(c,
	      "c\n"
	      "name                    size\n"
	      "a/very/l…/not/fit  2.000 TiB  ██████████\n"
	      "größe 漢…;\\n\"q\",\xef\xbf\xbd  1.000 TiB  █████\n",
	      .width = 40);
}

static void all_bars_of_the_same_length_and_huge_ones(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_BAR, NULL, NULL);

	pasta_chart_bar(c, "a", DBL_MAX);
	pasta_chart_bar(c, "b", -DBL_MAX);
	pasta_chart_bar(c, "c", 1);
	DRAWS(c,
	      "c\n"
	      "label          value\n"
	      "a       1.79769e+308  ██████████\n"
	      "b      -1.79769e+308  ██████████\n"
	      "c                  1  ▏\n",
	      .width = 32);
}

/* -- Heat maps -- */

static void a_heat_map_has_shades_from_zero_to_the_maximum(void **state)
{
	struct pasta_chart *c;

	pasta_result_free(&result);
	c = sample_heat(pasta_result_out(&result, "tool"), "c", PASTA_CHART_HEAT, &time_, &bytes,
			&(struct pasta_axis){"hits", NULL});
	for (int i = 0; i < 5; i++)
		pasta_chart_cell(c, i * 10, 4096, i);
	pasta_chart_cell(c, 0, 0, 4);
	pasta_chart_cell(c, 10, 0, NAN);
	pasta_chart_cell(c, 40, 0, 0.1);
	DRAWS(c,
	      "c\n"
	      "     size\n"
	      "4.000 KiB  │ ░▒▓█│\n"
	      "      0 B  │█   ░│\n"
	      "time: 0 ns to 40 ns\n"
	      "hits: 0 to 4\n",
	      .width = 80);
	DRAWS(c,
	      "c\n"
	      "size\n"
	      " 0 B  |#.:+#|\n"
	      "time: 0 ns to 40 ns\n"
	      "hits: 0 to 4; each cell shows the maximum\n",
	      .width = 80, .rows = 1, .ascii = true);
}

static void a_heat_map_is_folded_to_the_terminal(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_HEAT, NULL, NULL);

	for (int i = 0; i < 10000; i++)
		pasta_chart_cell(c, i % 100, i / 100, i / 100 == i % 100);
	DRAWS(c,
	      "c\n"
	      " y\n"
	      "75  │                         █████████│\n"
	      "50  │                 █████████        │\n"
	      "25  │        █████████                 │\n"
	      " 0  │█████████                         │\n"
	      "x: 0 to 99\n"
	      "value: 0 to 1\n"
	      "each cell shows the maximum\n",
	      .width = 40, .rows = 4);
}

static void one_cell_and_negative_cells_are_heat_maps(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_HEAT, NULL, NULL);

	pasta_chart_cell(c, 1.5, -2, 7);
	DRAWS(c, "c\n y\n-2  │█│\nx: 1.5\nvalue: 0 to 7\n", .width = 40);
	pasta_chart_cell(c, 2.5, -2, -7);
	pasta_chart_cell(c, 3.5, -2, 0);
	DRAWS(c, "c\n y\n-2  │█ ▒│\nx: 1.5 to 3.5\nvalue: -7 to 7\n", .width = 40);
	pasta_chart_cell(c, DBL_MAX, -DBL_MAX, DBL_MAX);
	DRAWS(c,
	      "c\n"
	      "            y\n"
	      "           -2  │░   │\n"
	      "-1.79769e+308  │   █│\n"
	      "x: 1.5 to 1.79769e+308\n"
	      "value: -7 to 1.79769e+308\n",
	      .width = 40);
}

/* -- Flame graphs -- */

static void put(struct pasta_chart *c, const char *stack, int64_t value)
{
	char *copy = strdup(stack), *rest = copy;
	const char *frames[600];
	size_t n = 0;

	while (rest)
		frames[n++] = strsep(&rest, ";");
	pasta_chart_stack(c, frames, n, value);
	free(copy);
}

static struct pasta_chart *calls(void)
{
	struct pasta_chart *c =
		chart(PASTA_CHART_FLAME, &(struct pasta_axis){"call", NULL}, &time_);

	put(c, "main;read", 1000);
	put(c, "main;work;b;x", 3000);
	put(c, "main;work;a", 2000);
	put(c, "main;work", 500);
	put(c, "main;work;a", 2000);
	put(c, "idle", 1500);
	return c;
}

static void frames_are_below_their_parents_the_heaviest_first(void **state)
{
	DRAWS(calls(),
	      "c\n"
	      "    time  share              call\n"
	      "8.500 us  85.0%  ████████▌   main\n"
	      "7.500 us  75.0%  ███████▌      work\n"
	      "4.000 us  40.0%  ████            a\n"
	      "3.000 us  30.0%  ███             b > x\n"
	      "1.000 us  10.0%  █             read\n"
	      "1.500 us  15.0%  █▌          idle\n",
	      .width = 80);
}

static void the_heaviest_frames_are_shown_with_their_parents(void **state)
{
	DRAWS(calls(),
	      "c\n"
	      "    time  share              call\n"
	      "8.500 us  85.0%  #########   main\n"
	      "7.500 us  75.0%  ########      work\n"
	      "4.000 us  40.0%  ####            a\n"
	      "3.000 us  30.0%  ###             b > x\n"
	      "... 2 more frames (--rows 0 for all)\n",
	      .width = 80, .rows = 4, .ascii = true);
}

static void a_narrow_terminal_has_no_bars_and_deep_frames_stay_in_it(void **state)
{
	static const char stack[] =
		"a;b;c;d;e;f;g;h;a very long name of a function;;\\x1b[31mr;" SAMPLE_HOSTILE;
	struct pasta_chart *c = chart(PASTA_CHART_FLAME, NULL, NULL);

	/* Each frame has time of its own, so no frames are folded. */
	for (const char *end = stack; end; end = strchr(end + 1, ';')) {
		char *some = strndup(stack, (size_t)(end - stack));

		if (*some)
			put(c, some, 1);
		free(some);
	}
	put(c, stack, 1);
	DRAWS(c,
	      "c\n"
	      "value   share  stack\n"
	      "   13  100.0%  a\n"
	      "   12   92.3%    b\n"
	      "   11   84.6%      c\n"
	      "   10   76.9%        d\n"
	      "    9   69.2%          e\n"
	      "    8   61.5%            f\n"
	      "    7   53.8%              g\n"
	      "    6   46.2%              h\n"
	      "    5   38.5%              a very…nction\n"
	      "    4   30.8%              (unnamed)\n"
	      "    3   23.1%              \\x1b[31mr\n"
	      "    2   15.4%              \\x1b[31mr\n"
	      "    1    7.7%              \\n\"q\",\xef\xbf\xbd\n",
	      .width = 40);
}

static void a_frame_with_all_the_time_of_its_caller_is_in_the_same_row(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_FLAME, NULL, NULL);

	put(c, "<module> (train.py:98);main (train.py:90);step (train.py:59);a", 1);
	put(c, "<module> (train.py:98);main (train.py:90);step (train.py:59);b;c", 2);
	put(c, "<module> (train.py:98);main (train.py:90);step (train.py:59);b;d", 1);
	DRAWS(c,
	      "c\n"
	      "value   share              stack\n"
	      "    4  100.0%  ██████████  <module> (train.py:98) > main (train.py:90) > step "
	      "(train.py:59)\n"
	      "    3   75.0%  ███████▌      b\n"
	      "    2   50.0%  █████           c\n"
	      "    1   25.0%  ██▌             d\n"
	      "    1   25.0%  ██▌           a\n",
	      .width = 100);
	DRAWS(c,
	      "c\n"
	      "value   share              stack\n"
	      "    4  100.0%  ##########  <module> (train.py:98) > ... > step (train.py:59)\n"
	      "... 4 more frames (--rows 0 for all)\n",
	      .width = 80, .rows = 1, .ascii = true);
	DRAWS(c,
	      "c\n"
	      "value   share              stack\n"
	      "    4  100.0%  ██████████  <modul….py:98) > ... > step (….py:59)\n"
	      "… 4 more frames (--rows 0 for all)\n",
	      .width = 64, .rows = 1);
	DRAWS(c,
	      "c\n"
	      "value   share              stack\n"
	      "    4  100.0%  ██████████  <module> (…ain.py:59)\n"
	      "… 4 more frames (--rows 0 for all)\n",
	      .width = 48, .rows = 1);
}

static void frames_of_the_framework_are_not_shown_and_kernels_have_short_names(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_FLAME, NULL, NULL);

	put(c,
	    "main (a.py:1);Module._wrapped_call_impl (module.py:1779);"
	    "Module._call_impl (module.py:1790);forward (b.py:2);aten::mm;"
	    "nvjet_sm90_tst_8x64_64x16_4x1_v_bz_TNN",
	    3);
	put(c, "main (a.py:1);Module._wrapped_call_impl (module.py:1779);aten::<x>::f", 1);
	put(c, "main (a.py:1);Module._wrapped_call_impl (module.py:1779)", 1);
	put(c, "Module._call_impl (module.py:9)", 5);
	DRAWS(c,
	      "c\n"
	      "value  share              stack\n"
	      "    5  50.0%  █████       main (a.py:1)\n"
	      "    3  30.0%  ███           forward (b.py:2) > aten::mm > gemm bf16 tnn 8x64x64 "
	      "sm90\n"
	      "    1  10.0%  █             f\n",
	      .width = 100);
}

static void a_stack_of_hundreds_of_frames_is_one_row(void **state)
{
	enum { DEPTH = 500 };
	char stack[2 * DEPTH + 1] = "f";

	for (int i = 0; i < DEPTH; i++)
		memcpy(stack + 2 * i, "f;", 2);
	stack[2 * DEPTH - 1] = '\0';
	put(chart(PASTA_CHART_FLAME, NULL, NULL), stack, 1);
	DRAWS(result.outs[0]->charts[0],
	      "c\n"
	      "value   share              stack\n"
	      "    1  100.0%  ██████████  f > ... > f\n",
	      .width = 80);
}

static void weights_past_the_largest_number_and_zero_weights_are_shown(void **state)
{
	struct pasta_chart *c = chart(PASTA_CHART_FLAME, NULL, NULL);

	put(c, "a", INT64_MAX);
	put(c, "a", INT64_MAX);
	DRAWS(c,
	      "c\n"
	      "              value   share              stack\n"
	      "9223372036854775807  100.0%  ██████████  a\n",
	      .width = 80);
	c = chart(PASTA_CHART_FLAME, NULL, NULL);
	put(c, "a", 0);
	DRAWS(c, "c\nvalue  share              stack\n    0      -              a\n", .width = 80);
}

/* -- Charts of sample_more -- */

static const struct pasta_chart *more(const char *name)
{
	size_t i = 0;

	pasta_result_free(&result);
	sample_more(&result);
	while (strcmp(result.outs[0]->charts[i]->name, name) != 0)
		i++;
	return result.outs[0]->charts[i];
}

static void a_timeline_column_shows_the_letter_of_its_main_category(void **state)
{
	DRAWS(more("time"),
	      "time\n"
	      "lane     busy\n"
	      "g s     60 ns  |KKKKKKKKKK       CC|\n"
	      "  deep   5 ns  | cC                |\n"
	      "time: 0 ns to 100 ns\n"
	      "K kernel, C copy; a lower-case letter fills less than half of its column\n",
	      .width = 36, .ascii = true);
}

static void a_scatter_plot_has_one_letter_per_series_and_dots_for_limits(void **state)
{
	DRAWS(more("roof"),
	      "roof\n"
	      "   l\n"
	      "1000  │............│\n"
	      "      │          .B│\n"
	      "      │         .  │\n"
	      "      │        .   │\n"
	      "      │       .    │\n"
	      "      │      .     │\n"
	      "      │     .      │\n"
	      "      │    .       │\n"
	      "      │   .        │\n"
	      "      │  .         │\n"
	      "      │ .          │\n"
	      "  10  │*           │\n"
	      "l: 1 to 100 (log)\n"
	      "l: 10 to 1000 (log)\n"
	      "A a, B b; + several\n"
	      ". limit roof: slope 12\n"
	      ". limit peak: 1000\n",
	      .width = 20);
}

static void a_histogram_has_one_bar_per_bin_and_sums_bins(void **state)
{
	DRAWS(more("hist"),
	      "hist\nh:\n"
	      "value   to  count\n"
	      "    0    1      1  #####\n"
	      "    1  2.5      4  ##################\n"
	      "  2.5   10      0\n",
	      .width = 37, .ascii = true);
	DRAWS(more("hist"),
	      "hist\nh:\n"
	      "value   to  count\n"
	      "    0  2.5      5  ####################\n"
	      "  2.5   10      0\n"
	      "each row is the sum of at most 2 bins (--rows 0 shows all bins)\n",
	      .width = 39, .rows = 2, .ascii = true);
}

static void a_graph_is_an_indented_tree_and_its_edges(void **state)
{
	DRAWS(more("graph"),
	      "graph\n"
	      "value  cost  node\n"
	      " 4096     -  root\n"
	      " 1024     2    leaf\n"
	      "    1     0  other\n"
	      "edge leaf → other: 7\n",
	      .width = 40);
	DRAWS(more("graph"),
	      "graph\n"
	      "value  cost  node\n"
	      " 4096     -  root\n"
	      "... 2 more nodes (--rows 0 for all)\n"
	      "edge leaf -> other: 7\n",
	      .width = 40, .rows = 1, .ascii = true);
}

static void grids_and_areas_are_drawn_as_cells_and_lines(void **state)
{
	DRAWS(more("dense"),
	      "dense\n"
	      "rank\n"
	      "rank 1  │ █│\n"
	      "rank 0  │▓ │\n"
	      "x: 0 to 2\n"
	      "value: 0 to 7\n",
	      .width = 40);
	DRAWS(more("area"),
	      "area\n"
	      "series  min  max  last  y\n"
	      "a         1    1     -  █\n"
	      "x: 0 to 5\n",
	      .width = 40);
}

static void empty_charts_have_a_placeholder(void **state)
{
	static const char *const expected[] = {"c\n(no points)\n", "c\n(no bars)\n",
					       "c\n(no cells)\n",  "c\n(no stacks)\n",
					       "c\n(no slices)\n", "c\n(no points)\n",
					       "c\n(no points)\n", "c\n(no counts)\n",
					       "c\n(no nodes)\n"};

	for (unsigned int type = 0; type < PASTA_CHART_TYPES; type++)
		DRAWS(chart(type, NULL, NULL), expected[type], .width = 40);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_one_column_per_point_and_series_share_a_scale),
		TEST(a_column_has_the_maximum_of_its_points),
		TEST(a_line_is_interpolated_between_points_but_not_over_a_gap),
		TEST(one_point_equal_points_and_no_points_are_lines_too),
		TEST(negative_and_huge_numbers_are_drawn),
		TEST(a_narrow_terminal_cuts_names_then_removes_min_and_last),
		TEST(bars_have_eighths_and_small_values_are_visible),
		TEST(bars_at_40_columns_cut_labels),
		TEST(all_bars_of_the_same_length_and_huge_ones),
		TEST(a_heat_map_has_shades_from_zero_to_the_maximum),
		TEST(a_heat_map_is_folded_to_the_terminal),
		TEST(one_cell_and_negative_cells_are_heat_maps),
		TEST(frames_are_below_their_parents_the_heaviest_first),
		TEST(the_heaviest_frames_are_shown_with_their_parents),
		TEST(a_narrow_terminal_has_no_bars_and_deep_frames_stay_in_it),
		TEST(a_frame_with_all_the_time_of_its_caller_is_in_the_same_row),
		TEST(frames_of_the_framework_are_not_shown_and_kernels_have_short_names),
		TEST(a_stack_of_hundreds_of_frames_is_one_row),
		TEST(weights_past_the_largest_number_and_zero_weights_are_shown),
		TEST(a_timeline_column_shows_the_letter_of_its_main_category),
		TEST(a_scatter_plot_has_one_letter_per_series_and_dots_for_limits),
		TEST(a_histogram_has_one_bar_per_bin_and_sums_bins),
		TEST(a_graph_is_an_indented_tree_and_its_edges),
		TEST(grids_and_areas_are_drawn_as_cells_and_lines),
		TEST(empty_charts_have_a_placeholder),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
