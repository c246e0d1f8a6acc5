/* working_set - reports how much of the allocated memory a launch of each kernel touches. */
#include <pasta/tool.h>

/* A kernel, over all launch shapes and processes. The sums represent the counted launches, and the
 * launches that were not counted because of sampling. */
struct kernel {
	uint32_t key; /* name of the kernel */
	uint64_t launches, counted;
	uint64_t footprint, footprint_max;
	uint64_t objects, objects_max;
	uint64_t live, live_touched, bytes;
	uint64_t represented; /* number of launches that the sums represent */
};

struct working_set {
	struct pasta_access_index *access_index;
	struct pasta_group *kernels;
};

/* Returns `sum` divided by the number of launches that it represents, rounded. */
static int64_t mean(const struct kernel *k, uint64_t sum)
{
	uint64_t n = k->represented;

	return n ? (int64_t)(sum / n + (sum % n >= n - n / 2)) : PASTA_NO_VALUE;
}

static int64_t footprint_of(const void *row, const void *state)
{
	return mean(row, ((const struct kernel *)row)->footprint);
}

static int64_t live_of(const void *row, const void *state)
{
	return mean(row, ((const struct kernel *)row)->live);
}

static int64_t untouched_of(const void *row, const void *state)
{
	const struct kernel *k = row;

	return mean(k, k->live > k->live_touched ? k->live - k->live_touched : 0);
}

static double objects_of(const void *row, const void *state)
{
	const struct kernel *k = row;

	return pasta_ratio(k->objects, k->represented);
}

static double reuse_of(const void *row, const void *state)
{
	const struct kernel *k = row;

	return pasta_ratio(k->bytes, k->footprint);
}

static bool has_footprint(const void *row, const void *state)
{
	return ((const struct kernel *)row)->represented ||
	       ((const struct kernel *)row)->footprint_max;
}

static bool has_objects(const void *row, const void *state)
{
	return ((const struct kernel *)row)->represented ||
	       ((const struct kernel *)row)->objects_max;
}

static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct kernel, key, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(SUM, struct kernel, launches, .column = "launches"),
	PASTA_MEMBER(SUM, struct kernel, counted, .column = "counted"),
	PASTA_MEMBER_BY(CALL, .call = footprint_of, .column = "footprint", .unit = "bytes"),
	PASTA_MEMBER(MAX, struct kernel, footprint_max, .column = "footprint_max", .unit = "bytes",
		     .has = has_footprint),
	PASTA_MEMBER_BY(RATIO, .ratio = objects_of, .column = "objects"),
	PASTA_MEMBER(MAX, struct kernel, objects_max, .column = "objects_max", .has = has_objects),
	PASTA_MEMBER_BY(CALL, .call = live_of, .column = "live", .unit = "bytes"),
	PASTA_MEMBER_BY(CALL, .call = untouched_of, .column = "untouched", .unit = "bytes"),
	PASTA_MEMBER_BY(RATIO, .ratio = reuse_of, .column = "reuse"),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct working_set, kernels, struct kernel, members, .table = "kernels",
		    .order = "-footprint_max kernel"),
	{0},
};

static const struct pasta_access_index_def access_index =
	PASTA_ACCESS_INDEX(struct working_set, access_index, PASTA_REDUCER_MASK(PAGE));

static void add(uint64_t *to, const struct pasta_access_shape *s, uint64_t sum)
{
	pasta_access_add_to(to, pasta_access_scale(s, sum));
}

/* Adds the sums of a launch shape to its kernel. Skips the shape if filters exclude all its
 * launches. */
static void add_shape(struct working_set *w, const struct pasta_access_shape *s)
{
	struct kernel *k;

	if (s->registered && !s->counted && !s->sampled && !s->refused)
		return;
	k = PASTA_ROW(w->kernels, struct kernel, s->name);
	k->footprint_max =
		s->footprint_max > k->footprint_max ? s->footprint_max : k->footprint_max;
	k->objects_max = s->objects_max > k->objects_max ? s->objects_max : k->objects_max;
	/* If the number of a shape's launches is unknown, the mean cannot include the shape. */
	if (!s->registered)
		return;
	k->launches += s->counted + s->sampled + s->refused;
	k->counted += s->counted;
	k->represented += pasta_access_launches(s);
	add(&k->footprint, s, s->footprint);
	add(&k->objects, s, s->objects);
	add(&k->live, s, s->live);
	add(&k->live_touched, s, s->live_touched);
	add(&k->bytes, s, s->bytes);
}

static bool is_cut(const struct working_set *w)
{
	const struct kernel *k;
	bool cut = false;
	size_t at = 0;

	while (!cut && (k = pasta_group_next(w->kernels, &at)))
		cut = k->footprint == INT64_MAX || k->live == INT64_MAX || k->bytes == INT64_MAX ||
		      k->objects == INT64_MAX;
	return cut;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct working_set *w = state;
	const struct pasta_access_shape *s;
	size_t at = 0;

	while ((s = pasta_access_index_shapes(w->access_index, &at)))
		add_shape(w, s);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING,
		PASTA_COUNT(pasta_access_index_totals(w->access_index).page_other),
		.what = "accesses to pages for which the table had no room",
		.evidence = "column 'footprint' is too small, and column 'untouched' is too large");
	pasta_access_index_findings(w->access_index, out);
	if (is_cut(w))
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
				 .what = "some sums exceed 2^63 - 1, and are shown as 2^63 - 1",
				 .evidence = "means are too small");
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "working_set",
	   .summary = "memory that a launch of each kernel touches or leaves untouched",
	   .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE,
	   .state_size = sizeof(struct working_set), .report = report, .flags = PASTA_TOOL_SHARDED,
	   .groups = groups, .accesses = &access_index);
