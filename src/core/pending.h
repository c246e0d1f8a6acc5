/* pending.h - what the core itself asks of what waits for its other half. */
#ifndef PASTA_CORE_PENDING_H
#define PASTA_CORE_PENDING_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* A new value, the youngest, in place of the one that the key has, if any. What is in it is not
 * zeroed: the caller writes all of it. NULL when out of memory. */
void *pasta_pending_renew(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
/* The value that goes first, and its key; NULL: there is none. Whether adding makes it go. */
void *pasta_pending_oldest(const struct pasta_pending *pending, uint32_t *proc, uint64_t *corr);
bool pasta_pending_full(const struct pasta_pending *pending);
/* Remove a value that find, add or renew gave, without looking for it again. */
void pasta_pending_drop(struct pasta_pending *pending, void *value);
/* Whether a value that one of these returned has this key. It may have been removed since, and even
 * be another's: its memory lasts as long as pending. */
bool pasta_pending_is(const void *value, uint32_t proc, uint64_t corr);

#endif
