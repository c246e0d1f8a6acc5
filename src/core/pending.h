/* pending.h - functions of pasta_pending that only AccelProf itself uses. */
#ifndef PASTA_CORE_PENDING_H
#define PASTA_CORE_PENDING_H

#include <stdbool.h>

#include <pasta/pending.h>

/* Returns a new value for a key, the youngest, and drops the key's old value, if any. The value is
 * not zeroed: the caller sets all of it. NULL: out of memory. */
void *pasta_pending_renew(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
/* Returns the oldest value and its key; NULL if there are no values. */
void *pasta_pending_oldest(const struct pasta_pending *pending, uint32_t *proc, uint64_t *corr);
/* Returns whether adding a value would drop the oldest one. */
bool pasta_pending_full(const struct pasta_pending *pending);
/* Removes a value that find, add or renew returned, without a look-up. */
void pasta_pending_drop(struct pasta_pending *pending, void *value);
/* Returns whether a value that find, add or renew returned still has this key. The value may have
 * been removed or reused for another key since: its memory stays valid as long as pending. */
bool pasta_pending_is(const void *value, uint32_t proc, uint64_t corr);

#endif
