/* object_traffic - how many bytes kernels load and store, by object: the cheapest that counts. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#define TEXT 500

struct object_traffic {
	struct pasta_access_book *book;
};

/* A kernel and an object, or what is none. Sums are scaled. */
struct line {
	uint64_t object; /* a row's key */
	uint32_t kernel;
	bool used;
	struct pasta_access_row sum, tensors;
	uint64_t counted, launches; /* of the shapes that access it */
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct object_traffic *o = state;

	(void)opts;
	o->book = pasta_access_book_new(PASTA_REDUCE_BIT(OBJECT) | PASTA_REDUCE_BIT(TENSOR));
	return o->book ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_access_book_free(((struct object_traffic *)state)->book);
}

static void on_event(void *state, const struct pasta_event *ev)
{
	pasta_access_book_event(((struct object_traffic *)state)->book, ev);
}

static void merge(void *into, const void *from)
{
	/* Its error is the book's own, which the report asks for. */
	(void)pasta_access_book_merge(((struct object_traffic *)into)->book,
				      ((const struct object_traffic *)from)->book);
}

/* Two keys in one: those that meet go on to the next. */
static struct line *line_of(struct pasta_map *lines, uint64_t object, uint32_t kernel)
{
	uint64_t key = object * UINT64_C(0x9e3779b97f4a7c15) + kernel;
	struct line *line;

	while ((line = pasta_map_add(lines, key++))) {
		if (!line->used)
			*line = (struct line){.object = object, .kernel = kernel, .used = true};
		if (line->object == object && line->kernel == kernel)
			break;
	}
	return line;
}

static void add_row(struct pasta_access_row *to, const struct pasta_access_row *row)
{
	to->loads = pasta_access_add(to->loads, row->loads);
	to->stores = pasta_access_add(to->stores, row->stores);
	to->bytes = pasta_access_add(to->bytes, row->bytes);
}

static void add_shape(struct line *line, const struct pasta_access_shape *shape)
{
	line->counted += shape->counted;
	line->launches += pasta_access_launches(shape);
}

static int add_access(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct line *line = line_of(ctx, row->key, shape->name);

	if (!line)
		return -ENOMEM;
	add_row(&line->sum, row);
	add_shape(line, shape);
	return 0;
}

static int add_tensor(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct line *line = line_of(ctx, row->key, shape->name);

	if (!line)
		return -ENOMEM;
	add_row(&line->tensors, row);
	if (!line->sum.loads && !line->sum.stores)
		add_shape(line, shape);
	return 0;
}

static uint64_t traffic(const struct line *line)
{
	return pasta_access_add(line->sum.bytes, line->tensors.bytes);
}

static const char *label(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static bool is_special(uint64_t key)
{
	return key < PASTA_OBJECT_FIRST || key == PASTA_KEY_OTHER;
}

/* Objects before what is none; the most bytes first. */
static int by_traffic(const void *a, const void *b)
{
	const struct line *x = *(const struct line *const *)a, *y = *(const struct line *const *)b;

	if (is_special(x->object) != is_special(y->object))
		return is_special(x->object) ? 1 : -1;
	if (traffic(x) != traffic(y))
		return traffic(x) > traffic(y) ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return strcmp(label(x->kernel), label(y->kernel));
}

static void put_size(struct pasta_table *t, const struct pasta_access_object *o)
{
	if (o && o->bytes)
		pasta_cell_int(t, (int64_t)pasta_access_add(0, o->bytes));
	else
		pasta_cell_none(t);
}

static void put_line(const struct object_traffic *o, const struct line *line, struct pasta_table *t)
{
	const struct pasta_access_object *object =
		is_special(line->object) ? NULL : pasta_access_book_object(o->book, line->object);
	char text[TEXT];

	pasta_cell_str(t, object ? pasta_access_object_text(o->book, object, text, sizeof(text))
				 : pasta_access_space_text(line->object));
	put_size(t, object);
	pasta_cell_str(t, label(line->kernel));
	pasta_cell_int(t, (int64_t)line->sum.loads);
	pasta_cell_int(t, (int64_t)line->sum.stores);
	pasta_cell_int(t, (int64_t)line->sum.bytes);
	pasta_cell_int(t, (int64_t)line->tensors.loads);
	pasta_cell_int(t, (int64_t)line->tensors.bytes);
	if (line->launches)
		pasta_cell_float(t, 100.0 * (double)line->counted / (double)line->launches);
	else
		pasta_cell_none(t);
	pasta_cell_str(t,
		       object ? pasta_access_process_text(o->book, object->proc, text, sizeof(text))
			      : "");
}

static void report_lines(const struct object_traffic *o, struct line *const *list,
			 struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"object", PASTA_STRING, NULL},	  {"size", PASTA_INT, "bytes"},
		{"kernel", PASTA_STRING, NULL},	  {"loads", PASTA_INT, NULL},
		{"stores", PASTA_INT, NULL},	  {"bytes", PASTA_INT, "bytes"},
		{"descriptors", PASTA_INT, NULL}, {"described", PASTA_INT, "bytes"},
		{"counted", PASTA_FLOAT, "%"},	  {"process", PASTA_STRING, NULL},
	};
	struct pasta_table *t = pasta_out_table(out, "traffic", columns, 10);
	size_t i;

	for (i = 0; list[i]; i++)
		put_line(o, list[i], t);
}

static int report(void *state, struct pasta_out *out)
{
	const struct object_traffic *o = state;
	struct pasta_map *lines = pasta_map_new(sizeof(struct line));
	int error = lines ? pasta_access_book_error(o->book) : -ENOMEM;
	struct line **list = NULL;

	if (!error)
		error = pasta_access_book_rows(o->book, PASTA_REDUCE_OBJECT, add_access, lines);
	if (!error)
		error = pasta_access_book_rows(o->book, PASTA_REDUCE_TENSOR, add_tensor, lines);
	if (!error) {
		list = pasta_map_sorted(lines, by_traffic);
		error = list ? 0 : -ENOMEM;
	}
	if (!error) {
		report_lines(o, list, out);
		pasta_access_book_findings(o->book, out);
	}
	free(list);
	pasta_map_free(lines);
	return error;
}

PASTA_TOOL(.name = "object_traffic", .summary = "bytes that kernels load and store, by object",
	   .events = PASTA_ACCESS_KINDS,
	   .needs = PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_TENSOR,
	   .state_size = sizeof(struct object_traffic), .open = open_, .event = on_event,
	   .merge = merge, .report = report, .close = close_);
