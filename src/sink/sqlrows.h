/*
 * sqlrows.h - rows of an exported database: events, and the names, scopes, call paths and threads
 * that they refer to.
 *
 * Errors are the database's, which keeps the first. It grows with distinct names and places, not
 * with rows. One thread at a time.
 */
#ifndef PASTA_SINK_SQLROWS_H
#define PASTA_SINK_SQLROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/database.h"
#include "sink/sqltable.h"

/* Where an event belongs, as columns have it: 0 is none, but for iterations. */
struct pasta_sqlplace {
	uint64_t scope, region; /* rows of scopes */
	uint64_t op, launched;
	uint64_t iteration; /* UINT64_MAX: none */
	uint32_t tid;
};

/* A row, and what is not in its event. */
struct pasta_sqlrow {
	struct pasta_event ev;
	struct pasta_sqlplace place;
	uint64_t id; /* 0: the next */
	uint64_t parent, end;
	uint32_t depth;
	bool ended; /* end is known */
};

struct pasta_sqlrows;

/* Make all tables, without indices. It must not outlive the database. NULL when out of memory. */
struct pasta_sqlrows *pasta_sqlrows_new(struct pasta_database *db);
void pasta_sqlrows_free(struct pasta_sqlrows *r);

struct pasta_sqlrow pasta_sqlrows_make(struct pasta_sqlrows *r, const struct pasta_event *ev,
				       const struct pasta_where *where);
/* table: its number, as pasta_sqltable_at has it. */
void pasta_sqlrows_put(struct pasta_sqlrows *r, size_t table, const struct pasta_sqlrow *row);
/* The same for a kind that has one row an event; of others, nothing. */
void pasta_sqlrows_put_kind(struct pasta_sqlrows *r, const struct pasta_sqlrow *row);

/* A row of collectives, which is there: when its kernel ended, and how long that took. */
void pasta_sqlrows_time_collective(struct pasta_sqlrows *r, uint64_t id, uint64_t end,
				   uint64_t dur);

/* A thread, which may have no row of its own; its name is the directory's. */
void pasta_sqlrows_thread(struct pasta_sqlrows *r, uint32_t proc, uint32_t tid);
/* At the end: the threads and the call paths that rows refer to. */
void pasta_sqlrows_finish(struct pasta_sqlrows *r);

#endif
