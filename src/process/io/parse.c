/* parse.c - parses values of command-line options and tool options. */
#include "process/io/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parses decimal digits, and sets *end to the first character after them. strtoull alone would
 * accept signs and leading spaces. */
static int parse_digits(const char *text, uint64_t *value, const char **end)
{
	unsigned long long got;
	char *rest;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	got = strtoull(text, &rest, 10);
	*end = rest;
	*value = got;
	return errno ? -ERANGE : 0;
}

/* Sets *value to number * unit. `error` is the result of parse_digits, 0 or -ERANGE; callers handle
 * -EINVAL themselves. Returns -ERANGE if `error` is not 0, or if the product overflows. */
static int parse_scale(int error, uint64_t number, uint64_t unit, uint64_t *value)
{
	uint64_t product;

	if (error || __builtin_mul_overflow(number, unit, &product))
		return -ERANGE;
	*value = product;
	return 0;
}

int pasta_parse_number(const char *text, uint64_t *value)
{
	const char *end;
	uint64_t number;
	int error = parse_digits(text, &number, &end);

	if (error == -EINVAL || *end)
		return -EINVAL;
	return parse_scale(error, number, 1, value);
}

int pasta_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	unsigned int shift = 0;
	const char *unit, *end;
	uint64_t number;
	int error = parse_digits(text, &number, &end);

	if (error == -EINVAL)
		return error;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
		end += !strcmp(end, "iB") ? 2 : !strcmp(end, "B") ? 1 : 0;
	}
	if (*end)
		return -EINVAL;
	return parse_scale(error, number, UINT64_C(1) << shift, bytes);
}

/* Parses a fraction such as ".25" into billionths, and sets *end to the first character after it.
 * Uses integers, because a double would round. */
static int parse_billionths(const char *text, uint64_t *part, const char **end)
{
	uint64_t unit = 100000000;

	*part = 0;
	*end = text;
	if (*text != '.')
		return 0;
	for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
		*part += unit * (uint64_t)(*text - '0');
	if (text == *end + 1)
		return -EINVAL;
	*end = text;
	return 0;
}

/* Sets *ns to (number + part / 10^9) * unit. Returns -ERANGE if that overflows. */
static int parse_scale_time(int error, uint64_t number, uint64_t part, uint64_t unit, uint64_t *ns)
{
	uint64_t whole, fraction = (uint64_t)((unsigned __int128)part * unit / 1000000000);

	if (parse_scale(error, number, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return -ERANGE;
	*ns = whole;
	return 0;
}

int pasta_parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", 1000000000},
		{"min", UINT64_C(60000000000)},
		{"h", UINT64_C(3600000000000)},
	};
	const char *unit;
	uint64_t number, part;
	int error = parse_digits(text, &number, &unit);
	size_t i;

	if (error == -EINVAL || parse_billionths(unit, &part, &unit))
		return -EINVAL;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return parse_scale_time(error, number, part, units[i].ns, ns);
	/* A time must have a unit, unless it is 0. */
	if (error || number || part || *unit)
		return -EINVAL;
	*ns = 0;
	return 0;
}

int pasta_parse_yes_no(const char *text, bool *yes)
{
	bool is = !strcmp(text, "yes");

	if (!is && strcmp(text, "no"))
		return -EINVAL;
	*yes = is;
	return 0;
}

int pasta_parse_option(enum pasta_option_type type, const char *text, uint64_t *value)
{
	bool yes;
	int error;

	switch (type) {
	case PASTA_OPTION_TEXT:
		*value = 0;
		return 0;
	case PASTA_OPTION_NUMBER:
		return pasta_parse_number(text, value);
	case PASTA_OPTION_YES_NO:
		error = pasta_parse_yes_no(text, &yes);
		if (!error)
			*value = yes;
		return error;
	case PASTA_OPTION_TIME:
		return pasta_parse_time(text, value);
	case PASTA_OPTION_SIZE:
		return pasta_parse_size(text, value);
	}
	return -EINVAL;
}

static const struct {
	const char *name, *needs;
} types[] = {
	[PASTA_OPTION_TEXT] = {"text", "text"},
	[PASTA_OPTION_NUMBER] = {"number", "a number like 20"},
	[PASTA_OPTION_YES_NO] = {"yes|no", "yes or no"},
	[PASTA_OPTION_TIME] = {"time", "a time like 10ms, with a unit ns, us, ms, s, min or h"},
	[PASTA_OPTION_SIZE] = {"size", "a size like 64M, in bytes or with a suffix K, M, G or T"},
};

const char *pasta_option_type_name(enum pasta_option_type type)
{
	return (unsigned int)type <= PASTA_OPTION_SIZE ? types[type].name : NULL;
}

const char *pasta_option_type_needs(enum pasta_option_type type)
{
	return (unsigned int)type <= PASTA_OPTION_SIZE ? types[type].needs : NULL;
}
