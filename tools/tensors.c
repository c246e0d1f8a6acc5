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
	uint32_t host, pid; /* 0: not known */
	bool imported;
	bool args;		    /* it says what operators read and write */
	uint64_t iterations;	    /* that have begun */
	uint64_t index;		    /* of the last */
	struct pasta_map *tensors;  /* struct tensor, by id */
	struct pasta_map *storages; /* struct block *, by number */
	struct pasta_map *segments; /* struct segment, by address */
};

struct segment {
	struct place *place;
	uint64_t bytes;
};

/* Where memory is: a device or the host, of one process. */
struct place {
	struct process *process;
	uint32_t proc, device;
	struct pasta_ranges *blocks; /* struct block */
	struct pasta_ranges *found;  /* struct block of one byte, where a tensor's data begin */
	uint64_t live, peak;
	uint64_t reserved, peak_reserved;
	bool segments, reserves; /* reserved is known: from segments, at all */
	uint64_t peak_time, peak_number;
	struct held *gone; /* what was live at the peak and was freed since */
	size_t gone_count, gone_room;
	size_t last; /* the bin of its last event */
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

struct held {
	struct site *site;
	uint64_t bytes;
};

/* An allocation; or memory of a tensor whose allocation nobody saw. */
struct block {
	struct place *place;
	struct site *site; /* NULL: found */
	uint64_t number;   /* from 1, in order of time; 0: found */
	uint64_t addr, bytes, time;
	uint64_t top;		     /* the outermost operator around it, or 0 */
	uint64_t iteration, touched; /* how many had begun; 0: none */
	uint64_t made_index, touched_index;
	uint64_t storage, tensor; /* of its tensors: the storage, the last one's id; 0: none */
	bool ageless; /* it was there before: nothing is said of when it was allocated */
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
	struct pasta_map *processes, *places; /* by number; by number and device */
	struct pasta_map *threads;	      /* by process and tid */
	struct pasta_map *paths;	      /* by number around it and name */
	struct pasta_map *scopes;	      /* uint32_t: path's number, by scope's id */
	struct pasta_map *sites;	      /* by hash, or the next number that is free */
	struct life_sum lives[SIZES][LIVES];
	uint64_t start, now, width; /* of time, and of a bin */
	uint64_t numbers, tops;
	uint64_t unknown, again, found;
	uint64_t kept, untouched, growth; /* options: iterations */
	bool started, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
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
	struct place *place;
	size_t at = 0;

	while (m->processes && (process = pasta_map_next(m->processes, &at, NULL))) {
		pasta_map_free(process->tensors);
		pasta_map_free(process->storages);
		pasta_map_free(process->segments);
	}
	at = 0;
	while (m->places && (place = pasta_map_next(m->places, &at, NULL))) {
		pasta_ranges_free(place->blocks);
		pasta_ranges_free(place->found);
		free(place->gone);
	}
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

static void change(const struct tensors *m, struct place *p, uint64_t live)
{
	bins_fill(p, bin_now(m));
	p->live = live;
	if (live > p->bins[p->last])
		p->bins[p->last] = live;
}

/* -- Who and where. Where memory runs out, failed is set, and the report will say so. -- */

static struct process *process_of(struct tensors *m, uint32_t proc)
{
	struct process *p = pasta_map_add(m->processes, proc);

	if (p && !p->tensors)
		p->tensors = pasta_map_new(sizeof(struct tensor));
	if (p && !p->storages)
		p->storages = pasta_map_new(sizeof(struct block *));
	if (p && !p->segments)
		p->segments = pasta_map_new(sizeof(struct segment));
	if (p && p->tensors && p->storages && p->segments)
		return p;
	m->failed = true;
	return NULL;
}

static struct place *place_of(struct tensors *m, uint32_t proc, uint32_t device)
{
	struct process *process = process_of(m, proc);
	struct place *p = process ? pasta_map_add(m->places, pasta_pair(proc, device)) : NULL;

	if (p && !p->blocks) {
		p->process = process;
		p->proc = proc;
		p->device = device;
		p->blocks = pasta_ranges_new(sizeof(struct block));
	}
	if (p && !p->found)
		p->found = pasta_ranges_new(sizeof(struct block));
	if (p && p->blocks && p->found)
		return p;
	m->failed = true;
	return NULL;
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

/* The peak's set is what is live now and is not younger than the peak, and what was so when it was
 * freed. A new peak forgets the latter. */
static void keep_gone(struct tensors *m, struct place *p, const struct block *b)
{
	if (b->number > p->peak_number)
		return;
	if (p->gone_count == p->gone_room) {
		size_t room = p->gone_room ? 2 * p->gone_room : 16;
		struct held *gone = realloc(p->gone, room * sizeof(*gone));

		if (!gone) {
			m->failed = true;
			return;
		}
		p->gone = gone;
		p->gone_room = room;
	}
	p->gone[p->gone_count++] = (struct held){b->site, b->bytes};
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
	if (b->storage)
		pasta_map_remove(p->storages, b->storage);
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
static void release(struct tensors *m, struct block *b, const struct thread *thread)
{
	enum life life = life_of(b, thread);
	struct place *p = b->place;
	struct site *s = b->site;

	roll(s);
	keep_gone(m, p, b);
	forget_tensors(b);
	count_life(m, b, life);
	s->freed += !b->ageless;
	s->life += b->ageless ? 0 : m->now - b->time;
	s->live--;
	s->live_bytes -= b->bytes;
	s->in_op += life == IN_OP ? b->bytes : 0;
	s->in_iteration += life == IN_ITERATION ? b->bytes : 0;
	change(m, p, p->live - b->bytes);
	pasta_ranges_remove(p->blocks, b->addr);
}

/* What was found there is gone, whoever freed it. */
static void lose_found(struct place *p, uint64_t addr, uint64_t bytes)
{
	uint64_t begin, size, end = addr + bytes > addr ? addr + bytes : UINT64_MAX;
	struct block *b;

	while (pasta_ranges_count(p->found) &&
	       (b = pasta_ranges_next(p->found, addr, &begin, &size)) && begin < end) {
		forget_tensors(b);
		pasta_ranges_remove(p->found, begin);
	}
}

static void raise(struct tensors *m, const struct block *b)
{
	struct place *p = b->place;

	roll(b->site);
	b->site->count++;
	b->site->bytes += b->bytes;
	b->site->live++;
	b->site->live_bytes += b->bytes;
	change(m, p, p->live + b->bytes);
	if (p->live <= p->peak)
		return;
	p->peak = p->live;
	p->peak_time = m->now;
	p->peak_number = b->number;
	p->peak_reserved = p->reserved;
	p->gone_count = 0;
}

/* -- Events. -- */

static void allocate(struct tensors *m, const struct pasta_event *ev, struct place *p)
{
	uint64_t addr = ev->alloc.addr, room = ev->alloc.bytes ? ev->alloc.bytes : 1, begin, size;
	struct site *site = site_of(m, p, ev);
	const struct thread *thread = thread_of(m, ev);
	struct block *b;

	if (!site || !thread)
		return;
	lose_found(p, addr, room);
	while ((b = pasta_ranges_next(p->blocks, addr, &begin, &size)) &&
	       (begin <= addr || begin - addr < room)) {
		m->again++;
		release(m, b, NULL);
	}
	b = pasta_ranges_add(p->blocks, addr, room, NULL);
	if (!b) {
		m->failed |= addr + room > addr;
		return;
	}
	*b = (struct block){.place = p,
			    .site = site,
			    .number = ++m->numbers,
			    .addr = addr,
			    .bytes = ev->alloc.bytes,
			    .time = m->now,
			    .top = thread->top,
			    .iteration = p->process->iterations,
			    .made_index = p->process->index,
			    .ageless = ev->alloc.flags & PASTA_ALLOC_EARLIER};
	raise(m, b);
}

/* Reserved memory is known better than before, also that of a peak at this moment. */
static void reserve(const struct tensors *m, struct place *p, uint64_t bytes)
{
	p->reserves = true;
	p->reserved = bytes;
	if (p->peak && p->peak_time == m->now && p->live == p->peak)
		p->peak_reserved = bytes;
}

static void on_segment(struct tensors *m, const struct pasta_event *ev, struct place *p)
{
	struct segment *s = pasta_map_add(p->process->segments, ev->alloc.addr);

	if (!s) {
		m->failed = true;
		return;
	}
	p->reserved = p->segments ? p->reserved : 0;
	p->segments = true;
	if (s->place)
		s->place->reserved -= s->bytes;
	*s = (struct segment){p, ev->alloc.bytes};
	reserve(m, p, p->reserved + s->bytes);
}

/* Memory of tensors, as their allocator gives it out; in imported traces it is all that there is.
 */
static bool is_tensors(const struct process *p, const struct pasta_event *ev)
{
	if (ev->sub == PASTA_ALLOC_POOL || p->imported)
		return true;
	return ev->sub == PASTA_ALLOC_HOST && !strcmp(pasta_str(ev->alloc.name), "torch");
}

static void on_alloc(struct tensors *m, const struct pasta_event *ev)
{
	bool host = ev->sub == PASTA_ALLOC_HOST;
	const struct process *process = process_of(m, ev->proc);
	struct place *p;

	if (!process || (ev->sub != PASTA_ALLOC_SEGMENT && !is_tensors(process, ev)))
		return;
	p = place_of(m, ev->proc, host ? HOST : ev->alloc.device);
	if (p && ev->sub == PASTA_ALLOC_SEGMENT)
		on_segment(m, ev, p);
	else if (p)
		allocate(m, ev, p);
}

static void free_segment(struct process *process, uint64_t addr)
{
	const struct segment *s = pasta_map_find(process->segments, addr);

	if (!s)
		return;
	s->place->reserved -= s->bytes;
	pasta_map_remove(process->segments, addr);
}

/* What it may be the end of: a driver frees, at the same address, what the allocator gave back. */
static bool may_be_tensors(const struct process *p, const struct pasta_event *ev)
{
	return p->imported || !ev->sub || ev->sub == PASTA_ALLOC_POOL ||
	       ev->sub == PASTA_ALLOC_HOST;
}

static void on_free(struct tensors *m, const struct pasta_event *ev)
{
	bool host = ev->sub == PASTA_ALLOC_HOST || ev->free.device == HOST;
	struct process *process = process_of(m, ev->proc);
	struct place *p =
		pasta_map_find(m->places, pasta_pair(ev->proc, host ? HOST : ev->free.device));
	const struct thread *thread = thread_of(m, ev);
	uint64_t begin;
	struct block *b;

	if (process && ev->sub == PASTA_ALLOC_SEGMENT)
		free_segment(process, ev->free.addr);
	if (!process || !may_be_tensors(process, ev))
		return;
	b = p ? pasta_ranges_find(p->blocks, ev->free.addr, &begin, NULL) : NULL;
	if (b && begin == ev->free.addr) {
		release(m, b, thread);
		return;
	}
	/* Memory of others is freed, too; only of the allocator's is it known that it is a
	 * tensor's.
	 */
	m->unknown += ev->sub == PASTA_ALLOC_POOL || process->imported;
	if (p)
		lose_found(p, ev->free.addr, ev->free.bytes ? ev->free.bytes : 1);
}

/* Nobody saw it allocated. Its address is that of its data, wherever they are in the storage. */
static struct block *find_block(struct tensors *m, const struct pasta_event *ev, struct place *p)
{
	struct block *b;

	lose_found(p, ev->tensor.addr, 1);
	b = pasta_ranges_add(p->found, ev->tensor.addr, 1, NULL);
	if (!b) {
		m->failed = true;
		return NULL;
	}
	m->found++;
	*b = (struct block){.place = p,
			    .addr = ev->tensor.addr,
			    .bytes = ev->tensor.bytes,
			    .iteration = p->process->iterations};
	return b;
}

static struct block *block_of(struct tensors *m, const struct pasta_event *ev, struct place *p)
{
	struct block **known = pasta_map_find(p->process->storages, ev->tensor.storage), *b;

	if (known)
		return *known;
	b = pasta_ranges_find(p->blocks, ev->tensor.addr, NULL, NULL);
	b = b ? b : find_block(m, ev, p);
	if (!b || !ev->tensor.storage)
		return b;
	known = pasta_map_add(p->process->storages, ev->tensor.storage);
	m->failed |= !known;
	if (known)
		*known = b;
	if (b->storage && b->storage != ev->tensor.storage)
		pasta_map_remove(p->process->storages, b->storage);
	b->storage = ev->tensor.storage;
	return b;
}

static void touch(struct block *b)
{
	b->touched = b->place->process->iterations;
	b->touched_index = b->place->process->index;
}

static void on_tensor(struct tensors *m, const struct pasta_event *ev)
{
	uint32_t device = ev->tensor.device ? ev->tensor.device - 1 : HOST;
	struct place *p = ev->tensor.addr ? place_of(m, ev->proc, device) : NULL;
	struct block *b = p ? block_of(m, ev, p) : NULL;
	struct tensor *t = NULL;

	if (!b)
		return;
	if (ev->tensor.id) { /* 0 ends a block's list */
		t = pasta_map_add(p->process->tensors, ev->tensor.id);
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

static void on_counter(struct tensors *m, const struct pasta_event *ev)
{
	struct place *p;

	if (strcmp(pasta_str(ev->counter.name), "reserved") || !(ev->counter.value >= 0))
		return;
	p = place_of(m, ev->proc, ev->counter.device);
	if (p && !p->segments)
		reserve(m, p, (uint64_t)ev->counter.value);
}

static void on_op(struct tensors *m, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(m, ev);

	if (!thread)
		return;
	if (ev->kind == PASTA_OP_BEGIN && !thread->depth++)
		thread->top = ++m->tops;
	else if (ev->kind == PASTA_OP_END && thread->depth && !--thread->depth)
		thread->top = 0;
}

static void on_process(struct tensors *m, const struct pasta_event *ev)
{
	struct process *p = process_of(m, ev->proc);

	if (!p)
		return;
	p->host = ev->process.host;
	p->pid = ev->process.pid;
	p->imported = ev->process.source;
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
static void on_event(void *state, const struct pasta_event *ev)
{
	static void (*const on[PASTA_KINDS_MAX])(struct tensors *, const struct pasta_event *) = {
		[PASTA_ALLOC] = on_alloc,	  [PASTA_FREE] = on_free,
		[PASTA_TENSOR] = on_tensor,	  [PASTA_OP_ARG] = on_arg,
		[PASTA_OP_BEGIN] = on_op,	  [PASTA_OP_END] = on_op,
		[PASTA_ITERATION] = on_iteration, [PASTA_COUNTER] = on_counter,
		[PASTA_PROCESS] = on_process,
	};
	struct tensors *m = state;

	if (m->failed)
		return;
	tick(m, ev->time);
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
	uint64_t addr, begin, size;
	const struct place *p;
	struct block *b;
	size_t i, at = 0;

	while ((p = pasta_map_next(m->places, &at, NULL))) {
		for (addr = 0; (b = pasta_ranges_next(p->blocks, addr, &begin, &size));
		     addr = begin + size) {
			if (b->number > p->peak_number)
				continue;
			b->site->peak++;
			b->site->peak_bytes += b->bytes;
		}
		for (i = 0; i < p->gone_count; i++) {
			p->gone[i].site->peak++;
			p->gone[i].site->peak_bytes += p->gone[i].bytes;
		}
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
		{"memory", PASTA_STRING, NULL},	     {"process", PASTA_STRING, NULL},
		{"peak", PASTA_INT, "bytes"},	     {"peak_at", PASTA_INT, "ns"},
		{"reserved", PASTA_INT, "bytes"},    {"fragmentation", PASTA_INT, "bytes"},
		{"live_at_end", PASTA_INT, "bytes"},
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
		if (p->reserves && p->peak_reserved) {
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
		{"memory", PASTA_STRING, NULL},	  {"process", PASTA_STRING, NULL},
		{"op", PASTA_STRING, NULL},	  {"line", PASTA_STRING, NULL},
		{"allocations", PASTA_INT, NULL}, {"bytes", PASTA_INT, "bytes"},
		{"share", PASTA_FLOAT, "%"},
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
		{"op", PASTA_STRING, NULL},
		{"line", PASTA_STRING, NULL},
		{"allocations", PASTA_INT, NULL},
		{"bytes", PASTA_INT, "bytes"},
		{"live", PASTA_INT, NULL},
		{"live_bytes", PASTA_INT, "bytes"},
		{"lifetime", PASTA_INT, "ns"},
		{"churn_op", PASTA_INT, "bytes"},
		{"churn_iteration", PASTA_INT, "bytes"},
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
	pasta_out_finding(
		out, &(struct pasta_finding){
			     .severity = bytes >= peak / 10 ? PASTA_PROBLEM : PASTA_WARNING,
			     .what = what,
			     .where = where,
			     .evidence = evidence,
			     .action = "let go of what this line makes: detach() or item() what is "
				       "kept for later, empty lists that grow"});
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
	pasta_out_count(out, PASTA_WARNING, more,
			"more sites of which more is kept with every iteration", NULL, NULL);
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
	uint64_t addr, begin, size;
	const struct place *p;
	const struct block *b;
	size_t at = 0;

	while ((p = pasta_map_next(m->places, &at, NULL)))
		for (addr = 0; (b = pasta_ranges_next(p->blocks, addr, &begin, &size));
		     addr = begin + size)
			count_life(m, b, NEVER);
}

static void report_lifetimes(struct tensors *m, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"up_to", PASTA_STRING, NULL},	  {"lifetime", PASTA_STRING, NULL},
		{"allocations", PASTA_INT, NULL}, {"bytes", PASTA_INT, "bytes"},
		{"mean", PASTA_INT, "ns"},
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

static int add_kept(const struct tensors *m, const struct pasta_ranges *blocks, struct rows *rows,
		    const struct path **paths)
{
	uint64_t addr, begin, size;
	const struct block *b;
	struct row *row;

	for (addr = 0; (b = pasta_ranges_next(blocks, addr, &begin, &size)); addr = begin + size) {
		if (!is_kept(m, b))
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
		{"op", PASTA_STRING, NULL},  {"line", PASTA_STRING, NULL},
		{"blocks", PASTA_INT, NULL}, {"bytes", PASTA_INT, "bytes"},
		{"made", PASTA_INT, NULL},   {"touched", PASTA_INT, NULL},
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
	pasta_out_count(out, PASTA_NOTE, count, "blocks of tensors that are kept and not used",
			evidence, NULL);
}

static int report_kept(const struct tensors *m, const struct path **paths, struct pasta_out *out)
{
	const struct place *p;
	size_t at = 0, room = 1;
	struct rows rows = {0};
	int error;

	while ((p = pasta_map_next(m->places, &at, NULL)))
		room += pasta_ranges_count(p->blocks) + pasta_ranges_count(p->found);
	rows.items = calloc(room, sizeof(*rows.items));
	error = rows.items ? 0 : -ENOMEM;
	at = 0;
	while (!error && (p = pasta_map_next(m->places, &at, NULL))) {
		error = add_kept(m, p->blocks, &rows, paths);
		if (!error)
			error = add_kept(m, p->found, &rows, paths);
	}
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
	static const struct pasta_axis time = {"time", "ns"}, bytes = {"allocated", "bytes"};
	struct pasta_chart *c = pasta_out_chart(out, "allocated", PASTA_CHART_LINE, &time, &bytes);
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
	pasta_out_count(out, PASTA_NOTE, m->found, "blocks of tensors that nobody saw allocated",
			"recording began later: their age is not known, and they are in no sum",
			NULL);
	pasta_out_count(out, PASTA_NOTE, m->unknown, "frees of memory that is not known",
			"recording began after it was allocated, or that was dropped", NULL);
	pasta_out_count(out, PASTA_WARNING, m->again, "allocations of memory that was not freed",
			"what was there counts as freed by then; its free was dropped", NULL);
}

static int report(void *state, struct pasta_out *out)
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
	   .events = PASTA_BIT(ALLOC) | PASTA_BIT(FREE) | PASTA_BIT(TENSOR) | PASTA_BIT(OP_ARG) |
		     PASTA_BIT(OP_BEGIN) | PASTA_BIT(OP_END) | PASTA_BIT(ITERATION) |
		     PASTA_BIT(COUNTER) | PASTA_BIT(PROCESS),
	   .needs = PASTA_NEED_WHERE | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .state_size = sizeof(struct tensors), .options = options, .open = open_,
	   .event = on_event, .report = report, .close = close_, .charts = PASTA_BIT(CHART_LINE));
