/* hotness - reports the objects and pages that kernels access most, over time, or never. */
#include <stdio.h>

#include <pasta/tool.h>

#define WINDOWS 64 /* maximum number of columns in the chart */
#define LINES 64   /* maximum number of rows in the chart */
#define SLICES 256 /* maximum number of slices of an object */
#define MOST 50.0  /* report an object with at least this % of all accesses */
#define TEXT 500

/* Parts of the table. OBJECTS has the objects. NEVER has one row for all allocations that were
 * passed to no counted kernel. From SPECIAL on, there is one part for each type of memory without
 * objects. */
enum { OBJECTS, NEVER, SPECIAL };

/* A row of the table. */
struct line {
	struct {
		uint64_t part,
			/* key of a row of the access index; in the row of NEVER, the number of
			 * allocations */
			id;
	} key;
	uint64_t size, loads, stores, accesses, bytes, touched;
	/* bytes that tensor copies may access: in all launches, and the maximum of one launch */
	uint64_t copied, copied_most;
	uint64_t kernels; /* kernels that access it */
	/* numbers of counted launches, and of all launches with the same shapes */
	uint64_t counted, launches;
	uint64_t crossing; /* number of accesses that reach beyond the object's end */
	uint64_t begin;	   /* number of the object's first page in the chart */
	uint64_t number;   /* the allocation's number */
	uint32_t proc;
};

/* A kernel that accesses an object. */
struct user {
	uint64_t key[2]; /* id of the object, and name of the kernel */
	uint64_t rows;
};

/* Touched pages of an object: a mask with a bit for each of 64 consecutive pages. An object belongs
 * to one shard, so masks are never merged. */
struct pages {
	/* key of the object, and number of the first of the 64 pages, divided by 64 */
	uint64_t key[2];
	uint64_t mask;
	uint64_t bytes; /* bytes of the object in the touched pages */
};

/* Key of a cell of the heat map: a slice of an object's pages, in one window of launches or
 * time. */
struct cell_key {
	uint64_t begin; /* first position of the window */
	uint64_t object, slice;
};
struct cell {
	struct cell_key key;
	uint64_t accesses;
};

/* Touched bytes of an allocation that is not inside another allocation. */
struct whole {
	uint64_t key; /* key of the object */
	uint64_t touched;
};

struct hotness {
	struct pasta_access_index *access_index;
	struct pasta_group *pages, *cells, *lines, *users, *wholes;
	struct pasta_access_totals totals;
	struct pasta_out *out; /* `out` is set when the tool reports */
	uint64_t first, last;  /* first and last position: numbers of launches, or times */
	unsigned int shift;    /* a window covers 2^shift launches, or 2^shift ns */
	bool by_time;
	bool all;	   /* whether all launches that access objects were counted */
	uint64_t accesses; /* number of accesses in all rows */
	/* number of tensor descriptors, and bytes of the tensors that they describe */
	uint64_t descriptors, copied;
	uint64_t height; /* pages per row of the chart */
};

/* -- Columns -- */

static int64_t kernels_of(const void *row, const void *state)
{
	return (int64_t)((const struct line *)row)->kernels;
}

/* An object without counted accesses may have been accessed by launches that were not counted. */
static bool is_known(const void *row, const void *state)
{
	const struct line *line = row;

	return ((const struct hotness *)state)->all || line->kernels || line->accesses;
}

static bool has_size(const void *row, const void *state)
{
	return ((const struct line *)row)->size;
}

static const char *object_of(const void *row, const void *state, char *text, size_t size)
{
	const struct pasta_access_index *access_index =
		((const struct hotness *)state)->access_index;
	const struct line *line = row;

	if (line->key.part == OBJECTS)
		return pasta_access_object_text(
			access_index, pasta_access_index_object(access_index, line->key.id), text,
			size);
	if (line->key.part != NEVER)
		return pasta_access_space_text(line->key.id);
	snprintf(text, size, "(objects passed to no counted kernel: %llu)",
		 (unsigned long long)line->key.id);
	return text;
}

static const char *process_of(const void *row, const void *state, char *text, size_t size)
{
	const struct line *line = row;

	return line->key.part == OBJECTS ? pasta_process(line->proc)->text : "";
}

static const struct pasta_member line_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = object_of, .column = "object"),
	PASTA_MEMBER(SUM, struct line, size, .column = "size", .unit = "bytes",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(SUM, struct line, loads, .column = "loads", .has = is_known),
	PASTA_MEMBER(SUM, struct line, stores, .column = "stores", .has = is_known),
	PASTA_MEMBER(SUM, struct line, bytes, .column = "bytes", .unit = "bytes", .has = is_known),
	PASTA_MEMBER(SUM, struct line, touched, .column = "touched", .unit = "bytes",
		     .has = has_size),
	PASTA_MEMBER_OF(PERCENT, struct line, touched, size, .column = "touched_share",
			.flags = PASTA_MEMBER_BLANK_ZERO | PASTA_MEMBER_REST),
	PASTA_MEMBER_BY(CALL, .call = kernels_of, .column = "kernels"),
	PASTA_MEMBER_OF(PERCENT, struct line, counted, launches, .column = "counted",
			.flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(TEXT, .text = process_of, .column = "process"),
	PASTA_MEMBER(SUM, struct line, copied, .column = "tensor_copies_at_least", .unit = "bytes",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(SUM, struct line, kernels),
	PASTA_MEMBER(U64, struct line, key.part, .column = "part", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U64, struct line, key.id, .column = "id", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct line, proc, .column = "proc", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U64, struct line, number, .column = "number", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(SUM, struct line, accesses, .column = "accesses",
		     .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member cell_members[] = {
	PASTA_MEMBER(U64, struct cell, key.begin, .column = "begin"),
	PASTA_MEMBER(U64, struct cell, key.object),
	PASTA_MEMBER(U64, struct cell, key.slice, .column = "slice"),
	PASTA_MEMBER(SUM, struct cell, accesses),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct hotness, lines, struct line, line_members, .table = "objects",
		    .order = "part -accesses id", .limit_option = "rows", .limit_per = 1,
		    .flags = PASTA_GROUP_REST, .rest = "colder ones"),
	PASTA_GROUP_HIDDEN(struct hotness, users, struct user, {0}),
	PASTA_GROUP_HIDDEN(struct hotness, pages, struct pages,
			   PASTA_MEMBER(U64, struct pages, mask),
			   PASTA_MEMBER(SUM, struct pages, bytes)),
	PASTA_GROUP_HIDDEN(struct hotness, wholes, struct whole, {0}),
	PASTA_GROUP(struct hotness, cells, struct cell, cell_members, .order = "begin slice"),
	{0},
};

static const struct pasta_access_index_def access_index = PASTA_ACCESS_INDEX(
	struct hotness, access_index,
	PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(TENSOR));

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	const char *window = pasta_opt(opts, "window");
	struct hotness *h = state;

	h->by_time = !strcmp(window, "time");
	if (!h->by_time && strcmp(window, "launches"))
		return pasta_fail(err, -EINVAL,
				  "hotness.window must be launches or time, not '%s': use --opt "
				  "hotness.window=time",
				  window);
	return 0;
}

static uint64_t window_of(const struct hotness *h, uint64_t position)
{
	return position >> h->shift << h->shift;
}

static void fold(void *key, const void *ctx)
{
	struct cell_key *cell_key = key;

	cell_key->begin = window_of(ctx, cell_key->begin);
}

/* Doubles the length of windows until WINDOWS of them cover all positions. Returns whether the
 * length changed. */
static bool widen(struct hotness *h, uint64_t position, bool empty)
{
	unsigned int before = h->shift;

	h->first = empty || position < h->first ? position : h->first;
	h->last = empty || position > h->last ? position : h->last;
	while ((h->last >> h->shift) - (h->first >> h->shift) >= WINDOWS)
		h->shift++;
	return h->shift != before;
}

static uint64_t pages_of(const struct pasta_access_object *o)
{
	uint64_t bytes = pasta_access_add(o->addr % PASTA_ACCESS_PAGE, o->bytes);

	return o->bytes ? (bytes - 1) / PASTA_ACCESS_PAGE + 1 : 0;
}

/* Returns the number of pages in a slice of the object. */
static uint64_t width_of(const struct pasta_access_object *o)
{
	return pages_of(o) / SLICES + 1;
}

static void touch(struct hotness *h, const struct pasta_access_part *part)
{
	struct pages *pages = PASTA_ROW(h->pages, struct pages, part->object->key, part->page / 64);
	uint64_t bit = UINT64_C(1) << part->page % 64;

	if (!(pages->mask & bit))
		pasta_access_add_to(&pages->bytes, part->bytes);
	pages->mask |= bit;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_access_sum_record *r = &ev->access_sum;
	struct hotness *h = state;
	const struct pasta_access_part *parts;
	uint64_t position;
	size_t count;

	if (r->reducer != PASTA_REDUCER_PAGE || r->key0 == PASTA_KEY_OTHER)
		return;
	count = pasta_access_index_page(h->access_index, ev, &parts, &position);
	for (size_t i = 0; i < count; i++)
		touch(h, &parts[i]);
	if (!count)
		return;
	position = h->by_time ? ev->time : position;
	if (widen(h, position, !pasta_group_count(h->cells)))
		pasta_group_rekey(h->cells, fold, h);
	pasta_access_add_to(&PASTA_ROW(h->cells, struct cell, window_of(h, position),
				       parts->object->key, parts->page / width_of(parts->object))
				     ->accesses,
			    pasta_access_add(r->loads, r->stores));
}

/* -- Rows of the table -- */

static struct line *line_of(struct hotness *h, uint64_t key)
{
	uint64_t part = key == PASTA_KEY_OTHER	    ? key
			: key >= PASTA_OBJECT_FIRST ? OBJECTS
						    : SPECIAL + key;

	return PASTA_ROW(h->lines, struct line, part, key);
}

static struct line *used_line(struct hotness *h, const struct pasta_access_shape *shape,
			      const struct pasta_access_row *row)
{
	struct line *line = line_of(h, row->key);

	line->kernels += !PASTA_ROW(h->users, struct user, row->key, shape->name)->rows++;
	return line;
}

static int add_accesses(void *ctx, const struct pasta_access_shape *shape,
			const struct pasta_access_row *row)
{
	struct hotness *h = ctx;
	struct line *line = used_line(h, shape, row);
	uint64_t accesses = pasta_access_add(row->loads, row->stores);

	pasta_access_add_to(&line->accesses, accesses);
	pasta_access_add_to(&line->loads, row->loads);
	pasta_access_add_to(&line->stores, row->stores);
	pasta_access_add_to(&line->bytes, row->bytes);
	pasta_access_add_to(&line->crossing, row->extra);
	line->counted += shape->counted;
	line->launches += pasta_access_launches(shape);
	pasta_access_add_to(&h->accesses, accesses);
	return 0;
}

static int add_copies(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct hotness *h = ctx;
	struct line *line = used_line(h, shape, row);

	pasta_access_add_to(&line->copied, row->bytes);
	line->copied_most = row->most > line->copied_most ? row->most : line->copied_most;
	pasta_access_add_to(&h->descriptors, row->loads);
	pasta_access_add_to(&h->copied, row->bytes);
	return 0;
}

/* Tensor copies may access the same pages that loads and stores touch. The bytes of both can
 * therefore not be added: the larger number is a lower bound of the touched bytes. */
static void add_object(struct hotness *h, const struct pasta_access_object *o)
{
	struct line *line = line_of(h, o->key);
	uint64_t touched = line->touched > line->copied_most ? line->touched : line->copied_most;

	line->size = o->bytes;
	line->number = o->number;
	line->proc = o->proc;
	line->touched = touched < o->bytes ? touched : o->bytes;
	pasta_access_add_to(
		&PASTA_ROW(h->wholes, struct whole, o->parent ? o->parent : o->key)->touched,
		line->touched);
}

/* Adds a row for each object, even if no kernel accesses the object. An allocation that only
 * contains other allocations has no row. */
static void add_lines(struct hotness *h)
{
	const struct pasta_access_object *o;
	const struct pages *pages;
	size_t at = 0;

	pasta_access_index_rows(h->access_index, PASTA_REDUCER_OBJECT, add_accesses, h);
	pasta_access_index_rows(h->access_index, PASTA_REDUCER_TENSOR, add_copies, h);
	while ((pages = pasta_group_next(h->pages, &at)))
		pasta_access_add_to(&line_of(h, pages->key[0])->touched, pages->bytes);
	at = 0;
	while ((o = pasta_access_index_objects(h->access_index, &at)))
		if (o->id)
			add_object(h, o);
	if (h->totals.untouched)
		PASTA_ROW(h->lines, struct line, NEVER, h->totals.untouched)->size =
			h->totals.untouched_bytes;
}

/* -- Chart: a heat map in which all objects follow one another, in the order of their allocation --
 */

static void lay_out(struct hotness *h)
{
	struct line *line;
	size_t at = 0;

	while ((line = pasta_group_next_by(h->lines, "proc number id", &at))) {
		if (line->key.part != OBJECTS)
			continue;
		line->begin = h->height;
		pasta_access_add_to(&h->height, pages_of(pasta_access_index_object(h->access_index,
										   line->key.id)));
	}
	h->height = (h->height + LINES - 1) / LINES + !h->height;
}

/* Changes the key of a cell of the heat map: replaces a slice of an object with a row of the
 * chart. */
static void to_chart(void *key, const void *ctx)
{
	struct cell_key *k = key;
	const struct hotness *h = ctx;
	const struct pasta_access_object *o = pasta_access_index_object(h->access_index, k->object);
	const struct line *line = pasta_group_find(h->lines, &(uint64_t[2]){OBJECTS, k->object});
	uint64_t at = line ? (line->begin + k->slice * width_of(o)) / h->height : 0;

	k->begin = window_of(h, k->begin);
	k->object = 0;
	k->slice = at < LINES ? at : LINES;
}

static void report_chart(struct hotness *h)
{
	const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_HEAT, .name = "pages",
				.x = {.name = h->by_time ? "time" : "launch",
				      .unit = h->by_time ? "ns" : NULL},
				.y = {.name = "offset", .unit = "bytes"},
				.value = {.name = "accesses"});
	struct pasta_chart *chart = NULL;
	const struct cell *cell;
	size_t at = 0;
	uint64_t first;

	lay_out(h);
	while ((cell = pasta_group_next(h->cells, &at)))
		widen(h, cell->key.begin, at == 1);
	pasta_group_rekey(h->cells, to_chart, h);
	if (at)
		chart = pasta_out_chart(h->out, &def);
	/* A chart over time starts with the first window; a chart over launches starts with
	 * launch 0. */
	first = h->by_time ? window_of(h, h->first) : 0;
	at = 0;
	while (chart && (cell = pasta_group_next_by(h->cells, NULL, &at)))
		if (cell->accesses)
			pasta_chart_cell(chart, (double)(cell->key.begin - first),
					 (double)(cell->key.slice * h->height) *
						 (double)PASTA_ACCESS_PAGE,
					 (double)pasta_access_add(0, cell->accesses));
}

/* -- Findings -- */

/* Returns the number of allocated bytes that no kernel touched. Bytes that a kernel touched in a
 * part of an allocation count for the whole allocation. Images do not count, because their accesses
 * are not counted by object. */
static uint64_t cold_bytes(const struct hotness *h)
{
	uint64_t cold = h->totals.untouched_bytes;
	const struct whole *w;
	size_t at = 0;

	while ((w = pasta_group_next(h->wholes, &at))) {
		const struct pasta_access_object *o =
			pasta_access_index_object(h->access_index, w->key);

		if (o && !o->part && o->type != PASTA_ALLOC_IMAGE && w->touched < o->bytes)
			pasta_access_add_to(&cold, o->bytes - w->touched);
	}
	return cold;
}

static void find_cold(const struct hotness *h)
{
	uint64_t cold = cold_bytes(h);

	if (!cold || !h->totals.counted)
		return;
	pasta_out_report(
		h->out, .severity = PASTA_SEVERITY_NOTE,
		.what = pasta_out_text(h->out, "bytes never touched%s: %llu",
				       h->all ? "" : " by counted launches",
				       (unsigned long long)cold),
		.evidence = "allocated 4 KiB pages that no kernel accessed; accesses by "
			    "copies and the host don't count",
		.action = h->totals.page_other
				  ? "a table had no room for all pages: some bytes that count as "
				    "never touched may have been touched"
				  : NULL);
}

/* Reports the object with the most accesses, if there are several objects. `first` and `second` are
 * the first two rows of the table. */
static void find_hot(const struct hotness *h, const struct line *first, const struct line *second)
{
	double share = first ? pasta_percent(first->accesses, h->accesses) : 0.0;
	char where[TEXT];

	if (first && second && second->key.part == OBJECTS && share >= MOST)
		pasta_out_report(h->out, .severity = PASTA_SEVERITY_NOTE,
				 .what = pasta_out_text(
					 h->out, "one object has %.0f%% of all accesses", share),
				 .where = object_of(first, h, where, sizeof(where)));
}

static void find_copied(const struct hotness *h)
{
	if (!h->descriptors)
		return;
	pasta_out_report(
		h->out, .severity = PASTA_SEVERITY_NOTE,
		.what = pasta_out_text(h->out,
				       "tensor copies are not counted individually: kernels "
				       "received %llu tensor descriptors",
				       (unsigned long long)h->descriptors),
		.evidence = pasta_out_text(h->out,
					   "the descriptors cover %llu bytes, counted once per "
					   "launch; tensor copies (TMA) may transfer these bytes "
					   "several times, or only a part of them",
					   (unsigned long long)h->copied),
		.action = "read column 'tensor_copies_at_least' as a lower bound; columns 'loads' "
			  "and 'stores' exclude tensor copies");
}

static void find_odd(const struct hotness *h, const struct line *line)
{
	bool outside = line->key.part == SPECIAL + PASTA_OBJECT_NONE;
	char where[TEXT];

	if (outside)
		pasta_out_report(
			h->out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(line->accesses),
			.what = "accesses outside of all objects",
			.evidence = "the memory is not allocated, its allocation was not recorded, "
				    "or it holds an OpenCL program's constants (__constant)");
	if (!line->crossing || (line->key.part != OBJECTS && !outside))
		return;
	pasta_out_report(
		h->out, .severity = PASTA_SEVERITY_PROBLEM,
		.what = pasta_out_text(h->out, "accesses that cross the end of an object: %llu",
				       (unsigned long long)line->crossing),
		.where = object_of(line, h, where, sizeof(where)),
		.evidence = outside ? "the accesses begin outside of an object and end inside of "
				      "this object"
				    : "the accesses begin inside an object and end outside of this "
				      "object",
		.action = "check the index bounds in the kernels that access the object");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct hotness *h = state;
	const struct pasta_access_totals *t = &h->totals;
	const struct line *line, *first;
	size_t at = 0;

	h->out = out;
	h->totals = pasta_access_index_totals(h->access_index);
	h->all = !t->sampled && !t->refused && !t->filtered && !t->unregistered && !t->page_other &&
		 !t->partial;
	add_lines(h);
	pasta_out_group(out, h->lines);
	report_chart(h);
	first = pasta_group_next_by(h->lines, NULL, &at);
	find_hot(h, first, pasta_group_next_by(h->lines, NULL, &at));
	find_cold(h);
	find_copied(h);
	at = 0;
	while ((line = pasta_group_next_by(h->lines, NULL, &at)))
		find_odd(h, line);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t->page_other),
			 .what = "accesses to pages for which the table had no room",
			 .evidence = "column 'touched' is too low, and the chart lacks some pages");
	pasta_access_index_findings(h->access_index, out);
	return 0;
}

static const struct pasta_option options[] = {
	{"window", "launches", "what the columns of the chart stand for: launches or time",
	 PASTA_OPTION_TEXT},
	{"rows", "1000", "maximum number of objects with a row of their own; 0: all",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "hotness",
	   .summary = "objects and pages by accesses, and memory that is never touched",
	   .events = PASTA_MASK(ACCESS_SUM),
	   .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE | PASTA_NEED_ACCESS_TENSOR,
	   .state_size = sizeof(struct hotness), .options = options, .open = open_,
	   .event = on_event, .report = report, .flags = PASTA_TOOL_SHARDED, .groups = groups,
	   .accesses = &access_index, .charts = PASTA_CHART_MASK(HEAT));
