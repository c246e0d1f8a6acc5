/* margin.h - manages the columns of text to the left of a drawing. */
#ifndef PASTA_SINK_MARGIN_H
#define PASTA_SINK_MARGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pasta/pasta.h>

#define PASTA_GAP 2	    /* blanks between two columns */
#define PASTA_NAME_LEAST 12 /* the least width of a name, however narrow the terminal is */

/* The cells: a row of column heads, then the other rows. */
struct pasta_margin {
	size_t rows, columns;
	/* whether the first column has names, which are aligned left and cut if necessary */
	bool left;
	char **cells;	  /* (rows + 1) * columns */
	size_t widths[4]; /* 0: the column is not shown */
	size_t head;	  /* columns of a name that remain in front of the ellipsis */
};

/* Returns 0 or -ENOMEM. The caller frees the margin in either case. */
int pasta_margin_init(struct pasta_margin *s, size_t rows, size_t columns);
void pasta_margin_free(struct pasta_margin *s);
/* Set a cell; the margin owns the text. Returns 0, or -ENOMEM if `text` is NULL. */
int pasta_margin_set(struct pasta_margin *s, size_t row, size_t column, char *text);
/* Shrink the margin so that a drawing has at least this many columns, if possible. Returns the
 * columns of the drawing. */
size_t pasta_margin_fit(struct pasta_margin *s, size_t width, size_t least);
int pasta_margin_put(FILE *f, const struct pasta_margin *s, size_t row);

/* Format a value or the name of an axis as a cell. The caller frees the text; NULL when out of
 * memory. */
char *pasta_axis_text(const struct pasta_axis *axis, double value);
char *pasta_axis_head(const struct pasta_axis *axis);

#endif
