/* sourceline.h - represents source lines by ids, and returns their texts. */
#ifndef PASTA_PROCESS_SOURCELINE_H
#define PASTA_PROCESS_SOURCELINE_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* Returns the text of a line, such as "forward (linear.py:125)". If `whole` is true, the text has
 * the full path of the file. If `line` is the id of a plain string, returns that string. The result
 * is either `text`, truncated to `size` bytes, or a string that lives as long as the process. Any
 * thread may call it. */
const char *pasta_sourceline_text(uint32_t line, bool whole, char *text, size_t size);

/* Sets whether pasta_python_frame and pasta_stack_line prefer the innermost line of a Python path,
 * which is often in a library, over the innermost line of the program. The default is false. Call
 * it before tools run. pasta_sourceline_prefers_library returns the setting. */
void pasta_sourceline_prefer_library(bool library);
bool pasta_sourceline_prefers_library(void);

/* Make the texts of the lines of a table distinct. First call pasta_sourcelines_note for each line,
 * with a map of uint32_t. Then call pasta_sourcelines_widen for each line: if several lines share a
 * text, this function replaces the allocated string *text with a text that has the file's full
 * path. Line 0 means no line. Both functions return 0 or -ENOMEM. */
int pasta_sourcelines_note(struct pasta_map *texts, const char *text, uint32_t line);
int pasta_sourcelines_widen(const struct pasta_map *texts, char **text, uint32_t line);

#endif
