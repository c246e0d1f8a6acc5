/* cubinline.h - decodes the line table of a CUDA binary: the section .debug_line of DWARF 2 to
 * 5. */
#ifndef PASTA_HANDLERS_CUBINLINE_H
#define PASTA_HANDLERS_CUBINLINE_H

#include "handlers/sanitizer/cubin.h"

struct pasta_cubin_lines;

/* A relocation of the line table: an address in a section, which is stored at a position in the
 * table. */
struct pasta_cubin_fix {
	uint64_t at;
	uint64_t value;
	uint32_t section;
	bool added; /* whether the value is added to the table's bytes instead of replacing them */
};

struct pasta_cubin_bytes {
	const uint8_t *data;
	size_t size;
};

/*
 * Copies the sections `line` (.debug_line) and `names` (.debug_line_str and .debug_str, which may
 * be empty). The caller allocates `fixes` with malloc; this function frees `fixes`, even on
 * failure. `rows` limits the number of decoded lines. Returns NULL if out of memory.
 */
struct pasta_cubin_lines *pasta_cubin_lines_new(struct pasta_cubin_bytes line,
						const struct pasta_cubin_bytes names[2],
						struct pasta_cubin_fix *fixes, size_t fix_count,
						size_t rows);
void pasta_cubin_lines_free(struct pasta_cubin_lines *l);

/* Does the same as pasta_cubin_line, for an offset that is relative to the section. */
bool pasta_cubin_lines_find(struct pasta_cubin_lines *l, uint32_t section, uint64_t offset,
			    struct pasta_cubin_line *line);

#endif
