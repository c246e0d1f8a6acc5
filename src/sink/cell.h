/* cell.h - cells for people: units, escapes, widths. */
#ifndef PASTA_SINK_CELL_H
#define PASTA_SINK_CELL_H

#include <stddef.h>

#include <pasta/pasta.h>

#include "process/result.h"

/* What the terminal shows for a cell, to be freed: times and sizes in human units, nothing that a
 * terminal would obey; "" for NULL, which is no value. NULL when out of memory. */
char *pasta_cell_text(const struct pasta_column *column, const union pasta_value *value);
/* The same for any text. */
char *pasta_cell_safe(const char *text);
/* A column's head: its name, with the unit where the cells do not show it. */
char *pasta_cell_head(const struct pasta_column *column);

/* Columns of the terminal that a safe text takes. */
size_t pasta_cell_width(const char *text);
/* A safe text cut in its middle to at most width columns (at least 1). To be freed. */
char *pasta_cell_cut(const char *text, size_t width);

#endif
