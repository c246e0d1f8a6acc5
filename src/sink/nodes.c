/* nodes.c - draws graphs in the text format: an indented tree of nodes, followed by a list of the
 * edges. */
#include <errno.h>
#include <stdlib.h>

#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"

#define NONE PASTA_NO_NODE

/* The forest, in arrays that are indexed by node. Children are in the order in which the tool
 * reported them. */
struct forest {
	/* for each node: its first child, and its next sibling */
	uint32_t *child, *next;
	uint32_t *depth;
	uint32_t *walk; /* the nodes in the order in which the drawing shows them */
	uint32_t root;
};

static void forest_free(struct forest *t)
{
	free(t->child);
	free(t->next);
	free(t->depth);
	free(t->walk);
}

static int forest_make(struct forest *t, const struct pasta_chart *c)
{
	size_t i;

	t->child = calloc(c->used, sizeof(*t->child));
	t->next = calloc(c->used, sizeof(*t->next));
	t->depth = calloc(c->used, sizeof(*t->depth));
	t->walk = calloc(c->used, sizeof(*t->walk));
	if (!t->child || !t->next || !t->depth || !t->walk)
		return -ENOMEM;
	t->root = NONE;
	for (i = 0; i < c->used; i++) {
		uint32_t parent = c->items[i].node.parent;

		t->child[i] = NONE;
		t->depth[i] = parent == NONE ? 0 : t->depth[parent] + 1;
	}
	for (i = c->used; i--;) {
		uint32_t parent = c->items[i].node.parent;
		uint32_t *first = parent == NONE ? &t->root : &t->child[parent];

		t->next[i] = *first;
		*first = (uint32_t)i;
	}
	return 0;
}

/* Fill in the array `walk`. Each node is followed by its children, and then by its next sibling. */
static void forest_walk(struct forest *t, const struct pasta_chart *c)
{
	uint32_t at = t->root;
	size_t n = 0;

	while (at != NONE) {
		t->walk[n++] = at;
		if (t->child[at] != NONE) {
			at = t->child[at];
			continue;
		}
		while (at != NONE && t->next[at] == NONE)
			at = c->items[at].node.parent;
		at = at == NONE ? NONE : t->next[at];
	}
}

static int nodes_margin(struct pasta_margin *s, const struct pasta_chart *c, const struct forest *t,
			size_t rows)
{
	int error = pasta_margin_init(s, rows, 2);
	size_t i;

	if (!error && (pasta_margin_set(s, 0, 0, pasta_axis_head(&c->y)) ||
		       pasta_margin_set(s, 0, 1, pasta_axis_head(&c->value))))
		error = -ENOMEM;
	for (i = 0; i < rows && !error; i++) {
		const union pasta_item *it = &c->items[t->walk[i]];

		if (pasta_margin_set(s, i + 1, 0, pasta_axis_text(&c->y, it->node.value)) ||
		    pasta_margin_set(s, i + 1, 1, pasta_axis_text(&c->value, it->node.cost)))
			error = -ENOMEM;
	}
	return error;
}

/* Print a label, truncated to `room` columns. */
static int nodes_label(FILE *f, const char *label, size_t room)
{
	char *safe = pasta_cell_safe(*label ? label : PASTA_UNNAMED);
	char *cut = safe ? pasta_cell_cut(safe, room, (room - 1) / 2) : NULL;

	fputs(cut ? cut : "", f);
	free(safe);
	free(cut);
	return cut ? 0 : -ENOMEM;
}

static int nodes_put(FILE *f, const struct pasta_chart *c, const struct forest *t,
		     const struct pasta_margin *s, size_t room, const struct pasta_sink_opts *opts)
{
	int error = pasta_plot_head(f, s, &c->x, opts);
	size_t i;

	for (i = 0; i < s->rows && !error; i++) {
		uint32_t at = t->walk[i];
		size_t indent = 2 * (size_t)t->depth[at];

		indent = indent < room / 2 ? indent : room / 2;
		error = pasta_margin_put(f, s, i + 1);
		pasta_plot_pad(f, PASTA_GAP + indent);
		if (!error)
			error = nodes_label(f, c->items[at].node.label, room - indent);
		fputc('\n', f);
	}
	return error;
}

/* Print the edges: "edge a -> b: 5". */
static int nodes_edges(FILE *f, const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	size_t i, shown = pasta_plot_limit(c->edge_count, opts);
	size_t room = opts->width > 60 ? opts->width / 3 : 20;
	int error = 0;

	for (i = 0; i < shown && !error; i++) {
		char *value = pasta_axis_text(&c->y, c->edges[i].value);

		error = value ? 0 : -ENOMEM;
		fputs("edge ", f);
		if (!error)
			error = nodes_label(f, c->items[c->edges[i].from].node.label, room);
		fputs(opts->ascii ? " -> " : " → ", f);
		if (!error)
			error = nodes_label(f, c->items[c->edges[i].to].node.label, room);
		fprintf(f, ": %s\n", value ? value : "");
		free(value);
	}
	if (!error)
		pasta_plot_more(f, c->edge_count - shown, "edges", opts);
	return error;
}

int pasta_nodes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts)
{
	size_t rows = pasta_plot_limit(chart->used, opts);
	struct pasta_margin s = {0};
	struct forest t = {0};
	int error = forest_make(&t, chart);

	if (!error) {
		forest_walk(&t, chart);
		error = nodes_margin(&s, chart, &t, rows);
	}
	if (!error)
		error = nodes_put(f, chart, &t, &s,
				  pasta_margin_fit(&s, opts->width, PASTA_NAME_LEAST), opts);
	if (!error)
		pasta_plot_more(f, chart->used - rows, "nodes", opts);
	if (!error)
		error = nodes_edges(f, chart, opts);
	pasta_margin_free(&s);
	forest_free(&t);
	return error;
}
