/* grouptree.c - the rows of a group as a tree, visited depth first. */
#include <errno.h>
#include <stdlib.h>

#include "process/sdk/group.h"

/* Numbers are places in the order of siblings, from 1; node 0 is above the outermost. */
struct tree_node {
	void *row;
	size_t up, child, sibling;
};

struct tree {
	struct tree_node *nodes;
	size_t *places; /* by number of the row */
	size_t count;
};

static int tree_fill(struct tree *t, struct pasta_group *g, const struct pasta_walk *walk)
{
	void **rows = pasta_group_sorted(g, walk->order, &t->count);

	if (!rows)
		return g->error;
	t->nodes = calloc(t->count + 1, sizeof(*t->nodes));
	t->places = calloc(t->count + 1, sizeof(*t->places));
	for (size_t i = 1; t->nodes && t->places && i <= t->count; i++) {
		t->nodes[i].row = rows[i - 1];
		t->places[pasta_group_number(g, rows[i - 1])] = i;
	}
	free(rows);
	return t->nodes && t->places ? 0 : -ENOMEM;
}

/* From the last on: each becomes the first below its parent. */
static void tree_link(struct tree *t, const struct pasta_group *g, const struct pasta_walk *walk)
{
	for (size_t i = t->count; i > 0; i--) {
		struct tree_node *node = &t->nodes[i];
		const void *up = walk->up(node->row, walk->ctx);

		node->up = up ? t->places[pasta_group_number(g, up)] : 0;
		node->sibling = t->nodes[node->up].child;
		t->nodes[node->up].child = i;
	}
}

static void tree_call(const struct tree *t, size_t at, void (*fn)(void *, void *, void *),
		      void *ctx)
{
	if (fn)
		fn(t->nodes[at].row, t->nodes[t->nodes[at].up].row, ctx);
}

/* How many rows were visited: a row that is below itself is below no outermost one. */
static size_t tree_visit(const struct tree *t, const struct pasta_walk *walk)
{
	size_t at = t->nodes[0].child, visited = 0;

	while (at) {
		visited++;
		tree_call(t, at, walk->enter, walk->ctx);
		if (t->nodes[at].child) {
			at = t->nodes[at].child;
			continue;
		}
		for (tree_call(t, at, walk->leave, walk->ctx); at && !t->nodes[at].sibling;) {
			at = t->nodes[at].up;
			if (at)
				tree_call(t, at, walk->leave, walk->ctx);
		}
		at = at ? t->nodes[at].sibling : 0;
	}
	return visited;
}

int pasta_group_walk(struct pasta_group *g, const struct pasta_walk *walk)
{
	struct tree t = {0};
	int error = tree_fill(&t, g, walk);

	if (!error) {
		tree_link(&t, g, walk);
		error = tree_visit(&t, walk) < t.count ? -ELOOP : 0;
	}
	g->error = g->error ? g->error : error;
	free(t.nodes);
	free(t.places);
	return error;
}
