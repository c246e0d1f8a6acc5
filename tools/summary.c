/* summary - a run on one screen: what ran where, how busy the devices were, what took the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <pasta/pasta.h>

/* A screen has 25 lines: a title, heads, a blank and the account are 4, and any tool's report may
 * have up to 4 notes. */
#define ROWS 17
#define WAITING (1 << 16) /* collectives that wait for their kernels */
#define TEXT 300
#define FILL (PASTA_COPY_UNMAP + 1) /* a direction of copies: fills */

/* The parts of the table, in their order: at most so many rows, and the numbers that they have. */
enum { PROCESSES, DEVICES, KERNELS, OPS, REGIONS, COPIES, COLLECTIVES, EXPOSED, MEMORY, PARTS };
enum { CALLS = 1, TIME = 2, BYTES = 4 };

static const struct {
	const char *what;
	uint32_t most, has;
} parts[PARTS] = {
	[PROCESSES] = {"process", 2, TIME},
	[DEVICES] = {"device", 4, CALLS | TIME},
	[KERNELS] = {"kernel", 5, CALLS | TIME},
	[OPS] = {"op", 4, CALLS | TIME},
	[REGIONS] = {"region", 3, CALLS | TIME},
	[COPIES] = {"copy", 3, CALLS | TIME | BYTES},
	[COLLECTIVES] = {"communication", 1, CALLS | TIME | BYTES},
	[EXPOSED] = {"communication", 1, TIME},
	[MEMORY] = {"memory", 3, BYTES},
};

/* A row of the table. Those from KERNELS to COLLECTIVES are counted, the others made at the end. */
struct line {
	struct {
		uint32_t part, id; /* a name, a region's scope, a direction; or the position */
	} key;
	uint32_t name, scope;
	uint64_t calls, time, bytes;
	uint64_t device; /* ns of an operator's own kernels; time is that of outermost ones */
	struct line *op; /* of a kernel: the operator that it was last of */
	const void *of;	 /* the process or the place; NULL: several */
	uint32_t devices;
	bool shown;
};

struct process {
	struct {
		uint32_t number;
	} key;
	uint32_t world;	     /* ranks of its job; 0: not known */
	uint64_t begin, end; /* of what it did */
	uint32_t did;
	uint64_t open;	 /* operators whose end is missing */
	uint64_t failed; /* collectives that found no memory */
};

enum place_flags { KNOWN = 1, USED = 2, WORKED = 4, COUNTED = 8 };

/* A device, as one process uses it. */
struct place {
	struct {
		uint32_t proc, device;
	} key;
	uint32_t flags;
	uint32_t name, vendor, arch; /* if KNOWN */
	uint64_t memory, kernels;
	uint64_t allocated;	  /* if COUNTED: the most that a counter had */
	struct pasta_cover cover; /* the second type is collectives */
};

struct thread {
	struct {
		uint32_t proc, tid;
	} key;
	uint64_t op;		   /* when its outermost operator began */
	struct pasta_list regions; /* when they began, the outermost first */
};

struct summary {
	struct pasta_ledger *ledger;
	struct pasta_group *lines, *processes, *places, *threads;
	struct pasta_pending *collectives; /* uint64_t: their times */
	struct process *process;	   /* of the last event */
	struct place *place;
	struct thread *thread;
	uint32_t allocated, other; /* names of counters: the one that counts, or not */
	/* In the report: the run's time; how many processes did something, and devices worked or
	 * were used; whether operators have times of their kernels. */
	uint64_t span, did, worked, used;
	bool by_device;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct summary *s = state;

	s->collectives = pasta_pending_new(sizeof(uint64_t), WAITING);
	return s->collectives ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_pending_free(((struct summary *)state)->collectives);
}

/* -- Collecting -- */

static struct process *process_of(struct summary *s, uint32_t proc)
{
	if (!s->process || s->process->key.number != proc)
		s->process = PASTA_ROW(s->processes, struct process, proc);
	return s->process;
}

/* Work has a time. Descriptions of processes and devices, and allocations, have none: they are the
 * same whatever part of the run is shown. */
static struct process *did(struct summary *s, const struct pasta_event *ev, uint64_t dur)
{
	uint64_t end = ev->time + dur < dur ? UINT64_MAX : ev->time + dur;
	struct process *p = process_of(s, ev->proc);

	p->begin = !p->did || ev->time < p->begin ? ev->time : p->begin;
	p->end = end > p->end ? end : p->end;
	p->did = 1;
	return p;
}

static struct place *use(struct summary *s, uint32_t proc, uint32_t device, uint32_t flags)
{
	if (!s->place || s->place->key.proc != proc || s->place->key.device != device)
		s->place = PASTA_ROW(s->places, struct place, proc, device);
	s->place->flags |= USED | flags;
	return s->place;
}

static struct thread *thread_of(struct summary *s, const struct pasta_event *ev)
{
	if (!s->thread || s->thread->key.proc != ev->proc || s->thread->key.tid != ev->tid)
		s->thread = PASTA_ROW(s->threads, struct thread, ev->proc, ev->tid);
	return s->thread;
}

static struct line *line_of(const struct summary *s, uint32_t part, uint32_t id, uint32_t name)
{
	struct line *l = PASTA_ROW(s->lines, struct line, part, id);

	l->name = name;
	return l;
}

static void add(struct line *l, uint64_t time, uint64_t bytes)
{
	l->calls++;
	l->time += time;
	l->bytes += bytes;
}

static void on_kernel(struct summary *s, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	const struct pasta_scope *scope = where->scope;
	struct place *place = use(s, ev->proc, ev->kernel.device, WORKED);
	struct line *l = line_of(s, KERNELS, ev->kernel.name, ev->kernel.name);
	bool collective = pasta_collective_find(s->collectives, ev);

	did(s, ev, ev->kernel.dur);
	place->kernels++;
	pasta_cover_add(&place->cover, collective, ev->time, ev->kernel.dur);
	add(l, ev->kernel.dur, 0);
	if (scope && scope->op) {
		if (!l->op || l->op->name != scope->op->name)
			l->op = line_of(s, OPS, scope->op->name, scope->op->name);
		l->op->device += ev->kernel.dur;
	}
	if (collective)
		pasta_collective_done(s->collectives, ev);
}

static void on_copy(struct summary *s, const struct pasta_event *ev,
		    const struct pasta_where *where)
{
	bool set = ev->kind == PASTA_KIND_SET;
	uint64_t dur = set ? ev->set.dur : ev->copy.dur;

	did(s, ev, dur);
	use(s, ev->proc, set ? ev->set.device : ev->copy.device, WORKED);
	add(line_of(s, COPIES,
		    set		     ? FILL
		    : ev->sub < FILL ? ev->sub
				     : 0,
		    0),
	    dur, set ? ev->set.bytes : ev->copy.bytes);
}

/* It waits for the kernel that does it, which may be none. */
static void on_collective(struct summary *s, const struct pasta_event *ev,
			  const struct pasta_where *where)
{
	did(s, ev, 0)->failed += !pasta_collective_wait(s->collectives, ev);
	add(line_of(s, COLLECTIVES, 0, 0), 0, ev->collective.bytes_in);
}

static void on_op(struct summary *s, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_scope *scope = where->scope;
	const struct pasta_scope *op = scope ? scope->op : NULL;
	struct process *p = did(s, ev, 0);
	struct thread *outermost = NULL;

	if (op && (!op->up || !op->up->op))
		outermost = thread_of(s, ev);
	if (ev->kind == PASTA_KIND_OP_BEGIN && outermost)
		outermost->op = ev->time;
	if (ev->kind == PASTA_KIND_OP_BEGIN)
		return;
	/* When an operator ended whose end is missing is not known. */
	if (ev->sub == PASTA_OP_END_SUPPLIED)
		p->open++;
	else if (op)
		add(line_of(s, OPS, op->name, op->name),
		    outermost && ev->time > outermost->op ? ev->time - outermost->op : 0, 0);
}

static void on_region(struct summary *s, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	const struct pasta_scope *scope = where->scope;
	struct pasta_list *begun = &thread_of(s, ev)->regions;

	did(s, ev, 0);
	if (ev->sub == PASTA_REGION_BEGIN) {
		*(uint64_t *)pasta_group_append(s->threads, begun, sizeof(uint64_t)) = ev->time;
	} else if (ev->sub == PASTA_REGION_END && begun->count && scope && scope->region) {
		uint64_t begin = ((const uint64_t *)begun->items)[--begun->count];
		const struct pasta_scope *r = scope->region;
		struct line *l = line_of(s, REGIONS, r->id, r->name);

		l->scope = r->id;
		add(l, ev->time > begin ? ev->time - begin : 0, 0);
	}
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	if (device != PASTA_HOST)
		use(state, ev->proc, device, 0);
}

static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		     const struct pasta_where *where)
{
	on_reserved(state, a->device, ev, where);
}

static bool is_allocated(struct summary *s, uint32_t name)
{
	if (name != s->allocated && name != s->other)
		*(strcmp(pasta_str(name), "allocated") ? &s->other : &s->allocated) = name;
	return name && name == s->allocated;
}

static void on_counter(struct summary *s, const struct pasta_event *ev,
		       const struct pasta_where *where)
{
	double value = ev->counter.value;
	uint64_t bytes = !(value > 0) ? 0 : value < 0x1p63 ? (uint64_t)value : INT64_MAX;
	struct place *place;

	did(s, ev, 0);
	if (ev->counter.device == PASTA_HOST || !is_allocated(s, ev->counter.name))
		return;
	place = use(s, ev->proc, ev->counter.device, COUNTED);
	place->allocated = bytes > place->allocated ? bytes : place->allocated;
}

static void on_device(struct summary *s, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	const struct pasta_device_record *r = &ev->device;
	struct place *place = PASTA_ROW(s->places, struct place, ev->proc, r->id);

	process_of(s, ev->proc);
	place->flags |= KNOWN;
	place->name = r->name;
	place->vendor = r->vendor;
	place->arch = r->arch;
	place->memory = r->memory;
}

static void on_process(struct summary *s, const struct pasta_event *ev,
		       const struct pasta_where *where)
{
	process_of(s, ev->proc)->world = ev->process.world;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	static void (*const on[])(struct summary * s, const struct pasta_event *ev,
				  const struct pasta_where *where) = {
		[PASTA_KIND_PROCESS] = on_process, [PASTA_KIND_DEVICE] = on_device,
		[PASTA_KIND_KERNEL] = on_kernel,   [PASTA_KIND_COPY] = on_copy,
		[PASTA_KIND_SET] = on_copy,	   [PASTA_KIND_COLLECTIVE] = on_collective,
		[PASTA_KIND_OP_BEGIN] = on_op,	   [PASTA_KIND_OP_END] = on_op,
		[PASTA_KIND_REGION] = on_region,   [PASTA_KIND_COUNTER] = on_counter,
	};

	on[ev->kind](state, ev, where);
}

/* -- Names -- */

/* "python train.py, host-4711, rank 3 of 8", or as much as is known. */
static const char *process_name(const struct process *p, char *text, size_t size)
{
	const struct pasta_process_info *info = pasta_process(p->key.number);
	char pid[TEXT] = "", rank[TEXT] = "", world[TEXT] = "";

	if (info->pid)
		pasta_process_text(info->host, info->pid, info->proc, pid, sizeof(pid));
	if (info->rank != PASTA_NO_RANK)
		snprintf(rank, sizeof(rank), "rank %u", info->rank);
	if (*rank && p->world)
		snprintf(world, sizeof(world), " of %u", p->world);
	snprintf(text, size, "%s%s%s%s%s%s", info->command,
		 *info->command && (*pid || *rank) ? ", " : "", pid, *pid && *rank ? ", " : "",
		 rank, world);
	return *text ? text : info->text;
}

/* "16 processes, 8 of 8 ranks": of how many, where all processes report the same. */
static const char *processes_name(const struct summary *s, char *text, size_t size)
{
	uint32_t rank = PASTA_NO_RANK, world = 0;
	const struct pasta_process_info *info;
	size_t at = 0, ranks = 0, count = 0;
	const struct process *p;
	char all[TEXT] = "";

	while ((info = pasta_process_next(&at)))
		if (info->rank != PASTA_NO_RANK && pasta_group_find(s->processes, &info->proc)) {
			ranks += info->rank != rank;
			rank = info->rank;
		}
	for (at = 0; (p = pasta_group_next(s->processes, &at)); count++)
		world = !count || world == p->world ? p->world : 0;
	if (world)
		snprintf(all, sizeof(all), " of %u", world);
	snprintf(text, size, ranks ? "%zu processes, %zu%s ranks" : "%zu processes", count, ranks,
		 all);
	return text;
}

/* A device that no event describes has the name of the process's others, if they are all alike. */
static uint32_t device_name(const struct summary *s, const struct place *place)
{
	const struct place *first = place->flags & KNOWN ? place : NULL, *p;
	size_t at = 0;

	while (first != place && (p = pasta_group_next(s->places, &at))) {
		if (p->key.proc != place->key.proc || !(p->flags & KNOWN))
			continue;
		first = first ? first : p;
		if (p->name != first->name || p->vendor != first->vendor || p->arch != first->arch)
			return 0;
	}
	return first ? first->name : 0;
}

/* "NVIDIA H100, device 1, rank 3": the number and the process where there are several. */
static const char *place_name(const struct summary *s, const struct place *p, char *text,
			      size_t size)
{
	const struct pasta_process_info *info = pasta_process(p->key.proc);
	char number[TEXT] = "", process[TEXT] = "";
	uint32_t name = device_name(s, p);

	if (!name || s->used > 1)
		snprintf(number, sizeof(number), "%sdevice %u", name ? ", " : "", p->key.device);
	if (pasta_group_count(s->processes) > 1 && info->rank != PASTA_NO_RANK)
		snprintf(process, sizeof(process), ", rank %u", info->rank);
	else if (pasta_group_count(s->processes) > 1)
		snprintf(process, sizeof(process), ", %s", info->text);
	snprintf(text, size, "%s%s%s", pasta_str(name), number, process);
	return text;
}

/* "NVIDIA H100, 4.3% of its memory", where it is known how much it has. */
static const char *memory_name(const struct summary *s, const struct line *l, char *text,
			       size_t size)
{
	const struct place *p = l->of;
	size_t n = strlen(place_name(s, p, text, size));

	if (p->memory)
		snprintf(text + n, size - n, ", %.1f%% of its memory",
			 100.0 * (double)l->bytes / (double)p->memory);
	return text;
}

static const char *line_what(const void *row, const void *state, char *text, size_t size)
{
	return parts[((const struct line *)row)->key.part].what;
}

/* Only rows that are shown need one. */
static const char *line_name(const void *row, const void *state, char *text, size_t size)
{
	const struct line *l = row;

	if (!l->shown)
		return NULL;
	switch (l->key.part) {
	case PROCESSES:
		return l->of ? process_name(l->of, text, size) : processes_name(state, text, size);
	case DEVICES:
		snprintf(text, size, "and %u more devices", l->devices);
		return l->of ? place_name(state, l->of, text, size) : text;
	case REGIONS:
		return pasta_scope_regions(pasta_scope_find(l->scope), text, size);
	case COPIES:
		return l->key.id == FILL ? "set" : pasta_subtype_name(PASTA_KIND_COPY, l->key.id);
	case COLLECTIVES:
		return "collectives";
	case EXPOSED:
		return "exposed";
	case MEMORY:
		return l->of ? memory_name(state, l, text, size) : pasta_level_text(l->key.id);
	default:
		return pasta_name(l->name);
	}
}

/* -- The table -- */

static bool has_calls(const void *row, const void *state)
{
	return parts[((const struct line *)row)->key.part].has & CALLS;
}

static bool has_time(const void *row, const void *state)
{
	return parts[((const struct line *)row)->key.part].has & TIME;
}

static bool has_bytes(const void *row, const void *state)
{
	return parts[((const struct line *)row)->key.part].has & BYTES;
}

/* In percent of the run's time, times as many processes or devices as the row is about. */
static double line_share(const void *row, const void *state)
{
	const struct summary *s = state;
	const struct line *l = row;
	bool host = l->key.part == REGIONS || (l->key.part == OPS && !s->by_device);
	uint64_t times = l->key.part == PROCESSES ? 1
			 : l->key.part == DEVICES ? l->devices
			 : host			  ? s->did
						  : s->worked;
	double whole = (double)s->span * (double)times;

	return whole > 0 ? 100.0 * (double)l->time / whole : NAN;
}

/* What is counted is ordered by its numbers, all else as it was added. */
static int64_t line_place(const void *row, const void *state)
{
	const struct line *l = row;

	return l->key.part >= KERNELS && l->key.part <= COPIES ? 0 : l->key.id;
}

static bool line_shown(const void *row, const void *state)
{
	return ((const struct line *)row)->shown;
}

static int64_t place_busy(const void *row, const void *state)
{
	const uint64_t *time = ((const struct place *)row)->cover.time;

	return (int64_t)(time[1] + time[2] + time[3]);
}

#define HIDDEN(TYPE, row, member, name)                                                            \
	PASTA_MEMBER(TYPE, row, member, .column = name, .flags = PASTA_MEMBER_HIDDEN)

static const struct pasta_member line_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = line_what, .column = "what"),
	PASTA_MEMBER_BY(TEXT, .text = line_name, .column = "name"),
	PASTA_MEMBER(SUM, struct line, calls, .column = "calls", .has = has_calls),
	PASTA_MEMBER(SUM, struct line, time, .column = "time", .unit = "ns", .has = has_time),
	PASTA_MEMBER_BY(RATIO, .ratio = line_share, .column = "of_run", .unit = "%",
			.has = has_time),
	PASTA_MEMBER(SUM, struct line, bytes, .column = "bytes", .unit = "bytes", .has = has_bytes),
	PASTA_MEMBER_BY(CALL, .call = line_place, .column = "place", .flags = PASTA_MEMBER_HIDDEN),
	HIDDEN(SUM, struct line, device, "device"),
	HIDDEN(U32, struct line, key.part, "part"),
	HIDDEN(U32, struct line, key.id, "id"),
	HIDDEN(NAME, struct line, name, "text"),
	HIDDEN(SCOPE, struct line, scope, "path"),
	{0},
};

static const struct pasta_member process_members[] = {
	PASTA_MEMBER(PROCESS, struct process, key.number),
	PASTA_MEMBER(U32, struct process, world),
	PASTA_MEMBER(U64, struct process, begin),
	PASTA_MEMBER(U64, struct process, end),
	PASTA_MEMBER(U32, struct process, did),
	PASTA_MEMBER(SUM, struct process, open),
	PASTA_MEMBER(SUM, struct process, failed),
	{0},
};

static const struct pasta_member place_members[] = {
	HIDDEN(U32, struct place, key.proc, "proc"),
	HIDDEN(U32, struct place, key.device, "device"),
	PASTA_MEMBER(U32, struct place, flags),
	PASTA_MEMBER(NAME, struct place, name),
	PASTA_MEMBER(NAME, struct place, vendor),
	PASTA_MEMBER(NAME, struct place, arch),
	PASTA_MEMBER(U64, struct place, memory),
	HIDDEN(SUM, struct place, kernels, "kernels"),
	PASTA_MEMBER(MAX, struct place, allocated),
	PASTA_MEMBER(COVER, struct place, cover),
	PASTA_MEMBER_BY(CALL, .call = place_busy, .column = "busy", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member thread_members[] = {
	PASTA_MEMBER(U32, struct thread, key.proc),
	PASTA_MEMBER(U32, struct thread, key.tid),
	PASTA_MEMBER(LIST, struct thread, regions, .item_size = sizeof(uint64_t)),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct summary, lines, struct line, line_members, .table = "summary",
		    .order = "part place -time -device -bytes -calls text path id",
		    .keep = line_shown),
	PASTA_GROUP(struct summary, processes, struct process, process_members),
	PASTA_GROUP(struct summary, places, struct place, place_members,
		    .order = "-busy -kernels proc device"),
	PASTA_GROUP(struct summary, threads, struct thread, thread_members),
	{0},
};

/* -- Reporting -- */

static void add_processes(struct summary *s)
{
	uint64_t begin = UINT64_MAX, end = 0;
	const struct process *p;
	size_t at = 0;

	while ((p = pasta_group_next(s->processes, &at))) {
		struct line *l = line_of(s, PROCESSES, p->key.number, 0);

		l->of = p;
		l->time = p->end - p->begin;
		if (!p->did)
			continue;
		begin = p->begin < begin ? p->begin : begin;
		end = p->end > end ? p->end : end;
		s->did++;
	}
	s->span = end > begin ? end - begin : 0;
}

static uint64_t level_peak(const struct summary *s, const struct place *p, uint32_t level)
{
	return pasta_ledger_peak(s->ledger, p->key.proc, p->key.device, level, NULL);
}

/* A counter includes what was allocated before recording began. */
static uint64_t allocated_peak(const struct summary *s, const struct place *p)
{
	return p->flags & COUNTED ? p->allocated : level_peak(s, p, PASTA_LEVEL_BLOCK);
}

/* What is held, or as much as it must be. */
static uint64_t held_peak(const struct summary *s, const struct place *p)
{
	uint64_t held = level_peak(s, p, PASTA_LEVEL_HELD),
		 reserved = level_peak(s, p, PASTA_LEVEL_SEGMENT), allocated = allocated_peak(s, p);

	held = reserved > held ? reserved : held;
	return allocated > held ? allocated : held;
}

/* Of the place where the most is held; a framework's own levels, where it has some. */
static void add_memory(const struct summary *s, const struct place *p, uint64_t peak)
{
	bool reserves =
		pasta_ledger_has(s->ledger, p->key.proc, p->key.device, PASTA_LEVEL_SEGMENT);
	struct line *l = line_of(s, MEMORY, 0, 0);

	l->of = p;
	l->bytes = peak;
	if (reserves)
		line_of(s, MEMORY, PASTA_LEVEL_SEGMENT, 0)->bytes =
			level_peak(s, p, PASTA_LEVEL_SEGMENT);
	if (reserves || (p->flags & COUNTED && p->allocated != peak))
		line_of(s, MEMORY, PASTA_LEVEL_BLOCK, 0)->bytes = allocated_peak(s, p);
}

static void add_places(struct summary *s)
{
	uint64_t collective = 0, exposed = 0, most = 0;
	const struct place *fullest = NULL;
	struct place **rows, *p;
	size_t at = 0, count;

	while ((p = pasta_group_next(s->places, &at)))
		pasta_cover_finish(&p->cover);
	rows = pasta_group_sorted(s->places, NULL, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t peak = held_peak(s, p = rows[i]);

		fullest = peak > most ? p : fullest;
		most = peak > most ? peak : most;
		collective += p->cover.time[2] + p->cover.time[3];
		exposed += p->cover.time[2];
		s->used += p->flags & USED ? 1 : 0;
		if (p->flags & WORKED) {
			struct line *l = line_of(s, DEVICES, (uint32_t)s->worked++, 0);

			l->of = p;
			l->devices = 1;
			l->calls = p->kernels;
			l->time = (uint64_t)place_busy(p, s);
		}
	}
	free(rows);
	if (fullest)
		add_memory(s, fullest, most);
	if (!pasta_group_find(s->lines, &(const uint32_t[]){COLLECTIVES, 0}))
		return;
	line_of(s, COLLECTIVES, 0, 0)->time = collective;
	if (collective)
		line_of(s, EXPOSED, 0, 0)->time = exposed;
}

/* Operators whose kernels are known are shown with the times of these; others have none. Where
 * there are operators, regions are not shown. */
static void choose_scopes(struct summary *s, size_t counts[PARTS])
{
	size_t at = 0, ops = 0;
	struct line *l;

	s->by_device = PASTA_SUM(s->lines, struct line, device) != 0;
	while ((l = pasta_group_next(s->lines, &at))) {
		uint64_t time = l->time;

		if (l->key.part == OPS && s->by_device) {
			l->time = l->device;
			l->device = time;
		}
		ops += l->key.part == OPS;
		counts[l->key.part] += l->key.part != OPS || l->time;
	}
	if (ops)
		counts[REGIONS] = 0;
}

/* Rows of each part, all of them and a note at most ROWS: the longest parts give way, of two the
 * later. */
static void plan(const size_t counts[PARTS], size_t shown[PARTS], bool note)
{
	size_t i, longest, all = note;

	for (i = 0; i < PARTS; i++) {
		shown[i] = counts[i] < parts[i].most ? counts[i] : parts[i].most;
		if (i == PROCESSES && counts[i] > parts[i].most)
			shown[i] = 1;
		all += shown[i];
	}
	for (; all > ROWS; all--) {
		for (longest = i = 0; i < PARTS; i++)
			longest = shown[i] >= shown[longest] ? i : longest;
		shown[longest]--;
	}
}

/* The last row of processes and devices stands for all that are left out. */
static void show(const struct summary *s, struct line *const *rows, const size_t shown[PARTS])
{
	size_t done[PARTS] = {0};
	struct line *last = NULL;

	for (; *rows; rows++) {
		struct line *l = *rows;

		l->shown = done[l->key.part]++ < shown[l->key.part];
		if (l->shown || l->key.part > DEVICES || !last) {
			last = l;
			continue;
		}
		last->of = NULL;
		last->calls += l->calls;
		last->devices += l->devices;
		last->time = l->key.part == PROCESSES ? s->span : last->time + l->time;
	}
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct summary *s = state;
	size_t count, counts[PARTS] = {0}, shown[PARTS];
	uint64_t open = PASTA_SUM(s->processes, struct process, open);
	struct line **rows;

	add_processes(s);
	add_places(s);
	choose_scopes(s, counts);
	plan(counts, shown, open);
	rows = pasta_group_sorted(s->lines, NULL, &count);
	if (rows)
		show(s, rows, shown);
	free(rows);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(open),
			 .what = "operators whose end is missing",
			 .evidence = "calls and times of operators are without them");
	return PASTA_SUM(s->processes, struct process, failed) ? -ENOMEM
							       : pasta_out_groups(out, state, err);
}

#define KINDS                                                                                      \
	(PASTA_MASK(PROCESS) | PASTA_MASK(DEVICE) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) |        \
	 PASTA_MASK(SET) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) | PASTA_MASK(REGION) |        \
	 PASTA_MASK(COLLECTIVE) | PASTA_MASK(COUNTER))

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct summary, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
		     .on_alloc = on_alloc, .on_reserved = on_reserved);

PASTA_TOOL(.name = "summary", .summary = "a run on one screen: devices, kernels, memory and more",
	   .events = KINDS, .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS,
	   .state_size = sizeof(struct summary), .open = open_, .event = on_event, .report = report,
	   .close = close_, .flags = PASTA_TOOL_SHARDED, .groups = groups, .ledger = &ledger);
