/* pending.h - stores a tool's values, by process and correlation id, until a matching event
 * arrives. */
#ifndef PASTA_PENDING_H
#define PASTA_PENDING_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_event;

/*
 * Stores values until a matching event arrives: for example, data about launches until the events
 * of their kernels arrive. All values have the same size and are aligned to 8. Their keys are
 * process and correlation id. At most `limit` values are stored. A further value replaces the
 * oldest one, so that values whose event never arrives don't fill the memory. A value does not move
 * until it is removed or replaced. Only one thread at a time may use this struct. pasta_pending_new
 * returns NULL when out of memory.
 */
struct pasta_pending;
PASTA_EXPORT struct pasta_pending *pasta_pending_new(size_t value_size, size_t limit);
PASTA_EXPORT void pasta_pending_free(struct pasta_pending *pending);
/* Return the value with a process and correlation id. If there is none, pasta_pending_find returns
 * NULL, and pasta_pending_add adds a zeroed value, or returns NULL when out of memory. */
PASTA_EXPORT void *pasta_pending_find(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT void *pasta_pending_add(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT void pasta_pending_remove(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT size_t pasta_pending_count(const struct pasta_pending *pending);

/*
 * Stores collectives until the events of their kernels arrive. A collective event comes before the
 * event of its kernel, and has the same process and correlation id. If the correlation id is 0, the
 * collective has the same time as its kernel. The values of `waiting` must begin with a uint64_t,
 * in which these functions store the time of the collective.
 */
/* Returns the value for a collective event: a new value, or the value of an earlier collective with
 * the same correlation id whose kernel has not arrived yet. Returns NULL when out of memory. */
PASTA_EXPORT void *pasta_collective_wait(struct pasta_pending *waiting,
					 const struct pasta_event *collective);
/* Returns the value of the collective that a kernel belongs to; NULL if the kernel belongs to no
 * collective. */
PASTA_EXPORT void *pasta_collective_find(struct pasta_pending *waiting,
					 const struct pasta_event *kernel);
/* Removes the value that pasta_collective_find returned for the kernel. Call this function for
 * every kernel: the kernels of a graph share one correlation id, but each of its collectives has an
 * event of its own. */
PASTA_EXPORT void pasta_collective_done(struct pasta_pending *waiting,
					const struct pasta_event *kernel);

#ifdef __cplusplus
}
#endif
#endif
