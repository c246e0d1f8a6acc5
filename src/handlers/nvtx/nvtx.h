/* nvtx.h - what the parts of the NVTX handler share. */
#ifndef PASTA_HANDLERS_NVTX_NVTX_H
#define PASTA_HANDLERS_NVTX_NVTX_H

#include <stdatomic.h>

#include "collect/agent.h"
#include "handlers/nvtx/nvtxabi.h"

/* -- text.c: names, as NVTX has them -- */

/* A text that stays, with its id in the process that last asked for it. */
struct nvtx_text {
	struct nvtx_text *next;
	const char *text;
	_Atomic uint64_t id; /* gen << 32 | id */
};

/* The one of this text: the same until the process ends. NULL when out of memory. Any thread. */
struct nvtx_text *nvtx_text_copy(const char *text);
struct nvtx_text *nvtx_text_copy_wide(const wchar_t *text);
/* Interned ids. NULL has one, too: that of what has no message. */
uint32_t nvtx_text_id(struct nvtx_text *text);
uint32_t nvtx_text_ascii(const char *text);
uint32_t nvtx_text_wide(const wchar_t *text);
uint32_t nvtx_text_message(const struct nvtx_attributes *attributes);

/* -- ranges.c: ranges of the process, which may overlap and end on any thread -- */

uint64_t nvtx_range_start(bool wanted, uint32_t name, uint32_t domain);
void nvtx_range_end(uint64_t id);

/* -- calls.c: the functions that the program calls through its table -- */

extern const nvtx_function nvtx_core[NVTX_ABI_CORE_COUNT];
extern const nvtx_function nvtx_core2[NVTX_ABI_CORE2_COUNT];

#endif
