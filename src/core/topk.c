/* topk.c - the heaviest keys: all of them, or by Space-Saving as many as there is room for. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <pasta/pasta.h>

/*
 * Space-Saving (Metwally, Agrawal, El Abbadi, 2005): a key that is new and finds no room takes the
 * place of the lightest one, and inherits its count. What holds at all times, of the bounded ones:
 * the counts add up to at most the total, so the lightest is at most total/capacity; and no key
 * that is absent weighs more than the lightest. A merge keeps both (Agarwal et al., 2012).
 */
struct counter {
	struct pasta_topk_item item;
	size_t at; /* in the heap */
};

struct pasta_topk {
	size_t capacity; /* 0: all keys */
	struct pasta_map *counters;
	struct counter **heap; /* the bounded one's, the lightest first */
	size_t room;	       /* of the heap */
	uint64_t total;
	int error; /* the first that add or merge had */
};

struct pasta_topk *pasta_topk_new(size_t capacity)
{
	struct pasta_topk *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->capacity = capacity;
	t->counters = pasta_map_new(sizeof(struct counter));
	if (!t->counters) {
		free(t);
		return NULL;
	}
	return t;
}

void pasta_topk_free(struct pasta_topk *t)
{
	if (!t)
		return;
	pasta_map_free(t->counters);
	free(t->heap);
	free(t);
}

static int failed(struct pasta_topk *t, int error)
{
	if (!t->error)
		t->error = error;
	return error;
}

/* The sum, or the most there is. */
static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Whether a comes after b: it is lighter, or as heavy and its key is larger. */
static bool after(const struct pasta_topk_item *a, const struct pasta_topk_item *b)
{
	return a->count != b->count ? a->count < b->count : a->key > b->key;
}

/* -- The heap: a counter's children are at 2n + 1 and 2n + 2, and not after it in weight. -- */

static void set(struct pasta_topk *t, size_t at, struct counter *c)
{
	t->heap[at] = c;
	c->at = at;
}

/* It has become heavier. */
static void sink(struct pasta_topk *t, struct counter *c)
{
	size_t at = c->at, count = pasta_map_count(t->counters), child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && after(&t->heap[child + 1]->item, &t->heap[child]->item))
			child++;
		if (!after(&t->heap[child]->item, &c->item))
			break;
		set(t, at, t->heap[child]);
		at = child;
	}
	set(t, at, c);
}

/* It is new, in the last place. */
static void rise(struct pasta_topk *t, struct counter *c, size_t at)
{
	while (at && after(&c->item, &t->heap[(at - 1) / 2]->item)) {
		set(t, at, t->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	set(t, at, c);
}

static int make_room(struct pasta_topk *t)
{
	size_t room = t->room ? 2 * t->room : 16;
	struct counter **heap;

	if (!t->capacity || pasta_map_count(t->counters) < t->room)
		return 0;
	heap = reallocarray(t->heap, room, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	t->heap = heap;
	t->room = room;
	return 0;
}

static int insert(struct pasta_topk *t, const struct pasta_topk_item *item)
{
	struct counter *c = make_room(t) ? NULL : pasta_map_add(t->counters, item->key);

	if (!c)
		return -ENOMEM;
	c->item = *item;
	if (t->capacity)
		rise(t, c, pasta_map_count(t->counters) - 1);
	return 0;
}

/* The lightest one's count, if a key that is not there may have been; else 0. */
static uint64_t floor_of(const struct pasta_topk *t)
{
	return t->capacity && pasta_map_count(t->counters) == t->capacity ? t->heap[0]->item.count
									  : 0;
}

/* The new one first: if there is no memory for it, nothing has changed. */
static int replace(struct pasta_topk *t, uint64_t key, uint64_t weight)
{
	struct counter *lightest = t->heap[0], *c = pasta_map_add(t->counters, key);
	uint64_t before = lightest->item.count;

	if (!c)
		return -ENOMEM;
	pasta_map_remove(t->counters, lightest->item.key);
	c->item = (struct pasta_topk_item){key, plus(before, weight), before};
	set(t, 0, c);
	sink(t, c);
	return 0;
}

int pasta_topk_add(struct pasta_topk *t, uint64_t key, uint64_t weight)
{
	struct counter *c = pasta_map_find(t->counters, key);
	int error = 0;

	if (!weight)
		return 0;
	if (c) {
		c->item.count = plus(c->item.count, weight);
		if (t->capacity)
			sink(t, c);
	} else if (t->capacity && pasta_map_count(t->counters) == t->capacity) {
		error = replace(t, key, weight);
	} else {
		error = insert(t, &(struct pasta_topk_item){key, weight, 0});
	}
	if (error)
		return failed(t, error);
	t->total = plus(t->total, weight);
	return 0;
}

static int merge_exact(struct pasta_topk *into, const struct pasta_topk *from)
{
	const struct counter *c;
	size_t at = 0;

	while ((c = pasta_map_next(from->counters, &at, NULL))) {
		struct counter *sum = pasta_map_add(into->counters, c->item.key);

		if (!sum)
			return -ENOMEM;
		sum->item.key = c->item.key;
		sum->item.count = plus(sum->item.count, c->item.count);
	}
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	return after(a, b) ? 1 : after(b, a) ? -1 : 0;
}

static int the_lightest_first(const void *a, const void *b)
{
	return by_weight(b, a);
}

/* a's keys, or those that only a has, with what b says of them: one that b does not have may have
 * weighed there as much as its lightest. Returns how many. */
static size_t gather(const struct pasta_topk *a, const struct pasta_topk *b, bool only_a,
		     struct pasta_topk_item *items)
{
	uint64_t absent = floor_of(b);
	const struct counter *c, *other;
	size_t at = 0, n = 0;

	while ((c = pasta_map_next(a->counters, &at, NULL))) {
		other = pasta_map_find(b->counters, c->item.key);
		if (other && only_a)
			continue;
		items[n].key = c->item.key;
		items[n].count = plus(c->item.count, other ? other->item.count : absent);
		items[n++].error = plus(c->item.error, other ? other->item.error : absent);
	}
	return n;
}

/* The heaviest of both, in a new one: if there is no memory for it, nothing has changed. */
static int merge_bounded(struct pasta_topk *into, const struct pasta_topk *from)
{
	size_t i, n = pasta_map_count(into->counters) + pasta_map_count(from->counters);
	struct pasta_topk_item *items = calloc(n + 1, sizeof(*items));
	struct pasta_topk *both = pasta_topk_new(into->capacity), old;
	int error = items && both ? 0 : -ENOMEM;

	if (!error) {
		n = gather(into, from, false, items);
		n += gather(from, into, true, items + n);
		qsort(items, n, sizeof(*items), by_weight);
	}
	for (i = 0; !error && i < n && i < into->capacity; i++)
		error = insert(both, &items[i]);
	if (!error) {
		old = *into;
		into->counters = both->counters;
		into->heap = both->heap;
		into->room = both->room;
		both->counters = old.counters;
		both->heap = old.heap;
	}
	pasta_topk_free(both);
	free(items);
	return error;
}

int pasta_topk_merge(struct pasta_topk *into, const struct pasta_topk *from)
{
	uint64_t total = plus(into->total, from->total);
	int error;

	if (into->capacity != from->capacity)
		return failed(into, -EINVAL);
	error = into->capacity ? merge_bounded(into, from) : merge_exact(into, from);
	if (error)
		return failed(into, error);
	into->total = total;
	if (from->error)
		failed(into, from->error);
	return 0;
}

size_t pasta_topk_count(const struct pasta_topk *t)
{
	return pasta_map_count(t->counters);
}

uint64_t pasta_topk_total(const struct pasta_topk *t)
{
	return t->total;
}

int pasta_topk_error(const struct pasta_topk *t)
{
	return t->error;
}

/* The items are a heap, the last in order first, whose first has been overwritten. */
static void settle(struct pasta_topk_item *items, size_t count)
{
	struct pasta_topk_item moved = items[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && after(&items[child + 1], &items[child]))
			child++;
		if (!after(&items[child], &moved))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = moved;
}

size_t pasta_topk_items(const struct pasta_topk *t, struct pasta_topk_item *items, size_t max)
{
	const struct counter *c;
	size_t at = 0, n = 0;

	while (max && (c = pasta_map_next(t->counters, &at, NULL))) {
		if (n < max) {
			items[n++] = c->item;
			if (n == max) /* what is sorted is a heap */
				qsort(items, n, sizeof(*items), the_lightest_first);
		} else if (after(&items[0], &c->item)) {
			items[0] = c->item;
			settle(items, n);
		}
	}
	if (n)
		qsort(items, n, sizeof(*items), by_weight);
	return pasta_map_count(t->counters);
}
