/* objects.c - the versioned table of objects. Objects are in sorted arrays, the leaves, which
 * versions share and copy on write. */
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

/* A version of the table of objects. The leaves are sorted, and no leaf is empty. */
struct pasta_version {
	struct pasta_objects *table;
	uint64_t number;
	uint32_t refs, count, room;
	struct leaf **leaves;
	uint64_t *first; /* start address of each leaf */
};

/* A table of objects. The lock protects all members and all versions, except for the contents of
 * pinned versions. */
struct pasta_objects {
	pthread_mutex_t lock;
	struct pasta_version *newest;
	size_t limit, live, bytes;
	uint64_t replaced, refused;
	uint32_t pins;
	bool orphan; /* whether the table was freed while one of its versions was still pinned */
};

/* Version numbers are unique across all tables, so that a reducer notices a change of table. */
static uint64_t version_next_number(void)
{
	static _Atomic uint64_t numbers;

	return atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
}

static struct leaf *leaf_new(struct pasta_objects *t, const struct leaf *from)
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

static void leaf_unref(struct pasta_objects *t, struct leaf *l)
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

static struct pasta_version *version_new(struct pasta_objects *t, uint32_t room)
{
	struct pasta_version *v = malloc(version_size(room));

	if (!v)
		return NULL;
	*v = (struct pasta_version){
		.table = t, .number = version_next_number(), .refs = 1, .room = room};
	v->first = (uint64_t *)(v + 1);
	v->leaves = (struct leaf **)(v->first + room);
	t->bytes += version_size(room);
	return v;
}

static void version_unref(struct pasta_version *v)
{
	struct pasta_objects *t = v->table;

	if (--v->refs)
		return;
	for (uint32_t i = 0; i < v->count; i++)
		leaf_unref(t, v->leaves[i]);
	t->bytes -= version_size(v->room);
	free(v);
}

struct pasta_objects *pasta_objects_new(size_t bytes)
{
	struct pasta_objects *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->limit = bytes ? bytes : LIMIT;
	t->newest = version_new(t, ROOM);
	if (!t->newest || pthread_mutex_init(&t->lock, NULL)) {
		free(t->newest);
		free(t);
		return NULL;
	}
	return t;
}

static void objects_destroy(struct pasta_objects *t)
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
	version_unref(t->newest);
	t->orphan = true;
	last = !t->pins;
	pasta_unlock(&t->lock);
	if (last)
		objects_destroy(t);
}

/* -- Look-up -- */

/* Returns the number of entries of a sorted array that are less than or equal to addr. */
static uint32_t count_up_to(const uint64_t *numbers, uint32_t count, uint64_t addr)
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

/* Finds the last object that begins at addr or before. Stores the object's leaf and its index in
 * the leaf. Returns false if there is no such object. */
static bool version_find_before(const struct pasta_version *v, uint64_t addr, uint32_t *leaf,
				uint32_t *at)
{
	*leaf = count_up_to(v->first, v->count, addr);
	*at = 0;
	if (!*leaf)
		return false;
	*leaf -= 1;
	*at = count_up_to(v->leaves[*leaf]->begin, v->leaves[*leaf]->count, addr) - 1;
	return true;
}

struct pasta_object_part pasta_version_find(const struct pasta_version *v, uint64_t addr)
{
	struct pasta_object_part part = {.last = UINT64_MAX, .object = PASTA_OBJECT_NONE};
	uint32_t leaf, at;
	const struct leaf *l;

	if (!version_find_before(v, addr, &leaf, &at)) {
		if (v->count)
			part.last = v->first[0] - 1;
		return part;
	}
	l = v->leaves[leaf];
	if (addr <= l->last[at])
		return (struct pasta_object_part){l->begin[at], l->last[at], l->object[at]};
	part.begin = l->last[at] + 1;
	if (at + 1 < l->count)
		part.last = l->begin[at + 1] - 1;
	else if (leaf + 1 < v->count)
		part.last = v->first[leaf + 1] - 1;
	return part;
}

size_t pasta_version_parts(const struct pasta_version *v, struct pasta_object_part *parts,
			   size_t room)
{
	size_t count = 0;

	for (uint32_t i = 0; i < v->count; i++) {
		const struct leaf *l = v->leaves[i];

		for (uint32_t k = 0; k < l->count; k++, count++)
			if (count < room)
				parts[count] = (struct pasta_object_part){l->begin[k], l->last[k],
									  l->object[k]};
	}
	return count;
}

uint64_t pasta_version_number(const struct pasta_version *v)
{
	return v->number;
}

/* -- Changes -- */

/* Ensures that the newest version may be changed and has room for another leaf. Copies the version
 * if it is pinned. */
static int objects_own_version(struct pasta_objects *t)
{
	struct pasta_version *old = t->newest, *v;

	if (old->refs == 1 && old->count < old->room)
		return 0;
	v = version_new(t, old->count < old->room ? old->room : 2 * old->room);
	if (!v)
		return -ENOMEM;
	v->count = old->count;
	memcpy(v->first, old->first, old->count * sizeof(*v->first));
	memcpy(v->leaves, old->leaves, old->count * sizeof(struct leaf *));
	for (uint32_t i = 0; i < v->count; i++)
		v->leaves[i]->refs++;
	version_unref(old);
	t->newest = v;
	return 0;
}

static struct leaf *objects_own_leaf(struct pasta_objects *t, uint32_t i)
{
	struct leaf *old = t->newest->leaves[i], *l;

	if (old->refs == 1)
		return old;
	l = leaf_new(t, old);
	if (!l)
		return NULL;
	leaf_unref(t, old);
	t->newest->leaves[i] = l;
	return l;
}

static void version_insert_leaf(struct pasta_version *v, uint32_t at, struct leaf *l)
{
	memmove(&v->leaves[at + 1], &v->leaves[at], (v->count - at) * sizeof(struct leaf *));
	memmove(&v->first[at + 1], &v->first[at], (v->count - at) * sizeof(*v->first));
	v->leaves[at] = l;
	v->first[at] = l->begin[0];
	v->count++;
}

static void version_remove_leaf(struct pasta_version *v, uint32_t at)
{
	v->count--;
	memmove(&v->leaves[at], &v->leaves[at + 1], (v->count - at) * sizeof(struct leaf *));
	memmove(&v->first[at], &v->first[at + 1], (v->count - at) * sizeof(*v->first));
}

/* Moves all entries, starting with the entry at index `from`, to index `to`. */
static void leaf_shift(struct leaf *l, uint32_t from, uint32_t to)
{
	size_t size = (l->count - from) * sizeof(uint64_t);

	memmove(&l->begin[to], &l->begin[from], size);
	memmove(&l->last[to], &l->last[from], size);
	memmove(&l->object[to], &l->object[from], size);
	l->count += to - from;
}

static void leaf_insert(struct leaf *l, uint32_t at, const struct pasta_object_part *p)
{
	leaf_shift(l, at, at + 1);
	l->begin[at] = p->begin;
	l->last[at] = p->last;
	l->object[at] = p->object;
}

/* Moves the upper half of a leaf to a new leaf. If the caller appends, the function moves only one
 * entry, so that objects with ascending addresses fill their leaves. */
static int leaf_split(struct pasta_objects *t, uint32_t i, bool append)
{
	struct leaf *l = t->newest->leaves[i], *right = leaf_new(t, l);
	uint32_t left = append ? LEAF - 1 : LEAF / 2;

	if (!right)
		return -ENOMEM;
	leaf_shift(right, left, 0);
	l->count = left;
	version_insert_leaf(t->newest, i + 1, right);
	return 0;
}

static int objects_insert(struct pasta_objects *t, const struct pasta_object_part *p)
{
	uint32_t leaf, at;
	struct leaf *l;

	if (objects_own_version(t))
		return -ENOMEM;
	if (!t->newest->count) {
		l = leaf_new(t, NULL);
		if (!l)
			return -ENOMEM;
		leaf_insert(l, 0, p);
		version_insert_leaf(t->newest, 0, l);
		return 0;
	}
	at = version_find_before(t->newest, p->begin, &leaf, &at) ? at + 1 : 0;
	l = objects_own_leaf(t, leaf);
	if (!l || (l->count == LEAF && leaf_split(t, leaf, at == LEAF)))
		return -ENOMEM;
	if (at > l->count) {
		at -= l->count;
		l = t->newest->leaves[++leaf];
	}
	leaf_insert(l, at, p);
	t->newest->first[leaf] = l->begin[0];
	return 0;
}

static int objects_erase(struct pasta_objects *t, uint64_t begin)
{
	uint32_t leaf, at;
	struct leaf *l;

	if (objects_own_version(t))
		return -ENOMEM;
	version_find_before(t->newest, begin, &leaf, &at);
	l = objects_own_leaf(t, leaf);
	if (!l)
		return -ENOMEM;
	leaf_shift(l, at + 1, at);
	t->live--;
	if (l->count) {
		t->newest->first[leaf] = l->begin[0];
		return 0;
	}
	version_remove_leaf(t->newest, leaf);
	leaf_unref(t, l);
	return 0;
}

static int objects_erase_range(struct pasta_objects *t, uint64_t addr, uint64_t last)
{
	struct pasta_object_part p;
	int error;

	for (;;) {
		p = pasta_version_find(t->newest, addr);
		if (p.object == PASTA_OBJECT_NONE) {
			if (p.last >= last)
				return 0;
			p = pasta_version_find(t->newest, p.last + 1);
		}
		error = objects_erase(t, p.begin);
		if (error)
			return error;
		t->replaced++;
	}
}

/* Assigns a new number to the newest version, unless it is pinned. Pinned versions must not change,
 * because their readers hold no lock. */
static void objects_changed(struct pasta_objects *t)
{
	if (t->newest->refs == 1)
		t->newest->number = version_next_number();
}

static int objects_add(struct pasta_objects *t, const struct pasta_object_part *p)
{
	int error = objects_erase_range(t, p->begin, p->last);

	if (!error && t->bytes > t->limit)
		error = -ENOSPC;
	if (!error)
		error = objects_insert(t, p);
	if (error)
		t->refused++;
	else
		t->live++;
	objects_changed(t);
	return error;
}

int pasta_objects_add(struct pasta_objects *t, uint64_t addr, uint64_t size, uint64_t object)
{
	struct pasta_object_part p = {addr, addr + size - 1, object};
	int error;

	if (!size || p.last < addr || object < PASTA_OBJECT_FIRST || object == PASTA_KEY_OTHER)
		return -EINVAL;
	pasta_lock(&t->lock);
	error = objects_add(t, &p);
	pasta_unlock(&t->lock);
	return error;
}

int pasta_objects_remove(struct pasta_objects *t, uint64_t addr)
{
	struct pasta_object_part p;
	int error = -ENOENT;

	pasta_lock(&t->lock);
	p = pasta_version_find(t->newest, addr);
	if (p.object != PASTA_OBJECT_NONE && p.begin == addr) {
		error = objects_erase(t, addr);
		objects_changed(t);
	}
	pasta_unlock(&t->lock);
	return error;
}

const struct pasta_version *pasta_objects_pin(struct pasta_objects *t)
{
	struct pasta_version *v;

	pasta_lock(&t->lock);
	v = t->newest;
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
	version_unref(v);
	t->pins--;
	last = t->orphan && !t->pins;
	pasta_unlock(&t->lock);
	if (last)
		objects_destroy(t);
}

void pasta_objects_stats(struct pasta_objects *t, struct pasta_objects_stats *stats)
{
	pasta_lock(&t->lock);
	*stats = (struct pasta_objects_stats){t->live, t->bytes, t->replaced, t->refused};
	pasta_unlock(&t->lock);
}
