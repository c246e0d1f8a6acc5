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
};

struct shape {
	struct kernel *kernel;
	uint32_t grid[3], block[3];
	uint64_t count, total, min, max;
};

#define LAST 64 /* shapes and names that were there last, a power of two */

struct kernels {
	struct kernel *last_kernels[LAST]; /* by name */
	struct shape *last_shapes[LAST];   /* by hash */
	struct pasta_map *kernels;	   /* by name */
	struct pasta_map *shapes;	   /* by hash, or the next number that is free */
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct kernels *k = state;

	(void)opts;
	k->kernels = pasta_map_new(sizeof(struct kernel));
	k->shapes = pasta_map_new(sizeof(struct shape));
	if (!k->kernels || !k->shapes)
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

/* A launch of a graph names no kernel; one without a name may be a copy. Their kernels, if they
 * are kernels, count by their records. */
static void on_launch(struct kernels *k, const struct pasta_event *ev)
{
	struct kernel *kernel;

	if (!ev->launch.name || ev->launch.graph)
		return;
	kernel = kernel_of(k, ev->launch.name);
	if (kernel)
		kernel->launches++;
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
	else
		on_kernel(state, ev);
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
}

/* -- Reporting. -- */

/* Executions that have no record; more records than launches is no loss: a filter may have left out
 * their launches. */
static uint64_t missing(const struct kernel *kernel)
{
	return kernel->launches > kernel->joined ? kernel->launches - kernel->joined : 0;
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
	pasta_cell_int(t, (int64_t)(count + missing(kernel)));
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

static void find_missing(const struct kernels *k, struct pasta_out *out)
{
	const struct kernel *kernel;
	uint64_t count = 0;
	size_t at = 0;

	while ((kernel = pasta_map_next(k->kernels, &at, NULL)))
		count += missing(kernel);
	pasta_out_count(out, PASTA_WARNING, count, "launches that have no record of their kernel",
			"they count as launches, but have no time, grid and block",
			"the program ended before they did, or their records were dropped");
}

static int report(void *state, struct pasta_out *out)
{
	struct kernels *k = state;
	int error = k->failed ? -ENOMEM : report_kernels(k, out);

	if (!error)
		error = report_shapes(k, out);
	find_missing(k, out);
	return error;
}

PASTA_TOOL(.name = "kernel_freq", .summary = "kernels by name and shape: launches and device time",
	   .events = PASTA_BIT(LAUNCH) | PASTA_BIT(KERNEL), .needs = PASTA_NEED_WHERE,
	   .state_size = sizeof(struct kernels), .open = open_, .event = on_event, .merge = merge,
	   .report = report, .close = close_);
