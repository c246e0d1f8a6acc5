/*
 * database.h - writes an SQLite database.
 *
 * err holds the first error. After an error all functions do nothing, so callers need to check
 * err.code only once, at the end. Only one thread at a time may use a database.
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
	const char *name; /* the name of the file in error messages */
	struct pasta_error err;
};

/* Open a file, which must exist and be empty, and begin a transaction. The file is not valid before
 * the commit. Returns 0 or a negative errno. */
int pasta_database_open(struct pasta_database *d, const char *file, const char *name);
/* Close the database. The caller must have finalized all statements. */
void pasta_database_close(struct pasta_database *d);
void pasta_database_commit(struct pasta_database *d);

/* Execute one or more statements that return no rows. */
void pasta_database_exec(struct pasta_database *d, const char *sql);
/* Prepare a statement that runs often. The caller frees the statement with sqlite3_finalize.
 * Returns NULL after an error. */
sqlite3_stmt *pasta_database_prepare(struct pasta_database *d, const char *sql);
/* Run a prepared statement once, with the values that have been bound to it. */
void pasta_database_run(struct pasta_database *d, sqlite3_stmt *s);

/* Bind a 64-bit number. Integers in SQLite are signed, so numbers from 2^63 on become negative. */
static inline void pasta_database_int(sqlite3_stmt *s, int i, uint64_t value)
{
	sqlite3_bind_int64(s, i, (sqlite3_int64)value);
}
/* Bind bytes as a text; or as a blob, if the bytes are not UTF-8 or contain a NUL. The bytes must
 * remain valid until the statement runs. */
void pasta_database_text(struct pasta_database *d, sqlite3_stmt *s, int i, const char *text,
			 size_t size);

#endif
