/* accessobjects.c - of a book of accesses: what is allocated, and which objects that is. */
#include "process/accessbook.h"

#include <stdlib.h>

static struct pasta_access_object *object_new(struct pasta_access_book *b,
					      struct pasta_book_proc *p)
{
	uint64_t key = pasta_book_key(p, &p->objects);
	struct pasta_book_object *o = pasta_map_add(b->objects, key);

	if (!o) {
		b->failed = true;
		return NULL;
	}
	o->object.key = key;
	o->object.proc = p->number;
	return &o->object;
}

static struct pasta_book_alloc *alloc_at(const struct pasta_book_proc *p, uint64_t addr)
{
	struct pasta_book_alloc **top = pasta_map_find(p->allocs, addr);

	return top ? *top : NULL;
}

/* Kernels may not see the host's memory, and what images have is not counted by object. */
static bool may_be_cold(const struct pasta_book_alloc *a)
{
	return !a->object && !a->parent && a->sort != PASTA_ALLOC_HOST &&
	       a->sort != PASTA_ALLOC_IMAGE;
}

void pasta_book_never(const struct pasta_book_proc *p, uint64_t *count, uint64_t *bytes)
{
	struct pasta_book_alloc *const *top;
	const struct pasta_book_alloc *a;
	size_t at = 0;

	*count = p->never;
	*bytes = p->never_bytes;
	while (p->allocs && (top = pasta_map_next(p->allocs, &at, NULL)))
		for (a = *top; a; a = a->under)
			if (may_be_cold(a)) {
				++*count;
				*bytes = pasta_access_add(*bytes, a->bytes);
			}
}

/* The end of the latest one of a pool at an address. */
static void release(struct pasta_book_proc *p, uint64_t addr, uint32_t pool)
{
	struct pasta_book_alloc **at = pasta_map_find(p->allocs, addr), *a;

	while (at && *at && (*at)->pool != pool)
		at = &(*at)->under;
	if (!at || !*at)
		return;
	a = *at;
	*at = a->under;
	if (a->counts)
		p->live -= a->bytes;
	if (may_be_cold(a)) {
		p->never++;
		p->never_bytes = pasta_access_add(p->never_bytes, a->bytes);
	}
	free(a);
	if (!alloc_at(p, addr))
		pasta_map_remove(p->allocs, addr);
}

static void count_live(struct pasta_book_proc *p, struct pasta_book_alloc *a)
{
	if (a->counts || a->parent || a->bytes > UINT64_MAX - p->live)
		return;
	a->counts = true;
	p->live += a->bytes;
}

void pasta_book_on_alloc(struct pasta_access_book *b, struct pasta_book_proc *p,
			 const struct pasta_event *ev)
{
	const struct pasta_alloc *r = &ev->alloc;
	struct pasta_book_alloc **top, *a = malloc(sizeof(*a));

	if (!r->parent)
		release(p, r->addr, r->pool); /* or its end was lost */
	top = pasta_map_add(p->allocs, r->addr);
	if (!a || !top) {
		free(a);
		b->failed = true;
		return;
	}
	*a = (struct pasta_book_alloc){.under = *top,
				       .addr = r->addr,
				       .bytes = r->bytes,
				       .parent = r->parent,
				       .number = ++p->allocations,
				       .name = r->name,
				       .stack = r->stack,
				       .pool = r->pool,
				       .sort = ev->sub};
	*top = a;
	if (a->sort != PASTA_ALLOC_HOST)
		count_live(p, a);
}

void pasta_book_on_free(struct pasta_book_proc *p, const struct pasta_free *r)
{
	release(p, r->addr, r->pool);
}

static const struct pasta_book_alloc *parent_of(const struct pasta_book_proc *p,
						const struct pasta_book_alloc *a)
{
	const struct pasta_book_alloc *parent = alloc_at(p, a->parent);

	while (parent && (parent == a || parent->parent))
		parent = parent->under;
	return parent;
}

/* An allocation becomes an object, and with a part the whole. */
static struct pasta_access_object *tie(struct pasta_access_book *b, struct pasta_book_proc *p,
				       struct pasta_book_alloc *a)
{
	struct pasta_book_alloc *whole =
		a->parent ? (struct pasta_book_alloc *)parent_of(p, a) : NULL;
	const struct pasta_access_object *parent = NULL;
	struct pasta_access_object *o;

	if (a->object) {
		struct pasta_book_object *known = pasta_map_find(b->objects, a->object);

		return &known->object;
	}
	count_live(p, a);
	if (whole)
		parent = tie(b, p, whole);
	o = object_new(b, p);
	if (!o)
		return NULL;
	a->object = o->key;
	o->number = a->number;
	o->bytes = a->bytes;
	o->name = a->name;
	o->stack = a->stack;
	o->sort = a->sort;
	o->part = a->parent != 0;
	o->parent = parent ? parent->key : 0;
	return o;
}

/* A number tells of one range for ever: what is told again is known. */
void pasta_book_on_object(struct pasta_access_book *b, struct pasta_book_proc *p,
			  const struct pasta_object *r)
{
	struct pasta_book_alloc *a = r->alloc ? alloc_at(p, r->alloc) : NULL;
	struct pasta_book_place *place = pasta_map_find(p->places, r->id);
	struct pasta_access_object *o;

	if (place)
		return;
	place = pasta_map_add(p->places, r->id);
	o = place ? (a ? tie(b, p, a) : object_new(b, p)) : NULL;
	if (!o) {
		b->failed = true;
		return;
	}
	*place = (struct pasta_book_place){r->addr, r->bytes, o->key, a != NULL};
	if (o->id)
		return;
	o->id = r->id;
	o->addr = r->addr;
	if (!a)
		o->bytes = r->bytes;
}

const struct pasta_book_place *pasta_book_place_of(struct pasta_access_book *b,
						   struct pasta_book_proc *p, uint64_t id)
{
	struct pasta_book_place *place = pasta_map_add(p->places, id);
	struct pasta_access_object *o = place && !place->object ? object_new(b, p) : NULL;

	if (o) {
		o->id = id;
		place->object = o->key;
	}
	if (place && place->object)
		return place;
	b->failed = true;
	return NULL;
}
