/* flame.c - draws flame charts in the text format: the heaviest frames as a tree. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"

#define BAR 10 /* columns */
/* minimum number of columns for names; if there are fewer, the drawing has no bars */
#define NAME_ENOUGH 20

/* A frame of the tree. `number` is its position in a depth-first walk. */
struct node {
	const char *name;
	const struct node *parent;
	size_t number, depth;
	int64_t total;
};

struct tree {
	struct node *nodes;
	size_t count;
	int64_t total;
};

static int flame_by_frames(const void *a, const void *b)
{
	const union pasta_item *x = *(const union pasta_item *const *)a,
			       *y = *(const union pasta_item *const *)b;
	size_t i;

	for (i = 0; i < x->stack.count && i < y->stack.count; i++) {
		int order = strcmp(x->stack.frames[i], y->stack.frames[i]);

		if (order)
			return order;
	}
	return x->stack.count < y->stack.count ? -1 : x->stack.count > y->stack.count;
}

/* Returns the stacks, sorted by their frames: stacks with the same outer frames are adjacent. The
 * caller frees the list. Returns NULL when out of memory. */
static const union pasta_item **flame_sorted(const struct pasta_chart *c, size_t *frames,
					     size_t *deepest)
{
	const union pasta_item **items = calloc(c->used, sizeof(*items));
	size_t i;

	*frames = *deepest = 0;
	for (i = 0; items && i < c->used; i++) {
		items[i] = &c->items[i];
		*frames += items[i]->stack.count;
		if (items[i]->stack.count > *deepest)
			*deepest = items[i]->stack.count;
	}
	if (items)
		qsort(items, c->used, sizeof(*items), flame_by_frames);
	return items;
}

static void flame_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

/* Add a stack to the tree. `path` has the nodes of the previous stack. The two stacks share the
 * nodes of their equal outer frames. Returns the depth of the stack. */
static size_t flame_tree_add(struct tree *t, struct node **path, size_t depth,
			     const union pasta_item *stack)
{
	size_t i = 0;

	while (i < depth && i < stack->stack.count &&
	       !strcmp(path[i]->name, stack->stack.frames[i]))
		i++;
	for (; i < stack->stack.count; i++) {
		struct node *node = &t->nodes[t->count];

		*node = (struct node){.name = stack->stack.frames[i],
				      .parent = i ? path[i - 1] : NULL,
				      .number = t->count++,
				      .depth = i};
		path[i] = node;
	}
	for (i = 0; i < stack->stack.count; i++)
		flame_add(&path[i]->total, stack->stack.value);
	flame_add(&t->total, stack->stack.value);
	return stack->stack.count;
}

static int flame_tree_make(struct tree *t, const struct pasta_chart *c)
{
	size_t i, frames, deepest, depth = 0;
	const union pasta_item **items = flame_sorted(c, &frames, &deepest);
	struct node **path = items ? calloc(deepest + 1, sizeof(*path)) : NULL;

	t->nodes = path ? calloc(frames + 1, sizeof(*t->nodes)) : NULL;
	for (i = 0; t->nodes && i < c->used; i++)
		depth = flame_tree_add(t, path, depth, items[i]);
	free(items);
	free(path);
	return t->nodes ? 0 : -ENOMEM;
}

/* Orders frames by weight, the heaviest first. Of frames with the same weight, the one with the
 * lower number comes first. A parent precedes its children, because a parent is at least as heavy
 * as each child and has a lower number. */
static int flame_by_weight(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Orders a frame before its children, and children of the same frame by weight. */
static int flame_by_position(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;
	size_t deeper = x->depth, other = y->depth;

	for (; x->depth > other; x = x->parent)
		;
	for (; y->depth > deeper; y = y->parent)
		;
	if (x == y)
		return deeper < other ? -1 : deeper > other;
	for (; x->parent != y->parent; x = x->parent)
		y = y->parent;
	return flame_by_weight(&x, &y);
}

static int flame_margin(struct pasta_margin *s, const struct pasta_chart *c, const struct tree *t,
			const struct node *const *shown)
{
	static const struct pasta_axis share = {"share", "%"};
	int error = pasta_margin_init(s, s->rows, 2);
	size_t i;

	if (!error)
		error = pasta_margin_set(s, 0, 0, pasta_axis_head(&c->y));
	if (!error)
		error = pasta_margin_set(s, 0, 1, pasta_axis_head(&share));
	for (i = 0; i < s->rows && !error; i++) {
		double part = t->total ? 100.0 * (double)shown[i]->total / (double)t->total : NAN;
		struct pasta_column column = {c->y.name, PASTA_COLUMN_INT, c->y.unit};
		union pasta_value value = {.i = shown[i]->total};

		error = pasta_margin_set(s, i + 1, 0, pasta_cell_text(&column, &value));
		if (!error)
			error = pasta_margin_set(s, i + 1, 1, pasta_axis_text(&share, part));
	}
	return error;
}

/* Print the name of a frame, indented by the frame's depth. The indentation is at most half of the
 * available width. */
static int flame_put_name(FILE *f, const struct node *node, size_t room)
{
	size_t indent = 2 * node->depth < room / 2 ? 2 * node->depth : room / 2;
	char *safe = pasta_cell_safe(*node->name ? node->name : PASTA_UNNAMED);
	char *cut = safe ? pasta_cell_cut(safe, room - indent, (room - indent - 1) / 2) : NULL;

	pasta_plot_pad(f, indent);
	fprintf(f, "%s\n", cut ? cut : "");
	free(safe);
	free(cut);
	return cut ? 0 : -ENOMEM;
}

static int flame_put(FILE *f, const struct pasta_margin *s, const struct pasta_chart *c,
		     const struct tree *t, const struct node *const *shown,
		     const struct pasta_sink_opts *opts, size_t room)
{
	size_t i, bar = room >= BAR + PASTA_GAP + NAME_ENOUGH ? BAR + PASTA_GAP : 0;
	char *head = pasta_axis_head(&c->x);
	int error = head ? 0 : -ENOMEM;

	pasta_plot_on(f, PASTA_BOLD, opts);
	if (!error)
		error = pasta_margin_put(f, s, 0);
	pasta_plot_pad(f, PASTA_GAP + bar);
	fputs(head ? head : "", f);
	pasta_plot_off(f, opts);
	fputc('\n', f);
	free(head);
	for (i = 0; i < s->rows && !error; i++) {
		double share = pasta_plot_share((double)shown[i]->total, 0, (double)t->total);

		error = pasta_margin_put(f, s, i + 1);
		pasta_plot_pad(f, PASTA_GAP);
		if (bar)
			pasta_plot_pad(f, bar - pasta_plot_bar(f, share, BAR, opts));
		if (!error)
			error = flame_put_name(f, shown[i], room - bar);
	}
	return error;
}

int pasta_flame_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts)
{
	struct pasta_margin s = {0};
	struct tree t = {0};
	const struct node **shown = NULL;
	int error = flame_tree_make(&t, chart);
	size_t i;

	if (!error) {
		shown = calloc(t.count + 1, sizeof(*shown));
		error = shown ? 0 : -ENOMEM;
	}
	for (i = 0; i < t.count && !error; i++)
		shown[i] = &t.nodes[i];
	if (!error) {
		s.rows = pasta_plot_limit(t.count, opts);
		qsort(shown, t.count, sizeof(*shown), flame_by_weight);
		qsort(shown, s.rows, sizeof(*shown), flame_by_position);
		error = flame_margin(&s, chart, &t, shown);
	}
	if (!error)
		error = flame_put(f, &s, chart, &t, shown, opts,
				  pasta_margin_fit(&s, opts->width, PASTA_NAME_LEAST));
	if (!error)
		pasta_plot_more(f, t.count - s.rows, "frames", opts);
	pasta_margin_free(&s);
	free(shown);
	free(t.nodes);
	return error;
}
