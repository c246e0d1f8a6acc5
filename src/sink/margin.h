/* margin.h - the columns of text to the left of a drawing. */
#ifndef PASTA_SINK_MARGIN_H
#define PASTA_SINK_MARGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pasta/pasta.h>

#define PASTA_GAP 2	    /* columns between columns */
#define PASTA_NAME_LEAST 12 /* columns that a text keeps, however narrow the terminal */

/* Heads, then rows. */
struct pasta_margin {
	size_t rows, columns;
	bool left;	  /* the first column is of names: aligned left, and cut if it must be */
	char **cells;	  /* (rows + 1) * columns */
	size_t widths[4]; /* 0: it is left out */
	size_t head;	  /* what names keep of their beginnings, where they are cut */
};

/* 0 or -ENOMEM; to be freed in either case. */
int pasta_margin_init(struct pasta_margin *s, size_t rows, size_t columns);
void pasta_margin_free(struct pasta_margin *s);
/* Put a text, to be freed with it, in its place; NULL is no memory. */
int pasta_margin_set(struct pasta_margin *s, size_t row, size_t column, char *text);
/* Make room for a drawing of so many columns, if that can be; returns how many there are. */
size_t pasta_margin_fit(struct pasta_margin *s, size_t width, size_t least);
int pasta_margin_put(FILE *f, const struct pasta_margin *s, size_t row);

/* Numbers and names of an axis as cells have them, to be freed. */
char *pasta_axis_text(const struct pasta_axis *axis, double value);
char *pasta_axis_head(const struct pasta_axis *axis);

#endif
