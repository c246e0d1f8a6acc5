/* table.h - handles to what is known of them: found without a lock, changed under one. */
#ifndef PASTA_HANDLERS_OPENCL_TABLE_H
#define PASTA_HANDLERS_OPENCL_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values are up to 48 bytes and stay where they are for ever. Each begins with a uint32_t, its
 * number, from 1 on; the rest is zero at first. A zeroed table is empty. */
struct cl_table {
	pthread_mutex_t lock;
	_Atomic(struct cl_table_slots *) slots;
	size_t count;	 /* of handles; a handle stays, for programs use few again and again */
	uint32_t number; /* the last */
};

/* The value of a handle, or NULL. Any thread, no lock. */
void *cl_table_find(struct cl_table *t, const void *handle);
/* The same, made if it is not there; *added says so. NULL: no memory. */
void *cl_table_get(struct cl_table *t, const void *handle, size_t size, bool *added);
/* The same, for a handle that is new, or new again: then it has a new number. */
void *cl_table_put(struct cl_table *t, const void *handle, size_t size);

/* A copy of a text, that lives for ever, and is made once for each text; NULL: no memory. */
const char *cl_table_text(const char *text);

#endif
