/* grouptree.c - visits the rows of a group as a tree, depth first. */
#include <errno.h>
#include <stdlib.h>

#include "process/sdk/group.h"

/* A node of the tree. Nodes are numbered from 1 in sorted order. Node 0 is the parent of the
 * outermost nodes. */
struct tree_node {
	void *row;
	size_t up, child, sibling;
};

struct tree {
	struct tree_node *nodes;
	size_t *nodes_by_row; /* for each row, the number of its node */
	size_t count;
};

static int tree_fill(struct tree *t, struct pasta_group *g, const struct pasta_walk *walk)
{
	void **rows = pasta_group_sorted(g, walk->order, &t->count);

	if (!rows)
		return g->error;
	t->nodes = calloc(t->count + 1, sizeof(*t->nodes));
	t->nodes_by_row = calloc(t->count + 1, sizeof(*t->nodes_by_row));
	for (size_t i = 1; t->nodes && t->nodes_by_row && i <= t->count; i++) {
		t->nodes[i].row = rows[i - 1];
		t->nodes_by_row[pasta_group_number(g, rows[i - 1])] = i;
	}
	free(rows);
	return t->nodes && t->nodes_by_row ? 0 : -ENOMEM;
}

/* Links each node as the first child of its parent. Starts with the last node, so that the children
 * are in sorted order. */
static void tree_link(struct tree *t, const struct pasta_group *g, const struct pasta_walk *walk)
{
	for (size_t i = t->count; i > 0; i--) {
		struct tree_node *node = &t->nodes[i];
		const void *up = walk->up(node->row, walk->ctx);

		node->up = up ? t->nodes_by_row[pasta_group_number(g, up)] : 0;
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

/* Returns the number of rows that were visited. Rows that form a cycle are never reached. */
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
	free(t.nodes_by_row);
	return error;
}
