/* block_divergence - how long the blocks of kernels run, the tail, and where they synchronise. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#define TEXT 500
#define FINDINGS 5 /* at most */
#define SMALL 100  /* a part of all time that is less is not worth one */
#define SHARE 20.0 /* % of a kernel's time in long blocks, from which on it is worth a finding */
#define RATIO 4.0  /* longest by median, likewise */
#define LONG 2.0   /* times the median: a long block */
#define LINES 8	   /* of the chart */

/* Blocks that ran about as long, of one kernel and shape. */
struct bucket {
	uint32_t kernel;
	uint64_t shape, least; /* ns */
	uint64_t blocks, time, unseen;
};

/* A kernel over one range, in all processes. */
struct line {
	uint32_t kernel;
	uint64_t shape;
	uint64_t counted, launches;
	const struct bucket *buckets; /* from the shortest on; those without blocks are left out */
	size_t count;
	uint64_t blocks, time, unseen;
	double shortest, median, most, longest; /* ns; most: 99 % take no longer */
	double share;				/* % of the time, in long blocks */
	uint64_t warps;				/* arrivals at barriers */
};

/* Arrivals at the barriers of a kernel and shape, then of a kernel and line. */
struct place {
	uint32_t kernel;
	uint64_t shape;
	const struct pasta_access_site *site; /* NULL: no line is known */
	uint64_t warps, threads, all;	      /* all: threads that those warps have */
};

struct divergence {
	struct pasta_access_book *book;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct divergence *d = state;

	(void)opts;
	d->book = pasta_access_book_new(PASTA_REDUCE_BIT(BLOCK) | PASTA_REDUCE_BIT(BARRIER));
	return d->book ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_access_book_free(((struct divergence *)state)->book);
}

static void on_event(void *state, const struct pasta_event *ev)
{
	pasta_access_book_event(((struct divergence *)state)->book, ev);
}

static void merge(void *into, const void *from)
{
	/* Its error is the book's own, which the report asks for. */
	(void)pasta_access_book_merge(((struct divergence *)into)->book,
				      ((const struct divergence *)from)->book);
}

/* -- Buckets, added up over processes. -- */

struct buckets {
	struct bucket *items;
	size_t count, room;
};

static int add_bucket(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct buckets *all = ctx;

	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 256;
		struct bucket *items = reallocarray(all->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		all->items = items;
		all->room = room;
	}
	all->items[all->count++] = (struct bucket){.kernel = shape->name,
						   .shape = shape->shape,
						   .least = row->key,
						   .blocks = row->loads,
						   .time = row->bytes,
						   .unseen = row->extra};
	return 0;
}

static const char *label(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_shape(const struct bucket *x, const struct bucket *y)
{
	int order = x->kernel == y->kernel ? 0 : strcmp(label(x->kernel), label(y->kernel));

	return order ? order : compare(x->shape, y->shape);
}

static int by_bucket(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;
	int order = by_shape(x, y);

	return order ? order : compare(x->least, y->least);
}

/* In place: those of one bucket become one. */
static void add_up(struct buckets *all)
{
	size_t i, kept = 0;

	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), by_bucket);
	for (i = 0; i < all->count; i++) {
		struct bucket *last = kept ? &all->items[kept - 1] : NULL;

		if (!last || by_bucket(last, &all->items[i])) {
			all->items[kept++] = all->items[i];
			continue;
		}
		last->blocks = pasta_access_add(last->blocks, all->items[i].blocks);
		last->time = pasta_access_add(last->time, all->items[i].time);
		last->unseen = pasta_access_add(last->unseen, all->items[i].unseen);
	}
	all->count = kept;
}

/* -- Lines. -- */

static double mean(const struct bucket *b)
{
	return (double)b->time / (double)b->blocks;
}

/* So that a part q of all blocks took no longer: the mean of the bucket where that is. */
static double quantile(const struct line *line, double q)
{
	double want = q * (double)line->blocks, sum = 0;
	size_t i;

	for (i = 0; i + 1 < line->count; i++) {
		sum += (double)line->buckets[i].blocks;
		if (sum >= want)
			break;
	}
	return mean(&line->buckets[i]);
}

static void measure(struct line *line)
{
	uint64_t in_long = 0;
	size_t i;

	if (!line->count)
		return;
	line->shortest = mean(&line->buckets[0]);
	line->median = quantile(line, 0.5);
	line->most = quantile(line, 0.99);
	line->longest = mean(&line->buckets[line->count - 1]);
	for (i = 0; i < line->count; i++)
		if (mean(&line->buckets[i]) >= LONG * line->median)
			in_long = pasta_access_add(in_long, line->buckets[i].time);
	line->share = line->time ? 100.0 * (double)in_long / (double)line->time : 0;
}

/* Buckets of one shape, sorted; those without blocks only say how many were not seen. What a table
 * had no room for is in no bucket. */
static void make_line(struct line *line, struct bucket *buckets, size_t count, uint64_t *no_room)
{
	size_t i, kept = 0;

	*line = (struct line){
		.kernel = buckets->kernel, .shape = buckets->shape, .buckets = buckets};
	for (i = 0; i < count; i++) {
		line->unseen = pasta_access_add(line->unseen, buckets[i].unseen);
		if (buckets[i].least == PASTA_KEY_OTHER)
			*no_room = pasta_access_add(*no_room, buckets[i].blocks);
		if (buckets[i].least == PASTA_KEY_OTHER || !buckets[i].blocks)
			continue;
		line->blocks = pasta_access_add(line->blocks, buckets[i].blocks);
		line->time = pasta_access_add(line->time, buckets[i].time);
		buckets[kept++] = buckets[i];
	}
	line->count = kept;
	measure(line);
}

static void add_launches(struct line *line, const struct pasta_access_book *book)
{
	const struct pasta_access_shape *s;
	size_t at = 0;

	while ((s = pasta_access_book_shapes(book, &at)))
		if (s->shape == line->shape && !strcmp(label(s->name), label(line->kernel))) {
			line->counted += s->counted;
			line->launches += pasta_access_launches(s);
		}
}

/* How many; lines has room for as many as there are buckets. */
static size_t lines_of(const struct pasta_access_book *book, struct buckets *all,
		       struct line *lines, uint64_t *no_room)
{
	size_t i, begin = 0, count = 0;

	for (i = 1; i <= all->count; i++) {
		if (i < all->count && !by_shape(&all->items[begin], &all->items[i]))
			continue;
		make_line(&lines[count], all->items + begin, i - begin, no_room);
		add_launches(&lines[count++], book);
		begin = i;
	}
	return count;
}

/* -- Barriers. -- */

struct places {
	const struct pasta_access_book *book;
	struct place *items;
	size_t count, room;
};

static int add_place(void *ctx, const struct pasta_access_shape *shape,
		     const struct pasta_access_row *row)
{
	struct places *all = ctx;
	const struct pasta_access_site *site = pasta_access_book_site(all->book, row->key);

	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		struct place *items = reallocarray(all->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		all->items = items;
		all->room = room;
	}
	all->items[all->count++] =
		(struct place){.kernel = shape->name,
			       .shape = shape->shape,
			       .site = site && site->known && site->site.line ? site : NULL,
			       .warps = row->loads,
			       .threads = row->stores,
			       .all = row->extra};
	return 0;
}

/* A key is a place, and is looked for among lines in the order that lines_of has left. */
static int by_lines_shape(const void *a, const void *b)
{
	const struct place *place = a;
	const struct line *line = b;
	int order = strcmp(label(place->kernel), label(line->kernel));

	return order ? order : compare(place->shape, line->shape);
}

static void add_arrivals(struct line *lines, size_t count, const struct places *all)
{
	size_t i;

	for (i = 0; i < all->count; i++) {
		struct line *line =
			bsearch(&all->items[i], lines, count, sizeof(*lines), by_lines_shape);

		if (line)
			line->warps = pasta_access_add(line->warps, all->items[i].warps);
	}
}

static int by_source(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(label(x->kernel), label(y->kernel));

	if (order || !x->site || !y->site)
		return order ? order : (x->site != NULL) - (y->site != NULL);
	order = strcmp(pasta_str(x->site->site.file), pasta_str(y->site->site.file));
	return order ? order : compare(x->site->site.line, y->site->site.line);
}

static int by_warps(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = -compare(x->warps, y->warps);

	return order ? order : by_source(a, b);
}

/* In place: those of one kernel and line become one, whatever their shape; the most first. */
static void add_up_places(struct places *all)
{
	size_t i, kept = 0;

	if (!all->count)
		return;
	qsort(all->items, all->count, sizeof(*all->items), by_source);
	for (i = 0; i < all->count; i++) {
		struct place *last = kept ? &all->items[kept - 1] : NULL;
		const struct place *from = &all->items[i];

		if (!last || by_source(last, from)) {
			all->items[kept++] = *from;
			continue;
		}
		last->warps = pasta_access_add(last->warps, from->warps);
		last->threads = pasta_access_add(last->threads, from->threads);
		last->all = pasta_access_add(last->all, from->all);
	}
	all->count = kept;
	qsort(all->items, all->count, sizeof(*all->items), by_warps);
}

static void report_barriers(const struct places *all, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL}, {"file", PASTA_STRING, NULL},
		{"line", PASTA_INT, NULL},	{"warps", PASTA_INT, NULL},
		{"threads", PASTA_INT, NULL},	{"active", PASTA_FLOAT, "%"},
	};
	struct pasta_table *t = pasta_out_table(out, "barriers", columns, 6);
	size_t i;

	for (i = 0; i < all->count; i++) {
		const struct place *place = &all->items[i];

		pasta_cell_str(t, label(place->kernel));
		if (place->site) {
			pasta_cell_str(t, pasta_str(place->site->site.file));
			pasta_cell_int(t, place->site->site.line);
		} else {
			pasta_cell_none(t);
			pasta_cell_none(t);
		}
		pasta_cell_int(t, (int64_t)place->warps);
		pasta_cell_int(t, (int64_t)place->threads);
		if (place->all)
			pasta_cell_float(t, 100.0 * (double)place->threads / (double)place->all);
		else
			pasta_cell_none(t);
	}
}

/* -- Reporting. -- */

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = -compare(x->time, y->time);

	order = order ? order : strcmp(label(x->kernel), label(y->kernel));
	return order ? order : compare(x->shape, y->shape);
}

static uint64_t a_launch(const struct line *line)
{
	uint64_t blocks = pasta_access_add(line->blocks, line->unseen);

	return line->launches ? (blocks + line->launches / 2) / line->launches : 0;
}

static void put_times(struct pasta_table *t, const struct line *line)
{
	const double times[] = {line->shortest, line->median, line->most, line->longest};
	size_t i;

	for (i = 0; i < 4; i++)
		if (line->count)
			pasta_cell_int(t, (int64_t)(times[i] + 0.5));
		else
			pasta_cell_none(t);
	if (line->median > 0)
		pasta_cell_float(t, line->longest / line->median);
	else
		pasta_cell_none(t);
	if (line->count)
		pasta_cell_float(t, line->share);
	else
		pasta_cell_none(t);
}

/* A block's, seen or not: rows of barriers are scaled to all blocks. */
static void put_arrivals(struct pasta_table *t, const struct line *line)
{
	uint64_t blocks = pasta_access_add(line->blocks, line->unseen);

	if (blocks)
		pasta_cell_float(t, (double)line->warps / (double)blocks);
	else
		pasta_cell_none(t);
}

static void report_lines(const struct line *lines, size_t count, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL},
		{"blocks_a_launch", PASTA_INT, NULL},
		{"launches", PASTA_INT, NULL},
		{"counted", PASTA_FLOAT, "%"},
		{"blocks", PASTA_INT, NULL},
		{"unseen", PASTA_INT, NULL},
		{"shortest", PASTA_INT, "ns"},
		{"median", PASTA_INT, "ns"},
		{"p99", PASTA_INT, "ns"},
		{"longest", PASTA_INT, "ns"},
		{"longest_by_median", PASTA_FLOAT, NULL},
		{"in_long_blocks", PASTA_FLOAT, "%"},
		{"warps_at_barriers", PASTA_FLOAT, NULL},
	};
	struct pasta_table *t = pasta_out_table(out, "blocks", columns, 13);
	size_t i;

	for (i = 0; i < count; i++) {
		const struct line *line = &lines[i];

		pasta_cell_str(t, label(line->kernel));
		if (line->launches)
			pasta_cell_int(t, (int64_t)a_launch(line));
		else
			pasta_cell_none(t);
		pasta_cell_int(t, (int64_t)line->launches);
		if (line->launches)
			pasta_cell_float(t, 100.0 * (double)line->counted / (double)line->launches);
		else
			pasta_cell_none(t);
		pasta_cell_int(t, (int64_t)line->blocks);
		pasta_cell_int(t, (int64_t)line->unseen);
		put_times(t, line);
		put_arrivals(t, line);
	}
}

/* Those that take most time. */
static void report_chart(const struct line *lines, size_t count, struct pasta_out *out)
{
	static const struct pasta_axis x = {"time", "ns"}, y = {"blocks", NULL};
	struct pasta_chart *c = NULL;
	char name[TEXT];
	size_t i, j;

	for (i = 0; i < count && i < LINES; i++) {
		if (!lines[i].count)
			continue;
		if (!c)
			c = pasta_out_chart(out, "times", PASTA_CHART_LINE, &x, &y);
		if (!c)
			return;
		snprintf(name, sizeof(name), "%.400s, %llu blocks a launch", label(lines[i].kernel),
			 (unsigned long long)a_launch(&lines[i]));
		pasta_chart_series(c, name);
		for (j = 0; j < lines[i].count; j++)
			pasta_chart_point(c, (double)lines[i].buckets[j].least,
					  (double)lines[i].buckets[j].blocks);
	}
}

static bool is_uneven(const struct line *line)
{
	return line->count && (line->share >= SHARE || line->longest >= RATIO * (line->median + 1));
}

static void find_uneven(const struct line *lines, size_t count, struct pasta_out *out)
{
	char what[200], evidence[200];
	size_t i, found = 0;
	uint64_t all = 0;

	for (i = 0; i < count; i++)
		all = pasta_access_add(all, lines[i].time);
	for (i = 0; i < count && found < FINDINGS; i++) {
		const struct line *line = &lines[i];

		if (!is_uneven(line) || line->time <= all / SMALL)
			continue;
		found++;
		snprintf(what, sizeof(what),
			 "blocks are uneven: the longest takes %.1f times the median",
			 line->longest / (line->median > 0 ? line->median : 1));
		snprintf(evidence, sizeof(evidence),
			 "%.0f%% of the time of %llu blocks is in those that take twice the median "
			 "or more",
			 line->share, (unsigned long long)line->blocks);
		pasta_out_finding(out, &(struct pasta_finding){
					       PASTA_WARNING, what, label(line->kernel), evidence,
					       "the last blocks keep a launch waiting: divide the "
					       "work more evenly, use smaller blocks, start the "
					       "long ones first, or let blocks take work from a "
					       "queue"});
	}
}

static int report(void *state, struct pasta_out *out)
{
	const struct pasta_access_book *book = ((struct divergence *)state)->book;
	struct places barriers = {.book = book};
	struct buckets all = {0};
	struct line *lines = NULL;
	uint64_t no_room = 0;
	int error = pasta_access_book_error(book);
	size_t count;

	if (!error)
		error = pasta_access_book_rows(book, PASTA_REDUCE_BLOCK, add_bucket, &all);
	if (!error)
		error = pasta_access_book_rows(book, PASTA_REDUCE_BARRIER, add_place, &barriers);
	if (!error) {
		add_up(&all);
		lines = calloc(all.count + 1, sizeof(*lines));
		error = lines ? 0 : -ENOMEM;
	}
	if (!error) {
		count = lines_of(book, &all, lines, &no_room);
		add_arrivals(lines, count, &barriers);
		if (count)
			qsort(lines, count, sizeof(*lines), by_time);
		report_lines(lines, count, out);
		add_up_places(&barriers);
		report_barriers(&barriers, out);
		report_chart(lines, count, out);
		find_uneven(lines, count, out);
		pasta_out_count(out, PASTA_WARNING, no_room, "blocks that a table had no room for",
				"they are left out", NULL);
		pasta_access_book_findings(book, out);
	}
	free(lines);
	free(all.items);
	free(barriers.items);
	return error;
}

PASTA_TOOL(.name = "block_divergence",
	   .summary = "how long the blocks of kernels run, and the tail",
	   .events = PASTA_ACCESS_KINDS,
	   .needs = PASTA_NEED_ACCESS_BLOCK | PASTA_NEED_ACCESS_BARRIER,
	   .state_size = sizeof(struct divergence), .open = open_, .event = on_event,
	   .merge = merge, .report = report, .close = close_, .charts = PASTA_BIT(CHART_LINE));
