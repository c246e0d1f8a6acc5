/* patching.h - which patches a module receives, and the calls that patch it. */
#ifndef PASTA_HANDLERS_SANITIZER_PATCHING_H
#define PASTA_HANDLERS_SANITIZER_PATCHING_H

#include "handlers/sanitizer/modules.h"

/* Returns whether the patches also count accesses to memory without objects: shared and local. */
bool san_patching_spaces(void);
/* Returns whether the patches support spread counters. */
bool san_patching_spread(void);
/* The library allows one thread at a time to patch. Returns false if another thread still patches
 * after san_limits.wait_ns. */
bool san_patching_begin(void);
void san_patching_end(void);
/* Patches a module. The caller is between san_patching_begin and san_patching_end. Returns NULL, or
 * a static text that explains why the module cannot be patched. */
const char *san_patching_apply(struct san_module *m);
/* The process exits: waits for a limited time for the thread that patches. */
void san_patching_settle(void);

#endif
