/* sites.h - numbers the instructions that access memory (sites) and emits a SITE event for each
 * one. */
#ifndef PASTA_HANDLERS_SANITIZER_SITES_H
#define PASTA_HANDLERS_SANITIZER_SITES_H

#include "handlers/sanitizer/slots.h"

/* Returns the number of the site at an instruction's address, and emits a SITE event if the site is
 * new. `flags` are the flags of the event: the observed kinds of access and the memory space.
 * Returns 0 if no numbers are left. */
uint32_t san_site(const struct san_slot *s, uint64_t pc, uint32_t flags);
/* Records the address range of a function's code. */
void san_code(struct san_module *m, const char *name, uint64_t pc, uint64_t size);
/* Removes from `m` the functions and sites of an unloaded module, because another module may be
 * loaded at their addresses. The caller holds san.lock. */
void san_code_remove(struct san_module *m, const struct san_module *unloaded);
/* Emits, once for each kernel, SITE events for memory operations that cannot be counted. */
void san_coverage(struct san_module *m, const void *function, const char *kernel);

#endif
