/* access_pattern - reports memory accesses by source line: sectors, strides and divergence. */
#include <stdio.h>

#include <pasta/tool.h>

#define TEXT 500
#define FINDINGS 5 /* maximum number of findings of each type */
#define SMALL 100  /* ignore lines with less than 1/SMALL of the run's bytes or accesses */
/* report lines whose requests touch at least this many times the sectors that they need */
#define WASTE 2.0
/* report lines whose warps have less than this percentage of active threads */
#define LOW 50.0
/* accesses count as scattered if they touch at least this many sectors per thread */
#define OWN_SECTORS 0.9

enum { COALESCED = 1, BROADCAST, STRIDED, SCATTERED, MIXED };

/* All members must be uint64_t, because add_sums treats the struct as an array. */
struct sums {
	uint64_t loads, stores, bytes;
	/* numbers of counted launches, and of all launches with the same shapes */
	uint64_t counted, launches;
	/* Sums over the requests of warps. An atomic operation counts its bytes once. */
	uint64_t requests, request_bytes, sectors;
	uint64_t warps, active, threads; /* sums of reducer DIVERGE */
};

/* Memory accesses of one kernel at one source position, over all launch shapes and processes. */
struct position {
	struct {
		uint32_t kernel, file, line, column, flags, bytes, function, callee;
		/* key of the site, if the site's source position is unknown; PASTA_KEY_OTHER: the
		 * sums of all sites that did not fit into the reducer's table */
		uint64_t unknown;
	} key;
	uint64_t site; /* key, in the access index, of one of the sites at this source position */
	struct sums sum;
};

/* Memory accesses of one kernel on one source line. */
struct line {
	struct {
		uint32_t kernel, file, line;
		/* if the source line is unknown, the name of the function; else 0 */
		uint32_t function;
		uint64_t unknown;
	} key;
	uint64_t site; /* key of a site at the first source position of this line */
	struct sums sum;
	/* bytes of the sectors that requests touched, and bytes that the requests needed */
	uint64_t moved, needed;
	uint32_t spaces; /* mask */
	uint32_t class;	 /* 0: unknown */
};

struct pattern {
	struct pasta_access_index *access_index;
	struct pasta_group *positions, *lines;
	uint32_t reducer;   /* the reducer whose rows the function add_row reads */
	uint64_t ungrouped; /* number of accesses that could not be grouped into requests */
	uint64_t moved, accesses;
	struct pasta_out *out;
	unsigned int found;
};

/* -- Columns -- */

static uint64_t accesses(const struct line *line)
{
	return pasta_access_add(line->sum.loads, line->sum.stores);
}

static int64_t accesses_of(const void *row, const void *state)
{
	return (int64_t)accesses(row);
}

static int64_t wasted_of(const void *row, const void *state)
{
	const struct line *line = row;

	return line->moved > line->needed ? (int64_t)(line->moved - line->needed) : 0;
}

static int64_t no_site(const void *row, const void *state)
{
	return ((const struct line *)row)->key.unknown == PASTA_KEY_OTHER;
}

static const struct pasta_access_site *site_of(const void *row, const void *state)
{
	return pasta_access_index_site(((const struct pattern *)state)->access_index,
				       ((const struct line *)row)->site);
}

static const char *file_of(const void *row, const void *state, char *text, size_t size)
{
	const struct pasta_access_site *site = site_of(row, state);

	if (!site)
		return "(no room in tables)";
	if (site->known)
		return pasta_str(site->site.file);
	snprintf(text, size, "(unknown, site %llu)", (unsigned long long)site->id);
	return text;
}

static const char *function_of(const void *row, const void *state, char *text, size_t size)
{
	const struct pasta_access_site *site = site_of(row, state);

	return site && site->known ? pasta_str(site->site.function) : "";
}

static const char *space_of(const void *row, const void *state, char *text, size_t size)
{
	static const char *const names[PASTA_SPACE_COUNT + 1] = {
		[PASTA_SPACE_GLOBAL] = "global",   [PASTA_SPACE_CONSTANT] = "constant",
		[PASTA_SPACE_GENERIC] = "generic", [PASTA_SPACE_LOCAL] = "local",
		[PASTA_SPACE_PRIVATE] = "private", [PASTA_SPACE_REMOTE] = "remote",
		[PASTA_SPACE_COUNT] = "unknown",
	};
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i <= PASTA_SPACE_COUNT; i++)
		if (((const struct line *)row)->spaces >> i & 1)
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? "," : "",
					       names[i]);
	return text;
}

static const char *stride_of(const void *row, const void *state, char *text, size_t size)
{
	static const char *const classes[] = {
		[COALESCED] = "coalesced", [BROADCAST] = "broadcast", [STRIDED] = "strided",
		[SCATTERED] = "scattered", [MIXED] = "mixed",
	};

	return classes[((const struct line *)row)->class];
}

static double by_request(const void *row, const void *state)
{
	const struct line *line = row;

	return pasta_ratio(line->sum.sectors, line->sum.requests);
}

static const struct pasta_member position_members[] = {
	PASTA_KEY(struct position),
	PASTA_MEMBER(U32, struct position, key.column, .column = "column"),
	PASTA_MEMBER(U32, struct position, key.flags, .column = "flags"),
	PASTA_MEMBER(U32, struct position, key.bytes, .column = "bytes"),
	PASTA_MEMBER(NAME, struct position, key.function, .column = "function"),
	PASTA_MEMBER(NAME, struct position, key.callee, .column = "callee"),
	{0},
};

static const struct pasta_member line_members[] = {
	PASTA_KEY(struct line),
	PASTA_MEMBER(NAME, struct line, key.kernel, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER_BY(TEXT, .text = file_of, .column = "file"),
	PASTA_MEMBER(U32, struct line, key.line, .column = "line",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(TEXT, .text = function_of, .column = "function"),
	PASTA_MEMBER_BY(TEXT, .text = space_of, .column = "space"),
	PASTA_MEMBER(SUM, struct line, sum.loads, .column = "loads"),
	PASTA_MEMBER(SUM, struct line, sum.stores, .column = "stores"),
	PASTA_MEMBER(SUM, struct line, sum.bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER_BY(RATIO, .ratio = by_request, .column = "sectors_per_request"),
	PASTA_MEMBER_BY(TEXT, .text = stride_of, .column = "stride"),
	PASTA_MEMBER_OF(PERCENT, struct line, sum.active, sum.threads, .column = "active",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_OF(PERCENT, struct line, sum.counted, sum.launches, .column = "counted",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(CALL, .call = accesses_of, .column = "accesses",
			.flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER_BY(CALL, .call = wasted_of, .column = "wasted", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER_BY(CALL, .call = no_site, .column = "no_site", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct pattern, positions, struct position, position_members,
		    .order = "column flags bytes function callee"),
	PASTA_GROUP(struct pattern, lines, struct line, line_members, .table = "lines",
		    .order = "no_site -accesses"),
	{0},
};

static const struct pasta_access_index_def access_index = PASTA_ACCESS_INDEX(
	struct pattern, access_index,
	PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE));

/* -- Sums of the reducers' rows by source position -- */

static void add_sums(struct sums *to, const struct sums *from)
{
	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		pasta_access_add_to((uint64_t *)to + i, ((const uint64_t *)from)[i]);
}

static struct position *position_of(struct pattern *p, uint32_t kernel, uint64_t key,
				    const struct pasta_access_site *site)
{
	const struct pasta_site_record *s = site && site->known ? &site->site : NULL;
	struct position *position =
		s ? PASTA_ROW(p->positions, struct position, kernel, s->file, s->line, s->column,
			      s->flags, s->bytes, s->function, s->callee, 0)
		  : PASTA_ROW(p->positions, struct position, .kernel = kernel,
			      .unknown = site ? key : PASTA_KEY_OTHER);

	position->site = key;
	return position;
}

/* Adds a row of the reducer to the sums of the row's source position. An atomic operation counts as
 * a load and as a store. */
static int add_row(void *ctx, const struct pasta_access_shape *shape,
		   const struct pasta_access_row *row)
{
	struct pattern *p = ctx;
	const struct pasta_access_site *site = pasta_access_index_site(p->access_index, row->key);
	bool atomic = site && (site->site.flags & 0xff) == PASTA_ACCESS_ATOMIC;
	uint64_t times = atomic ? row->loads : pasta_access_add(row->loads, row->stores);
	struct sums sum = {0};

	if (p->reducer == PASTA_REDUCER_SITE)
		sum = (struct sums){.loads = row->loads,
				    .stores = row->stores,
				    .bytes = row->bytes,
				    .counted = shape->counted,
				    .launches = pasta_access_launches(shape)};
	else if (p->reducer == PASTA_REDUCER_COALESCE)
		sum = (struct sums){.requests = times,
				    .request_bytes = row->bytes >> atomic,
				    .sectors = row->extra};
	else
		sum = (struct sums){
			.warps = times, .active = row->active >> atomic, .threads = row->extra};
	if (row->key != PASTA_KEY_OTHER || p->reducer == PASTA_REDUCER_SITE)
		add_sums(&position_of(p, shape->name, row->key, site)->sum, &sum);
	else
		pasta_access_add_to(&p->ungrouped, sum.requests);
	return 0;
}

/* -- Lines -- */

/*
 * Classifies the average request of a source position. docs/tools/access_pattern.md defines the
 * classes. Returns 0 if there are no requests, or if requests have fewer than two threads on
 * average, because a stride needs two.
 */
static uint32_t class_of(const struct sums *s)
{
	double count = (double)s->requests, sectors, need, active, own;

	if (!s->requests || !s->warps || !s->request_bytes || !s->sectors)
		return 0;
	sectors = (double)s->sectors / count;
	need = (double)s->request_bytes / count / PASTA_SECTOR;
	active = (double)s->active / (double)s->warps;
	if (active < 2.0)
		return 0;
	own = need > active ? need : active;
	if (sectors <= need / 2)
		return BROADCAST;
	if (sectors <= need + 1)
		return COALESCED;
	return sectors >= OWN_SECTORS * own ? SCATTERED : STRIDED;
}

/* Returns the size of `count` sectors in bytes, capped at INT64_MAX. */
static uint64_t sector_bytes(uint64_t count)
{
	return count > INT64_MAX / PASTA_SECTOR ? (uint64_t)INT64_MAX : count * PASTA_SECTOR;
}

/* Adds the bytes that requests transferred, and the bytes that they needed: at least one sector per
 * request. Skips memory without objects, such as local memory. */
static void add_space(struct line *line, uint32_t space, const struct sums *s)
{
	uint64_t least = sector_bytes(s->requests);

	line->spaces |= 1u << (space < PASTA_SPACE_COUNT ? space : PASTA_SPACE_COUNT);
	if (space >= PASTA_SPACE_LOCAL)
		return;
	pasta_access_add_to(&line->moved, sector_bytes(s->sectors));
	pasta_access_add_to(&line->needed, least > s->request_bytes ? least : s->request_bytes);
}

static void add_line(struct pattern *p, const struct position *position)
{
	uint32_t class = class_of(&position->sum);
	struct line *line =
		PASTA_ROW(p->lines, struct line, position->key.kernel, position->key.file,
			  position->key.line, position->key.line ? 0 : position->key.function,
			  position->key.unknown);

	line->site = line->site ? line->site : position->site;
	add_sums(&line->sum, &position->sum);
	if (!position->key.unknown)
		add_space(line, position->key.flags >> 8 & 0xff, &position->sum);
	if (class)
		line->class = line->class && line->class != class ? MIXED : class;
}

static void add_lines(struct pattern *p)
{
	const struct position *position;
	const struct line *line;
	size_t at = 0;

	for (p->reducer = PASTA_REDUCER_OBJECT; p->reducer < PASTA_REDUCER_COUNT; p->reducer++)
		pasta_access_index_rows(p->access_index, p->reducer, add_row, p);
	while ((position = pasta_group_next_by(p->positions, NULL, &at)))
		add_line(p, position);
	at = 0;
	while ((line = pasta_group_next(p->lines, &at))) {
		pasta_access_add_to(&p->moved, line->moved);
		pasta_access_add_to(&p->accesses, accesses(line));
	}
}

/* -- Findings -- */

static void find_waste(struct pattern *p, const struct line *line)
{
	uint64_t wasted = (uint64_t)wasted_of(line, p);
	char evidence[200], where[TEXT];

	if (p->found == FINDINGS || wasted <= p->moved / SMALL || !line->needed ||
	    (double)line->moved / (double)line->needed < WASTE)
		return;
	p->found++;
	snprintf(evidence, sizeof(evidence), "%llu bytes were transferred but not requested, in %s",
		 (unsigned long long)wasted, pasta_name(line->key.kernel));
	pasta_out_report(
		p->out, .severity = PASTA_SEVERITY_WARNING,
		.what = pasta_out_text(
			p->out, "requests touch %.1f times as many sectors as their bytes need",
			(double)line->moved / (double)line->needed),
		.where = pasta_access_site_text(&site_of(line, p)->site, where, sizeof(where)),
		.evidence = evidence,
		.action = "let neighbouring threads access neighbouring bytes");
}

static void find_low(struct pattern *p, const struct line *line)
{
	const struct sums *s = &line->sum;
	double active = s->threads ? pasta_percent(s->active, s->threads) : 100.0;
	char evidence[200], where[TEXT];

	if (p->found == FINDINGS || active >= LOW || line->key.unknown ||
	    accesses(line) <= p->accesses / SMALL)
		return;
	p->found++;
	snprintf(evidence, sizeof(evidence), "requests: %llu, in %s", (unsigned long long)s->warps,
		 pasta_name(line->key.kernel));
	pasta_out_report(
		p->out, .severity = PASTA_SEVERITY_NOTE,
		.what = pasta_out_text(p->out, "only %.0f%% of the threads in each warp are active",
				       active),
		.where = pasta_access_site_text(&site_of(line, p)->site, where, sizeof(where)),
		.evidence = evidence,
		.action = "let the 32 threads of a warp take the same branch");
}

/* Reports the worst source lines, in at most FINDINGS findings of each type. */
static void find_worst(struct pattern *p)
{
	const struct line *line;
	size_t at = 0;

	while ((line = pasta_group_next_by(p->lines, "-wasted no_site -accesses", &at)))
		find_waste(p, line);
	p->found = 0;
	at = 0;
	while ((line = pasta_group_next_by(p->lines, NULL, &at)))
		find_low(p, line);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct pattern *p = state;

	p->out = out;
	add_lines(p);
	pasta_out_group(out, p->lines);
	find_worst(p);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(p->ungrouped),
			 .what = "accesses that could not be grouped into warp requests",
			 .evidence = "columns 'sectors_per_request', 'stride' and 'active' omit "
				     "accesses that belong to no request");
	pasta_access_index_findings(p->access_index, out);
	return 0;
}

PASTA_TOOL(.name = "access_pattern",
	   .summary = "memory accesses by source line: sectors, strides, divergence",
	   .needs = PASTA_NEED_ACCESS_SITE | PASTA_NEED_ACCESS_COALESCE | PASTA_NEED_ACCESS_DIVERGE,
	   .state_size = sizeof(struct pattern), .report = report, .flags = PASTA_TOOL_SHARDED,
	   .groups = groups, .accesses = &access_index);
