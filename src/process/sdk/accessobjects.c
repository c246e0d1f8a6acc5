/*
 * accessobjects.c - finds the allocation that each object of an access index belongs to.
 *
 * The ledger tracks which allocations are live, freed, reused and nested. The index attaches an
 * object to each allocation that kernels access, and counts the allocations without an object. An
 * object outlives its allocation, because the rows of queued launches arrive after the allocation
 * is freed, and these rows refer to the object by its id.
 */
#include "process/sdk/accessindex.h"

static struct pasta_access_object *objects_new(struct pasta_access_index *index,
					       struct pasta_accidx_proc *p)
{
	uint64_t key = pasta_accidx_key(p, &p->objects);
	struct pasta_accidx_object *o = pasta_map_add(index->objects, key);

	if (!o) {
		index->failed = true;
		return NULL;
	}
	o->object.key = key;
	o->object.proc = p->number;
	return &o->object;
}

static struct pasta_accidx_alloc *objects_data(const struct pasta_allocation *a)
{
	return a->data;
}

/* Returns whether the allocation counts as untouched until a kernel accesses it. Three types of
 * allocations do not count: host memory, which kernels may not see; images, whose accesses are not
 * counted by object; and segments, because their blocks count instead. */
static bool objects_may_be_cold(const struct pasta_allocation *a)
{
	return !objects_data(a)->object && !(a->flags & PASTA_ALLOCATION_PART) &&
	       a->level != PASTA_LEVEL_SEGMENT && a->type != PASTA_ALLOC_HOST &&
	       a->type != PASTA_ALLOC_IMAGE;
}

void pasta_accidx_untouched(const struct pasta_accidx_proc *p, uint64_t *count, uint64_t *bytes)
{
	*count = p->untouched + p->cold;
	*bytes = pasta_access_add(p->untouched_bytes, p->cold_bytes);
}

/* Subtracts an allocation that becomes an object from the counts of untouched allocations. */
static void objects_warm(struct pasta_accidx_proc *p, const struct pasta_allocation *a)
{
	if (!objects_may_be_cold(a))
		return;
	p->cold--;
	p->cold_bytes -= a->bytes;
}

static void objects_on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			     const struct pasta_where *where)
{
	const struct pasta_access_index *index = state;
	struct pasta_accidx_proc *p = pasta_map_find(index->procs, a->proc);

	(void)ev;
	if (!objects_may_be_cold(a))
		return;
	p->cold++;
	p->cold_bytes += a->bytes;
}

static void objects_on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			    const struct pasta_where *where)
{
	const struct pasta_access_index *index = state;
	struct pasta_accidx_proc *p = pasta_map_find(index->procs, a->proc);

	(void)ev;
	if (objects_data(a)->counts)
		p->host_live -= a->bytes;
	if (!objects_may_be_cold(a))
		return;
	objects_warm(p, a);
	p->untouched++;
	p->untouched_bytes = pasta_access_add(p->untouched_bytes, a->bytes);
}

const struct pasta_ledger_def pasta_accidx_ledger = {.size = sizeof(pasta_accidx_ledger),
						     .data_size = sizeof(struct pasta_accidx_alloc),
						     .on_alloc = objects_on_alloc,
						     .on_free = objects_on_free};

/* Adds host memory that has become an object to the live bytes. The ledger counts the live bytes of
 * device memory. */
static void objects_count_live(struct pasta_accidx_proc *p, const struct pasta_allocation *a)
{
	if (a->device != PASTA_HOST || a->flags & PASTA_ALLOCATION_PART ||
	    a->bytes > UINT64_MAX - p->host_live)
		return;
	objects_data(a)->counts = true;
	p->host_live += a->bytes;
}

/* Returns the object of an allocation. If there is none yet, makes it, and makes the object of the
 * parent if necessary. */
static struct pasta_access_object *objects_tie(struct pasta_access_index *index,
					       struct pasta_accidx_proc *p,
					       const struct pasta_allocation *a)
{
	bool part = a->flags & PASTA_ALLOCATION_PART;
	const struct pasta_access_object *parent = NULL;
	struct pasta_access_object *o;

	if (objects_data(a)->object) {
		struct pasta_accidx_object *known =
			pasta_map_find(index->objects, objects_data(a)->object);

		return &known->object;
	}
	objects_count_live(p, a);
	if (part && a->parent)
		parent = objects_tie(index, p, a->parent);
	o = objects_new(index, p);
	if (!o)
		return NULL;
	objects_warm(p, a);
	objects_data(a)->object = o->key;
	o->number = a->number;
	o->bytes = a->bytes;
	o->name = a->name;
	o->stack = a->stack;
	o->type = a->type;
	o->part = part;
	o->parent = parent ? parent->key : 0;
	return o;
}

/* Registers an object. An id always refers to the same range, so an id that is registered again is
 * already known. */
void pasta_accidx_on_object(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			    const struct pasta_object_record *r)
{
	const struct pasta_allocation *a =
		r->alloc ? pasta_ledger_latest(index->ledger, p->number, r->alloc) : NULL;
	struct pasta_accidx_part *part = pasta_map_find(p->parts, r->id);
	struct pasta_access_object *o;

	if (part)
		return;
	part = pasta_map_add(p->parts, r->id);
	o = part ? (a ? objects_tie(index, p, a) : objects_new(index, p)) : NULL;
	if (!o) {
		index->failed = true;
		return;
	}
	*part = (struct pasta_accidx_part){r->addr, r->bytes, o->key, a != NULL};
	if (o->id)
		return;
	o->id = r->id;
	o->addr = r->addr;
	if (!a)
		o->bytes = r->bytes;
}

const struct pasta_accidx_part *pasta_accidx_part_of(struct pasta_access_index *index,
						     struct pasta_accidx_proc *p, uint64_t id)
{
	struct pasta_accidx_part *part = pasta_map_add(p->parts, id);
	struct pasta_access_object *o = part && !part->object ? objects_new(index, p) : NULL;

	if (o) {
		o->id = id;
		part->object = o->key;
	}
	if (part && part->object)
		return part;
	index->failed = true;
	return NULL;
}
