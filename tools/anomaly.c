/* anomaly - reports steps and kernels that take longer than usual, and what changed in them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <pasta/tool.h>

#ifndef KERNELS /* tests set a lower limit */
/* maximum number of kernels, by name and grid, that are counted separately in one shard */
#define KERNELS (1 << 14)
#endif
#define SUSPECTS 4  /* number of kernels that are stored for a step */
#define BINS 256    /* maximum number of bins of a kernel's series */
#define LAUNCHES 20 /* a kernel with fewer launches has no distribution */
#define RARE 5	    /* outliers are at most this % of a kernel's launches */
#define LEAST 0.05  /* least standard deviation of a kernel's time, as a fraction of its median */
#define LEAST_NS 200.0 /* least standard deviation in ns: about the resolution of device times */
#define MINOR 0.1      /* kernels with less than this % of the time of all kernels are not judged */
#define WORTH 1	       /* report what costs at least this % of the window */
#define CHANGES 8      /* maximum number of lasting changes of one series */

/* Launches by the step in which they begin. The window begins with step 0 or 2, which is known
 * only at the end of the run. */
enum bucket { NO_STEP, EARLY, LATER, BUCKETS };

struct kernel_key {
	uint32_t proc, device, name, grid[3];
};

struct kernel {
	struct kernel_key key;
	uint32_t id; /* of the interned key, the same in all shards */
	uint32_t reserved;
	struct pasta_hist *time[BUCKETS];
	struct pasta_hist *steps; /* ns of each step with launches, from step 2 on */
	/* the current step, plus 1; ns of launches in this step; the usual ns of a step */
	uint64_t step, step_ns, usual;
	/* The series: each bin is the mean of `width` values, and the latest one is incomplete. The
	 * values are times of launches or, once the process has steps, the time of each step from
	 * step 2 on: a step may launch a kernel several times with different inputs. */
	struct pasta_list bins; /* of uint64_t */
	uint64_t width, bin_count, bin_sum;
	uint64_t stepped; /* 1: the values are times of steps */
};

/* A kernel that takes longer in a step than before. */
struct suspect {
	uint64_t ns, excess;
	uint32_t kernel; /* its id */
	uint32_t reserved;
};

/* A step of a device, from step 2 on. */
struct note {
	struct {
		uint32_t proc, device, low, high; /* the number of the step in two parts */
	} key;
	struct pasta_list suspects;
	uint64_t allocs, frees, loads, bytes;
};

/* What the steps of a device usually do. Computed when the tool reports. */
struct usual {
	uint32_t key[2]; /* process, device */
	struct pasta_hist *allocs, *frees, *loads;
	uint64_t steps, odd, excess, time;
};

/* An anomalous step. Computed when the tool reports. */
struct odd_step {
	struct {
		uint32_t proc, device, low, high;
	} key;
	uint32_t part, cause, kernel, reserved;
	uint64_t number, ns, median, excess, grew, kernel_grew;
	uint64_t allocs, frees, loads, usual_allocs, usual_frees, usual_loads;
	double score;
};

/* A kernel with outliers. Computed when the tool reports. */
struct odd_kernel {
	struct kernel_key key;
	uint64_t launches, median, mad, limit, odd, excess, max;
	double score; /* of the longest launch */
};

/* A lasting change. Computed when the tool reports. */
struct change {
	struct {
		uint32_t proc, device, name, grid[3];
		uint32_t low, high; /* number of the step or launch in two parts */
	} key;
	uint64_t at, of, before, after, cost;
	uint32_t in; /* 0: `at` is the number of a step; 1: of a launch */
	uint32_t reserved;
};

struct loop {
	uint32_t key; /* process */
	uint32_t reserved;
	uint64_t iterations;
};

/* A list of durations. */
struct values {
	uint64_t key;
	struct pasta_list list;
};

struct anomaly {
	struct pasta_diagnosis *diagnosis;
	struct pasta_group *kernels, *notes, *loops, *values;
	struct pasta_group *usual, *odd_steps, *odd_kernels, *changes;
	uint32_t other; /* "(other)": the name of all kernels past the limit */
};

/* -- Tables -- */

static double step_score(const void *row, const void *state)
{
	return ((const struct odd_step *)row)->score;
}

static double kernel_score(const void *row, const void *state)
{
	return ((const struct odd_kernel *)row)->score;
}

static const char *grew_text(const void *row, const void *state, char *text, size_t size)
{
	const struct odd_step *s = row;

	if (!s->grew)
		return NULL;
	if (s->part == PASTA_PART_IDLE)
		snprintf(text, size, "idle: %s", pasta_cause_name(s->cause));
	else
		snprintf(text, size, "%s", pasta_part_name(s->part));
	return text;
}

/* Appends "3 allocations (usually 1)" if there are more than usual. */
static size_t memory_part(char *text, size_t size, size_t at, uint64_t count, uint64_t usual,
			  const char *what)
{
	if (count <= usual || at >= size)
		return at;
	return at + (size_t)snprintf(text + at, size - at,
				     "%s%" PRIu64 " %s%s (usually %" PRIu64 ")", at ? ", " : "",
				     count, what, count == 1 ? "" : "s", usual);
}

static const char *memory_text(const void *row, const void *state, char *text, size_t size)
{
	const struct odd_step *s = row;
	size_t at = memory_part(text, size, 0, s->allocs, s->usual_allocs, "allocation");

	at = memory_part(text, size, at, s->frees, s->usual_frees, "free");
	at = memory_part(text, size, at, s->loads, s->usual_loads, "module load");
	return at ? text : NULL;
}

static const char *subject_text(const void *row, const void *state, char *text, size_t size)
{
	const struct change *c = row;

	snprintf(text, size, "%s", c->key.name ? pasta_str(c->key.name) : "steps");
	return text;
}

static const char *grid_text(const void *row, const void *state, char *text, size_t size)
{
	const struct change *c = row;

	snprintf(text, size, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, c->key.grid[0], c->key.grid[1],
		 c->key.grid[2]);
	return c->key.name ? text : NULL;
}

static double change_percent(const void *row, const void *state)
{
	const struct change *c = row;

	return c->before ? 100 * ((double)c->after / (double)c->before - 1) : NAN;
}

static const struct pasta_member odd_step_members[] = {
	PASTA_MEMBER(PROCESS, struct odd_step, key.proc, .column = "process"),
	PASTA_MEMBER(DEVICE, struct odd_step, key.device, .column = "device"),
	PASTA_MEMBER(U64, struct odd_step, number, .column = "step"),
	PASTA_MEMBER(U64, struct odd_step, ns, .unit = "ns", .column = "time"),
	PASTA_MEMBER(U64, struct odd_step, median, .unit = "ns", .column = "median"),
	PASTA_MEMBER(U64, struct odd_step, excess, .unit = "ns", .column = "excess"),
	PASTA_MEMBER_BY(RATIO, .ratio = step_score, .column = "score"),
	PASTA_MEMBER_BY(TEXT, .text = grew_text, .column = "grew"),
	PASTA_MEMBER(U64, struct odd_step, grew, .unit = "ns", .column = "by"),
	PASTA_MEMBER(NAME, struct odd_step, kernel, .column = "kernel", .role = PASTA_ROLE_KERNEL,
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(U64, struct odd_step, kernel_grew, .unit = "ns", .column = "kernel_by",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(TEXT, .text = memory_text, .column = "memory"),
	PASTA_MEMBER(U32, struct odd_step, key.low),
	PASTA_MEMBER(U32, struct odd_step, key.high),
	{0},
};

static const struct pasta_member odd_kernel_members[] = {
	PASTA_MEMBER(PROCESS, struct odd_kernel, key.proc, .column = "process"),
	PASTA_MEMBER(DEVICE, struct odd_kernel, key.device, .column = "device"),
	PASTA_MEMBER(NAME, struct odd_kernel, key.name, .column = "kernel",
		     .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(DIM3, struct odd_kernel, key.grid, .column = "grid"),
	PASTA_MEMBER(U64, struct odd_kernel, launches, .column = "launches"),
	PASTA_MEMBER(U64, struct odd_kernel, median, .unit = "ns", .column = "median"),
	PASTA_MEMBER(U64, struct odd_kernel, mad, .unit = "ns", .column = "mad"),
	PASTA_MEMBER(U64, struct odd_kernel, limit, .unit = "ns", .column = "limit"),
	PASTA_MEMBER(U64, struct odd_kernel, odd, .column = "odd"),
	PASTA_MEMBER(U64, struct odd_kernel, excess, .unit = "ns", .column = "excess"),
	PASTA_MEMBER(U64, struct odd_kernel, max, .unit = "ns", .column = "max"),
	PASTA_MEMBER_BY(RATIO, .ratio = kernel_score, .column = "score"),
	{0},
};

static const char *const change_units[] = {"steps", "launches", NULL};

static const struct pasta_member change_members[] = {
	PASTA_MEMBER(PROCESS, struct change, key.proc, .column = "process"),
	PASTA_MEMBER(DEVICE, struct change, key.device, .column = "device"),
	PASTA_MEMBER(NAME, struct change, key.name),
	PASTA_MEMBER_BY(TEXT, .text = subject_text, .column = "what"),
	PASTA_MEMBER(DIM3, struct change, key.grid),
	PASTA_MEMBER_BY(TEXT, .text = grid_text, .column = "grid"),
	PASTA_MEMBER(ENUM, struct change, in, .names = change_units, .column = "in"),
	PASTA_MEMBER(U64, struct change, at, .column = "from"),
	PASTA_MEMBER(U64, struct change, of, .column = "of"),
	PASTA_MEMBER(U64, struct change, before, .unit = "ns", .column = "before"),
	PASTA_MEMBER(U64, struct change, after, .unit = "ns", .column = "after"),
	PASTA_MEMBER_BY(RATIO, .ratio = change_percent, .unit = "%", .column = "change"),
	PASTA_MEMBER(U64, struct change, cost, .unit = "ns", .column = "cost"),
	PASTA_MEMBER(U32, struct change, key.low),
	PASTA_MEMBER(U32, struct change, key.high),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct anomaly, odd_steps, struct odd_step, odd_step_members, .table = "steps",
		    .order = "-excess process device step"),
	PASTA_GROUP(struct anomaly, changes, struct change, change_members, .table = "changes",
		    .order = "-cost process device what from", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct anomaly, odd_kernels, struct odd_kernel, odd_kernel_members,
		    .table = "kernels", .order = "-excess process device kernel grid",
		    .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP_HIDDEN(
		struct anomaly, kernels, struct kernel, PASTA_MEMBER(U32, struct kernel, id),
		PASTA_MEMBER(HIST, struct kernel, time[NO_STEP]),
		PASTA_MEMBER(HIST, struct kernel, time[EARLY]),
		PASTA_MEMBER(HIST, struct kernel, time[LATER]),
		PASTA_MEMBER(HIST, struct kernel, steps), PASTA_SUMS(struct kernel, step, usual),
		PASTA_MEMBER(LIST, struct kernel, bins, .item_size = sizeof(uint64_t)),
		PASTA_SUMS(struct kernel, width, stepped)),
	PASTA_GROUP_HIDDEN(struct anomaly, notes, struct note,
			   PASTA_MEMBER(LIST, struct note, suspects,
					.item_size = sizeof(struct suspect)),
			   PASTA_SUMS(struct note, allocs, bytes)),
	PASTA_GROUP_HIDDEN(struct anomaly, loops, struct loop,
			   PASTA_MEMBER(SUM, struct loop, iterations)),
	PASTA_GROUP_HIDDEN(struct anomaly, values, struct values,
			   PASTA_MEMBER(LIST, struct values, list, .item_size = sizeof(uint64_t))),
	PASTA_GROUP_HIDDEN(
		struct anomaly, usual, struct usual, PASTA_MEMBER(HIST, struct usual, allocs),
		PASTA_MEMBER(HIST, struct usual, frees), PASTA_MEMBER(HIST, struct usual, loads)),
	{0},
};

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct anomaly *a = state;

	a->other = pasta_group_intern(a->kernels, "(other)", 7);
	return 0;
}

static struct note *note_of(struct anomaly *a, uint32_t proc, uint32_t device, uint64_t step)
{
	return PASTA_ROW(a->notes, struct note, proc, device, (uint32_t)step,
			 (uint32_t)(step >> 32));
}

/* Stores a kernel among the suspects of a step, if its excess is among the greatest. */
static void suspect(struct anomaly *a, const struct kernel *k, uint64_t step, uint64_t excess)
{
	struct note *note = note_of(a, k->key.proc, k->key.device, step);
	struct suspect *s = note->suspects.items, *least = s;

	if (note->suspects.count < SUSPECTS) {
		least = pasta_group_append(a->notes, &note->suspects, sizeof(*s));
	} else {
		for (uint32_t i = 1; i < SUSPECTS; i++)
			least = s[i].excess < least->excess ? &s[i] : least;
		if (least->excess >= excess)
			return;
	}
	*least = (struct suspect){k->step_ns, excess, k->id, 0};
}

/* Adds a value to the series. When the series is full, pairs of bins become one. */
static void add_bin(struct anomaly *a, struct kernel *k, uint64_t ns)
{
	uint64_t *bins;

	k->width = k->width ? k->width : 1;
	k->bin_sum = k->bin_sum + ns < ns ? UINT64_MAX : k->bin_sum + ns;
	if (++k->bin_count < k->width)
		return;
	bins = pasta_group_append(a->kernels, &k->bins, sizeof(*bins));
	*bins = k->bin_sum / k->width;
	k->bin_sum = k->bin_count = 0;
	if (k->bins.count < BINS)
		return;
	bins = k->bins.items;
	for (uint32_t i = 0; i < BINS / 2; i++)
		bins[i] = bins[2 * i] / 2 + bins[2 * i + 1] / 2 +
			  ((bins[2 * i] & 1) + (bins[2 * i + 1] & 1)) / 2;
	k->bins.count = BINS / 2;
	k->width *= 2;
}

/* Ends the current step of a kernel. */
static void end_step(struct anomaly *a, struct kernel *k)
{
	uint64_t count;

	if (k->step > 2) {
		if (k->step_ns > k->usual)
			suspect(a, k, k->step - 1, k->step_ns - k->usual);
		pasta_group_hist(a->kernels, &k->steps, k->step_ns);
		add_bin(a, k, k->step_ns);
		count = k->steps ? pasta_hist_count(k->steps) : 1;
		/* The median changes less and less often. */
		if (!(count & (count - 1)))
			k->usual = k->steps ? pasta_hist_quantile(k->steps, 0.5) : 0;
	}
	k->step = 0;
	k->step_ns = 0;
}

static void reset_bins(struct kernel *k)
{
	k->bins.count = 0;
	k->width = k->bin_count = k->bin_sum = 0;
}

static struct kernel *kernel_of(struct anomaly *a, const struct pasta_event *ev)
{
	const struct pasta_kernel_record *r = &ev->kernel;
	const struct kernel_key key = {ev->proc, r->device, r->name, PASTA_GRID(r)};
	const struct kernel_key other = {ev->proc, r->device, a->other, {0}};
	struct kernel *k = pasta_group_count(a->kernels) < KERNELS
				   ? pasta_group_row(a->kernels, &key)
				   : pasta_group_find(a->kernels, &key);

	k = k ? k : pasta_group_row(a->kernels, &other);
	if (!k->id)
		k->id = pasta_group_intern(a->kernels, &k->key, sizeof(k->key));
	return k;
}

static void on_kernel(struct anomaly *a, const struct pasta_event *ev)
{
	struct kernel *k = kernel_of(a, ev);
	uint64_t step = pasta_diagnosis_current(a->diagnosis), dur = ev->kernel.dur;
	enum bucket bucket = step == PASTA_NO_STEP ? NO_STEP : step < 2 ? EARLY : LATER;

	pasta_group_hist(a->kernels, &k->time[bucket], dur);
	if (step == PASTA_NO_STEP) {
		add_bin(a, k, dur);
		return;
	}
	if (!k->stepped)
		reset_bins(k);
	k->stepped = 1;
	if (k->step != step + 1)
		end_step(a, k);
	k->step = step + 1;
	k->step_ns = k->step_ns + dur < dur ? UINT64_MAX : k->step_ns + dur;
}

/* Counts memory that the framework or the program allocates from the driver, and loaded code. */
static void on_memory(struct anomaly *a, const struct pasta_event *ev)
{
	uint64_t step = pasta_diagnosis_current(a->diagnosis);
	bool alloc = ev->kind == PASTA_KIND_ALLOC, load = ev->kind == PASTA_KIND_MODULE;
	uint32_t device = alloc ? ev->alloc.device : load ? ev->module.device : ev->free.device;
	struct note *note;

	if (step == PASTA_NO_STEP || step < 2 || device == PASTA_MODULE_HOST ||
	    (load && ev->sub != PASTA_MODULE_LOAD) || (alloc && ev->alloc.parent) ||
	    (!load && ev->sub == PASTA_ALLOC_POOL))
		return;
	note = note_of(a, ev->proc, device, step);
	note->allocs += alloc;
	note->loads += load;
	note->frees += !alloc && !load;
	if (alloc)
		note->bytes = note->bytes + ev->alloc.bytes < note->bytes
				      ? UINT64_MAX
				      : note->bytes + ev->alloc.bytes;
}

/* All earlier events belong to no step. */
static void restart(struct anomaly *a, uint32_t proc)
{
	struct kernel *k;
	struct note *note;

	for (size_t at = 0; (k = pasta_group_next(a->kernels, &at));) {
		if (k->key.proc != proc)
			continue;
		for (unsigned int i = EARLY; i < BUCKETS; i++) {
			if (k->time[NO_STEP] && k->time[i]) {
				if (pasta_hist_merge(k->time[NO_STEP], k->time[i]) == -ENOMEM)
					pasta_group_fail(a->kernels, -ENOMEM);
				pasta_hist_free(k->time[i]);
			} else if (k->time[i]) {
				k->time[NO_STEP] = k->time[i];
			}
			k->time[i] = NULL;
		}
		pasta_hist_free(k->steps);
		k->steps = NULL;
		k->step = k->step_ns = k->usual = k->stepped = 0;
		reset_bins(k);
	}
	for (size_t at = 0; (note = pasta_group_next(a->notes, &at));)
		if (note->key.proc == proc) {
			note->suspects.count = 0;
			note->allocs = note->frees = note->loads = note->bytes = 0;
		}
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct anomaly *a = state;

	if (ev->kind == PASTA_KIND_KERNEL)
		on_kernel(a, ev);
	else if (ev->kind != PASTA_KIND_ITERATION)
		on_memory(a, ev);
	else if (!PASTA_ROW(a->loops, struct loop, ev->proc)->iterations++)
		restart(a, ev->proc);
}

/* -- Steps of the report -- */

static const struct pasta_window *window_of(const struct anomaly *a, uint32_t proc)
{
	const struct pasta_window *w;

	for (size_t at = 0; (w = pasta_diagnosis_window(a->diagnosis, &at));)
		if (w->proc == proc)
			return w;
	return NULL;
}

/* Returns the median of `steps` values. The histogram contains only the values above 0. */
static uint64_t median_with_zeros(const struct pasta_hist *hist, uint64_t steps)
{
	uint64_t count = hist ? pasta_hist_count(hist) : 0, zeros = steps - count, rank;

	if (!count || count > steps)
		return count ? pasta_hist_quantile(hist, 0.5) : 0;
	rank = steps - steps / 2;
	return rank <= zeros ? 0
			     : pasta_hist_quantile(hist, (double)(rank - zeros) / (double)count);
}

static void add_usual(struct anomaly *a, struct pasta_hist **hist, uint64_t count)
{
	if (count)
		pasta_group_hist(a->usual, hist, count);
}

/* Counts the memory events of all steps of the windows. */
static void count_usual(struct anomaly *a)
{
	const struct pasta_window *w;
	const struct note *note;

	for (size_t at = 0; (note = pasta_group_next(a->notes, &at));) {
		struct usual *u =
			PASTA_ROW(a->usual, struct usual, note->key.proc, note->key.device);

		add_usual(a, &u->allocs, note->allocs);
		add_usual(a, &u->frees, note->frees);
		add_usual(a, &u->loads, note->loads);
		w = u->steps ? NULL : window_of(a, note->key.proc);
		u->steps = w ? w->steps : u->steps;
	}
}

/* Finds the suspect that exceeds its median step by the longest time. */
static void blame_kernel(const struct anomaly *a, struct odd_step *s, const struct note *note,
			 uint64_t steps)
{
	const struct suspect *suspects = note->suspects.items;

	for (uint32_t i = 0; i < note->suspects.count; i++) {
		size_t size;
		const char *key = pasta_bytes(suspects[i].kernel, &size);
		const struct kernel *k = size == sizeof(struct kernel_key)
						 ? pasta_group_find(a->kernels, key)
						 : NULL;
		uint64_t median = k ? median_with_zeros(k->steps, steps) : UINT64_MAX;

		if (suspects[i].ns <= median || suspects[i].ns - median <= s->kernel_grew)
			continue;
		s->kernel = k->key.name;
		s->kernel_grew = suspects[i].ns - median;
	}
}

static void add_step(struct anomaly *a, const struct pasta_anomaly *odd)
{
	const uint32_t key[] = {odd->proc, odd->device, (uint32_t)odd->number,
				(uint32_t)(odd->number >> 32)};
	struct odd_step *s = pasta_group_row(a->odd_steps, key);
	struct usual *u = PASTA_ROW(a->usual, struct usual, odd->proc, odd->device);
	const struct pasta_window *w = window_of(a, odd->proc);
	const struct note *note = pasta_group_find(a->notes, key);

	s->part = odd->part;
	s->cause = odd->cause;
	s->number = odd->number;
	s->ns = odd->end - odd->begin;
	s->median = odd->median;
	s->excess = odd->excess;
	s->grew = odd->grew;
	s->score = odd->score;
	u->steps = w ? w->steps : 0;
	u->time = w ? w->end - w->begin : 0;
	u->odd++;
	u->excess = u->excess + s->excess < s->excess ? UINT64_MAX : u->excess + s->excess;
	if (!note)
		return;
	blame_kernel(a, s, note, u->steps);
	s->allocs = note->allocs;
	s->frees = note->frees;
	s->loads = note->loads;
	s->usual_allocs = median_with_zeros(u->allocs, u->steps);
	s->usual_frees = median_with_zeros(u->frees, u->steps);
	s->usual_loads = median_with_zeros(u->loads, u->steps);
}

static void add_change(struct anomaly *a, const struct kernel_key *key, uint32_t in, uint64_t at,
		       uint64_t of, const struct pasta_change *found, uint64_t lasts)
{
	struct change *c = PASTA_ROW(a->changes, struct change, key->proc, key->device, key->name,
				     {key->grid[0], key->grid[1], key->grid[2]}, (uint32_t)at,
				     (uint32_t)(at >> 32));

	c->in = in;
	c->at = at;
	c->of = of;
	c->before = found->before;
	c->after = found->after;
	if (found->after > found->before &&
	    __builtin_mul_overflow(found->after - found->before, lasts, &c->cost))
		c->cost = UINT64_MAX;
}

/* Finds lasting changes of the durations of a process's steps, which are the same on all of its
 * devices. */
static int change_steps(struct anomaly *a, const struct pasta_window *w)
{
	struct pasta_change found[CHANGES];
	const struct pasta_step *s;

	struct values *values = PASTA_ROW(a->values, struct values, 0);
	struct kernel_key key = {.proc = w->proc};
	uint64_t n = 0, first = 0, *value;
	int count;

	values->list.count = 0;
	for (size_t at = 0; (s = pasta_diagnosis_step(a->diagnosis, &at)) && n < w->steps;) {
		if (s->proc != w->proc || !s->in_window || (n && s->device != key.device))
			continue;
		first = n ? first : s->number;
		key.device = s->device;

		value = pasta_group_append(a->values, &values->list, sizeof(*value));
		*value = s->end - s->begin;
		n++;
	}
	count = pasta_robust_changes(values->list.items, values->list.count, found, CHANGES);
	for (int i = 0; i < count; i++) {
		uint64_t end = i + 1 < count ? found[i + 1].at : n;

		add_change(a, &key, 0, first + found[i].at, first + n, &found[i],
			   end - found[i].at);
	}

	return count < 0 ? count : 0;
}

/* -- Kernels of the report -- */

/* Moves the launches of the window to time[LATER]. */
static void select_window(struct anomaly *a, struct kernel *k)
{
	const struct pasta_window *w = window_of(a, k->key.proc);
	unsigned int first = !w || !w->steps ? NO_STEP : w->all > w->steps ? LATER : EARLY;

	for (unsigned int i = first; i < LATER; i++) {
		if (!k->time[i])
			continue;
		if (!k->time[LATER]) {
			k->time[LATER] = k->time[i];
			k->time[i] = NULL;
		} else if (pasta_hist_merge(k->time[LATER], k->time[i]) == -ENOMEM) {
			pasta_group_fail(a->kernels, -ENOMEM);
		}
	}
}

static void judge_outliers(struct anomaly *a, const struct kernel *k)
{
	const struct pasta_hist *hist = k->time[LATER];
	struct pasta_robust r = {.count = pasta_hist_count(hist),
				 .median = pasta_hist_quantile(hist, 0.5),
				 .mad = pasta_hist_mad(hist)};
	double sigma = pasta_robust_sigma(&r), least = LEAST * (double)r.median, limit;
	uint64_t sum, count;
	struct odd_kernel *odd;

	sigma = sigma > least ? sigma : least;
	sigma = sigma > LEAST_NS ? sigma : LEAST_NS;
	limit = (double)r.median + PASTA_ROBUST_ODD * sigma;
	if (limit >= (double)pasta_hist_max(hist))
		return;
	count = pasta_hist_above(hist, (uint64_t)limit, &sum);
	if (!count || count > r.count * RARE / 100)
		return;
	odd = pasta_group_row(a->odd_kernels, &k->key);
	odd->launches = r.count;
	odd->median = r.median;
	odd->mad = r.mad;
	odd->limit = (uint64_t)limit;
	odd->odd = count;
	odd->excess = sum > count * r.median ? sum - count * r.median : 0;
	odd->max = pasta_hist_max(hist);
	odd->score = ((double)odd->max - (double)r.median) / sigma;
}

static int change_kernel(struct anomaly *a, const struct kernel *k)
{
	const struct pasta_window *w = window_of(a, k->key.proc);
	bool stepped = w && w->steps;
	uint64_t first = stepped ? 2 : 0;
	struct pasta_change found[CHANGES];
	int count;

	if (stepped && (!k->stepped || w->steps == w->all))
		return 0;
	count = pasta_robust_changes(k->bins.items, k->bins.count, found, CHANGES);
	/* A kernel whose time changes again and again has several kinds of inputs. */
	if (!stepped && count > 2)
		return 0;
	for (int i = 0; i < count; i++) {
		uint64_t end = i + 1 < count ? found[i + 1].at : k->bins.count;

		add_change(a, &k->key, !stepped, first + found[i].at * k->width,
			   first + k->bins.count * k->width, &found[i],
			   (end - found[i].at) * k->width);
	}
	return count < 0 ? count : 0;
}

/* Judges kernels with enough launches and time. The kernels past the limit are different ones, so
 * they have no common distribution. */
static int judge_kernels(struct anomaly *a)
{
	double all = 0;
	struct kernel *k;
	int error = 0;

	for (size_t at = 0; (k = pasta_group_next(a->kernels, &at));) {
		end_step(a, k);
		select_window(a, k);
		all += k->time[LATER] ? (double)pasta_hist_sum(k->time[LATER]) : 0;
	}
	for (size_t at = 0; !error && (k = pasta_group_next(a->kernels, &at));) {
		if (!k->time[LATER] || pasta_hist_count(k->time[LATER]) < LAUNCHES ||
		    k->key.name == a->other ||
		    100 * (double)pasta_hist_sum(k->time[LATER]) < MINOR * all)
			continue;
		judge_outliers(a, k);
		error = change_kernel(a, k);
	}
	return error;
}

/* -- Findings -- */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* Returns the worst step of a device. */
static const struct odd_step *worst_step(struct anomaly *a, const struct usual *u)
{
	const struct odd_step *s;

	for (size_t at = 0; (s = pasta_group_next_by(a->odd_steps, "-excess step", &at));)
		if (s->key.proc == u->key[0] && s->key.device == u->key[1])
			return s;
	return NULL;
}

static void describe_step(const struct odd_step *s, char *text, size_t size)
{
	char grew[100] = "", memory[300] = "";
	size_t at = (size_t)snprintf(text, size,
				     "step %" PRIu64 " takes %.3f ms, the median step %.3f ms",
				     s->number, ms(s->ns), ms(s->median));

	if (at < size && grew_text(s, NULL, grew, sizeof(grew)))
		at += (size_t)snprintf(text + at, size - at, "; %s takes %.3f ms longer", grew,
				       ms(s->grew));
	if (at < size && s->kernel_grew)
		at += (size_t)snprintf(text + at, size - at, "; kernel %.200s takes %.3f ms longer",
				       pasta_name(s->kernel), ms(s->kernel_grew));
	if (at < size && memory_text(s, NULL, memory, sizeof(memory)))
		snprintf(text + at, size - at, "; %s", memory);
}

/* Reports the device whose anomalous steps cost most. */
static void find_steps(struct anomaly *a, struct pasta_out *out)
{
	const struct usual *u, *most = NULL;
	const struct odd_step *worst;
	char evidence[900], what[100];

	for (size_t at = 0; (u = pasta_group_next(a->usual, &at));)
		if (u->odd && (!most || u->excess > most->excess))
			most = u;
	worst = most ? worst_step(a, most) : NULL;
	if (!worst)
		return;
	describe_step(worst, evidence, sizeof(evidence));
	snprintf(what, sizeof(what), "%" PRIu64 " of %" PRIu64 " steps take longer than usual",
		 most->odd, most->steps);
	pasta_out_report(out,
			 .severity = pasta_percent(most->excess, most->time) >= WORTH
					     ? PASTA_SEVERITY_WARNING
					     : PASTA_SEVERITY_NOTE,
			 .what = what, .where = pasta_process(most->key[0])->text,
			 .evidence = evidence,
			 .action = "find out what differs in these steps: table 'steps' shows what "
				   "grew",
			 .ref.table = "steps", .ref.row = PASTA_NO_ROW, .saving = most->excess);
}

/* Reports the lasting change of the steps, and that of a kernel, that cost most. */
static void find_changes(struct anomaly *a, struct pasta_out *out)
{
	bool kernel = false, steps = false;
	const struct change *c;
	char evidence[300];

	for (size_t at = 0; (c = pasta_group_next_by(a->changes, "-cost from what", &at));) {
		const struct pasta_window *w = window_of(a, c->key.proc);
		bool *done = c->key.name ? &kernel : &steps;

		if (*done || !w || pasta_percent(c->cost, w->end - w->begin) < WORTH)
			continue;
		*done = true;
		snprintf(evidence, sizeof(evidence),
			 "from %s %" PRIu64 " on, %s takes %.3f us instead of %.3f us%s (%+.1f%%)",
			 c->in ? "launch" : "step", c->at,
			 c->key.name ? c->in ? "a launch" : "the kernel" : "a step",
			 (double)c->after / 1e3, (double)c->before / 1e3,
			 c->key.name && !c->in ? " in each step" : "", change_percent(c, NULL));
		pasta_out_report(
			out, .severity = PASTA_SEVERITY_WARNING,
			.what = c->key.name ? "a kernel becomes slower" : "steps become slower",
			.where = c->key.name ? pasta_str(c->key.name)
					     : pasta_process(c->key.proc)->text,
			.evidence = evidence,
			.action = "find out what changed then: inputs, clocks or "
				  "temperature of the device, or other programs",
			.ref.table = "changes", .ref.row = PASTA_NO_ROW, .saving = c->cost);
	}
}

static void find_kernels(struct anomaly *a, struct pasta_out *out)
{
	const struct odd_kernel *k;
	char evidence[300];

	for (size_t at = 0; (k = pasta_group_next_by(a->odd_kernels, "-excess kernel", &at));) {
		const struct pasta_window *w = window_of(a, k->key.proc);

		if (!w || pasta_percent(k->excess, w->end - w->begin) < WORTH)
			continue;
		snprintf(evidence, sizeof(evidence),
			 "%" PRIu64 " of %" PRIu64 " launches take more than %.3f us, the median "
			 "launch %.3f us, the longest %.3f us",
			 k->odd, k->launches, (double)k->limit / 1e3, (double)k->median / 1e3,
			 (double)k->max / 1e3);
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
				 .what = "a kernel sometimes takes longer than usual",
				 .where = pasta_name(k->key.name), .evidence = evidence,
				 .action = "check whether other kernels run at the same time, and "
					   "whether its inputs differ",
				 .ref.table = "kernels", .ref.row = PASTA_NO_ROW,
				 .saving = k->excess);
		return;
	}
}

static void find_few(const struct anomaly *a, struct pasta_out *out)
{
	const struct pasta_window *w;
	bool many = false, any = false;

	for (size_t at = 0; (w = pasta_diagnosis_window(a->diagnosis, &at));) {
		many |= w->steps >= 5;
		any = true;
	}
	if (many || !any)
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "the run has too few steps to compare",
			 .evidence = "steps are compared if at least five follow the first two",
			 .action = "record more steps, and mark them with pasta_iteration or "
				   "record the calls of the optimizer");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct anomaly *a = state;
	const struct pasta_anomaly *odd;
	const struct pasta_window *w;
	int error;

	error = judge_kernels(a);
	count_usual(a);
	for (size_t at = 0; (odd = pasta_diagnosis_anomaly(a->diagnosis, &at));)
		add_step(a, odd);
	for (size_t at = 0; !error && (w = pasta_diagnosis_window(a->diagnosis, &at));)
		error = change_steps(a, w);
	if (error)
		return pasta_fail(err, error, "out of memory");
	find_few(a, out);
	find_steps(a, out);
	find_changes(a, out);
	find_kernels(a, out);
	return pasta_out_groups(out, a, err);
}

static const struct pasta_diagnosis_def diagnosis = PASTA_DIAGNOSIS(struct anomaly, diagnosis);

PASTA_TOOL(.name = "anomaly",
	   .summary = "steps and kernels that take longer than usual, and what changed",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(ALLOC) | PASTA_MASK(FREE) |
		     PASTA_MASK(MODULE) | PASTA_MASK(ITERATION),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS, .state_size = sizeof(struct anomaly),
	   .open = open_, .event = on_event, .report = report, .flags = PASTA_TOOL_SHARDED,
	   .groups = groups, .diagnosis = &diagnosis);
