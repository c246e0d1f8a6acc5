/* objregistry.c - the objects that handlers told of, and their numbers. */
#include "collect/objregistry.h"
#include "core/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>

/* By their addresses: a table that is half full at most, 32 bytes a slot. */
enum { SLOTS_LEAST = 1 << 10, SLOTS_MOST = 1 << 20 };

struct slot {
	uint64_t addr, alloc, bytes;
	uint64_t id; /* 0: empty */
};

struct pasta_objreg {
	pthread_mutex_t lock;
	struct pasta_objects *objects;
	struct slot *slots;
	size_t count, room;
	uint64_t last_id;
};

struct pasta_objreg *pasta_objreg_new(void)
{
	struct pasta_objreg *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->objects = pasta_objects_new(0);
	t->room = SLOTS_LEAST;
	t->slots = calloc(t->room, sizeof(*t->slots));
	t->last_id = PASTA_OBJECT_FIRST - 1;
	if (!t->objects || !t->slots || pthread_mutex_init(&t->lock, NULL)) {
		pasta_objreg_free(t);
		return NULL;
	}
	return t;
}

void pasta_objreg_free(struct pasta_objreg *t)
{
	if (!t)
		return;
	pasta_objects_free(t->objects);
	free(t->slots);
	free(t);
}

static size_t home(const struct pasta_objreg *t, uint64_t addr)
{
	return (addr * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (t->room - 1);
}

/* The slot of what begins there, or an empty one. */
static struct slot *find(const struct pasta_objreg *t, uint64_t addr)
{
	size_t i = home(t, addr);

	while (t->slots[i].id && t->slots[i].addr != addr)
		i = (i + 1) & (t->room - 1);
	return &t->slots[i];
}

/* Those behind it move up: there are no gaps before what was put further than its home. */
static void remove_slot(struct pasta_objreg *t, struct slot *s)
{
	size_t gap = (size_t)(s - t->slots), i = gap, mask = t->room - 1;

	for (;;) {
		i = (i + 1) & mask;
		if (!t->slots[i].id)
			break;
		if (((i - home(t, t->slots[i].addr)) & mask) < ((i - gap) & mask))
			continue;
		t->slots[gap] = t->slots[i];
		gap = i;
	}
	t->slots[gap].id = 0;
	t->count--;
}

/* What is forgotten is told again, with another number. */
static void forget(struct pasta_objreg *t)
{
	memset(t->slots, 0, t->room * sizeof(*t->slots));
	t->count = 0;
}

static void make_room(struct pasta_objreg *t)
{
	struct slot *old = t->slots, *slots;
	size_t n = t->room;

	if (2 * (t->count + 1) <= n)
		return;
	slots = n < SLOTS_MOST ? calloc(2 * n, sizeof(*slots)) : NULL;
	if (!slots) {
		forget(t);
		return;
	}
	t->slots = slots;
	t->room = 2 * n;
	for (size_t i = 0; i < n; i++)
		if (old[i].id)
			*find(t, old[i].addr) = old[i];
	free(old);
}

/* Whether the newest version has it still: another may have been put over it. */
static bool is_there(const struct pasta_objreg *t, const struct pasta_objreg_object *o)
{
	const struct pasta_version *v = pasta_objects_pin(t->objects);
	struct pasta_object_part place = pasta_version_find(v, o->addr);

	pasta_objects_unpin(v);
	return place.object == o->id;
}

static int add_new(struct pasta_objreg *t, struct slot *slot, struct pasta_objreg_object *o)
{
	int error;

	o->id = t->last_id + 1;
	error = pasta_objects_add(t->objects, o->addr, o->bytes, o->id);
	if (error)
		return error;
	t->last_id++;
	if (!slot->id) {
		make_room(t);
		slot = find(t, o->addr);
		t->count++;
	}
	*slot = (struct slot){.addr = o->addr, .alloc = o->alloc, .bytes = o->bytes, .id = o->id};
	return 0;
}

static int add(struct pasta_objreg *t, struct pasta_objreg_object *o, pasta_objreg_fn fn)
{
	struct slot *slot = find(t, o->addr);
	int error;

	if (slot->id && slot->alloc == o->alloc && slot->bytes == o->bytes) {
		o->id = slot->id;
		return is_there(t, o) ? 0 : pasta_objects_add(t->objects, o->addr, o->bytes, o->id);
	}
	error = add_new(t, slot, o);
	if (!error)
		fn(o);
	return error;
}

int pasta_objreg_add(struct pasta_objreg *t, struct pasta_objreg_object *object, pasta_objreg_fn fn)
{
	int error;

	pasta_lock(&t->lock);
	error = add(t, object, fn);
	pasta_unlock(&t->lock);
	return error;
}

void pasta_objreg_unregister(struct pasta_objreg *t, uint64_t addr, uint64_t id)
{
	struct slot *slot;

	pasta_lock(&t->lock);
	slot = find(t, addr);
	if (slot->id && (!id || slot->id == id)) {
		pasta_objects_remove(t->objects, addr);
		remove_slot(t, slot);
	}
	pasta_unlock(&t->lock);
}

const struct pasta_version *pasta_objreg_acquire(struct pasta_objreg *t)
{
	return pasta_objects_pin(t->objects);
}
