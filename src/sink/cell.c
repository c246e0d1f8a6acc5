/* cell.c - formats table cells for a terminal: chooses units, escapes characters, measures
 * widths. */
#include "sink/cell.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "process/io/utf8.h"

/* Whether texts may contain only characters of ASCII. Each thread has a setting of its own. */
static _Thread_local bool cell_ascii;

bool pasta_cell_set_ascii(bool ascii)
{
	bool before = cell_ascii;

	cell_ascii = ascii;
	return before;
}

static const char *cell_ellipsis(void)
{
	return cell_ascii ? "..." : "…";
}

/* -- Text -- */

/* Direction marks and separators can change how a terminal displays the rest of a line. */
static bool cell_is_direction_mark(uint32_t c)
{
	return c == 0x200e || c == 0x200f || c == 0x61c || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029 || c == 0xfeff;
}

static bool cell_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* Returns the width of a character in columns. wcwidth works only in a UTF-8 locale. In other
 * locales, returns 1. */
static size_t cell_char_width(uint32_t c)
{
	int width = c < 0x7f ? 1 : wcwidth((wchar_t)c);

	return width < 0 ? 1 : (size_t)width;
}

size_t pasta_cell_put(char *out, uint32_t c)
{
	if (c == '\n' || c == '\t' || c == '\r') {
		out[0] = '\\';
		out[1] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
		return 2;
	}
	if (cell_is_control(c))
		return (size_t)snprintf(out, PASTA_CELL_PUT, "\\x%02" PRIx32, c);
	if (cell_is_direction_mark(c))
		return (size_t)snprintf(out, PASTA_CELL_PUT, "\\u%04" PRIx32, c);
	return pasta_utf8_put(out, c);
}

/* Write a code point in ASCII. Returns the number of bytes, at most PASTA_CELL_PUT. */
static size_t cell_put_ascii(char *out, uint32_t c)
{
	static const struct {
		uint32_t from;
		const char *to;
	} known[] = {{0x2026, "..."}, {0xd7, "x"},    {0xb5, "u"},   {0x3bc, "u"},  {0x2192, "->"},
		     {0x2013, "-"},   {0x2014, "-"},  {0x2212, "-"}, {0x2018, "'"}, {0x2019, "'"},
		     {0x201c, "\""},  {0x201d, "\""}, {0xfffd, "?"}};

	if (c < 0x80)
		return pasta_cell_put(out, c);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].from == c)
			return (size_t)snprintf(out, PASTA_CELL_PUT, "%s", known[i].to);
	return (size_t)snprintf(out, PASTA_CELL_PUT,
				c < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, c);
}

char *pasta_cell_safe(const char *text)
{
	const char *p = text, *end = text + strlen(text);
	/* Escaping makes a single byte at most 4 bytes long, and a code point of two or three bytes
	 * at most 6. */
	char *safe = malloc(4 * (size_t)(end - text) + 12), *q = safe;

	while (safe && p < end)
		q += cell_ascii ? cell_put_ascii(q, pasta_utf8_next(&p, end))
				: pasta_cell_put(q, pasta_utf8_next(&p, end));
	if (safe)
		*q = '\0';
	return safe;
}

size_t pasta_cell_width(const char *text)
{
	const char *p = text, *end = text + strlen(text);
	size_t width = 0;

	while (p < end)
		width += cell_char_width(pasta_utf8_next(&p, end));
	return width;
}

/* Returns a pointer to the end of the longest prefix that is at most `width` columns wide. */
static const char *cell_skip(const char *text, const char *end, size_t width)
{
	while (text < end) {
		const char *next = text;
		size_t w = cell_char_width(pasta_utf8_next(&next, end));

		if (w > width)
			break;
		width -= w;
		text = next;
	}
	return text;
}

size_t pasta_cell_mark(void)
{
	return pasta_cell_width(cell_ellipsis());
}

char *pasta_cell_cut(const char *text, size_t width, size_t head)
{
	const char *end = text + strlen(text), *left, *tail;
	size_t full = pasta_cell_width(text), mark = pasta_cell_mark(), right;
	char *cut;

	if (full <= width)
		return strdup(text);
	if (width <= mark)
		return strndup(cell_ellipsis(), cell_ascii ? width : strlen(cell_ellipsis()));
	head = head < width - mark ? head : width - mark;
	right = width - mark - head;
	left = cell_skip(text, end, head);
	tail = cell_skip(text, end, full - right);
	/* If the cut is in the middle of a wide character, drop that character. */
	while (tail < end && pasta_cell_width(tail) > right)
		pasta_utf8_next(&tail, end);
	if (asprintf(&cut, "%.*s%s%s", (int)(left - text), text, cell_ellipsis(), tail) < 0)
		return NULL;
	return cut;
}

static int cell_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns how many different texts remain after all texts are truncated; 0 when out of memory. */
static size_t cell_count_distinct(char *const *texts, size_t count, size_t step, size_t width,
				  size_t head)
{
	char **cuts = calloc(count, sizeof(*cuts));
	size_t i, n = 0, apart = 0;
	bool ok = cuts;

	for (i = 0; ok && i < count; i++)
		if (texts[i * step]) {
			cuts[n] = pasta_cell_cut(texts[i * step], width, head);
			ok = cuts[n];
			n += ok;
		}
	if (ok)
		qsort(cuts, n, sizeof(*cuts), cell_by_text);
	for (i = 0; ok && i < n; i++)
		apart += !i || strcmp(cuts[i - 1], cuts[i]) != 0;
	while (n)
		free(cuts[--n]);
	free(cuts);
	return apart;
}

size_t pasta_cell_cut_head(char *const *texts, size_t count, size_t step, size_t width)
{
	static const size_t eighths[] = {4, 6, 2, 7};
	size_t i, best = (width - 1) / 2, most = 0;
	bool cut = false;

	for (i = 0; !cut && i < count; i++)
		cut = texts[i * step] && pasta_cell_width(texts[i * step]) > width;
	for (i = 0; cut && most < count && i < sizeof(eighths) / sizeof(*eighths); i++) {
		size_t head = (width - 1) * eighths[i] / 8;
		size_t apart = cell_count_distinct(texts, count, step, width, head);

		if (apart > most) {
			most = apart;
			best = head;
		}
	}
	return best;
}

/* -- Numbers -- */

struct scale {
	double least;
	double by;
	const char *unit;
};

static const struct scale times[] = {
	{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "us"}, {0, 1, "ns"}};
static const struct scale sizes[] = {{0x1p40, 0x1p40, "TiB"},
				     {0x1p30, 0x1p30, "GiB"},
				     {0x1p20, 0x1p20, "MiB"},
				     {0x1p10, 0x1p10, "KiB"},
				     {0, 1, "B"}};
static const struct scale rates[] = {{0x1p40, 0x1p40, "TiB/s"},
				     {0x1p30, 0x1p30, "GiB/s"},
				     {0x1p20, 0x1p20, "MiB/s"},
				     {0x1p10, 0x1p10, "KiB/s"},
				     {0, 1, "B/s"}};

static const struct scale counts[] = {{1e15, 1e15, "PFLOP"}, {1e12, 1e12, "TFLOP"},
				      {1e9, 1e9, "GFLOP"},   {1e6, 1e6, "MFLOP"},
				      {1e3, 1e3, "kFLOP"},   {0, 1, "FLOP"}};
static const struct scale speeds[] = {{1e12, 1e12, "TFLOP/s"},
				      {1e9, 1e9, "GFLOP/s"},
				      {1e6, 1e6, "MFLOP/s"},
				      {1e3, 1e3, "kFLOP/s"},
				      {0, 1, "FLOP/s"}};

static const struct scale *cell_scales(const char *unit)
{
	if (!unit)
		return NULL;
	if (!strcmp(unit, "FLOP"))
		return counts;
	if (!strcmp(unit, "FLOP/s"))
		return speeds;
	if (!strcmp(unit, "bytes/s"))
		return rates;
	return !strcmp(unit, "ns") ? times : !strcmp(unit, "bytes") ? sizes : NULL;
}

static void cell_scaled(char *out, size_t size, const struct scale *scale, double value, bool whole)
{
	/* This factor selects the larger unit a little early. Without it, 999.9996 us would be
	 * shown as 1000.000 us. */
	double limit = 0.9999995;

	while (fabs(value) < scale->least * limit)
		scale++;
	if (scale->by == 1 && whole)
		snprintf(out, size, "%.0f %s", value, scale->unit);
	else
		snprintf(out, size, "%.3f %s", value / scale->by, scale->unit);
}

/* Round a share to 0% or 100% only if it is exactly that. */
static void cell_share(char *out, size_t size, double value)
{
	if (value > 0 && value < 0.05)
		snprintf(out, size, "<0.1%%");
	else if (value >= 99.95 && value < 100)
		snprintf(out, size, ">99.9%%");
	else
		snprintf(out, size, "%.1f%%", value);
}

static void cell_number(char *out, size_t size, const struct pasta_column *column,
			const union pasta_value *value)
{
	const struct scale *scale = cell_scales(column->unit);
	bool percent = column->unit && !strcmp(column->unit, "%");

	if (column->type == PASTA_COLUMN_FLOAT && !isfinite(value->f))
		snprintf(out, size, "-");
	else if (scale)
		cell_scaled(out, size, scale,
			    column->type == PASTA_COLUMN_INT ? (double)value->i : value->f,
			    column->type == PASTA_COLUMN_INT);
	else if (column->type == PASTA_COLUMN_INT)
		snprintf(out, size, "%" PRId64 "%s", value->i, percent ? "%" : "");
	else if (percent)
		cell_share(out, size, value->f);
	else
		snprintf(out, size, "%.6g", value->f);
}

char *pasta_cell_text(const struct pasta_column *column, const union pasta_value *value)
{
	char text[400];

	if (!value)
		return strdup("");
	if (column->type == PASTA_COLUMN_STRING)
		return pasta_cell_safe(value->s);
	cell_number(text, sizeof(text), column, value);
	return strdup(text);
}

char *pasta_cell_head(const struct pasta_column *column)
{
	const char *unit = column->unit;
	char *name = pasta_cell_safe(column->name), *safe, *head = NULL;

	if (!name || !unit || cell_scales(unit) || !strcmp(unit, "%") || !strcmp(unit, name))
		return name;
	safe = pasta_cell_safe(unit);
	if (safe && asprintf(&head, "%s (%s)", name, safe) < 0)
		head = NULL;
	free(safe);
	free(name);
	return head;
}
