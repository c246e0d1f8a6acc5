/* test_digits.c - decimal numbers, compared with arithmetic on their digits. */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>

#include "import/digits.h"

static int digits(const char *text, unsigned int shift, uint64_t *value)
{
	return pasta_digits(text, strlen(text), shift, value);
}

static void check(const char *text, unsigned int shift, int r, uint64_t value)
{
	uint64_t got = 0;
	int result = digits(text, shift, &got);

	if (result != r || (r != -ERANGE && got != value))
		fail_msg("%s: %d and %llu", text, result, (unsigned long long)got);
}

/* -- The reference: long multiplication, a digit at a time ----------------------------------------
 */

enum { DIGITS_MAX = 2048 };

/* A number as digits and the position of its decimal point. */
struct digits {
	uint8_t digit[DIGITS_MAX];
	long point; /* digits before the decimal point */
	long count;
	bool negative;
};

static void split(const char *text, struct digits *p)
{
	const char *e = strpbrk(text, "eE");

	memset(p, 0, sizeof(*p));
	p->negative = *text == '-';
	p->point = -1;
	for (text += p->negative; *text && text != e; text++) {
		if (*text == '.')
			p->point = p->count;
		else
			p->digit[p->count++] = (uint8_t)(*text - '0');
	}
	if (p->point < 0)
		p->point = p->count;
	if (e)
		p->point += strtol(e + 1, NULL, 10);
}

static unsigned int digit_at(const struct digits *p, long i)
{
	return i >= 0 && i < p->count ? p->digit[i] : 0;
}

static int reference(const char *text, unsigned int shift, uint64_t *value)
{
	struct digits p;
	unsigned __int128 v = 0;
	long point;

	split(text, &p);
	point = p.point + (long)shift;
	for (long i = 0; i < point && v <= UINT64_MAX; i++)
		v = v * 10 + digit_at(&p, i);
	if (v <= UINT64_MAX)
		v += digit_at(&p, point) >= 5;
	if (v > UINT64_MAX)
		return -ERANGE;
	*value = (uint64_t)v;
	return p.negative && v ? -EDOM : 0;
}

/* -- Claims ---------------------------------------------------------------------------------------
 */

static void a_number_is_exact_to_its_last_digit(void **state)
{
	check("0", 0, 0, 0);
	check("-0", 3, 0, 0);
	check("-0.0e5", 3, 0, 0);
	check("1.5", 3, 0, 1500);
	check("1700000000123456.789", 3, 0, UINT64_C(1700000000123456789));
	check("9007199254740993", 0, 0,
	      UINT64_C(9007199254740993)); /* not representable as a double */
	check("18446744073709551615", 0, 0, UINT64_MAX);
	check("18446744073709551.615", 3, 0, UINT64_MAX);
	check("1.8446744073709551615e19", 0, 0, UINT64_MAX);
	check("18446744073709551615000e-3", 0, 0, UINT64_MAX);
	check("0.000000000000000001", 18, 0, 1);
}

static void digits_past_the_last_are_rounded_and_a_half_is_rounded_up(void **state)
{
	check("0.4999999999999999999999999999", 0, 0, 0);
	check("0.5", 0, 0, 1);
	check("0.05", 0, 0, 0);
	check("0.0005", 3, 0, 1);
	check("0.00049", 3, 0, 0);
	check("1.0005", 3, 0, 1001);
	check("2.5", 0, 0, 3);
	check("49e-2", 0, 0, 0);
	check("5e-1", 0, 0, 1);
	check("99.5", 0, 0, 100);
	check("9e-400", 3, 0, 0);
	/* The first digit that does not fit into 64 bits decides. */
	check("1844674407370955161.6", 0, 0, UINT64_C(1844674407370955162));
	check("1844674407370955161.6", 1, -ERANGE, 0);
	check("12345678901234567890.7", 0, 0, UINT64_C(12345678901234567891));
	check("12345678901234567890.49", 0, 0, UINT64_C(12345678901234567890));
	check("18446744073709551614.5", 0, 0, UINT64_MAX);
}

static void a_number_that_does_not_fit_is_out_of_range(void **state)
{
	check("18446744073709551616", 0, -ERANGE, 0);
	check("18446744073709551619", 0, -ERANGE, 0);
	check("18446744073709551615.5", 0, -ERANGE, 0);
	check("18446744073709551615", 1, -ERANGE, 0);
	check("1e20", 0, -ERANGE, 0);
	check("1e17", 3, -ERANGE, 0);
	check("-1e20", 0, -ERANGE, 0);
	check("1e99999999999999999999999999", 0, -ERANGE, 0);
	check("1e-99999999999999999999999999", 0, 0, 0);
	check("0e99999999999999999999999999", 18, 0, 0);
}

static void a_negative_number_is_reported_with_its_magnitude(void **state)
{
	check("-1", 0, -EDOM, 1);
	check("-512.25", 2, -EDOM, 51225);
	check("-0.5", 0, -EDOM, 1);
	check("-0.4", 0, 0, 0);
}

/* Long enough that its digits affect the exponent. */
static void an_exponent_may_take_back_a_fraction_of_any_length(void **state)
{
	enum { ZEROS = 3000000 };
	char *text = malloc(ZEROS + 32);
	uint64_t value = 0;
	size_t n;

	assert_non_null(text);
	memcpy(text, "0.", 2);
	memset(text + 2, '0', ZEROS);
	n = ZEROS + 2 + (size_t)sprintf(text + ZEROS + 2, "7e%d", ZEROS + 1);
	assert_int_equal(pasta_digits(text, n, 0, &value), 0);
	assert_int_equal(value, 7);
	text[0] = '7';
	memset(text + 1, '0', ZEROS);
	n = ZEROS + 1 + (size_t)sprintf(text + ZEROS + 1, "e-%d", ZEROS);
	assert_int_equal(pasta_digits(text, n, 0, &value), 0);
	assert_int_equal(value, 7);
	free(text);
}

/* Most are near the largest number that fits. */
static void random_number(char *text)
{
	static const char *const near[] = {"18446744073709551615", "18446744073709551616",
					   "1844674407370955161", "9223372036854775807", "5"};
	char *p = text;
	size_t n = 1 + random_below(random_below(8) ? 21 : 60), point;

	if (!random_below(6))
		*p++ = '-';
	if (!random_below(4)) {
		p = stpcpy(p, near[random_below(5)]);
		n = (size_t)random_below(3);
	} else {
		*p++ = (char)('0' + (n == 1 ? random_below(10) : 1 + random_below(9)));
		n--;
	}
	point = random_below(2) ? random_below(n + 1) : n;
	for (size_t i = 0; i < n; i++) {
		if (i == point)
			*p++ = '.';
		*p++ = (char)('0' + (random_below(3) ? random_below(10) : random_below(2) * 9));
	}
	if (!random_below(3))
		p += sprintf(p, "%s%d", random_below(2) ? "e" : "E", (int)random_below(50) - 25);
	*p = '\0';
}

static void random_numbers_equal_long_arithmetic(void **state)
{
	unsigned int fit = 0, below = 0, over = 0;
	char text[128];

	for (int i = 0; i < 1000000; i++) {
		unsigned int shift = (unsigned int)random_below(19);
		uint64_t want = 0, got = 0;
		int r, expected;

		random_number(text);
		expected = reference(text, shift, &want);
		r = digits(text, shift, &got);
		if (r != expected || (r != -ERANGE && got != want))
			fail_msg("%s with shift %u: %d and %llu, not %d and %llu", text, shift, r,
				 (unsigned long long)got, expected, (unsigned long long)want);
		fit += !r;
		below += r == -EDOM;
		over += r == -ERANGE;
	}
	assert_true(fit > 1000 && below > 1000 && over > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_exact_to_its_last_digit),
		cmocka_unit_test(digits_past_the_last_are_rounded_and_a_half_is_rounded_up),
		cmocka_unit_test(a_number_that_does_not_fit_is_out_of_range),
		cmocka_unit_test(a_negative_number_is_reported_with_its_magnitude),
		cmocka_unit_test(an_exponent_may_take_back_a_fraction_of_any_length),
		cmocka_unit_test(random_numbers_equal_long_arithmetic),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
