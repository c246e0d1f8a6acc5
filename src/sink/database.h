/*
 * database.h - an SQLite database, written from beginning to end.
 *
 * The first error is kept, and from then on nothing is done: who writes looks at err.code now and
 * then, and at the end. One thread at a time.
 */
#ifndef PASTA_SINK_DATABASE_H
#define PASTA_SINK_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include <pasta/pasta.h>

/* Zero it before use. */
struct pasta_database {
	sqlite3 *db;
	const char *name; /* what errors call it */
	struct pasta_error err;
};

/* The file is there and empty. A transaction begins: until commit nothing of it is valid. */
int pasta_database_open(struct pasta_database *d, const char *file, const char *name);
/* Frees it; statements must be gone. */
void pasta_database_close(struct pasta_database *d);
void pasta_database_commit(struct pasta_database *d);

/* Statements that return nothing, one or more. */
void pasta_database_exec(struct pasta_database *d, const char *sql);
/* One that is run often; NULL after an error. Free it with sqlite3_finalize. */
sqlite3_stmt *pasta_database_prepare(struct pasta_database *d, const char *sql);
/* Run it once, with what was bound. */
void pasta_database_run(struct pasta_database *d, sqlite3_stmt *s);

/* A 64-bit number, whose bits are kept: from 2^63 on it is negative. */
static inline void pasta_database_int(sqlite3_stmt *s, int i, uint64_t value)
{
	sqlite3_bind_int64(s, i, (sqlite3_int64)value);
}
/* Text; a blob where the bytes are no UTF-8, or have a NUL in them. They must stay until the run.
 */
void pasta_database_text(struct pasta_database *d, sqlite3_stmt *s, int i, const char *text,
			 size_t size);

#endif
