/* sourceline.h - source lines as ids, and their texts. */
#ifndef PASTA_PROCESS_SOURCELINE_H
#define PASTA_PROCESS_SOURCELINE_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* Returns "forward (linear.py:125)"; whole: with the full path of the file. If line is the id of a
 * plain string, returns that. The result is text, cut at size, or lives as long as the process. Any
 * thread. */
const char *pasta_sourceline_text(uint32_t line, bool whole, char *text, size_t size);

/* Make the texts of different lines in a table distinct. First call note for each one, with a map
 * of uint32_t. Then widen replaces a text that several lines share by one with the full path. *text
 * is allocated. line may be 0: none. 0 or -ENOMEM. */
int pasta_sourcelines_note(struct pasta_map *texts, const char *text, uint32_t line);
int pasta_sourcelines_widen(const struct pasta_map *texts, char **text, uint32_t line);

#endif
