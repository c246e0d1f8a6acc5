/* tensors - memory of tensors: what makes the peak, who allocates it, how long it lives, what is
 * kept for nothing. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

#define BINS 512	 /* points of the chart, of a place */
#define FIRST_WIDTH 1024 /* ns of a bin, doubled whenever the bins are too few */
#define HOST UINT32_MAX	 /* in place of a device */
#define OPS 64		 /* operators of a path, from the innermost on */
#define FRAMES 64	 /* of a call path, in which a line is looked for */
#define TEXT 1000
#define LEAKS 10 /* findings */

enum life { IN_OP, IN_ITERATION, OVER, OUTSIDE, NEVER, NOT_KNOWN, LIVES };
static const char *const life_names[LIVES] = {"operator",     "iteration",   "longer",
					      "no iteration", "never freed", "(not known)"};

static const struct {
	uint64_t up_to;
	const char *name;
} sizes[] = {
	{UINT64_C(4) << 10, "4 KiB"},	  {UINT64_C(64) << 10, "64 KiB"},
	{UINT64_C(1) << 20, "1 MiB"},	  {UINT64_C(16) << 20, "16 MiB"},
	{UINT64_C(256) << 20, "256 MiB"}, {UINT64_MAX, "more"},
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct process {
	uint32_t host, pid;	   /* 0: not known */
	bool args;		   /* it says what operators read and write */
	uint64_t iterations;	   /* that have begun */
	uint64_t index;		   /* of the last */
	struct pasta_map *tensors; /* struct tensor, by id */
};

/* Where memory is: a device or the host, of one process. */
struct place {
	struct process *process;
	uint32_t proc, device;
	uint64_t live, peak, peak_time; /* of blocks, as the ledger has them */
	uint64_t peak_reserved;		/* then; 0: not known */
	size_t last;			/* the bin of its last event */
	uint64_t bins[BINS];
};

/* Who allocates: a path of operators and a call path in Python, in one place. */
struct site {
	struct place *place;
	uint32_t path, python;
	bool backward;
	uint64_t count, bytes, freed, life; /* life: ns of those that were freed */
	uint64_t live, live_bytes;
	uint64_t in_op, in_iteration; /* bytes that lived no longer */
	uint64_t peak, peak_bytes;    /* at the place's peak */
	/* How live changed: since this iteration began, and iterations in a row in which it grew.
	 */
	uint64_t iteration, start, start_bytes, streak, streak_from;
};

/* Of an allocation; or of memory of a tensor whose allocation nobody saw. */
struct block {
	struct place *place; /* NULL: it is none of these */
	struct site *site;   /* NULL: found */
	uint64_t bytes, time;
	uint64_t top;		     /* the outermost operator around it, or 0 */
	uint64_t iteration, touched; /* how many had begun; 0: none */
	uint64_t made_index, touched_index;
	uint64_t tensor; /* the last one's id; 0: none */
	bool ageless;	 /* it was there before: nothing is said of when it was allocated */
};

struct tensor {
	struct block *block;
	uint64_t next; /* of the block: an id, or 0 */
};

struct path {
	uint32_t up, name, number; /* numbers are from 1 */
};

struct thread {
	uint64_t depth, top;
};

struct life_sum {
	uint64_t count, bytes, ns;
};

struct tensors {
	struct pasta_ledger *ledger;	      /* with a struct block each */
	struct pasta_map *processes, *places; /* by number; by number and device */
	struct pasta_map *threads;	      /* by process and tid */
	struct pasta_map *paths;	      /* by number around it and name */
	struct pasta_map *scopes;	      /* uint32_t: path's number, by scope's id */
	struct pasta_map *sites;	      /* by hash, or the next number that is free */
	struct life_sum lives[SIZES][LIVES];
	uint64_t start, now, width; /* of time, and of a bin */
	uint64_t tops;
	uint64_t found;
	uint64_t kept, untouched, growth; /* options: iterations */
	bool started, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct tensors *m = state;

	m->kept = pasta_opt_u64(opts, "kept");
	m->untouched = pasta_opt_u64(opts, "untouched");
	m->growth = pasta_opt_u64(opts, "growth");
	if (!m->growth)
		return pasta_fail(err, -EINVAL, "tensors.growth must be at least 1");
	m->width = FIRST_WIDTH;
	m->processes = pasta_map_new(sizeof(struct process));
	m->places = pasta_map_new(sizeof(struct place));
	m->threads = pasta_map_new(sizeof(struct thread));
	m->paths = pasta_map_new(sizeof(struct path));
	m->scopes = pasta_map_new(sizeof(uint32_t));
	m->sites = pasta_map_new(sizeof(struct site));
	if (!m->processes || !m->places || !m->threads || !m->paths || !m->scopes || !m->sites)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct tensors *m = state;
	struct process *process;
	size_t at = 0;

	while (m->processes && (process = pasta_map_next(m->processes, &at, NULL)))
		pasta_map_free(process->tensors);
	pasta_map_free(m->processes);
	pasta_map_free(m->places);
	pasta_map_free(m->threads);
	pasta_map_free(m->paths);
	pasta_map_free(m->scopes);
	pasta_map_free(m->sites);
}

/* -- Time: all places have the same bins, from the start on. -- */

static void bins_fill(struct place *p, size_t bin)
{
	while (p->last < bin)
		p->bins[++p->last] = p->live;
}

/* Two bins become one. */
static void fold(struct tensors *m)
{
	struct place *p;
	size_t i, at = 0;

	while ((p = pasta_map_next(m->places, &at, NULL))) {
		bins_fill(p, BINS - 1);
		for (i = 0; i < BINS / 2; i++)
			p->bins[i] = p->bins[2 * i] > p->bins[2 * i + 1] ? p->bins[2 * i]
									 : p->bins[2 * i + 1];
		p->last = BINS / 2 - 1;
	}
	m->width *= 2;
}

static size_t bin_now(const struct tensors *m)
{
	return (size_t)((m->now - m->start) / m->width);
}

/* Time goes on. An event that comes late comes now. */
static void tick(struct tensors *m, uint64_t time)
{
	if (!m->started)
		m->start = m->now = time;
	m->started = true;
	if (time > m->now)
		m->now = time;
	while (bin_now(m) >= BINS)
		fold(m);
}

static void change(const struct tensors *m, struct place *p)
{
	bins_fill(p, bin_now(m));
	p->live = pasta_ledger_live(m->ledger, p->proc, p->device, PASTA_LEVEL_BLOCK);
	if (p->live > p->bins[p->last])
		p->bins[p->last] = p->live;
}

/* -- Who and where. Where memory runs out, failed is set, and the report will say so. -- */

static struct process *process_of(struct tensors *m, uint32_t proc)
{
	struct process *p = pasta_map_add(m->processes, proc);

	if (p && !p->tensors)
		p->tensors = pasta_map_new(sizeof(struct tensor));
	if (p && p->tensors)
		return p;
	m->failed = true;
	return NULL;
}

static struct place *place_of(struct tensors *m, uint32_t proc, uint32_t device)
{
	struct process *process = process_of(m, proc);
	struct place *p = process ? pasta_map_add(m->places, pasta_pair(proc, device)) : NULL;

	if (!p) {
		m->failed = true;
		return NULL;
	}
	p->process = process;
	p->proc = proc;
	p->device = device;
	return p;
}

static uint32_t path_below(struct tensors *m, uint32_t up, uint32_t name)
{
	struct path *path = pasta_map_add(m->paths, pasta_pair(up, name));

	if (!path) {
		m->failed = true;
		return up;
	}
	if (!path->number)
		*path = (struct path){up, name, (uint32_t)pasta_map_count(m->paths)};
	return path->number;
}

/* The operators of a place in the nesting, without the regions. */
static uint32_t path_of(struct tensors *m, const struct pasta_scope *scope)
{
	const struct pasta_scope *op = scope ? scope->op : NULL;
	uint32_t *known = op ? pasta_map_add(m->scopes, op->id) : NULL, names[OPS];
	size_t count = 0;

	m->failed |= op && !known;
	if (!known)
		return 0;
	for (; !*known && op && count < OPS; op = op->up ? op->up->op : NULL)
		names[count++] = op->name;
	while (count)
		*known = path_below(m, *known, names[--count]);
	return *known;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Those whose hash is the same have the numbers after it: none is ever removed. */
static struct site *site_of(struct tensors *m, struct place *place, const struct pasta_event *ev)
{
	const struct pasta_where *where = pasta_where_of(ev);
	struct site like = {.place = place,
			    .path = ev->alloc.flags & PASTA_ALLOC_EARLIER
					    ? path_below(m, 0, ev->alloc.name)
					    : path_of(m, where->scope),
			    .python = pasta_python_of(ev),
			    .backward = where->flags & PASTA_WHERE_BACKWARD};
	uint64_t key = mix(mix(pasta_pair(like.path, like.python), like.backward),
			   pasta_pair(place->proc, place->device));
	struct site *site;

	while ((site = pasta_map_add(m->sites, key)) && site->place &&
	       (site->place != place || site->path != like.path || site->python != like.python ||
		site->backward != like.backward))
		key++;
	m->failed |= !site;
	if (site && !site->place) {
		*site = like;
		site->iteration = place->process->iterations;
	}
	return site;
}

static struct thread *thread_of(struct tensors *m, const struct pasta_event *ev)
{
	struct thread *thread = pasta_map_add(m->threads, pasta_pair(ev->proc, ev->tid));

	m->failed |= !thread;
	return thread;
}

/* -- What is alive. -- */

/* Before live changes: what it did in the iterations that are over. */
static void roll(struct site *s)
{
	uint64_t now = s->place->process->iterations;

	if (s->iteration == now)
		return;
	if (!s->iteration || s->live <= s->start) {
		s->streak = 0;
	} else {
		s->streak_from = s->streak ? s->streak_from : s->start;
		s->streak++;
	}
	/* It did nothing in those that came after. */
	if (s->iteration + 1 < now)
		s->streak = 0;
	s->iteration = now;
	s->start = s->live;
	s->start_bytes = s->live_bytes;
}

static void forget_tensors(const struct block *b)
{
	struct process *p = b->place->process;
	uint64_t id = b->tensor, next;

	for (; id; id = next) {
		const struct tensor *t = pasta_map_find(p->tensors, id);

		next = t ? t->next : 0;
		pasta_map_remove(p->tensors, id);
	}
}

static enum life life_of(const struct block *b, const struct thread *thread)
{
	uint64_t now = b->place->process->iterations;

	if (b->ageless)
		return NOT_KNOWN;
	if (b->top && thread && b->top == thread->top)
		return IN_OP;
	if (b->iteration != now)
		return OVER;
	return now ? IN_ITERATION : OUTSIDE;
}

static size_t size_of(uint64_t bytes)
{
	size_t i = 0;

	while (bytes > sizes[i].up_to)
		i++;
	return i;
}

static void count_life(struct tensors *m, const struct block *b, enum life life)
{
	struct life_sum *sum = &m->lives[size_of(b->bytes)][life];

	sum->count++;
	sum->bytes += b->bytes;
	sum->ns += m->now - b->time;
}

/* thread: who frees it; NULL: nobody said so. */
static void release(struct tensors *m, const struct block *b, const struct thread *thread)
{
	enum life life = life_of(b, thread);
	struct site *s = b->site;

	roll(s);
	count_life(m, b, life);
	s->freed += !b->ageless;
	s->life += b->ageless ? 0 : m->now - b->time;
	s->live--;
	s->live_bytes -= b->bytes;
	s->in_op += life == IN_OP ? b->bytes : 0;
	s->in_iteration += life == IN_ITERATION ? b->bytes : 0;
	change(m, b->place);
}

static void raise(struct tensors *m, const struct block *b)
{
	struct place *p = b->place;

	roll(b->site);
	b->site->count++;
	b->site->bytes += b->bytes;
	b->site->live++;
	b->site->live_bytes += b->bytes;
	change(m, p);
	if (p->live <= p->peak)
		return;
	p->peak = p->live;
	p->peak_time = m->now;
	p->peak_reserved = pasta_ledger_live(m->ledger, p->proc, p->device, PASTA_LEVEL_SEGMENT);
}

/* -- Memory, as the ledger has it. -- */

static void allocate(struct tensors *m, const struct pasta_allocation *a,
		     const struct pasta_event *ev, struct place *p)
{
	struct site *site = site_of(m, p, ev);
	const struct thread *thread = thread_of(m, ev);
	struct block *b = a->data;

	if (!site || !thread)
		return;
	*b = (struct block){.place = p,
			    .site = site,
			    .bytes = a->bytes,
			    .time = m->now,
			    .top = thread->top,
			    .iteration = p->process->iterations,
			    .made_index = p->process->index,
			    .ageless = ev->alloc.flags & PASTA_ALLOC_EARLIER};
	raise(m, b);
}

/* Reserved memory is known better than before, also that of a peak at this moment. */
static void reserve(const struct tensors *m, struct place *p)
{
	if (p->peak && p->peak_time == m->now && p->live == p->peak)
		p->peak_reserved =
			pasta_ledger_live(m->ledger, p->proc, p->device, PASTA_LEVEL_SEGMENT);
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev)
{
	struct tensors *m = state;
	struct place *p;

	if (m->failed)
		return;
	tick(m, ev->time);
	p = place_of(m, ev->proc, device);
	if (p)
		reserve(m, p);
}

/* Nobody saw it allocated. Its address is that of its data, wherever they are in the storage. */
static void find(struct tensors *m, const struct pasta_allocation *a, struct place *p)
{
	m->found++;
	*(struct block *)a->data =
		(struct block){.place = p, .bytes = a->bytes, .iteration = p->process->iterations};
}

/* Blocks are what tensors are made of; parts of others, as OpenCL has them, are not. */
static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev)
{
	bool in_block = a->parent && a->parent->level == PASTA_LEVEL_BLOCK;
	struct tensors *m = state;
	struct place *p;

	if (m->failed || a->level == PASTA_LEVEL_DRIVER || a->flags & PASTA_ALLOCATION_PART)
		return;
	tick(m, ev->time);
	p = place_of(m, a->proc, a->device);
	if (p && a->level == PASTA_LEVEL_SEGMENT)
		reserve(m, p);
	else if (p && a->level == PASTA_LEVEL_BLOCK)
		allocate(m, a, ev, p);
	else if (p && !in_block)
		find(m, a, p);
}

static void on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev)
{
	struct tensors *m = state;
	const struct block *b = a->data;

	if (m->failed || !b->place)
		return;
	tick(m, ev->time);
	forget_tensors(b);
	if (b->site)
		release(m, b, a->flags & PASTA_ALLOCATION_NO_FREE ? NULL : thread_of(m, ev));
}

/* -- Events. -- */

static struct block *block_of(const struct tensors *m, const struct pasta_event *ev)
{
	const struct pasta_allocation *a =
		ev->tensor.storage
			? pasta_ledger_get(m->ledger, ev->proc, PASTA_LEVEL_TENSOR,
					   ev->tensor.storage)
			: pasta_ledger_at(m->ledger, ev->proc, PASTA_LEVEL_BLOCK, ev->tensor.addr);
	struct block *b;

	if (a && a->parent && a->parent->level == PASTA_LEVEL_BLOCK)
		a = a->parent;
	b = a ? a->data : NULL;
	return b && b->place ? b : NULL;
}

static void touch(struct block *b)
{
	b->touched = b->place->process->iterations;
	b->touched_index = b->place->process->index;
}

static void on_tensor(struct tensors *m, const struct pasta_event *ev)
{
	struct block *b = ev->tensor.addr ? block_of(m, ev) : NULL;
	struct tensor *t = NULL;

	if (!b)
		return;
	if (ev->tensor.id) { /* 0 ends a block's list */
		t = pasta_map_add(b->place->process->tensors, ev->tensor.id);
		m->failed |= !t;
	}
	if (t && !t->block) {
		b->ageless |= !b->tensor && ev->sub == PASTA_TENSOR_FOUND;
		*t = (struct tensor){b, b->tensor};
		b->tensor = ev->tensor.id;
	}
	touch(b);
}

static void on_arg(struct tensors *m, const struct pasta_event *ev)
{
	struct process *p = process_of(m, ev->proc);
	const struct tensor *t = p ? pasta_map_find(p->tensors, ev->op_arg.tensor) : NULL;

	if (p)
		p->args = true;
	if (t)
		touch(t->block);
}

static void on_op(struct tensors *m, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(m, ev);

	if (!thread)
		return;
	if (ev->kind == PASTA_KIND_OP_BEGIN && !thread->depth++)
		thread->top = ++m->tops;
	else if (ev->kind == PASTA_KIND_OP_END && thread->depth && !--thread->depth)
		thread->top = 0;
}

static void on_process(struct tensors *m, const struct pasta_event *ev)
{
	struct process *p = process_of(m, ev->proc);

	if (!p)
		return;
	p->host = ev->process.host;
	p->pid = ev->process.pid;
}

static void on_iteration(struct tensors *m, const struct pasta_event *ev)
{
	struct process *p = process_of(m, ev->proc);

	if (!p)
		return;
	p->iterations++;
	p->index = ev->iteration.index;
}

/* After a failure what is known is not whole: nothing more is looked at. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	static void (*const on[PASTA_KIND_MAX])(struct tensors *, const struct pasta_event *) = {
		[PASTA_KIND_TENSOR] = on_tensor,       [PASTA_KIND_OP_ARG] = on_arg,
		[PASTA_KIND_OP_BEGIN] = on_op,	       [PASTA_KIND_OP_END] = on_op,
		[PASTA_KIND_ITERATION] = on_iteration, [PASTA_KIND_PROCESS] = on_process,
	};
	struct tensors *m = state;

	if (m->failed)
		return;
	tick(m, ev->time);
	if (on[ev->kind])
		on[ev->kind](m, ev);
}

/* -- Reporting: texts. -- */

static const char *process_text(const struct place *p, char *text)
{
	return pasta_process_text(pasta_str(p->process->host), p->process->pid, p->proc, text,
				  TEXT);
}

static const char *place_text(const struct place *p, char *text)
{
	if (p->device == HOST)
		return "host";
	snprintf(text, TEXT, "device %" PRIu32, p->device);
	return text;
}

/* Interpreters write "<string>" and the like for what is in no file. */
static bool in_file(const struct pasta_stack_frame *f)
{
	return *f->file && *f->file != '<' && strncmp(f->function, "<built-in", 9);
}

/* The innermost function that is in a file; "" if there is none. */
static const char *line_text(uint32_t python, char *text)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i, count = pasta_stack_frames(0, python, frames, FRAMES);

	for (i = 0; i < count && i < FRAMES; i++)
		if (in_file(&frames[i]))
			return pasta_stack_frame_text(&frames[i], text, TEXT);
	return "";
}

/* What sites are called: those that read the same are one row. */
struct name {
	char *op, *line;
};

/* "linear/addmm"; the outer ones go where there is no room. */
static char *op_text(const struct path **paths, const struct site *s)
{
	char text[TEXT], *p = text + sizeof(text) - 1;
	uint32_t path;

	*p = '\0';
	for (path = s->path; path; path = paths[path]->up) {
		const char *name = paths[path]->name ? pasta_str(paths[path]->name) : "(unnamed)";
		size_t n = strlen(name) + (*p != '\0');

		if ((size_t)(p - text) < n)
			break;
		if (*p)
			*--p = '/';
		p -= strlen(name);
		memcpy(p, name, strlen(name));
	}
	return strdup(*p ? p : "(no operator)");
}

/* A row's sums: of sites, of their part of a peak, or of what is kept. */
struct row {
	const struct place *place; /* NULL: of all */
	struct name name;
	struct site sum;
	uint64_t made, touched; /* indices of iterations, plus 1; 0: none */
};

struct rows {
	struct row *items;
	size_t count;
};

static void rows_free(struct rows *rows)
{
	while (rows->count) {
		struct row *row = &rows->items[--rows->count];

		free(row->name.op);
		free(row->name.line);
	}
	free(rows->items);
}

static int by_place(const struct place *x, const struct place *y)
{
	if (x == y)
		return 0;
	if (!x || !y)
		return x ? 1 : -1;
	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	return x->device < y->device ? -1 : 1;
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = by_place(x->place, y->place);

	order = order ? order : strcmp(x->name.op, y->name.op);
	return order ? order : strcmp(x->name.line, y->name.line);
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = by_place(x->place, y->place);

	order = order ? order : compare(x->sum.peak_bytes, y->sum.peak_bytes);
	order = order ? order : compare(x->sum.bytes, y->sum.bytes);
	return order ? order : by_name(a, b);
}

static void add_row(struct row *into, const struct row *from)
{
	struct site *a = &into->sum;
	const struct site *b = &from->sum;

	a->count += b->count;
	a->bytes += b->bytes;
	a->freed += b->freed;
	a->life += b->life;
	a->live += b->live;
	a->live_bytes += b->live_bytes;
	a->in_op += b->in_op;
	a->in_iteration += b->in_iteration;
	a->peak += b->peak;
	a->peak_bytes += b->peak_bytes;
	if (from->made && (!into->made || from->made < into->made))
		into->made = from->made;
	into->touched = from->touched > into->touched ? from->touched : into->touched;
}

/* Rows that read the same become one, and are put in order. */
static void add_up(struct rows *rows)
{
	size_t i, kept = 0;

	if (!rows->count)
		return;
	qsort(rows->items, rows->count, sizeof(*rows->items), by_name);
	for (i = 0; i < rows->count; i++) {
		struct row *into = kept ? &rows->items[kept - 1] : NULL;

		if (!into || by_name(into, &rows->items[i])) {
			rows->items[kept++] = rows->items[i];
			continue;
		}
		add_row(into, &rows->items[i]);
		free(rows->items[i].name.op);
		free(rows->items[i].name.line);
	}
	rows->count = kept;
	qsort(rows->items, kept, sizeof(*rows->items), by_bytes);
}

static const struct path **paths_of(const struct tensors *m)
{
	const struct path **paths = calloc(pasta_map_count(m->paths) + 1, sizeof(*paths)), *path;
	size_t at = 0;

	while (paths && (path = pasta_map_next(m->paths, &at, NULL)))
		paths[path->number] = path;
	return paths;
}

/* A row for a site; NULL: for what was found. rows has room. */
static struct row *new_row(struct rows *rows, const struct path **paths, const struct site *s)
{
	struct row *row = &rows->items[rows->count];
	char text[TEXT], line[TEXT + 16];

	snprintf(line, sizeof(line), "%s%s", s ? line_text(s->python, text) : "",
		 s && s->backward ? " (backward)" : "");
	*row = (struct row){.name = {s ? op_text(paths, s) : strdup("(not seen)"),
				     strdup(*line == ' ' ? line + 1 : line)}};
	rows->count++;
	return row->name.op && row->name.line ? row : NULL;
}

/* -- Reporting: tables. -- */

/* What each site had at its place's peak. */
static void find_peaks(const struct tensors *m)
{
	const struct pasta_allocation *a;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_PEAK, PASTA_LEVEL_BLOCK, &at))) {
		const struct block *b = a->data;

		if (!b->site)
			continue;
		b->site->peak++;
		b->site->peak_bytes += b->bytes;
	}
}

static void put_place(struct pasta_table *t, const struct place *p)
{
	char text[TEXT];

	pasta_cell_str(t, place_text(p, text));
	pasta_cell_str(t, process_text(p, text));
}

static void report_peak(const struct tensors *m, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"memory", PASTA_COLUMN_STRING, NULL},
		{"process", PASTA_COLUMN_STRING, NULL},
		{"peak", PASTA_COLUMN_INT, "bytes"},
		{"peak_at", PASTA_COLUMN_INT, "ns"},
		{"reserved", PASTA_COLUMN_INT, "bytes"},
		{"fragmentation", PASTA_COLUMN_INT, "bytes"},
		{"live_at_end", PASTA_COLUMN_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "peak", columns, 7);
	const struct place *p;
	size_t at = 0;

	while ((p = pasta_map_next(m->places, &at, NULL))) {
		if (!p->peak)
			continue;
		put_place(t, p);
		pasta_cell_int(t, (int64_t)p->peak);
		pasta_cell_int(t, (int64_t)(p->peak_time - m->start));
		if (p->peak_reserved) {
			pasta_cell_int(t, (int64_t)p->peak_reserved);
			pasta_cell_int(t, (int64_t)(p->peak_reserved - p->peak));
		} else {
			pasta_cell_none(t);
			pasta_cell_none(t);
		}
		pasta_cell_int(t, (int64_t)p->live);
	}
}

static void put_name(struct pasta_table *t, const struct row *row)
{
	pasta_cell_str(t, row->name.op);
	pasta_cell_str(t, row->name.line);
}

static int report_held(const struct tensors *m, const struct path **paths, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"memory", PASTA_COLUMN_STRING, NULL},
		{"process", PASTA_COLUMN_STRING, NULL},
		{"op", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_OP},
		{"line", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_LINE},
		{"allocations", PASTA_COLUMN_INT, NULL},
		{"bytes", PASTA_COLUMN_INT, "bytes"},
		{"share", PASTA_COLUMN_FLOAT, "%"},
	};
	struct rows rows = {calloc(pasta_map_count(m->sites) + 1, sizeof(struct row)), 0};
	const struct site *s;
	struct pasta_table *t;
	size_t i, at = 0;
	int error = rows.items ? 0 : -ENOMEM;

	while (!error && (s = pasta_map_next(m->sites, &at, NULL))) {
		struct row *row = s->peak ? new_row(&rows, paths, s) : NULL;

		error = s->peak && !row ? -ENOMEM : 0;
		if (row) {
			row->place = s->place;
			row->sum = (struct site){.peak = s->peak, .peak_bytes = s->peak_bytes};
		}
	}
	if (!error) {
		add_up(&rows);
		t = pasta_out_table(out, "peak_held", columns, 7);
		for (i = 0; i < rows.count; i++) {
			const struct row *row = &rows.items[i];

			put_place(t, row->place);
			put_name(t, row);
			pasta_cell_int(t, (int64_t)row->sum.peak);
			pasta_cell_int(t, (int64_t)row->sum.peak_bytes);
			pasta_cell_float(t, 100.0 * (double)row->sum.peak_bytes /
						    (double)row->place->peak);
		}
	}
	rows_free(&rows);
	return error;
}

static void put_sites(const struct rows *rows, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"op", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_OP},
		{"line", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_LINE},
		{"allocations", PASTA_COLUMN_INT, NULL},
		{"bytes", PASTA_COLUMN_INT, "bytes"},
		{"live", PASTA_COLUMN_INT, NULL},
		{"live_bytes", PASTA_COLUMN_INT, "bytes"},
		{"lifetime", PASTA_COLUMN_INT, "ns"},
		{"churn_op", PASTA_COLUMN_INT, "bytes"},
		{"churn_iteration", PASTA_COLUMN_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "sites", columns, 9);
	size_t i;

	for (i = 0; i < rows->count; i++) {
		const struct site *s = &rows->items[i].sum;

		put_name(t, &rows->items[i]);
		pasta_cell_int(t, (int64_t)s->count);
		pasta_cell_int(t, (int64_t)s->bytes);
		pasta_cell_int(t, (int64_t)s->live);
		pasta_cell_int(t, (int64_t)s->live_bytes);
		if (s->freed)
			pasta_cell_int(t, (int64_t)(s->life / s->freed));
		else
			pasta_cell_none(t);
		pasta_cell_int(t, (int64_t)s->in_op);
		pasta_cell_int(t, (int64_t)s->in_iteration);
	}
}

/* What it had when the last iteration began, or more: a program that ends frees all. */
static uint64_t most_live(const struct site *s)
{
	return s->live > s->start ? s->live : s->start;
}

static uint64_t most_bytes(const struct site *s)
{
	return s->live_bytes > s->start_bytes ? s->live_bytes : s->start_bytes;
}

/* A site that has more alive after every iteration: what it keeps is never let go. */
static void find_leak(const struct site *s, const struct name *name, struct pasta_out *out)
{
	uint64_t peak = s->place->peak, bytes = most_bytes(s);
	char what[TEXT], where[2 * TEXT], evidence[TEXT], text[TEXT], process[TEXT];

	snprintf(what, sizeof(what), "tensors of %s are kept, more with every iteration", name->op);
	snprintf(where, sizeof(where), "%s, %s%s%s", place_text(s->place, text),
		 process_text(s->place, process), *name->line ? ", " : "", name->line);
	snprintf(evidence, sizeof(evidence),
		 "alive: %" PRIu64 ", %.3f MiB (%.1f%% of the peak); %" PRIu64
		 " iterations before it was %" PRIu64,
		 most_live(s), (double)bytes / (1 << 20),
		 peak ? 100.0 * (double)bytes / (double)peak : 0.0, s->streak, s->streak_from);
	pasta_out_report(out,
			 .severity = bytes >= peak / 10 ? PASTA_SEVERITY_PROBLEM
							: PASTA_SEVERITY_WARNING,
			 .what = what, .where = where, .evidence = evidence,
			 .action = "let go of what this line makes: detach() or item() what is "
				   "kept for later, empty lists that grow");
}

static int by_live(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = compare(most_bytes(&x->sum), most_bytes(&y->sum));

	return order ? order : by_name(a, b);
}

/* The heaviest come first; a graph that is kept makes hundreds. */
static void find_leaks(const struct tensors *m, const struct rows *rows, struct pasta_out *out)
{
	uint64_t more = 0;
	size_t i, shown = 0;

	for (i = 0; i < rows->count; i++) {
		if (rows->items[i].sum.streak < m->growth)
			continue;
		if (shown++ < LEAKS)
			find_leak(&rows->items[i].sum, &rows->items[i].name, out);
		else
			more++;
	}
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .count = more, .counted = true,
			 .what = "more sites of which more is kept with every iteration");
}

static int report_sites(const struct tensors *m, const struct path **paths, struct pasta_out *out)
{
	struct rows rows = {calloc(pasta_map_count(m->sites) + 1, sizeof(struct row)), 0};
	int error = rows.items ? 0 : -ENOMEM;
	size_t at = 0;
	struct site *s;

	while (!error && (s = pasta_map_next(m->sites, &at, NULL))) {
		struct row *row = new_row(&rows, paths, s);

		roll(s);
		error = row ? 0 : -ENOMEM;
		if (!row)
			break;
		row->sum = *s;
		row->sum.peak = row->sum.peak_bytes = 0;
	}
	if (!error && rows.count) {
		qsort(rows.items, rows.count, sizeof(*rows.items), by_live);
		find_leaks(m, &rows, out);
	}
	if (!error) {
		add_up(&rows);
		put_sites(&rows, out);
	}
	rows_free(&rows);
	return error;
}

static void count_live(struct tensors *m)
{
	const struct pasta_allocation *a;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_LIVE, PASTA_LEVEL_BLOCK, &at))) {
		const struct block *b = a->data;

		if (b->site)
			count_life(m, b, NEVER);
	}
}

static void report_lifetimes(struct tensors *m, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"up_to", PASTA_COLUMN_STRING, NULL},	 {"lifetime", PASTA_COLUMN_STRING, NULL},
		{"allocations", PASTA_COLUMN_INT, NULL}, {"bytes", PASTA_COLUMN_INT, "bytes"},
		{"mean", PASTA_COLUMN_INT, "ns"},
	};
	struct pasta_table *t = pasta_out_table(out, "lifetimes", columns, 5);
	size_t i, k;

	count_live(m);
	for (i = 0; i < SIZES; i++)
		for (k = 0; k < LIVES; k++) {
			const struct life_sum *sum = &m->lives[i][k];

			if (!sum->count)
				continue;
			pasta_cell_str(t, sizes[i].name);
			pasta_cell_str(t, life_names[k]);
			pasta_cell_int(t, (int64_t)sum->count);
			pasta_cell_int(t, (int64_t)sum->bytes);
			if (k >= NEVER)
				pasta_cell_none(t);
			else
				pasta_cell_int(t, (int64_t)(sum->ns / sum->count));
		}
}

/* It has been there for long, and nobody has read or written it for long. Of what was found it is
 * known how long it was there at least. */
static bool is_kept(const struct tensors *m, const struct block *b)
{
	const struct process *p = b->place->process;

	return b->tensor && p->args && p->iterations - b->iteration >= m->kept &&
	       p->iterations - b->touched >= m->untouched && p->iterations;
}

static int add_kept(const struct tensors *m, uint32_t level, struct rows *rows,
		    const struct path **paths)
{
	const struct pasta_allocation *a;
	struct row *row;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_LIVE, level, &at))) {
		const struct block *b = a->data;

		if (!b->place || !is_kept(m, b))
			continue;
		row = new_row(rows, paths, b->site);
		if (!row)
			return -ENOMEM;
		row->sum.count = 1;
		row->sum.bytes = b->bytes;
		row->made = b->site && b->iteration && !b->ageless ? b->made_index + 1 : 0;
		row->touched = b->touched ? b->touched_index + 1 : 0;
	}
	return 0;
}

static size_t count_of(const struct tensors *m, uint32_t level)
{
	size_t at = 0, count = 0;

	while (pasta_ledger_next(m->ledger, PASTA_LEDGER_LIVE, level, &at))
		count++;
	return count;
}

static void put_index(struct pasta_table *t, uint64_t index)
{
	if (index)
		pasta_cell_int(t, (int64_t)(index - 1));
	else
		pasta_cell_none(t);
}

static void put_kept(const struct rows *rows, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"op", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_OP},
		{"line", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_LINE},
		{"blocks", PASTA_COLUMN_INT, NULL},
		{"bytes", PASTA_COLUMN_INT, "bytes"},
		{"made", PASTA_COLUMN_INT, NULL},
		{"touched", PASTA_COLUMN_INT, NULL},
	};
	struct pasta_table *t = pasta_out_table(out, "kept", columns, 6);
	size_t i;

	for (i = 0; i < rows->count; i++) {
		put_name(t, &rows->items[i]);
		pasta_cell_int(t, (int64_t)rows->items[i].sum.count);
		pasta_cell_int(t, (int64_t)rows->items[i].sum.bytes);
		put_index(t, rows->items[i].made);
		put_index(t, rows->items[i].touched);
	}
}

static void find_kept(const struct tensors *m, const struct rows *rows, struct pasta_out *out)
{
	uint64_t count = 0, bytes = 0;
	char evidence[TEXT];
	size_t i;

	for (i = 0; i < rows->count; i++) {
		count += rows->items[i].sum.count;
		bytes += rows->items[i].sum.bytes;
	}
	snprintf(
		evidence, sizeof(evidence),
		"they have %.3f MiB, and are in table kept: no operator had them in the last %" PRIu64
		" iterations",
		(double)bytes / (1 << 20), m->untouched);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = count, .counted = true,
			 .what = "blocks of tensors that are kept and not used",
			 .evidence = evidence);
}

static int report_kept(const struct tensors *m, const struct path **paths, struct pasta_out *out)
{
	size_t room = 1 + count_of(m, PASTA_LEVEL_BLOCK) + count_of(m, PASTA_LEVEL_TENSOR);
	struct rows rows = {calloc(room, sizeof(struct row)), 0};
	int error = rows.items ? 0 : -ENOMEM;

	if (!error)
		error = add_kept(m, PASTA_LEVEL_BLOCK, &rows, paths);
	if (!error)
		error = add_kept(m, PASTA_LEVEL_TENSOR, &rows, paths);
	if (!error && rows.count) {
		add_up(&rows);
		put_kept(&rows, out);
		find_kept(m, &rows, out);
	}
	rows_free(&rows);
	return error;
}

static void report_chart(const struct tensors *m, struct pasta_out *out)
{
	static const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = "allocated",
				.x = {.name = "time", .unit = "ns"},
				.y = {.name = "allocated", .unit = "bytes"});
	struct pasta_chart *c = pasta_out_chart(out, &def);
	char name[2 * TEXT + 2], text[TEXT], process[TEXT];
	size_t i, at = 0;
	struct place *p;

	while ((p = pasta_map_next(m->places, &at, NULL))) {
		if (!p->peak)
			continue;
		snprintf(name, sizeof(name), "%s, %s", place_text(p, text),
			 process_text(p, process));
		pasta_chart_series(c, name);
		bins_fill(p, bin_now(m));
		for (i = 0; i <= bin_now(m); i++)
			pasta_chart_point(c, (double)(i * m->width), (double)p->bins[i]);
		pasta_chart_point(c, (double)(m->now - m->start), (double)p->live);
	}
}

static void report_findings(const struct tensors *m, struct pasta_out *out)
{
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_NOTE, .count = m->found, .counted = true,
		.what = "blocks of tensors that nobody saw allocated",
		.evidence =
			"recording began later: their age is not known, and they are in no sum");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .count = pasta_ledger_unknown_frees(m->ledger, PASTA_LEVEL_BLOCK),
			 .counted = true, .what = "frees of memory that is not known",
			 .evidence = "recording began after it was allocated, or that was dropped");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .count = pasta_ledger_missing_frees(m->ledger, PASTA_LEVEL_BLOCK),
			 .counted = true, .what = "allocations of memory that was not freed",
			 .evidence =
				 "what was there counts as freed by then; its free was dropped");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct tensors *m = state;
	const struct path **paths = m->failed ? NULL : paths_of(m);
	int error;

	if (!paths)
		return -ENOMEM;
	find_peaks(m);
	report_peak(m, out);
	error = report_held(m, paths, out);
	if (!error)
		error = report_sites(m, paths, out);
	if (!error) {
		report_lifetimes(m, out);
		error = report_kept(m, paths, out);
	}
	report_chart(m, out);
	report_findings(m, out);
	free(paths);
	return error;
}

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct tensors, ledger,
		     .levels = PASTA_LEVEL_MASK(TENSOR) | PASTA_LEVEL_MASK(SEGMENT),
		     .peaks = PASTA_LEVEL_MASK(BLOCK), .data_size = sizeof(struct block),
		     .on_alloc = on_alloc, .on_free = on_free, .on_reserved = on_reserved);

static const struct pasta_option options[] = {
	{"kept", "3", "iterations that a tensor must be there to be in table kept",
	 PASTA_OPTION_NUMBER},
	{"untouched", "3", "and the last iterations in which no operator had it",
	 PASTA_OPTION_NUMBER},
	{"growth", "5", "iterations in a row with more tensors alive, of one site, that are a leak",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "tensors", .summary = "memory of tensors: the peak, who allocates, what is kept",
	   .events = PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(TENSOR) |
		     PASTA_MASK(OP_ARG) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) |
		     PASTA_MASK(ITERATION) | PASTA_MASK(COUNTER) | PASTA_MASK(PROCESS),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .state_size = sizeof(struct tensors), .options = options, .open = open_,
	   .event = on_event, .report = report, .close = close_, .charts = PASTA_CHART_MASK(LINE),
	   .ledger = &ledger);
