/* test_suggest.c - suggestions for mistyped words: the distances are those of a simple recursion.
 */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "process/io/suggest.h"

static const char *const commands[] = {"run",	"report", "import",   "export",
				       "tools", "doctor", "new-tool", "help"};

static const char *suggestion(const char *word)
{
	struct pasta_suggest s = {.word = word};

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		pasta_suggest_add(&s, commands[i]);
	return s.best ? s.best : "";
}

static void typing_errors_are_corrected(void **state)
{
	static const char *const cases[][2] = {
		{"reprot", "report"},	 {"rpeort", "report"}, {"reort", "report"},
		{"reportt", "report"},	 {"repirt", "report"}, {"exprot", "export"},
		{"rnu", "run"},		 {"rum", "run"},       {"tool", "tools"},
		{"newtool", "new-tool"}, {"doc", "doctor"},    {"do", "doctor"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(suggestion(cases[i][0]), cases[i][1]);
}

static void other_words_have_no_suggestion(void **state)
{
	static const char *const words[] = {
		"",
		"x",
		"summary",
		"python3",
		"./prog",
		"ls",
		"a word of more than forty characters is not a typing error at all"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		assert_string_equal(suggestion(words[i]), "");
}

static void a_suggestion_is_a_question(void **state)
{
	struct pasta_suggest s = {.word = "runn"};
	char text[PASTA_SUGGEST_SIZE];

	assert_string_equal(pasta_suggest_text(&s, text, sizeof(text)), "");
	pasta_suggest_add(&s, NULL);
	pasta_suggest_add(&s, "run");
	assert_string_equal(pasta_suggest_text(&s, text, sizeof(text)), "; did you mean 'run'?");
}

/* The distance by its definition. */
static size_t slow(const char *a, size_t n, const char *b, size_t m)
{
	size_t best, other;

	if (!n || !m)
		return n + m;
	best = slow(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
	other = slow(a, n - 1, b, m) + 1;
	best = other < best ? other : best;
	other = slow(a, n, b, m - 1) + 1;
	best = other < best ? other : best;
	if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
		other = slow(a, n - 2, b, m - 2) + 1;
		best = other < best ? other : best;
	}
	return best;
}

static void distances_are_those_of_the_definition(void **state)
{
	unsigned int seed = 3;

	for (int i = 0; i < 3000; i++) {
		char a[7] = "", b[7] = "";
		struct pasta_suggest s = {.word = a};
		size_t n = 2 + (size_t)rand_r(&seed) % 5, m = (size_t)rand_r(&seed) % 7, k,
		       expected;

		for (k = 0; k < n; k++)
			a[k] = (char)('a' + rand_r(&seed) % 3);
		for (k = 0; k < m; k++)
			b[k] = (char)('a' + rand_r(&seed) % 3);
		expected = slow(a, n, b, m);
		if (expected > 1 && !strncmp(a, b, n))
			expected = 1;
		pasta_suggest_add(&s, b);
		assert_true(!s.best == (expected > (n + 2) / 3));
		if (s.best)
			assert_int_equal(s.distance, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typing_errors_are_corrected),
		cmocka_unit_test(other_words_have_no_suggestion),
		cmocka_unit_test(a_suggestion_is_a_question),
		cmocka_unit_test(distances_are_those_of_the_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
