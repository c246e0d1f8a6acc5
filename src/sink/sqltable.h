/*
 * sqltable.h - the tables of an exported database. A row represents an event, and its columns are
 * the fields of events.def. docs/export.md describes the tables.
 */
#ifndef PASTA_SINK_SQLTABLE_H
#define PASTA_SINK_SQLTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <pasta/pasta.h>

#define PASTA_SQL_SCHEMA "accelprof-sqlite/1"
#define PASTA_SQL_VERSION 1 /* PRAGMA user_version */

/* Where the value of a column comes from. */
enum pasta_sqlsource {
	PASTA_SQL_ID,
	PASTA_SQL_PROCESS,
	PASTA_SQL_THREAD,
	PASTA_SQL_BEGIN,
	PASTA_SQL_END,
	PASTA_SQL_DEPTH,
	PASTA_SQL_PARENT,
	PASTA_SQL_SUB,
	PASTA_SQL_SCOPE,
	PASTA_SQL_REGION,
	PASTA_SQL_OP,
	PASTA_SQL_ITERATION,
	PASTA_SQL_LAUNCHED,
	/* duration of a collective, which is known only when the collective's kernel has been
	 * read */
	PASTA_SQL_KERNEL_TIME,
	/* The types of values that are a field of the event, at the column's offset: */
	PASTA_SQL_U32,
	PASTA_SQL_U64,
	PASTA_SQL_KEY,	/* 64 bits; 0 means none */
	PASTA_SQL_RANK, /* a 32-bit field that holds the rank plus 1; 0 means no rank */
	PASTA_SQL_F64,
	PASTA_SQL_STRING,
	PASTA_SQL_STACK,
	PASTA_SQL_MEMORY,  /* a 32-bit enum pasta_memory, shown by its name */
	PASTA_SQL_OUTPUTS, /* the results of an operator, from the event of its end */
};

struct pasta_sqlcolumn {
	const char *name;
	enum pasta_sqlsource source;
	uint16_t offset;
};

enum pasta_sqlflags {
	PASTA_SQL_ATTRIBUTED =
		1,	    /* the table has the columns `scope`, `region`, `op` and `iteration` */
	PASTA_SQL_WORK = 2, /* the table has a column with the time of the launch */
	PASTA_SQL_SPAN = 4, /* a row combines two events: a begin and an end */
	PASTA_SQL_NESTED = 8,	/* has a depth and a parent */
	PASTA_SQL_COLUMNS = 40, /* maximum number of columns of a table */
};

/* The numbers of the tables that sqlite.c handles in a special way. The other tables have one row
 * for each event of their kind. */
enum {
	PASTA_SQL_REGIONS,
	PASTA_SQL_OPS,
	PASTA_SQL_ALLOCATIONS,
	PASTA_SQL_ITERATIONS,
	PASTA_SQL_MARKS,
	PASTA_SQL_COLLECTIVES,
	PASTA_SQL_OTHERS,
};

struct pasta_sqltable {
	const char *name, *view;
	enum pasta_kind kind;
	unsigned int flags;
	const char *sub; /* name of the column that shows the subtype, or NULL */
	bool named;	 /* the column `sub` shows the names of subtypes instead of their numbers */
};

/* Returns the table with number i; NULL if i is past the last table. */
const struct pasta_sqltable *pasta_sqltable_at(size_t i);
/* Fill in the columns of the table, at most PASTA_SQL_COLUMNS. Returns the number of columns. */
size_t pasta_sqltable_columns(const struct pasta_sqltable *t, struct pasta_sqlcolumn *columns);

/* Write the SQL statements that create the table and its view, and that insert a row into the
 * table. */
void pasta_sqltable_create(const struct pasta_sqltable *t, FILE *sql);
void pasta_sqltable_insert(const struct pasta_sqltable *t, FILE *sql);
/* The statements that create the tables whose rows are not events: about, strings, processes,
 * threads, stacks, scopes. */
extern const char pasta_sqltable_common[];

/* Returns the columns of the table's SQL index number i, such as "begin"; NULL if i is past the
 * last index. */
const char *pasta_sqltable_index(const struct pasta_sqltable *t, size_t i);

#endif
