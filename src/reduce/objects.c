/* objects.c - the versioned table of objects: sorted leaves, shared by versions, copied on change.
 */
#include "reduce/objects.h"
#include "core/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>

enum { LEAF = 128, ROOM = 16 };
#define LIMIT ((size_t)64 << 20)

struct leaf {
	uint32_t refs, count;
	uint64_t begin[LEAF], last[LEAF], object[LEAF];
};

/* Leaves are in order, and none is empty. */
struct pasta_version {
	struct pasta_objects *table;
	uint64_t number;
	uint32_t refs, count, room;
	struct leaf **leaves;
	uint64_t *first; /* where each leaf begins */
};

/* The lock is for all but what is in pinned versions. */
struct pasta_objects {
	pthread_mutex_t lock;
	struct pasta_version *now;
	size_t limit, live, bytes;
	uint64_t gone, refused;
	uint32_t pins;
	bool orphan; /* freed, but for its pins */
};

/* Of all tables: a state that goes from one to another must see that it did. */
static uint64_t next_number(void)
{
	static _Atomic uint64_t numbers;

	return atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
}

static struct leaf *make_leaf(struct pasta_objects *t, const struct leaf *from)
{
	struct leaf *l = malloc(sizeof(*l));

	if (!l)
		return NULL;
	if (from)
		memcpy(l, from, sizeof(*l));
	else
		l->count = 0;
	l->refs = 1;
	t->bytes += sizeof(*l);
	return l;
}

static void drop_leaf(struct pasta_objects *t, struct leaf *l)
{
	if (--l->refs)
		return;
	t->bytes -= sizeof(*l);
	free(l);
}

static size_t version_size(uint32_t room)
{
	return sizeof(struct pasta_version) + room * (sizeof(struct leaf *) + sizeof(uint64_t));
}

static struct pasta_version *make_version(struct pasta_objects *t, uint32_t room)
{
	struct pasta_version *v = malloc(version_size(room));

	if (!v)
		return NULL;
	*v = (struct pasta_version){.table = t, .number = next_number(), .refs = 1, .room = room};
	v->first = (uint64_t *)(v + 1);
	v->leaves = (struct leaf **)(v->first + room);
	t->bytes += version_size(room);
	return v;
}

static void drop_version(struct pasta_version *v)
{
	struct pasta_objects *t = v->table;

	if (--v->refs)
		return;
	for (uint32_t i = 0; i < v->count; i++)
		drop_leaf(t, v->leaves[i]);
	t->bytes -= version_size(v->room);
	free(v);
}

struct pasta_objects *pasta_objects_new(size_t bytes)
{
	struct pasta_objects *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->limit = bytes ? bytes : LIMIT;
	t->now = make_version(t, ROOM);
	if (!t->now || pthread_mutex_init(&t->lock, NULL)) {
		free(t->now);
		free(t);
		return NULL;
	}
	return t;
}

static void destroy(struct pasta_objects *t)
{
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void pasta_objects_free(struct pasta_objects *t)
{
	bool last;

	if (!t)
		return;
	pasta_lock(&t->lock);
	drop_version(t->now);
	t->orphan = true;
	last = !t->pins;
	pasta_unlock(&t->lock);
	if (last)
		destroy(t);
}

/* -- Looking up. -- */

/* How many of the numbers, which are in order, are at most addr. */
static uint32_t up_to(const uint64_t *numbers, uint32_t count, uint64_t addr)
{
	const uint64_t *at = numbers;
	uint32_t half;

	while (count > 1) {
		half = count / 2;
		at = at[half] <= addr ? at + half : at;
		count -= half;
	}
	return (uint32_t)(at - numbers) + (count && *at <= addr);
}

/* The leaf, and the place in it, of the last object that begins at or before addr. */
static bool before(const struct pasta_version *v, uint64_t addr, uint32_t *leaf, uint32_t *at)
{
	*leaf = up_to(v->first, v->count, addr);
	*at = 0;
	if (!*leaf)
		return false;
	*leaf -= 1;
	*at = up_to(v->leaves[*leaf]->begin, v->leaves[*leaf]->count, addr) - 1;
	return true;
}

struct pasta_object_part pasta_version_find(const struct pasta_version *v, uint64_t addr)
{
	struct pasta_object_part place = {.last = UINT64_MAX, .object = PASTA_OBJECT_NONE};
	uint32_t leaf, at;
	const struct leaf *l;

	if (!before(v, addr, &leaf, &at)) {
		if (v->count)
			place.last = v->first[0] - 1;
		return place;
	}
	l = v->leaves[leaf];
	if (addr <= l->last[at])
		return (struct pasta_object_part){l->begin[at], l->last[at], l->object[at]};
	place.begin = l->last[at] + 1;
	if (at + 1 < l->count)
		place.last = l->begin[at + 1] - 1;
	else if (leaf + 1 < v->count)
		place.last = v->first[leaf + 1] - 1;
	return place;
}

size_t pasta_version_parts(const struct pasta_version *v, struct pasta_object_part *places, size_t room)
{
	size_t count = 0;

	for (uint32_t i = 0; i < v->count; i++) {
		const struct leaf *l = v->leaves[i];

		for (uint32_t k = 0; k < l->count; k++, count++)
			if (count < room)
				places[count] =
					(struct pasta_object_part){l->begin[k], l->last[k], l->object[k]};
	}
	return count;
}

uint64_t pasta_version_number(const struct pasta_version *v)
{
	return v->number;
}

/* -- Changing. -- */

/* A newest version that is nobody else's, with room for another leaf. */
static int own_version(struct pasta_objects *t)
{
	struct pasta_version *old = t->now, *v;

	if (old->refs == 1 && old->count < old->room)
		return 0;
	v = make_version(t, old->count < old->room ? old->room : 2 * old->room);
	if (!v)
		return -ENOMEM;
	v->count = old->count;
	memcpy(v->first, old->first, old->count * sizeof(*v->first));
	memcpy(v->leaves, old->leaves, old->count * sizeof(struct leaf *));
	for (uint32_t i = 0; i < v->count; i++)
		v->leaves[i]->refs++;
	drop_version(old);
	t->now = v;
	return 0;
}

static struct leaf *own_leaf(struct pasta_objects *t, uint32_t i)
{
	struct leaf *old = t->now->leaves[i], *l;

	if (old->refs == 1)
		return old;
	l = make_leaf(t, old);
	if (!l)
		return NULL;
	drop_leaf(t, old);
	t->now->leaves[i] = l;
	return l;
}

static void insert_leaf(struct pasta_version *v, uint32_t at, struct leaf *l)
{
	memmove(&v->leaves[at + 1], &v->leaves[at], (v->count - at) * sizeof(struct leaf *));
	memmove(&v->first[at + 1], &v->first[at], (v->count - at) * sizeof(*v->first));
	v->leaves[at] = l;
	v->first[at] = l->begin[0];
	v->count++;
}

static void remove_leaf(struct pasta_version *v, uint32_t at)
{
	v->count--;
	memmove(&v->leaves[at], &v->leaves[at + 1], (v->count - at) * sizeof(struct leaf *));
	memmove(&v->first[at], &v->first[at + 1], (v->count - at) * sizeof(*v->first));
}

/* Move what is in a leaf from one place, and all after it, to another. */
static void shift(struct leaf *l, uint32_t from, uint32_t to)
{
	size_t size = (l->count - from) * sizeof(uint64_t);

	memmove(&l->begin[to], &l->begin[from], size);
	memmove(&l->last[to], &l->last[from], size);
	memmove(&l->object[to], &l->object[from], size);
	l->count += to - from;
}

static void place_in(struct leaf *l, uint32_t at, const struct pasta_object_part *p)
{
	shift(l, at, at + 1);
	l->begin[at] = p->begin;
	l->last[at] = p->last;
	l->object[at] = p->object;
}

/* The upper half, in a leaf of its own; no more than one where the caller appends: addresses that
 * grow shall leave full leaves behind. */
static int split(struct pasta_objects *t, uint32_t i, bool append)
{
	struct leaf *l = t->now->leaves[i], *right = make_leaf(t, l);
	uint32_t keep = append ? LEAF - 1 : LEAF / 2;

	if (!right)
		return -ENOMEM;
	shift(right, keep, 0);
	l->count = keep;
	insert_leaf(t->now, i + 1, right);
	return 0;
}

static int insert(struct pasta_objects *t, const struct pasta_object_part *p)
{
	uint32_t leaf, at;
	struct leaf *l;

	if (own_version(t))
		return -ENOMEM;
	if (!t->now->count) {
		l = make_leaf(t, NULL);
		if (!l)
			return -ENOMEM;
		place_in(l, 0, p);
		insert_leaf(t->now, 0, l);
		return 0;
	}
	at = before(t->now, p->begin, &leaf, &at) ? at + 1 : 0;
	l = own_leaf(t, leaf);
	if (!l || (l->count == LEAF && split(t, leaf, at == LEAF)))
		return -ENOMEM;
	if (at > l->count) {
		at -= l->count;
		l = t->now->leaves[++leaf];
	}
	place_in(l, at, p);
	t->now->first[leaf] = l->begin[0];
	return 0;
}

static int take_out(struct pasta_objects *t, uint64_t begin)
{
	uint32_t leaf, at;
	struct leaf *l;

	if (own_version(t))
		return -ENOMEM;
	before(t->now, begin, &leaf, &at);
	l = own_leaf(t, leaf);
	if (!l)
		return -ENOMEM;
	shift(l, at + 1, at);
	t->live--;
	if (l->count) {
		t->now->first[leaf] = l->begin[0];
		return 0;
	}
	remove_leaf(t->now, leaf);
	drop_leaf(t, l);
	return 0;
}

static int take_out_all(struct pasta_objects *t, uint64_t addr, uint64_t last)
{
	struct pasta_object_part p;
	int error;

	for (;;) {
		p = pasta_version_find(t->now, addr);
		if (p.object == PASTA_OBJECT_NONE) {
			if (p.last >= last)
				return 0;
			p = pasta_version_find(t->now, p.last + 1);
		}
		error = take_out(t, p.begin);
		if (error)
			return error;
		t->gone++;
	}
}

/* A version that is pinned is one that did not change, and its readers hold no lock. */
static void changed(struct pasta_objects *t)
{
	if (t->now->refs == 1)
		t->now->number = next_number();
}

static int add(struct pasta_objects *t, const struct pasta_object_part *p)
{
	int error = take_out_all(t, p->begin, p->last);

	if (!error && t->bytes > t->limit)
		error = -ENOSPC;
	if (!error)
		error = insert(t, p);
	if (error)
		t->refused++;
	else
		t->live++;
	changed(t);
	return error;
}

int pasta_objects_add(struct pasta_objects *t, uint64_t addr, uint64_t size, uint64_t object)
{
	struct pasta_object_part p = {addr, addr + size - 1, object};
	int error;

	if (!size || p.last < addr || object < PASTA_OBJECT_FIRST || object == PASTA_KEY_OTHER)
		return -EINVAL;
	pasta_lock(&t->lock);
	error = add(t, &p);
	pasta_unlock(&t->lock);
	return error;
}

int pasta_objects_remove(struct pasta_objects *t, uint64_t addr)
{
	struct pasta_object_part p;
	int error = -ENOENT;

	pasta_lock(&t->lock);
	p = pasta_version_find(t->now, addr);
	if (p.object != PASTA_OBJECT_NONE && p.begin == addr) {
		error = take_out(t, addr);
		changed(t);
	}
	pasta_unlock(&t->lock);
	return error;
}

const struct pasta_version *pasta_objects_pin(struct pasta_objects *t)
{
	struct pasta_version *v;

	pasta_lock(&t->lock);
	v = t->now;
	v->refs++;
	t->pins++;
	pasta_unlock(&t->lock);
	return v;
}

const struct pasta_version *pasta_version_pin(const struct pasta_version *pinned)
{
	struct pasta_version *v = (struct pasta_version *)pinned;

	pasta_lock(&v->table->lock);
	v->refs++;
	v->table->pins++;
	pasta_unlock(&v->table->lock);
	return v;
}

void pasta_objects_unpin(const struct pasta_version *pinned)
{
	struct pasta_version *v = (struct pasta_version *)pinned;
	struct pasta_objects *t;
	bool last;

	if (!v)
		return;
	t = v->table;
	pasta_lock(&t->lock);
	drop_version(v);
	t->pins--;
	last = t->orphan && !t->pins;
	pasta_unlock(&t->lock);
	if (last)
		destroy(t);
}

void pasta_objects_stats(struct pasta_objects *t, struct pasta_objects_stats *stats)
{
	pasta_lock(&t->lock);
	*stats = (struct pasta_objects_stats){t->live, t->bytes, t->gone, t->refused};
	pasta_unlock(&t->lock);
}
