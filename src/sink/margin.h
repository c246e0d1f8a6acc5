/* margin.h - manages the columns of text to the left of a drawing. */
#ifndef PASTA_SINK_MARGIN_H
#define PASTA_SINK_MARGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pasta/pasta.h>

#define PASTA_GAP 2	    /* blanks between two columns */
#define PASTA_NAME_LEAST 12 /* minimum width of a name in columns, even on a narrow terminal */

/* The cells of the margin: first a row with the heads of the columns, then the other rows. */
struct pasta_margin {
	size_t rows, columns;
	/* whether the first column has names, which are aligned to the left, and truncated if they
	 * are too long */
	bool left;
	char **cells;	  /* (rows + 1) * columns */
	size_t widths[4]; /* 0: the column is not shown */
	bool failed;	  /* memory ran out while the names were cut */
};

/* Returns 0 or -ENOMEM. In both cases the caller must free the margin. */
int pasta_margin_init(struct pasta_margin *s, size_t rows, size_t columns);
void pasta_margin_free(struct pasta_margin *s);
/* Set the text of a cell. The margin owns the text. Returns 0, or -ENOMEM if `text` is NULL. */
int pasta_margin_set(struct pasta_margin *s, size_t row, size_t column, char *text);
/* Shrink the margin so that at least this many columns remain for the drawing, if possible. Returns
 * the number of columns that remain. */
size_t pasta_margin_fit(struct pasta_margin *s, size_t width, size_t least);
int pasta_margin_put(FILE *f, const struct pasta_margin *s, size_t row);

/* Format a value, or the name of an axis, as a cell. The caller frees the text. Returns NULL when
 * out of memory. */
char *pasta_axis_text(const struct pasta_axis *axis, double value);
char *pasta_axis_head(const struct pasta_axis *axis);

#endif
