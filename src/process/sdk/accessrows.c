/* accessrows.c - joins the rows of reducers to launches, objects and sites, and sums the rows by
 * shape. */
#include "process/sdk/accessindex.h"

#include <stdlib.h>

/* -- Launches whose rows are still arriving -- */

/* Returns the launch's entry in the array `recent`. The entry of a new launch replaces the oldest
 * entry. */
static struct pasta_accidx_launch *rows_slot(struct pasta_accidx_proc *p, uint64_t corr)
{
	struct pasta_accidx_launch *oldest = p->recent, *l;

	for (l = p->recent; l < p->recent + PASTA_ACCIDX_RECENT; l++) {
		if (l->shape && l->corr == corr)
			return l;
		if (!l->shape || l->stamp < oldest->stamp)
			oldest = l;
		if (!l->shape)
			break;
	}
	*oldest = (struct pasta_accidx_launch){
		.corr = corr, .parts = oldest->parts, .room = oldest->room};
	return oldest;
}

static struct pasta_accidx_launch *rows_launch(struct pasta_access_index *index,
					       struct pasta_accidx_proc *p,
					       const struct pasta_access_sum_record *r)
{
	struct pasta_accidx_launch *l = rows_slot(p, r->corr);
	const struct pasta_accidx_counted *counted;

	if (l->shape)
		return l;
	counted = pasta_pending_find(index->launches, p->number, r->corr);
	l->shape = counted ? pasta_map_find(index->shapes, counted->shape)
			   : pasta_accidx_shape_of(index, p, r->name, PASTA_ACCIDX_UNREGISTERED);
	l->number = counted ? counted->number : p->launches ? p->launches - 1 : 0;
	l->blocks = counted ? counted->blocks : 1;
	l->stamp = ++p->stamp;
	return l->shape ? l : NULL;
}

/* -- Rows. -- */

/* Adds two counts of written bytes. UINT64_MAX means that a count is unknown; the sum is then
 * unknown too. */
static uint64_t rows_add_written(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : pasta_access_add(a, b);
}

/* Adds the sums of a row to another row. Does not add bytes_read, because the report computes it
 * from `bytes` and bytes_written. */
static void rows_add(struct pasta_access_row *to, const struct pasta_access_row *from)
{
	to->key = from->key;
	to->loads = pasta_access_add(to->loads, from->loads);
	to->stores = pasta_access_add(to->stores, from->stores);
	to->bytes = pasta_access_add(to->bytes, from->bytes);
	to->extra = pasta_access_add(to->extra, from->extra);
	to->active = pasta_access_add(to->active, from->active);
	to->most = from->most > to->most ? from->most : to->most;
	to->bytes_written = rows_add_written(to->bytes_written, from->bytes_written);
}

void pasta_accidx_add_row(struct pasta_access_index *index, struct pasta_accidx_shape *s,
			  uint32_t reducer, const struct pasta_access_row *row)
{
	struct pasta_access_row *sum = NULL;

	if (!s->rows[reducer])
		s->rows[reducer] = pasta_map_new(sizeof(*row));
	if (s->rows[reducer])
		sum = pasta_map_add(s->rows[reducer], row->key);
	if (sum)
		rows_add(sum, row);
	else
		index->failed = true;
}

static uint64_t rows_times(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return product > INT64_MAX ? (uint64_t)INT64_MAX : (uint64_t)product;
}

/* Converts a reducer's record to a row. If only one of N thread blocks was counted, scales the sums
 * to all thread blocks of the launch. */
static struct pasta_access_row rows_scaled(const struct pasta_access_sum_record *r, uint64_t key,
					   uint64_t blocks)
{
	struct pasta_access_row row = {.key = key,
				       .loads = rows_times(r->loads, blocks),
				       .stores = rows_times(r->stores, blocks),
				       .bytes = rows_times(r->bytes, blocks),
				       .extra = rows_times(r->extra, blocks),
				       .most = pasta_access_add(r->bytes, 0),
				       .bytes_written = UINT64_MAX};

	if (r->flags & PASTA_SUM_SPLIT && r->written <= r->bytes)
		row.bytes_written = rows_times(r->written, blocks);

	if (r->reducer == PASTA_REDUCER_DIVERGE && key != PASTA_KEY_OTHER)
		row.active = rows_times(r->key1, pasta_access_add(row.loads, row.stores));
	return row;
}

static bool rows_add_part(struct pasta_accidx_launch *l, const struct pasta_accidx_part *part)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct pasta_accidx_part *parts = reallocarray(l->parts, room, sizeof(*parts));

		if (!parts)
			return false;
		l->parts = parts;
		l->room = room;
	}
	l->parts[l->count++] = *part;
	l->sorted = false;
	return true;
}

/* Records that a launch accesses an object. An object that consists of several parts counts
 * once. */
static void rows_use_object(struct pasta_access_index *index, struct pasta_accidx_launch *l,
			    const struct pasta_accidx_part *part, uint64_t bytes)
{
	struct pasta_accidx_object *o = pasta_map_find(index->objects, part->object);
	struct pasta_access_shape *s = &l->shape->shape;
	bool again = o && o->launch == l->stamp;
	size_t i;

	s->bytes = pasta_access_add(s->bytes, bytes);
	for (i = 0; again && i < l->count; i++)
		if (l->parts[i].addr == part->addr)
			return;
	if (!rows_add_part(l, part))
		index->failed = true;
	if (!o || again)
		return;
	o->launch = l->stamp;
	s->objects++;
	if (++l->objects > s->objects_max)
		s->objects_max = l->objects;
}

static void rows_on_object(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			   const struct pasta_access_sum_record *r)
{
	struct pasta_accidx_launch *l = rows_launch(index, p, r);
	const struct pasta_accidx_part *part = NULL;
	struct pasta_access_row row;

	if (!l)
		return;
	if (r->key0 >= PASTA_OBJECT_FIRST && r->key0 != PASTA_KEY_OTHER) {
		part = pasta_accidx_part_of(index, p, r->key0);
		if (!part)
			return;
		rows_use_object(index, l, part, rows_times(r->bytes, l->blocks));
	}
	row = rows_scaled(r, part ? part->object : r->key0, l->blocks);
	if (index->reducers & PASTA_REDUCER_MASK(OBJECT))
		pasta_accidx_add_row(index, l->shape, PASTA_REDUCER_OBJECT, &row);
}

static void rows_on_site(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			 const struct pasta_access_sum_record *r)
{
	const struct pasta_accidx_launch *l = rows_launch(index, p, r);
	const struct pasta_access_site *site =
		r->key0 == PASTA_KEY_OTHER ? NULL : pasta_accidx_site_of(index, p, r->key0);
	struct pasta_access_row row =
		rows_scaled(r, site ? site->key : PASTA_KEY_OTHER, l ? l->blocks : 1);

	if (l && !index->failed)
		pasta_accidx_add_row(index, l->shape, r->reducer, &row);
}

/* Handles a row with the execution times of a launch's thread blocks, and with the number of thread
 * blocks that were not observed. */
static void rows_on_block(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			  const struct pasta_access_sum_record *r)
{
	const struct pasta_accidx_launch *l = rows_launch(index, p, r);
	struct pasta_access_row row = rows_scaled(r, r->key0, 1);

	if (l)
		pasta_accidx_add_row(index, l->shape, PASTA_REDUCER_BLOCK, &row);
}

/* Handles a row for a tensor that was passed to the launch. Such rows do not depend on the sampling
 * of thread blocks. */
static void rows_on_tensor(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			   const struct pasta_access_sum_record *r)
{
	const struct pasta_accidx_launch *l = rows_launch(index, p, r);
	bool is_object = r->key0 >= PASTA_OBJECT_FIRST && r->key0 != PASTA_KEY_OTHER;
	const struct pasta_accidx_part *part =
		l && is_object ? pasta_accidx_part_of(index, p, r->key0) : NULL;
	struct pasta_access_row row = rows_scaled(r, part ? part->object : r->key0, 1);

	if (l && (part || !is_object))
		pasta_accidx_add_row(index, l->shape, PASTA_REDUCER_TENSOR, &row);
}

static int rows_by_addr(const void *a, const void *b)
{
	const struct pasta_accidx_part *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Returns the address after the last byte of a range, or UINT64_MAX if that address overflows. */
static uint64_t rows_end(uint64_t addr, uint64_t bytes)
{
	return bytes > UINT64_MAX - addr ? UINT64_MAX : addr + bytes;
}

/* Returns the index of the first part that ends after `addr`. The launch's parts must be sorted by
 * address. */
static size_t rows_first_after(const struct pasta_accidx_launch *l, uint64_t addr)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows_end(l->parts[middle].addr, l->parts[middle].bytes) <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sorts the parts of a launch by address, if necessary. Returns the launch, which may be NULL. */
static struct pasta_accidx_launch *rows_sorted(struct pasta_accidx_launch *l)
{
	if (l && !l->sorted && l->count)
		qsort(l->parts, l->count, sizeof(*l->parts), rows_by_addr);
	if (l)
		l->sorted = true;
	return l;
}

/* Returns the number of bytes of a part that are between the addresses `page` and `end`. */
static uint64_t rows_overlap(const struct pasta_accidx_part *part, uint64_t page, uint64_t end)
{
	uint64_t last = rows_end(part->addr, part->bytes);
	uint64_t from = part->addr > page ? part->addr : page, to = last < end ? last : end;

	return to > from ? to - from : 0;
}

static void rows_on_page(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			 const struct pasta_access_sum_record *r)
{
	struct pasta_accidx_launch *l = rows_sorted(rows_launch(index, p, r));
	uint64_t page = r->key0, end = rows_end(page, PASTA_ACCESS_PAGE);
	struct pasta_access_shape *s;
	size_t i;

	if (!l)
		return;
	if (page == PASTA_KEY_OTHER) {
		index->page_other =
			pasta_access_add(index->page_other, pasta_access_add(r->loads, r->stores));
		return;
	}
	s = &l->shape->shape;
	for (i = rows_first_after(l, page); i < l->count && l->parts[i].addr < end; i++) {
		uint64_t bytes = rows_overlap(&l->parts[i], page, end);

		s->footprint = pasta_access_add(s->footprint, bytes);
		l->footprint = pasta_access_add(l->footprint, bytes);
		if (l->parts[i].live)
			s->live_touched = pasta_access_add(s->live_touched, bytes);
	}
	if (l->footprint > s->footprint_max)
		s->footprint_max = l->footprint;
}

void pasta_accidx_on_row(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			 const struct pasta_access_sum_record *r)
{
	switch (r->reducer) {
	case PASTA_REDUCER_OBJECT:
		rows_on_object(index, p, r);
		break;
	case PASTA_REDUCER_PAGE:
		rows_on_page(index, p, r);
		break;
	case PASTA_REDUCER_SITE:
	case PASTA_REDUCER_COALESCE:
	case PASTA_REDUCER_DIVERGE:
	case PASTA_REDUCER_OWN:
	case PASTA_REDUCER_BARRIER:
		if (index->reducers >> r->reducer & 1)
			rows_on_site(index, p, r);
		break;
	case PASTA_REDUCER_BLOCK:
		if (index->reducers & PASTA_REDUCER_MASK(BLOCK))
			rows_on_block(index, p, r);
		break;
	case PASTA_REDUCER_TENSOR:
		if (index->reducers & PASTA_REDUCER_MASK(TENSOR))
			rows_on_tensor(index, p, r);
		break;
	default:
		break;
	}
}

size_t pasta_access_index_page(struct pasta_access_index *index, const struct pasta_event *ev,
			       const struct pasta_access_part **parts, uint64_t *launch)
{
	struct pasta_accidx_proc *p = index->failed ? NULL : pasta_accidx_proc_of(index, ev->proc);
	struct pasta_accidx_launch *l =
		p ? rows_sorted(rows_launch(index, p, &ev->access_sum)) : NULL;
	uint64_t page = ev->access_sum.key0, end = rows_end(page, PASTA_ACCESS_PAGE);
	size_t i, n = 0;

	if (launch)
		*launch = l ? l->number : 0;
	for (i = l ? rows_first_after(l, page) : 0; l && i < l->count && l->parts[i].addr < end;
	     i++) {
		const struct pasta_accidx_part *part = &l->parts[i];

		if (n == index->part_room) {
			size_t room = n ? 2 * n : 64;
			struct pasta_access_part *more =
				reallocarray(index->parts, room, sizeof(*more));

			if (!more) {
				index->failed = true;
				break;
			}
			index->parts = more;
			index->part_room = room;
		}
		index->parts[n++] = (struct pasta_access_part){
			.object = pasta_access_index_object(index, part->object),
			.page = page > part->addr
					? page / PASTA_ACCESS_PAGE - part->addr / PASTA_ACCESS_PAGE
					: 0,
			.bytes = rows_overlap(part, page, end)};
	}
	*parts = index->parts;
	return n;
}
