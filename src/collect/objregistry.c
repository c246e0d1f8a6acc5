/* objregistry.c - stores the objects that handlers have registered, and the numbers of the
 * objects. */
#include "collect/objregistry.h"
#include "core/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>

/* A hash table finds objects by address. The table has at least SLOTS_LEAST and at most SLOTS_MOST
 * slots of 32 bytes, and is at most half full. */
enum { SLOTS_LEAST = 1 << 10, SLOTS_MOST = 1 << 20 };

struct slot {
	uint64_t addr, alloc, bytes;
	uint64_t id; /* number of the object; 0 if the slot is empty */
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
	struct pasta_objreg *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->objects = pasta_objects_new(0);
	r->room = SLOTS_LEAST;
	r->slots = calloc(r->room, sizeof(*r->slots));
	r->last_id = PASTA_OBJECT_FIRST - 1;
	if (!r->objects || !r->slots || pthread_mutex_init(&r->lock, NULL)) {
		pasta_objreg_free(r);
		return NULL;
	}
	return r;
}

void pasta_objreg_free(struct pasta_objreg *r)
{
	if (!r)
		return;
	pasta_objects_free(r->objects);
	free(r->slots);
	free(r);
}

static size_t objreg_home(const struct pasta_objreg *r, uint64_t addr)
{
	return (addr * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (r->room - 1);
}

/* Returns the slot of the object at addr, or an empty slot if the table does not contain the
 * object. */
static struct slot *objreg_find(const struct pasta_objreg *r, uint64_t addr)
{
	size_t i = objreg_home(r, addr);

	while (r->slots[i].id && r->slots[i].addr != addr)
		i = (i + 1) & (r->room - 1);
	return &r->slots[i];
}

/* Removes a slot from the hash table, and moves later entries up so that no gap separates an entry
 * from its first slot. */
static void objreg_remove_slot(struct pasta_objreg *r, struct slot *s)
{
	size_t gap = (size_t)(s - r->slots), i = gap, mask = r->room - 1;

	for (;;) {
		i = (i + 1) & mask;
		if (!r->slots[i].id)
			break;
		if (((i - objreg_home(r, r->slots[i].addr)) & mask) < ((i - gap) & mask))
			continue;
		r->slots[gap] = r->slots[i];
		gap = i;
	}
	r->slots[gap].id = 0;
	r->count--;
}

/* Clears the table if the table cannot grow. Afterwards, an object that is registered again gets a
 * new number. */
static void objreg_clear(struct pasta_objreg *r)
{
	memset(r->slots, 0, r->room * sizeof(*r->slots));
	r->count = 0;
}

static void objreg_grow(struct pasta_objreg *r)
{
	struct slot *old = r->slots, *slots;
	size_t n = r->room;

	if (2 * (r->count + 1) <= n)
		return;
	slots = n < SLOTS_MOST ? calloc(2 * n, sizeof(*slots)) : NULL;
	if (!slots) {
		objreg_clear(r);
		return;
	}
	r->slots = slots;
	r->room = 2 * n;
	for (size_t i = 0; i < n; i++)
		if (old[i].id)
			*objreg_find(r, old[i].addr) = old[i];
	free(old);
}

/* Returns whether the newest version still contains the object. A newer object that overlaps the
 * object may have replaced it. */
static bool objreg_is_current(const struct pasta_objreg *r, const struct pasta_objreg_object *o)
{
	const struct pasta_version *v = pasta_objects_pin(r->objects);
	struct pasta_object_part part = pasta_version_find(v, o->addr);

	pasta_objects_unpin(v);
	return part.object == o->id;
}

static int objreg_add_new(struct pasta_objreg *r, struct slot *slot, struct pasta_objreg_object *o)
{
	int error;

	o->id = r->last_id + 1;
	error = pasta_objects_add(r->objects, o->addr, o->bytes, o->id);
	if (error)
		return error;
	r->last_id++;
	if (!slot->id) {
		objreg_grow(r);
		slot = objreg_find(r, o->addr);
		r->count++;
	}
	*slot = (struct slot){.addr = o->addr, .alloc = o->alloc, .bytes = o->bytes, .id = o->id};
	return 0;
}

static int objreg_add(struct pasta_objreg *r, struct pasta_objreg_object *o, pasta_objreg_fn fn)
{
	struct slot *slot = objreg_find(r, o->addr);
	int error;

	if (slot->id && slot->alloc == o->alloc && slot->bytes == o->bytes) {
		o->id = slot->id;
		return objreg_is_current(r, o)
			       ? 0
			       : pasta_objects_add(r->objects, o->addr, o->bytes, o->id);
	}
	error = objreg_add_new(r, slot, o);
	if (!error)
		fn(o);
	return error;
}

int pasta_objreg_add(struct pasta_objreg *r, struct pasta_objreg_object *object, pasta_objreg_fn fn)
{
	int error;

	pasta_lock(&r->lock);
	error = objreg_add(r, object, fn);
	pasta_unlock(&r->lock);
	return error;
}

void pasta_objreg_unregister(struct pasta_objreg *r, uint64_t addr, uint64_t id)
{
	struct slot *slot;

	pasta_lock(&r->lock);
	slot = objreg_find(r, addr);
	if (slot->id && (!id || slot->id == id)) {
		pasta_objects_remove(r->objects, addr);
		objreg_remove_slot(r, slot);
	}
	pasta_unlock(&r->lock);
}

const struct pasta_version *pasta_objreg_acquire(struct pasta_objreg *r)
{
	return pasta_objects_pin(r->objects);
}
