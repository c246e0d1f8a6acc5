/* flame.c - draws flame charts in the text format: the heaviest frames as a tree. Frames that add
 * nothing are folded: calls of PyTorch between a module and its forward, and frames whose time is
 * all in one callee. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/kernelname.h"
#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"

#define BAR 10 /* columns */
#define NAME_LEAST PASTA_NAME_LEAST
/* minimum number of columns for names; if there are fewer, the drawing has no bars */
#define NAME_ENOUGH 20

/* A frame of the tree. `number` is its position in a depth-first walk. */
struct node {
	const char *name;
	struct node *parent;
	size_t number, depth, children;
	int64_t total;
	/* number of frames that are shown in the row of this frame, from this frame on; 0: this
	 * frame is shown in the row of its parent */
	size_t chain;
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

/* Returns whether a frame only passes a call of a PyTorch module on to the module's forward. */
static bool flame_is_framework(const char *name)
{
	static const char *const calls[] = {"Module._call_impl (module.py:",
					    "Module._wrapped_call_impl (module.py:"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strncmp(name, calls[i], strlen(calls[i])))
			return true;
	return false;
}

static void flame_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

/* Add a stack to the tree. `path` has the nodes of the previous stack, and `depth` is their number.
 * The two stacks share the nodes of their equal outer frames. Returns the depth of the stack. */
static size_t flame_tree_add(struct tree *t, struct node **path, size_t depth,
			     const union pasta_item *stack)
{
	size_t i, level = 0;
	bool shared = true;

	for (i = 0; i < stack->stack.count; i++) {
		const char *name = stack->stack.frames[i];

		if (flame_is_framework(name))
			continue;
		shared = shared && level < depth && !strcmp(path[level]->name, name);
		if (!shared) {
			struct node *node = &t->nodes[t->count];

			*node = (struct node){.name = name,
					      .parent = level ? path[level - 1] : NULL,
					      .number = t->count++,
					      .chain = 1};
			path[level] = node;
		}
		level++;
	}
	for (i = 0; i < level; i++)
		flame_add(&path[i]->total, stack->stack.value);
	flame_add(&t->total, stack->stack.value);
	return level;
}

/* Show a frame in the row of its parent if all of the parent's time is in this frame. A parent
 * precedes its children, and an only child follows its parent immediately. */
static void flame_tree_fold(struct tree *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->nodes[i].parent)
			t->nodes[i].parent->children++;
	for (i = 0; i < t->count; i++) {
		struct node *node = &t->nodes[i], *parent = node->parent;
		struct node *row = parent && !parent->chain ? parent->parent : parent;

		node->parent = row;
		if (parent && parent->children == 1 && parent->total == node->total) {
			node->chain = 0;
			row->chain++;
		} else {
			node->depth = row ? row->depth + 1 : 0;
		}
	}
}

static int flame_tree_make(struct tree *t, const struct pasta_chart *c)
{
	size_t i, frames, deepest, depth = 0;
	const union pasta_item **items = flame_sorted(c, &frames, &deepest);
	struct node **path = items ? calloc(deepest + 1, sizeof(*path)) : NULL;

	t->nodes = path ? calloc(frames + 1, sizeof(*t->nodes)) : NULL;
	for (i = 0; t->nodes && i < c->used; i++)
		depth = flame_tree_add(t, path, depth, items[i]);
	if (t->nodes)
		flame_tree_fold(t);
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

/* Returns whether a name ends with a line, as in "main (a.py:12)". */
static bool flame_has_line(const char *name)
{
	const char *end = name + strlen(name), *p = end;

	if (p == name || *--p != ')')
		return false;
	while (p > name && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return p + 1 < end && p > name && p[-1] == ':';
}

/* Returns the name of a frame, with control characters escaped. An innermost frame can be a kernel,
 * whose name is shortened. The caller frees the text. Returns NULL when out of memory. */
static char *flame_frame_name(const struct node *node)
{
	char text[PASTA_KERNELNAME_SIZE];
	const char *name = *node->name ? node->name : PASTA_UNNAMED;

	if (node->children || flame_has_line(name) || (strstr(name, "::") && !strpbrk(name, "(<")))
		return pasta_cell_safe(name);
	pasta_kernelname_short(name, text, sizeof(text));
	return pasta_cell_safe(text);
}

/* Returns the names of `count` frames, "main (a.py:1) > run (a.py:2)". The caller frees the text.
 * Returns NULL when out of memory. */
static char *flame_join(const struct node *first, size_t count)
{
	size_t i, size;
	char *text = NULL, *name;
	FILE *f = open_memstream(&text, &size);
	bool ok = f;

	for (i = 0; ok && i < count; i++) {
		name = flame_frame_name(&first[i]);
		ok = name;
		fprintf(f, "%s%s", i ? " > " : "", name ? name : "");
		free(name);
	}
	if (!f || fclose(f) || !ok) {
		free(text);
		return NULL;
	}
	return text;
}

/* Returns the names of a row in at most `room` columns. If they do not fit, only the outermost and
 * the innermost frame are shown: "main (a.py:1) > ... > run (a.py:2)". The caller frees the text.
 * Returns NULL when out of memory. */
static char *flame_row_name(const struct node *node, size_t room)
{
	const char *between = node->chain > 2 ? " > ... > " : " > ";
	char *all = flame_join(node, node->chain), *ends[2] = {NULL, NULL}, *text = NULL;
	size_t width[2], half = room > strlen(between) ? (room - strlen(between)) / 2 : 0;

	if (!all || pasta_cell_width(all) <= room || node->chain < 2 || half < NAME_LEAST) {
		text = all ? pasta_cell_cut(all, room, (room - 1) / 2) : NULL;
		free(all);
		return text;
	}
	free(all);
	for (int i = 0; i < 2; i++) {
		ends[i] = flame_frame_name(&node[i ? node->chain - 1 : 0]);
		width[i] = ends[i] ? pasta_cell_width(ends[i]) : 0;
	}
	for (int i = 0; i < 2 && ends[0] && ends[1]; i++) {
		/* One end can have the columns that the other one does not need. */
		size_t most = width[!i] < half ? 2 * half - width[!i] : half;
		char *cut = pasta_cell_cut(ends[i], most, (most - 1) / 2);

		free(ends[i]);
		ends[i] = cut;
	}
	if (ends[0] && ends[1] && asprintf(&text, "%s%s%s", ends[0], between, ends[1]) < 0)
		text = NULL;
	free(ends[0]);
	free(ends[1]);
	return text;
}

/* Print the names of a row, indented by the row's depth. The indentation is at most half of the
 * available width. */
static int flame_put_name(FILE *f, const struct node *node, size_t room)
{
	size_t indent = 2 * node->depth < room / 2 ? 2 * node->depth : room / 2;
	char *name = flame_row_name(node, room - indent);

	pasta_plot_pad(f, indent);
	fprintf(f, "%s\n", name ? name : "");
	free(name);
	return name ? 0 : -ENOMEM;
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
	size_t i, count = 0;

	if (!error) {
		shown = calloc(t.count + 1, sizeof(*shown));
		error = shown ? 0 : -ENOMEM;
	}
	for (i = 0; i < t.count && !error; i++)
		if (t.nodes[i].chain)
			shown[count++] = &t.nodes[i];
	if (!error) {
		s.rows = pasta_plot_limit(count, opts);
		qsort(shown, count, sizeof(*shown), flame_by_weight);
		qsort(shown, s.rows, sizeof(*shown), flame_by_position);
		error = flame_margin(&s, chart, &t, shown);
	}
	if (!error)
		error = flame_put(f, &s, chart, &t, shown, opts,
				  pasta_margin_fit(&s, opts->width, PASTA_NAME_LEAST));
	if (!error)
		pasta_plot_more(f, count - s.rows, "frames", opts);
	pasta_margin_free(&s);
	free(shown);
	free(t.nodes);
	return error;
}
