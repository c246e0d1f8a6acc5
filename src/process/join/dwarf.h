/* dwarf.h - finds the functions and source lines of addresses in a file. */
#ifndef PASTA_PROCESS_DWARF_H
#define PASTA_PROCESS_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_dwarf;

/* Opens a file with symbols or debug information. `build`: the first eight bytes of the file's
 * build id, or 0 to skip that check. Returns NULL if the file cannot be read, has another build id
 * (sets *changed), or accelprof was built without libdw. */
struct pasta_dwarf *pasta_dwarf_open(const char *path, uint64_t build, int *changed);
void pasta_dwarf_close(struct pasta_dwarf *d);

/* Sets `function`, `file`, `line` and `inlined` of each frame at an address of the file. Returns
 * the number of frames, at most max. The last frame is not inlined, unless there are more than max
 * frames. */
size_t pasta_dwarf_find(struct pasta_dwarf *d, uint64_t addr, struct pasta_stack_frame *frames,
			size_t max);

/* Returns the version, such as "libdw 0.188", or NULL if accelprof was built without libdw. */
const char *pasta_dwarf_version(void);

#endif
