/* sqlite.c - all that a run has, as tables of an SQLite database. docs/export.md. */
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

#define ASK_STEPS 100000  /* of SQLite's machine, while it makes an index */
#define WAITING (1 << 20) /* collectives that wait for their kernel, at most */

/* Said by the shard's account, or nothing to keep. */
#define UNUSED (PASTA_MASK(PROCESS) | PASTA_MASK(CLOCK) | PASTA_MASK(LOSS) | PASTA_MASK(UNMATCHED))

/* A region or an operator that has begun and not ended. */
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
	uint64_t last; /* the latest time of its events */
};

/* A collective whose kernel has not come: its row is there already. */
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
	struct pasta_ledger *ledger;	/* with a struct pasta_sqlrow each */
	const struct pasta_sqlrow *row; /* of the allocation that the ledger takes; NULL: it has */
	struct pasta_pending *waiting;	/* struct waiting */
	struct thread *thread;		/* of the last region or operator, and its key */
	uint64_t thread_key;
	struct proc *proc; /* of the last event, and its number */
	uint32_t proc_number;
	uint64_t ids[PASTA_SQL_OPS + 1]; /* of regions and operators, before their rows are there */
	uint64_t collectives;		 /* rows */
	uint64_t index, indices;	 /* how many are there, of how many */
};

static void out_of_memory(struct writer *w)
{
	if (!w->db.err.code)
		pasta_fail(&w->db.err, -ENOMEM, "cannot write %s: out of memory", w->db.name);
}

static void put_ended(struct writer *w, size_t table, struct pasta_sqlrow *r, uint64_t end)
{
	r->ended = true;
	r->end = end;
	pasta_sqlrows_put(w->rows, table, r);
}

/* -- Regions and operators -- */

static struct thread *thread_of(struct writer *w, uint32_t proc, uint32_t tid)
{
	uint64_t key = pasta_pair(proc, tid);

	if (w->thread && w->thread_key == key)
		return w->thread;
	w->thread = pasta_map_add(w->threads, key);
	w->thread_key = key;
	if (!w->thread)
		out_of_memory(w);
	return w->thread;
}

static const struct pasta_sqlrow *around(const struct thread *th, size_t table)
{
	size_t i;

	for (i = th->count; i; i--)
		if (th->open[i - 1].table == table)
			return &th->open[i - 1].row;
	return NULL;
}

/* Room for one more; NULL when out of memory. */
static struct open *push(struct thread *th)
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

static void span_begin(struct writer *w, size_t table, const struct pasta_sqlrow *row)
{
	struct thread *th = thread_of(w, row->ev.proc, row->ev.tid);
	const struct pasta_sqlrow *up = th ? around(th, table) : NULL;
	struct open begun = {.table = table, .row = *row}, *open;

	begun.row.id = ++w->ids[table];
	begun.row.parent = up ? up->id : 0;
	begun.row.depth = up ? up->depth + 1 : 1;
	if (table == PASTA_SQL_REGIONS && row->ev.region.depth)
		begun.row.depth = row->ev.region.depth;
	open = th ? push(th) : NULL;
	if (open)
		*open = begun;
	else
		out_of_memory(w);
}

/* Ends come innermost first, but regions and operators may cross. What never ended has no end. */
static void span_end(struct writer *w, size_t table, const struct pasta_event *ev, bool ended)
{
	struct thread *th = thread_of(w, ev->proc, ev->tid);
	size_t i = th ? th->count : 0;

	while (i && th->open[i - 1].table != table)
		i--;
	if (!i--)
		return;
	th->open[i].row.ended = ended;
	th->open[i].row.end = ev->time;
	pasta_sqlrows_put(w->rows, table, &th->open[i].row);
	memmove(&th->open[i], &th->open[i + 1], (--th->count - i) * sizeof(*th->open));
}

/* -- Memory -- */

static void memory_begins(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			  const struct pasta_where *where)
{
	struct writer *w = state;

	(void)ev;
	memcpy(a->data, w->row, sizeof(*w->row));
	w->row = NULL;
}

/* A segment may be given back in parts, which are rows of their own. */
static struct pasta_sqlrow *row_of(const struct pasta_allocation *a)
{
	struct pasta_sqlrow *row = a->data;

	row->ev.alloc.addr = a->addr;
	row->ev.alloc.bytes = a->bytes;
	return row;
}

static void memory_ends(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	put_ended(state, PASTA_SQL_ALLOCATIONS, row_of(a), ev->time);
}

static const struct pasta_ledger_def ledger = {.size = sizeof(ledger),
					       .data_size = sizeof(struct pasta_sqlrow),
					       .on_alloc = memory_begins,
					       .on_free = memory_ends};

/* What is announced again is no other allocation, but has a row. */
static void memory(struct writer *w, const struct pasta_sqlrow *row)
{
	bool left;

	w->row = row->ev.kind == PASTA_KIND_ALLOC ? row : NULL;
	pasta_ledger_event(w->ledger, &row->ev, NULL);
	left = w->row;
	w->row = NULL;
	if (pasta_ledger_error(w->ledger))
		out_of_memory(w);
	else if (left)
		pasta_sqlrows_put(w->rows, PASTA_SQL_ALLOCATIONS, row);
}

/* -- Events -- */

static struct proc *proc_of(struct writer *w, uint32_t proc)
{
	if (w->proc && w->proc_number == proc)
		return w->proc;
	w->proc = pasta_map_add(w->procs, proc);
	w->proc_number = proc;
	if (!w->proc)
		out_of_memory(w);
	return w->proc;
}

static void iteration(struct writer *w, struct proc *p, const struct pasta_sqlrow *row)
{
	if (p->iterating)
		put_ended(w, PASTA_SQL_ITERATIONS, &p->iteration, row->ev.time);
	p->iterating = true;
	p->iteration = *row;
}

/* Its time is that of its kernel, which comes later, or never. */
static void collective(struct writer *w, struct pasta_sqlrow *row)
{
	struct waiting *waiting = pasta_collective_wait(w->waiting, &row->ev);

	row->id = ++w->collectives;
	pasta_sqlrows_put(w->rows, PASTA_SQL_COLLECTIVES, row);
	if (waiting)
		waiting->id = row->id;
	else
		out_of_memory(w);
}

static void kernel(struct writer *w, const struct pasta_sqlrow *row)
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

static void region(struct writer *w, const struct pasta_sqlrow *row)
{
	if (row->ev.sub == PASTA_REGION_BEGIN)
		span_begin(w, PASTA_SQL_REGIONS, row);
	else if (row->ev.sub == PASTA_REGION_END)
		span_end(w, PASTA_SQL_REGIONS, &row->ev,
			 !(row->ev.region.flags & PASTA_REGION_SUPPLIED_OPEN));
	else if (row->ev.sub == PASTA_REGION_MARK)
		pasta_sqlrows_put(w->rows, PASTA_SQL_MARKS, row);
}

static void event(struct writer *w, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct pasta_sqlrow row = pasta_sqlrows_make(w->rows, ev, where);
	struct proc *p = proc_of(w, ev->proc);

	if (!p)
		return;
	if (!(UNUSED >> ev->kind & 1) && ev->time > p->last)
		p->last = ev->time;
	switch (ev->kind) {
	case PASTA_KIND_REGION:
		region(w, &row);
		break;
	case PASTA_KIND_OP_BEGIN:
		span_begin(w, PASTA_SQL_OPS, &row);
		break;
	case PASTA_KIND_OP_END:
		span_end(w, PASTA_SQL_OPS, ev, ev->sub != PASTA_OP_END_SUPPLIED);
		break;
	case PASTA_KIND_ALLOC:
	case PASTA_KIND_FREE:
		memory(w, &row);
		break;
	case PASTA_KIND_ITERATION:
		iteration(w, p, &row);
		break;
	case PASTA_KIND_COLLECTIVE:
		collective(w, &row);
		break;
	case PASTA_KIND_KERNEL:
		kernel(w, &row);
		break;
	case PASTA_KIND_THREAD:
		pasta_sqlrows_thread(w->rows, ev->proc, ev->tid);
		break;
	default:
		pasta_sqlrows_put_kind(w->rows, &row);
	}
}

static bool go_on(struct writer *w, const char *what, uint64_t done, uint64_t total)
{
	return !w->watch || !w->watch->go_on || w->watch->go_on(w->watch->ctx, what, done, total);
}

static bool go_on_reading(void *ctx)
{
	struct writer *w = ctx;
	uint64_t done, total;

	pasta_stream_progress(w->in->stream, &done, &total);
	return go_on(w, "reading", done, total);
}

static int read_all(struct writer *w)
{
	const struct pasta_where *where;
	const struct pasta_event *ev;

	pasta_reader_set_cancel(w->events, go_on_reading, w);
	while (!w->db.err.code && (ev = pasta_reader_next(w->events, &where)))
		event(w, ev, where);
	if (pasta_reader_error(w->events))
		out_of_memory(w);
	return w->db.err.code ? w->db.err.code : pasta_reader_stopped(w->events) ? -EINTR : 0;
}

/* -- The end -- */

static void put_open(struct writer *w)
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
			pasta_sqlrows_put(w->rows, PASTA_SQL_ALLOCATIONS, row_of(a));
	at = 0;
	while ((p = pasta_map_next(w->procs, &at, NULL)))
		if (p->iterating)
			put_ended(w, PASTA_SQL_ITERATIONS, &p->iteration, p->last);
}

static void put_processes(struct writer *w)
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

/* text: NULL is a number. */
static void about(struct writer *w, const char *key, const char *text, uint64_t number)
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

/* What is not known has no row. */
static void about_text(struct writer *w, const char *key, const char *text)
{
	if (text)
		about(w, key, text, 0);
}

static void about_number(struct writer *w, const char *key, uint64_t value)
{
	about(w, key, NULL, value);
}

static void about_time(struct writer *w, const char *key, uint64_t time)
{
	if (time)
		about_number(w, key, time);
}

static void about_command(struct writer *w, char *const *command)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = command ? open_memstream(&text, &size) : NULL;

	for (i = 0; f && command[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", command[i]);
	if (command && (!f || fclose(f)))
		out_of_memory(w);
	else
		about_text(w, "command", text);
	free(text);
}

static void about_loss(struct writer *w)
{
	struct pasta_loss_summary loss;
	unsigned int i;
	char key[40];

	pasta_stream_loss(w->in->stream, &loss);
	pasta_loss_add_closed(&loss, w->in->dropped);
	about_number(w, "expected", loss.expected);
	about_number(w, "captured", loss.captured);
	about_number(w, "dropped", loss.dropped);
	for (i = 0; i < PASTA_LOSS_COUNT; i++) {
		if (!pasta_loss_reason(i))
			continue;
		snprintf(key, sizeof(key), "dropped_%s", pasta_loss_reason(i));
		about_number(w, key, loss.by_reason[i]);
	}
	about_number(w, "dropped_damaged", loss.damaged);
	about_number(w, "damaged_bytes", loss.damaged_bytes);
	about_number(w, "unknown", loss.unknown);
	about_number(w, "late", loss.late);
	about_number(w, "unknown_frees", pasta_ledger_unknown_frees(w->ledger, PASTA_LEVEL_HELD));
}

static void put_about(struct writer *w)
{
	const struct pasta_runinfo *run = &w->in->run;

	about_text(w, "schema", PASTA_SQL_SCHEMA);
	about_text(w, "version", PASTA_VERSION_STRING);
	about_number(w, "complete", 0); /* until the last index is there */
	about_text(w, "run", run->path);
	about_command(w, run->command);
	about_text(w, "cwd", run->cwd);
	about_text(w, "host", run->host);
	about_text(w, "recorded_by", run->version);
	about_time(w, "start", run->start);
	about_time(w, "end", run->end);
	about_loss(w);
}

/* -- Indices: an interrupt leaves out those that are not there yet -- */

static int on_steps(void *ctx)
{
	struct writer *w = ctx;

	return !go_on(w, "indexing", w->index, w->indices);
}

static void make_indices(struct writer *w)
{
	const struct pasta_sqltable *t;
	const char *columns;
	char sql[160];
	size_t i, k;

	for (i = 0; (t = pasta_sqltable_at(i)); i++)
		for (k = 0; pasta_sqltable_index(t, k); k++)
			w->indices++;
	sqlite3_progress_handler(w->db.db, ASK_STEPS, on_steps, w);
	for (i = 0; (t = pasta_sqltable_at(i)); i++)
		for (k = 0; (columns = pasta_sqltable_index(t, k)); k++, w->index++) {
			snprintf(sql, sizeof(sql), "CREATE INDEX %s_%s ON %s(%s);", t->name,
				 k ? "key" : "begin", t->name, columns);
			pasta_database_exec(&w->db, sql);
		}
	sqlite3_progress_handler(w->db.db, 0, NULL, NULL);
	pasta_database_exec(&w->db, "UPDATE about SET value = 1 WHERE key = 'complete';");
}

/* -- All of it -- */

static void writer_open(struct writer *w, const char *temp, const char *name)
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
		out_of_memory(w);
}

static void writer_close(struct writer *w)
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

static int write_(const char *temp, const char *name, struct pasta_input *in,
		  const struct pasta_export_watch *watch, struct pasta_error *err)
{
	struct writer w = {.in = in, .watch = watch};
	int stopped = 0;

	writer_open(&w, temp, name);
	if (!w.db.err.code)
		stopped = read_all(&w);
	if (!w.db.err.code) {
		put_open(&w);
		pasta_sqlrows_finish(w.rows);
		put_processes(&w);
		put_about(&w);
	}
	pasta_database_commit(&w.db);
	if (!stopped)
		make_indices(&w);
	writer_close(&w);
	if (w.db.err.code && err)
		*err = w.db.err;
	return w.db.err.code ? w.db.err.code : stopped;
}

const struct pasta_export pasta_export_sqlite = {
	.name = "sqlite",
	.summary = "one SQLite database, a table a kind of event",
	.write = write_,
};
