/*
 * accessobjects.c - of a book of accesses: which objects are which allocations.
 *
 * What is allocated, freed, reused and a part of what is the ledger's; the book adds to each
 * allocation the object that it is, and counts those that are none. An object outlives its
 * allocation: rows of launches that are queued come after the end, and name it by its number.
 */
#include "process/sdk/accessindex.h"

static struct pasta_access_object *object_new(struct pasta_access_index *b,
					      struct pasta_accidx_proc *p)
{
	uint64_t key = pasta_accidx_key(p, &p->objects);
	struct pasta_accidx_object *o = pasta_map_add(b->objects, key);

	if (!o) {
		b->failed = true;
		return NULL;
	}
	o->object.key = key;
	o->object.proc = p->number;
	return &o->object;
}

static struct pasta_accidx_alloc *index_of(const struct pasta_allocation *a)
{
	return a->data;
}

/* Kernels may not see the host's memory, and what images have is not counted by object. Segments
 * are looked at by their blocks. */
static bool may_be_cold(const struct pasta_allocation *a)
{
	return !index_of(a)->object && !(a->flags & PASTA_ALLOCATION_PART) &&
	       a->level != PASTA_LEVEL_SEGMENT && a->type != PASTA_ALLOC_HOST &&
	       a->type != PASTA_ALLOC_IMAGE;
}

void pasta_accidx_untouched(const struct pasta_accidx_proc *p, uint64_t *count, uint64_t *bytes)
{
	*count = p->never + p->cold;
	*bytes = pasta_access_add(p->never_bytes, p->cold_bytes);
}

static void warm(struct pasta_accidx_proc *p, const struct pasta_allocation *a)
{
	if (!may_be_cold(a))
		return;
	p->cold--;
	p->cold_bytes -= a->bytes;
}

static void index_on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			  const struct pasta_where *where)
{
	const struct pasta_access_index *b = state;
	struct pasta_accidx_proc *p = pasta_map_find(b->procs, a->proc);

	(void)ev;
	if (!may_be_cold(a))
		return;
	p->cold++;
	p->cold_bytes += a->bytes;
}

static void index_on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			 const struct pasta_where *where)
{
	const struct pasta_access_index *b = state;
	struct pasta_accidx_proc *p = pasta_map_find(b->procs, a->proc);

	(void)ev;
	if (index_of(a)->counts)
		p->host_live -= a->bytes;
	if (!may_be_cold(a))
		return;
	warm(p, a);
	p->never++;
	p->never_bytes = pasta_access_add(p->never_bytes, a->bytes);
}

const struct pasta_ledger_def pasta_accidx_ledger = {.size = sizeof(pasta_accidx_ledger),
						   .data_size = sizeof(struct pasta_accidx_alloc),
						   .on_alloc = index_on_alloc,
						   .on_free = index_on_free};

/* What is held on devices is counted there; the host's memory, once a kernel is given it. */
static void count_live(struct pasta_accidx_proc *p, const struct pasta_allocation *a)
{
	if (a->device != PASTA_HOST || a->flags & PASTA_ALLOCATION_PART ||
	    a->bytes > UINT64_MAX - p->host_live)
		return;
	index_of(a)->counts = true;
	p->host_live += a->bytes;
}

/* An allocation becomes an object, and with a part the whole. */
static struct pasta_access_object *tie(struct pasta_access_index *b, struct pasta_accidx_proc *p,
				       const struct pasta_allocation *a)
{
	bool part = a->flags & PASTA_ALLOCATION_PART;
	const struct pasta_access_object *parent = NULL;
	struct pasta_access_object *o;

	if (index_of(a)->object) {
		struct pasta_accidx_object *known = pasta_map_find(b->objects, index_of(a)->object);

		return &known->object;
	}
	count_live(p, a);
	if (part && a->parent)
		parent = tie(b, p, a->parent);
	o = object_new(b, p);
	if (!o)
		return NULL;
	warm(p, a);
	index_of(a)->object = o->key;
	o->number = a->number;
	o->bytes = a->bytes;
	o->name = a->name;
	o->stack = a->stack;
	o->type = a->type;
	o->part = part;
	o->parent = parent ? parent->key : 0;
	return o;
}

/* A number tells of one range for ever: what is told again is known. */
void pasta_accidx_on_object(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			  const struct pasta_object_record *r)
{
	const struct pasta_allocation *a =
		r->alloc ? pasta_ledger_latest(b->ledger, p->number, r->alloc) : NULL;
	struct pasta_accidx_part *place = pasta_map_find(p->places, r->id);
	struct pasta_access_object *o;

	if (place)
		return;
	place = pasta_map_add(p->places, r->id);
	o = place ? (a ? tie(b, p, a) : object_new(b, p)) : NULL;
	if (!o) {
		b->failed = true;
		return;
	}
	*place = (struct pasta_accidx_part){r->addr, r->bytes, o->key, a != NULL};
	if (o->id)
		return;
	o->id = r->id;
	o->addr = r->addr;
	if (!a)
		o->bytes = r->bytes;
}

const struct pasta_accidx_part *pasta_accidx_part_of(struct pasta_access_index *b,
						   struct pasta_accidx_proc *p, uint64_t id)
{
	struct pasta_accidx_part *place = pasta_map_add(p->places, id);
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
