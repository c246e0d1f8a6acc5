/* block_divergence - reports run times of thread blocks, the tail of slow blocks, and barriers. */
#include <stdio.h>

#include <pasta/tool.h>

#define TEXT 500
#define FINDINGS 5 /* maximum number of findings */
#define SMALL 100  /* ignore kernels with less than 1/SMALL of the run time of all thread blocks */
/* report a kernel if long thread blocks take at least this % of its thread blocks' time */
#define SHARE 20.0
/* report a kernel if its longest thread block runs at least this many times the median */
#define RATIO 4.0
/* a thread block counts as long if it runs at least this many times the median */
#define LONG 2.0
#define LINES 8 /* maximum number of series in the chart */

/* Thread blocks of one kernel and launch shape with similar run times, over all processes. */
struct bucket {
	struct {
		uint64_t shape, least; /* ns */
		uint32_t kernel, reserved;
	} key;
	uint64_t blocks, time;
};

/* Thread blocks of one kernel and launch shape, over all processes. */
struct line {
	struct {
		uint64_t shape;
		uint32_t kernel, reserved;
	} key;
	uint64_t counted, launches;
	struct pasta_list buckets; /* struct bucket, shortest first */
	uint64_t blocks, time, unseen;
	uint64_t warps; /* arrivals at barriers */
	/* number of all thread blocks, measured or not, and number of thread blocks per launch */
	uint64_t all, a_launch;
	uint64_t times[4]; /* minimum, median, 99th percentile and maximum run time, in ns */
	/* median and longest run time of a thread block in ns, and % of time in long thread
	 * blocks */
	double median, longest, share;
};

/* Arrivals of warps at the barriers on one source line of a kernel. */
struct position {
	struct {
		uint32_t kernel, file, line; /* line 0: unknown */
	} key;
	/* arrivals of warps, arrivals of threads, and all threads of these warps, arrived or not */
	uint64_t warps, threads, all;
};

struct divergence {
	struct pasta_access_index *access_index;
	struct pasta_group *buckets, *lines, *positions;
	uint64_t time;	  /* run time of all thread blocks, in ns */
	uint64_t no_room; /* number of thread blocks that did not fit into the reducer's table */
	struct pasta_out *out;
	struct pasta_chart *chart;
	unsigned int found;
};

/* -- Columns -- */

static bool has_launches(const void *row, const void *state)
{
	return ((const struct line *)row)->launches;
}

static bool has_blocks(const void *row, const void *state)
{
	return ((const struct line *)row)->blocks;
}

static double by_median(const void *row, const void *state)
{
	const struct line *line = row;

	return line->median > 0 ? line->longest / line->median : __builtin_nan("");
}

static double share_of(const void *row, const void *state)
{
	return ((const struct line *)row)->share;
}

static double by_block(const void *row, const void *state)
{
	const struct line *line = row;

	return pasta_ratio(line->warps, line->all);
}

static const char *file_of(const void *row, const void *state, char *text, size_t size)
{
	const struct position *position = row;

	return position->key.line ? pasta_str(position->key.file) : NULL;
}

static const struct pasta_member bucket_members[] = {
	PASTA_KEY(struct bucket),
	PASTA_MEMBER(U64, struct bucket, key.least, .column = "least"),
	{0},
};

static const struct pasta_member line_members[] = {
	PASTA_MEMBER(NAME, struct line, key.kernel, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_KEY(struct line),
	PASTA_MEMBER(U64, struct line, a_launch, .column = "blocks_a_launch", .has = has_launches),
	PASTA_MEMBER(SUM, struct line, launches, .column = "launches"),
	PASTA_MEMBER_OF(PERCENT, struct line, counted, launches, .column = "counted",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(SUM, struct line, blocks, .column = "blocks"),
	PASTA_MEMBER(SUM, struct line, unseen, .column = "unseen"),
	PASTA_MEMBER(U64, struct line, times[0], .column = "shortest", .unit = "ns",
		     .has = has_blocks),
	PASTA_MEMBER(U64, struct line, times[1], .column = "median", .unit = "ns",
		     .has = has_blocks),
	PASTA_MEMBER(U64, struct line, times[2], .column = "p99", .unit = "ns", .has = has_blocks),
	PASTA_MEMBER(U64, struct line, times[3], .column = "longest", .unit = "ns",
		     .has = has_blocks),
	PASTA_MEMBER_BY(RATIO, .ratio = by_median, .column = "longest_by_median"),
	PASTA_MEMBER_BY(RATIO, .ratio = share_of, .column = "in_long_blocks", .unit = "%",
			.has = has_blocks),
	PASTA_MEMBER_BY(RATIO, .ratio = by_block, .column = "warps_at_barriers"),
	PASTA_MEMBER(LIST, struct line, buckets, .item_size = sizeof(struct bucket)),
	PASTA_MEMBER(SUM, struct line, time, .column = "time", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U64, struct line, key.shape, .column = "shape", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member place_members[] = {
	PASTA_MEMBER(NAME, struct position, key.kernel, .column = "kernel",
		     .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(NAME, struct position, key.file),
	PASTA_MEMBER_BY(TEXT, .text = file_of, .column = "file"),
	PASTA_MEMBER(U32, struct position, key.line, .column = "line",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(SUM, struct position, warps, .column = "warps"),
	PASTA_MEMBER(SUM, struct position, threads, .column = "threads"),
	PASTA_MEMBER_OF(PERCENT, struct position, threads, all, .column = "active",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct divergence, lines, struct line, line_members, .table = "blocks",
		    .order = "-time kernel shape"),
	PASTA_GROUP(struct divergence, positions, struct position, place_members,
		    .table = "barriers", .order = "-warps kernel file line"),
	PASTA_GROUP(struct divergence, buckets, struct bucket, bucket_members, .order = "least"),
	{0},
};

static const struct pasta_access_index_def access_index = PASTA_ACCESS_INDEX(
	struct divergence, access_index, PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(BARRIER));

/* -- Rows of the reducers -- */

/* Adds a row of the reducer: a bucket of thread blocks, and the number of thread blocks that were
 * not measured. Thread blocks that did not fit into the reducer's table belong to no bucket. */
static int add_blocks(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct divergence *d = ctx;
	struct line *line = PASTA_ROW(d->lines, struct line, shape->shape, shape->name, 0);
	struct bucket *bucket;

	pasta_access_add_to(&line->unseen, row->extra);
	if (row->key == PASTA_KEY_OTHER)
		pasta_access_add_to(&d->no_room, row->loads);
	if (row->key == PASTA_KEY_OTHER || !row->loads)
		return 0;
	bucket = PASTA_ROW(d->buckets, struct bucket, shape->shape, row->key, shape->name, 0);
	pasta_access_add_to(&bucket->blocks, row->loads);
	pasta_access_add_to(&bucket->time, row->bytes);
	pasta_access_add_to(&line->blocks, row->loads);
	pasta_access_add_to(&line->time, row->bytes);
	pasta_access_add_to(&d->time, row->bytes);
	return 0;
}

static struct line *line_of(const struct divergence *d, const struct pasta_access_shape *shape)
{
	return pasta_group_find(d->lines, &(const __typeof__(((struct line *)0)->key)){
						  shape->shape, shape->name, 0});
}

static int add_arrivals(void *ctx, const struct pasta_access_shape *shape,
			const struct pasta_access_row *row)
{
	struct divergence *d = ctx;
	const struct pasta_access_site *site = pasta_access_index_site(d->access_index, row->key);
	bool known = site && site->known && site->site.line;
	struct line *line = line_of(d, shape);
	struct position *position =
		PASTA_ROW(d->positions, struct position, shape->name, known ? site->site.file : 0,
			  known ? site->site.line : 0);

	pasta_access_add_to(&position->warps, row->loads);
	pasta_access_add_to(&position->threads, row->stores);
	pasta_access_add_to(&position->all, row->extra);
	if (line)
		pasta_access_add_to(&line->warps, row->loads);
	return 0;
}

/* -- Times -- */

static double mean(const struct line *line, size_t i)
{
	const struct bucket *b = (const struct bucket *)line->buckets.items + i;

	return (double)b->time / (double)b->blocks;
}

/* Returns the q-quantile of the thread blocks' run times: the mean of the bucket that contains the
 * quantile. */
static double quantile(const struct line *line, double q)
{
	const struct bucket *buckets = line->buckets.items;
	double target = q * (double)line->blocks, sum = 0;
	size_t i;

	for (i = 0; i + 1 < line->buckets.count; i++) {
		sum += (double)buckets[i].blocks;
		if (sum >= target)
			break;
	}
	return mean(line, i);
}

static void measure(struct line *line)
{
	const struct bucket *buckets = line->buckets.items;
	uint64_t in_long = 0;

	line->all = pasta_access_add(line->blocks, line->unseen);
	if (line->launches)
		line->a_launch = (line->all + line->launches / 2) / line->launches;
	if (!line->buckets.count)
		return;
	line->median = quantile(line, 0.5);
	line->longest = mean(line, line->buckets.count - 1);
	line->times[0] = (uint64_t)(mean(line, 0) + 0.5);
	line->times[1] = (uint64_t)(line->median + 0.5);
	line->times[2] = (uint64_t)(quantile(line, 0.99) + 0.5);
	line->times[3] = (uint64_t)(line->longest + 0.5);
	for (size_t i = 0; i < line->buckets.count; i++)
		if (mean(line, i) >= LONG * line->median)
			pasta_access_add_to(&in_long, buckets[i].time);
	line->share = pasta_percent(in_long, line->time);
}

static void add_lines(struct divergence *d)
{
	const struct pasta_access_shape *shape;
	const struct bucket *bucket;
	struct line *line;
	size_t at = 0;

	pasta_access_index_rows(d->access_index, PASTA_REDUCER_BLOCK, add_blocks, d);
	pasta_access_index_rows(d->access_index, PASTA_REDUCER_BARRIER, add_arrivals, d);
	while ((bucket = pasta_group_next_by(d->buckets, NULL, &at))) {
		line = PASTA_ROW(d->lines, struct line, bucket->key.shape, bucket->key.kernel, 0);
		*(struct bucket *)pasta_group_append(d->lines, &line->buckets, sizeof(*bucket)) =
			*bucket;
	}
	at = 0;
	while ((shape = pasta_access_index_shapes(d->access_index, &at))) {
		line = line_of(d, shape);
		if (!line)
			continue;
		line->counted += shape->counted;
		line->launches += pasta_access_launches(shape);
	}
	at = 0;
	while ((line = pasta_group_next(d->lines, &at)))
		measure(line);
}

/* -- Report a chart and findings about the kernels whose thread blocks take the most time -- */

static void draw(struct divergence *d, const struct line *line)
{
	static const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = "times",
				.x = {.name = "time", .unit = "ns"}, .y = {.name = "blocks"});
	const struct bucket *buckets = line->buckets.items;
	char name[TEXT];

	if (!d->chart)
		d->chart = pasta_out_chart(d->out, &def);
	snprintf(name, sizeof(name), "%.400s, %llu blocks a launch", pasta_name(line->key.kernel),
		 (unsigned long long)line->a_launch);
	pasta_chart_series(d->chart, name);
	for (size_t i = 0; i < line->buckets.count; i++)
		pasta_chart_point(d->chart, (double)buckets[i].key.least,
				  (double)buckets[i].blocks);
}

static void find_uneven(struct divergence *d, const struct line *line)
{
	d->found++;
	pasta_out_report(d->out, .severity = PASTA_SEVERITY_WARNING,
			 .what = pasta_out_text(
				 d->out,
				 "run times of thread blocks are uneven: the longest is %.1f times "
				 "the median",
				 line->longest / (line->median > 0 ? line->median : 1)),
			 .where = pasta_name(line->key.kernel),
			 .evidence = pasta_out_text(
				 d->out,
				 "thread blocks that run for at least twice the median take %.0f%% "
				 "of the time of all %llu thread blocks",
				 line->share, (unsigned long long)line->blocks),
			 .action =
				 "a launch waits for its last thread blocks: divide the work more "
				 "evenly, use smaller blocks, start long blocks first, or let "
				 "blocks fetch work from a queue");
}

static void check_line(struct divergence *d, const struct line *line, size_t position)
{
	bool uneven = line->share >= SHARE || line->longest >= RATIO * (line->median + 1);

	if (position < LINES && line->blocks)
		draw(d, line);
	if (line->blocks && uneven && d->found < FINDINGS && line->time > d->time / SMALL)
		find_uneven(d, line);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct divergence *d = state;
	const struct line *line;
	size_t at = 0;

	d->out = out;
	add_lines(d);
	while ((line = pasta_group_next_by(d->lines, NULL, &at)))
		check_line(d, line, at - 1);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(d->no_room),
			 .what = "thread blocks for which a table had no room",
			 .evidence = "no row includes them");
	pasta_access_index_findings(d->access_index, out);
	return pasta_out_groups(out, d, err);
}

PASTA_TOOL(.name = "block_divergence",
	   .summary = "run times of thread blocks, and the tail of slow blocks",
	   .needs = PASTA_NEED_ACCESS_BLOCK | PASTA_NEED_ACCESS_BARRIER,
	   .state_size = sizeof(struct divergence), .report = report, .flags = PASTA_TOOL_SHARDED,
	   .groups = groups, .accesses = &access_index, .charts = PASTA_CHART_MASK(LINE));
