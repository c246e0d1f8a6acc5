/* accessindex.c - builds an index of memory accesses. Handles its processes, shapes, sites and
 * launches, and merges indexes. */
#include "process/sdk/accessindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pasta_access_index *pasta_access_index_new(uint32_t reducers)
{
	struct pasta_access_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	index->reducers = reducers;
	index->procs = pasta_map_new(sizeof(struct pasta_accidx_proc));
	index->objects = pasta_map_new(sizeof(struct pasta_accidx_object));
	index->sites = pasta_map_new(sizeof(struct pasta_access_site));
	index->shapes = pasta_map_new(sizeof(struct pasta_accidx_shape));
	index->refused = pasta_map_new(sizeof(struct pasta_accidx_refused));
	index->launches =
		pasta_pending_new(sizeof(struct pasta_accidx_counted), PASTA_ACCIDX_LAUNCHES);
	index->ledger = pasta_ledger_new(&pasta_accidx_ledger, index);
	if (index->ledger && index->procs && index->objects && index->sites && index->shapes &&
	    index->refused && index->launches)
		return index;
	pasta_access_index_free(index);
	return NULL;
}

static void index_free_proc(struct pasta_accidx_proc *p)
{
	size_t i;

	for (i = 0; i < PASTA_ACCIDX_RECENT; i++)
		free(p->recent[i].parts);
	pasta_map_free(p->parts);
	pasta_map_free(p->sites);
	pasta_map_free(p->shapes);
}

void pasta_access_index_free(struct pasta_access_index *index)
{
	struct pasta_accidx_shape *shape;
	struct pasta_accidx_proc *p;
	size_t i, at = 0;

	if (!index)
		return;
	while (index->procs && (p = pasta_map_next(index->procs, &at, NULL)))
		index_free_proc(p);
	at = 0;
	while (index->shapes && (shape = pasta_map_next(index->shapes, &at, NULL)))
		for (i = 0; i < PASTA_REDUCER_COUNT; i++)
			pasta_map_free(shape->rows[i]);
	pasta_map_free(index->procs);
	pasta_map_free(index->objects);
	pasta_map_free(index->sites);
	pasta_map_free(index->shapes);
	pasta_map_free(index->refused);
	pasta_pending_free(index->launches);
	pasta_ledger_free(index->ledger);
	free(index->parts);
	free(index);
}

int pasta_access_index_error(const struct pasta_access_index *index)
{
	return index->failed ? -ENOMEM : 0;
}

/* -- Processes, sites and shapes. -- */

struct pasta_accidx_proc *pasta_accidx_proc_of(struct pasta_access_index *index, uint32_t number)
{
	struct pasta_accidx_proc *p = pasta_map_add(index->procs, number);

	if (p && !p->parts) {
		p->number = number;
		p->parts = pasta_map_new(sizeof(struct pasta_accidx_part));
		p->sites = pasta_map_new(sizeof(uint64_t));
		p->shapes = pasta_map_new(sizeof(uint64_t));
	}
	if (p && p->parts && p->sites && p->shapes)
		return p;
	index->failed = true;
	return NULL;
}

struct pasta_access_site *pasta_accidx_site_of(struct pasta_access_index *index,
					       struct pasta_accidx_proc *p, uint64_t id)
{
	uint64_t *key = pasta_map_add(p->sites, id);
	struct pasta_access_site *site;

	if (key && !*key)
		*key = pasta_accidx_key(p, &p->site_count);
	site = key ? pasta_map_add(index->sites, *key) : NULL;
	if (!site) {
		index->failed = true;
		return NULL;
	}
	site->key = *key;
	site->id = id;
	site->proc = p->number;
	return site;
}

struct pasta_accidx_shape *pasta_accidx_shape_of(struct pasta_access_index *index,
						 struct pasta_accidx_proc *p, uint32_t name,
						 uint64_t shape)
{
	uint64_t mix = shape ^ (uint64_t)name * UINT64_C(0x9e3779b97f4a7c15);

	for (;; mix++) {
		uint64_t *key = pasta_map_add(p->shapes, mix);
		struct pasta_accidx_shape *s;

		if (key && !*key)
			*key = pasta_accidx_key(p, &p->shape_count);
		s = key ? pasta_map_add(index->shapes, *key) : NULL;
		if (!s) {
			index->failed = true;
			return NULL;
		}
		if (!s->shape.key)
			s->shape = (struct pasta_access_shape){.key = *key,
							       .shape = shape,
							       .proc = p->number,
							       .name = name,
							       .blocks = 1};
		if (s->shape.name == name && s->shape.shape == shape)
			return s;
	}
}

/* -- Sites. -- */

static void index_on_site(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			  const struct pasta_site_record *r)
{
	struct pasta_access_site *site = pasta_accidx_site_of(index, p, r->id);

	if (!site)
		return;
	site->known = 1;
	site->site = *r;
}

/* -- Launches. -- */

static void index_refuse(struct pasta_access_index *index, uint32_t name, uint32_t detail,
			 uint64_t count)
{
	struct pasta_accidx_refused *r = pasta_map_add(index->refused, pasta_pair(name, detail));

	if (!r) {
		index->failed = true;
		return;
	}
	r->name = name;
	r->detail = detail;
	r->count += count;
}

static void index_count(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			struct pasta_access_shape *s, const struct pasta_access_launch_record *r)
{
	struct pasta_accidx_counted *counted =
		pasta_pending_add(index->launches, p->number, r->corr);
	uint64_t blocks = r->blocks ? r->blocks : 1;

	s->counted++;
	s->partial += blocks > 1;
	s->blocks = blocks > s->blocks ? blocks : s->blocks;
	s->live = pasta_access_add(s->live, pasta_ledger_held(index->ledger, p->number));
	s->live = pasta_access_add(s->live, p->host_live);
	if (!counted) {
		index->failed = true;
		return;
	}
	*counted = (struct pasta_accidx_counted){s->key, p->launches, blocks};
}

/* Handles an ACCESS_LAUNCH event. If the event's subtype is one of COUNTED to REFUSED, the event
 * announces a launch. The other subtypes report later facts about a launch that the index already
 * counts: its dropped accesses, and its end. */
static void index_on_launch(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			    const struct pasta_event *ev)
{
	const struct pasta_access_launch_record *r = &ev->access_launch;
	struct pasta_accidx_shape *known;
	struct pasta_access_shape *s;

	if (!(r->flags & PASTA_ACCESS_LAUNCH_RAW_DROPPED))
		index->dropped = pasta_access_add(index->dropped, r->lost);
	index->begun +=
		ev->sub == PASTA_ACCESS_LAUNCH_COUNTED && r->flags & PASTA_ACCESS_LAUNCH_ENDS;
	index->ended += ev->sub == PASTA_ACCESS_LAUNCH_ENDED;
	if (ev->sub < PASTA_ACCESS_LAUNCH_COUNTED || ev->sub > PASTA_ACCESS_LAUNCH_REFUSED)
		return;
	known = pasta_accidx_shape_of(index, p, r->name, r->shape);
	if (!known)
		return;
	s = &known->shape;
	s->registered = 1;
	if (ev->sub == PASTA_ACCESS_LAUNCH_COUNTED)
		index_count(index, p, s, r);
	else if (ev->sub == PASTA_ACCESS_LAUNCH_SAMPLED)
		s->sampled++;
	else if (ev->sub == PASTA_ACCESS_LAUNCH_FILTERED)
		s->filtered++;
	else {
		s->refused++;
		s->detail = r->detail;
		index_refuse(index, r->name, r->detail, 1);
	}
	p->launches++;
}

void pasta_access_index_event(struct pasta_access_index *index, const struct pasta_event *ev)
{
	struct pasta_accidx_proc *p;

	if (index->failed || ev->kind >= PASTA_KIND_MAX || !(PASTA_ACCESS_KINDS >> ev->kind & 1))
		return;
	p = pasta_accidx_proc_of(index, ev->proc);
	if (!p)
		return;
	if (ev->kind == PASTA_KIND_ACCESS_SUM) {
		pasta_accidx_on_row(index, p, &ev->access_sum);
	} else if (ev->kind == PASTA_KIND_ACCESS_LAUNCH) {
		index_on_launch(index, p, ev);
	} else if (ev->kind == PASTA_KIND_ALLOC || ev->kind == PASTA_KIND_FREE) {
		pasta_ledger_event(index->ledger, ev, NULL);
		index->failed |= pasta_ledger_error(index->ledger) != 0;
	} else if (ev->kind == PASTA_KIND_OBJECT) {
		pasta_accidx_on_object(index, p, &ev->object);
	} else if (ev->kind == PASTA_KIND_SITE) {
		index_on_site(index, p, &ev->site);
	}
}

/* -- Merging. An object, site or shape has the same key in all indexes of a run. -- */

static bool index_merge_map(struct pasta_map *into, const struct pasta_map *from, size_t size)
{
	const void *value;
	uint64_t key;
	size_t at = 0;

	while ((value = pasta_map_next(from, &at, &key))) {
		void *copy = pasta_map_add(into, key);

		if (!copy)
			return false;
		memcpy(copy, value, size);
	}
	return true;
}

static void index_merge_shapes(struct pasta_access_index *into,
			       const struct pasta_access_index *from)
{
	const struct pasta_accidx_shape *s;
	const struct pasta_access_row *row;
	size_t at = 0, inner;
	uint32_t i;

	while (!into->failed && (s = pasta_map_next(from->shapes, &at, NULL))) {
		struct pasta_accidx_shape *copy = pasta_map_add(into->shapes, s->shape.key);

		if (!copy) {
			into->failed = true;
			return;
		}
		copy->shape = s->shape;
		for (i = 0; i < PASTA_REDUCER_COUNT; i++)
			for (inner = 0;
			     s->rows[i] && (row = pasta_map_next(s->rows[i], &inner, NULL));)
				pasta_accidx_add_row(into, copy, i, row);
	}
}

static void index_merge_procs(struct pasta_access_index *into,
			      const struct pasta_access_index *from)
{
	const struct pasta_accidx_proc *p;
	size_t at = 0;

	while (!into->failed && (p = pasta_map_next(from->procs, &at, NULL))) {
		struct pasta_accidx_proc *copy = pasta_accidx_proc_of(into, p->number);

		if (!copy)
			return;
		pasta_accidx_untouched(p, &copy->untouched, &copy->untouched_bytes);
	}
}

int pasta_access_index_merge(struct pasta_access_index *into, const struct pasta_access_index *from)
{
	const struct pasta_accidx_refused *r;
	size_t at = 0;

	into->failed |= from->failed;
	into->dropped = pasta_access_add(into->dropped, from->dropped);
	into->page_other = pasta_access_add(into->page_other, from->page_other);
	into->begun += from->begun;
	into->ended += from->ended;
	if (!index_merge_map(into->objects, from->objects, sizeof(struct pasta_accidx_object)) ||
	    !index_merge_map(into->sites, from->sites, sizeof(struct pasta_access_site)))
		into->failed = true;
	index_merge_shapes(into, from);
	index_merge_procs(into, from);
	while ((r = pasta_map_next(from->refused, &at, NULL)))
		index_refuse(into, r->name, r->detail, r->count);
	return pasta_access_index_error(into);
}
