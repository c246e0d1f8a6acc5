/* sqltable.c - defines the tables of an exported database, based on events.def. */
#include "sink/sqltable.h"

#include <stdbool.h>
#include <string.h>

#include "core/frame.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	ATTRIBUTED = PASTA_SQL_ATTRIBUTED,
	WORK = PASTA_SQL_ATTRIBUTED | PASTA_SQL_WORK,
	SPAN = PASTA_SQL_ATTRIBUTED | PASTA_SQL_SPAN,
	NESTED = PASTA_SQL_ATTRIBUTED | PASTA_SQL_SPAN | PASTA_SQL_NESTED,
};

static const struct pasta_sqltable tables[] = {
	[PASTA_SQL_REGIONS] = {"regions", "region", PASTA_KIND_REGION, NESTED, NULL, false},
	[PASTA_SQL_OPS] = {"ops", "op", PASTA_KIND_OP_BEGIN, NESTED, NULL, false},
	[PASTA_SQL_ALLOCATIONS] = {"allocations", "allocation", PASTA_KIND_ALLOC, SPAN, "type",
				   true},
	[PASTA_SQL_ITERATIONS] = {"iterations", "iteration", PASTA_KIND_ITERATION, PASTA_SQL_SPAN,
				  NULL, false},
	[PASTA_SQL_MARKS] = {"marks", "mark", PASTA_KIND_REGION, ATTRIBUTED, NULL, false},
	[PASTA_SQL_COLLECTIVES] = {"collectives", "collective", PASTA_KIND_COLLECTIVE, SPAN, NULL,
				   false},
	[PASTA_SQL_OTHERS] = {"launches", "launch", PASTA_KIND_LAUNCH, ATTRIBUTED, NULL, false},
	{"kernels", "kernel", PASTA_KIND_KERNEL, WORK, NULL, false},
	{"copies", "copy", PASTA_KIND_COPY, WORK, "direction", true},
	{"sets", "fill", PASTA_KIND_SET, WORK, NULL, false},
	{"syncs", "sync", PASTA_KIND_SYNC, ATTRIBUTED, "what", true},
	{"api", "call", PASTA_KIND_API, ATTRIBUTED, NULL, false},
	{"counters", "counter", PASTA_KIND_COUNTER, ATTRIBUTED, NULL, false},
	{"devices", "device", PASTA_KIND_DEVICE, 0, NULL, false},
	{"modules", "module", PASTA_KIND_MODULE, 0, "what", true},
	{"graph_nodes", "graph_node", PASTA_KIND_GRAPH, 0, NULL, false},
	{"tensors", "tensor", PASTA_KIND_TENSOR, 0, NULL, false},
	{"op_args", "op_arg", PASTA_KIND_OP_ARG, 0, "side", true},
	{"links", "link", PASTA_KIND_LINK, 0, "sub", false},
	{"uvm", "migration", PASTA_KIND_UVM, 0, "what", true},
	{"access_sums", "access_sum", PASTA_KIND_ACCESS_SUM, 0, NULL, false},
	{"access_batches", "access_batch", PASTA_KIND_ACCESS_BATCH, 0, NULL, false},
	{"pc_samples", "pc_sample", PASTA_KIND_PC_SAMPLE, 0, NULL, false},
	{"queues", "queue", PASTA_KIND_QUEUE, 0, NULL, false},
	{"event_records", "event_record", PASTA_KIND_EVENT_RECORD, ATTRIBUTED, NULL, false},
	{"objects", "object", PASTA_KIND_OBJECT, 0, NULL, false},
	{"sites", "site", PASTA_KIND_SITE, 0, NULL, false},
	{"access_launches", "access_launch", PASTA_KIND_ACCESS_LAUNCH, 0, "what", true},
};

const struct pasta_sqltable *pasta_sqltable_at(size_t i)
{
	return i < COUNT(tables) ? &tables[i] : NULL;
}

/* -- Columns -- */

/* Returns the name of the column for a field. If the field's name is an SQL keyword, or the name of
 * a column that all tables have, the column has another name. */
static const char *sqltable_column_name(enum pasta_kind kind, const char *field)
{
	static const struct {
		const char *field, *column;
	} others[] = {
		{"index", "number"}, {"from", "source"}, {"to", "target"}, {"scope", "capture"}};
	size_t i;

	if (kind == PASTA_KIND_ALLOC && !strcmp(field, "dur"))
		return "took";
	if (!strcmp(field, "id"))
		return kind == PASTA_KIND_OP_BEGIN ? "op" : pasta_kind_name(kind);
	for (i = 0; i < COUNT(others); i++)
		if (!strcmp(field, others[i].field))
			return others[i].column;
	return field;
}

static bool sqltable_is_key(const char *field)
{
	static const char *const keys[] = {"corr", "node", "graph", "parent", "original", "base"};
	size_t i;

	for (i = 0; i < COUNT(keys); i++)
		if (!strcmp(field, keys[i]))
			return true;
	return false;
}

static enum pasta_sqlsource sqltable_source(const struct pasta_field *f)
{
	switch (f->type) {
	case PASTA_FIELD_f64:
		return PASTA_SQL_F64;
	case PASTA_FIELD_str:
		return PASTA_SQL_STRING;
	case PASTA_FIELD_ref:
		return strcmp(f->name, "stack") && strcmp(f->name, "python") ? PASTA_SQL_STRING
									     : PASTA_SQL_STACK;
	case PASTA_FIELD_u64:
	case PASTA_FIELD_i64:
		return sqltable_is_key(f->name) ? PASTA_SQL_KEY : PASTA_SQL_U64;
	default:
		if (!strcmp(f->name, "src_memory") || !strcmp(f->name, "dst_memory"))
			return PASTA_SQL_MEMORY;
		return strcmp(f->name, "rank") ? PASTA_SQL_U32 : PASTA_SQL_RANK;
	}
}

/* Returns whether a field has no column of its own. The column `end` replaces durations, except for
 * allocations, which end later than the call that allocates; in tables of nested events, the depth
 * is computed instead of stored in the field. */
static bool sqltable_is_omitted(const struct pasta_sqltable *t, const struct pasta_field *f)
{
	bool nests = t->kind == PASTA_KIND_REGION || t->flags & PASTA_SQL_NESTED;

	return (!strcmp(f->name, "dur") && t->kind != PASTA_KIND_ALLOC) ||
	       (nests && !strcmp(f->name, "depth"));
}

static bool sqltable_has_field(enum pasta_kind kind, const char *name, uint16_t *offset)
{
	const struct pasta_kind_info *info = &pasta_kinds[kind];
	unsigned int i;

	for (i = 0; i < info->count; i++)
		if (!strcmp(info->fields[i].name, name)) {
			*offset = info->fields[i].offset;
			return true;
		}
	return false;
}

/* Returns whether the table has a column `end`. Sets *offset to the offset of the field `dur`; if
 * begin and end are two events, sets *offset to 0. */
static bool sqltable_has_end(const struct pasta_sqltable *t, uint16_t *offset)
{
	*offset = 0;
	return t->flags & PASTA_SQL_SPAN || sqltable_has_field(t->kind, "dur", offset);
}

size_t pasta_sqltable_columns(const struct pasta_sqltable *t, struct pasta_sqlcolumn *columns)
{
	const struct pasta_kind_info *info = &pasta_kinds[t->kind];
	struct pasta_sqlcolumn *c = columns;
	uint16_t dur;
	unsigned int i;

	*c++ = (struct pasta_sqlcolumn){"id", PASTA_SQL_ID, 0};
	*c++ = (struct pasta_sqlcolumn){"process", PASTA_SQL_PROCESS, 0};
	*c++ = (struct pasta_sqlcolumn){"thread", PASTA_SQL_THREAD, 0};
	*c++ = (struct pasta_sqlcolumn){"begin", PASTA_SQL_BEGIN, 0};
	if (sqltable_has_end(t, &dur))
		*c++ = (struct pasta_sqlcolumn){"end", PASTA_SQL_END, dur};
	if (t->kind == PASTA_KIND_COLLECTIVE)
		*c++ = (struct pasta_sqlcolumn){"dur", PASTA_SQL_KERNEL_TIME, 0};
	if (t->flags & PASTA_SQL_NESTED) {
		*c++ = (struct pasta_sqlcolumn){"depth", PASTA_SQL_DEPTH, 0};
		*c++ = (struct pasta_sqlcolumn){"parent", PASTA_SQL_PARENT, 0};
	}
	if (t->sub)
		*c++ = (struct pasta_sqlcolumn){t->sub, PASTA_SQL_SUB, 0};
	for (i = 0; i < info->count; i++)
		if (!sqltable_is_omitted(t, &info->fields[i]))
			*c++ = (struct pasta_sqlcolumn){
				sqltable_column_name(t->kind, info->fields[i].name),
				sqltable_source(&info->fields[i]), info->fields[i].offset};
	if (t->kind == PASTA_KIND_OP_BEGIN)
		*c++ = (struct pasta_sqlcolumn){"outputs", PASTA_SQL_OUTPUTS, 0};
	if (t->flags & PASTA_SQL_ATTRIBUTED) {
		*c++ = (struct pasta_sqlcolumn){"scope", PASTA_SQL_SCOPE, 0};
		if (t != &tables[PASTA_SQL_REGIONS]) /* in the table `regions`, the column `region`
						      * would equal the column `scope` */
			*c++ = (struct pasta_sqlcolumn){"region", PASTA_SQL_REGION, 0};
		if (t->kind != PASTA_KIND_OP_BEGIN)
			*c++ = (struct pasta_sqlcolumn){"op", PASTA_SQL_OP, 0};
		*c++ = (struct pasta_sqlcolumn){"iteration", PASTA_SQL_ITERATION, 0};
	}
	if (t->flags & PASTA_SQL_WORK)
		*c++ = (struct pasta_sqlcolumn){"launched", PASTA_SQL_LAUNCHED, 0};
	return (size_t)(c - columns);
}

/* -- Statements -- */

static void sqltable_declare(const struct pasta_sqltable *t, const struct pasta_sqlcolumn *c,
			     FILE *sql)
{
	fprintf(sql, "\"%s\" %s", c->name,
		c->source == PASTA_SQL_F64		 ? "REAL"
		: c->source == PASTA_SQL_SUB && t->named ? "TEXT"
		: c->source == PASTA_SQL_MEMORY		 ? "TEXT"
							 : "INTEGER");
	switch (c->source) {
	case PASTA_SQL_ID:
		fputs(" PRIMARY KEY", sql);
		break;
	case PASTA_SQL_PROCESS:
		fputs(" NOT NULL REFERENCES processes(number)", sql);
		break;
	case PASTA_SQL_PARENT:
		fprintf(sql, " REFERENCES %s(id)", t->name);
		break;
	case PASTA_SQL_SCOPE:
	case PASTA_SQL_REGION:
		fputs(" REFERENCES scopes(id)", sql);
		break;
	case PASTA_SQL_STRING:
	case PASTA_SQL_OUTPUTS:
		fputs(" REFERENCES strings(id)", sql);
		break;
	case PASTA_SQL_STACK:
		fputs(" REFERENCES stacks(id)", sql);
		break;
	default:
		break;
	}
	fputs(", ", sql);
}

/* Write a column of the view. Names are shown as text, and a process as its pid, host and rank. */
static void sqltable_view_column(const struct pasta_sqltable *t, const struct pasta_sqlcolumn *c,
				 FILE *sql)
{
	static const char path[] = "(SELECT path FROM scopes s WHERE s.id = t.%s) AS %s";

	switch (c->source) {
	case PASTA_SQL_PROCESS:
		fputs("t.process, p.pid, p.host", sql);
		/* The rank of a collective may come from the event: see PASTA_SQL_RANK. */
		fputs(t->kind == PASTA_KIND_COLLECTIVE ? "" : ", p.rank", sql);
		break;
	case PASTA_SQL_END:
		fputs("t.\"end\"", sql);
		/* A collective begins with the call, which is earlier than its kernel. */
		fputs(t->kind == PASTA_KIND_COLLECTIVE ? "" : ", t.\"end\" - t.begin AS dur", sql);
		break;
	case PASTA_SQL_RANK:
		fputs("ifnull(t.rank, p.rank) AS rank", sql);
		break;
	case PASTA_SQL_SCOPE:
		fprintf(sql, path, "scope", t->flags & PASTA_SQL_NESTED ? "path" : "scope");
		break;
	case PASTA_SQL_REGION:
		fprintf(sql, path, "region", "region");
		break;
	case PASTA_SQL_OP:
		fputs("(SELECT n.text FROM scopes s JOIN scopes o ON o.id = s.op JOIN strings n ON"
		      " n.id = o.name WHERE s.id = t.scope) AS op",
		      sql);
		break;
	case PASTA_SQL_STRING:
	case PASTA_SQL_OUTPUTS:
	case PASTA_SQL_STACK:
		fprintf(sql, "(SELECT text FROM %s s WHERE s.id = t.\"%s\") AS \"%s\"",
			c->source == PASTA_SQL_STACK ? "stacks" : "strings", c->name, c->name);
		break;
	default:
		fprintf(sql, "t.\"%s\"", c->name);
	}
}

void pasta_sqltable_create(const struct pasta_sqltable *t, FILE *sql)
{
	struct pasta_sqlcolumn columns[PASTA_SQL_COLUMNS];
	size_t i, count = pasta_sqltable_columns(t, columns);

	fprintf(sql, "CREATE TABLE %s(", t->name);
	for (i = 0; i < count; i++)
		sqltable_declare(t, &columns[i], sql);
	fputs("FOREIGN KEY(process, thread) REFERENCES threads(process, tid));\n", sql);
	fprintf(sql, "CREATE VIEW %s AS SELECT ", t->view);
	for (i = 0; i < count; i++) {
		fputs(i ? ", " : "", sql);
		sqltable_view_column(t, &columns[i], sql);
	}
	fprintf(sql, " FROM %s t LEFT JOIN processes p ON p.number = t.process;\n", t->name);
}

void pasta_sqltable_insert(const struct pasta_sqltable *t, FILE *sql)
{
	struct pasta_sqlcolumn columns[PASTA_SQL_COLUMNS];
	size_t i, count = pasta_sqltable_columns(t, columns);

	fprintf(sql, "INSERT INTO %s VALUES(?", t->name);
	for (i = 1; i < count; i++)
		fputs(", ?", sql);
	fputs(")", sql);
}

const char *pasta_sqltable_index(const struct pasta_sqltable *t, size_t i)
{
	uint16_t offset;

	if (i == 0)
		return "begin";
	if (i > 1)
		return NULL;
	if (t->kind == PASTA_KIND_OP_BEGIN)
		return "process, op";
	return sqltable_has_field(t->kind, "corr", &offset) ? "process, corr" : NULL;
}

const char pasta_sqltable_common[] =
	"CREATE TABLE about(key TEXT PRIMARY KEY, value);\n"
	"CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL);\n"
	"CREATE TABLE processes(number INTEGER PRIMARY KEY, pid INTEGER, host TEXT, rank INTEGER,"
	" command TEXT, path TEXT, created INTEGER, expected INTEGER, captured INTEGER,"
	" dropped INTEGER, label TEXT);\n"
	"CREATE TABLE threads(process INTEGER NOT NULL REFERENCES processes(number),"
	" tid INTEGER NOT NULL, name INTEGER REFERENCES strings(id), PRIMARY KEY(process, tid));\n"
	"CREATE TABLE stacks(id INTEGER PRIMARY KEY,"
	" process INTEGER NOT NULL REFERENCES processes(number), text TEXT NOT NULL);\n"
	"CREATE TABLE scopes(id INTEGER PRIMARY KEY, up INTEGER REFERENCES scopes(id),"
	" kind TEXT NOT NULL, depth INTEGER NOT NULL, name INTEGER REFERENCES strings(id),"
	" region INTEGER REFERENCES scopes(id), op INTEGER REFERENCES scopes(id),"
	" path TEXT NOT NULL);\n"
	"CREATE VIEW process AS SELECT * FROM processes;\n"
	"CREATE VIEW thread AS SELECT t.process, p.pid, p.host, p.rank, t.tid,"
	" (SELECT text FROM strings s WHERE s.id = t.name) AS name FROM threads t"
	" LEFT JOIN processes p ON p.number = t.process;\n"
	"CREATE VIEW scope AS SELECT t.id, t.up, t.kind, t.depth,"
	" (SELECT text FROM strings s WHERE s.id = t.name) AS name,"
	" (SELECT path FROM scopes s WHERE s.id = t.region) AS region,"
	" (SELECT path FROM scopes s WHERE s.id = t.op) AS op, t.path FROM scopes t;\n";
