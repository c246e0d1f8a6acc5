/* dwarf.h - a file's functions and lines, from its debugging information or its symbols. */
#ifndef PASTA_PROCESS_DWARF_H
#define PASTA_PROCESS_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_dwarf;

/* NULL: it cannot be read, it is not of this build id (the first eight bytes; 0: not known, and
 * not asked), or this build has no libdw. *changed is set in the second case. */
struct pasta_dwarf *pasta_dwarf_open(const char *path, uint64_t build, int *changed);
void pasta_dwarf_close(struct pasta_dwarf *d);

/* The places at an address of the file: function, file, line and inlined are set; the others are
 * left. How many, from 0 to max; the last is not inlined, unless there are more. */
size_t pasta_dwarf_find(struct pasta_dwarf *d, uint64_t addr, struct pasta_stack_frame *frames,
			size_t max);

/* "libdw 0.188", or NULL: this build has none. */
const char *pasta_dwarf_version(void);

#endif
