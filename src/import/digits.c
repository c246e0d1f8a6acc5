/* digits.c - converts decimal text to integers exactly. */
#include "import/digits.h"

#include <errno.h>

#define EXPONENT_MAX (INT64_C(1) << 40) /* any number with a larger exponent overflows */

/* A decimal number with the value digits * 10^exponent, and the first digit that did not fit. */
struct decimal {
	uint64_t digits;
	int64_t exponent;
	bool negative, full;   /* `full`: the member `digits` has no room for more digits */
	unsigned int overflow; /* the first digit that did not fit into `digits` */
};

static void digits_add(struct decimal *d, char c, bool fraction)
{
	uint64_t more;

	if (!d->full && !__builtin_mul_overflow(d->digits, 10, &more) &&
	    !__builtin_add_overflow(more, (uint64_t)(c - '0'), &more)) {
		d->digits = more;
		d->exponent -= fraction;
		return;
	}
	if (!d->full)
		d->overflow = (unsigned int)(c - '0');
	d->full = true;
	d->exponent += !fraction;
}

static int64_t digits_exponent(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	int64_t e = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end && e < EXPONENT_MAX; p++)
		e = 10 * e + (*p - '0');
	return negative ? -e : e;
}

static struct decimal digits_parse(const char *p, const char *end)
{
	struct decimal d = {.negative = p < end && *p == '-'};
	bool fraction = false;

	for (p += d.negative; p < end; p++) {
		if (*p == '.')
			fraction = true;
		else if (*p == 'e' || *p == 'E')
			break;
		else
			digits_add(&d, *p, fraction);
	}
	if (p < end)
		d.exponent += digits_exponent(p + 1, end);
	return d;
}

static int digits_scale(struct decimal *d, unsigned int shift, uint64_t *value)
{
	int64_t e = d->exponent + (int64_t)shift;
	unsigned int last = d->overflow; /* the first digit that is rounded off */

	*value = d->digits;
	if (d->full && e > 0)
		return -ERANGE; /* the number has more digits than the member `digits` can hold */
	for (; e < 0 && *value; e++) {
		last = (unsigned int)(*value % 10);
		*value /= 10;
	}
	if (e < 0)
		last = 0;
	for (; e > 0 && *value; e--)
		if (__builtin_mul_overflow(*value, 10, value))
			return -ERANGE;
	return __builtin_add_overflow(*value, last >= 5, value) ? -ERANGE : 0;
}

int pasta_digits(const char *text, size_t size, unsigned int shift, uint64_t *value)
{
	struct decimal d = digits_parse(text, text + size);
	int r = digits_scale(&d, shift, value);

	if (r)
		return r;
	return d.negative && *value ? -EDOM : 0;
}
