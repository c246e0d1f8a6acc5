/* ranges.c - an interval map: stores values for disjoint ranges of addresses in a B+ tree. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/ranges.h>

/*
 * All nodes have the same layout: kids[i] is a child of the node, and keys[i] is the start of the
 * first range below that child. In a leaf, the children are values. The array `sizes` has the sizes
 * of the ranges, so that a search doesn't need to read the values. Values are allocated in chunks
 * and never move. Every node except the root has at least LEAST children, so the tree has at most
 * HEIGHT_MAX levels.
 */
enum { FAN = 32, LEAST = FAN / 4, HEIGHT_MAX = 24, CHUNK = 64, CHUNK_MAX = 1 << 16 };

struct node {
	/* The right neighbour of the node on the same level. If the node is free: the next free
	 * node. */
	struct node *next;
	uint32_t count;
	uint64_t keys[FAN];
	uint64_t sizes[FAN];
	void *kids[FAN];
};

struct chunk {
	struct chunk *next;
	/* How many values fit into the chunk, and how many of them are in use. The values follow
	 * this struct in memory. */
	size_t room, used;
};

struct pasta_ranges {
	size_t stride, count;
	struct node *root;
	unsigned int height; /* number of levels above the leaves */
	struct node *spare;
	unsigned int spares;
	struct chunk *chunks; /* list of chunks, with the newest first */
	/* list of free values; the first bytes of a free value hold the address of the next one */
	void *free;
};

/* A path from the root to a leaf. For each level, the path has a node, and the index of a child of
 * that node. Level 0 is the leaf. */
struct path {
	struct node *nodes[HEIGHT_MAX];
	uint32_t at[HEIGHT_MAX];
};

static struct node *node_acquire(struct pasta_ranges *r)
{
	struct node *n = r->spare;

	r->spare = n->next;
	r->spares--;
	n->next = NULL;
	n->count = 0;
	return n;
}

static void node_release(struct pasta_ranges *r, struct node *n)
{
	n->next = r->spare;
	r->spare = n;
	r->spares++;
}

/* Allocates all nodes that an insertion may need: one for each level, because each may be split.
 * The insertion itself can then not fail. */
static int ranges_reserve(struct pasta_ranges *r)
{
	while (r->spares < r->height + 2) {
		struct node *n = malloc(sizeof(*n));

		if (!n)
			return -ENOMEM;
		node_release(r, n);
	}
	return 0;
}

struct pasta_ranges *pasta_ranges_new(size_t value_size)
{
	struct pasta_ranges *r = calloc(1, sizeof(*r));

	if (!r || value_size > SIZE_MAX / 2 / CHUNK_MAX || ranges_reserve(r)) {
		pasta_ranges_free(r);
		return NULL;
	}
	r->stride = value_size ? (value_size + 7) & ~(size_t)7 : 8;
	r->root = node_acquire(r);
	return r;
}

/* Frees all nodes, one level after another. The nodes of a level form a list. */
static void tree_free(struct pasta_ranges *r)
{
	struct node *level = r->root, *below, *n;
	unsigned int height = r->height;

	for (; level; level = below) {
		below = height-- ? level->kids[0] : NULL;
		while ((n = level)) {
			level = n->next;
			free(n);
		}
	}
}

void pasta_ranges_free(struct pasta_ranges *r)
{
	struct chunk *chunk;
	struct node *n;

	if (!r)
		return;
	tree_free(r);
	while ((n = r->spare)) {
		r->spare = n->next;
		free(n);
	}
	while ((chunk = r->chunks)) {
		r->chunks = chunk->next;
		free(chunk);
	}
	free(r);
}

/* Each chunk is twice as large as the one before, up to CHUNK_MAX values. */
static struct chunk *chunk_new(struct pasta_ranges *r)
{
	size_t last = r->chunks ? r->chunks->room : CHUNK / 2;
	size_t room = last < CHUNK_MAX ? 2 * last : last;
	struct chunk *chunk = malloc(sizeof(*chunk) + room * r->stride);

	if (!chunk)
		return NULL;
	*chunk = (struct chunk){.next = r->chunks, .room = room};
	r->chunks = chunk;
	return chunk;
}

static void *value_acquire(struct pasta_ranges *r)
{
	struct chunk *chunk = r->chunks;
	void *value = r->free;

	if (value) {
		memcpy(&r->free, value, sizeof(r->free));
		return value;
	}
	if (!chunk || chunk->used == chunk->room)
		chunk = chunk_new(r);
	return chunk ? (char *)(chunk + 1) + chunk->used++ * r->stride : NULL;
}

static void value_release(struct pasta_ranges *r, void *value)
{
	memcpy(value, &r->free, sizeof(r->free));
	r->free = value;
}

/* Returns the number of keys in the node that are not greater than addr. */
static uint32_t node_keys_to(const struct node *n, uint64_t addr)
{
	const uint64_t *first = n->keys;
	uint32_t count = n->count, half;

	while (count > 1) {
		half = count / 2;
		first = first[half] <= addr ? first + half : first;
		count -= half;
	}
	return (uint32_t)(first - n->keys) + (count && *first <= addr);
}

/* Returns the index of the child that contains the last range that starts at or before addr. If all
 * ranges start after addr, returns the index of the first child. */
static uint32_t node_kid(const struct node *n, uint64_t addr)
{
	uint32_t at = node_keys_to(n, addr);

	return at ? at - 1 : 0;
}

/* Prefetches all cache lines of a node. Without this, a search would wait for one line after
 * another. */
static struct node *node_prefetch(struct node *n)
{
	size_t i;

	for (i = 0; i < sizeof(*n); i += 64)
		__builtin_prefetch((const char *)n + i);
	return n;
}

/* Returns the leaf to which an address belongs. */
static const struct node *tree_leaf(const struct pasta_ranges *r, uint64_t addr)
{
	const struct node *n = r->root;
	unsigned int level;

	for (level = r->height; level; level--)
		n = node_prefetch(n->kids[node_kid(n, addr)]);
	return n;
}

static bool range_contains(const struct node *n, uint32_t at, uint64_t addr)
{
	return addr - n->keys[at] < n->sizes[at];
}

static void *ranges_result(const struct node *n, uint32_t at, uint64_t *begin, uint64_t *size)
{
	if (begin)
		*begin = n->keys[at];
	if (size)
		*size = n->sizes[at];
	return n->kids[at];
}

void *pasta_ranges_find(const struct pasta_ranges *r, uint64_t addr, uint64_t *begin,
			uint64_t *size)
{
	const struct node *n = tree_leaf(r, addr);
	uint32_t at = node_keys_to(n, addr);

	return at && range_contains(n, at - 1, addr) ? ranges_result(n, at - 1, begin, size) : NULL;
}

void *pasta_ranges_next(const struct pasta_ranges *r, uint64_t addr, uint64_t *begin,
			uint64_t *size)
{
	const struct node *n = tree_leaf(r, addr);
	uint32_t at = node_keys_to(n, addr);

	if (at && range_contains(n, at - 1, addr))
		at--;
	if (at < n->count)
		return ranges_result(n, at, begin, size);
	return n->next ? ranges_result(n->next, 0, begin, size) : NULL;
}

size_t pasta_ranges_count(const struct pasta_ranges *r)
{
	return r->count;
}

/* -- Changing the tree -- */

static void path_find(const struct pasta_ranges *r, uint64_t begin, struct path *path)
{
	struct node *n = r->root;
	unsigned int level;

	for (level = r->height; level; level--) {
		path->nodes[level] = n;
		path->at[level] = node_kid(n, begin);
		n = node_prefetch(n->kids[path->at[level]]);
	}
	path->nodes[0] = n;
	path->at[0] = node_kid(n, begin);
}

/* Moves the children from index `from` on, so that they start at index `to`. */
static void node_shift(struct node *n, uint32_t from, uint32_t to)
{
	memmove(&n->keys[to], &n->keys[from], (n->count - from) * sizeof(n->keys[0]));
	memmove(&n->sizes[to], &n->sizes[from], (n->count - from) * sizeof(n->sizes[0]));
	memmove(&n->kids[to], &n->kids[from], (n->count - from) * sizeof(n->kids[0]));
	n->count += to - from;
}

static void node_insert(struct node *n, uint32_t at, uint64_t key, uint64_t size, void *kid)
{
	node_shift(n, at, at + 1);
	n->keys[at] = key;
	n->sizes[at] = size;
	n->kids[at] = kid;
}

/* Copies `count` children to another node. The caller must update the counts of both nodes. */
static void node_copy(struct node *to, uint32_t at, const struct node *from, uint32_t first,
		      uint32_t count)
{
	memcpy(&to->keys[at], &from->keys[first], count * sizeof(to->keys[0]));
	memcpy(&to->sizes[at], &from->sizes[first], count * sizeof(to->sizes[0]));
	memcpy(&to->kids[at], &from->kids[first], count * sizeof(to->kids[0]));
}

/* Moves the upper half of a full node to a new node. */
static struct node *node_split(struct pasta_ranges *r, struct node *n)
{
	struct node *right = node_acquire(r);

	node_copy(right, 0, n, FAN / 2, FAN - FAN / 2);
	right->count = FAN - FAN / 2;
	n->count = FAN / 2;
	right->next = n->next;
	n->next = right;
	return right;
}

static void tree_grow(struct pasta_ranges *r, struct node *right)
{
	struct node *root = node_acquire(r);

	node_insert(root, 0, r->root->keys[0], 0, r->root);
	node_insert(root, 1, right->keys[0], 0, right);
	r->root = root;
	r->height++;
}

/* Inserts a value into the leaf at the end of the path. `path` must be the path to the value's
 * key. */
static void tree_insert(struct pasta_ranges *r, const struct path *path, uint64_t key,
			uint64_t size, void *kid)
{
	struct node *right;
	unsigned int level;

	for (level = 1; level <= r->height; level++)
		if (key < path->nodes[level]->keys[0])
			path->nodes[level]->keys[0] = key;
	for (level = 0; level <= r->height; level++) {
		struct node *n = path->nodes[level];
		uint32_t at = path->at[level] + 1;

		if (!level && (!n->count || key < n->keys[0]))
			at = 0;
		if (n->count < FAN) {
			node_insert(n, at, key, size, kid);
			return;
		}
		right = node_split(r, n);
		if (at > n->count)
			node_insert(right, at - n->count, key, size, kid);
		else
			node_insert(n, at, key, size, kid);
		key = right->keys[0];
		size = 0;
		kid = right;
	}
	tree_grow(r, kid);
}

/* Merges two neighbouring nodes if their children fit into one node; if not, divides the children
 * evenly. Returns whether the right node was removed. */
static bool node_balance(struct pasta_ranges *r, struct node *left, struct node *right)
{
	uint32_t all = left->count + right->count, moved;

	if (all <= FAN) {
		node_copy(left, left->count, right, 0, right->count);
		left->count = all;
		left->next = right->next;
		node_release(r, right);
		return true;
	}
	if (left->count < right->count) {
		moved = all / 2 - left->count;
		node_copy(left, left->count, right, 0, moved);
		node_shift(right, moved, 0);
		left->count += moved;
	} else {
		moved = all / 2 - right->count;
		node_shift(right, 0, moved);
		node_copy(right, 0, left, left->count - moved, moved);
		left->count -= moved;
	}
	return false;
}

/* Updates a node after its child at index `at` has changed. Sets the key of the child. If the child
 * has become too small, merges the child with a neighbour. */
static void node_mend(struct pasta_ranges *r, struct node *up, uint32_t at)
{
	struct node *kid = up->kids[at];

	if (kid->count >= LEAST) {
		up->keys[at] = kid->keys[0];
		return;
	}
	if (at)
		at--;
	if (node_balance(r, up->kids[at], up->kids[at + 1]))
		node_shift(up, at + 2, at + 1);
	else
		up->keys[at + 1] = ((struct node *)up->kids[at + 1])->keys[0];
	up->keys[at] = ((struct node *)up->kids[at])->keys[0];
}

static void tree_remove(struct pasta_ranges *r, const struct path *path)
{
	unsigned int level;
	struct node *root;

	node_shift(path->nodes[0], path->at[0] + 1, path->at[0]);
	for (level = 1; level <= r->height; level++)
		node_mend(r, path->nodes[level], path->at[level]);
	while (r->height && r->root->count == 1) {
		root = r->root;
		r->root = root->kids[0];
		r->height--;
		node_release(r, root);
	}
	r->count--;
}

int pasta_ranges_remove(struct pasta_ranges *r, uint64_t begin)
{
	struct path path;
	void *value;

	path_find(r, begin, &path);
	if (!path.nodes[0]->count || path.nodes[0]->keys[path.at[0]] != begin)
		return -ENOENT;
	value = path.nodes[0]->kids[path.at[0]];
	tree_remove(r, &path);
	value_release(r, value);
	return 0;
}

/* Returns whether the range [begin, end) overlaps no range of the map. `path` is the path to
 * `begin`. */
static bool path_is_free(const struct path *path, uint64_t begin, uint64_t end)
{
	const struct node *n = path->nodes[0];
	uint32_t at = path->at[0];

	if (n->count && n->keys[at] <= begin) {
		if (range_contains(n, at, begin))
			return false;
		at++;
	}
	if (at < n->count)
		return n->keys[at] >= end;
	return !n->next || n->next->keys[0] >= end;
}

static size_t ranges_remove_all(struct pasta_ranges *r, uint64_t begin, uint64_t end)
{
	uint64_t other;
	size_t n;

	for (n = 0; pasta_ranges_next(r, begin, &other, NULL) && other < end; n++)
		pasta_ranges_remove(r, other);
	return n;
}

void *pasta_ranges_add(struct pasta_ranges *r, uint64_t begin, uint64_t size, size_t *removed)
{
	struct path path;
	size_t n = 0;
	void *value;

	if (removed)
		*removed = 0;
	if (!size || begin + size < begin || ranges_reserve(r))
		return NULL;
	value = value_acquire(r);
	if (!value)
		return NULL;
	path_find(r, begin, &path);
	if (!path_is_free(&path, begin, begin + size)) {
		n = ranges_remove_all(r, begin, begin + size);
		path_find(r, begin, &path);
	}
	if (removed)
		*removed = n;
	memset(value, 0, r->stride);
	tree_insert(r, &path, begin, size, value);
	r->count++;
	return value;
}
