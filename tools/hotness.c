/* hotness - memory by how much kernels access it: objects, the cold, and pages over time. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#define WINDOWS 64  /* columns of the chart, at most */
#define LINES 64    /* rows of it, likewise */
#define BUCKETS 256 /* pieces of an object that windows tell apart, at most */
#define MOST 50.0   /* % of all accesses that make an object worth a finding */
#define TEXT 500

/* Accesses in a window, by object and bucket. */
struct window {
	uint64_t number; /* position >> shift */
	struct pasta_map *cells;
};

struct cell {
	uint64_t object, bucket, accesses;
};

struct hotness {
	struct pasta_access_book *book;
	struct pasta_map *touched;	    /* struct touched, by object */
	struct window windows[WINDOWS + 1]; /* by number */
	size_t count;
	unsigned int shift;
	bool by_time, failed;
	uint64_t rows;
};

/* Pages of an object that were touched. */
struct touched {
	struct pasta_map *pages; /* by number in the object */
	uint64_t bytes;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	const char *window = pasta_opt(opts, "window");
	struct hotness *h = state;

	h->by_time = !strcmp(window, "time");
	if (!h->by_time && strcmp(window, "launches"))
		return pasta_fail(err, -EINVAL,
				  "window is launches or time, not '%s': say --opt "
				  "hotness.window=time",
				  window);
	h->rows = pasta_opt_u64(opts, "rows");
	h->book = pasta_access_book_new(PASTA_REDUCE_BIT(OBJECT) | PASTA_REDUCE_BIT(PAGE) |
					PASTA_REDUCE_BIT(TENSOR));
	h->touched = pasta_map_new(sizeof(struct touched));
	return h->book && h->touched ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	struct hotness *h = state;
	struct touched *t;
	size_t at = 0;

	while (h->touched && (t = pasta_map_next(h->touched, &at, NULL)))
		pasta_map_free(t->pages);
	while (h->count)
		pasta_map_free(h->windows[--h->count].cells);
	pasta_map_free(h->touched);
	pasta_access_book_free(h->book);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static void touch(struct hotness *h, uint64_t object, uint64_t page, uint64_t bytes)
{
	struct touched *t = pasta_map_add(h->touched, object);

	if (t && !t->pages)
		t->pages = pasta_map_new(0);
	if (!t || !t->pages) {
		h->failed = true;
		return;
	}
	if (pasta_map_find(t->pages, page))
		return;
	if (pasta_map_add(t->pages, page))
		t->bytes = pasta_access_add(t->bytes, bytes);
	else
		h->failed = true;
}

/* A cell's key: no object has so many buckets that two would meet. */
static void heat(struct hotness *h, struct pasta_map *cells, const struct cell *add)
{
	uint64_t key = add->object * UINT64_C(0x9e3779b97f4a7c15) + add->bucket;
	struct cell *cell;

	for (;; key++) {
		cell = pasta_map_add(cells, key);
		if (!cell) {
			h->failed = true;
			return;
		}
		if (!cell->object)
			*cell = (struct cell){add->object, add->bucket, 0};
		if (cell->object == add->object && cell->bucket == add->bucket)
			break;
	}
	cell->accesses = pasta_access_add(cell->accesses, add->accesses);
}

static void heat_all(struct hotness *h, struct pasta_map *into, const struct pasta_map *from)
{
	const struct cell *cell;
	size_t at = 0;

	while ((cell = pasta_map_next(from, &at, NULL)))
		heat(h, into, cell);
}

/* Two windows become one. */
static void fold(struct hotness *h)
{
	size_t i, kept = 0;

	h->shift++;
	for (i = 0; i < h->count; i++) {
		struct window w = h->windows[i];

		w.number >>= 1;
		if (!kept || h->windows[kept - 1].number != w.number) {
			h->windows[kept++] = w;
			continue;
		}
		heat_all(h, h->windows[kept - 1].cells, w.cells);
		pasta_map_free(w.cells);
	}
	h->count = kept;
}

static uint64_t span(const struct hotness *h)
{
	return h->count ? h->windows[h->count - 1].number - h->windows[0].number : 0;
}

/* The cells of the window at a position; others are folded until there is room. */
static struct pasta_map *window_at(struct hotness *h, uint64_t position)
{
	struct pasta_map *cells;
	size_t i = h->count;

	while (i && h->windows[i - 1].number > position >> h->shift)
		i--;
	if (i && h->windows[i - 1].number == position >> h->shift)
		return h->windows[i - 1].cells;
	cells = pasta_map_new(sizeof(struct cell));
	if (!cells) {
		h->failed = true;
		return NULL;
	}
	memmove(&h->windows[i + 1], &h->windows[i], (h->count - i) * sizeof(*h->windows));
	h->windows[i] = (struct window){position >> h->shift, cells};
	h->count++;
	if (span(h) < WINDOWS)
		return cells;
	while (span(h) >= WINDOWS)
		fold(h);
	return window_at(h, position);
}

static uint64_t pages_of(const struct pasta_access_object *o)
{
	uint64_t bytes = pasta_access_add(o->addr % PASTA_ACCESS_PAGE, o->bytes);

	return o->bytes ? (bytes - 1) / PASTA_ACCESS_PAGE + 1 : 0;
}

/* Pages of a bucket. */
static uint64_t width_of(const struct pasta_access_object *o)
{
	return pages_of(o) / BUCKETS + 1;
}

static void on_page(struct hotness *h, const struct pasta_event *ev)
{
	const struct pasta_access_sum *r = &ev->access_sum;
	const struct pasta_access_part *parts;
	uint64_t launch;
	size_t i, count = pasta_access_book_page(h->book, ev, &parts, &launch);
	struct pasta_map *cells;

	for (i = 0; i < count; i++)
		touch(h, parts[i].object->key, parts[i].page, parts[i].bytes);
	cells = count ? window_at(h, h->by_time ? ev->time : launch) : NULL;
	if (cells)
		heat(h, cells,
		     &(struct cell){parts[0].object->key, parts[0].page / width_of(parts[0].object),
				    pasta_access_add(r->loads, r->stores)});
}

static void on_event(void *state, const struct pasta_event *ev)
{
	struct hotness *h = state;

	if (h->failed)
		return;
	pasta_access_book_event(h->book, ev);
	if (ev->kind == PASTA_ACCESS_SUM && ev->access_sum.reducer == PASTA_REDUCE_PAGE &&
	    ev->access_sum.key0 != PASTA_KEY_OTHER)
		on_page(h, ev);
}

static void merge_windows(struct hotness *a, const struct hotness *b)
{
	size_t i;

	while (a->shift < b->shift)
		fold(a);
	for (i = 0; i < b->count && !a->failed; i++) {
		struct pasta_map *cells = window_at(a, b->windows[i].number << b->shift);

		if (cells)
			heat_all(a, cells, b->windows[i].cells);
	}
}

static void merge(void *into, const void *from)
{
	const struct hotness *b = from;
	struct hotness *a = into;
	const struct touched *t;
	uint64_t object;
	size_t at = 0;

	a->failed |= b->failed || pasta_access_book_merge(a->book, b->book);
	while (!a->failed && (t = pasta_map_next(b->touched, &at, &object))) {
		struct touched *sum;
		uint64_t page;
		size_t inner = 0;

		while (pasta_map_next(t->pages, &inner, &page))
			touch(a, object, page, 0);
		sum = pasta_map_find(a->touched, object);
		if (sum)
			sum->bytes = pasta_access_add(sum->bytes, t->bytes);
	}
	merge_windows(a, b);
}

/* -- Reporting. -- */

/* A row of the table: an object, or what is none. */
struct line {
	const struct pasta_access_object *object;
	uint64_t special;
	struct pasta_access_row sum;
	uint64_t touched;
	uint64_t copied, copied_most; /* by tensor copies, at least; of one launch */
	uint64_t counted, launches;   /* of the shapes that access it */
	struct pasta_map *names;      /* of kernels */
	bool known;		      /* of several: that kernels access some */
};

struct lines {
	struct pasta_map *all;	      /* struct line, by key */
	uint64_t total;		      /* accesses */
	uint64_t descriptors, copied; /* of tensor copies; bytes */
	bool failed;
};

static void lines_free(struct lines *lines)
{
	struct line *line;
	size_t at = 0;

	while (lines->all && (line = pasta_map_next(lines->all, &at, NULL)))
		pasta_map_free(line->names);
	pasta_map_free(lines->all);
}

static uint64_t accesses(const struct line *line)
{
	return pasta_access_add(line->sum.loads, line->sum.stores);
}

/* The line of a row, with its kernel; NULL: no memory. */
static struct line *line_of(struct lines *lines, const struct pasta_access_shape *shape,
			    const struct pasta_access_row *row)
{
	struct line *line = pasta_map_add(lines->all, row->key);

	if (line && !line->names)
		line->names = pasta_map_new(0);
	if (!line || !line->names || !pasta_map_add(line->names, shape->name)) {
		lines->failed = true;
		return NULL;
	}
	line->special = row->key;
	return line;
}

static int add_line(void *ctx, const struct pasta_access_shape *shape,
		    const struct pasta_access_row *row)
{
	struct lines *lines = ctx;
	struct line *line = line_of(lines, shape, row);

	if (!line)
		return -ENOMEM;
	line->sum.loads = pasta_access_add(line->sum.loads, row->loads);
	line->sum.stores = pasta_access_add(line->sum.stores, row->stores);
	line->sum.bytes = pasta_access_add(line->sum.bytes, row->bytes);
	line->sum.extra = pasta_access_add(line->sum.extra, row->extra);
	line->counted += shape->counted;
	line->launches += pasta_access_launches(shape);
	lines->total = pasta_access_add(lines->total, pasta_access_add(row->loads, row->stores));
	return 0;
}

static int add_copied(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct lines *lines = ctx;
	struct line *line = line_of(lines, shape, row);

	if (!line)
		return -ENOMEM;
	line->copied = pasta_access_add(line->copied, row->bytes);
	line->copied_most = row->most > line->copied_most ? row->most : line->copied_most;
	lines->descriptors = pasta_access_add(lines->descriptors, row->loads);
	lines->copied = pasta_access_add(lines->copied, row->bytes);
	return 0;
}

/* Copies may be of the pages that were seen, or of others: the larger one is the least there is. */
static uint64_t touched_of(const struct hotness *h, const struct line *line)
{
	const struct touched *t = pasta_map_find(h->touched, line->object->key);
	uint64_t bytes = t ? t->bytes : 0;

	bytes = bytes > line->copied_most ? bytes : line->copied_most;
	return bytes < line->object->bytes ? bytes : line->object->bytes;
}

/* Also of objects that nothing accesses: they are the cold ones. But not of what is a whole only:
 * its parts have their lines. */
static int fill(struct lines *lines, const struct hotness *h)
{
	const struct pasta_access_object *o;
	size_t at = 0;

	lines->all = pasta_map_new(sizeof(struct line));
	if (!lines->all || pasta_access_book_rows(h->book, PASTA_REDUCE_OBJECT, add_line, lines) ||
	    pasta_access_book_rows(h->book, PASTA_REDUCE_TENSOR, add_copied, lines))
		return -ENOMEM;
	while ((o = pasta_access_book_objects(h->book, &at))) {
		struct line *line = o->id ? pasta_map_add(lines->all, o->key) : NULL;

		if (!o->id)
			continue;
		if (!line)
			return -ENOMEM;
		line->object = o;
		line->touched = touched_of(h, line);
	}
	return 0;
}

/* Objects first, the hottest of all; then what is none, by its number. */
static int by_heat(const void *a, const void *b)
{
	const struct line *x = *(const struct line *const *)a, *y = *(const struct line *const *)b;

	if (!x->object || !y->object) {
		if (!x->object != !y->object)
			return x->object ? -1 : 1;
		return x->special < y->special ? -1 : 1;
	}
	if (accesses(x) != accesses(y))
		return accesses(x) > accesses(y) ? -1 : 1;
	if (x->object->proc != y->object->proc)
		return x->object->proc < y->object->proc ? -1 : 1;
	return x->object->key < y->object->key ? -1 : 1;
}

/* Whether nothing that accesses objects was left out. */
static bool is_all(const struct pasta_access_totals *t)
{
	return !t->sampled && !t->refused && !t->filtered && !t->untold && !t->page_other &&
	       !t->partial;
}

static uint64_t kernels(const struct line *line)
{
	return line->names ? pasta_map_count(line->names) : 0;
}

/* Blank where only launches that were left out may have accessed it. */
static void put_sums(struct pasta_table *t, const struct line *line, bool all)
{
	const uint64_t sums[] = {line->sum.loads, line->sum.stores, line->sum.bytes};
	bool known = all || line->known || accesses(line) || kernels(line);

	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		if (known)
			pasta_cell_int(t, (int64_t)sums[i]);
		else
			pasta_cell_none(t);
	}
}

static void put_share(struct pasta_table *t, uint64_t part, uint64_t whole)
{
	if (whole)
		pasta_cell_float(t, 100.0 * (double)part / (double)whole);
	else
		pasta_cell_none(t);
}

static void put_line(const struct hotness *h, const struct line *line, bool all,
		     struct pasta_table *t)
{
	const struct pasta_access_object *o = line->object;
	char text[TEXT];

	pasta_cell_str(t, o ? pasta_access_object_text(h->book, o, text, sizeof(text))
			    : pasta_access_space_text(line->special));
	if (o && o->bytes)
		pasta_cell_int(t, (int64_t)pasta_access_add(0, o->bytes));
	else
		pasta_cell_none(t);
	put_sums(t, line, all);
	if (o && o->bytes) {
		pasta_cell_int(t, (int64_t)line->touched);
		put_share(t, line->touched, o->bytes);
	} else {
		pasta_cell_none(t);
		pasta_cell_none(t);
	}
	pasta_cell_int(t, (int64_t)kernels(line));
	put_share(t, line->counted, line->launches);
	pasta_cell_str(t, o ? pasta_access_process_text(h->book, o->proc, text, sizeof(text)) : "");
}

/* Those that have no row of their own, in one. */
static void put_rest(const struct line *rest, uint64_t count, uint64_t bytes, bool all,
		     struct pasta_table *t)
{
	char text[TEXT];

	snprintf(text, sizeof(text), "(%llu colder ones)", (unsigned long long)count);
	pasta_cell_str(t, text);
	pasta_cell_int(t, (int64_t)bytes);
	put_sums(t, rest, all);
	pasta_cell_int(t, (int64_t)rest->touched);
	put_share(t, rest->touched, bytes);
	pasta_cell_none(t);
	pasta_cell_none(t);
	pasta_cell_str(t, "");
}

static void add_rest(struct line *rest, const struct line *line)
{
	rest->copied = pasta_access_add(rest->copied, line->copied);
	rest->sum.loads = pasta_access_add(rest->sum.loads, line->sum.loads);
	rest->sum.stores = pasta_access_add(rest->sum.stores, line->sum.stores);
	rest->sum.bytes = pasta_access_add(rest->sum.bytes, line->sum.bytes);
	rest->touched = pasta_access_add(rest->touched, line->touched);
	rest->known |= kernels(line) != 0;
}

static void put_never(const struct pasta_access_totals *totals, struct pasta_table *t)
{
	char text[TEXT];

	snprintf(text, sizeof(text), "(%llu given to no counted kernel)",
		 (unsigned long long)totals->never);
	pasta_cell_str(t, text);
	pasta_cell_int(t, (int64_t)totals->never_bytes);
	put_sums(t, &(struct line){0}, is_all(totals));
	pasta_cell_int(t, 0);
	put_share(t, 0, totals->never_bytes);
	pasta_cell_int(t, 0);
	pasta_cell_none(t);
	pasta_cell_str(t, "");
}

/* The last column, where there is one. */
static void put_copied(struct pasta_table *t, const struct lines *lines, uint64_t bytes)
{
	if (lines->descriptors)
		pasta_cell_int(t, (int64_t)bytes);
}

static void report_objects(const struct hotness *h, const struct lines *lines,
			   struct line *const *list, const struct pasta_access_totals *totals,
			   struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"object", PASTA_STRING, NULL},
		{"size", PASTA_INT, "bytes"},
		{"loads", PASTA_INT, NULL},
		{"stores", PASTA_INT, NULL},
		{"bytes", PASTA_INT, "bytes"},
		{"touched", PASTA_INT, "bytes"},
		{"touched_share", PASTA_FLOAT, "%"},
		{"kernels", PASTA_INT, NULL},
		{"counted", PASTA_FLOAT, "%"},
		{"process", PASTA_STRING, NULL},
		{"tensor_copies_at_least", PASTA_INT, "bytes"},
	};
	struct pasta_table *t =
		pasta_out_table(out, "objects", columns, lines->descriptors ? 11 : 10);
	bool all = is_all(totals);
	uint64_t count = 0, bytes = 0;
	struct line rest = {0};
	size_t i;

	for (i = 0; list[i] && list[i]->object; i++) {
		if (!h->rows || i < h->rows) {
			put_line(h, list[i], all, t);
			put_copied(t, lines, list[i]->copied);
			continue;
		}
		count++;
		bytes = pasta_access_add(bytes, list[i]->object->bytes);
		add_rest(&rest, list[i]);
	}
	if (count) {
		put_rest(&rest, count, bytes, all, t);
		put_copied(t, lines, rest.copied);
	}
	if (totals->never) {
		put_never(totals, t);
		put_copied(t, lines, 0);
	}
	for (; list[i]; i++) {
		put_line(h, list[i], all, t);
		put_copied(t, lines, list[i]->copied);
	}
}

/* -- The chart: objects end to end, in the order of their allocation. -- */

static int by_number(const void *a, const void *b)
{
	const struct line *x = *(const struct line *const *)a, *y = *(const struct line *const *)b;

	if (!x->object || !y->object)
		return (y->object != NULL) - (x->object != NULL);
	if (x->object->proc != y->object->proc)
		return x->object->proc < y->object->proc ? -1 : 1;
	if (x->object->number != y->object->number)
		return x->object->number < y->object->number ? -1 : 1;
	return x->object->key < y->object->key ? -1 : 1;
}

/* Where each object begins, in pages; and how many there are of all. */
static struct pasta_map *lay_out(const struct lines *lines, uint64_t *pages)
{
	struct line **list = pasta_map_sorted(lines->all, by_number);
	struct pasta_map *begins = pasta_map_new(sizeof(uint64_t));
	size_t i;

	*pages = 0;
	for (i = 0; list && begins && list[i] && list[i]->object; i++) {
		uint64_t *begin = pasta_map_add(begins, list[i]->object->key);

		if (!begin) {
			pasta_map_free(begins);
			begins = NULL;
			break;
		}
		*begin = *pages;
		*pages = pasta_access_add(*pages, pages_of(list[i]->object));
	}
	if (!list) {
		pasta_map_free(begins);
		begins = NULL;
	}
	free(list);
	return begins;
}

static void put_window(const struct hotness *h, const struct window *w,
		       const struct pasta_map *begins, uint64_t height, struct pasta_chart *c)
{
	uint64_t values[LINES + 1] = {0}, first = h->windows[0].number;
	const struct cell *cell;
	size_t i, at = 0;

	while ((cell = pasta_map_next(w->cells, &at, NULL))) {
		const uint64_t *begin = pasta_map_find(begins, cell->object);
		uint64_t page =
			cell->bucket * width_of(pasta_access_book_object(h->book, cell->object));

		i = begin ? (size_t)((*begin + page) / height) : 0;
		i = i < LINES ? i : LINES;
		values[i] = pasta_access_add(values[i], cell->accesses);
	}
	/* Time is from the first window on, launches are from 0. */
	first = h->by_time ? first : 0;
	for (i = 0; i <= LINES; i++)
		if (values[i])
			pasta_chart_cell(c, (double)((w->number - first) << h->shift),
					 (double)(i * height) * (double)PASTA_ACCESS_PAGE,
					 (double)values[i]);
}

static int report_chart(const struct hotness *h, const struct lines *lines, struct pasta_out *out)
{
	static const struct pasta_axis time = {"time", "ns"}, launch = {"launch", NULL};
	static const struct pasta_axis offset = {"offset", "bytes"}, value = {"accesses", NULL};
	uint64_t pages;
	struct pasta_map *begins = lay_out(lines, &pages);
	struct pasta_chart *c;
	size_t i;

	if (!begins)
		return -ENOMEM;
	c = h->count ? pasta_out_chart(out, "pages", PASTA_CHART_HEAT, h->by_time ? &time : &launch,
				       &offset)
		     : NULL;
	if (c)
		pasta_chart_value(c, &value);
	for (i = 0; c && i < h->count; i++)
		put_window(h, &h->windows[i], begins, (pages + LINES - 1) / LINES + !pages, c);
	pasta_map_free(begins);
	return 0;
}

/* -- Findings. -- */

/* Of wholes: what its parts touch is touched. Images are not counted by object. */
static uint64_t cold_bytes(const struct hotness *h, const struct lines *lines)
{
	struct pasta_map *cold = pasta_map_new(sizeof(uint64_t));
	const struct pasta_access_object *o;
	const struct line *line;
	uint64_t all = 0, *warm;
	size_t at = 0;

	while (cold && (line = pasta_map_next(lines->all, &at, NULL))) {
		warm = line->object
			       ? pasta_map_add(cold, line->object->parent ? line->object->parent
									  : line->object->key)
			       : NULL;
		if (warm)
			*warm = pasta_access_add(*warm, line->touched);
	}
	at = 0;
	while (cold && (o = pasta_access_book_objects(h->book, &at))) {
		warm = pasta_map_find(cold, o->key);
		if (!o->part && o->sort != PASTA_ALLOC_IMAGE && warm && *warm < o->bytes)
			all = pasta_access_add(all, o->bytes - *warm);
	}
	pasta_map_free(cold);
	return all;
}

static void find_cold(const struct hotness *h, const struct lines *lines,
		      const struct pasta_access_totals *totals, struct pasta_out *out)
{
	uint64_t cold = pasta_access_add(cold_bytes(h, lines), totals->never_bytes);
	char what[200];

	if (!cold || !totals->counted)
		return;
	snprintf(what, sizeof(what), "bytes that were never touched%s: %llu",
		 is_all(totals) ? "" : " by the launches that were counted",
		 (unsigned long long)cold);
	pasta_out_finding(
		out,
		&(struct pasta_finding){
			PASTA_NOTE, what, NULL,
			"in pages of 4 KiB that no kernel accessed, of memory that was "
			"allocated; copies and the host are not looked at",
			totals->page_other
				? "a table had no room for all pages: some of them may be touched"
				: NULL});
}

static void find_hot(const struct hotness *h, struct line *const *list, uint64_t total,
		     struct pasta_out *out)
{
	char what[200], where[TEXT];
	double share;

	if (!list[0] || !list[0]->object || !list[1] || !list[1]->object || !total)
		return;
	share = 100.0 * (double)accesses(list[0]) / (double)total;
	if (share < MOST)
		return;
	snprintf(what, sizeof(what), "one object takes %.0f%% of all accesses", share);
	pasta_out_finding(out,
			  &(struct pasta_finding){PASTA_NOTE, what,
						  pasta_access_object_text(h->book, list[0]->object,
									   where, sizeof(where)),
						  NULL, NULL});
}

static void find_copied(const struct lines *lines, struct pasta_out *out)
{
	char what[200], evidence[200];

	if (!lines->descriptors)
		return;
	snprintf(what, sizeof(what),
		 "tensor copies that cannot be seen one by one: of %llu "
		 "descriptors that kernels were given",
		 (unsigned long long)lines->descriptors);
	snprintf(evidence, sizeof(evidence),
		 "they describe %llu bytes, each counted once a launch: copies (TMA) may read them "
		 "more than once, or in part",
		 (unsigned long long)lines->copied);
	pasta_out_finding(out, &(struct pasta_finding){PASTA_NOTE, what, NULL, evidence,
						       "take tensor_copies_at_least as what each "
						       "operand takes at least; loads and stores "
						       "lack them"});
}

static void find_odd(const struct hotness *h, struct line *const *list, struct pasta_out *out)
{
	char what[200], where[TEXT];
	size_t i;

	for (i = 0; list[i]; i++) {
		const struct line *line = list[i];

		if (!line->object && line->special == PASTA_OBJECT_NONE)
			pasta_out_count(out, PASTA_WARNING, accesses(line),
					"accesses outside of all objects",
					"memory that was not allocated, or whose allocation was "
					"not seen, or an OpenCL program's constants (__constant)",
					NULL);
		if (!line->sum.extra || (!line->object && line->special != PASTA_OBJECT_NONE))
			continue;
		snprintf(what, sizeof(what), "accesses that cross the end of an object: %llu",
			 (unsigned long long)line->sum.extra);
		pasta_out_finding(
			out, &(struct pasta_finding){
				     PASTA_PROBLEM, what,
				     line->object ? pasta_access_object_text(h->book, line->object,
									     where, sizeof(where))
						  : "into an object, from outside",
				     "they begin in it and reach beyond",
				     "check the bounds of what the kernels index"});
	}
}

static int report(void *state, struct pasta_out *out)
{
	struct hotness *h = state;
	struct pasta_access_totals totals = pasta_access_book_totals(h->book);
	struct lines lines = {0};
	struct line **list = NULL;
	int error = h->failed ? -ENOMEM : pasta_access_book_error(h->book);

	if (!error)
		error = fill(&lines, h);
	if (!error)
		list = pasta_map_sorted(lines.all, by_heat);
	if (!error && !list)
		error = -ENOMEM;
	if (!error) {
		report_objects(h, &lines, list, &totals, out);
		error = report_chart(h, &lines, out);
	}
	if (!error) {
		find_hot(h, list, lines.total, out);
		find_cold(h, &lines, &totals, out);
		find_copied(&lines, out);
		find_odd(h, list, out);
		pasta_out_count(out, PASTA_WARNING, totals.page_other,
				"accesses to pages that the table had no room for",
				"touched is too low, and the chart lacks them", NULL);
		pasta_access_book_findings(h->book, out);
	}
	free(list);
	lines_free(&lines);
	return error;
}

static const struct pasta_option options[] = {
	{"window", "launches", "what the columns of the chart are: launches or time",
	 PASTA_OPTION_TEXT},
	{"rows", "1000", "how many objects have a row each; 0: all", PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "hotness", .summary = "objects and pages by accesses, and what is never touched",
	   .events = PASTA_ACCESS_KINDS,
	   .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE | PASTA_NEED_ACCESS_TENSOR,
	   .state_size = sizeof(struct hotness), .options = options, .open = open_,
	   .event = on_event, .merge = merge, .report = report, .close = close_,
	   .charts = PASTA_BIT(CHART_HEAT));
