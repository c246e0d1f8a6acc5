/* sites.h - sites: instructions that access memory. */
#ifndef PASTA_HANDLERS_SANITIZER_SITES_H
#define PASTA_HANDLERS_SANITIZER_SITES_H

#include "handlers/sanitizer/slots.h"

/* Returns the number of the site at an address, and emits a SITE if it is new. flags are the
 * SITE's: the observed kinds of access and the memory space. Returns 0 if no numbers are left. */
uint32_t san_site(const struct san_slot *s, uint64_t pc, uint32_t flags);
/* Records the address range of a function. */
void san_code(struct san_module *m, const char *name, uint64_t pc, uint64_t size);
/* Removes the functions and sites of an unloaded module from m: another module may be loaded at
 * their addresses. The caller holds the lock. */
void san_code_remove(struct san_module *m, const struct san_module *unloaded);
/* Once for each kernel, emits SITEs for memory operations that cannot be counted. */
void san_coverage(struct san_module *m, const void *function, const char *kernel);

#endif
