/* pending.h - functions of pasta_pending that only AccelProf itself uses. */
#ifndef PASTA_CORE_PENDING_H
#define PASTA_CORE_PENDING_H

#include <stdbool.h>

#include <pasta/pending.h>

/* Adds a value for a key, as the newest value. If the key has a value already, drops that value.
 * The caller must set the whole new value, which is not zeroed. Returns NULL when out of memory. */
void *pasta_pending_renew(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
/* Returns the oldest value and its key; NULL if there are no values. */
void *pasta_pending_oldest(const struct pasta_pending *pending, uint32_t *proc, uint64_t *corr);
/* Returns whether adding a value would drop the oldest value. */
bool pasta_pending_full(const struct pasta_pending *pending);
/* Removes a value that pasta_pending_find, _add or _renew has returned. This is faster than
 * removing a value by its key. */
void pasta_pending_drop(struct pasta_pending *pending, void *value);
/* Returns whether a value still belongs to this key. The value must be one that pasta_pending_find,
 * _add or _renew has returned. Since then, the value may have been removed, or reused for another
 * key. The memory of the value remains valid as long as the pasta_pending exists. */
bool pasta_pending_is(const void *value, uint32_t proc, uint64_t corr);

#endif
