/* margin.c - manages the columns of text to the left of a drawing. */
#include "sink/margin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"

int pasta_margin_init(struct pasta_margin *s, size_t rows, size_t columns)
{
	*s = (struct pasta_margin){.rows = rows, .columns = columns};
	s->cells = calloc((rows + 1) * columns, sizeof(*s->cells));
	return s->cells ? 0 : -ENOMEM;
}

void pasta_margin_free(struct pasta_margin *s)
{
	size_t i;

	for (i = 0; s->cells && i < (s->rows + 1) * s->columns; i++)
		free(s->cells[i]);
	free(s->cells);
}

int pasta_margin_set(struct pasta_margin *s, size_t row, size_t column, char *text)
{
	size_t width = text ? pasta_cell_width(text) : 0;

	s->cells[row * s->columns + column] = text;
	if (width > s->widths[column])
		s->widths[column] = width;
	return text ? 0 : -ENOMEM;
}

static size_t margin_width(const struct pasta_margin *s)
{
	size_t i, total = 0;

	for (i = 0; i < s->columns; i++)
		total += s->widths[i] ? s->widths[i] + PASTA_GAP : 0;
	return total;
}

/* To make room, first shorten the names, then remove the second column, and then the last
 * column. */
size_t pasta_margin_fit(struct pasta_margin *s, size_t width, size_t least)
{
	static const size_t removable[] = {1, 3};
	size_t i, total;

	while (s->left && s->widths[0] > PASTA_NAME_LEAST && margin_width(s) + least > width)
		s->widths[0]--;
	if (s->left && s->widths[0])
		s->failed = pasta_cell_fit(s->cells + s->columns, s->rows, s->columns,
					   s->widths[0]) != 0;
	for (i = 0; s->columns == 4 && i < 2 && margin_width(s) + least > width; i++)
		s->widths[removable[i]] = 0;
	total = margin_width(s);
	return total + least > width ? least : width - total;
}

static void margin_pad(FILE *f, size_t n)
{
	while (n--)
		fputc(' ', f);
}

int pasta_margin_put(FILE *f, const struct pasta_margin *s, size_t row)
{
	size_t i;

	for (i = 0; i < s->columns; i++) {
		const char *cell = s->cells[row * s->columns + i];
		size_t space;
		char *cut;

		if (!s->widths[i])
			continue;
		cut = pasta_cell_cut(cell ? cell : "", s->widths[i], i ? 0 : s->widths[i]);
		if (!cut || s->failed) {
			free(cut);
			return -ENOMEM;
		}
		space = s->widths[i] - pasta_cell_width(cut);
		margin_pad(f, (i ? PASTA_GAP : 0) + (s->left && !i ? 0 : space));
		fputs(cut, f);
		margin_pad(f, s->left && !i ? space : 0);
		free(cut);
	}
	return 0;
}

/* Show a whole number without decimals. */
char *pasta_axis_text(const struct pasta_axis *axis, double value)
{
	bool whole = fabs(value) < 0x1p63 && value == floor(value) &&
		     !(axis->unit && !strcmp(axis->unit, "%"));
	struct pasta_column column = {axis->name, whole ? PASTA_COLUMN_INT : PASTA_COLUMN_FLOAT,
				      axis->unit};
	union pasta_value cell = {.f = value};

	if (whole)
		cell.i = (int64_t)value;
	return pasta_cell_text(&column, &cell);
}

char *pasta_axis_head(const struct pasta_axis *axis)
{
	return pasta_cell_head(&(struct pasta_column){axis->name, PASTA_COLUMN_FLOAT, axis->unit});
}
