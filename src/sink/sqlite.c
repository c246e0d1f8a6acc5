/* sqlite.c - writes all events of a run into an SQLite database. docs/export.md describes it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "process/read/loss.h"
#include "process/join/directory.h"
#include "process/join/reader.h"
#include "process/sdk/ledger.h"
#include "process/join/symbols.h"
#include "sink/database.h"
#include "sink/export.h"
#include "sink/sqlrows.h"
#include "sink/sqltable.h"

#define CHECK_STEPS                                                                                \
	100000 /* steps of SQLite's virtual machine between two checks for an interrupt */
/* maximum number of collectives that are stored until their kernel is read */
#define WAITING (1 << 20)

/* Kinds that have no table of their own: their content is in the tables `processes` and `about`. */
#define UNUSED (PASTA_MASK(PROCESS) | PASTA_MASK(CLOCK) | PASTA_MASK(LOSS) | PASTA_MASK(UNMATCHED))

/* A region or an operator that has begun but not ended. */
struct open {
	size_t table;
	struct pasta_sqlrow row;
};

struct thread {
	struct open *open;
	size_t count, room;
};

struct proc {
	bool iterating;
	struct pasta_sqlrow iteration;
	uint64_t last; /* time of the latest event of the process */
};

/* A collective that has a row, and whose kernel event has not been read yet. */
struct waiting {
	uint64_t time, id;
};

struct writer {
	struct pasta_database db;
	struct pasta_sqlrows *rows;
	struct pasta_input *in;
	const struct pasta_export_watch *watch;
	struct pasta_reader *events;
	struct pasta_map *threads, *procs;
	/* the ledger; the data of each allocation is a struct pasta_sqlrow */
	struct pasta_ledger *ledger;
	const struct pasta_sqlrow
		*row; /* row of the allocation that the ledger is adding; NULL after that */
	struct pasta_pending *waiting; /* struct waiting */
	/* a cache: the thread of the last region or operator, and the key of that thread */
	struct thread *thread;
	uint64_t thread_key;
	/* a cache: the process of the last event, and the number of that process */
	struct proc *proc;
	uint32_t proc_number;
	/* the latest id of a region, and the latest id of an operator */
	uint64_t ids[PASTA_SQL_OPS + 1];
	uint64_t collectives; /* rows of the table */
	/* number of indices that were created so far, and number of all indices */
	uint64_t index, indices;
};

static void sqlite_out_of_memory(struct writer *w)
{
	if (!w->db.err.code)
		pasta_fail(&w->db.err, -ENOMEM, "cannot write %s: out of memory", w->db.name);
}

static void sqlite_put_ended(struct writer *w, size_t table, struct pasta_sqlrow *r, uint64_t end)
{
	r->ended = true;
	r->end = end;
	pasta_sqlrows_put(w->rows, table, r);
}

/* -- Regions and operators -- */

static struct thread *sqlite_thread(struct writer *w, uint32_t proc, uint32_t tid)
{
	uint64_t key = pasta_pair(proc, tid);

	if (w->thread && w->thread_key == key)
		return w->thread;
	w->thread = pasta_map_add(w->threads, key);
	w->thread_key = key;
	if (!w->thread)
		sqlite_out_of_memory(w);
	return w->thread;
}

static const struct pasta_sqlrow *sqlite_enclosing(const struct thread *th, size_t table)
{
	size_t i;

	for (i = th->count; i; i--)
		if (th->open[i - 1].table == table)
			return &th->open[i - 1].row;
	return NULL;
}

/* Adds an entry to the thread's open regions and operators. Returns the entry; NULL when out of
 * memory. */
static struct open *sqlite_push(struct thread *th)
{
	if (th->count == th->room) {
		size_t room = th->room ? 2 * th->room : 16;
		struct open *open = reallocarray(th->open, room, sizeof(*open));

		if (!open)
			return NULL;
		th->open = open;
		th->room = room;
	}
	return &th->open[th->count++];
}

static void sqlite_span_begin(struct writer *w, size_t table, const struct pasta_sqlrow *row)
{
	struct thread *th = sqlite_thread(w, row->ev.proc, row->ev.tid);
	const struct pasta_sqlrow *up = th ? sqlite_enclosing(th, table) : NULL;
	struct open begun = {.table = table, .row = *row}, *open;

	begun.row.id = ++w->ids[table];
	begun.row.parent = up ? up->id : 0;
	begun.row.depth = up ? up->depth + 1 : 1;
	if (table == PASTA_SQL_REGIONS && row->ev.region.depth)
		begun.row.depth = row->ev.region.depth;
	open = th ? sqlite_push(th) : NULL;
	if (open)
		*open = begun;
	else
		sqlite_out_of_memory(w);
}

/* Write the row of the innermost open region or operator. The end of a region may come before that
 * of an operator inside it, and vice versa. If the end was not recorded, `ended` is false. */
static void sqlite_span_end(struct writer *w, size_t table, const struct pasta_event *ev,
			    bool ended)
{
	struct thread *th = sqlite_thread(w, ev->proc, ev->tid);
	size_t i = th ? th->count : 0;

	while (i && th->open[i - 1].table != table)
		i--;
	if (!i--)
		return;
	th->open[i].row.ended = ended;
	th->open[i].row.end = ev->time;
	if (ev->kind == PASTA_KIND_OP_END)
		th->open[i].row.outputs = ev->op_end.outputs;
	pasta_sqlrows_put(w->rows, table, &th->open[i].row);
	memmove(&th->open[i], &th->open[i + 1], (--th->count - i) * sizeof(*th->open));
}

/* -- Memory -- */

static void sqlite_on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			    const struct pasta_where *where)
{
	struct writer *w = state;

	(void)ev;
	memcpy(a->data, w->row, sizeof(*w->row));
	w->row = NULL;
}

/* Returns the row of an allocation. If a segment is freed in parts, each part has its own row. */
static struct pasta_sqlrow *sqlite_allocation_row(const struct pasta_allocation *a)
{
	struct pasta_sqlrow *row = a->data;

	row->ev.alloc.addr = a->addr;
	row->ev.alloc.bytes = a->bytes;
	return row;
}

static void sqlite_on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			   const struct pasta_where *where)
{
	sqlite_put_ended(state, PASTA_SQL_ALLOCATIONS, sqlite_allocation_row(a), ev->time);
}

static const struct pasta_ledger_def ledger = {.size = sizeof(ledger),
					       .data_size = sizeof(struct pasta_sqlrow),
					       .on_alloc = sqlite_on_alloc,
					       .on_free = sqlite_on_free};

/* Add an allocation or a free to the ledger. The ledger ignores an allocation that was reported
 * before, but the database still gets a row for it. */
static void sqlite_memory(struct writer *w, const struct pasta_sqlrow *row)
{
	bool left;

	w->row = row->ev.kind == PASTA_KIND_ALLOC ? row : NULL;
	pasta_ledger_event(w->ledger, &row->ev, NULL);
	left = w->row;
	w->row = NULL;
	if (pasta_ledger_error(w->ledger))
		sqlite_out_of_memory(w);
	else if (left)
		pasta_sqlrows_put(w->rows, PASTA_SQL_ALLOCATIONS, row);
}

/* -- Events -- */

static struct proc *sqlite_proc(struct writer *w, uint32_t proc)
{
	if (w->proc && w->proc_number == proc)
		return w->proc;
	w->proc = pasta_map_add(w->procs, proc);
	w->proc_number = proc;
	if (!w->proc)
		sqlite_out_of_memory(w);
	return w->proc;
}

static void sqlite_iteration(struct writer *w, struct proc *p, const struct pasta_sqlrow *row)
{
	if (p->iterating)
		sqlite_put_ended(w, PASTA_SQL_ITERATIONS, &p->iteration, row->ev.time);
	p->iterating = true;
	p->iteration = *row;
}

/* Write the row of a collective. The duration of the collective is that of its kernel, whose event
 * arrives later or never. */
static void sqlite_collective(struct writer *w, struct pasta_sqlrow *row)
{
	struct waiting *waiting = pasta_collective_wait(w->waiting, &row->ev);

	row->id = ++w->collectives;
	pasta_sqlrows_put(w->rows, PASTA_SQL_COLLECTIVES, row);
	if (waiting)
		waiting->id = row->id;
	else
		sqlite_out_of_memory(w);
}

static void sqlite_kernel(struct writer *w, const struct pasta_sqlrow *row)
{
	const struct pasta_event *ev = &row->ev;
	const struct waiting *waiting = pasta_collective_find(w->waiting, ev);

	pasta_sqlrows_put_kind(w->rows, row);
	if (!waiting)
		return;
	pasta_sqlrows_time_collective(w->rows, waiting->id, ev->time + ev->kernel.dur,
				      ev->kernel.dur);
	pasta_collective_done(w->waiting, ev);
}

static void sqlite_region(struct writer *w, const struct pasta_sqlrow *row)
{
	if (row->ev.sub == PASTA_REGION_BEGIN)
		sqlite_span_begin(w, PASTA_SQL_REGIONS, row);
	else if (row->ev.sub == PASTA_REGION_END)
		sqlite_span_end(w, PASTA_SQL_REGIONS, &row->ev,
				!(row->ev.region.flags & PASTA_REGION_SUPPLIED_OPEN));
	else if (row->ev.sub == PASTA_REGION_MARK)
		pasta_sqlrows_put(w->rows, PASTA_SQL_MARKS, row);
}

static void sqlite_event(struct writer *w, const struct pasta_event *ev,
			 const struct pasta_where *where)
{
	struct pasta_sqlrow row = pasta_sqlrows_make(w->rows, ev, where);
	struct proc *p = sqlite_proc(w, ev->proc);

	if (!p)
		return;
	if (!(UNUSED >> ev->kind & 1) && ev->time > p->last)
		p->last = ev->time;
	switch (ev->kind) {
	case PASTA_KIND_REGION:
		sqlite_region(w, &row);
		break;
	case PASTA_KIND_OP_BEGIN:
		sqlite_span_begin(w, PASTA_SQL_OPS, &row);
		break;
	case PASTA_KIND_OP_END:
		sqlite_span_end(w, PASTA_SQL_OPS, ev, ev->sub != PASTA_OP_END_SUPPLIED);
		break;
	case PASTA_KIND_ALLOC:
	case PASTA_KIND_FREE:
		sqlite_memory(w, &row);
		break;
	case PASTA_KIND_ITERATION:
		sqlite_iteration(w, p, &row);
		break;
	case PASTA_KIND_COLLECTIVE:
		sqlite_collective(w, &row);
		break;
	case PASTA_KIND_KERNEL:
		sqlite_kernel(w, &row);
		break;
	case PASTA_KIND_THREAD:
		pasta_sqlrows_thread(w->rows, ev->proc, ev->tid);
		break;
	default:
		pasta_sqlrows_put_kind(w->rows, &row);
	}
}

static bool sqlite_go_on(struct writer *w, const char *what, uint64_t done, uint64_t total)
{
	return !w->watch || !w->watch->go_on || w->watch->go_on(w->watch->ctx, what, done, total);
}

static bool sqlite_go_on_reading(void *ctx)
{
	struct writer *w = ctx;
	uint64_t done, total;

	pasta_stream_progress(w->in->stream, &done, &total);
	return sqlite_go_on(w, "reading", done, total);
}

static int sqlite_read(struct writer *w)
{
	const struct pasta_where *where;
	const struct pasta_event *ev;

	pasta_reader_set_cancel(w->events, sqlite_go_on_reading, w);
	while (!w->db.err.code && (ev = pasta_reader_next(w->events, &where)))
		sqlite_event(w, ev, where);
	if (pasta_reader_error(w->events))
		sqlite_out_of_memory(w);
	return w->db.err.code ? w->db.err.code : pasta_reader_stopped(w->events) ? -EINTR : 0;
}

/* -- The end -- */

static void sqlite_put_open(struct writer *w)
{
	const struct pasta_allocation *a;
	struct thread *th;
	struct proc *p;
	size_t at = 0, i;

	while ((th = pasta_map_next(w->threads, &at, NULL)))
		for (i = 0; i < th->count; i++)
			pasta_sqlrows_put(w->rows, th->open[i].table, &th->open[i].row);
	for (uint32_t level = 0; level < PASTA_LEVEL_HELD; level++)
		for (at = 0; (a = pasta_ledger_next(w->ledger, PASTA_LEDGER_LIVE, level, &at));)
			pasta_sqlrows_put(w->rows, PASTA_SQL_ALLOCATIONS, sqlite_allocation_row(a));
	at = 0;
	while ((p = pasta_map_next(w->procs, &at, NULL)))
		if (p->iterating)
			sqlite_put_ended(w, PASTA_SQL_ITERATIONS, &p->iteration, p->last);
}

static void sqlite_put_processes(struct writer *w)
{
	sqlite3_stmt *put = pasta_database_prepare(
		&w->db, "INSERT INTO processes VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	const char *label;
	size_t i;

	for (i = 0; put && i < pasta_stream_shards(w->in->stream); i++) {
		const struct pasta_shard_info *info = pasta_stream_shard(w->in->stream, i);

		pasta_database_int(put, 1, i);
		sqlite3_bind_null(put, 2);
		if (info->pid)
			pasta_database_int(put, 2, info->pid);
		sqlite3_bind_null(put, 3);
		if (*info->host)
			pasta_database_text(&w->db, put, 3, info->host, strlen(info->host));
		sqlite3_bind_null(put, 4);
		if (info->rank)
			pasta_database_int(put, 4, info->rank - 1);
		pasta_database_text(&w->db, put, 5, info->command, strlen(info->command));
		pasta_database_text(&w->db, put, 6, info->path, strlen(info->path));
		pasta_database_int(put, 7, info->created);
		pasta_database_int(put, 8, info->loss.expected);
		pasta_database_int(put, 9, info->loss.captured);
		pasta_database_int(put, 10, info->loss.dropped);
		label = pasta_process((uint32_t)i)->text;
		pasta_database_text(&w->db, put, 11, label, strlen(label));
		pasta_database_run(&w->db, put);
	}
	sqlite3_finalize(put);
}

/* Write a row of the table `about`. The row's value is the text, or the number if `text` is
 * NULL. */
static void sqlite_about(struct writer *w, const char *key, const char *text, uint64_t number)
{
	sqlite3_stmt *put = pasta_database_prepare(&w->db, "INSERT INTO about VALUES(?, ?)");

	if (!put)
		return;
	sqlite3_bind_text(put, 1, key, -1, SQLITE_STATIC);
	if (text)
		pasta_database_text(&w->db, put, 2, text, strlen(text));
	else
		pasta_database_int(put, 2, number);
	pasta_database_run(&w->db, put);
	sqlite3_finalize(put);
}

/* For a value that is not known, the table `about` has no row. */
static void sqlite_about_text(struct writer *w, const char *key, const char *text)
{
	if (text)
		sqlite_about(w, key, text, 0);
}

static void sqlite_about_number(struct writer *w, const char *key, uint64_t value)
{
	sqlite_about(w, key, NULL, value);
}

static void sqlite_about_time(struct writer *w, const char *key, uint64_t time)
{
	if (time)
		sqlite_about_number(w, key, time);
}

static void sqlite_about_command(struct writer *w, char *const *command)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = command ? open_memstream(&text, &size) : NULL;

	for (i = 0; f && command[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", command[i]);
	if (command && (!f || fclose(f)))
		sqlite_out_of_memory(w);
	else
		sqlite_about_text(w, "command", text);
	free(text);
}

static void sqlite_about_loss(struct writer *w)
{
	struct pasta_loss_summary loss;
	unsigned int i;
	char key[40];

	pasta_stream_loss(w->in->stream, &loss);
	pasta_loss_add_closed(&loss, w->in->dropped);
	sqlite_about_number(w, "expected", loss.expected);
	sqlite_about_number(w, "captured", loss.captured);
	sqlite_about_number(w, "dropped", loss.dropped);
	for (i = 0; i < PASTA_LOSS_COUNT; i++) {
		if (!pasta_loss_reason(i))
			continue;
		snprintf(key, sizeof(key), "dropped_%s", pasta_loss_reason(i));
		sqlite_about_number(w, key, loss.by_reason[i]);
	}
	sqlite_about_number(w, "dropped_damaged", loss.damaged);
	sqlite_about_number(w, "damaged_bytes", loss.damaged_bytes);
	sqlite_about_number(w, "unknown", loss.unknown);
	sqlite_about_number(w, "late", loss.late);
	sqlite_about_number(w, "unknown_frees",
			    pasta_ledger_unknown_frees(w->ledger, PASTA_LEVEL_HELD));
}

static void sqlite_put_about(struct writer *w)
{
	const struct pasta_runinfo *run = &w->in->run;

	sqlite_about_text(w, "schema", PASTA_SQL_SCHEMA);
	sqlite_about_text(w, "version", PASTA_VERSION_STRING);
	sqlite_about_number(w, "complete", 0); /* sqlite_make_indices sets it to 1 */
	sqlite_about_text(w, "run", run->path);
	sqlite_about_command(w, run->command);
	sqlite_about_text(w, "cwd", run->cwd);
	sqlite_about_text(w, "host", run->host);
	sqlite_about_text(w, "recorded_by", run->version);
	sqlite_about_time(w, "start", run->start);
	sqlite_about_time(w, "end", run->end);
	sqlite_about_loss(w);
}

/* -- Indices: after an interrupt, the indices that were not created yet are missing -- */

static int sqlite_on_steps(void *ctx)
{
	struct writer *w = ctx;

	return !sqlite_go_on(w, "indexing", w->index, w->indices);
}

static void sqlite_make_indices(struct writer *w)
{
	const struct pasta_sqltable *t;
	const char *columns;
	char sql[160];
	size_t i, k;

	for (i = 0; (t = pasta_sqltable_at(i)); i++)
		for (k = 0; pasta_sqltable_index(t, k); k++)
			w->indices++;
	sqlite3_progress_handler(w->db.db, CHECK_STEPS, sqlite_on_steps, w);
	for (i = 0; (t = pasta_sqltable_at(i)); i++)
		for (k = 0; (columns = pasta_sqltable_index(t, k)); k++, w->index++) {
			snprintf(sql, sizeof(sql), "CREATE INDEX %s_%s ON %s(%s);", t->name,
				 k ? "key" : "begin", t->name, columns);
			pasta_database_exec(&w->db, sql);
		}
	sqlite3_progress_handler(w->db.db, 0, NULL, NULL);
	pasta_database_exec(&w->db, "UPDATE about SET value = 1 WHERE key = 'complete';");
}

/* -- The export -- */

static void sqlite_open(struct writer *w, const char *temp, const char *name)
{
	if (pasta_database_open(&w->db, temp, name))
		return;
	w->rows = pasta_sqlrows_new(&w->db);
	pasta_symbols_reset();
	w->events = pasta_reader_new(w->in->stream, ~UNUSED, PASTA_NEED_SCOPES | PASTA_NEED_OPS,
				     w->in->filter);
	w->threads = pasta_map_new(sizeof(struct thread));
	w->ledger = pasta_ledger_new(&ledger, w);
	w->procs = pasta_map_new(sizeof(struct proc));
	w->waiting = pasta_pending_new(sizeof(struct waiting), WAITING);
	if (!w->rows || !w->events || !w->threads || !w->ledger || !w->procs || !w->waiting ||
	    pasta_directory_fill(w->in->stream))
		sqlite_out_of_memory(w);
}

static void sqlite_close(struct writer *w)
{
	struct thread *th;
	size_t at = 0;

	pasta_sqlrows_free(w->rows);
	pasta_database_close(&w->db);
	while (w->threads && (th = pasta_map_next(w->threads, &at, NULL)))
		free(th->open);
	pasta_map_free(w->threads);
	pasta_ledger_free(w->ledger);
	pasta_map_free(w->procs);
	pasta_pending_free(w->waiting);
	pasta_reader_free(w->events);
}

static int sqlite_write(const char *temp, const char *name, struct pasta_input *in,
			const struct pasta_export_watch *watch, struct pasta_error *err)
{
	struct writer w = {.in = in, .watch = watch};
	int stopped = 0;

	sqlite_open(&w, temp, name);
	if (!w.db.err.code)
		stopped = sqlite_read(&w);
	if (!w.db.err.code) {
		sqlite_put_open(&w);
		pasta_sqlrows_finish(w.rows);
		sqlite_put_processes(&w);
		sqlite_put_about(&w);
	}
	pasta_database_commit(&w.db);
	if (!stopped)
		sqlite_make_indices(&w);
	sqlite_close(&w);
	if (w.db.err.code && err)
		*err = w.db.err;
	return w.db.err.code ? w.db.err.code : stopped;
}

const struct pasta_export pasta_export_sqlite = {
	.name = "sqlite",
	.summary = "an SQLite database with a table for each kind of event",
	.write = sqlite_write,
};
