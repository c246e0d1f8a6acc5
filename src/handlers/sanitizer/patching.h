/* patching.h - selects the patches for a module and applies them. */
#ifndef PASTA_HANDLERS_SANITIZER_PATCHING_H
#define PASTA_HANDLERS_SANITIZER_PATCHING_H

#include "handlers/sanitizer/modules.h"

/* Returns whether the patches also count accesses to shared and local memory, which have no
 * objects. */
bool san_patching_spaces(void);
/* Returns whether the patches support several sets of counters for each object
 * (pasta_gpu_launch.spread). */
bool san_patching_spread(void);
/* Called before patching, because only one thread at a time may use the library to patch. Returns
 * false if another thread is still patching after san_limits.wait_ns. */
bool san_patching_begin(void);
void san_patching_end(void);
/* Patches a module. The caller must be between san_patching_begin and san_patching_end. Returns
 * NULL, or a static string that explains why the module cannot be patched. */
const char *san_patching_apply(struct san_module *m);
/* Called when the process exits. Waits for a limited time until no thread is patching. */
void san_patching_settle(void);

#endif
