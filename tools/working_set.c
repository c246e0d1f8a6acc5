/* working_set - how much memory a launch of each kernel touches, and how much it leaves alone. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

/* Of all shapes and processes. Sums are scaled to counted + sampled launches. */
struct kernel {
	uint32_t name;
	uint64_t counted, sampled, refused;
	uint64_t footprint, footprint_max;
	uint64_t objects, objects_max;
	uint64_t live, live_touched, bytes;
	uint64_t stands; /* launches that the sums are of */
};

struct working_set {
	struct pasta_access_book *book;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct working_set *w = state;

	(void)opts;
	w->book = pasta_access_book_new(PASTA_REDUCE_BIT(PAGE));
	return w->book ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_access_book_free(((struct working_set *)state)->book);
}

static void on_event(void *state, const struct pasta_event *ev)
{
	pasta_access_book_event(((struct working_set *)state)->book, ev);
}

static void merge(void *into, const void *from)
{
	/* Its error is the book's own, which the report asks for. */
	(void)pasta_access_book_merge(((struct working_set *)into)->book,
				      ((const struct working_set *)from)->book);
}

static void add(uint64_t *to, const struct pasta_access_shape *s, uint64_t sum)
{
	*to = pasta_access_add(*to, pasta_access_scale(s, sum));
}

static void larger(uint64_t *most, uint64_t value)
{
	*most = value > *most ? value : *most;
}

/* Launches that only a filter of the run leaves out are nobody's. */
static int add_shape(struct pasta_map *kernels, const struct pasta_access_shape *s)
{
	struct kernel *k;

	if (s->told && !s->counted && !s->sampled && !s->refused)
		return 0;
	k = pasta_map_add(kernels, s->name);
	if (!k)
		return -ENOMEM;
	k->name = s->name;
	larger(&k->footprint_max, s->footprint_max);
	larger(&k->objects_max, s->objects_max);
	/* Nobody knows how many they are: they are in no mean. */
	if (!s->told)
		return 0;
	k->counted += s->counted;
	k->sampled += s->sampled;
	k->refused += s->refused;
	k->stands += pasta_access_launches(s);
	add(&k->footprint, s, s->footprint);
	add(&k->objects, s, s->objects);
	add(&k->live, s, s->live);
	add(&k->live_touched, s, s->live_touched);
	add(&k->bytes, s, s->bytes);
	return 0;
}

static const char *label(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static int by_footprint(const void *a, const void *b)
{
	const struct kernel *x = *(const struct kernel *const *)a,
			    *y = *(const struct kernel *const *)b;

	if (x->footprint_max != y->footprint_max)
		return x->footprint_max > y->footprint_max ? -1 : 1;
	return strcmp(label(x->name), label(y->name));
}

static uint64_t mean(uint64_t sum, uint64_t count)
{
	return sum / count + (sum % count >= count - count / 2);
}

static void put_touched(struct pasta_table *t, const struct kernel *k)
{
	uint64_t untouched = k->live > k->live_touched ? k->live - k->live_touched : 0;

	pasta_cell_int(t, (int64_t)mean(k->footprint, k->stands));
	pasta_cell_int(t, (int64_t)k->footprint_max);
	pasta_cell_float(t, (double)k->objects / (double)k->stands);
	pasta_cell_int(t, (int64_t)k->objects_max);
	pasta_cell_int(t, (int64_t)mean(k->live, k->stands));
	pasta_cell_int(t, (int64_t)mean(untouched, k->stands));
}

static void put_kernel(struct pasta_table *t, const struct kernel *k)
{
	int i;

	pasta_cell_str(t, label(k->name));
	pasta_cell_int(t, (int64_t)(k->counted + k->sampled + k->refused));
	pasta_cell_int(t, (int64_t)k->counted);
	if (k->stands)
		put_touched(t, k);
	for (i = 0; !k->stands && i < 6; i++) {
		if (i == 1 && k->footprint_max)
			pasta_cell_int(t, (int64_t)k->footprint_max);
		else if (i == 3 && k->objects_max)
			pasta_cell_int(t, (int64_t)k->objects_max);
		else
			pasta_cell_none(t);
	}
	if (k->footprint)
		pasta_cell_float(t, (double)k->bytes / (double)k->footprint);
	else
		pasta_cell_none(t);
}

static void report_kernels(struct kernel *const *list, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL},	       {"launches", PASTA_INT, NULL},
		{"counted", PASTA_INT, NULL},	       {"footprint", PASTA_INT, "bytes"},
		{"footprint_max", PASTA_INT, "bytes"}, {"objects", PASTA_FLOAT, NULL},
		{"objects_max", PASTA_INT, NULL},      {"live", PASTA_INT, "bytes"},
		{"untouched", PASTA_INT, "bytes"},     {"reuse", PASTA_FLOAT, NULL},
	};
	struct pasta_table *t = pasta_out_table(out, "kernels", columns, 10);
	size_t i;

	for (i = 0; list[i]; i++)
		put_kernel(t, list[i]);
}

static bool is_cut(struct kernel *const *list)
{
	size_t i;

	for (i = 0; list[i]; i++)
		if (list[i]->footprint == INT64_MAX || list[i]->live == INT64_MAX ||
		    list[i]->bytes == INT64_MAX || list[i]->objects == INT64_MAX)
			return true;
	return false;
}

static void report_findings(const struct working_set *w, struct kernel *const *list,
			    struct pasta_out *out)
{
	struct pasta_access_totals totals = pasta_access_book_totals(w->book);

	pasta_out_count(out, PASTA_WARNING, totals.page_other,
			"accesses to pages that the table had no room for",
			"footprints are too small, and untouched is too much", NULL);
	pasta_access_book_findings(w->book, out);
	if (is_cut(list))
		pasta_out_finding(out, &(struct pasta_finding){
					       PASTA_WARNING,
					       "sums are too large: they stay at 2^63 - 1", NULL,
					       "means are of less than there was", NULL});
}

static int report(void *state, struct pasta_out *out)
{
	const struct working_set *w = state;
	const struct pasta_access_shape *s;
	struct pasta_map *kernels = pasta_map_new(sizeof(struct kernel));
	struct kernel **list = NULL;
	int error = kernels ? pasta_access_book_error(w->book) : -ENOMEM;
	size_t at = 0;

	while (!error && (s = pasta_access_book_shapes(w->book, &at)))
		error = add_shape(kernels, s);
	if (!error)
		list = pasta_map_sorted(kernels, by_footprint);
	if (!error && !list)
		error = -ENOMEM;
	if (!error) {
		report_kernels(list, out);
		report_findings(w, list, out);
	}
	free(list);
	pasta_map_free(kernels);
	return error;
}

PASTA_TOOL(.name = "working_set",
	   .summary = "memory that a launch of each kernel touches, and leaves alone",
	   .events = PASTA_ACCESS_KINDS, .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE,
	   .state_size = sizeof(struct working_set), .open = open_, .event = on_event,
	   .merge = merge, .report = report, .close = close_);
