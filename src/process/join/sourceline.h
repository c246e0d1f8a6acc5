/* sourceline.h - lines of source, each an id, as texts. */
#ifndef PASTA_PROCESS_SOURCELINE_H
#define PASTA_PROCESS_SOURCELINE_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* "forward (linear.py:125)"; whole: with the path of the file. An id that is no place is that of a
 * text. Cut at size; text, or what lives as long as the process. Any thread. */
const char *pasta_sourceline_text(uint32_t line, bool whole, char *text, size_t size);

/* Texts of places that are shown side by side: note all of them in a map of uint32_t, then widen
 * each, which gets the path of its file if another place has the same text. *text is allocated. 0,
 * for a place of 0 too, or -ENOMEM. */
int pasta_sourcelines_note(struct pasta_map *texts, const char *text, uint32_t line);
int pasta_sourcelines_widen(const struct pasta_map *texts, char **text, uint32_t line);

#endif
