/* test_tool.c - options of tools: their types, what is refused, and what tools get. */
/* labels: onethread */
#include "unit/support.h"

#include "process/io/parse.h"
#include "process/run/tool.h"

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	(void)state;
	(void)ev;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	(void)state;
	(void)out;
	return 0;
}

static const struct pasta_option typed_options[] = {
	{"text", "well", "", PASTA_OPTION_TEXT},  {"number", "20", "", PASTA_OPTION_NUMBER},
	{"loud", "yes", "", PASTA_OPTION_YES_NO}, {"window", "10ms", "", PASTA_OPTION_TIME},
	{"room", "64M", "", PASTA_OPTION_SIZE},	  {"none", NULL, "", PASTA_OPTION_NUMBER},
	{.name = "old", .value = "as before"},	  {0},
};

#define TOOL(name_, options_)                                                                      \
	{                                                                                          \
		PASTA_TOOL_HEAD, .name = name_, .summary = "a test", .events = PASTA_MASK(KERNEL), \
				 .options = options_, .event = on_event, .report = report          \
	}

static const struct pasta_tool typed = TOOL("typed", typed_options);
static struct pasta_choice choice;

static int choose(void **state)
{
	(void)state;
	return pasta_choice_add(&choice, "typed", NULL);
}

static int unchoose(void **state)
{
	(void)state;
	pasta_choice_free(&choice);
	return 0;
}

static uint64_t number_after(const char *setting, const char *name)
{
	struct pasta_error err = {0};

	if (pasta_choice_set(&choice, setting, &err))
		fail_msg("%s", err.text);
	return pasta_opt_u64(&choice.tools[0], name);
}

static void defaults_are_of_their_types(void **state)
{
	const struct pasta_opts *o = &choice.tools[0];

	(void)state;
	assert_int_equal(pasta_opt_u64(o, "number"), 20);
	assert_int_equal(pasta_opt_u64(o, "window"), 10000000);
	assert_int_equal(pasta_opt_u64(o, "room"), 64 << 20);
	assert_int_equal(pasta_opt_u64(o, "none"), 0);
	assert_int_equal(pasta_opt_yes(o, "loud"), 1);
	assert_string_equal(pasta_opt(o, "window"), "10ms");
	assert_string_equal(pasta_opt(o, "old"), "as before");
	assert_null(pasta_opt(o, "none"));
}

static void what_is_set_is_what_a_tool_gets(void **state)
{
	(void)state;
	assert_int_equal(number_after("typed.number=0", "number"), 0);
	assert_true(number_after("typed.number=18446744073709551615", "number") == UINT64_MAX);
	assert_int_equal(number_after("typed.window=3ns", "window"), 3);
	assert_int_equal(number_after("typed.window=3us", "window"), 3000);
	assert_int_equal(number_after("typed.window=2s", "window"), 2000000000);
	assert_int_equal(number_after("typed.window=2min", "window"), 120000000000);
	assert_int_equal(number_after("typed.window=1h", "window"), 3600000000000);
	assert_int_equal(number_after("typed.window=0", "window"), 0);
	assert_int_equal(number_after("typed.room=4096", "room"), 4096);
	assert_int_equal(number_after("typed.room=1k", "room"), 1024);
	assert_int_equal(number_after("typed.room=2GiB", "room"), INT64_C(2) << 30);
	assert_int_equal(number_after("typed.room=1TB", "room"), INT64_C(1) << 40);
	assert_int_equal(pasta_choice_set(&choice, "typed.loud=no", NULL), 0);
	assert_int_equal(pasta_opt_yes(&choice.tools[0], "loud"), 0);
	assert_int_equal(pasta_choice_set(&choice, "typed.old=", NULL), 0);
	assert_string_equal(pasta_opt(&choice.tools[0], "old"), "");
}

static void asked_for_another_type_or_name_it_is_0(void **state)
{
	const struct pasta_opts *o = &choice.tools[0];

	(void)state;
	assert_int_equal(pasta_opt_u64(o, "nosuch"), 0);
	assert_int_equal(pasta_opt_yes(o, "nosuch"), 0);
	assert_int_equal(pasta_opt_u64(o, "loud"), 0);
	assert_int_equal(pasta_opt_u64(o, "text"), 0);
	assert_int_equal(pasta_opt_yes(o, "number"), 0);
	assert_int_equal(pasta_opt_u64(NULL, "number"), 0);
	assert_int_equal(pasta_opt_yes(NULL, "loud"), 0);
}

static void what_is_not_of_the_type_is_explained_and_changes_nothing(void **state)
{
	static const char *const bad[][2] = {
		{"typed.number=many", "typed.number must be a number like 20, not 'many'"},
		{"typed.number=", "typed.number must be a number like 20, not ''"},
		{"typed.number=-1", "typed.number must be a number like 20, not '-1'"},
		{"typed.number= 1", "typed.number must be a number like 20, not ' 1'"},
		{"typed.number=1x", "typed.number must be a number like 20, not '1x'"},
		{"typed.number=18446744073709551616",
		 "typed.number must be below 2^64, not '18446744073709551616'"},
		{"typed.loud=maybe", "typed.loud must be yes or no, not 'maybe'"},
		{"typed.window=10",
		 "typed.window must be a time like 10ms, with a unit ns, us, ms, s, min or h, not "
		 "'10'"},
		{"typed.window=10 ms",
		 "typed.window must be a time like 10ms, with a unit ns, us, ms, s, min or h, not "
		 "'10 ms'"},
		{"typed.window=99999999h", "typed.window must be below 2^64, not '99999999h'"},
		{"typed.room=64Q",
		 "typed.room must be a size like 64M, in bytes or with a suffix K, M, G or T, not "
		 "'64Q'"},
		{"typed.room=64Mx",
		 "typed.room must be a size like 64M, in bytes or with a suffix K, M, G or T, not "
		 "'64Mx'"},
		{"typed.room=99999999T", "typed.room must be below 2^64, not '99999999T'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct pasta_error err = {0};

		assert_int_equal(pasta_choice_set(&choice, bad[i][0], &err), -EINVAL);
		assert_string_equal(err.text, bad[i][1]);
	}
	defaults_are_of_their_types(NULL);
}

/* Digits are exact, also where a double would round them. */
static void parts_of_a_time_are_exact(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"1.5s", 1500000000},
		    {"1.000000001s", 1000000001},
		    {"0.0000000019s", 1},
		    {"18446744073.709551615s", UINT64_MAX},
		    {"0.5h", UINT64_C(1800000000000)},
		    {"0.0", 0},
		    {"2.000001ms", 2000001}};
	static const char *const bad[] = {"1.s", ".5s", "1.5", "1..5s", "1.5.5s", "1,5s", "1.-5s"};
	uint64_t got;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (pasta_parse_time(good[i].text, &got) || got != good[i].ns)
			fail_msg("%s", good[i].text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (pasta_parse_time(bad[i], &got) != -EINVAL)
			fail_msg("%s", bad[i]);
	assert_int_equal(pasta_parse_time("18446744073.709551616s", &got), -ERANGE);
}

/* Units must not be taken for digits, nor a number that is too big for one that is not. */
static void numbers_and_their_texts_agree(void **state)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	char text[40];
	uint64_t got;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t number = random_u64() >> random_below(64), unit = 1;
		unsigned int at = (unsigned int)random_below(4);
		bool fits;

		snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
		assert_property(!pasta_parse_number(text, &got) && got == number);
		for (unsigned int k = 0; k < at; k++)
			unit *= 1000;
		strcat(text, units[at]);
		fits = number <= UINT64_MAX / unit;
		assert_property(pasta_parse_time(text, &got) == (fits ? 0 : -ERANGE));
		assert_property(!fits || got == number * unit);
		snprintf(text, sizeof(text), "%lluG", (unsigned long long)number);
		fits = number <= UINT64_MAX >> 30;
		assert_property(pasta_parse_size(text, &got) == (fits ? 0 : -ERANGE));
		assert_property(!fits || got == number << 30);
	}
}

static void a_default_of_another_type_is_refused_when_the_tool_registers(void **state)
{
	static const struct pasta_option bad[] = {{"window", "soon", "", PASTA_OPTION_TIME}, {0}};
	static const struct pasta_option none[] = {{"what", "x", "", (enum pasta_option_type)77},
						   {0}};
	static const struct pasta_tool hasty = TOOL("hasty", bad), strange = TOOL("strange", none);
	struct pasta_error err = {0};

	(void)state;
	assert_int_equal(pasta_tool_check(&err), 0);
	pasta_tool_register(&hasty);
	pasta_tool_register(&strange);
	assert_int_equal(pasta_tool_check(&err), -EINVAL);
	assert_string_equal(err.text,
			    "tool hasty is left out: option 'window' must be a time like 10ms, "
			    "with a unit ns, us, ms, s, min or h, but its default is 'soon'");
	assert_null(pasta_tool_find("hasty"));
	assert_null(pasta_tool_find("strange"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, choose, unchoose)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_of_their_types),
		TEST(what_is_set_is_what_a_tool_gets),
		TEST(asked_for_another_type_or_name_it_is_0),
		TEST(what_is_not_of_the_type_is_explained_and_changes_nothing),
		TEST(numbers_and_their_texts_agree),
		TEST(parts_of_a_time_are_exact),
		TEST(a_default_of_another_type_is_refused_when_the_tool_registers),
	};

	random_begin();
	pasta_tool_register(&typed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
