/*
 * summary - shows on one screen what ran, why it is slow, and what to do about it.
 *
 * The tool reports up to five tables: `why` has the conclusions, `finding` what would save most,
 * `layer` and `kernel` the longest of each, and `other` everything else.
 */
#include <stdio.h>
#include <stdlib.h>

#include <pasta/diagnosis.h>
#include <pasta/tool.h>

/* Maximum number of lines. The heading, a note, and the line about losses with a blank line before
 * it use FRAME of them; each table uses HEAD for its header and the blank line before it. */
enum { LINES = 30, FRAME = 4, HEAD = 2 };
/* Maximum number of rows of the tables about findings, layers and kernels; with layers, the number
 * of kernels is that of layers. */
enum { FINDINGS_MAX = 3, LAYERS_MAX = 3, KERNELS_MAX = 4 };
/* maximum number of collectives that are stored until their kernels are read */
#define WAITING (1 << 16)
#define FILL (PASTA_COPY_UNMAP + 1) /* the direction in the table that stands for fills */

/* The parts of the run, in the order of table `other`. part_rows has the maximum number of rows
 * of each part. Kernels and layers have tables of their own. */
enum {
	PROCESSES,
	DEVICES,
	OPS,
	REGIONS,
	COPIES,
	COLLECTIVES,
	EXPOSED,
	MEMORY,
	KERNELS,
	LAYERS,
	PARTS,
};
static const char *const part_names[] = {
	"process",	 "device", "op",     "region", "copy", "communication",
	"communication", "memory", "kernel", "layer",  NULL,
};
static const uint32_t part_rows[PARTS] = {2, 4, 4, 3, 3, 1, 1, 3, KERNELS_MAX, LAYERS_MAX};

enum line_flags { USED = 1, WORKED = 2, COUNTED = 4 }; /* flags of a device */

/* A candidate for a row of the table. If two processes use one device, the device has a line for
 * each process. */
struct line {
	struct line_key {
		uint32_t part;
		/* number of the process, if the line is a process or a device; phase of a layer;
		 * else 0 */
		uint32_t proc;
		/* key of the line within its part: a device, name, scope, direction or level */
		uint32_t id;
	} key;
	uint32_t name, scope, flags;
	uint64_t calls, time, bytes; /* for a process, `calls` is 1 if the process has events */
	/* if the line is an operator: ns of its own kernels; `time` has its host self time */
	uint64_t device;
	uint64_t begin, end; /* for a process: the times of its first and last event */
	/* number of operators without an end, and number of dropped collectives */
	uint64_t open, failed;
	uint64_t allocated;	  /* for a device: the peak of its allocated bytes */
	struct pasta_cover cover; /* device time of kernels and of collectives */
	/*
	 * Computed when the tool reports. `position` is the position of the row in the table, and
	 * `others` the number of other lines that it represents. `held` is the peak of the device's
	 * held bytes. `whole` is the denominator of the column of_run. `of` is the line of the
	 * device, for a row about memory.
	 */
	uint32_t position, others;
	uint64_t held, whole;
	const struct line *of;
	bool shown;
	/* For a kernel: `roof` is the least ns that the device would need, and `known` the ns of
	 * the launches for which it is known. For a layer: FLOPs, bytes and enum pasta_bound. */
	double roof, known, flops, moved;
	uint32_t bound;
};

/* A region that has begun on a thread. */
struct begun {
	struct {
		uint32_t proc, tid, scope;
	} key;
	uint64_t time; /* time of the begin event; 0 after the end */
};

struct summary {
	struct pasta_ledger *ledger;
	struct pasta_diagnosis *diagnosis;
	struct pasta_group *lines, *begun;
	struct pasta_pending *collectives; /* the time of each collective, as uint64_t */
	/*
	 * Computed when the tool reports. `begin` and `end` are the times of the first and last
	 * event. `processes` counts all processes, and `did` the active ones; `used` counts the
	 * used devices, and `worked` those with work. `collective` is the time of collectives in
	 * ns, and `exposed` its exposed part. `ops` and `by_device` state whether the run has
	 * operators, and whether kernels ran in them; `layers`, whether it has layers.
	 */
	uint64_t begin, end, processes, did, used, worked, collective, exposed;
	bool ops, by_device, layers;
	/* the use of all devices, added up; the window and use of the longest-used device */
	struct facts {
		double time, longest, part[PASTA_PARTS], cause[PASTA_CAUSES];
		const struct pasta_usage *usage;
		const struct pasta_window *window;
	} facts;
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

static struct line *line_of(const struct summary *s, uint32_t part, uint32_t proc, uint32_t id)
{
	return PASTA_ROW(s->lines, struct line, part, proc, id);
}

static struct line *named_line(const struct summary *s, uint32_t part, uint32_t name)
{
	struct line *l = line_of(s, part, 0, name);

	l->name = name;
	return l;
}

static void add(struct line *l, uint64_t time, uint64_t bytes)
{
	l->calls++;
	l->time += time;
	l->bytes += bytes;
}

static void did(struct line *process, const struct pasta_event *ev)
{
	uint64_t dur = pasta_work_ns(ev), end = ev->time + dur;

	end = end < dur ? UINT64_MAX : end;
	process->begin = !process->calls || ev->time < process->begin ? ev->time : process->begin;
	process->end = end > process->end ? end : process->end;
	process->calls = 1;
}

static struct line *use(const struct summary *s, uint32_t proc, uint32_t device, uint32_t flags)
{
	struct line *l = line_of(s, DEVICES, proc, device);

	l->flags |= USED | flags;
	return l;
}

static void on_kernel(struct summary *s, const struct pasta_event *ev,
		      const struct pasta_scope *scope)
{
	struct line *device = use(s, ev->proc, ev->kernel.device, WORKED);
	bool collective = pasta_collective_find(s->collectives, ev);

	device->calls++;
	pasta_cover_add(&device->cover, collective, ev->time, ev->kernel.dur);
	add(named_line(s, KERNELS, ev->kernel.name), ev->kernel.dur, 0);
	if (scope && scope->op)
		named_line(s, OPS, scope->op->name)->device += ev->kernel.dur;
	if (collective)
		pasta_collective_done(s->collectives, ev);
}

/* Handles the begin or end of a region. */
static void on_region(struct summary *s, const struct pasta_event *ev,
		      const struct pasta_scope *scope)
{
	struct begun *b = PASTA_ROW(s->begun, struct begun, ev->proc, ev->tid, scope->id);
	bool begins = ev->sub == PASTA_REGION_BEGIN;
	struct line *l;

	if (!begins && b->time) {
		l = line_of(s, REGIONS, 0, scope->id);
		l->name = scope->name;
		l->scope = scope->id;
		add(l, ev->time > b->time ? ev->time - b->time : 0, 0);
	}
	b->time = begins ? ev->time : 0;
}

static void on_counter(struct summary *s, const struct pasta_event *ev)
{
	double value = ev->counter.value;
	uint64_t bytes = !(value > 0) ? 0 : value < 0x1p63 ? (uint64_t)value : INT64_MAX;
	struct line *l;

	if (ev->counter.device == PASTA_HOST || strcmp(pasta_str(ev->counter.name), "allocated"))
		return;
	l = use(s, ev->proc, ev->counter.device, COUNTED);
	l->allocated = bytes > l->allocated ? bytes : l->allocated;
}

/* Only events of work extend the time of the run. Filters don't apply to other events, such as
 * allocations and the descriptions of processes and devices. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_scope *scope = where->scope;
	struct summary *s = state;
	struct line *process = line_of(s, PROCESSES, ev->proc, 0);

	switch (ev->kind) {
	case PASTA_KIND_PROCESS:
		return;
	case PASTA_KIND_DEVICE:
		line_of(s, DEVICES, ev->proc, ev->device.id);
		return;
	case PASTA_KIND_KERNEL:
		on_kernel(s, ev, scope);
		break;
	case PASTA_KIND_COPY:
		use(s, ev->proc, ev->copy.device, WORKED);
		add(line_of(s, COPIES, 0, ev->sub < FILL ? ev->sub : 0), ev->copy.dur,
		    ev->copy.bytes);
		break;
	case PASTA_KIND_SET:
		use(s, ev->proc, ev->set.device, WORKED);
		add(line_of(s, COPIES, 0, FILL), ev->set.dur, ev->set.bytes);
		break;
	case PASTA_KIND_COLLECTIVE: /* The record of the collective's kernel may be missing. */
		process->failed += !pasta_collective_wait(s->collectives, ev);
		add(line_of(s, COLLECTIVES, 0, 0), 0, ev->collective.bytes_in);
		break;
	case PASTA_KIND_COUNTER:
		on_counter(s, ev);
		break;
	case PASTA_KIND_REGION:
		if (scope && scope->region && ev->sub != PASTA_REGION_MARK)
			on_region(s, ev, scope->region);
		break;
	default: /* If the end of an operator was not recorded, its end time is unknown. */
		if (ev->kind == PASTA_KIND_OP_END && ev->sub == PASTA_OP_END_SUPPLIED)
			process->open++;
		else if (ev->kind == PASTA_KIND_OP_END && scope && scope->op)
			add(named_line(s, OPS, scope->op->name), where->self, 0);
	}
	did(process, ev);
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

/* -- Names -- */

/* Returns a name such as "python train.py, rank 3" or, for several processes, "16 processes, 8 of 8
 * ranks". The text has no " of 8" if the processes report different numbers of ranks. */
static const char *process_name(const struct summary *s, const struct line *l, char *text,
				size_t size)
{
	const struct pasta_process_info *info = pasta_process(l->key.proc);
	uint32_t rank = PASTA_NO_RANK, world = info->world, ranks = 0;
	char of[32] = "";

	snprintf(text, size, "%s%s%s", info->command, *info->command ? ", " : "", info->text);
	if (!l->others)
		return text;
	for (size_t at = 0; (info = pasta_process_next(&at));) {
		if (!pasta_group_find(s->lines, &(struct line_key){PROCESSES, info->proc}))
			continue;
		ranks += info->rank != PASTA_NO_RANK && info->rank != rank;
		rank = info->rank;
		world = world == info->world ? world : 0;
	}
	if (world)
		snprintf(of, sizeof(of), " of %u", world);
	snprintf(text, size, ranks ? "%u processes, %u%s ranks" : "%u processes", l->others + 1,
		 ranks, of);
	return text;
}

/* Returns the model of a device. If the model was not recorded, returns the model that all other
 * devices of the process share, if there is one. */
static const char *device_model(const struct summary *s, const struct line *l)
{
	const struct pasta_device_info *own = pasta_device(l->key.proc, l->key.id), *d,
				       *first = own;
	const struct line *other;

	for (size_t at = 0; !*own->name && (other = pasta_group_next(s->lines, &at));) {
		if (other->key.part != DEVICES || other->key.proc != l->key.proc)
			continue;
		d = pasta_device(other->key.proc, other->key.id);
		first = *first->name ? first : d;
		if (*d->name && (strcmp(d->name, first->name) || strcmp(d->arch, first->arch)))
			return "";
	}
	return first->name;
}

/* Returns a name such as "NVIDIA H100, rank 3, device 1", or only the model if the run has one
 * device. The name of a row about memory includes the used share of the device's memory, if it is
 * known. */
static const char *device_name(const struct summary *s, const struct line *l, char *text,
			       size_t size)
{
	const struct line *device = l->of ? l->of : l;
	const struct pasta_device_info *info = pasta_device(device->key.proc, device->key.id);
	const char *model = device_model(s, device);
	bool number = !*model || s->used > 1 || s->processes > 1;
	char share[64] = "";

	if (l->of && info->memory)
		snprintf(share, sizeof(share), ", %.1f%% of its memory",
			 100.0 * (double)l->bytes / (double)info->memory);
	if (l->others)
		snprintf(text, size,
			 l->others + 1 == s->worked ? "%u devices" : "and %u more devices",
			 l->others + 1);
	else
		snprintf(text, size, "%s%s%s%s", model, *model && number ? ", " : "",
			 number ? info->text : "", share);
	return text;
}

/* Returns the name of a row. Called only for rows that are shown. */
static const char *line_name(const void *row, const void *state, char *text, size_t size)
{
	const struct line *l = row;

	if (!l->shown)
		return NULL;
	switch (l->key.part) {
	case PROCESSES:
		return process_name(state, l, text, size);
	case DEVICES:
		return device_name(state, l, text, size);
	case REGIONS:
		return pasta_scope_regions(pasta_scope_find(l->scope), text, size);
	case COPIES:
		return l->key.id == FILL ? "set" : pasta_subtype_name(PASTA_KIND_COPY, l->key.id);
	case COLLECTIVES:
	case EXPOSED:
		return l->key.part == EXPOSED ? "exposed" : "collectives";
	case MEMORY:
		return l->of ? device_name(state, l, text, size) : pasta_level_text(l->key.id);
	default:
		return pasta_name(l->name);
	}
}

/* -- The table -- */

#define PART(row) (((const struct line *)(row))->key.part)

static bool has_calls(const void *row, const void *state)
{
	return PART(row) >= DEVICES && PART(row) <= COLLECTIVES;
}

static bool has_time(const void *row, const void *state)
{
	return PART(row) != MEMORY;
}

static bool has_bytes(const void *row, const void *state)
{
	return PART(row) == COPIES || PART(row) == COLLECTIVES || PART(row) == MEMORY;
}

static bool line_shown(const void *row, const void *state)
{
	return ((const struct line *)row)->shown;
}

#define HIDDEN(TYPE, member, name)                                                                 \
	PASTA_MEMBER(TYPE, struct line, member, .column = name, .flags = PASTA_MEMBER_HIDDEN)

static const struct pasta_member line_members[] = {
	PASTA_MEMBER(ENUM, struct line, key.part, .names = part_names, .column = "other"),
	PASTA_MEMBER_BY(TEXT, .text = line_name, .column = "name"),
	PASTA_MEMBER(SUM, struct line, calls, .column = "calls", .has = has_calls),
	PASTA_MEMBER(SUM, struct line, time, .column = "time", .unit = "ns", .has = has_time),
	PASTA_MEMBER_OF(PERCENT, struct line, time, whole, .column = "of_run", .unit = "%",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(SUM, struct line, bytes, .column = "bytes", .unit = "bytes", .has = has_bytes),
	HIDDEN(U32, position, "position"),
	HIDDEN(U64, held, "held"),
	HIDDEN(SUM, device, "device"),
	HIDDEN(NAME, name, "text"),
	HIDDEN(SCOPE, scope, "path"),
	HIDDEN(U32, key.proc, "proc"),
	HIDDEN(U32, key.id, "id"),
	PASTA_MEMBER(U32, struct line, flags),
	PASTA_MEMBER(U64, struct line, begin),
	PASTA_MEMBER(U64, struct line, end),
	PASTA_MEMBER(SUM, struct line, open),
	PASTA_MEMBER(SUM, struct line, failed),
	PASTA_MEMBER(MAX, struct line, allocated),
	PASTA_MEMBER(COVER, struct line, cover),
	{0},
};

static const struct pasta_member begun_members[] = {
	PASTA_KEY(struct begun),
	PASTA_MEMBER(U64, struct begun, time),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct summary, lines, struct line, line_members, .table = "other",
		    .order = "other position -time -device -bytes -calls text path proc id",
		    .keep = line_shown, .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct summary, begun, struct begun, begun_members),
	{0},
};

/* -- Reporting -- */

static uint64_t level_peak(const struct summary *s, const struct line *l, uint32_t level)
{
	return pasta_ledger_peak(s->ledger, l->key.proc, l->key.id, level, NULL);
}

/*
 * Computes the times and memory of a device. If the framework reports a counter of allocated bytes,
 * the counter's peak replaces the ledger's, because the counter includes allocations made before
 * recording began. Held bytes are at least the reserved and the allocated bytes.
 */
static void finish_device(struct summary *s, struct line *l)
{
	const uint64_t *cover = l->cover.time, reserved = level_peak(s, l, PASTA_LEVEL_SEGMENT);

	pasta_cover_finish(&l->cover);
	l->time = cover[1] + cover[2] + cover[3];
	s->collective += cover[2] + cover[3];
	s->exposed += cover[2];
	s->used += l->flags & USED ? 1 : 0;
	s->worked += l->flags & WORKED ? 1 : 0;
	l->allocated = l->flags & COUNTED ? l->allocated : level_peak(s, l, PASTA_LEVEL_BLOCK);
	l->held = level_peak(s, l, PASTA_LEVEL_HELD);
	l->held = reserved > l->held ? reserved : l->held;
	l->held = l->allocated > l->held ? l->allocated : l->held;
}

/* Computes the times of a line. If any operator of the run has kernels, the lines of all operators
 * show the time of their kernels instead of their host time. */
static void finish_line(struct summary *s, struct line *l)
{
	uint64_t time = l->time;

	if (l->key.part == PROCESSES) {
		l->time = l->end - l->begin;
		l->position = l->key.proc;
		s->begin = l->calls && (!s->did || l->begin < s->begin) ? l->begin : s->begin;
		s->end = l->end > s->end ? l->end : s->end;
		s->did += l->calls;
		s->processes++;
	} else if (l->key.part == DEVICES) {
		finish_device(s, l);
	} else if (l->key.part == OPS) {
		l->time = s->by_device ? l->device : time;
		l->device = s->by_device ? time : l->device;
		s->ops = true;
	}
}

static void add_level(const struct summary *s, uint32_t level, uint64_t bytes,
		      const struct line *of)
{
	struct line *l = line_of(s, MEMORY, 0, level);

	l->position = of ? 0 : level;
	l->bytes = bytes;
	l->of = of;
}

/* Adds rows about the memory of the device with the most held bytes. They show held bytes and, if a
 * framework reports them, reserved and allocated bytes. */
static void add_memory(const struct summary *s)
{
	size_t count;
	struct line **rows = pasta_group_sorted(s->lines, "-held -time -calls proc id", &count);
	const struct line *l = count && rows[0]->held ? rows[0] : NULL;
	bool reserves =
		l && pasta_ledger_has(s->ledger, l->key.proc, l->key.id, PASTA_LEVEL_SEGMENT);

	if (l)
		add_level(s, PASTA_LEVEL_HELD, l->held, l);
	if (reserves)
		add_level(s, PASTA_LEVEL_SEGMENT, level_peak(s, l, PASTA_LEVEL_SEGMENT), NULL);
	if (reserves || (l && l->flags & COUNTED && l->allocated != l->held))
		add_level(s, PASTA_LEVEL_BLOCK, l->allocated, NULL);
	free(rows);
}

static void finish_lines(struct summary *s)
{
	struct line *l;

	s->by_device = PASTA_SUM(s->lines, struct line, device) != 0;
	for (size_t at = 0; (l = pasta_group_next(s->lines, &at));)
		finish_line(s, l);
	add_memory(s);
	l = pasta_group_find(s->lines, &(struct line_key){COLLECTIVES});
	if (l)
		l->time = s->collective;
	if (l && s->collective)
		line_of(s, EXPOSED, 0, 0)->time = s->exposed;
}

/* Adds the kernels' roofs and the layers, which the diagnosis computes for its window. */
static void add_diagnosis(const struct summary *s)
{
	const struct pasta_work *w;
	const struct pasta_layer *y;

	for (size_t at = 0; (w = pasta_diagnosis_work(s->diagnosis, &at));) {
		struct line *l =
			pasta_group_find(s->lines, &(struct line_key){KERNELS, 0, w->kernel});

		if (l && w->roof > 0) {
			l->roof += w->roof;
			l->known += (double)w->ns;
		}
	}
	for (size_t at = 0; (y = pasta_diagnosis_layer(s->diagnosis, &at));) {
		struct line *l = line_of(s, LAYERS, y->phase, y->layer);

		l->name = y->layer;
		l->bound = y->ns > l->device ? y->bound : l->bound;
		l->device = y->ns > l->device ? y->ns : l->device;
		l->flops += y->flops;
		l->moved += y->bytes;
		add(l, y->ns, 0);
	}
}

/* A single process or device is named in table `why` only. If the run has layers, operators are not
 * shown. */
static bool may_show(const struct summary *s, const struct line *l)
{
	switch (l->key.part) {
	case PROCESSES:
		return s->processes > 1 || !s->facts.time;
	case DEVICES:
		return l->flags & WORKED && (s->worked > 1 || !s->facts.time);
	case OPS:
		return l->time && !s->layers;
	default:
		return l->key.part < KERNELS;
	}
}

/* Sets the number of rows of each part of table `other`, so that the table has at most `room`
 * rows. Shortens the longest part first, but never the part about memory. If several parts are the
 * longest, shortens the last of them. */
static void plan(const struct summary *s, size_t shown[PARTS], size_t room)
{
	size_t i, longest, all = 0;
	const struct line *l;

	for (size_t at = 0; (l = pasta_group_next(s->lines, &at));)
		shown[l->key.part] += may_show(s, l);
	for (i = 0; i < PARTS; i++) {
		if (shown[i] > part_rows[i])
			shown[i] = i == PROCESSES ? 1 : part_rows[i];
		all += shown[i];
	}
	for (; all > room; all--) {
		for (longest = i = 0; i < MEMORY; i++)
			longest = shown[i] >= shown[longest] ? i : longest;
		if (!shown[longest])
			break;
		shown[longest]--;
	}
}

/*
 * Selects the rows to show. The last row about processes represents all processes that are not
 * shown; the same applies to devices. The denominator of the column of_run is the run's time, times
 * the number of processes or devices that the row represents.
 */
static void show(const struct summary *s, size_t shown[PARTS])
{
	uint64_t ops = s->by_device ? s->worked : s->did,
		 times[PARTS] = {1, 1, ops, s->did, s->worked, s->worked, s->worked};
	struct line **rows, *last = NULL;
	size_t count;

	rows = pasta_group_sorted(s->lines, NULL, &count);
	for (size_t i = 0; i < count; i++) {
		struct line *l = rows[i];
		bool process = l->key.part == PROCESSES;

		if (!may_show(s, l))
			continue;
		l->shown = shown[l->key.part] > 0;
		shown[l->key.part] -= l->shown;
		l->position = (uint32_t)i;
		l->whole = times[l->key.part] * (s->end - s->begin);
		if (!last || l->shown || l->key.part > DEVICES) {
			last = l;
			continue;
		}
		last->others++;
		last->calls += l->calls;
		last->time = process ? l->whole : last->time + l->time;
		last->whole += process ? 0 : l->whole;
	}
	free(rows);
}

/* -- Tables of conclusions. Each function returns the number of lines that its table takes. -- */

static double share_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Adds up the use of all devices. */
static void add_facts(struct summary *s)
{
	struct facts *f = &s->facts;
	const struct pasta_usage *u;

	for (size_t at = 0; (u = pasta_diagnosis_usage(s->diagnosis, &at));) {
		if ((double)u->time > f->longest) {
			f->longest = (double)u->time;
			f->usage = u;
		}
		f->time += (double)u->time;
		for (size_t i = 0; i < PASTA_PART_COUNT; i++)
			f->part[i] += (double)u->part[i];
		for (size_t i = 0; i < PASTA_CAUSE_COUNT; i++)
			f->cause[i] += (double)u->cause[i];
	}
	for (size_t at = 0; f->usage && (f->window = pasta_diagnosis_window(s->diagnosis, &at));)
		if (f->window->proc == f->usage->proc)
			break;
}

/* Writes a list such as "compute 64%, idle 35%", the greatest share first: at most SHARES_MAX
 * shares of at least half a percent. */
static const char *shares_text(const char *(*name)(uint32_t), const double *parts, size_t count,
			       size_t most, double whole, char *text, size_t size)
{
	uint64_t listed = 0;
	size_t used = 0;

	*text = '\0';
	for (size_t n = 0; n < count && n < most; n++) {
		size_t best = count;

		for (size_t i = 0; i < count; i++)
			if (!(listed >> i & 1) && (best == count || parts[i] > parts[best]))
				best = i;
		if (share_of(parts[best], whole) < 0.5 || used >= size)
			break;
		listed |= UINT64_C(1) << best;
		used += (size_t)snprintf(text + used, size - used, "%s%s %.0f%%", n ? ", " : "",
					 name((uint32_t)best), share_of(parts[best], whole));
	}
	return text;
}

static const char *time_text(uint64_t ns, char text[32])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	size_t unit = 0;

	for (; value >= 999.95 && unit < 3; unit++)
		value /= 1000;
	snprintf(text, 32, "%.*f %s", unit ? 1 : 0, value, units[unit]);
	return text;
}

/* Returns the command, or the name of the process if the command is not known. */
static const char *program_text(const struct summary *s, struct pasta_out *out)
{
	const struct pasta_process_info *p = pasta_process(s->facts.usage->proc);

	return *p->command ? pasta_out_text(out, "%.1000s", p->command) : p->text;
}

/* Describes the devices and the steps: "2 x NVIDIA H200, 20 steps of 31.2 ms (p95 33.0 ms)". */
static const char *steps_text(const struct summary *s, struct pasta_out *out)
{
	const struct facts *f = &s->facts;
	const struct pasta_device_info *d = pasta_device(f->usage->proc, f->usage->device);
	const struct line *l = line_of(s, DEVICES, f->usage->proc, f->usage->device);
	const char *name = device_model(s, l), *model;
	char number[64] = "", p50[32], p95[32];
	uint64_t steps = f->window ? f->window->steps : 0;

	model = *name ? name : s->worked > 1 ? "devices" : d->text;
	if (s->worked > 1)
		snprintf(number, sizeof(number), *name ? "%llu x " : "%llu ",
			 (unsigned long long)s->worked);
	if (!steps)
		return pasta_out_text(out, "%s%.200s; no steps; %s from the first to the last work",
				      number, model, time_text((uint64_t)f->longest, p50));
	if (f->window->ahead)
		return pasta_out_text(out,
				      "%s%.200s; %llu steps of %s on average; the host runs ahead",
				      number, model, (unsigned long long)steps,
				      time_text((f->window->end - f->window->begin) / steps, p50));
	return pasta_out_text(out, "%s%.200s; %s%llu step%s of %s (p95 %s)", number, model,
			      f->window->all < 5 ? "only " : "", (unsigned long long)steps,
			      steps == 1 ? "" : "s", time_text(f->window->step_p50, p50),
			      time_text(f->window->step_p95, p95));
}

/* Returns the rule whose findings save most of the idle time; PASTA_RULE_NONE if a cause for which
 * there is no rule has a larger share of the window. */
static uint32_t idle_rule(const struct summary *s, double without_rule)
{
	double saving[PASTA_RULE_COUNT] = {0};
	const struct pasta_answer *a;
	uint32_t best = PASTA_RULE_NONE;

	saving[best] = without_rule;
	for (size_t at = 0; (a = pasta_diagnosis_answer(s->diagnosis, &at));)
		saving[a->rule] += a->share;
	for (uint32_t i = PASTA_RULE_LAUNCH_BOUND; i <= PASTA_RULE_RECOMPILATION; i++)
		best = saving[i] > saving[best] ? i : best;
	return best;
}

/* Returns why a device is idle for much of the time. */
static const char *idle_text(const struct summary *s)
{
	static const char *const texts[PASTA_RULE_COUNT] = {
		[PASTA_RULE_NONE] = "The recorded events do not show why.",
		[PASTA_RULE_LAUNCH_BOUND] = "The host launches too slowly: launch-bound.",
		[PASTA_RULE_HOST] = "The program's own code on the host is too slow.",
		[PASTA_RULE_SYNC] = "Synchronizations drain the queue.",
		[PASTA_RULE_DATA] = "Input arrives late.",
		[PASTA_RULE_ALLOCATOR] = "The host allocates memory.",
		[PASTA_RULE_RECOMPILATION] = "The host loads or compiles code.",
	};
	const double *cause = s->facts.cause;
	uint32_t most = cause[PASTA_CAUSE_KERNELS] > cause[PASTA_CAUSE_UNKNOWN]
				? PASTA_CAUSE_KERNELS
				: PASTA_CAUSE_UNKNOWN;
	uint32_t rule;

	most = cause[PASTA_CAUSE_DEPENDENCY] > cause[most] ? PASTA_CAUSE_DEPENDENCY : most;
	rule = idle_rule(s, share_of(cause[most], s->facts.time));
	if (rule == PASTA_RULE_NONE && most == PASTA_CAUSE_KERNELS)
		return "Many short gaps separate the kernels.";
	if (rule == PASTA_RULE_NONE && most == PASTA_CAUSE_DEPENDENCY)
		return "Streams wait for each other.";
	return texts[rule] ? texts[rule] : "";
}

static const char *why_text(const struct summary *s, struct pasta_out *out)
{
	const struct facts *f = &s->facts;
	double idle = share_of(f->part[PASTA_PART_IDLE], f->time);
	double exposed = share_of(f->part[PASTA_PART_COMMUNICATION], f->time);
	double copies = share_of(f->part[PASTA_PART_COPY], f->time);
	const char *noun = s->worked > 1 ? "Devices" : "Device";

	if (idle >= 25)
		return pasta_out_text(out, "%s busy %.0f%%. %s", noun, 100 - idle, idle_text(s));
	if (exposed >= 20 && exposed > copies)
		return pasta_out_text(
			out, "%s busy, but only with communication for %.0f%% of the time.", noun,
			exposed);
	if (copies >= 20)
		return pasta_out_text(out, "%s busy, but only with copies for %.0f%% of the time.",
				      noun, copies);
	return pasta_out_text(out, "%s busy %.0f%%: kernels limit the run.", noun, 100 - idle);
}

static size_t put_fact(struct pasta_table *t, const char *what, const char *text)
{
	pasta_cell_str(t, what);
	pasta_cell_str(t, text);
	return 1;
}

static size_t put_why(const struct summary *s, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {{.name = "why"}, {.name = "answer"}};
	const struct facts *f = &s->facts;
	struct pasta_table *t;
	char parts[256], causes[256];
	size_t lines = 1;

	if (!f->time)
		return 0;
	t = pasta_out_table(out, "why", columns, 2);
	lines += put_fact(t, "program", program_text(s, out));
	lines += put_fact(t, "device", steps_text(s, out));
	lines += put_fact(t, "why", why_text(s, out));
	shares_text(pasta_part_name, f->part, PASTA_PART_COUNT, 3, f->time, parts, sizeof(parts));
	shares_text(pasta_cause_name, f->cause, PASTA_CAUSE_COUNT, 2, f->time, causes,
		    sizeof(causes));
	lines += put_fact(t, f->window && f->window->steps ? "step" : "time",
			  pasta_out_text(out, "%s%s%s", parts, *causes ? "; idle: " : "", causes));
	return lines;
}

/* Returns the number of steps in the window of a process; 1 if it has no steps. */
static uint64_t steps_of(const struct summary *s, uint32_t proc)
{
	const struct pasta_window *w;
	size_t at = 0;

	while ((w = pasta_diagnosis_window(s->diagnosis, &at)) && w->proc != proc)
		;
	return w && w->steps ? w->steps : 1;
}

/* Reports the first findings of the diagnosis, and shows them in a table. */
static size_t put_findings(const struct summary *s, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{.name = "finding"},
		{.name = "what_to_do"},
		{.name = "saves_at_most", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "of_window", .type = PASTA_COLUMN_FLOAT, .unit = "%"},
	};
	const struct pasta_answer *a;
	struct pasta_table *t = NULL;
	size_t at = 0, row = 0;

	for (; row < FINDINGS_MAX && (a = pasta_diagnosis_answer(s->diagnosis, &at)); row++) {
		t = t ? t : pasta_out_table(out, "finding", columns, 4);
		pasta_cell_str(t, pasta_out_text(out, "%s%s%s", pasta_rule_name(a->rule),
						 *a->where ? ": " : "", a->where));
		pasta_cell_str(t, a->action);
		pasta_cell_int(t, (int64_t)(a->saving / steps_of(s, a->proc)));
		pasta_cell_float(t, a->share);
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = a->what,
				 .where = *a->where ? a->where : NULL,
				 .evidence = *a->evidence ? a->evidence : NULL, .action = a->action,
				 .saving = a->saving, .ref = {.table = "finding", .row = row});
	}
	return row ? HEAD + row : 0;
}

static void put_rate(struct pasta_table *t, double amount, uint64_t ns)
{
	if (amount > 0 && ns)
		pasta_cell_float(t, 1e9 * amount / (double)ns);
	else
		pasta_cell_none(t);
}

static const char *phase_name(uint32_t phase)
{
	static const char *const names[] = {"forward", "backward", "optimizer"};

	return phase < PASTA_TRAIN_COUNT ? names[phase] : "";
}

/* Returns the rows of a part, the longest first, and the sum of their times. The caller frees the
 * array. */
static struct line **longest_of(const struct summary *s, uint32_t part, size_t *count, double *sum)
{
	size_t all, n = 0;
	struct line **rows = pasta_group_sorted(s->lines, "-time -calls text proc id", &all);

	*sum = 0;
	for (size_t i = 0; i < all; i++) {
		if (rows[i]->key.part != part || !rows[i]->time)
			continue;
		*sum += (double)rows[i]->time;
		rows[n++] = rows[i];
	}
	*count = n;
	return rows;
}

static size_t put_layers(const struct summary *s, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{.name = "layer"},
		{.name = "phase"},
		{.name = "time", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "of_layers", .type = PASTA_COLUMN_FLOAT, .unit = "%"},
		{.name = "speed", .type = PASTA_COLUMN_FLOAT, .unit = "FLOP/s"},
		{.name = "bandwidth", .type = PASTA_COLUMN_FLOAT, .unit = "bytes/s"},
		{.name = "bound_by"},
	};
	struct pasta_table *t = NULL;
	size_t count, n;
	double sum;
	struct line **rows = longest_of(s, LAYERS, &count, &sum);

	for (n = 0; n < count && n < LAYERS_MAX; n++) {
		const struct line *l = rows[n];
		const char *bound = pasta_bound_name(l->bound);

		t = t ? t : pasta_out_table(out, "layer", columns, 7);
		pasta_cell_str(t, l->name ? pasta_str(l->name) : "(no module)");
		pasta_cell_str(t, phase_name(l->key.proc));
		pasta_cell_int(t, (int64_t)l->time);
		pasta_cell_float(t, share_of((double)l->time, sum));
		put_rate(t, l->flops, l->time);
		put_rate(t, l->moved, l->time);
		pasta_cell_str(t, bound ? bound : "");
	}
	free(rows);
	return n ? HEAD + n : 0;
}

static size_t put_kernels(const struct summary *s, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{.name = "kernel", .role = PASTA_ROLE_KERNEL},
		{.name = "calls", .type = PASTA_COLUMN_INT},
		{.name = "time", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "of_kernels", .type = PASTA_COLUMN_FLOAT, .unit = "%"},
		{.name = "of_roof", .type = PASTA_COLUMN_FLOAT, .unit = "%"},
	};
	struct pasta_table *t = NULL;
	size_t count, n;
	double sum;
	struct line **rows = longest_of(s, KERNELS, &count, &sum);

	for (n = 0; n < count && n < (s->layers ? LAYERS_MAX : KERNELS_MAX); n++) {
		const struct line *l = rows[n];

		t = t ? t : pasta_out_table(out, "kernel", columns, 5);
		pasta_cell_str(t, pasta_name(l->name));
		pasta_cell_int(t, (int64_t)l->calls);
		pasta_cell_int(t, (int64_t)l->time);
		pasta_cell_float(t, share_of((double)l->time, sum));
		if (l->known > 0)
			pasta_cell_float(t, share_of(l->roof, l->known));
		else
			pasta_cell_none(t);
	}
	free(rows);
	return n ? HEAD + n : 0;
}

static bool has_layers(const struct summary *s)
{
	const struct line *l;

	for (size_t at = 0; (l = pasta_group_next(s->lines, &at));)
		if (l->key.part == LAYERS && l->key.id)
			return true;
	return false;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct summary *s = state;
	uint64_t open = PASTA_SUM(s->lines, struct line, open);
	size_t shown[PARTS] = {0}, lines = FRAME + HEAD + (open > 0);

	finish_lines(s);
	add_diagnosis(s);
	add_facts(s);
	s->layers = has_layers(s);
	lines += put_why(s, out);
	lines += put_findings(s, out);
	lines += s->layers ? put_layers(s, out) : 0;
	lines += put_kernels(s, out);
	plan(s, shown, lines < LINES ? LINES - lines : 0);
	show(s, shown);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(open),
			 .what = "operators whose end is missing",
			 .evidence = "calls and times do not include operators without an end");
	return PASTA_SUM(s->lines, struct line, failed) ? -ENOMEM
							: pasta_out_groups(out, state, err);
}

static const struct pasta_diagnosis_def diagnosis = PASTA_DIAGNOSIS(struct summary, diagnosis);

#define KINDS                                                                                      \
	(PASTA_MASK(PROCESS) | PASTA_MASK(DEVICE) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) |        \
	 PASTA_MASK(SET) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) | PASTA_MASK(REGION) |        \
	 PASTA_MASK(COLLECTIVE) | PASTA_MASK(COUNTER))

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct summary, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
		     .on_alloc = on_alloc, .on_reserved = on_reserved);

PASTA_TOOL(.name = "summary", .summary = "what ran, why it is slow, and what to do, on one screen",
	   .events = KINDS, .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS,
	   .state_size = sizeof(struct summary), .open = open_, .event = on_event, .report = report,
	   .close = close_, .flags = PASTA_TOOL_SHARDED, .groups = groups, .ledger = &ledger,
	   .diagnosis = &diagnosis);
