/* cell.h - formats table cells for a terminal: chooses units, escapes characters, measures
 * widths. */
#ifndef PASTA_SINK_CELL_H
#define PASTA_SINK_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/sdk/result.h"

/* Set whether the texts that this thread makes contain only characters of ASCII: "..." instead of
 * an ellipsis, and escapes instead of characters that have no replacement. Returns the setting
 * before. */
bool pasta_cell_set_ascii(bool ascii);

/* Format a cell: times and sizes in readable units, with control characters escaped. A NULL `value`
 * gives "". The caller frees the text. Returns NULL when out of memory. */
char *pasta_cell_text(const struct pasta_column *column, const union pasta_value *value);
/* Escape the control characters and direction marks of a text. Returns a new text, which the caller
 * frees; NULL when out of memory. */
char *pasta_cell_safe(const char *text);
/* Write a code point, escaped if necessary. Returns the number of bytes, at most PASTA_CELL_PUT. */
#define PASTA_CELL_PUT 12
size_t pasta_cell_put(char *out, uint32_t c);
/* Format the head of a column: the column's name, and the unit if the cells do not show it. The
 * caller frees the text. Returns NULL when out of memory. */
char *pasta_cell_head(const struct pasta_column *column);

/* Returns the width of an ellipsis, in columns of the terminal. */
size_t pasta_cell_mark(void);
/* Returns the width of an escaped text, in columns of the terminal. */
size_t pasta_cell_width(const char *text);
/* Truncate an escaped text to at most `width` columns, where `width` is at least 1. The result has
 * the first `head` columns of the text, an ellipsis, and the end of the text. `head` is less than
 * `width`. The caller frees the result. Returns NULL when out of memory. */
char *pasta_cell_cut(const char *text, size_t width, size_t head);
/* Returns the value of `head` for pasta_cell_cut that leaves the most texts distinguishable, or
 * half of the width if no other value is better. `texts` is the address of the first of `count`
 * pointers, which are `step` bytes apart. NULL pointers are ignored. */
size_t pasta_cell_cut_head(char *const *texts, size_t count, size_t step, size_t width);
/* Cut texts to at most `width` columns, where `width` is at least 1. `texts` is as for
 * pasta_cell_cut_head. The cut texts replace the texts, which are freed. Different texts remain
 * different: texts that would be cut alike are cut where they do not differ, and texts that are
 * still alike are numbered, as in "name~2". Returns 0 or -ENOMEM. */
int pasta_cell_fit(char **texts, size_t count, size_t step, size_t width);

#endif
