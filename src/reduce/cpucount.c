/* cpucount.c - counts accesses on the host, in the table by page and object and in the tables by
 * site. */
#include <string.h>

#include "reduce/cpu_internal.h"

/* The number of index slots of a page that a look-up by address alone searches. */
enum { WINDOW = 4 };
#define CELL_FULL UINT64_C(0x8000000080000000)

void pasta_cpu_launch(struct pasta_cpu *c, const struct pasta_version *version, uint32_t function,
		      uint32_t group_size)
{
	struct pasta_cpu_inside *in = c->in;
	uint64_t number = pasta_version_number(version);

	if (in->requests)
		pasta_requests_close(in->requests);
	/* If the object table has changed, all rows by page and object become invalid. They retain
	 * their counts, but the next access to a row's range looks up the object again. */
	for (uint32_t i = 1; number != in->number && i <= in->count; i++)
		c->cells[i].size = 0;
	in->version = version;
	in->number = number;
	in->group_size = group_size;
	c->function = function;
	pasta_cpu_thread(c, 0, 0);
}

void pasta_cpu_thread(struct pasta_cpu *c, uint32_t group, uint32_t thread)
{
	struct pasta_cpu_inside *in = c->in;

	in->stamp++;
	in->group = group;
	in->thread = thread;
	if (in->requests)
		pasta_requests_thread(in->requests, group, thread, in->group_size);
}

void pasta_cpu_carry(struct pasta_cpu *c, struct pasta_cell *cell)
{
	struct pasta_cell_rest *rest = &c->rests[cell - c->cells];

	rest->loads += (uint32_t)cell->counts;
	rest->stores += cell->counts >> 32;
	cell->counts = 0;
}

/* Returns the distance between successive slots of a key in the index. The distance is odd, so that
 * the slots cover the whole index. */
static uint32_t index_step(uint64_t key0, uint64_t key1)
{
	return pasta_rows_hash(key0, key1) | 1;
}

static uint16_t *index_slot(const struct pasta_cpu *c, uint32_t home, uint32_t step, uint32_t i)
{
	return &c->index[(home + i * step) & c->mask];
}

/*
 * Returns the index slot of the row for this start address and object, or an empty slot if there is
 * no such row. The slot usually is one of the page's first slots, where a look-up by address alone
 * finds the row. A page may contain many small objects, which occupy these slots. In that case the
 * row is in one of the slots of its key.
 */
static uint16_t *cell_slot(const struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	uint32_t home = pasta_cell_home(c, begin), step = index_step(begin >> c->page_shift, 0), i;
	uint16_t *room = NULL, *slot;

	for (i = 0; i < WINDOW; i++) {
		slot = index_slot(c, home, step, i);
		if (c->cells[*slot].begin == begin && c->rests[*slot].object == object && *slot)
			return slot;
		if (!*slot && !room)
			room = slot;
	}
	step = index_step(begin, object);
	for (i = 1;; i++) {
		slot = index_slot(c, home, step, i);
		if (!*slot)
			return room ? room : slot;
		if (c->cells[*slot].begin == begin && c->rests[*slot].object == object)
			return slot;
	}
}

void pasta_cpu_reindex(struct pasta_cpu *c)
{
	memset(c->index, 0, ((size_t)c->mask + 1) * sizeof(*c->index));
	for (uint32_t i = 1; i <= c->in->count; i++)
		*cell_slot(c, c->cells[i].begin, c->rests[i].object) = (uint16_t)i;
}

static uint16_t *cell_slot_wide(const struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	uint32_t mask = c->in->slots - 1, i = pasta_rows_hash(begin, object) & mask;

	for (; c->in->wide[i]; i = (i + 1) & mask)
		if (c->cells[c->in->wide[i]].begin == begin &&
		    c->rests[c->in->wide[i]].object == object)
			break;
	return &c->in->wide[i];
}

static bool cpu_make_room(struct pasta_cpu *c)
{
	struct pasta_cpu_inside *in = c->in;

	if (!in->full || in->stuck)
		return false;
	in->stuck = !in->full(in->arg);
	return !in->stuck;
}

static uint16_t *cell_slot_any(const struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	return c->in->wide ? cell_slot_wide(c, begin, object) : cell_slot(c, begin, object);
}

/* Returns the row for this start address and object, and creates the row if necessary. Returns NULL
 * if there is no room. */
static struct pasta_cell *cell_get(struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	uint16_t *slot = cell_slot_any(c, begin, object), *wide = c->in->wide;
	uint32_t cell = *slot;

	if (cell)
		return &c->cells[cell];
	if (c->in->count == c->in->max) {
		if (!cpu_make_room(c))
			return NULL;
		slot = cell_slot_any(c, begin, object);
	}
	cell = ++c->in->count;
	*slot = (uint16_t)cell;
	c->cells[cell].begin = begin;
	c->cells[cell].slot = wide ? (uint32_t)(slot - wide) : 0;
	c->rests[cell].object = object;
	if (!wide && c->in->count > c->mask / SPARSE && c->mask + 1 < c->in->slots) {
		c->mask = 2 * c->mask + 1;
		pasta_cpu_reindex(c);
	}
	return &c->cells[cell];
}

/* Stores the row for an address in an index slot of the address's page, as in a cache. If another
 * page's row is evicted, later look-ups of that row take longer. */
static void index_cache_page(struct pasta_cpu *c, uint64_t addr, const struct pasta_cell *cell)
{
	uint32_t home = pasta_cell_home(c, addr), step = index_step(addr >> c->page_shift, 0),
		 i = 0;

	while (i < WINDOW && *index_slot(c, home, step, i))
		i++;
	*index_slot(c, home, step, i % WINDOW) = (uint16_t)(cell - c->cells);
}

static void count_rest(struct pasta_cpu *c, uint64_t object, uint32_t kind, uint32_t size,
		       uint32_t crosses, uint32_t page_crosses)
{
	uint64_t bytes = pasta_access_bytes(kind, size);

	pasta_row_count(pasta_rows_at(&c->in->rest, object, 0), kind, bytes, crosses);
	pasta_row_count(&c->in->rest_page, kind, bytes, page_crosses);
}

/* Counts an access if the look-up by address alone finds no row whose range contains the whole
 * access. Sets *object to the number of the accessed object. Returns 1 if the access reaches beyond
 * that object, and 0 if not. */
static uint32_t count_part(struct pasta_cpu *c, uint64_t addr, uint32_t size, uint32_t kind,
			   uint64_t *object)
{
	struct pasta_object_part part = pasta_version_find(c->in->version, addr);
	uint32_t shift = c->in->cell_shift;
	uint64_t page = addr >> shift << shift, page_last = page + ((UINT64_C(1) << shift) - 1);
	uint64_t begin = part.begin > page ? part.begin : page;
	uint64_t last = part.last < page_last ? part.last : page_last;
	uint32_t crosses = pasta_access_crosses(addr, size, part.last);
	uint32_t page_crosses = pasta_access_crosses(addr, size, page_last);
	struct pasta_cell *cell = cell_get(c, begin, part.object);

	*object = part.object;
	if (!cell) {
		count_rest(c, part.object, kind, size, crosses, page_crosses);
		return crosses;
	}
	cell->size = (uint32_t)(last - begin + 1);
	if (c->in->wide)
		index_cache_page(c, addr, cell);
	pasta_cell_count(c, cell, kind, size);
	c->rests[cell - c->cells].crosses += crosses;
	c->rests[cell - c->cells].page_crosses += page_crosses;
	return crosses;
}

/* Searches the page's slots, except for the first one, for a row whose range contains the whole
 * access. Returns NULL if there is no such row. */
static struct pasta_cell *cell_find_near(const struct pasta_cpu *c, uint64_t addr, uint32_t size)
{
	uint32_t home = pasta_cell_home(c, addr), step = index_step(addr >> c->page_shift, 0), i;

	for (i = 1; i < WINDOW; i++) {
		struct pasta_cell *cell = &c->cells[*index_slot(c, home, step, i)];

		if (pasta_cell_has(cell, addr, size))
			return cell;
	}
	return NULL;
}

void pasta_cpu_slow(struct pasta_cpu *c, uint64_t addr, uint32_t size, uint32_t kind, uint32_t site)
{
	struct pasta_cell *cell = cell_find_near(c, addr, size);
	uint32_t crosses = 0;
	uint64_t object;

	if (cell) {
		pasta_cell_count(c, cell, kind, size);
		object = c->rests[cell - c->cells].object;
	} else {
		crosses = count_part(c, addr, size, kind, &object);
	}
	if (c->more)
		pasta_cpu_more(c, object, crosses, addr, size, kind, site);
}

static void count_request(struct pasta_cpu *c, struct pasta_row *row, uint64_t site, uint64_t addr,
			  uint32_t size, uint32_t kind)
{
	struct pasta_cpu_inside *in = c->in;
	bool known = row != pasta_rows_other(&in->tables[PASTA_REDUCER_SITE]);

	if (in->turn_known) {
		pasta_requests_add(in->requests, site, in->turn, addr, size, kind);
		return;
	}
	row->turn = row->stamp == in->stamp ? row->turn + (row->turn < in->turns) : 0;
	row->stamp = in->stamp;
	if (known && row->turn < in->turns)
		pasta_requests_add(in->requests, site, row->turn, addr, size, kind);
	else
		pasta_requests_exclude(in->requests, size, kind);
}

static struct pasta_row *site_object_row(struct pasta_cpu *c, uint64_t site, uint64_t object)
{
	struct pasta_rows *t = &c->in->tables[PASTA_REDUCER_SITE_OBJECT];
	struct pasta_row *row = pasta_rows_at(t, site, object);

	return row == pasta_rows_other(t) && cpu_make_room(c) ? pasta_rows_at(t, site, object)
							      : row;
}

void pasta_cpu_more(struct pasta_cpu *c, uint64_t object, uint32_t crosses, uint64_t addr,
		    uint32_t size, uint32_t kind, uint32_t site)
{
	uint64_t where = PASTA_SITE_KEY(c->function, site), bytes = pasta_access_bytes(kind, size);
	struct pasta_row *row;

	if (c->more & PASTA_REDUCER_MASK(SITE_OBJECT))
		pasta_row_count(site_object_row(c, where, object), kind, bytes, crosses);
	if (!(c->more & BY_SITE))
		return;
	row = pasta_rows_at(&c->in->tables[PASTA_REDUCER_SITE], where, 0);
	pasta_row_count(row, kind, bytes, crosses);
	if (c->in->requests)
		count_request(c, row, where, addr, size, kind);
}

static bool is_valid_access(const struct pasta_access *a)
{
	return a->kind - 1u < PASTA_ACCESS_ATOMIC && a->space < PASTA_SPACE_COUNT;
}

/* A stretch is a sequence of successive accesses that one row (a cell) counts. The counts of a
 * stretch are added to the row together. */
struct stretch {
	struct pasta_cell *cell;
	/* the member `counts` has the format of pasta_cell.counts */
	uint64_t counts, bytes;
	uint64_t written;
};

static void stretch_end(struct pasta_cpu *c, struct stretch *s)
{
	s->cell->counts += s->counts;
	s->cell->bytes += s->bytes;
	if (s->written)
		c->rests[s->cell - c->cells].written += s->written;
	if (s->cell->counts & CELL_FULL)
		pasta_cpu_carry(c, s->cell);
	s->counts = s->bytes = s->written = 0;
}

static struct pasta_cell *cell_find(const struct pasta_cpu *c, uint64_t addr, uint32_t size)
{
	struct pasta_cell *cell = &c->cells[c->index[pasta_cell_home(c, addr)]];

	return pasta_cell_has(cell, addr, size) ? cell : cell_find_near(c, addr, size);
}

/* Ends the current stretch, and starts a stretch with the row (the cell) whose range contains the
 * access. If no row's range contains the access, the function counts the access on its own, and
 * returns false. */
static bool stretch_begin(struct pasta_cpu *c, struct stretch *s, const struct pasta_access *a)
{
	struct pasta_cell *cell = NULL;

	stretch_end(c, s);
	if (a->space < PASTA_SPACE_LOCAL)
		cell = cell_find(c, a->addr, a->size);
	s->cell = cell ? cell : c->cells;
	if (!cell)
		pasta_cpu_access(c, a->addr, a->size, a->kind, a->space, a->site);
	return cell;
}

/* Counts accesses if only reducers by object and by page are enabled. */
static size_t count_stretches(struct pasta_cpu *c, const struct pasta_access *a, size_t count,
			      size_t *bad)
{
	struct stretch s = {.cell = c->cells};
	size_t i;

	for (i = 0; i < count && a[i].launch == a->launch; i++) {
		if (!is_valid_access(&a[i])) {
			++*bad;
			continue;
		}
		if ((a[i].space >= PASTA_SPACE_LOCAL ||
		     !pasta_cell_has(s.cell, a[i].addr, a[i].size) || s.counts & CELL_FULL) &&
		    !stretch_begin(c, &s, &a[i]))
			continue;
		s.counts += (a[i].kind & PASTA_ACCESS_LOAD) |
			    (uint64_t)(a[i].kind & PASTA_ACCESS_STORE) << 31;
		s.bytes += pasta_access_bytes(a[i].kind, a[i].size);
		s.written += a[i].kind & PASTA_ACCESS_STORE ? a[i].size : 0;
	}
	stretch_end(c, &s);
	return i;
}

/* Counts accesses if no enabled reducer needs requests. */
static size_t count_plain(struct pasta_cpu *c, const struct pasta_access *a, size_t count,
			  size_t *bad)
{
	size_t i;

	for (i = 0; i < count && a[i].launch == a->launch; i++)
		if (is_valid_access(&a[i]))
			pasta_cpu_access(c, a[i].addr, a[i].size, a[i].kind, a[i].space, a[i].site);
		else
			++*bad;
	return i;
}

static size_t count_threads(struct pasta_cpu *c, const struct pasta_access *a, size_t count,
			    size_t *bad)
{
	struct pasta_cpu_inside *in = c->in;
	size_t i;

	in->turn_known = true;
	for (i = 0; i < count && a[i].launch == a->launch; i++) {
		if (!is_valid_access(&a[i])) {
			++*bad;
			continue;
		}
		if (a[i].group != in->group || a[i].thread != in->thread)
			pasta_cpu_thread(c, a[i].group, a[i].thread);
		in->turn = a[i].turn;
		pasta_cpu_access(c, a[i].addr, a[i].size, a[i].kind, a[i].space, a[i].site);
	}
	in->turn_known = false;
	return i;
}

size_t pasta_cpu_batch(struct pasta_cpu *c, const struct pasta_access *accesses, size_t count,
		       size_t *bad)
{
	size_t none = 0, counted;

	if (c->in->requests)
		counted = count_threads(c, accesses, count, &none);
	else if (c->more)
		counted = count_plain(c, accesses, count, &none);
	else
		counted = count_stretches(c, accesses, count, &none);
	if (bad)
		*bad = none;
	return counted;
}
