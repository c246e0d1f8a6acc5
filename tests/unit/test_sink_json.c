/* test_sink_json.c - the JSON format, compared to the byte. */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process/io/json.h"
#include "process/io/utf8.h"
#include "unit/sample.h"

static const char expected[] =
	"{\"schema\":\"accelprof-report/2\",\"run\":{\"path\":null,\"state\":null,\"command\":null,"
	"\"cwd\":null,\"host\":null,\"version\":null,\"start\":null,\"end\":null,\"duration\":null,"
	"\"exit\":null,\"tools\":null,\"kinds\":[],\"devices\":[],\"shards\":0},"
	"\"loss\":{\"expected\":18446744073709551615,\"captured\":7,\"dropped\":3,\"reasons\":{"
	"\"full\":2,\"nested\":0,\"memory\":0,\"closed\":0,\"source\":0,\"depth\":0,\"unkept\":0,"
	"\"damaged\":1},"
	"\"damaged_bytes\":0,\"unknown\":0,\"late\":0},"
	"\"tools\":[{\"name\":\"tool\",\"tables\":[{\"name\":\"t\",\"columns\":["
	"{\"name\":\"name\",\"type\":\"string\",\"unit\":null,\"role\":null},"
	"{\"name\":\"time\",\"type\":\"int\",\"unit\":\"ns\",\"role\":\"time\"},"
	"{\"name\":\"size\",\"type\":\"int\",\"unit\":\"bytes\",\"role\":null},"
	"{\"name\":\"share\",\"type\":\"float\",\"unit\":\"%\",\"role\":\"share\"},"
	"{\"name\":\"rate\",\"type\":\"int\",\"unit\":\"events/s\",\"role\":null}],\"rows\":["
	"[\"plain\",999,512,12.5,1],"
	"[\"q\\\"uo,te\\r\\n\",9223372036854775807,-9223372036854775808,null,2],"
	"[\"\\u001B[31mred\\u0001 \xef\xbf\xbd\xef\xbf\xbd(\",1234567,1572864,null,3],"
	"[\"größe 漢字 \xe2\x80\xae\",0,0,0.1,-4]]}],\"charts\":[],\"findings\":["
	"{\"severity\":\"warning\",\"what\":\"slow\\nlines\",\"count\":null,\"where\":\"here\",\"evidence\":null,"
	"\"action\":\"be quick\",\"ref\":null,\"saving\":null}]}]}\n";

static void the_report_is_as_published(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_result r;
	int error;
	char *text;

	sample(&r, false);
	text = sample_write(&pasta_sink_json, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	assert_string_equal(text, expected);
	free(text);
	pasta_result_free(&r);
}

static void a_cell_without_a_value_is_null(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_result r = {0};
	struct pasta_error err = {0};
	char *text;
	int error;

	sample_gaps(&r);
	text = sample_write(&pasta_sink_json, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	assert_non_null(strstr(text, "\"rows\":[[\"ends\",null,null,null,5],[\"\",1,2,3,4],"
				     "[null,null,null,null,null],"
				     "[\"name\",null,null,null,null]]"));
	free(text);
	pasta_result_free(&r);
}

#define AXIS(name, unit) "{\"name\":\"" name "\",\"unit\":" unit ",\"scale\":\"linear\"}"
#define HOSTILE "\\u001B[31mr;\\n\\\"q\\\",\xef\xbf\xbd"

static void charts_are_as_published(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_result r = {0};
	char *text, *from;
	int error;

	sample_charts(&r);
	text = sample_write(&pasta_sink_json, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	from = strstr(text, "\"tables\"");
	assert_non_null(from);
	assert_string_equal(
		from,
		"\"tables\":[],\"charts\":["
		"{\"name\":\"line\",\"type\":\"line\",\"x\":" AXIS("time", "\"ns\"") ",\"y\":" AXIS(
			"size",
			"\"bytes\"") ",\"series\":[{\"name\":\"a\",\"points\":["
				     "[0,1024],[1500,null],[3000,-0.5]]},"
				     "{\"name\":\"" HOSTILE "\",\"points\":[[3000,1e+300]]}]},"
				     "{\"name\":\"bar\",\"type\":\"bar\",\"x\":" AXIS(HOSTILE, "\"a,b\"") ",\"y\":" AXIS(
					     "value",
					     "null") ",\"bars\":[[\"" HOSTILE
						     "\",0.1],[\"\",null]]},"
						     "{\"name\":\"heat\",\"type\":\"heat\",\"x\":" AXIS("time", "\"ns\"") ",\"y\":" AXIS("size", "\"bytes\"") ",\"value\":" AXIS(
							     HOSTILE,
							     "\"a,b\"") ",\"cells\":[[0,4096,7],"
									"[10,-4096,null]]},"
									"{\"name\":\"flame\",\"type\":\"flame\",\"x\":" AXIS("stack", "null") ",\"y\":" AXIS(
										"time",
										"\"ns\"") ",\"stacks\":[[[\"main\",\"" HOSTILE
											  "\",\"\",\"größe\"],9223372036854775807],"
											  "[[\"main\"],0]]},"
											  "{\"name\":\"empty\",\"type\":\"line\",\"x\":" AXIS(
												  "x",
												  "null") ",\"y\":" AXIS("y",
															 "null") ",\"series\":[]}],\"findings\":[]}]}\n");
	free(text);
	pasta_result_free(&r);
}

/* Check that the JSON of sample_more contains this text. */
static void more_has(const char *part)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_result r = {0};
	char *text;
	int error;

	sample_more(&r);
	assert_int_equal(pasta_result_savings(&r), 0);
	text = sample_write(&pasta_sink_json, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	if (!strstr(text, part))
		assert_string_equal(text, part);
	free(text);
	pasta_result_free(&r);
}

static void new_charts_are_as_published(void **state)
{
	more_has("\"lanes\":[{\"name\":\"s\",\"group\":\"g\",\"depth\":0},"
		 "{\"name\":\"deep\",\"group\":null,\"depth\":1}],"
		 "\"names\":[[\"gemm\",\"kernel\"],[\"copy\",\"copy\"]],"
		 "\"slices\":[[0,0,50,0,3.5],[0,90,10,1],[1,10,5,1]]}");
	more_has("\"scale\":\"log\"},\"value\":" AXIS(
		"size",
		"null") ",\"points\":[[1,10,0,null,null],"
			"[100,500,2.5,\"big\",\"b\"]],\"limits\":[{\"name\":\"roof\",\"slope\":12},"
			"{\"name\":\"peak\",\"level\":1000}]}");
	more_has("\"stacked\":true,\"series\":[{\"name\":\"a\",\"points\":[[0,1],[5,null]]}]}");
	more_has("\"edges\":[0,1,2.5,10],\"series\":[{\"name\":\"h\",\"counts\":[1,4,0]}]}");
	more_has("\"labels\":[\"rank 0\",\"rank 1\"]},\"value\":" AXIS(
		"value", "null") ",\"grid\":{"
				 "\"x0\":0,\"dx\":1,\"nx\":3,\"y0\":0,\"dy\":1,\"ny\":2,"
				 "\"dense\":[5,null,null,null,null,7]}}");
	more_has("\"nx\":2,\"y0\":0,\"dy\":2,\"ny\":1000,\"sparse\":[[0,0,9],[1,999,1]]}}");
	more_has(
		"\"nodes\":[[0,null,\"root\",4096,null],[1,0,\"leaf\",1024,2],[2,null,\"other\",1,0]],"
		"\"edges\":[[1,2,7]]}");
}

static void a_finding_has_its_count_what_it_refers_to_and_what_it_saves(void **state)
{
	more_has(
		"\"what\":\"many: 3\",\"count\":3,\"where\":null,\"evidence\":null,"
		"\"action\":null,\"ref\":{\"table\":\"kernels\",\"row\":0},\"saving\":{\"ns\":1000,"
		"\"disjoint_ns\":300,\"claims\":[[0,0,100,300],[0,0,200,400]]}}");
	more_has("\"what\":\"part\",\"count\":null,\"where\":null,\"evidence\":null,"
		 "\"action\":null,\"ref\":{\"chart\":\"time\",\"from\":1,\"to\":2},"
		 "\"saving\":{\"ns\":100,\"disjoint_ns\":null,\"claims\":[]}}");
	more_has("\"ref\":{\"table\":\"kernels\",\"row\":null},\"saving\":null}");
	more_has("\"ref\":{\"chart\":\"time\",\"from\":null,\"to\":null},\"saving\":null}");
	more_has("{\"name\":\"kernel\",\"type\":\"string\",\"unit\":null,\"role\":\"kernel\"}");
}

static void a_tool_that_failed_has_an_error(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_result r = {0};
	struct pasta_error err = {0};
	struct pasta_out *out = pasta_result_out(&r, "tool");
	int error;
	char *text;

	sample_table(out, "t");
	sample_chart(out, "c", PASTA_CHART_LINE, NULL, NULL);
	pasta_out_fail(out, -1, "it \"broke\"");
	pasta_out_end(out);
	text = sample_write(&pasta_sink_json, &r, &opts, &error, &err);
	assert_non_null(strstr(
		text,
		"{\"name\":\"tool\",\"error\":\"it \\\"broke\\\"\",\"tables\":[],\"charts\":[]"));
	free(text);
	pasta_result_free(&r);
}

static void control_characters_that_terminals_obey_are_escaped(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct pasta_json *j = pasta_json_new(file, false);

	pasta_json_map(j);
	pasta_json_key(j, "\xc2\x9bJ");
	pasta_json_str(j, "\xc2\x9b"
			  "31m\x1b[1m\x7f \xc2\xa0\xc3\x9b \xc2\x80\xc2\x9f");
	pasta_json_map_end(j);
	assert_int_equal(pasta_json_free(j), 0);
	fclose(file);
	assert_string_equal(text, "{\"\\u009bJ\":\"\\u009b31m\\u001B[1m\\u007f "
				  "\xc2\xa0\xc3\x9b \\u0080\\u009f\"}\n");
	free(text);
}

static void invalid_utf8_is_replaced_and_the_rest_unchanged(void **state)
{
	static const char *const bad[] = {"\x80",	  "\xc0\x80",	  "\xc3",
					  "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					  "\xff",	  "\xf0\x9f\x98", "\xe2\x82"};
	static const char *const good[] = {"", "a", "ß", "€", "😀", "\xef\xbf\xbd", "\x7f"};
	size_t i, size;
	char *clean;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_false(pasta_utf8_valid(bad[i], strlen(bad[i])));
		clean = pasta_utf8_clean(bad[i], strlen(bad[i]), &size);
		assert_true(pasta_utf8_valid(clean, size));
		assert_int_equal(size, 3 * strlen(bad[i]));
		free(clean);
	}
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(pasta_utf8_valid(good[i], strlen(good[i])));
		clean = pasta_utf8_clean(good[i], strlen(good[i]), &size);
		assert_string_equal(clean, good[i]);
		free(clean);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_report_is_as_published),
		cmocka_unit_test(a_cell_without_a_value_is_null),
		cmocka_unit_test(charts_are_as_published),
		cmocka_unit_test(new_charts_are_as_published),
		cmocka_unit_test(a_finding_has_its_count_what_it_refers_to_and_what_it_saves),
		cmocka_unit_test(a_tool_that_failed_has_an_error),
		cmocka_unit_test(control_characters_that_terminals_obey_are_escaped),
		cmocka_unit_test(invalid_utf8_is_replaced_and_the_rest_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
