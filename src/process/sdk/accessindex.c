/* accessindex.c - memory accesses, joined to their kernels, objects and sites, and added up. */
#include "process/sdk/accessindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A launch that is counted, until its rows come. */
struct told {
	uint64_t shape, number; /* shape's key */
	uint64_t blocks;	/* one in so many is counted */
};

struct pasta_access_index *pasta_access_index_new(uint32_t reducers)
{
	struct pasta_access_index *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->reducers = reducers;
	b->procs = pasta_map_new(sizeof(struct pasta_accidx_proc));
	b->objects = pasta_map_new(sizeof(struct pasta_accidx_object));
	b->sites = pasta_map_new(sizeof(struct pasta_access_site));
	b->shapes = pasta_map_new(sizeof(struct pasta_accidx_shape));
	b->refused = pasta_map_new(sizeof(struct pasta_accidx_refused));
	b->launches = pasta_pending_new(sizeof(struct told), PASTA_BOOK_LAUNCHES);
	b->ledger = pasta_ledger_new(&pasta_accidx_ledger, b);
	if (b->ledger && b->procs && b->objects && b->sites && b->shapes && b->refused &&
	    b->launches)
		return b;
	pasta_access_index_free(b);
	return NULL;
}

static void proc_free(struct pasta_accidx_proc *p)
{
	size_t i;

	for (i = 0; i < PASTA_BOOK_RECENT; i++)
		free(p->recent[i].places);
	pasta_map_free(p->places);
	pasta_map_free(p->sites);
	pasta_map_free(p->shapes);
}

void pasta_access_index_free(struct pasta_access_index *b)
{
	struct pasta_accidx_shape *shape;
	struct pasta_accidx_proc *p;
	size_t i, at = 0;

	if (!b)
		return;
	while (b->procs && (p = pasta_map_next(b->procs, &at, NULL)))
		proc_free(p);
	at = 0;
	while (b->shapes && (shape = pasta_map_next(b->shapes, &at, NULL)))
		for (i = 0; i < PASTA_REDUCER_COUNT; i++)
			pasta_map_free(shape->rows[i]);
	pasta_map_free(b->procs);
	pasta_map_free(b->objects);
	pasta_map_free(b->sites);
	pasta_map_free(b->shapes);
	pasta_map_free(b->refused);
	pasta_pending_free(b->launches);
	pasta_ledger_free(b->ledger);
	free(b->parts);
	free(b);
}

int pasta_access_index_error(const struct pasta_access_index *b)
{
	return b->failed ? -ENOMEM : 0;
}

/* -- Who it is of. What cannot be kept sets failed, and is NULL. -- */

static struct pasta_accidx_proc *proc_of(struct pasta_access_index *b, uint32_t number)
{
	struct pasta_accidx_proc *p = pasta_map_add(b->procs, number);

	if (p && !p->places) {
		p->number = number;
		p->places = pasta_map_new(sizeof(struct pasta_accidx_part));
		p->sites = pasta_map_new(sizeof(uint64_t));
		p->shapes = pasta_map_new(sizeof(uint64_t));
	}
	if (p && p->places && p->sites && p->shapes)
		return p;
	b->failed = true;
	return NULL;
}

static struct pasta_access_site *site_of(struct pasta_access_index *b, struct pasta_accidx_proc *p,
					 uint64_t id)
{
	uint64_t *key = pasta_map_add(p->sites, id);
	struct pasta_access_site *site;

	if (key && !*key)
		*key = pasta_accidx_key(p, &p->site_count);
	site = key ? pasta_map_add(b->sites, *key) : NULL;
	if (!site) {
		b->failed = true;
		return NULL;
	}
	site->key = *key;
	site->id = id;
	site->proc = p->number;
	return site;
}

static struct pasta_accidx_shape *shape_of(struct pasta_access_index *b, struct pasta_accidx_proc *p,
					 uint32_t name, uint64_t shape)
{
	uint64_t mix = shape ^ (uint64_t)name * UINT64_C(0x9e3779b97f4a7c15);

	for (;; mix++) {
		uint64_t *key = pasta_map_add(p->shapes, mix);
		struct pasta_accidx_shape *s;

		if (key && !*key)
			*key = pasta_accidx_key(p, &p->shape_count);
		s = key ? pasta_map_add(b->shapes, *key) : NULL;
		if (!s) {
			b->failed = true;
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

static void on_site(struct pasta_access_index *b, struct pasta_accidx_proc *p,
		    const struct pasta_site_record *r)
{
	struct pasta_access_site *site = site_of(b, p, r->id);

	if (!site)
		return;
	site->known = 1;
	site->site = *r;
}

/* -- Launches. -- */

static void refuse(struct pasta_access_index *b, uint32_t name, uint32_t detail, uint64_t count)
{
	struct pasta_accidx_refused *r = pasta_map_add(b->refused, pasta_pair(name, detail));

	if (!r) {
		b->failed = true;
		return;
	}
	r->name = name;
	r->detail = detail;
	r->count += count;
}

static void count(struct pasta_access_index *b, struct pasta_accidx_proc *p,
		  struct pasta_access_shape *s, const struct pasta_access_launch_record *r)
{
	struct told *told = pasta_pending_add(b->launches, p->number, r->corr);
	uint64_t blocks = r->blocks ? r->blocks : 1;

	s->counted++;
	s->partial += blocks > 1;
	s->blocks = blocks > s->blocks ? blocks : s->blocks;
	s->live = pasta_access_add(s->live, pasta_ledger_held(b->ledger, p->number));
	s->live = pasta_access_add(s->live, p->host_live);
	if (!told) {
		b->failed = true;
		return;
	}
	*told = (struct told){s->key, p->launches, blocks};
}

/* What is none of these is said once more of a launch: what it lost, and that it has ended. */
static void on_launch(struct pasta_access_index *b, struct pasta_accidx_proc *p,
		      const struct pasta_event *ev)
{
	const struct pasta_access_launch_record *r = &ev->access_launch;
	struct pasta_accidx_shape *known;
	struct pasta_access_shape *s;

	if (!(r->flags & PASTA_ACCESS_LAUNCH_RAW_DROPPED))
		b->lost = pasta_access_add(b->lost, r->lost);
	b->begun += ev->sub == PASTA_ACCESS_LAUNCH_COUNTED && r->flags & PASTA_ACCESS_LAUNCH_ENDS;
	b->ended += ev->sub == PASTA_ACCESS_LAUNCH_ENDED;
	if (ev->sub < PASTA_ACCESS_LAUNCH_COUNTED || ev->sub > PASTA_ACCESS_LAUNCH_REFUSED)
		return;
	known = shape_of(b, p, r->name, r->shape);
	if (!known)
		return;
	s = &known->shape;
	s->registered = 1;
	if (ev->sub == PASTA_ACCESS_LAUNCH_COUNTED)
		count(b, p, s, r);
	else if (ev->sub == PASTA_ACCESS_LAUNCH_SAMPLED)
		s->sampled++;
	else if (ev->sub == PASTA_ACCESS_LAUNCH_FILTERED)
		s->filtered++;
	else {
		s->refused++;
		s->detail = r->detail;
		refuse(b, r->name, r->detail, 1);
	}
	p->launches++;
}

/* A slot for a launch: the oldest one's, if it has none. */
static struct pasta_accidx_launch *slot_of(struct pasta_accidx_proc *p, uint64_t corr)
{
	struct pasta_accidx_launch *oldest = p->recent, *l;

	for (l = p->recent; l < p->recent + PASTA_BOOK_RECENT; l++) {
		if (l->shape && l->corr == corr)
			return l;
		if (!l->shape || l->stamp < oldest->stamp)
			oldest = l;
		if (!l->shape)
			break;
	}
	*oldest = (struct pasta_accidx_launch){
		.corr = corr, .places = oldest->places, .room = oldest->room};
	return oldest;
}

static struct pasta_accidx_launch *launch_of(struct pasta_access_index *b, struct pasta_accidx_proc *p,
					   const struct pasta_access_sum_record *r)
{
	struct pasta_accidx_launch *l = slot_of(p, r->corr);
	const struct told *told;

	if (l->shape)
		return l;
	told = pasta_pending_find(b->launches, p->number, r->corr);
	l->shape = told ? pasta_map_find(b->shapes, told->shape)
			: shape_of(b, p, r->name, PASTA_BOOK_UNTOLD);
	l->number = told ? told->number : p->launches ? p->launches - 1 : 0;
	l->blocks = told ? told->blocks : 1;
	l->stamp = ++p->stamp;
	return l->shape ? l : NULL;
}

/* -- Rows. -- */

/* UINT64_MAX, which no sum is, stays. */
static uint64_t add_split(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : pasta_access_add(a, b);
}

/* bytes_read is what is left of bytes, and is set when a row is reported. */
static void add_row(struct pasta_access_row *to, const struct pasta_access_row *from)
{
	to->key = from->key;
	to->loads = pasta_access_add(to->loads, from->loads);
	to->stores = pasta_access_add(to->stores, from->stores);
	to->bytes = pasta_access_add(to->bytes, from->bytes);
	to->extra = pasta_access_add(to->extra, from->extra);
	to->active = pasta_access_add(to->active, from->active);
	to->most = from->most > to->most ? from->most : to->most;
	to->bytes_written = add_split(to->bytes_written, from->bytes_written);
}

static void keep(struct pasta_access_index *b, struct pasta_accidx_shape *s, uint32_t reducer,
		 const struct pasta_access_row *row)
{
	struct pasta_access_row *sum = NULL;

	if (!s->rows[reducer])
		s->rows[reducer] = pasta_map_new(sizeof(*row));
	if (s->rows[reducer])
		sum = pasta_map_add(s->rows[reducer], row->key);
	if (sum)
		add_row(sum, row);
	else
		b->failed = true;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return product > INT64_MAX ? (uint64_t)INT64_MAX : (uint64_t)product;
}

/* As of all blocks, where one in some was counted. */
static struct pasta_access_row row_of(const struct pasta_access_sum_record *r, uint64_t key,
				      uint64_t blocks)
{
	struct pasta_access_row row = {.key = key,
				       .loads = times(r->loads, blocks),
				       .stores = times(r->stores, blocks),
				       .bytes = times(r->bytes, blocks),
				       .extra = times(r->extra, blocks),
				       .most = pasta_access_add(r->bytes, 0),
				       .bytes_written = UINT64_MAX};

	if (r->flags & PASTA_SUM_SPLIT && r->written <= r->bytes)
		row.bytes_written = times(r->written, blocks);

	if (r->reducer == PASTA_REDUCER_DIVERGE && key != PASTA_KEY_OTHER)
		row.active = times(r->key1, pasta_access_add(row.loads, row.stores));
	return row;
}

static bool add_place(struct pasta_accidx_launch *l, const struct pasta_accidx_part *place)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct pasta_accidx_part *places = reallocarray(l->places, room, sizeof(*places));

		if (!places)
			return false;
		l->places = places;
		l->room = room;
	}
	l->places[l->count++] = *place;
	l->sorted = false;
	return true;
}

/* The launch accesses an object; by several numbers it is still one. */
static void use_object(struct pasta_access_index *b, struct pasta_accidx_launch *l,
		       const struct pasta_accidx_part *place, uint64_t bytes)
{
	struct pasta_accidx_object *o = pasta_map_find(b->objects, place->object);
	struct pasta_access_shape *s = &l->shape->shape;
	bool again = o && o->launch == l->stamp;
	size_t i;

	s->bytes = pasta_access_add(s->bytes, bytes);
	for (i = 0; again && i < l->count; i++)
		if (l->places[i].addr == place->addr)
			return;
	if (!add_place(l, place))
		b->failed = true;
	if (!o || again)
		return;
	o->launch = l->stamp;
	s->objects++;
	if (++l->objects > s->objects_max)
		s->objects_max = l->objects;
}

static void on_object_row(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			  const struct pasta_access_sum_record *r)
{
	struct pasta_accidx_launch *l = launch_of(b, p, r);
	const struct pasta_accidx_part *place = NULL;
	struct pasta_access_row row;

	if (!l)
		return;
	if (r->key0 >= PASTA_OBJECT_FIRST && r->key0 != PASTA_KEY_OTHER) {
		place = pasta_accidx_part_of(b, p, r->key0);
		if (!place)
			return;
		use_object(b, l, place, times(r->bytes, l->blocks));
	}
	row = row_of(r, place ? place->object : r->key0, l->blocks);
	if (b->reducers & PASTA_REDUCER_MASK(OBJECT))
		keep(b, l->shape, PASTA_REDUCER_OBJECT, &row);
}

static void on_site_row(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			const struct pasta_access_sum_record *r)
{
	const struct pasta_accidx_launch *l = launch_of(b, p, r);
	const struct pasta_access_site *site =
		r->key0 == PASTA_KEY_OTHER ? NULL : site_of(b, p, r->key0);
	struct pasta_access_row row =
		row_of(r, site ? site->key : PASTA_KEY_OTHER, l ? l->blocks : 1);

	if (l && !b->failed)
		keep(b, l->shape, r->reducer, &row);
}

/* How long blocks ran, and how many were not seen. */
static void on_block_row(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			 const struct pasta_access_sum_record *r)
{
	const struct pasta_accidx_launch *l = launch_of(b, p, r);
	struct pasta_access_row row = row_of(r, r->key0, 1);

	if (l)
		keep(b, l->shape, PASTA_REDUCER_BLOCK, &row);
}

/* What a launch was given, whatever its blocks do with it. */
static void on_tensor_row(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			  const struct pasta_access_sum_record *r)
{
	const struct pasta_accidx_launch *l = launch_of(b, p, r);
	bool is_object = r->key0 >= PASTA_OBJECT_FIRST && r->key0 != PASTA_KEY_OTHER;
	const struct pasta_accidx_part *place =
		l && is_object ? pasta_accidx_part_of(b, p, r->key0) : NULL;
	struct pasta_access_row row = row_of(r, place ? place->object : r->key0, 1);

	if (l && (place || !is_object))
		keep(b, l->shape, PASTA_REDUCER_TENSOR, &row);
}

static int by_addr(const void *a, const void *b)
{
	const struct pasta_accidx_part *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Past the last byte; UINT64_MAX where that is too much. */
static uint64_t end_of(uint64_t addr, uint64_t bytes)
{
	return bytes > UINT64_MAX - addr ? UINT64_MAX : addr + bytes;
}

/* The first place that ends after an address. */
static size_t first_after(const struct pasta_accidx_launch *l, uint64_t addr)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end_of(l->places[middle].addr, l->places[middle].bytes) <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct pasta_accidx_launch *sorted(struct pasta_accidx_launch *l)
{
	if (l && !l->sorted && l->count)
		qsort(l->places, l->count, sizeof(*l->places), by_addr);
	if (l)
		l->sorted = true;
	return l;
}

static uint64_t common(const struct pasta_accidx_part *place, uint64_t page, uint64_t end)
{
	uint64_t last = end_of(place->addr, place->bytes);
	uint64_t from = place->addr > page ? place->addr : page, to = last < end ? last : end;

	return to > from ? to - from : 0;
}

static void on_page_row(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			const struct pasta_access_sum_record *r)
{
	struct pasta_accidx_launch *l = sorted(launch_of(b, p, r));
	uint64_t page = r->key0, end = end_of(page, PASTA_ACCESS_PAGE);
	struct pasta_access_shape *s;
	size_t i;

	if (!l)
		return;
	if (page == PASTA_KEY_OTHER) {
		b->page_other =
			pasta_access_add(b->page_other, pasta_access_add(r->loads, r->stores));
		return;
	}
	s = &l->shape->shape;
	for (i = first_after(l, page); i < l->count && l->places[i].addr < end; i++) {
		uint64_t bytes = common(&l->places[i], page, end);

		s->footprint = pasta_access_add(s->footprint, bytes);
		l->footprint = pasta_access_add(l->footprint, bytes);
		if (l->places[i].live)
			s->live_touched = pasta_access_add(s->live_touched, bytes);
	}
	if (l->footprint > s->footprint_max)
		s->footprint_max = l->footprint;
}

static void on_row(struct pasta_access_index *b, struct pasta_accidx_proc *p,
		   const struct pasta_access_sum_record *r)
{
	switch (r->reducer) {
	case PASTA_REDUCER_OBJECT:
		on_object_row(b, p, r);
		break;
	case PASTA_REDUCER_PAGE:
		on_page_row(b, p, r);
		break;
	case PASTA_REDUCER_SITE:
	case PASTA_REDUCER_COALESCE:
	case PASTA_REDUCER_DIVERGE:
	case PASTA_REDUCER_OWN:
	case PASTA_REDUCER_BARRIER:
		if (b->reducers >> r->reducer & 1)
			on_site_row(b, p, r);
		break;
	case PASTA_REDUCER_BLOCK:
		if (b->reducers & PASTA_REDUCER_MASK(BLOCK))
			on_block_row(b, p, r);
		break;
	case PASTA_REDUCER_TENSOR:
		if (b->reducers & PASTA_REDUCER_MASK(TENSOR))
			on_tensor_row(b, p, r);
		break;
	default:
		break;
	}
}

void pasta_access_index_event(struct pasta_access_index *b, const struct pasta_event *ev)
{
	struct pasta_accidx_proc *p;

	if (b->failed || ev->kind >= PASTA_KIND_MAX || !(PASTA_ACCESS_KINDS >> ev->kind & 1))
		return;
	p = proc_of(b, ev->proc);
	if (!p)
		return;
	if (ev->kind == PASTA_KIND_ACCESS_SUM) {
		on_row(b, p, &ev->access_sum);
	} else if (ev->kind == PASTA_KIND_ACCESS_LAUNCH) {
		on_launch(b, p, ev);
	} else if (ev->kind == PASTA_KIND_ALLOC || ev->kind == PASTA_KIND_FREE) {
		pasta_ledger_event(b->ledger, ev, NULL);
		b->failed |= pasta_ledger_error(b->ledger) != 0;
	} else if (ev->kind == PASTA_KIND_OBJECT) {
		pasta_accidx_on_object(b, p, &ev->object);
	} else if (ev->kind == PASTA_KIND_SITE) {
		on_site(b, p, &ev->site);
	}
}

size_t pasta_access_index_page(struct pasta_access_index *b, const struct pasta_event *ev,
			       const struct pasta_access_part **parts, uint64_t *launch)
{
	struct pasta_accidx_proc *p = b->failed ? NULL : proc_of(b, ev->proc);
	struct pasta_accidx_launch *l = p ? sorted(launch_of(b, p, &ev->access_sum)) : NULL;
	uint64_t page = ev->access_sum.key0, end = end_of(page, PASTA_ACCESS_PAGE);
	size_t i, n = 0;

	if (launch)
		*launch = l ? l->number : 0;
	for (i = l ? first_after(l, page) : 0; l && i < l->count && l->places[i].addr < end; i++) {
		const struct pasta_accidx_part *place = &l->places[i];

		if (n == b->part_room) {
			size_t room = n ? 2 * n : 64;
			struct pasta_access_part *more =
				reallocarray(b->parts, room, sizeof(*more));

			if (!more) {
				b->failed = true;
				break;
			}
			b->parts = more;
			b->part_room = room;
		}
		b->parts[n++] = (struct pasta_access_part){
			.object = pasta_access_index_object(b, place->object),
			.page = page > place->addr
					? page / PASTA_ACCESS_PAGE - place->addr / PASTA_ACCESS_PAGE
					: 0,
			.bytes = common(place, page, end)};
	}
	*parts = b->parts;
	return n;
}

/* -- Merging: keys are the same in all books. -- */

static bool merge_map(struct pasta_map *into, const struct pasta_map *from, size_t size)
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

static void merge_shapes(struct pasta_access_index *into, const struct pasta_access_index *from)
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
				keep(into, copy, i, row);
	}
}

static void merge_procs(struct pasta_access_index *into, const struct pasta_access_index *from)
{
	const struct pasta_accidx_proc *p;
	size_t at = 0;

	while (!into->failed && (p = pasta_map_next(from->procs, &at, NULL))) {
		struct pasta_accidx_proc *copy = proc_of(into, p->number);

		if (!copy)
			return;
		pasta_accidx_untouched(p, &copy->never, &copy->never_bytes);
	}
}

int pasta_access_index_merge(struct pasta_access_index *into, const struct pasta_access_index *from)
{
	const struct pasta_accidx_refused *r;
	size_t at = 0;

	into->failed |= from->failed;
	into->lost = pasta_access_add(into->lost, from->lost);
	into->page_other = pasta_access_add(into->page_other, from->page_other);
	into->begun += from->begun;
	into->ended += from->ended;
	if (!merge_map(into->objects, from->objects, sizeof(struct pasta_accidx_object)) ||
	    !merge_map(into->sites, from->sites, sizeof(struct pasta_access_site)))
		into->failed = true;
	merge_shapes(into, from);
	merge_procs(into, from);
	while ((r = pasta_map_next(from->refused, &at, NULL)))
		refuse(into, r->name, r->detail, r->count);
	return pasta_access_index_error(into);
}
