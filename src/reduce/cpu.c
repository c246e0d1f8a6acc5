/* cpu.c - reducers on the host: cells, the tables by site, and how they are drained. */
#include "reduce/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reduce/requests.h"

#define ROWS_MAX (UINT32_C(1) << 26)
/* The index is a quarter full at most; a page's cells are in its first places, if they can be. */
enum { SLOTS_LEAST = 1024, SPARSE = 4, WINDOW = 4 };
/* Where pages are not wanted a cell is all of an object, as far as its size can say. */
enum { WIDE_SHIFT = 31, WIDE_SLOTS = 4096 };
#define CELL_FULL UINT64_C(0x8000000080000000)
#define BY_REQUEST (PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE))
#define BY_SITE (PASTA_REDUCER_MASK(SITE) | BY_REQUEST)

_Static_assert((int)PASTA_SPACE_COUNT <= PASTA_CPU_APART, "a row a space");
_Static_assert(sizeof(struct pasta_cell) == 32, "half a line a cell");

struct pasta_cpu_inside {
	const struct pasta_version *version;
	uint64_t number;	    /* of the version that the cells are of */
	uint32_t slots, max, count; /* of the index at most, of cells at most, of cells */
	uint32_t cell_shift;	    /* log2 of what a cell is of at most */
	uint16_t *wide; /* cells by their keys, slots of it; then the index only remembers where
			   pages were found. NULL: a cell is a page's */
	struct pasta_rows rest; /* objects whose cells had no room */
	struct pasta_row rest_page;
	struct pasta_rows tables[PASTA_REDUCER_COUNT];
	struct pasta_requests *requests;
	bool (*full)(void *arg);
	void *arg;
	bool stuck; /* it was full and could not be spilled */
	uint32_t reducers, turns;
	uint32_t stamp; /* changes with the thread */
	uint32_t group, thread, group_size;
	bool given; /* the turn is the record's */
	uint32_t turn;
};

static const struct pasta_cpu_config defaults = {
	.page_shift = 12,
	.cells = UINT16_MAX,
	.rows = 16384,
	.requests = 4096,
	.turns = 64,
};

static uint32_t given_or(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

/* -- Making and freeing. -- */

/* Only the pages of it that are used take memory. */
static void *map(size_t count, size_t size)
{
	void *p = mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t count, size_t size)
{
	if (p)
		munmap(p, count * size);
}

static bool has(const struct pasta_cpu_inside *in, enum pasta_reducer reducer)
{
	return in->reducers >> reducer & 1;
}

static bool is_wide(const struct pasta_cpu_inside *in)
{
	return !has(in, PASTA_REDUCER_PAGE);
}

static uint32_t least_slots(const struct pasta_cpu_inside *in)
{
	return is_wide(in) ? WIDE_SLOTS : SLOTS_LEAST;
}

static uint32_t index_slots(const struct pasta_cpu_inside *in)
{
	return is_wide(in) ? WIDE_SLOTS : in->slots;
}

/* All of its memory at once: what counts allocates nothing. */
static int make_table(struct pasta_rows *t, uint32_t rows)
{
	return pasta_rows_init(t, rows) || pasta_rows_reserve(t) ? -ENOMEM : 0;
}

static int make_cells(struct pasta_cpu *c, uint32_t cells)
{
	struct pasta_cpu_inside *in = c->in;

	in->slots = SLOTS_LEAST;
	while (in->slots < SPARSE * cells)
		in->slots *= 2;
	in->max = cells;
	if (is_wide(in))
		c->page_shift = defaults.page_shift; /* of the index alone */
	in->cell_shift = is_wide(in) ? WIDE_SHIFT : c->page_shift;
	c->mask = least_slots(in) - 1;
	c->cells = map((size_t)cells + 1, sizeof(*c->cells));
	c->rests = map((size_t)cells + 1, sizeof(*c->rests));
	c->index = map(index_slots(in), sizeof(*c->index));
	if (is_wide(in))
		in->wide = map(in->slots, sizeof(*in->wide));
	if (!c->cells || !c->rests || !c->index || (is_wide(in) && !in->wide))
		return -ENOMEM;
	return make_table(&in->rest, defaults.rows);
}

static int make_tables(struct pasta_cpu *c, const struct pasta_cpu_config *config)
{
	struct pasta_cpu_inside *in = c->in;
	struct pasta_rows *t = in->tables;

	for (int i = PASTA_REDUCER_SITE; i < PASTA_REDUCER_COUNT; i++) {
		bool wanted = has(in, i) || (i == PASTA_REDUCER_SITE && in->reducers & BY_SITE);

		if (wanted && make_table(&t[i], given_or(config->rows, defaults.rows)))
			return -ENOMEM;
	}
	if (!(in->reducers & BY_REQUEST))
		return 0;
	in->requests = pasta_requests_new(
		given_or(config->requests, defaults.requests),
		has(in, PASTA_REDUCER_COALESCE) ? &t[PASTA_REDUCER_COALESCE] : NULL,
		has(in, PASTA_REDUCER_DIVERGE) ? &t[PASTA_REDUCER_DIVERGE] : NULL);
	return in->requests ? 0 : -ENOMEM;
}

static int check(const struct pasta_cpu_config *config, struct pasta_error *err)
{
	if (config->page_shift && (config->page_shift < 5 || config->page_shift > 30))
		return pasta_fail(err, -EINVAL, "pages of 2^%u bytes: choose 2^5 to 2^30",
				  config->page_shift);
	if (config->cells > UINT16_MAX || config->rows > ROWS_MAX || config->requests > 1u << 20)
		return pasta_fail(err, -EINVAL,
				  "tables of accesses are too big: at most 65,535 cells, 2^26 rows "
				  "and 2^20 requests");
	return 0;
}

struct pasta_cpu *pasta_cpu_new(const struct pasta_cpu_config *config, struct pasta_error *err)
{
	struct pasta_cpu *c;

	if (check(config, err))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		goto fail;
	c->in = calloc(1, sizeof(*c->in));
	if (!c->in)
		goto fail;
	c->page_shift = given_or(config->page_shift, defaults.page_shift);
	c->in->reducers = config->reducers;
	c->in->turns = given_or(config->turns, defaults.turns);
	c->in->full = config->full;
	c->in->arg = config->arg;
	c->more = config->reducers & (BY_SITE | PASTA_REDUCER_MASK(SITE_OBJECT));
	if (make_cells(c, given_or(config->cells, defaults.cells)) || make_tables(c, config))
		goto fail;
	return c;
fail:
	pasta_cpu_free(c);
	pasta_fail(err, -ENOMEM, "no memory for tables of accesses");
	return NULL;
}

void pasta_cpu_free(struct pasta_cpu *c)
{
	struct pasta_cpu_inside *in = c ? c->in : NULL;

	if (in) {
		unmap(c->cells, (size_t)in->max + 1, sizeof(*c->cells));
		unmap(c->rests, (size_t)in->max + 1, sizeof(*c->rests));
		unmap(c->index, index_slots(in), sizeof(*c->index));
		unmap(in->wide, in->slots, sizeof(*in->wide));
		pasta_rows_free(&in->rest);
		for (int i = 0; i < PASTA_REDUCER_COUNT; i++)
			pasta_rows_free(&in->tables[i]);
		pasta_requests_free(in->requests);
		free(in);
	}
	free(c);
}

/* -- Counting. -- */

void pasta_cpu_launch(struct pasta_cpu *c, const struct pasta_version *version, uint32_t function,
		      uint32_t group_size)
{
	struct pasta_cpu_inside *in = c->in;
	uint64_t number = pasta_version_number(version);

	if (in->requests)
		pasta_requests_close(in->requests);
	/* What lies where may have changed: cells keep their counts, but are to be found anew. */
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

/* The distance between the places of a key in the index: odd, so that they are all of it. */
static uint32_t step_of(uint64_t key0, uint64_t key1)
{
	return pasta_rows_hash(key0, key1) | 1;
}

static uint16_t *slot_at(const struct pasta_cpu *c, uint32_t home, uint32_t step, uint32_t i)
{
	return &c->index[(home + i * step) & c->mask];
}

/*
 * The place in the index of the cell that begins here; an empty one if it has none. It is among
 * the first places of its page, where it is found by the address alone, or, if they were taken
 * when it came, among those of its whole key: pages may have many small objects.
 */
static uint16_t *slot_of(const struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	uint32_t home = pasta_cell_home(c, begin), step = step_of(begin >> c->page_shift, 0), i;
	uint16_t *room = NULL, *slot;

	for (i = 0; i < WINDOW; i++) {
		slot = slot_at(c, home, step, i);
		if (c->cells[*slot].begin == begin && c->rests[*slot].object == object && *slot)
			return slot;
		if (!*slot && !room)
			room = slot;
	}
	step = step_of(begin, object);
	for (i = 1;; i++) {
		slot = slot_at(c, home, step, i);
		if (!*slot)
			return room ? room : slot;
		if (c->cells[*slot].begin == begin && c->rests[*slot].object == object)
			return slot;
	}
}

static void index_cells(struct pasta_cpu *c)
{
	memset(c->index, 0, ((size_t)c->mask + 1) * sizeof(*c->index));
	for (uint32_t i = 1; i <= c->in->count; i++)
		*slot_of(c, c->cells[i].begin, c->rests[i].object) = (uint16_t)i;
}

static uint16_t *wide_slot_of(const struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	uint32_t mask = c->in->slots - 1, i = pasta_rows_hash(begin, object) & mask;

	for (; c->in->wide[i]; i = (i + 1) & mask)
		if (c->cells[c->in->wide[i]].begin == begin &&
		    c->rests[c->in->wide[i]].object == object)
			break;
	return &c->in->wide[i];
}

static bool make_room(struct pasta_cpu *c)
{
	struct pasta_cpu_inside *in = c->in;

	if (!in->full || in->stuck)
		return false;
	in->stuck = !in->full(in->arg);
	return !in->stuck;
}

static uint16_t *any_slot_of(const struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	return c->in->wide ? wide_slot_of(c, begin, object) : slot_of(c, begin, object);
}

/* The cell that begins here, made if there is none; NULL: there is no room. */
static struct pasta_cell *cell_of(struct pasta_cpu *c, uint64_t begin, uint64_t object)
{
	uint16_t *slot = any_slot_of(c, begin, object), *wide = c->in->wide;
	uint32_t cell = *slot;

	if (cell)
		return &c->cells[cell];
	if (c->in->count == c->in->max) {
		if (!make_room(c))
			return NULL;
		slot = any_slot_of(c, begin, object);
	}
	cell = ++c->in->count;
	*slot = (uint16_t)cell;
	c->cells[cell].begin = begin;
	c->cells[cell].slot = wide ? (uint32_t)(slot - wide) : 0;
	c->rests[cell].object = object;
	if (!wide && c->in->count > c->mask / SPARSE && c->mask + 1 < c->in->slots) {
		c->mask = 2 * c->mask + 1;
		index_cells(c);
	}
	return &c->cells[cell];
}

/* Where the page of an address is found from now on. A place may be taken from another page, and
 * nothing is lost but time. */
static void remember(struct pasta_cpu *c, uint64_t addr, const struct pasta_cell *cell)
{
	uint32_t home = pasta_cell_home(c, addr), step = step_of(addr >> c->page_shift, 0), i = 0;

	while (i < WINDOW && *slot_at(c, home, step, i))
		i++;
	*slot_at(c, home, step, i % WINDOW) = (uint16_t)(cell - c->cells);
}

static void count_rest(struct pasta_cpu *c, uint64_t object, uint32_t kind, uint32_t size,
		       uint32_t crosses, uint32_t page_crosses)
{
	uint64_t bytes = pasta_access_bytes(kind, size);

	pasta_row_count(pasta_rows_at(&c->in->rest, object, 0), kind, bytes, crosses);
	pasta_row_count(&c->in->rest_page, kind, bytes, page_crosses);
}

/* What no cell at hand has whole. Returns whether it reaches out of its object, which is *object.
 */
static uint32_t count_place(struct pasta_cpu *c, uint64_t addr, uint32_t size, uint32_t kind,
			    uint64_t *object)
{
	struct pasta_object_part place = pasta_version_find(c->in->version, addr);
	uint32_t shift = c->in->cell_shift;
	uint64_t page = addr >> shift << shift, page_last = page + ((UINT64_C(1) << shift) - 1);
	uint64_t begin = place.begin > page ? place.begin : page;
	uint64_t last = place.last < page_last ? place.last : page_last;
	uint32_t crosses = pasta_access_crosses(addr, size, place.last);
	uint32_t page_crosses = pasta_access_crosses(addr, size, page_last);
	struct pasta_cell *cell = cell_of(c, begin, place.object);

	*object = place.object;
	if (!cell) {
		count_rest(c, place.object, kind, size, crosses, page_crosses);
		return crosses;
	}
	cell->size = (uint32_t)(last - begin + 1);
	if (c->in->wide)
		remember(c, addr, cell);
	pasta_cell_count(c, cell, kind, size);
	c->rests[cell - c->cells].crosses += crosses;
	c->rests[cell - c->cells].page_crosses += page_crosses;
	return crosses;
}

/* Beyond its page's first place; NULL: it is not near. */
static struct pasta_cell *find_near(const struct pasta_cpu *c, uint64_t addr, uint32_t size)
{
	uint32_t home = pasta_cell_home(c, addr), step = step_of(addr >> c->page_shift, 0), i;

	for (i = 1; i < WINDOW; i++) {
		struct pasta_cell *cell = &c->cells[*slot_at(c, home, step, i)];

		if (pasta_cell_has(cell, addr, size))
			return cell;
	}
	return NULL;
}

void pasta_cpu_slow(struct pasta_cpu *c, uint64_t addr, uint32_t size, uint32_t kind, uint32_t site)
{
	struct pasta_cell *cell = find_near(c, addr, size);
	uint32_t crosses = 0;
	uint64_t object;

	if (cell) {
		pasta_cell_count(c, cell, kind, size);
		object = c->rests[cell - c->cells].object;
	} else {
		crosses = count_place(c, addr, size, kind, &object);
	}
	if (c->more)
		pasta_cpu_more(c, object, crosses, addr, size, kind, site);
}

static void count_request(struct pasta_cpu *c, struct pasta_row *row, uint64_t site, uint64_t addr,
			  uint32_t size, uint32_t kind)
{
	struct pasta_cpu_inside *in = c->in;
	bool known = row != pasta_rows_other(&in->tables[PASTA_REDUCER_SITE]);

	if (in->given) {
		pasta_requests_add(in->requests, site, in->turn, addr, size, kind);
		return;
	}
	row->turn = row->stamp == in->stamp ? row->turn + (row->turn < in->turns) : 0;
	row->stamp = in->stamp;
	if (known && row->turn < in->turns)
		pasta_requests_add(in->requests, site, row->turn, addr, size, kind);
	else
		pasta_requests_leave_out(in->requests, size, kind);
}

static struct pasta_row *row_of(struct pasta_cpu *c, uint64_t site, uint64_t object)
{
	struct pasta_rows *t = &c->in->tables[PASTA_REDUCER_SITE_OBJECT];
	struct pasta_row *row = pasta_rows_at(t, site, object);

	return row == pasta_rows_other(t) && make_room(c) ? pasta_rows_at(t, site, object) : row;
}

void pasta_cpu_more(struct pasta_cpu *c, uint64_t object, uint32_t crosses, uint64_t addr,
		    uint32_t size, uint32_t kind, uint32_t site)
{
	uint64_t where = PASTA_SITE_KEY(c->function, site), bytes = pasta_access_bytes(kind, size);
	struct pasta_row *row;

	if (c->more & PASTA_REDUCER_MASK(SITE_OBJECT))
		pasta_row_count(row_of(c, where, object), kind, bytes, crosses);
	if (!(c->more & BY_SITE))
		return;
	row = pasta_rows_at(&c->in->tables[PASTA_REDUCER_SITE], where, 0);
	pasta_row_count(row, kind, bytes, crosses);
	if (c->in->requests)
		count_request(c, row, where, addr, size, kind);
}

static bool is_access(const struct pasta_access *a)
{
	return a->kind - 1u < PASTA_ACCESS_ATOMIC && a->space < PASTA_SPACE_COUNT;
}

/* What follows one another in a cell, and is added to it at once. */
struct stretch {
	struct pasta_cell *cell;
	uint64_t counts, bytes; /* as the cell has them */
	uint64_t written;
};

static void end_stretch(struct pasta_cpu *c, struct stretch *s)
{
	s->cell->counts += s->counts;
	s->cell->bytes += s->bytes;
	if (s->written)
		c->rests[s->cell - c->cells].written += s->written;
	if (s->cell->counts & CELL_FULL)
		pasta_cpu_carry(c, s->cell);
	s->counts = s->bytes = s->written = 0;
}

static struct pasta_cell *find_cell(const struct pasta_cpu *c, uint64_t addr, uint32_t size)
{
	struct pasta_cell *cell = &c->cells[c->index[pasta_cell_home(c, addr)]];

	return pasta_cell_has(cell, addr, size) ? cell : find_near(c, addr, size);
}

/* What does not go on with the stretch. False: it is counted, by itself. */
static bool begin_stretch(struct pasta_cpu *c, struct stretch *s, const struct pasta_access *a)
{
	struct pasta_cell *cell = NULL;

	end_stretch(c, s);
	if (a->space < PASTA_SPACE_LOCAL)
		cell = find_cell(c, a->addr, a->size);
	s->cell = cell ? cell : c->cells;
	if (!cell)
		pasta_cpu_access(c, a->addr, a->size, a->kind, a->space, a->site);
	return cell;
}

/* By object and by page alone. */
static size_t count_stretches(struct pasta_cpu *c, const struct pasta_access *a, size_t count,
			      size_t *bad)
{
	struct stretch s = {.cell = c->cells};
	size_t i;

	for (i = 0; i < count && a[i].launch == a->launch; i++) {
		if (!is_access(&a[i])) {
			++*bad;
			continue;
		}
		if ((a[i].space >= PASTA_SPACE_LOCAL ||
		     !pasta_cell_has(s.cell, a[i].addr, a[i].size) || s.counts & CELL_FULL) &&
		    !begin_stretch(c, &s, &a[i]))
			continue;
		s.counts += (a[i].kind & PASTA_ACCESS_LOAD) |
			    (uint64_t)(a[i].kind & PASTA_ACCESS_STORE) << 31;
		s.bytes += pasta_access_bytes(a[i].kind, a[i].size);
		s.written += a[i].kind & PASTA_ACCESS_STORE ? a[i].size : 0;
	}
	end_stretch(c, &s);
	return i;
}

/* By site as well, and nothing that asks who it is. */
static size_t count_plain(struct pasta_cpu *c, const struct pasta_access *a, size_t count,
			  size_t *bad)
{
	size_t i;

	for (i = 0; i < count && a[i].launch == a->launch; i++)
		if (is_access(&a[i]))
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

	in->given = true;
	for (i = 0; i < count && a[i].launch == a->launch; i++) {
		if (!is_access(&a[i])) {
			++*bad;
			continue;
		}
		if (a[i].group != in->group || a[i].thread != in->thread)
			pasta_cpu_thread(c, a[i].group, a[i].thread);
		in->turn = a[i].turn;
		pasta_cpu_access(c, a[i].addr, a[i].size, a[i].kind, a[i].space, a[i].site);
	}
	in->given = false;
	return i;
}

size_t pasta_cpu_batch(struct pasta_cpu *c, const struct pasta_access *accesses, size_t count,
		       size_t *bad)
{
	size_t none = 0, taken;

	if (c->in->requests)
		taken = count_threads(c, accesses, count, &none);
	else if (c->more)
		taken = count_plain(c, accesses, count, &none);
	else
		taken = count_stretches(c, accesses, count, &none);
	if (bad)
		*bad = none;
	return taken;
}

/* -- Draining. -- */

static void drain_cell(struct pasta_cpu *c, uint32_t i, struct pasta_rows *objects,
		       struct pasta_rows *pages)
{
	uint64_t page = c->cells[i].begin >> c->page_shift << c->page_shift;
	const struct pasta_cell_rest *rest = &c->rests[i];
	struct pasta_row row;

	pasta_cpu_carry(c, &c->cells[i]);
	row = (struct pasta_row){.loads = rest->loads,
				 .stores = rest->stores,
				 .bytes = c->cells[i].bytes,
				 .written = rest->written,
				 .extra = rest->crosses};
	if (objects)
		pasta_row_add(pasta_rows_at(objects, rest->object, 0), &row);
	row.extra = rest->page_crosses;
	if (pages)
		pasta_row_add(pasta_rows_at(pages, page, 0), &row);
}

static void drain_cells(struct pasta_cpu *c, struct pasta_rows *objects, struct pasta_rows *pages)
{
	uint32_t count = c->in->count;

	for (uint32_t i = 1; i <= count; i++)
		drain_cell(c, i, objects, pages);
	for (uint32_t i = 1; c->in->wide && i <= count; i++)
		c->in->wide[c->cells[i].slot] = 0;
	memset(c->cells, 0, ((size_t)count + 1) * sizeof(*c->cells));
	memset(c->rests, 0, ((size_t)count + 1) * sizeof(*c->rests));
	c->in->count = 0;
	if (count)
		index_cells(c);
}

static void drain_rest(struct pasta_cpu *c, struct pasta_rows *objects, struct pasta_rows *pages)
{
	const struct pasta_row *p = &c->in->rest_page;

	if (objects)
		pasta_rows_merge(objects, &c->in->rest);
	pasta_rows_clear(&c->in->rest);
	if (pages)
		pasta_row_add(pasta_rows_other(pages), p);
	memset(&c->in->rest_page, 0, sizeof(c->in->rest_page));
	for (int i = PASTA_SPACE_LOCAL; i < PASTA_SPACE_COUNT; i++) {
		p = &c->apart[i];
		if (objects && (p->loads || p->stores))
			pasta_row_add(pasta_rows_at(objects, (uint64_t)i, 0), p);
	}
	memset(c->apart, 0, sizeof(c->apart));
}

static void drain_table(struct pasta_cpu *c, enum pasta_reducer reducer, struct pasta_sums *sums)
{
	struct pasta_rows *t = &c->in->tables[reducer];

	if (c->in->reducers & sums->reducers & 1u << reducer)
		pasta_rows_merge(&sums->tables[reducer], t);
	if (t->rows)
		pasta_rows_clear(t);
}

void pasta_cpu_spill(struct pasta_cpu *c, struct pasta_sums *sums)
{
	uint32_t both = c->in->reducers & sums->reducers;
	struct pasta_rows *to = sums->tables;
	struct pasta_rows *objects =
		both & PASTA_REDUCER_MASK(OBJECT) ? &to[PASTA_REDUCER_OBJECT] : NULL;
	struct pasta_rows *pages = both & PASTA_REDUCER_MASK(PAGE) ? &to[PASTA_REDUCER_PAGE] : NULL;

	drain_cells(c, objects, pages);
	drain_rest(c, objects, pages);
	drain_table(c, PASTA_REDUCER_SITE_OBJECT, sums);
	c->in->stuck = false;
}

void pasta_cpu_drain(struct pasta_cpu *c, struct pasta_sums *sums)
{
	if (c->in->requests)
		pasta_requests_close(c->in->requests);
	pasta_cpu_spill(c, sums);
	/* Who spills has many pages, and keeps its index as large as it is. */
	c->mask = least_slots(c->in) - 1;
	for (int i = PASTA_REDUCER_SITE; i < PASTA_REDUCER_COUNT; i++)
		drain_table(c, (enum pasta_reducer)i, sums);
}
