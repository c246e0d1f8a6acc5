/* summary - a run on one screen: what ran where, how busy the devices were, what took the time. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

/* A screen has 25 lines: a title, heads, a blank and the account are 4, and up to 4 notes may be
 * said of any tool's report. */
#define ROWS 17

#define LAST 64		  /* names that were there last, a power of two */
#define WAITING (1 << 16) /* collectives that wait for their kernels */
#define HOST UINT32_MAX	  /* in place of a device */
#define NONE UINT64_MAX	  /* in place of a number */
#define UNNAMED "(unnamed)"

/* Directions are the subtypes of copies, then fills; what is new to us is unspecified. */
enum { UNSPECIFIED, SET = PASTA_COPY_UNMAP + 1, DIRECTIONS };

static const char *const directions[DIRECTIONS] = {
	[UNSPECIFIED] = "unspecified", [PASTA_COPY_H2D] = "h2d",     [PASTA_COPY_D2H] = "d2h",
	[PASTA_COPY_D2D] = "d2d",      [PASTA_COPY_H2H] = "h2h",     [PASTA_COPY_P2P] = "p2p",
	[PASTA_COPY_MAP] = "map",      [PASTA_COPY_UNMAP] = "unmap", [SET] = "set",
};

struct process {
	uint32_t number;
	uint32_t host, command, pid, rank, world; /* as its event has them; 0: not known */
	uint64_t begin, end;			  /* of what it did */
	bool did;
	/* Of all its devices, while they are alike. */
	uint32_t name, vendor, arch;
	bool devices, differ;
};

struct device {
	uint32_t name;
	uint64_t memory;
};

/* A device, as one process uses it. */
struct place {
	uint32_t proc, device;
	bool worked, counted;
	uint64_t kernels;
	struct pasta_cover cover; /* the second sort is of collectives */
	double counter;		  /* the most bytes that were counted as allocated */
};

/* Kernels, operators and regions; id: the name, or the region's scope's. */
struct sum {
	const struct pasta_scope *scope;
	uint32_t name;
	uint64_t calls, time;
	uint64_t device; /* ns of an operator's own kernels; time is the outermost one's */
};

struct sums {
	struct pasta_map *all;
	struct sum *last[LAST];
};

struct copies {
	uint64_t count, bytes, time;
};

struct thread {
	uint64_t op; /* when its outermost operator began */
	uint64_t *begins;
	size_t depth, room; /* of regions */
};

struct summary {
	struct pasta_ledger *ledger;
	struct pasta_map *processes, *devices, *places; /* by process, and device */
	struct pasta_map *threads;			/* by process and thread */
	struct sums kernels, ops, regions;
	struct copies copies[DIRECTIONS];
	struct pasta_pending *collectives; /* uint64_t: when it was said */
	uint64_t collective_count, collective_bytes;
	uint64_t open;		 /* operators whose end is missing */
	struct process *process; /* of the last event */
	struct place *place;
	struct thread *thread;
	uint64_t thread_key;
	uint32_t allocated, other; /* names of counters: the one that is looked for, or not */
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct summary *s = state;

	(void)opts;
	s->processes = pasta_map_new(sizeof(struct process));
	s->devices = pasta_map_new(sizeof(struct device));
	s->places = pasta_map_new(sizeof(struct place));
	s->threads = pasta_map_new(sizeof(struct thread));
	s->kernels.all = pasta_map_new(sizeof(struct sum));
	s->ops.all = pasta_map_new(sizeof(struct sum));
	s->regions.all = pasta_map_new(sizeof(struct sum));
	s->collectives = pasta_pending_new(sizeof(uint64_t), WAITING);
	if (!s->processes || !s->devices || !s->places || !s->threads || !s->kernels.all ||
	    !s->ops.all || !s->regions.all || !s->collectives)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct summary *s = state;
	struct thread *thread;
	size_t at = 0;

	while (s->threads && (thread = pasta_map_next(s->threads, &at, NULL)))
		free(thread->begins);
	pasta_map_free(s->processes);
	pasta_map_free(s->devices);
	pasta_map_free(s->places);
	pasta_map_free(s->threads);
	pasta_map_free(s->kernels.all);
	pasta_map_free(s->ops.all);
	pasta_map_free(s->regions.all);
	pasta_pending_free(s->collectives);
}

/* -- Finding. Where memory runs out, failed is set, and the report will say so. -- */

static void *added(struct summary *s, struct pasta_map *map, uint64_t key)
{
	void *value = pasta_map_add(map, key);

	s->failed |= !value;
	return value;
}

static inline struct process *process_of(struct summary *s, uint32_t proc)
{
	if (s->process && s->process->number == proc)
		return s->process;
	s->process = added(s, s->processes, proc);
	if (s->process)
		s->process->number = proc;
	return s->process;
}

static inline struct place *place_of(struct summary *s, uint32_t proc, uint32_t device)
{
	if (s->place && s->place->proc == proc && s->place->device == device)
		return s->place;
	s->place = added(s, s->places, pasta_pair(proc, device));
	if (s->place) {
		s->place->proc = proc;
		s->place->device = device;
	}
	return s->place;
}

static inline struct thread *thread_of(struct summary *s, const struct pasta_event *ev)
{
	uint64_t key = pasta_pair(ev->proc, ev->tid);

	if (s->thread && s->thread_key == key)
		return s->thread;
	s->thread = added(s, s->threads, key);
	s->thread_key = key;
	return s->thread;
}

static inline struct sum *sum_of(struct summary *s, struct sums *sums, uint32_t name)
{
	struct sum *sum = sums->last[name % LAST];

	if (sum && sum->name == name)
		return sum;
	sum = added(s, sums->all, name);
	if (sum)
		sum->name = name;
	return sums->last[name % LAST] = sum;
}

static uint64_t later(uint64_t time, uint64_t dur)
{
	return time + dur < time ? UINT64_MAX : time + dur;
}

/* The process did something. What is told of it, as its devices and what is allocated, is told
 * whatever part of the run is looked at. */
static inline void span(struct summary *s, const struct pasta_event *ev, uint64_t dur)
{
	struct process *p = process_of(s, ev->proc);
	uint64_t end = later(ev->time, dur);

	if (!p)
		return;
	if (!p->did || ev->time < p->begin)
		p->begin = ev->time;
	if (end > p->end)
		p->end = end;
	p->did = true;
}

/* -- Work on devices -- */

static bool is_collective(struct summary *s, const struct pasta_event *ev)
{
	if (!pasta_collective_find(s->collectives, ev))
		return false;
	pasta_collective_done(s->collectives, ev);
	return true;
}

static void on_kernel(struct summary *s, const struct pasta_event *ev)
{
	const struct pasta_scope *scope = pasta_where_of(ev)->scope;
	struct place *place = place_of(s, ev->proc, ev->kernel.device);
	struct sum *kernel = sum_of(s, &s->kernels, ev->kernel.name), *op;

	span(s, ev, ev->kernel.dur);
	if (!place || !kernel)
		return;
	place->worked = true;
	place->kernels++;
	pasta_cover_add(&place->cover, is_collective(s, ev), ev->time, ev->kernel.dur);
	kernel->calls++;
	kernel->time += ev->kernel.dur;
	op = scope && scope->op ? sum_of(s, &s->ops, scope->op->name) : NULL;
	if (op)
		op->device += ev->kernel.dur;
}

static void on_copy(struct summary *s, const struct pasta_event *ev, unsigned int direction,
		    uint64_t bytes, uint64_t dur, uint32_t device)
{
	struct place *place = place_of(s, ev->proc, device);
	struct copies *sum = &s->copies[direction];

	span(s, ev, dur);
	if (place)
		place->worked = true;
	sum->count++;
	sum->bytes += bytes;
	sum->time += dur;
}

/* It waits for the kernel that does it, which may be none. */
static void on_collective(struct summary *s, const struct pasta_event *ev)
{
	span(s, ev, 0);
	s->collective_count++;
	s->collective_bytes += ev->collective.bytes_in;
	s->failed |= !pasta_collective_wait(s->collectives, ev);
}

/* -- What threads do -- */

static bool is_outermost(const struct pasta_scope *op)
{
	return !op->up || !op->up->op;
}

static void on_op(struct summary *s, const struct pasta_event *ev)
{
	const struct pasta_scope *scope = pasta_where_of(ev)->scope;
	const struct pasta_scope *op = scope ? scope->op : NULL;
	struct sum *sum = op ? sum_of(s, &s->ops, op->name) : NULL;
	struct thread *thread = op && is_outermost(op) ? thread_of(s, ev) : NULL;

	span(s, ev, 0);
	if (ev->kind == PASTA_KIND_OP_BEGIN) {
		if (thread)
			thread->op = ev->time;
		return;
	}
	/* When an operator ended whose end is missing, nobody knows. */
	if (ev->sub == PASTA_OP_END_SUPPLIED)
		s->open++;
	else if (sum)
		sum->calls++;
	if (sum && thread && ev->sub != PASTA_OP_END_SUPPLIED && ev->time > thread->op)
		sum->time += ev->time - thread->op;
}

static void begin_region(struct summary *s, struct thread *thread, uint64_t now)
{
	if (thread->depth == thread->room) {
		size_t room = thread->room ? 2 * thread->room : 16;
		uint64_t *begins = reallocarray(thread->begins, room, sizeof(*begins));

		if (!begins) {
			s->failed = true;
			return;
		}
		thread->begins = begins;
		thread->room = room;
	}
	thread->begins[thread->depth++] = now;
}

static void end_region(struct summary *s, struct thread *thread, uint64_t now,
		       const struct pasta_scope *region)
{
	uint64_t begin = thread->begins[--thread->depth];
	struct sum *sum = sum_of(s, &s->regions, region->id);

	if (!sum)
		return;
	sum->scope = region;
	sum->calls++;
	sum->time += now > begin ? now - begin : 0;
}

static void on_region(struct summary *s, const struct pasta_event *ev)
{
	const struct pasta_scope *scope = pasta_where_of(ev)->scope;
	struct thread *thread = thread_of(s, ev);

	span(s, ev, 0);
	if (thread && ev->sub == PASTA_REGION_BEGIN)
		begin_region(s, thread, ev->time);
	else if (thread && ev->sub == PASTA_REGION_END && thread->depth && scope && scope->region)
		end_region(s, thread, ev->time, scope->region);
}

/* -- Memory: the ledger knows what there is, and a place is where -- */

static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev)
{
	struct summary *s = state;

	(void)ev;
	if (a->device != HOST && !s->failed)
		place_of(s, a->proc, a->device);
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev)
{
	struct summary *s = state;

	if (device != HOST && !s->failed)
		place_of(s, ev->proc, device);
}

static bool is_allocated(struct summary *s, uint32_t name)
{
	if (name == s->allocated || name == s->other)
		return name && name == s->allocated;
	*(strcmp(pasta_str(name), "allocated") ? &s->other : &s->allocated) = name;
	return name == s->allocated;
}

static void on_counter(struct summary *s, const struct pasta_event *ev)
{
	struct place *place;

	span(s, ev, 0);
	if (ev->counter.device == HOST || !is_allocated(s, ev->counter.name))
		return;
	place = place_of(s, ev->proc, ev->counter.device);
	if (!place)
		return;
	place->counted = true;
	if (ev->counter.value > place->counter)
		place->counter = ev->counter.value;
}

/* -- What is told of processes and devices -- */

static void on_process(struct summary *s, const struct pasta_event *ev)
{
	struct process *p = process_of(s, ev->proc);

	if (!p)
		return;
	p->host = ev->process.host;
	p->command = ev->process.command;
	p->pid = ev->process.pid;
	p->rank = ev->process.rank;
	p->world = ev->process.world;
}

static void on_device(struct summary *s, const struct pasta_event *ev)
{
	const struct pasta_device_record *r = &ev->device;
	struct device *device = added(s, s->devices, pasta_pair(ev->proc, r->id));
	struct process *p = process_of(s, ev->proc);

	if (!device || !p)
		return;
	device->name = r->name;
	device->memory = r->memory;
	p->differ |=
		p->devices && (p->name != r->name || p->vendor != r->vendor || p->arch != r->arch);
	p->devices = true;
	p->name = r->name;
	p->vendor = r->vendor;
	p->arch = r->arch;
}

/* After a failure what is known is not whole: nothing more is looked at. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct summary *s = state;

	if (s->failed)
		return;
	switch (ev->kind) {
	case PASTA_KIND_KERNEL:
		on_kernel(s, ev);
		break;
	case PASTA_KIND_OP_BEGIN:
	case PASTA_KIND_OP_END:
		on_op(s, ev);
		break;
	case PASTA_KIND_REGION:
		on_region(s, ev);
		break;
	case PASTA_KIND_COPY:
		on_copy(s, ev, ev->sub < SET ? ev->sub : UNSPECIFIED, ev->copy.bytes, ev->copy.dur,
			ev->copy.device);
		break;
	case PASTA_KIND_SET:
		on_copy(s, ev, SET, ev->set.bytes, ev->set.dur, ev->set.device);
		break;
	case PASTA_KIND_COLLECTIVE:
		on_collective(s, ev);
		break;
	case PASTA_KIND_COUNTER:
		on_counter(s, ev);
		break;
	case PASTA_KIND_DEVICE:
		on_device(s, ev);
		break;
	default:
		on_process(s, ev);
	}
}

/* -- Merging. A process is of one shard, so what is by process is in one state only. -- */

static void merge_map(struct summary *s, struct pasta_map *into, const struct pasta_map *from,
		      size_t size)
{
	const void *value;
	uint64_t key;
	size_t at = 0;
	void *ours;

	while ((value = pasta_map_next(from, &at, &key)))
		if ((ours = added(s, into, key)))
			memcpy(ours, value, size);
}

static void merge_sums(struct summary *s, struct sums *into, const struct sums *from)
{
	const struct sum *sum;
	struct sum *ours;
	size_t at = 0;

	while ((sum = pasta_map_next(from->all, &at, NULL))) {
		ours = sum_of(s, into, sum->name);
		if (!ours)
			return;
		ours->scope = sum->scope;
		ours->calls += sum->calls;
		ours->time += sum->time;
		ours->device += sum->device;
	}
}

static int merge(void *into, const void *from, struct pasta_error *err)
{
	const struct summary *b = from;
	struct summary *a = into;
	unsigned int i;

	a->failed |= b->failed;
	merge_map(a, a->processes, b->processes, sizeof(struct process));
	merge_map(a, a->devices, b->devices, sizeof(struct device));
	merge_map(a, a->places, b->places, sizeof(struct place));
	merge_sums(a, &a->kernels, &b->kernels);
	merge_sums(a, &a->ops, &b->ops);
	merge_sums(a, &a->regions, &b->regions);
	for (i = 0; i < DIRECTIONS; i++) {
		a->copies[i].count += b->copies[i].count;
		a->copies[i].bytes += b->copies[i].bytes;
		a->copies[i].time += b->copies[i].time;
	}
	a->collective_count += b->collective_count;
	a->collective_bytes += b->collective_bytes;
	a->open += b->open;
}

/* -- Reporting -- */

enum list { PROCESSES, DEVICES, KERNELS, SCOPES, COPIES, COMMUNICATION, MEMORY, LISTS };

static const size_t most[LISTS] = {
	[PROCESSES] = 2, [DEVICES] = 4,	      [KERNELS] = 5, [SCOPES] = 4,
	[COPIES] = 3,	 [COMMUNICATION] = 2, [MEMORY] = 3};

/* What is sorted, and what shares are of. */
struct report {
	const struct summary *s;
	struct pasta_table *t;
	struct process **processes;
	struct place **places; /* that worked */
	struct place *fullest; /* whose peak is the highest, or NULL */
	struct {
		const char *name; /* NULL: the place's */
		uint64_t peak;
	} memory[3];			/* of the fullest */
	struct sum **kernels, **scopes; /* those that have a time */
	unsigned int copies[DIRECTIONS];
	size_t counts[LISTS]; /* of all that there are */
	size_t rows[LISTS];
	bool ops, by_device; /* scopes are operators; and have times of their kernels */
	uint64_t span, collective, exposed;
	double process_time, device_time; /* the run's, times the number of them */
};

static void put_number(struct pasta_table *t, uint64_t value)
{
	if (value == NONE)
		pasta_cell_none(t);
	else
		pasta_cell_int(t, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* whole: what time is a share of; 0: none. It is the run's time, of as many processes or devices as
 * the row is about. */
static void put_row(struct pasta_table *t, const char *what, const char *name, uint64_t calls,
		    uint64_t time, double whole, uint64_t bytes)
{
	pasta_cell_str(t, what);
	pasta_cell_str(t, name);
	put_number(t, calls);
	put_number(t, time);
	if (whole > 0)
		pasta_cell_float(t, 100.0 * (double)time / whole);
	else
		pasta_cell_none(t);
	put_number(t, bytes);
}

/* Hosts may have names of any length. */
static void put_pid(FILE *f, const struct process *p)
{
	const char *host = pasta_str(p->host);
	size_t size = strlen(host) + 32;
	char *text = malloc(size);

	fputs(text ? pasta_process_text(host, p->pid, p->number, text, size) : UNNAMED, f);
	free(text);
}

/* "rank 3", or as it is called. */
static void put_process(FILE *f, const struct process *p)
{
	if (p->rank)
		fprintf(f, "rank %u", p->rank - 1);
	else
		put_pid(f, p);
}

/* "python train.py, host-4711, rank 3 of 8", or as much as is known. */
static void name_process(FILE *f, const void *of)
{
	const struct process *p = of;

	fputs(pasta_str(p->command), f);
	if (p->pid) {
		fputs(p->command ? ", " : "", f);
		put_pid(f, p);
	}
	if (p->rank)
		fprintf(f, "%srank %u", p->command || p->pid ? ", " : "", p->rank - 1);
	if (p->rank && p->world)
		fprintf(f, " of %u", p->world);
	if (!p->command && !p->pid && !p->rank)
		put_process(f, p);
}

/* A device that nobody told of has the others' name, if they all have the same. */
static uint32_t device_name(const struct summary *s, const struct place *place)
{
	const struct device *device =
		pasta_map_find(s->devices, pasta_pair(place->proc, place->device));
	const struct process *p = pasta_map_find(s->processes, place->proc);

	if (device)
		return device->name;
	return p && p->devices && !p->differ ? p->name : 0;
}

struct place_in {
	const struct summary *s;
	const struct place *place;
};

/* "NVIDIA H100, device 1, rank 3": the number and the process where there is more than one. */
static void name_place(FILE *f, const void *of)
{
	const struct place_in *in = of;
	uint32_t name = device_name(in->s, in->place);
	const struct process *p = pasta_map_find(in->s->processes, in->place->proc);

	fputs(pasta_str(name), f);
	if (!name || pasta_map_count(in->s->places) > 1)
		fprintf(f, "%sdevice %u", name ? ", " : "", in->place->device);
	if (p && pasta_map_count(in->s->processes) > 1) {
		fputs(", ", f);
		put_process(f, p);
	}
}

static const struct pasta_scope *region_above(const struct pasta_scope *region)
{
	return region->up ? region->up->region : NULL;
}

static const char *text_of(uint32_t name)
{
	return name ? pasta_str(name) : UNNAMED;
}

/* A region's path, whatever its length. */
static void name_region(FILE *f, const void *of)
{
	const struct pasta_scope *region = of, *r;
	size_t size = 1;
	char *path;

	for (r = region; r; r = region_above(r))
		size += strlen(text_of(r->name)) + 1;
	path = malloc(size);
	fputs(path ? pasta_scope_regions(region, path, size) : UNNAMED, f);
	free(path);
}

/* A row whose name is made: texts may be of any length. */
static int put_named(const struct report *r, const char *what,
		     void (*name)(FILE *f, const void *of), const void *of, uint64_t calls,
		     uint64_t time, double whole, uint64_t bytes)
{
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	int error = f ? 0 : -ENOMEM;

	if (f)
		name(f, of);
	if (f && fclose(f))
		error = -ENOMEM;
	if (!error)
		put_row(r->t, what, text, calls, time, whole, bytes);
	free(text);
	return error;
}

/* -- In order: by numbers, then by texts, which are the same whenever a run is read. -- */

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;

	return compare(y->number, x->number);
}

static uint64_t busy(const struct place *place)
{
	return place->cover.time[1] + place->cover.time[2] + place->cover.time[3];
}

static int by_busy(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
	int order = compare(busy(x), busy(y));

	order = order ? order : compare(x->kernels, y->kernels);
	return order ? order
		     : compare(pasta_pair(y->proc, y->device), pasta_pair(x->proc, x->device));
}

/* Of regions, from the inside out. */
static int by_name(const struct sum *x, const struct sum *y)
{
	const struct pasta_scope *a = x->scope, *b = y->scope;
	int order = 0;

	if (!a || !b)
		return strcmp(text_of(x->name), text_of(y->name));
	for (; !order && a && b; a = region_above(a), b = region_above(b))
		order = strcmp(text_of(a->name), text_of(b->name));
	return order ? order : (a != NULL) - (b != NULL);
}

static int by_time(const void *a, const void *b)
{
	const struct sum *x = *(struct sum *const *)a, *y = *(struct sum *const *)b;
	int order = compare(x->time, y->time);

	order = order ? order : compare(x->calls, y->calls);
	return order ? order : by_name(x, y);
}

static int by_device(const void *a, const void *b)
{
	const struct sum *x = *(struct sum *const *)a, *y = *(struct sum *const *)b;
	int order = compare(x->device, y->device);

	return order ? order : by_time(a, b);
}

/* -- What there is -- */

static void add_processes(struct report *r)
{
	uint64_t begin = UINT64_MAX, end = 0;
	size_t i, did = 0;

	r->counts[PROCESSES] = pasta_map_count(r->s->processes);
	for (i = 0; i < r->counts[PROCESSES]; i++) {
		const struct process *p = r->processes[i];

		if (!p->did)
			continue;
		begin = p->begin < begin ? p->begin : begin;
		end = p->end > end ? p->end : end;
		did++;
	}
	r->span = end > begin ? end - begin : 0;
	r->process_time = (double)r->span * (double)did;
}

static uint64_t level_peak(const struct summary *s, const struct place *p, uint32_t level)
{
	return pasta_ledger_peak(s->ledger, p->proc, p->device, level, NULL);
}

/* A counter knows also of what was allocated before recording began. */
static uint64_t allocated_peak(const struct summary *s, const struct place *place)
{
	if (!place->counted)
		return level_peak(s, place, PASTA_LEVEL_BLOCK);
	return place->counter < 0x1p63 ? (uint64_t)place->counter : (uint64_t)INT64_MAX;
}

/* What is held, or as much as it must be. */
static uint64_t peak_of(const struct summary *s, const struct place *place)
{
	uint64_t held = level_peak(s, place, PASTA_LEVEL_HELD),
		 reserved = level_peak(s, place, PASTA_LEVEL_SEGMENT),
		 allocated = allocated_peak(s, place);

	held = reserved > held ? reserved : held;
	return allocated > held ? allocated : held;
}

/* A framework's own levels, where it has some. */
static void add_memory(struct report *r)
{
	const struct place *place = r->fullest;
	size_t *n = &r->counts[MEMORY];
	bool reserves;

	if (!place)
		return;
	reserves = pasta_ledger_has(r->s->ledger, place->proc, place->device, PASTA_LEVEL_SEGMENT);
	r->memory[(*n)++].peak = peak_of(r->s, place);
	if (reserves) {
		r->memory[*n].name = "reserved";
		r->memory[(*n)++].peak = level_peak(r->s, place, PASTA_LEVEL_SEGMENT);
	}
	if (reserves || (place->counted && allocated_peak(r->s, place) != r->memory[0].peak)) {
		r->memory[*n].name = "allocated";
		r->memory[(*n)++].peak = allocated_peak(r->s, place);
	}
}

/* A device on which nothing ran has no row, but may have the highest peak. */
static void add_places(struct report *r)
{
	size_t i, all = pasta_map_count(r->s->places);

	for (i = 0; i < all; i++) {
		struct place *place = r->places[i];

		if (peak_of(r->s, place) > (r->fullest ? peak_of(r->s, r->fullest) : 0))
			r->fullest = place;
		r->collective += place->cover.time[2] + place->cover.time[3];
		r->exposed += place->cover.time[2];
		if (place->worked)
			r->places[r->counts[DEVICES]++] = place;
	}
	r->device_time = (double)r->span * (double)r->counts[DEVICES];
	add_memory(r);
	r->counts[COMMUNICATION] = !r->s->collective_count ? 0 : r->collective ? 2 : 1;
}

static int add_sums(struct report *r)
{
	const struct summary *s = r->s;
	struct pasta_map *scopes = s->ops.all;
	const struct sum *sum;
	size_t at = 0;

	while ((sum = pasta_map_next(s->ops.all, &at, NULL)))
		r->by_device |= sum->device != 0;
	r->ops = pasta_map_count(s->ops.all) > 0;
	if (!r->ops)
		scopes = s->regions.all;
	r->kernels = pasta_map_sorted(s->kernels.all, by_time);
	r->scopes = pasta_map_sorted(scopes, r->by_device ? by_device : by_time);
	r->counts[KERNELS] = pasta_map_count(s->kernels.all);
	r->counts[SCOPES] = pasta_map_count(scopes);
	if (!r->kernels || !r->scopes)
		return -ENOMEM;
	/* Operators that others call, or whose kernels others launch, have no time of their own. */
	while (r->ops && r->counts[SCOPES] &&
	       !(r->by_device ? r->scopes[r->counts[SCOPES] - 1]->device
			      : r->scopes[r->counts[SCOPES] - 1]->time))
		r->counts[SCOPES]--;
	return 0;
}

static bool copies_before(const struct copies *a, const struct copies *b)
{
	return a->time != b->time ? a->time > b->time : a->bytes > b->bytes;
}

static void add_copies(struct report *r)
{
	const struct copies *copies = r->s->copies;
	unsigned int i;
	size_t at;

	for (i = 0; i < DIRECTIONS; i++) {
		if (!copies[i].count)
			continue;
		at = r->counts[COPIES]++;
		for (; at && copies_before(&copies[i], &copies[r->copies[at - 1]]); at--)
			r->copies[at] = r->copies[at - 1];
		r->copies[at] = i;
	}
}

/* Rows for each, all of them and a note at most ROWS: the longest lists give way, of two the later.
 */
static void plan(struct report *r)
{
	size_t i, longest, all = r->s->open != 0;

	for (i = 0; i < LISTS; i++) {
		r->rows[i] = r->counts[i] < most[i] ? r->counts[i] : most[i];
		if (i == PROCESSES && r->counts[i] > most[i])
			r->rows[i] = 1;
		if (i == SCOPES && !r->ops && r->rows[i] > 3)
			r->rows[i] = 3;
		all += r->rows[i];
	}
	for (; all > ROWS; all--) {
		for (longest = i = 0; i < LISTS; i++)
			if (r->rows[i] >= r->rows[longest])
				longest = i;
		r->rows[longest]--;
	}
}

/* -- Rows -- */

static int by_rank(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;

	return compare(y->rank, x->rank);
}

/* "16 processes, 8 of 8 ranks": of how many, where all say the same. */
static int put_processes(struct report *r)
{
	size_t i, ranks = 0, count = r->counts[PROCESSES];
	uint32_t world = r->processes[0]->world;
	char text[100];
	int n;

	qsort(r->processes, count, sizeof(*r->processes), by_rank);
	for (i = 0; i < count; i++) {
		const struct process *p = r->processes[i];

		ranks += p->rank && (!i || r->processes[i - 1]->rank != p->rank);
		world = p->world == world ? world : 0;
	}
	n = snprintf(text, sizeof(text), "%zu processes", count);
	if (ranks && world)
		snprintf(text + n, sizeof(text) - (size_t)n, ", %zu of %u ranks", ranks, world);
	else if (ranks)
		snprintf(text + n, sizeof(text) - (size_t)n, ", %zu ranks", ranks);
	put_row(r->t, "process", text, NONE, r->span, (double)r->span, NONE);
	return 0;
}

static int report_processes(struct report *r)
{
	size_t i;
	int error = 0;

	if (r->rows[PROCESSES] < r->counts[PROCESSES])
		return put_processes(r);
	for (i = 0; !error && i < r->counts[PROCESSES]; i++) {
		const struct process *p = r->processes[i];

		error = put_named(r, "process", name_process, p, NONE, p->end - p->begin,
				  (double)r->span, NONE);
	}
	return error;
}

/* The rest in one row: their share is of the time of all of them. */
static int report_devices(struct report *r)
{
	size_t i, count = r->counts[DEVICES], rows = r->rows[DEVICES];
	size_t alone = rows < count ? rows - 1 : count;
	uint64_t kernels = 0, time = 0;
	char text[100];
	int error = 0;

	for (i = 0; !error && i < alone; i++) {
		struct place *place = r->places[i];

		error = put_named(r, "device", name_place, &(struct place_in){r->s, place},
				  place->kernels, busy(place), (double)r->span, NONE);
	}
	for (i = alone; i < count; i++) {
		kernels += r->places[i]->kernels;
		time += busy(r->places[i]);
	}
	snprintf(text, sizeof(text), "and %zu more devices", count - alone);
	if (alone < count)
		put_row(r->t, "device", text, kernels, time,
			(double)r->span * (double)(count - alone), NONE);
	return error;
}

static int report_scopes(struct report *r)
{
	double whole = r->by_device ? r->device_time : r->process_time;
	size_t i;
	int error = 0;

	for (i = 0; !error && i < r->rows[SCOPES]; i++) {
		const struct sum *sum = r->scopes[i];

		if (r->ops)
			put_row(r->t, "op", text_of(sum->name), sum->calls,
				r->by_device ? sum->device : sum->time, whole, NONE);
		else
			error = put_named(r, "region", name_region, sum->scope, sum->calls,
					  sum->time, whole, NONE);
	}
	return error;
}

/* "NVIDIA H100, 4.3% of its memory", where it is known how much it has. */
static void name_memory(FILE *f, const void *of)
{
	const struct place_in *in = of;
	const struct device *device =
		pasta_map_find(in->s->devices, pasta_pair(in->place->proc, in->place->device));

	name_place(f, of);
	if (device && device->memory)
		fprintf(f, ", %.1f%% of its memory",
			100.0 * (double)peak_of(in->s, in->place) / (double)device->memory);
}

static int report_memory(struct report *r)
{
	const struct place *place = r->fullest;
	int error = 0;

	for (size_t i = 0; !error && i < r->rows[MEMORY]; i++) {
		if (r->memory[i].name)
			put_row(r->t, "memory", r->memory[i].name, NONE, NONE, 0,
				r->memory[i].peak);
		else
			error = put_named(r, "memory", name_memory, &(struct place_in){r->s, place},
					  NONE, NONE, 0, r->memory[i].peak);
	}
	return error;
}

static int report_rows(struct report *r)
{
	size_t i;
	int error = report_processes(r);

	if (!error)
		error = report_devices(r);
	for (i = 0; i < r->rows[KERNELS]; i++)
		put_row(r->t, "kernel", text_of(r->kernels[i]->name), r->kernels[i]->calls,
			r->kernels[i]->time, r->device_time, NONE);
	if (!error)
		error = report_scopes(r);
	for (i = 0; i < r->rows[COPIES]; i++) {
		const struct copies *sum = &r->s->copies[r->copies[i]];

		put_row(r->t, "copy", directions[r->copies[i]], sum->count, sum->time,
			r->device_time, sum->bytes);
	}
	if (r->rows[COMMUNICATION])
		put_row(r->t, "communication", "collectives", r->s->collective_count, r->collective,
			r->device_time, r->s->collective_bytes);
	if (r->rows[COMMUNICATION] > 1)
		put_row(r->t, "communication", "exposed", NONE, r->exposed, r->device_time, NONE);
	return error ? error : report_memory(r);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column columns[] = {
		{"what", PASTA_COLUMN_STRING, NULL}, {"name", PASTA_COLUMN_STRING, NULL},
		{"calls", PASTA_COLUMN_INT, NULL},   {"time", PASTA_COLUMN_INT, "ns"},
		{"of_run", PASTA_COLUMN_FLOAT, "%"}, {"bytes", PASTA_COLUMN_INT, "bytes"},
	};
	struct summary *s = state;
	struct report r = {.s = s};
	struct place *place;
	size_t at = 0;
	int error = s->failed ? -ENOMEM : 0;

	while (!error && (place = pasta_map_next(s->places, &at, NULL)))
		pasta_cover_finish(&place->cover);
	if (!error)
		error = add_sums(&r);
	r.processes = error ? NULL : pasta_map_sorted(s->processes, by_number);
	r.places = error ? NULL : pasta_map_sorted(s->places, by_busy);
	if (!error && (!r.processes || !r.places))
		error = -ENOMEM;
	if (!error) {
		add_processes(&r);
		add_places(&r);
		add_copies(&r);
		plan(&r);
		r.t = pasta_out_table(out, "summary", columns, 6);
		error = report_rows(&r);
	}
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = s->open, .counted = true,
			 .what = "operators whose end is missing",
			 .evidence = "calls and times of operators are without them");
	free(r.processes);
	free(r.places);
	free(r.kernels);
	free(r.scopes);
	return error;
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
	   .state_size = sizeof(struct summary), .open = open_, .event = on_event, .merge = merge,
	   .report = report, .close = close_, .ledger = &ledger);
