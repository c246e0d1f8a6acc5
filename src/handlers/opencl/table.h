/* table.h - a hash table from OpenCL handles to values. Look-ups are lock-free; changes acquire a
 * lock. */
#ifndef PASTA_HANDLERS_OPENCL_TABLE_H
#define PASTA_HANDLERS_OPENCL_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value has up to 48 bytes, never moves and is never freed. A value starts with a uint32_t, the
 * number of the handle; numbers start at 1. The other bytes are initially zero. A zeroed table is
 * empty. */
struct cl_table {
	pthread_mutex_t lock;
	_Atomic(struct cl_table_slots *) slots;
	/* Number of handles. A handle is never removed, because drivers reuse handles. */
	size_t count;
	uint32_t number; /* the number of the handle that was added last */
};

/* Returns the value of a handle, or NULL. Any thread may call this function without holding a
 * lock. */
void *cl_table_find(struct cl_table *t, const void *handle);
/* Returns the value of a handle, and adds the value if necessary. Sets *added to whether the value
 * was added. Returns NULL when out of memory. */
void *cl_table_get(struct cl_table *t, const void *handle, size_t size, bool *added);
/* Returns the value of a handle that was just created, and assigns a new number to it. If the
 * driver reuses the handle, the other bytes of its value are unchanged. Returns NULL when out of
 * memory. */
void *cl_table_put(struct cl_table *t, const void *handle, size_t size);

/* Returns a copy of a text that is never freed; equal texts share one copy. Returns NULL when out
 * of memory. */
const char *cl_table_text(const char *text);

#endif
