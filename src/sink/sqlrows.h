/*
 * sqlrows.h - writes the rows of an exported database: events, and the names, scopes, stacks and
 * threads that they refer to. Errors are stored in the database. Memory use grows with the number
 * of distinct names, scopes and stacks, not with the number of rows. Only one thread at a time may
 * call these functions.
 */
#ifndef PASTA_SINK_SQLROWS_H
#define PASTA_SINK_SQLROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/database.h"
#include "sink/sqltable.h"

/* The attribution of an event, in the form in which columns store it. 0 means that there is none,
 * except for `iteration`. */
struct pasta_sqlwhere {
	uint64_t scope, region; /* ids of rows in the table `scopes` */
	uint64_t op, launched;
	uint64_t iteration; /* UINT64_MAX: none */
	uint32_t tid;
};

/* A row: an event, and the columns whose values are not in the event. */
struct pasta_sqlrow {
	struct pasta_event ev;
	struct pasta_sqlwhere where;
	uint64_t id; /* 0: the next free one */
	uint64_t parent, end;
	uint32_t depth;
	uint32_t outputs; /* string id of an operator's results */
	bool ended;	  /* end is known */
};

struct pasta_sqlrows;

/* Create all tables, without indices. The caller frees the result before the database. Returns NULL
 * when out of memory. */
struct pasta_sqlrows *pasta_sqlrows_new(struct pasta_database *db);
void pasta_sqlrows_free(struct pasta_sqlrows *r);

/* Returns the row that represents an event. */
struct pasta_sqlrow pasta_sqlrows_make(struct pasta_sqlrows *r, const struct pasta_event *ev,
				       const struct pasta_where *where);
/* Insert a row into a table. `table` is the number of the table, as in pasta_sqltable_at. */
void pasta_sqlrows_put(struct pasta_sqlrows *r, size_t table, const struct pasta_sqlrow *row);
/* Insert a row into the table of the event's kind, if the table has one row per event. */
void pasta_sqlrows_put_kind(struct pasta_sqlrows *r, const struct pasta_sqlrow *row);

/* Set the end and the duration of a collective, after its row has been inserted. */
void pasta_sqlrows_time_collective(struct pasta_sqlrows *r, uint64_t id, uint64_t end,
				   uint64_t dur);

/* Add a thread, unless it was added before. The name of the thread comes from the directory. */
void pasta_sqlrows_thread(struct pasta_sqlrows *r, uint32_t proc, uint32_t tid);
/* Insert the threads and stacks to which rows refer. Call this function after inserting the last
 * row. */
void pasta_sqlrows_finish(struct pasta_sqlrows *r);

#endif
