/* cubinline.h - the line table of a CUDA binary: DWARF's .debug_line, versions 2 to 5. */
#ifndef PASTA_HANDLERS_CUBINLINE_H
#define PASTA_HANDLERS_CUBINLINE_H

#include "handlers/sanitizer/cubin.h"

struct pasta_cubin_lines;

/* What has to be written at a place of the table: an address in a section. */
struct pasta_cubin_fix {
	uint64_t at;
	uint64_t value;
	uint32_t section;
	bool added; /* to what is at the place already */
};

struct pasta_cubin_bytes {
	const uint8_t *data;
	size_t size;
};

/*
 * line is .debug_line; names are .debug_line_str and .debug_str, which may be empty; all three are
 * copied, and fixes, from malloc, are taken, whatever is returned. rows: no more lines than that
 * are kept. NULL: out of memory.
 */
struct pasta_cubin_lines *pasta_cubin_lines_new(struct pasta_cubin_bytes line,
						const struct pasta_cubin_bytes names[2],
						struct pasta_cubin_fix *fixes, size_t fix_count,
						size_t rows);
void pasta_cubin_lines_free(struct pasta_cubin_lines *l);

/* As pasta_cubin_line has it; the offset is the section's. */
bool pasta_cubin_lines_find(struct pasta_cubin_lines *l, uint32_t section, uint64_t offset,
			    struct pasta_cubin_line *line);

#endif
