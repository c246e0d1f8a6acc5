/* bank_conflicts - shared memory by line: requests, and the wavefronts that they take. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#define SMALL 100 /* a part of all conflicts that is less is not worth a finding */
#define FINDINGS 5

/* Of one kernel at one line. */
struct line {
	uint32_t kernel;
	const struct pasta_access_site *site; /* its first; NULL: what the table had no room for */
	uint64_t requests, needed, wavefronts;
};

struct lines {
	const struct pasta_access_book *book;
	struct line *items;
	size_t count, room;
};

struct conflicts {
	struct pasta_access_book *book;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct conflicts *c = state;

	c->book = pasta_access_book_new(PASTA_REDUCE_BIT(OWN));
	return c->book ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_access_book_free(((struct conflicts *)state)->book);
}

static void on_event(void *state, const struct pasta_event *ev)
{
	pasta_access_book_event(((struct conflicts *)state)->book, ev);
}

static void merge(void *into, const void *from)
{
	/* Its error is the book's own, which the report asks for. */
	(void)pasta_access_book_merge(((struct conflicts *)into)->book,
				      ((const struct conflicts *)from)->book);
}

/* -- Rows, as bank_conflicts.cu has them, to lines. -- */

static int is_atomic(const struct pasta_access_site *site)
{
	return site && site->known && (site->site.flags & 0xff) == PASTA_ACCESS_ATOMIC;
}

static int add_row(void *ctx, const struct pasta_access_shape *shape,
		   const struct pasta_access_row *row)
{
	struct lines *all = ctx;
	struct line *line;

	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;

		line = realloc(all->items, room * sizeof(*line));
		if (!line)
			return -ENOMEM;
		all->items = line;
		all->room = room;
	}
	line = &all->items[all->count++];
	line->kernel = shape->name;
	line->site = pasta_access_book_site(all->book, row->key);
	/* An atomic is a load and a store, at once. */
	line->requests =
		is_atomic(line->site) ? row->loads : pasta_access_add(row->loads, row->stores);
	line->needed = row->bytes;
	line->wavefronts = row->extra;
	return 0;
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const struct pasta_site *s, *t;
	int order = strcmp(pasta_str(x->kernel), pasta_str(y->kernel));

	if (order || !x->site || !y->site)
		return order ? order : !x->site - !y->site;
	if (!x->site->known || !y->site->known)
		return compare(x->site->key, y->site->key);
	s = &x->site->site;
	t = &y->site->site;
	order = strcmp(pasta_str(s->file), pasta_str(t->file));
	order = order ? order : compare(s->line, t->line);
	order = order ? order : strcmp(pasta_str(s->function), pasta_str(t->function));
	/* Without a line an instruction stands for itself. */
	return order || s->line ? order : strcmp(pasta_str(s->callee), pasta_str(t->callee));
}

static uint64_t conflicts_of(const struct line *line)
{
	return line->wavefronts > line->needed ? line->wavefronts - line->needed : 0;
}

static int by_conflicts(const void *a, const void *b)
{
	uint64_t x = conflicts_of(a), y = conflicts_of(b);

	return x != y ? (x > y ? -1 : 1) : by_line(a, b);
}

static void add_up(struct lines *all)
{
	size_t i, kept = 0;

	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), by_line);
	for (i = 0; i < all->count; i++) {
		struct line *last = kept ? &all->items[kept - 1] : NULL, *line = &all->items[i];

		if (!last || by_line(last, line)) {
			all->items[kept++] = *line;
			continue;
		}
		last->requests = pasta_access_add(last->requests, line->requests);
		last->needed = pasta_access_add(last->needed, line->needed);
		last->wavefronts = pasta_access_add(last->wavefronts, line->wavefronts);
	}
	all->count = kept;
	if (kept)
		qsort(all->items, kept, sizeof(*all->items), by_conflicts);
}

/* -- The report. -- */

static const char *where_of(const struct line *line, char *text, size_t size)
{
	const struct pasta_site *s = line->site ? &line->site->site : NULL;

	if (!s)
		snprintf(text, size, "(no room in the table)");
	else if (!line->site->known)
		snprintf(text, size, "(unknown, site %llu)", (unsigned long long)line->site->id);
	else if (s->line)
		snprintf(text, size, "%s:%u", pasta_str(s->file), s->line);
	else
		snprintf(text, size, "%s%s", pasta_str(s->function), pasta_str(s->callee));
	return text;
}

static void report_lines(const struct lines *all, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL}, {"line", PASTA_STRING, NULL},
		{"requests", PASTA_INT, NULL},	{"wavefronts", PASTA_INT, NULL},
		{"conflicts", PASTA_INT, NULL}, {"wavefronts_per_request", PASTA_FLOAT, NULL},
	};
	struct pasta_table *t = pasta_out_table(out, "bank_conflicts", columns, 6);
	char where[500];

	for (size_t i = 0; i < all->count; i++) {
		const struct line *line = &all->items[i];

		pasta_cell_str(t, pasta_str(line->kernel));
		pasta_cell_str(t, where_of(line, where, sizeof(where)));
		pasta_cell_int(t, (int64_t)line->requests);
		pasta_cell_int(t, (int64_t)line->wavefronts);
		pasta_cell_int(t, (int64_t)conflicts_of(line));
		if (line->requests)
			pasta_cell_float(t, (double)line->wavefronts / (double)line->requests);
		else
			pasta_cell_none(t);
	}
}

static void report_findings(const struct lines *all, struct pasta_out *out)
{
	char what[200], evidence[200], where[500];
	uint64_t sum = 0;

	for (size_t i = 0; i < all->count; i++)
		sum = pasta_access_add(sum, conflicts_of(&all->items[i]));
	for (size_t i = 0; i < all->count && i < FINDINGS; i++) {
		const struct line *line = &all->items[i];

		if (!conflicts_of(line) || conflicts_of(line) < sum / SMALL)
			break;
		snprintf(what, sizeof(what), "requests take %.1f times the wavefronts they need",
			 (double)line->wavefronts / (double)(line->needed ? line->needed : 1));
		snprintf(evidence, sizeof(evidence), "%llu wavefronts more, in %.100s",
			 (unsigned long long)conflicts_of(line), pasta_str(line->kernel));
		pasta_out_finding(out, &(struct pasta_finding){
					       PASTA_WARNING, what,
					       where_of(line, where, sizeof(where)), evidence,
					       "pad rows by a word, or swizzle them, so that the "
					       "lanes of a warp use different banks"});
	}
}

static int report(void *state, struct pasta_out *out)
{
	struct conflicts *c = state;
	struct lines all = {.book = c->book};
	int error = pasta_access_book_error(c->book);

	if (!error)
		error = pasta_access_book_rows(c->book, PASTA_REDUCE_OWN, add_row, &all);
	if (!error) {
		add_up(&all);
		report_lines(&all, out);
		report_findings(&all, out);
		pasta_access_book_findings(c->book, out);
	}
	free(all.items);
	return error;
}

static const struct pasta_option options[] = {
	{"reducer", NULL, "the reducer's file (default: bank_conflicts.fatbin beside the tool)",
	 PASTA_OPTION_TEXT},
	{NULL, NULL, NULL, PASTA_OPTION_TEXT},
};

PASTA_TOOL(.name = "bank_conflicts",
	   .summary = "shared memory by line: requests and bank conflicts",
	   .events = PASTA_ACCESS_KINDS, .needs = PASTA_NEED_ACCESS_OWN,
	   .state_size = sizeof(struct conflicts), .options = options, .open = open_,
	   .event = on_event, .merge = merge, .report = report, .close = close_,
	   .reducer = "bank_conflicts.fatbin");
