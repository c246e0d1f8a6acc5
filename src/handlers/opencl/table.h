/* table.h - handles to what is known of them: found without a lock, changed under one. */
#ifndef PASTA_HANDLERS_OPENCL_TABLE_H
#define PASTA_HANDLERS_OPENCL_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Values are up to 32 bytes and stay where they are for ever. Each begins with a uint32_t, its
 * number, from 1 on; the rest is zero at first. A zeroed table is empty. */
struct cl_table {
	pthread_mutex_t lock;
	_Atomic(struct cl_table_slots *) slots;
	size_t count;
};

/* The value of a handle, or NULL. Any thread, no lock. */
void *cl_table_find(struct cl_table *t, const void *handle);
/* The same, made if it is not there; *added says so. NULL: no memory. */
void *cl_table_get(struct cl_table *t, const void *handle, size_t size, bool *added);
/* The same, for a handle that is new, or new again. */
void *cl_table_put(struct cl_table *t, const void *handle, size_t size);

/* Memory for a text that lives for ever; NULL: none. */
char *cl_table_text(size_t size);

#endif
