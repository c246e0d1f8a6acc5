/* database.c - writes an SQLite database. */
#include "sink/database.h"

#include <errno.h>
#include <string.h>

#include "process/io/utf8.h"

/*
 * Locks and syncs are not needed, because no other process opens the file, and an incomplete file
 * is discarded. If the creation of an index is interrupted, the journal can undo it. New pages are
 * not in the journal.
 */
static const char pragmas[] = "PRAGMA page_size = 16384;"
			      "PRAGMA locking_mode = EXCLUSIVE;"
			      "PRAGMA synchronous = OFF;"
			      "PRAGMA journal_mode = MEMORY;"
			      "PRAGMA cache_size = -65536;"
			      "BEGIN;";

static void database_fail(struct pasta_database *d)
{
	int code = sqlite3_errcode(d->db), system = 0;

	if (d->err.code)
		return;
	switch (code) {
	case SQLITE_NOMEM:
		pasta_fail(&d->err, -ENOMEM, "cannot write %s: out of memory", d->name);
		break;
	case SQLITE_INTERRUPT:
		pasta_fail(&d->err, -EINTR, "interrupted");
		break;
	case SQLITE_FULL:
		pasta_fail(&d->err, -ENOSPC,
			   "cannot write %s: No space left on device, or in the folder of "
			   "temporary files (TMPDIR)",
			   d->name);
		break;
	case SQLITE_IOERR:
		sqlite3_file_control(d->db, NULL, SQLITE_FCNTL_LAST_ERRNO, &system);
		system = system ? system : EIO;
		pasta_fail(&d->err, -system, "cannot write %s: %s", d->name, strerror(system));
		break;
	default:
		pasta_fail(&d->err, -EIO, "cannot write %s: SQLite: %s", d->name,
			   sqlite3_errmsg(d->db));
	}
}

int pasta_database_open(struct pasta_database *d, const char *file, const char *name)
{
	d->name = name;
	if (sqlite3_open_v2(file, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
		database_fail(d);
	else
		pasta_database_exec(d, pragmas);
	return d->err.code;
}

void pasta_database_close(struct pasta_database *d)
{
	if (sqlite3_close(d->db) && !d->err.code)
		database_fail(d);
	d->db = NULL;
}

void pasta_database_exec(struct pasta_database *d, const char *sql)
{
	if (!d->err.code && sqlite3_exec(d->db, sql, NULL, NULL, NULL))
		database_fail(d);
}

void pasta_database_commit(struct pasta_database *d)
{
	pasta_database_exec(d, "COMMIT;");
}

sqlite3_stmt *pasta_database_prepare(struct pasta_database *d, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (!d->err.code && sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL))
		database_fail(d);
	return s;
}

void pasta_database_run(struct pasta_database *d, sqlite3_stmt *s)
{
	if (d->err.code)
		return;
	if (sqlite3_step(s) != SQLITE_DONE)
		database_fail(d);
	sqlite3_reset(s);
}

void pasta_database_text(struct pasta_database *d, sqlite3_stmt *s, int i, const char *text,
			 size_t size)
{
	bool plain = pasta_utf8_valid(text, size) && !memchr(text, '\0', size);

	if (d->err.code)
		return;
	if (plain ? sqlite3_bind_text64(s, i, text, size, SQLITE_STATIC, SQLITE_UTF8)
		  : sqlite3_bind_blob64(s, i, text, size, SQLITE_STATIC))
		database_fail(d);
}
