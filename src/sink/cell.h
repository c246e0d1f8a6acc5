/* cell.h - cells for people: units, escapes, widths. */
#ifndef PASTA_SINK_CELL_H
#define PASTA_SINK_CELL_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/sdk/result.h"

/* What the terminal shows for a cell, to be freed: times and sizes in human units, nothing that a
 * terminal would obey; "" for NULL, which is no value. NULL when out of memory. */
char *pasta_cell_text(const struct pasta_column *column, const union pasta_value *value);
/* The same for any text. */
char *pasta_cell_safe(const char *text);
/* The same for a code point: the bytes put, at most PASTA_CELL_PUT. */
#define PASTA_CELL_PUT 12
size_t pasta_cell_put(char *out, uint32_t c);
/* A column's head: its name, with the unit where the cells do not show it. */
char *pasta_cell_head(const struct pasta_column *column);

/* Columns of the terminal that a safe text takes. */
size_t pasta_cell_width(const char *text);
/* A safe text cut to at most width columns (at least 1): head of them, which are fewer, for its
 * beginning, one for what is left out, the rest for its end. To be freed. */
char *pasta_cell_cut(const char *text, size_t width, size_t head);
/* The head by which most of these texts can be told apart: half, if it is as good as any. texts is
 * the first of count, one in step; those that are NULL do not count. */
size_t pasta_cell_cut_head(char *const *texts, size_t count, size_t step, size_t width);

#endif
