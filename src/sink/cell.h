/* cell.h - formats table cells for a terminal: chooses units, escapes characters, measures
 * widths. */
#ifndef PASTA_SINK_CELL_H
#define PASTA_SINK_CELL_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/sdk/result.h"

/* Format a cell: times and sizes in readable units, control characters escaped; "" if `value` is
 * NULL. Returns a text that the caller frees, or NULL when out of memory. */
char *pasta_cell_text(const struct pasta_column *column, const union pasta_value *value);
/* Escape the control characters and direction marks of a text. Returns a text that the caller
 * frees; NULL when out of memory. */
char *pasta_cell_safe(const char *text);
/* Write a code point, escaped if necessary. Returns the number of bytes, at most PASTA_CELL_PUT. */
#define PASTA_CELL_PUT 12
size_t pasta_cell_put(char *out, uint32_t c);
/* Format the head of a column: its name, with the unit if the cells do not show it. Returns a text
 * that the caller frees; NULL when out of memory. */
char *pasta_cell_head(const struct pasta_column *column);

/* Returns the width of an escaped text, in columns of the terminal. */
size_t pasta_cell_width(const char *text);
/* Cut an escaped text to at most `width` columns (at least 1): its first `head` columns (fewer than
 * `width`), an ellipsis, and its end. Returns a text that the caller frees; NULL when out of
 * memory.
 */
char *pasta_cell_cut(const char *text, size_t width, size_t head);
/* Returns the value of `head` for pasta_cell_cut that leaves the most texts distinguishable, or
 * half of the width if no other value is better. `texts` points to `count` pointers, at a distance
 * of `step`; NULL texts are ignored. */
size_t pasta_cell_cut_head(char *const *texts, size_t count, size_t step, size_t width);

#endif
