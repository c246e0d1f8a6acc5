/* table.h - a hash table from OpenCL handles to values: lock-free look-ups, changes under a lock.
 */
#ifndef PASTA_HANDLERS_OPENCL_TABLE_H
#define PASTA_HANDLERS_OPENCL_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value has up to 48 bytes, never moves and is never freed. It starts with a uint32_t, the
 * handle's number, from 1; the rest is initially zero. A zeroed table is empty. */
struct cl_table {
	pthread_mutex_t lock;
	_Atomic(struct cl_table_slots *) slots;
	size_t count;	 /* number of handles; they are not removed, because drivers reuse them */
	uint32_t number; /* the last one assigned */
};

/* Returns the value of a handle, or NULL. Any thread; no lock. */
void *cl_table_find(struct cl_table *t, const void *handle);
/* Returns the value of a handle, and adds it if necessary; *added says whether it was added. NULL:
 * out of memory. */
void *cl_table_get(struct cl_table *t, const void *handle, size_t size, bool *added);
/* Returns the value of a handle that was just created, with a new number. The rest of a reused
 * value is unchanged. NULL: out of memory. */
void *cl_table_put(struct cl_table *t, const void *handle, size_t size);

/* Returns a copy of a text that is never freed; equal texts share one. NULL: out of memory. */
const char *cl_table_text(const char *text);

#endif
