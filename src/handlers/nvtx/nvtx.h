/* nvtx.h - declares the functions that the files of the NVTX handler share. */
#ifndef PASTA_HANDLERS_NVTX_NVTX_H
#define PASTA_HANDLERS_NVTX_NVTX_H

#include <stdatomic.h>

#include "collect/agent.h"
#include "handlers/nvtx/nvtxabi.h"

/* -- Functions of text.c, for the names of ranges, domains and threads -- */

/* A text that lives until the process ends, with its interned id. */
struct nvtx_text {
	struct nvtx_text *next;
	const char *text;
	_Atomic uint64_t id; /* the text's interned id, as pasta_agent_gen() << 32 | id */
};

/* Returns the stored copy of a text, or NULL if memory is exhausted. Calls with the same text
 * return the same pointer. Any thread may call this function. */
struct nvtx_text *nvtx_text_copy(const char *text);
struct nvtx_text *nvtx_text_copy_wide(const wchar_t *text);
/* These functions return interned ids. For NULL, they return the id of "(no message)". */
uint32_t nvtx_text_id(struct nvtx_text *text);
uint32_t nvtx_text_ascii(const char *text);
uint32_t nvtx_text_wide(const wchar_t *text);
uint32_t nvtx_text_message(const struct nvtx_attributes *attributes);

/* -- Functions of ranges.c, for ranges of the process, which may overlap and end on any thread
 * -- */

/* Starts a range. The range is recorded if `recorded` is true. Returns the range's id. */
uint64_t nvtx_range_start(bool recorded, uint32_t name, uint32_t domain);
/* Ends a range. Ignores an id that is unknown, that belongs to a range that has ended, or that
 * comes from a parent process. */
void nvtx_range_end(uint64_t id);

/* -- Tables of calls.c, with the functions that NVTX calls for the program -- */

extern const nvtx_function nvtx_core[NVTX_ABI_CORE_COUNT];
extern const nvtx_function nvtx_core2[NVTX_ABI_CORE2_COUNT];

#endif
