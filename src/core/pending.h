/* pending.h - functions of pasta_pending that only AccelProf itself uses. */
#ifndef PASTA_CORE_PENDING_H
#define PASTA_CORE_PENDING_H

#include <stdbool.h>

#include <pasta/pending.h>

/* Adds a value for a key as the newest value, and drops the key's old value, if any. The new value
 * is not zeroed, so the caller must set all of it. Returns NULL when out of memory. */
void *pasta_pending_renew(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
/* Returns the oldest value and its key, or NULL if there are no values. */
void *pasta_pending_oldest(const struct pasta_pending *pending, uint32_t *proc, uint64_t *corr);
/* Returns whether adding a value would drop the oldest one. */
bool pasta_pending_full(const struct pasta_pending *pending);
/* Removes a value that pasta_pending_find, _add or _renew returned. Faster than a look-up by
 * key. */
void pasta_pending_drop(struct pasta_pending *pending, void *value);
/* Returns whether a value that pasta_pending_find, _add or _renew returned still belongs to this
 * key. The value may have been removed since, or reused for another key; its memory is valid as
 * long as the pasta_pending exists. */
bool pasta_pending_is(const void *value, uint32_t proc, uint64_t corr);

#endif
