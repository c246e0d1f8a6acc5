/* access_pattern - lines of kernels by their accesses: sectors, strides, divergence. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#define TEXT 500
#define FINDINGS 5	/* of one sort, at most */
#define SMALL 100	/* a part of all that is less is not worth one */
#define WASTE 2.0	/* sectors by what their bytes need, from which on it is worth a finding */
#define LOW 50.0	/* % of active threads, below which it is */
#define OWN_SECTORS 0.9 /* of a sector a thread, from which on accesses are scattered */

enum { COALESCED = 1, BROADCAST, STRIDED, SCATTERED, MIXED };
static const char *const classes[] = {
	[COALESCED] = "coalesced", [BROADCAST] = "broadcast", [STRIDED] = "strided",
	[SCATTERED] = "scattered", [MIXED] = "mixed",
};

/* Sums of requests. Bytes are one way: those of an atomic count once. */
struct requests {
	uint64_t count, bytes, sectors;
	uint64_t warps, active, threads; /* from the table of divergence */
};

/* Of one kernel at one site, of all shapes and processes that have it. */
struct place {
	uint32_t kernel;
	const struct pasta_access_site *site; /* NULL: what tables had no room for */
	uint64_t loads, stores, bytes;
	uint64_t counted, launches; /* of the shapes that were there */
	struct requests requests;
};

/* Of one kernel at one line. */
struct line {
	struct place sum;	/* site is that of its first */
	unsigned int spaces;	/* mask */
	unsigned int class;	/* 0: cannot be told */
	uint64_t moved, needed; /* bytes of sectors, where objects are; and the least possible */
};

struct pattern {
	struct pasta_access_book *book;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct pattern *p = state;

	(void)opts;
	p->book = pasta_access_book_new(PASTA_REDUCE_BIT(SITE) | PASTA_REDUCE_BIT(COALESCE) |
					PASTA_REDUCE_BIT(DIVERGE));
	return p->book ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_access_book_free(((struct pattern *)state)->book);
}

static void on_event(void *state, const struct pasta_event *ev)
{
	pasta_access_book_event(((struct pattern *)state)->book, ev);
}

static void merge(void *into, const void *from)
{
	/* Its error is the book's own, which the report asks for. */
	(void)pasta_access_book_merge(((struct pattern *)into)->book,
				      ((const struct pattern *)from)->book);
}

/* -- Places: rows of the three tables, by kernel and site. -- */

struct places {
	const struct pasta_access_book *book;
	struct place *items;
	size_t count, room;
	uint64_t left_out; /* accesses that are in no request */
};

static struct place *place_new(struct places *all)
{
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		struct place *items = reallocarray(all->items, room, sizeof(*items));

		if (!items)
			return NULL;
		all->items = items;
		all->room = room;
	}
	all->items[all->count] = (struct place){0};
	return &all->items[all->count++];
}

static struct place *place_for(struct places *all, const struct pasta_access_shape *shape,
			       uint64_t key)
{
	struct place *place = place_new(all);

	if (!place)
		return NULL;
	place->kernel = shape->name;
	place->site = pasta_access_book_site(all->book, key);
	return place;
}

static int add_site(void *ctx, const struct pasta_access_shape *shape,
		    const struct pasta_access_row *row)
{
	struct place *place = place_for(ctx, shape, row->key);

	if (!place)
		return -ENOMEM;
	place->loads = row->loads;
	place->stores = row->stores;
	place->bytes = row->bytes;
	place->counted = shape->counted;
	place->launches = pasta_access_launches(shape);
	return 0;
}

static bool is_atomic(const struct pasta_access_site *site)
{
	return site && (site->site.flags & 0xff) == PASTA_ACCESS_ATOMIC;
}

/* How often a row's table was at it: an atomic is a load and a store, at once. */
static uint64_t requests_of(const struct pasta_access_site *site,
			    const struct pasta_access_row *row)
{
	return is_atomic(site) ? row->loads : pasta_access_add(row->loads, row->stores);
}

static int add_coalesce(void *ctx, const struct pasta_access_shape *shape,
			const struct pasta_access_row *row)
{
	struct places *all = ctx;
	struct place *place;

	if (row->key == PASTA_KEY_OTHER) {
		all->left_out =
			pasta_access_add(all->left_out, pasta_access_add(row->loads, row->stores));
		return 0;
	}
	place = place_for(all, shape, row->key);
	if (!place)
		return -ENOMEM;
	place->requests.count = requests_of(place->site, row);
	place->requests.bytes = row->bytes >> is_atomic(place->site);
	place->requests.sectors = row->extra;
	return 0;
}

static int add_diverge(void *ctx, const struct pasta_access_shape *shape,
		       const struct pasta_access_row *row)
{
	struct place *place;

	if (row->key == PASTA_KEY_OTHER)
		return 0;
	place = place_for(ctx, shape, row->key);
	if (!place)
		return -ENOMEM;
	place->requests.warps = requests_of(place->site, row);
	place->requests.active = row->active >> is_atomic(place->site);
	place->requests.threads = row->extra;
	return 0;
}

/* -- Adding up: by kernel, file and line, and there by site. -- */

static const char *label(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* Sites that nothing is known of are no one's line. */
static int by_line(const struct place *x, const struct place *y)
{
	const struct pasta_access_site *a = x->site, *b = y->site;
	int order = strcmp(label(x->kernel), label(y->kernel));

	if (order)
		return order;
	if (!a || !b)
		return (b != NULL) - (a != NULL);
	if (!a->known || !b->known)
		return a->known != b->known ? (a->known ? -1 : 1) : compare(a->key, b->key);
	order = strcmp(pasta_str(a->site.file), pasta_str(b->site.file));
	if (order)
		return order;
	/* Without lines a function is all that is known. */
	if (a->site.line != b->site.line)
		return compare(a->site.line, b->site.line);
	return a->site.line ? 0 : strcmp(pasta_str(a->site.function), pasta_str(b->site.function));
}

/* The same place in the text; programs that are built again, and processes, have it again. */
static int by_site(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = by_line(x, y);

	if (order || !x->site || !x->site->known)
		return order;
	order = compare(x->site->site.column, y->site->site.column);
	order = order ? order : compare(x->site->site.flags, y->site->site.flags);
	order = order ? order : compare(x->site->site.bytes, y->site->site.bytes);
	order = order ? order
		      : strcmp(pasta_str(x->site->site.function),
			       pasta_str(y->site->site.function));
	return order ? order
		     : strcmp(pasta_str(x->site->site.callee), pasta_str(y->site->site.callee));
}

static void add_place(struct place *to, const struct place *from)
{
	struct requests *r = &to->requests;

	to->loads = pasta_access_add(to->loads, from->loads);
	to->stores = pasta_access_add(to->stores, from->stores);
	to->bytes = pasta_access_add(to->bytes, from->bytes);
	to->counted += from->counted;
	to->launches += from->launches;
	r->count = pasta_access_add(r->count, from->requests.count);
	r->bytes = pasta_access_add(r->bytes, from->requests.bytes);
	r->sectors = pasta_access_add(r->sectors, from->requests.sectors);
	r->warps = pasta_access_add(r->warps, from->requests.warps);
	r->active = pasta_access_add(r->active, from->requests.active);
	r->threads = pasta_access_add(r->threads, from->requests.threads);
}

/*
 * What a site's requests are like, on average; docs/tools/access_pattern.md has the definition. 0:
 * there are none, or they have one thread, and a stride is between two.
 */
static unsigned int class_of(const struct requests *r)
{
	double count = (double)r->count, sectors, need, active, own;

	if (!r->count || !r->warps || !r->bytes || !r->sectors)
		return 0;
	sectors = (double)r->sectors / count;
	need = (double)r->bytes / count / PASTA_SECTOR;
	active = (double)r->active / (double)r->warps;
	if (active < 2.0)
		return 0;
	own = need > active ? need : active;
	if (sectors <= need / 2)
		return BROADCAST;
	if (sectors <= need + 1)
		return COALESCED;
	return sectors >= OWN_SECTORS * own ? SCATTERED : STRIDED;
}

static unsigned int space_of(const struct pasta_access_site *site)
{
	return site->site.flags >> 8 & 0xff;
}

/* Bytes of so many sectors. */
static uint64_t sector_bytes(uint64_t count)
{
	return count > INT64_MAX / PASTA_SECTOR ? (uint64_t)INT64_MAX : count * PASTA_SECTOR;
}

/* A request needs its bytes, and one sector at least. */
static void add_moved(struct line *line, const struct requests *r)
{
	uint64_t least = sector_bytes(r->count);

	line->moved = pasta_access_add(line->moved, sector_bytes(r->sectors));
	line->needed = pasta_access_add(line->needed, least > r->bytes ? least : r->bytes);
}

static uint64_t wasted(const struct line *line)
{
	return line->moved > line->needed ? line->moved - line->needed : 0;
}

/* Sites, sorted, to lines; how many. Only where objects are do sectors cost. */
static size_t lines_of(const struct place *sites, size_t count, struct line *lines)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		const struct pasta_access_site *site = sites[i].site;
		unsigned int class = class_of(&sites[i].requests);
		struct line *line = kept ? &lines[kept - 1] : NULL;

		if (!line || by_line(&line->sum, &sites[i])) {
			line = &lines[kept++];
			*line = (struct line){.sum = {.kernel = sites[i].kernel, .site = site}};
		}
		add_place(&line->sum, &sites[i]);
		if (site && site->known)
			line->spaces |= 1u << (space_of(site) < PASTA_SPACES ? space_of(site)
									     : PASTA_SPACES);
		if (site && site->known && space_of(site) < PASTA_SPACE_LOCAL)
			add_moved(line, &sites[i].requests);
		if (class && line->class && class != line->class)
			line->class = MIXED;
		else if (class)
			line->class = class;
	}
	return kept;
}

/* In place: those of one site become one; how many are left. */
static size_t add_up(struct place *places, size_t count)
{
	size_t i, kept = 0;

	if (count)
		qsort(places, count, sizeof(*places), by_site);
	for (i = 0; i < count; i++)
		if (kept && !by_site(&places[kept - 1], &places[i]))
			add_place(&places[kept - 1], &places[i]);
		else
			places[kept++] = places[i];
	return kept;
}

/* -- Reporting. -- */

static uint64_t accesses(const struct line *line)
{
	return pasta_access_add(line->sum.loads, line->sum.stores);
}

static int by_accesses(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (!x->sum.site != !y->sum.site)
		return x->sum.site ? -1 : 1;
	if (accesses(x) != accesses(y))
		return accesses(x) > accesses(y) ? -1 : 1;
	return by_line(&x->sum, &y->sum);
}

static const char *space_text(unsigned int spaces, char *text)
{
	static const char *const names[PASTA_SPACES + 1] = {
		[PASTA_SPACE_GLOBAL] = "global",   [PASTA_SPACE_CONSTANT] = "constant",
		[PASTA_SPACE_GENERIC] = "generic", [PASTA_SPACE_LOCAL] = "local",
		[PASTA_SPACE_PRIVATE] = "private", [PASTA_SPACE_REMOTE] = "remote",
		[PASTA_SPACES] = "unknown",
	};
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; i <= PASTA_SPACES; i++)
		if (spaces >> i & 1)
			at += (size_t)snprintf(text + at, TEXT - at, "%s%s", at ? "," : "",
					       names[i]);
	return text;
}

static void put_ratio(struct pasta_table *t, double factor, uint64_t part, uint64_t whole)
{
	if (whole)
		pasta_cell_float(t, factor * (double)part / (double)whole);
	else
		pasta_cell_none(t);
}

static void put_where(struct pasta_table *t, const struct pasta_access_site *site)
{
	char text[TEXT];

	if (site && site->known) {
		pasta_cell_str(t, pasta_str(site->site.file));
		if (site->site.line)
			pasta_cell_int(t, site->site.line);
		else
			pasta_cell_none(t);
		pasta_cell_str(t, pasta_str(site->site.function));
		return;
	}
	if (site)
		snprintf(text, sizeof(text), "(unknown, site %llu)", (unsigned long long)site->id);
	pasta_cell_str(t, site ? text : "(no room in tables)");
	pasta_cell_none(t);
	pasta_cell_str(t, "");
}

static void put_line(struct pasta_table *t, const struct line *line)
{
	const struct place *sum = &line->sum;
	char text[TEXT];

	pasta_cell_str(t, label(sum->kernel));
	put_where(t, sum->site);
	pasta_cell_str(t, space_text(line->spaces, text));
	pasta_cell_int(t, (int64_t)sum->loads);
	pasta_cell_int(t, (int64_t)sum->stores);
	pasta_cell_int(t, (int64_t)sum->bytes);
	put_ratio(t, 1.0, sum->requests.sectors, sum->requests.count);
	if (line->class)
		pasta_cell_str(t, classes[line->class]);
	else
		pasta_cell_none(t);
	put_ratio(t, 100.0, sum->requests.active, sum->requests.threads);
	put_ratio(t, 100.0, sum->counted, sum->launches);
}

static void report_lines(const struct line *lines, size_t count, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL},
		{"file", PASTA_STRING, NULL},
		{"line", PASTA_INT, NULL},
		{"function", PASTA_STRING, NULL},
		{"space", PASTA_STRING, NULL},
		{"loads", PASTA_INT, NULL},
		{"stores", PASTA_INT, NULL},
		{"bytes", PASTA_INT, "bytes"},
		{"sectors_per_request", PASTA_FLOAT, NULL},
		{"stride", PASTA_STRING, NULL},
		{"active", PASTA_FLOAT, "%"},
		{"counted", PASTA_FLOAT, "%"},
	};
	struct pasta_table *t = pasta_out_table(out, "lines", columns, 12);
	size_t i;

	for (i = 0; i < count; i++)
		put_line(t, &lines[i]);
}

static int by_waste(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return wasted(x) != wasted(y) ? (wasted(x) > wasted(y) ? -1 : 1) : by_accesses(a, b);
}

static double waste(const struct line *line)
{
	return line->needed ? (double)line->moved / (double)line->needed : 0;
}

/* The lines are put in another order. */
static void find_waste(struct line *lines, size_t count, struct pasta_out *out)
{
	char what[200], evidence[200], where[TEXT];
	size_t i, found = 0;
	uint64_t all = 0;

	if (count)
		qsort(lines, count, sizeof(*lines), by_waste);
	for (i = 0; i < count; i++)
		all = pasta_access_add(all, lines[i].moved);
	for (i = 0; i < count && found < FINDINGS && wasted(&lines[i]) > all / SMALL; i++) {
		if (waste(&lines[i]) < WASTE)
			continue;
		found++;
		snprintf(what, sizeof(what),
			 "requests touch %.1f times the sectors that their bytes need",
			 waste(&lines[i]));
		snprintf(evidence, sizeof(evidence),
			 "%llu bytes of sectors were not asked for, in %s",
			 (unsigned long long)wasted(&lines[i]), label(lines[i].sum.kernel));
		pasta_out_finding(out, &(struct pasta_finding){
					       PASTA_WARNING, what,
					       pasta_access_site_text(&lines[i].sum.site->site,
								      where, sizeof(where)),
					       evidence,
					       "let neighbouring threads access neighbouring "
					       "bytes"});
	}
}

static double active(const struct line *line)
{
	const struct requests *r = &line->sum.requests;

	return r->threads ? 100.0 * (double)r->active / (double)r->threads : 100.0;
}

static void find_low(struct line *lines, size_t count, struct pasta_out *out)
{
	char what[200], evidence[200], where[TEXT];
	size_t i, found = 0;
	uint64_t all = 0;

	if (count)
		qsort(lines, count, sizeof(*lines), by_accesses);
	for (i = 0; i < count; i++)
		all = pasta_access_add(all, accesses(&lines[i]));
	for (i = 0; i < count && found < FINDINGS; i++) {
		if (active(&lines[i]) >= LOW || !lines[i].sum.site || !lines[i].sum.site->known ||
		    accesses(&lines[i]) <= all / SMALL)
			continue;
		found++;
		snprintf(what, sizeof(what), "few threads are active: %.0f%% of their warps",
			 active(&lines[i]));
		snprintf(evidence, sizeof(evidence), "requests: %llu, in %s",
			 (unsigned long long)lines[i].sum.requests.warps,
			 label(lines[i].sum.kernel));
		pasta_out_finding(out, &(struct pasta_finding){
					       PASTA_NOTE, what,
					       pasta_access_site_text(&lines[i].sum.site->site,
								      where, sizeof(where)),
					       evidence,
					       "threads of 32 that follow one another should take "
					       "the same branch"});
	}
}

static int collect(const struct pasta_access_book *book, struct places *all)
{
	int error = pasta_access_book_rows(book, PASTA_REDUCE_SITE, add_site, all);

	if (!error)
		error = pasta_access_book_rows(book, PASTA_REDUCE_COALESCE, add_coalesce, all);
	if (!error)
		error = pasta_access_book_rows(book, PASTA_REDUCE_DIVERGE, add_diverge, all);
	all->count = error ? all->count : add_up(all->items, all->count);
	return error;
}

static int report(void *state, struct pasta_out *out)
{
	const struct pasta_access_book *book = ((struct pattern *)state)->book;
	struct places all = {.book = book};
	struct line *lines = NULL;
	int error = pasta_access_book_error(book);
	size_t count;

	if (!error)
		error = collect(book, &all);
	if (!error)
		lines = calloc(all.count + 1, sizeof(*lines));
	if (!error && !lines)
		error = -ENOMEM;
	if (!error) {
		count = lines_of(all.items, all.count, lines);
		if (count)
			qsort(lines, count, sizeof(*lines), by_accesses);
		report_lines(lines, count, out);
		find_waste(lines, count, out);
		find_low(lines, count, out);
		pasta_out_count(out, PASTA_NOTE, all.left_out, "accesses that are in no request",
				"sectors, stride and active are of the others", NULL);
		pasta_access_book_findings(book, out);
	}
	free(lines);
	free(all.items);
	return error;
}

PASTA_TOOL(.name = "access_pattern",
	   .summary = "accesses by line of kernels: sectors, strides, divergence",
	   .events = PASTA_ACCESS_KINDS,
	   .needs = PASTA_NEED_ACCESS_SITE | PASTA_NEED_ACCESS_COALESCE | PASTA_NEED_ACCESS_DIVERGE,
	   .state_size = sizeof(struct pattern), .open = open_, .event = on_event, .merge = merge,
	   .report = report, .close = close_);
