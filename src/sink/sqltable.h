/*
 * sqltable.h - the tables of an exported database: a row an event, its fields as events.def has
 * them. docs/export.md.
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

/* Where a column's value comes from. */
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
	PASTA_SQL_KERNEL_TIME, /* of a collective's kernel, which comes later */
	/* Fields of the event, at offset: */
	PASTA_SQL_U32,
	PASTA_SQL_U64,
	PASTA_SQL_KEY,	/* 64 bits, of which 0 is none */
	PASTA_SQL_RANK, /* 32 bits, plus 1; 0 is none */
	PASTA_SQL_F64,
	PASTA_SQL_STRING,
	PASTA_SQL_STACK,
};

struct pasta_sqlcolumn {
	const char *name;
	enum pasta_sqlsource source;
	uint16_t offset;
};

enum pasta_sqlflags {
	PASTA_SQL_PLACED = 1,	/* has scope, region, op and iteration */
	PASTA_SQL_WORK = 2,	/* and when it was launched */
	PASTA_SQL_SPAN = 4,	/* begin and end are events of their own */
	PASTA_SQL_NESTED = 8,	/* they have a depth and a parent */
	PASTA_SQL_COLUMNS = 40, /* of a table, at most */
};

/* Tables that the writer treats in their own way; the others go by their kind. */
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
	const char *sub; /* the column of the subtype, or NULL */
	bool named;	 /* it has names, not numbers */
};

/* NULL past the last. */
const struct pasta_sqltable *pasta_sqltable_at(size_t i);
/* Its columns, at most PASTA_SQL_COLUMNS; returns how many. */
size_t pasta_sqltable_columns(const struct pasta_sqltable *t, struct pasta_sqlcolumn *columns);

/* Statements, as text. */
void pasta_sqltable_create(const struct pasta_sqltable *t, FILE *sql); /* the view, too */
void pasta_sqltable_insert(const struct pasta_sqltable *t, FILE *sql);
/* What all databases have beside these. */
extern const char pasta_sqltable_common[];

/* Columns of a table's index number i, from 0: "begin"; NULL past the last. */
const char *pasta_sqltable_index(const struct pasta_sqltable *t, size_t i);

#endif
