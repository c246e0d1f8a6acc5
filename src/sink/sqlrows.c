/* sqlrows.c - writes the rows of an exported database, and the rows to which these refer. */
#include "sink/sqlrows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/strings.h"

enum { FRAMES = 128, TABLES_MAX = 32 };

/* How many names of a deep path are shown at the path's start, and how many at its end, as in the
 * tool `regions`. */
#define PATH_HEAD 32
#define PATH_TAIL 31

/* The value that is bound to a parameter of a statement. `known` is false if the value is NULL.
 * Initially all values are NULL. */
struct cell {
	uint64_t value;
	bool known;
};

struct table {
	const struct pasta_sqltable *is;
	struct pasta_sqlcolumn columns[PASTA_SQL_COLUMNS];
	struct cell last[PASTA_SQL_COLUMNS];
	size_t count;
	sqlite3_stmt *insert;
};

enum { PUT_STRING, PUT_STACK, PUT_SCOPE, PUT_THREAD, PUT_COLLECTIVE_TIME, PUTS };
static const char *const puts_[PUTS] = {
	[PUT_STRING] = "INSERT INTO strings VALUES(?, ?)",
	[PUT_STACK] = "INSERT INTO stacks VALUES(?, ?, ?)",
	[PUT_SCOPE] = "INSERT INTO scopes VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
	[PUT_THREAD] = "INSERT INTO threads VALUES(?, ?, ?)",
	[PUT_COLLECTIVE_TIME] = "UPDATE collectives SET \"end\" = ?, dur = ? WHERE id = ?",
};

struct pasta_sqlrows {
	struct pasta_database *db;
	struct table tables[TABLES_MAX];
	size_t table_count;
	struct table *by_kind[PASTA_KIND_MAX];
	sqlite3_stmt *puts[PUTS];
	/* ids of the rows of scopes, by id of the scope */
	struct pasta_map *scopes,
		*stacks;	   /* ids of the rows of stacks, by process and stack reference */
	struct pasta_map *threads; /* the set of known threads, by process and tid */
	/* a bit for each string id, which is set if the string has a row */
	uint8_t *strings;
	size_t string_bytes;
	const void *thread; /* a cache: the thread of the last row, and the key of that thread */
	uint64_t thread_key;
	/* a cache: the scope of the last row, and the id of the scope's row */
	const struct pasta_scope *scope;
	uint64_t scope_id;
};

static void sqlrows_out_of_memory(struct pasta_sqlrows *r)
{
	if (!r->db->err.code)
		pasta_fail(&r->db->err, -ENOMEM, "cannot write %s: out of memory", r->db->name);
}

/* -- Names -- */

static void sqlrows_bind_id(sqlite3_stmt *s, int i, uint64_t id)
{
	if (id)
		pasta_database_int(s, i, id);
	else
		sqlite3_bind_null(s, i);
}

static bool sqlrows_grow_strings(struct pasta_sqlrows *r, uint32_t id)
{
	size_t bytes = 2 * (size_t)(id / 8) + 1024;
	uint8_t *strings;

	if (id / 8 < r->string_bytes)
		return true;
	strings = realloc(r->strings, bytes);
	if (!strings) {
		sqlrows_out_of_memory(r);
		return false;
	}
	memset(strings + r->string_bytes, 0, bytes - r->string_bytes);
	r->strings = strings;
	r->string_bytes = bytes;
	return true;
}

/* Insert a row for a string, unless the table has a row for it. Returns `id`, where 0 means that
 * there is no string. */
static uint32_t sqlrows_string_id(struct pasta_sqlrows *r, uint32_t id)
{
	sqlite3_stmt *put = r->puts[PUT_STRING];
	const char *text;
	size_t size;

	if (!id || !sqlrows_grow_strings(r, id) || r->strings[id / 8] >> id % 8 & 1)
		return id;
	r->strings[id / 8] |= (uint8_t)(1 << id % 8);
	text = pasta_bytes(id, &size);
	pasta_database_int(put, 1, id);
	pasta_database_text(r->db, put, 2, text, size);
	pasta_database_run(r->db, put);
	return id;
}

/* Returns the id of the row of a stack; 0 if there is no stack. The text of the stack is written at
 * the end, when all modules are known. */
static uint64_t sqlrows_stack_id(struct pasta_sqlrows *r, uint32_t proc, uint32_t ref)
{
	uint64_t *id = ref ? pasta_map_add(r->stacks, pasta_pair(proc, ref)) : NULL;

	if (ref && !id)
		sqlrows_out_of_memory(r);
	if (id && !*id)
		*id = pasta_map_count(r->stacks);
	return id ? *id : 0;
}

/* -- Scopes -- */

/* Returns the innermost enclosing scope of the same type: a region for a region, an operator for an
 * operator. */
static const struct pasta_scope *sqlrows_enclosing(const struct pasta_scope *s)
{
	const struct pasta_scope *up = s->up;

	return !up ? NULL : s->kind == PASTA_KIND_REGION ? up->region : up->op;
}

/* Write the names of the path, from the outermost scope on, joined by "/". */
static void sqlrows_put_path(const struct pasta_scope *s, FILE *f)
{
	const struct pasta_scope *ends[PATH_HEAD + PATH_TAIL], *at;
	size_t i, size, count = 0, omitted;
	const char *text;

	for (at = s; at; at = sqlrows_enclosing(at))
		count++;
	omitted = count > PATH_HEAD + PATH_TAIL ? count - PATH_HEAD - PATH_TAIL : 0;
	for (at = s, i = count; at; at = sqlrows_enclosing(at))
		if (--i < PATH_HEAD)
			ends[i] = at;
		else if (i >= PATH_HEAD + omitted)
			ends[i - omitted] = at;
	for (i = 0; i < count - omitted; i++) {
		if (i == PATH_HEAD && omitted)
			fprintf(f, "/…(%zu)…", omitted);
		fputs(i ? "/" : "", f);
		text = ends[i]->name ? pasta_bytes(ends[i]->name, &size) : "(unnamed)";
		fwrite(text, 1, ends[i]->name ? size : strlen(text), f);
	}
}

/* Returns the id of the scope's row; 0 if the scope has no row yet. */
static uint64_t sqlrows_known_scope(const struct pasta_sqlrows *r, const struct pasta_scope *s)
{
	const uint64_t *id = s ? pasta_map_find(r->scopes, s->id) : NULL;

	return id ? *id : 0;
}

/* Insert the row of a scope. Its enclosing scopes must have rows already. */
static void sqlrows_put_scope(struct pasta_sqlrows *r, const struct pasta_scope *s, uint64_t id)
{
	sqlite3_stmt *put = r->puts[PUT_SCOPE];
	char *path = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&path, &size);

	if (f)
		sqlrows_put_path(s, f);
	if (!f || fclose(f)) {
		sqlrows_out_of_memory(r);
		free(path);
		return;
	}
	pasta_database_int(put, 1, id);
	sqlrows_bind_id(put, 2, sqlrows_known_scope(r, s->up));
	sqlite3_bind_text(put, 3, s->kind == PASTA_KIND_REGION ? "region" : "op", -1,
			  SQLITE_STATIC);
	pasta_database_int(put, 4, s->depth);
	sqlrows_bind_id(put, 5, sqlrows_string_id(r, s->name));
	sqlrows_bind_id(put, 6, sqlrows_known_scope(r, s->region));
	sqlrows_bind_id(put, 7, sqlrows_known_scope(r, s->op));
	pasta_database_text(r->db, put, 8, path, size);
	pasta_database_run(r->db, put);
	free(path);
}

/* Returns the id of the scope's row, and inserts the row if necessary. Returns 0 if there is no
 * scope. */
static uint64_t sqlrows_scope_id(struct pasta_sqlrows *r, const struct pasta_scope *s)
{
	const struct pasta_scope *first;
	uint64_t *id;

	if (!s || s == r->scope)
		return s ? r->scope_id : 0;
	/* Insert rows for the new scopes, starting with the outermost. Do this without recursion,
	 * because paths may be deep. */
	while (!sqlrows_known_scope(r, s)) {
		for (first = s; first->up && !sqlrows_known_scope(r, first->up);)
			first = first->up;
		id = pasta_map_add(r->scopes, first->id);
		if (!id) {
			sqlrows_out_of_memory(r);
			return 0;
		}
		*id = pasta_map_count(r->scopes);
		sqlrows_put_scope(r, first, *id);
	}
	r->scope = s;
	r->scope_id = sqlrows_known_scope(r, s);
	return r->scope_id;
}

struct pasta_sqlrow pasta_sqlrows_make(struct pasta_sqlrows *r, const struct pasta_event *ev,
				       const struct pasta_where *where)
{
	const struct pasta_scope *s = where->scope;
	struct pasta_sqlrow row = {.where = {.op = where->op,
					     .iteration = where->iteration,
					     .launched = where->launched,
					     .tid = where->tid}};

	row.where.region = s ? sqlrows_scope_id(r, s->region) : 0;
	row.where.scope = sqlrows_scope_id(r, s);
	/* copy only ev->size bytes, because records of different kinds have different sizes */
	memcpy(&row.ev, ev, ev->size < sizeof(row.ev) ? ev->size : sizeof(row.ev));
	return row;
}

/* -- Threads -- */

void pasta_sqlrows_thread(struct pasta_sqlrows *r, uint32_t proc, uint32_t tid)
{
	uint64_t key = pasta_pair(proc, tid);

	if (r->thread && r->thread_key == key)
		return;
	r->thread = pasta_map_add(r->threads, key);
	r->thread_key = key;
	if (!r->thread)
		sqlrows_out_of_memory(r);
}

static void sqlrows_put_threads(struct pasta_sqlrows *r)
{
	sqlite3_stmt *put = r->puts[PUT_THREAD];
	uint64_t key;
	size_t at = 0;

	while (pasta_map_next(r->threads, &at, &key)) {
		const char *name = pasta_thread((uint32_t)(key >> 32), (uint32_t)key)->name;

		pasta_database_int(put, 1, key >> 32);
		pasta_database_int(put, 2, key & UINT32_MAX);
		sqlrows_bind_id(put, 3,
				sqlrows_string_id(r, *name ? pasta_strings_add(name, strlen(name))
							   : 0));
		pasta_database_run(r->db, put);
	}
}

/* -- Events -- */

static uint64_t sqlrows_u64_at(const struct pasta_event *ev, uint16_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)ev + offset, sizeof(v));
	return v;
}

static uint32_t sqlrows_u32_at(const struct pasta_event *ev, uint16_t offset)
{
	uint32_t v;

	memcpy(&v, (const char *)ev + offset, sizeof(v));
	return v;
}

/* Compute the time at which the event ended. Returns false if the event has no end. */
static bool sqlrows_end(const struct pasta_sqlrow *row, uint16_t dur, uint64_t *end)
{
	*end = dur ? row->ev.time + sqlrows_u64_at(&row->ev, dur) : row->end;
	/* If the end event arrives so late that its time is before the begin, the duration is 0. */
	if (!dur && *end < row->ev.time)
		*end = row->ev.time;
	return dur || row->ended;
}

/* Compute the value of a column as a 64-bit number. Returns false if the value is NULL. */
static bool sqlrows_value(struct pasta_sqlrows *r, const struct pasta_sqlcolumn *c,
			  const struct pasta_sqlrow *row, uint64_t *value)
{
	const struct pasta_event *ev = &row->ev;

	switch (c->source) {
	case PASTA_SQL_ID:
		return (*value = row->id);
	case PASTA_SQL_PROCESS:
		*value = ev->proc;
		return true;
	case PASTA_SQL_THREAD:
		return (*value = row->where.tid);
	case PASTA_SQL_BEGIN:
		*value = ev->time;
		return true;
	case PASTA_SQL_END:
		return sqlrows_end(row, c->offset, value);
	case PASTA_SQL_DEPTH:
		*value = row->depth;
		return true;
	case PASTA_SQL_PARENT:
		return (*value = row->parent);
	case PASTA_SQL_SUB:
		*value = ev->sub;
		return true;
	case PASTA_SQL_SCOPE:
		return (*value = row->where.scope);
	case PASTA_SQL_REGION:
		return (*value = row->where.region);
	case PASTA_SQL_OP:
		return (*value = row->where.op);
	case PASTA_SQL_ITERATION:
		*value = row->where.iteration;
		return *value != UINT64_MAX;
	case PASTA_SQL_LAUNCHED:
		return (*value = row->where.launched);
	case PASTA_SQL_KERNEL_TIME:
		return false;
	case PASTA_SQL_OUTPUTS:
		return (*value = sqlrows_string_id(r, row->outputs));
	case PASTA_SQL_U32:
	case PASTA_SQL_MEMORY:
		*value = sqlrows_u32_at(ev, c->offset);
		return true;
	case PASTA_SQL_U64:
	case PASTA_SQL_F64:
		*value = sqlrows_u64_at(ev, c->offset);
		return true;
	case PASTA_SQL_KEY:
		return (*value = sqlrows_u64_at(ev, c->offset));
	case PASTA_SQL_RANK:
		*value = sqlrows_u32_at(ev, c->offset);
		return (*value)--;
	case PASTA_SQL_STRING:
		return (*value = sqlrows_string_id(r, sqlrows_u32_at(ev, c->offset)));
	case PASTA_SQL_STACK:
		return (*value = sqlrows_stack_id(r, ev->proc, sqlrows_u32_at(ev, c->offset)));
	}
	return false;
}

static void sqlrows_bind(const struct table *t, size_t i, uint64_t value)
{
	const struct pasta_sqltable *is = t->is;
	int at = (int)i + 1;
	const char *name;
	double real;

	switch (t->columns[i].source) {
	case PASTA_SQL_F64:
		memcpy(&real, &value, sizeof(real));
		sqlite3_bind_double(t->insert, at, real);
		break;
	case PASTA_SQL_SUB:
	case PASTA_SQL_MEMORY:
		if (t->columns[i].source == PASTA_SQL_MEMORY)
			name = pasta_memory_name((unsigned int)value);
		else
			name = is->named ? pasta_subtype_name(is->kind, (unsigned int)value) : NULL;
		if (name) {
			sqlite3_bind_text(t->insert, at, name, -1, SQLITE_STATIC);
			break;
		}
		/* fall through */
	default:
		pasta_database_int(t->insert, at, value);
	}
}

/* Insert a row. A statement retains its bound values, so bind only the columns that differ from the
 * previous row. */
static void sqlrows_put_row(struct pasta_sqlrows *r, struct table *t,
			    const struct pasta_sqlrow *row)
{
	size_t i;

	if (r->db->err.code)
		return;
	if (row->where.tid)
		pasta_sqlrows_thread(r, row->ev.proc, row->where.tid);
	for (i = 0; i < t->count; i++) {
		struct cell cell = {0}, *last = &t->last[i];

		cell.known = sqlrows_value(r, &t->columns[i], row, &cell.value);
		if (cell.known == last->known && (!cell.known || cell.value == last->value))
			continue;
		*last = cell;
		if (cell.known)
			sqlrows_bind(t, i, cell.value);
		else
			sqlite3_bind_null(t->insert, (int)i + 1);
	}
	pasta_database_run(r->db, t->insert);
}

void pasta_sqlrows_put(struct pasta_sqlrows *r, size_t table, const struct pasta_sqlrow *row)
{
	sqlrows_put_row(r, &r->tables[table], row);
}

void pasta_sqlrows_put_kind(struct pasta_sqlrows *r, const struct pasta_sqlrow *row)
{
	if (row->ev.kind < PASTA_KIND_MAX && r->by_kind[row->ev.kind])
		sqlrows_put_row(r, r->by_kind[row->ev.kind], row);
}

void pasta_sqlrows_time_collective(struct pasta_sqlrows *r, uint64_t id, uint64_t end, uint64_t dur)
{
	sqlite3_stmt *put = r->puts[PUT_COLLECTIVE_TIME];

	if (r->db->err.code)
		return;
	pasta_database_int(put, 1, end);
	pasta_database_int(put, 2, dur);
	pasta_database_int(put, 3, id);
	pasta_database_run(r->db, put);
}

/* -- Stacks -- */

static void sqlrows_put_stack(struct pasta_sqlrows *r, uint64_t id, uint32_t proc, uint32_t ref)
{
	sqlite3_stmt *put = r->puts[PUT_STACK];
	struct pasta_stack_frame frames[FRAMES];
	size_t i, size = 0, n = pasta_stack_frames(proc, ref, frames, FRAMES);
	char line[1000], *text = NULL;
	FILE *f = open_memstream(&text, &size);

	for (i = 0; f && i < n && i < FRAMES; i++)
		fprintf(f, "%s%s", i ? "\n" : "",
			pasta_stack_frame_text(&frames[i], line, sizeof(line)));
	if (!f || fclose(f)) {
		sqlrows_out_of_memory(r);
	} else {
		pasta_database_int(put, 1, id);
		pasta_database_int(put, 2, proc);
		pasta_database_text(r->db, put, 3, text, size);
		pasta_database_run(r->db, put);
	}
	free(text);
}

static void sqlrows_put_stacks(struct pasta_sqlrows *r)
{
	const uint64_t *id;
	uint64_t key;
	size_t at = 0;

	while (!r->db->err.code && (id = pasta_map_next(r->stacks, &at, &key)))
		sqlrows_put_stack(r, *id, (uint32_t)(key >> 32), (uint32_t)key);
}

void pasta_sqlrows_finish(struct pasta_sqlrows *r)
{
	sqlrows_put_threads(r);
	sqlrows_put_stacks(r);
}

/* -- Tables -- */

/* Returns the text that the function `print` writes; NULL when out of memory. The caller frees the
 * text. */
static char *sqlrows_statement(const struct pasta_sqltable *t,
			       void (*print)(const struct pasta_sqltable *t, FILE *sql))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (f)
		print(t, f);
	if (f && !fclose(f))
		return text;
	free(text);
	return NULL;
}

static void sqlrows_make_table(struct pasta_sqlrows *r, struct table *t)
{
	char *create = sqlrows_statement(t->is, pasta_sqltable_create);
	char *insert = sqlrows_statement(t->is, pasta_sqltable_insert);

	t->count = pasta_sqltable_columns(t->is, t->columns);
	if (create && insert) {
		pasta_database_exec(r->db, create);
		t->insert = pasta_database_prepare(r->db, insert);
	} else {
		sqlrows_out_of_memory(r);
	}
	free(create);
	free(insert);
}

static void sqlrows_make_tables(struct pasta_sqlrows *r)
{
	const struct pasta_sqltable *is;
	char version[40];
	size_t i;

	snprintf(version, sizeof(version), "PRAGMA user_version = %d;", PASTA_SQL_VERSION);
	pasta_database_exec(r->db, version);
	pasta_database_exec(r->db, pasta_sqltable_common);
	for (i = 0; i < TABLES_MAX && (is = pasta_sqltable_at(i)); i++) {
		r->tables[i].is = is;
		sqlrows_make_table(r, &r->tables[i]);
		if (i >= PASTA_SQL_OTHERS)
			r->by_kind[is->kind] = &r->tables[i];
		r->table_count++;
	}
	for (i = 0; i < PUTS; i++)
		r->puts[i] = pasta_database_prepare(r->db, puts_[i]);
}

struct pasta_sqlrows *pasta_sqlrows_new(struct pasta_database *db)
{
	struct pasta_sqlrows *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->db = db;
	r->scopes = pasta_map_new(sizeof(uint64_t));
	r->stacks = pasta_map_new(sizeof(uint64_t));
	r->threads = pasta_map_new(0);
	if (r->scopes && r->stacks && r->threads) {
		sqlrows_make_tables(r);
		return r;
	}
	pasta_sqlrows_free(r);
	return NULL;
}

void pasta_sqlrows_free(struct pasta_sqlrows *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->table_count; i++)
		sqlite3_finalize(r->tables[i].insert);
	for (i = 0; i < PUTS; i++)
		sqlite3_finalize(r->puts[i]);
	pasta_map_free(r->scopes);
	pasta_map_free(r->stacks);
	pasta_map_free(r->threads);
	free(r->strings);
	free(r);
}
