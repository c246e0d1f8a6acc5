/* digits.c - numbers from their digits, exactly. */
#include "import/digits.h"

#include <errno.h>

#define EXPONENT_MAX (INT64_C(1) << 40) /* no text has digits enough to make up for more */

/* A number as it is written: digits * 10^exponent, and digits that found no place. */
struct decimal {
	uint64_t digits;
	int64_t exponent;
	bool negative, full; /* full: what follows has lost its place */
	unsigned int lost;   /* the first digit of that */
};

static void add(struct decimal *d, char c, bool fraction)
{
	uint64_t more;

	if (!d->full && !__builtin_mul_overflow(d->digits, 10, &more) &&
	    !__builtin_add_overflow(more, (uint64_t)(c - '0'), &more)) {
		d->digits = more;
		d->exponent -= fraction;
		return;
	}
	if (!d->full)
		d->lost = (unsigned int)(c - '0');
	d->full = true;
	d->exponent += !fraction;
}

static int64_t exponent(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	int64_t e = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end && e < EXPONENT_MAX; p++)
		e = 10 * e + (*p - '0');
	return negative ? -e : e;
}

static struct decimal parse(const char *p, const char *end)
{
	struct decimal d = {.negative = p < end && *p == '-'};
	bool fraction = false;

	for (p += d.negative; p < end; p++) {
		if (*p == '.')
			fraction = true;
		else if (*p == 'e' || *p == 'E')
			break;
		else
			add(&d, *p, fraction);
	}
	if (p < end)
		d.exponent += exponent(p + 1, end);
	return d;
}

static int scale(struct decimal *d, unsigned int shift, uint64_t *value)
{
	int64_t e = d->exponent + (int64_t)shift;
	unsigned int last = d->lost; /* the first digit that goes */

	*value = d->digits;
	if (d->full && e > 0)
		return -ERANGE; /* not even the first that was lost would fit */
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
	struct decimal d = parse(text, text + size);
	int r = scale(&d, shift, value);

	if (r)
		return r;
	return d.negative && *value ? -EDOM : 0;
}
