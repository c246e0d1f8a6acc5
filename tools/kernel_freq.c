/* kernel_freq - kernels by name and by shape: how often they run, and for how long. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

struct kernel {
	uint32_t name;
	struct pasta_hist *times; /* of its records */
	struct shape *shape;	  /* of the last one; NULL: none */
	uint64_t launches;	  /* events of launches that name it */
	uint64_t joined;	  /* those of them whose kernel has a record */
	uint64_t counted;	  /* those of processes that record no kernels: see settle */
};

struct shape {
	struct kernel *kernel;
	uint32_t grid[3], block[3];
	uint64_t count, total, min, max;
};

/* Where launches come from: kept for processes that record no kernels, and while that is not known.
 */
struct site {
	const struct pasta_scope *scope;
	uint32_t name, proc, stack;
	uint64_t count;
};

enum records { UNKNOWN, NONE, SOME };

struct process {
	enum records kernels;
};

#define LAST 64 /* shapes and names that were there last, a power of two */

struct kernels {
	struct kernel *last_kernels[LAST]; /* by name */
	struct shape *last_shapes[LAST];   /* by hash */
	struct pasta_map *kernels;	   /* by name */
	struct pasta_map *shapes;	   /* by hash, or the next number that is free */
	struct pasta_map *sites;	   /* likewise */
	struct pasta_map *processes;	   /* struct process, by number */
	struct process *process;	   /* of the last launch; NULL: none */
	uint32_t proc;			   /* its number */
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct kernels *k = state;

	(void)opts;
	k->kernels = pasta_map_new(sizeof(struct kernel));
	k->shapes = pasta_map_new(sizeof(struct shape));
	k->sites = pasta_map_new(sizeof(struct site));
	k->processes = pasta_map_new(sizeof(struct process));
	if (!k->kernels || !k->shapes || !k->sites || !k->processes)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct kernels *k = state;
	struct kernel *kernel;
	size_t at = 0;

	while (k->kernels && (kernel = pasta_map_next(k->kernels, &at, NULL)))
		pasta_hist_free(kernel->times);
	pasta_map_free(k->kernels);
	pasta_map_free(k->shapes);
	pasta_map_free(k->sites);
	pasta_map_free(k->processes);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static struct kernel *find_kernel(struct kernels *k, uint32_t name)
{
	struct kernel *kernel = pasta_map_add(k->kernels, name);

	if (kernel && !kernel->times) {
		kernel->name = name;
		kernel->times = pasta_hist_new();
	}
	if (kernel && kernel->times)
		return k->last_kernels[name % LAST] = kernel;
	k->failed = true;
	return NULL;
}

static inline struct kernel *kernel_of(struct kernels *k, uint32_t name)
{
	struct kernel *kernel = k->last_kernels[name % LAST];

	return kernel && kernel->name == name ? kernel : find_kernel(k, name);
}

static uint64_t hash(uint32_t name, const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t h = name;
	int i;

	for (i = 0; i < 3; i++)
		h = (h ^ pasta_pair(grid[i], block[i])) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
	return h;
}

static bool is_shape(const struct shape *shape, const struct kernel *kernel, const uint32_t grid[3],
		     const uint32_t block[3])
{
	uint32_t differ = 0;
	int i;

	/* Number by number: they have just been written so, and a wider load would wait for them.
	 */
	for (i = 0; i < 3; i++)
		differ |= (shape->grid[i] ^ grid[i]) | (shape->block[i] ^ block[i]);
	return !differ && shape->kernel == kernel;
}

/* Shapes whose hash is the same have the numbers after it: none is ever removed. */
static struct shape *find_shape(struct kernels *k, struct kernel *kernel, const uint32_t grid[3],
				const uint32_t block[3])
{
	uint64_t key = hash(kernel->name, grid, block);
	struct shape **last = &k->last_shapes[key % LAST], *shape = *last;

	if (shape && is_shape(shape, kernel, grid, block))
		return shape;
	while ((shape = pasta_map_add(k->shapes, key)) && shape->kernel &&
	       !is_shape(shape, kernel, grid, block))
		key++;
	if (!shape) {
		k->failed = true;
		return NULL;
	}
	if (!shape->kernel) {
		shape->kernel = kernel;
		memcpy(shape->grid, grid, sizeof(shape->grid));
		memcpy(shape->block, block, sizeof(shape->block));
		shape->min = UINT64_MAX;
	}
	return *last = shape;
}

/* Most kernels have the shape that they had the last time. */
static inline struct shape *shape_of(struct kernels *k, struct kernel *kernel,
				     const uint32_t grid[3], const uint32_t block[3])
{
	if (!kernel->shape || !is_shape(kernel->shape, kernel, grid, block))
		kernel->shape = find_shape(k, kernel, grid, block);
	return kernel->shape;
}

static void add(struct shape *into, uint64_t count, uint64_t total, uint64_t min, uint64_t max)
{
	into->count += count;
	into->total += total;
	into->min = min < into->min ? min : into->min;
	into->max = max > into->max ? max : into->max;
}

static struct process *process_of(struct kernels *k, uint32_t proc)
{
	if (!k->process || k->proc != proc) {
		k->process = pasta_map_add(k->processes, proc);
		k->proc = proc;
	}
	k->failed |= !k->process;
	return k->process;
}

/* It says what it records; its first launches may have come before. */
static void on_process(struct kernels *k, const struct pasta_event *ev)
{
	struct process *process = process_of(k, ev->proc);
	uint64_t kinds = ev->process.kinds;

	if (process)
		process->kernels =
			kinds & PASTA_BIT(LAUNCH) && !(kinds & PASTA_BIT(KERNEL)) ? NONE : SOME;
}

static bool is_site(const struct site *a, const struct site *b)
{
	return a->name == b->name && a->proc == b->proc && a->stack == b->stack &&
	       a->scope == b->scope;
}

/* Sites are found as shapes are. */
static void add_site(struct kernels *k, const struct site *from)
{
	const uint32_t at[3] = {from->proc, from->stack, from->scope ? from->scope->id : 0};
	uint64_t key = hash(from->name, at, at);
	struct site *site;

	while ((site = pasta_map_add(k->sites, key)) && site->count && !is_site(site, from))
		key++;
	if (!site) {
		k->failed = true;
		return;
	}
	if (!site->count) {
		*site = *from;
		return;
	}
	site->count += from->count;
}

/* A launch of a graph names no kernel; one without a name may be a copy. Their kernels, if they
 * are kernels, count by their records. */
static void on_launch(struct kernels *k, const struct pasta_event *ev)
{
	struct process *process;
	struct kernel *kernel;

	if (!ev->launch.name || ev->launch.graph)
		return;
	kernel = kernel_of(k, ev->launch.name);
	if (kernel)
		kernel->launches++;
	process = process_of(k, ev->proc);
	if (process && process->kernels != SOME)
		add_site(k, &(struct site){.scope = pasta_where_of(ev)->scope,
					   .name = ev->launch.name,
					   .proc = ev->proc,
					   .stack = ev->launch.stack,
					   .count = 1});
}

/* A record whose launch counts by itself. The launch has the name that the record has, mostly. */
static void join(struct kernels *k, struct kernel *kernel, const struct pasta_where *where)
{
	if (!(where->flags & PASTA_WHERE_LAUNCH) || where->flags & PASTA_WHERE_AGAIN ||
	    !where->name)
		return;
	if (where->name != kernel->name)
		kernel = kernel_of(k, where->name);
	if (kernel)
		kernel->joined++;
}

static void on_kernel(struct kernels *k, const struct pasta_event *ev)
{
	const struct pasta_kernel *r = &ev->kernel;
	const uint32_t grid[3] = {r->grid_x, r->grid_y, r->grid_z};
	const uint32_t block[3] = {r->block_x, r->block_y, r->block_z};
	struct kernel *kernel = kernel_of(k, r->name);
	struct shape *shape = kernel ? shape_of(k, kernel, grid, block) : NULL;

	if (!shape)
		return;
	add(shape, 1, r->dur, r->dur, r->dur);
	if (pasta_hist_add(kernel->times, r->dur, 1))
		k->failed = true;
	if (!r->node)
		join(k, kernel, pasta_where_of(ev));
}

static void on_event(void *state, const struct pasta_event *ev)
{
	if (ev->kind == PASTA_LAUNCH)
		on_launch(state, ev);
	else if (ev->kind == PASTA_PROCESS)
		on_process(state, ev);
	else
		on_kernel(state, ev);
}

static void merge_sites(struct kernels *a, const struct kernels *b)
{
	const struct process *process;
	const struct site *site;
	uint64_t proc;
	size_t at = 0;

	while ((process = pasta_map_next(b->processes, &at, &proc))) {
		struct process *ours = process_of(a, (uint32_t)proc);

		if (ours && process->kernels)
			ours->kernels = process->kernels;
	}
	at = 0;
	while ((site = pasta_map_next(b->sites, &at, NULL)))
		add_site(a, site);
}

static void merge(void *into, const void *from)
{
	const struct kernels *b = from;
	struct kernels *a = into;
	const struct kernel *kernel;
	const struct shape *shape;
	size_t at = 0;

	a->failed |= b->failed;
	while ((kernel = pasta_map_next(b->kernels, &at, NULL))) {
		struct kernel *sum = kernel_of(a, kernel->name);

		if (!sum || !kernel->times || pasta_hist_merge(sum->times, kernel->times)) {
			a->failed = true;
			return;
		}
		sum->launches += kernel->launches;
		sum->joined += kernel->joined;
	}
	at = 0;
	while ((shape = pasta_map_next(b->shapes, &at, NULL))) {
		struct kernel *ours = kernel_of(a, shape->kernel->name);
		struct shape *sum = ours ? find_shape(a, ours, shape->grid, shape->block) : NULL;

		if (sum)
			add(sum, shape->count, shape->total, shape->min, shape->max);
	}
	merge_sites(a, b);
}

/* -- Reporting. -- */

/* Of a process that records no kernels, by what it said. */
static bool is_counted(const struct kernels *k, const struct site *site)
{
	const struct process *process = pasta_map_find(k->processes, site->proc);

	return process && process->kernels == NONE;
}

/* All is known now: which launches can have no record. */
static void settle(struct kernels *k)
{
	const struct site *site;
	size_t at = 0;

	while ((site = pasta_map_next(k->sites, &at, NULL))) {
		struct kernel *kernel = is_counted(k, site) ? kernel_of(k, site->name) : NULL;

		if (kernel)
			kernel->counted += site->count;
	}
}

/* Executions that should have a record and have none; more records than launches is no loss: a
 * filter may have left out their launches. */
static uint64_t missing(const struct kernel *kernel)
{
	uint64_t others = kernel->launches - kernel->counted;

	return others > kernel->joined ? others - kernel->joined : 0;
}

static const char *label(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_total(const void *a, const void *b)
{
	const struct kernel *x = *(struct kernel *const *)a, *y = *(struct kernel *const *)b;
	int order = compare(pasta_hist_sum(x->times), pasta_hist_sum(y->times));

	order = order ? order : compare(x->counted, y->counted);
	return order ? order : strcmp(label(x->name), label(y->name));
}

static int by_shape_total(const void *a, const void *b)
{
	const struct shape *x = *(struct shape *const *)a, *y = *(struct shape *const *)b;
	int order = compare(x->total, y->total);

	order = order ? order : strcmp(label(x->kernel->name), label(y->kernel->name));
	order = order ? order : memcmp(x->grid, y->grid, sizeof(x->grid));
	return order ? order : memcmp(x->block, y->block, sizeof(x->block));
}

static void put_kernel(struct pasta_table *t, const struct kernel *kernel, uint64_t all)
{
	static const double quantiles[] = {0.5, 0.95, 0.99};
	const struct pasta_hist *h = kernel->times;
	uint64_t count = pasta_hist_count(h), total = pasta_hist_sum(h);
	int i;

	pasta_cell_str(t, label(kernel->name));
	pasta_cell_int(t, (int64_t)(count + missing(kernel) + kernel->counted));
	if (!count) {
		for (i = 0; i < 8; i++)
			pasta_cell_none(t);
		return;
	}
	pasta_cell_int(t, (int64_t)total);
	pasta_cell_int(t, (int64_t)(count ? total / count : 0));
	pasta_cell_int(t, (int64_t)pasta_hist_min(h));
	pasta_cell_int(t, (int64_t)pasta_hist_max(h));
	for (i = 0; i < 3; i++)
		pasta_cell_int(t, (int64_t)pasta_hist_quantile(h, quantiles[i]));
	pasta_cell_float(t, all ? 100.0 * (double)total / (double)all : 0.0);
}

static int report_kernels(const struct kernels *k, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL}, {"launches", PASTA_INT, NULL},
		{"total", PASTA_INT, "ns"},	{"mean", PASTA_INT, "ns"},
		{"min", PASTA_INT, "ns"},	{"max", PASTA_INT, "ns"},
		{"p50", PASTA_INT, "ns"},	{"p95", PASTA_INT, "ns"},
		{"p99", PASTA_INT, "ns"},	{"share", PASTA_FLOAT, "%"},
	};
	struct kernel **kernels = pasta_map_sorted(k->kernels, by_total);
	size_t i, count = pasta_map_count(k->kernels);
	struct pasta_table *t;
	uint64_t all = 0;

	if (!kernels)
		return -ENOMEM;
	t = pasta_out_table(out, "kernels", columns, 10);
	for (i = 0; i < count; i++)
		all += pasta_hist_sum(kernels[i]->times);
	for (i = 0; i < count; i++)
		put_kernel(t, kernels[i], all);
	free(kernels);
	return 0;
}

/* "128,1,1"; "auto" where the program left it to the runtime. */
static void put_size(struct pasta_table *t, const uint32_t size[3])
{
	char text[40];

	snprintf(text, sizeof(text), "%u,%u,%u", size[0], size[1], size[2]);
	pasta_cell_str(t, size[0] ? text : "auto");
}

static int report_shapes(const struct kernels *k, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL}, {"grid", PASTA_STRING, NULL},
		{"block", PASTA_STRING, NULL},	{"launches", PASTA_INT, NULL},
		{"total", PASTA_INT, "ns"},	{"mean", PASTA_INT, "ns"},
		{"min", PASTA_INT, "ns"},	{"max", PASTA_INT, "ns"},
	};
	struct shape **shapes = pasta_map_sorted(k->shapes, by_shape_total);
	size_t i, count = pasta_map_count(k->shapes);
	struct pasta_table *t;

	if (!shapes)
		return -ENOMEM;
	t = pasta_out_table(out, "kernels_by_shape", columns, 8);
	for (i = 0; i < count; i++) {
		pasta_cell_str(t, label(shapes[i]->kernel->name));
		put_size(t, shapes[i]->grid);
		put_size(t, shapes[i]->block);
		pasta_cell_int(t, (int64_t)shapes[i]->count);
		pasta_cell_int(t, (int64_t)shapes[i]->total);
		pasta_cell_int(t, (int64_t)(shapes[i]->total / shapes[i]->count));
		pasta_cell_int(t, (int64_t)shapes[i]->min);
		pasta_cell_int(t, (int64_t)shapes[i]->max);
	}
	free(shapes);
	return 0;
}

#define TEXT 300  /* bytes of a label */
#define FRAMES 16 /* of a call path, from the innermost, that are looked at */

/* A site as people read it: of one text there may be many. */
struct place {
	const char *kernel;
	char *regions, *from; /* "": none */
	uint64_t count;
};

/* The innermost function whose source is known, or else the innermost; "" for what is no path. */
static const char *stack_text(const struct site *site, char *text)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i = 0, count = pasta_stack_frames(site->proc, site->stack, frames, FRAMES);

	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	return count ? pasta_stack_frame_text(&frames[i < count ? i : 0], text, TEXT) : "";
}

static int by_text(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	order = order ? order : strcmp(x->regions, y->regions);
	return order ? order : strcmp(x->from, y->from);
}

static int by_count(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare(x->count, y->count);

	return order ? order : by_text(a, b);
}

static void places_free(struct place *places, size_t count)
{
	while (count--) {
		free(places[count].regions);
		free(places[count].from);
	}
	free(places);
}

/* NULL when out of memory. */
static struct place *places_of(const struct kernels *k, size_t *count)
{
	struct place *places = calloc(pasta_map_count(k->sites) + 1, sizeof(*places));
	const struct site *site;
	char text[TEXT];
	size_t at = 0;

	*count = 0;
	while (places && (site = pasta_map_next(k->sites, &at, NULL))) {
		struct place *p = &places[*count];

		if (!is_counted(k, site))
			continue;
		++*count;
		p->kernel = label(site->name);
		p->count = site->count;
		p->regions = strdup(pasta_scope_regions(site->scope, text, TEXT));
		p->from = strdup(stack_text(site, text));
		if (!p->regions || !p->from) {
			places_free(places, *count);
			return NULL;
		}
	}
	return places;
}

/* The counts of those that read alike go to the first; the others have 0 then. */
static void fold(struct place *places, size_t count)
{
	size_t i, first = 0;

	qsort(places, count, sizeof(*places), by_text);
	for (i = 1; i < count; i++) {
		if (by_text(&places[first], &places[i])) {
			first = i;
			continue;
		}
		places[first].count += places[i].count;
		places[i].count = 0;
	}
	qsort(places, count, sizeof(*places), by_count);
}

/* Only where launches were counted: else the kernels' own tables say more. */
static int report_places(const struct kernels *k, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL},
		{"region", PASTA_STRING, NULL},
		{"from", PASTA_STRING, NULL},
		{"launches", PASTA_INT, NULL},
	};
	size_t i, count;
	struct place *places = places_of(k, &count);
	struct pasta_table *t;

	if (!places)
		return -ENOMEM;
	fold(places, count);
	t = count ? pasta_out_table(out, "launches_by_place", columns, 4) : NULL;
	for (i = 0; i < count && places[i].count; i++) {
		pasta_cell_str(t, places[i].kernel);
		pasta_cell_str(t, places[i].regions);
		pasta_cell_str(t, places[i].from);
		pasta_cell_int(t, (int64_t)places[i].count);
	}
	places_free(places, count);
	return 0;
}

static void find_missing(const struct kernels *k, struct pasta_out *out)
{
	const struct kernel *kernel;
	uint64_t count = 0;
	size_t at = 0;

	while ((kernel = pasta_map_next(k->kernels, &at, NULL)))
		count += missing(kernel);
	pasta_out_count(out, PASTA_WARNING, count, "launches that have no record of their kernel",
			"they count as launches, but have no time, grid and block",
			"the program ended before they did, their records were dropped, or memory "
			"accesses were counted, which leaves CUDA's kernels without times");
}

static int report(void *state, struct pasta_out *out)
{
	struct kernels *k = state;
	int error;

	settle(k);
	error = k->failed ? -ENOMEM : report_kernels(k, out);
	if (!error)
		error = report_shapes(k, out);
	if (!error)
		error = report_places(k, out);
	find_missing(k, out);
	return error;
}

PASTA_TOOL(.name = "kernel_freq", .summary = "kernels by name and shape: launches and device time",
	   .events = PASTA_BIT(LAUNCH) | PASTA_BIT(KERNEL) | PASTA_BIT(PROCESS),
	   .needs = PASTA_NEED_WHERE, .state_size = sizeof(struct kernels), .open = open_,
	   .event = on_event, .merge = merge, .report = report, .close = close_);
