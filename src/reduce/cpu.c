/* cpu.c - creates, frees and drains the state of reducers on the host. The file cpucount.c counts
 * accesses. */
#include "reduce/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reduce/cpu_internal.h"

#define ROWS_MAX (UINT32_C(1) << 26)
/* If the reducer PAGE is disabled, one cell counts the accesses to an object of up to 2^WIDE_SHIFT
 * bytes. */
enum { WIDE_SHIFT = 31 };

_Static_assert((int)PASTA_SPACE_COUNT <= PASTA_CPU_APART, "PASTA_CPU_APART must be enough for "
							  "all memory spaces");
_Static_assert(sizeof(struct pasta_cell) == 32, "struct pasta_cell must have half the size of a "
						"cache line");

static const struct pasta_cpu_config defaults = {
	.page_shift = 12,
	.cells = UINT16_MAX,
	.rows = 16384,
	.requests = 4096,
	.turns = 64,
};

static uint32_t cpu_value_or(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

/* -- Creation -- */

/* Maps zeroed memory. The operating system provides memory only for the pages that are used. */
static void *cpu_map(size_t count, size_t size)
{
	void *p = mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

static void cpu_unmap(void *p, size_t count, size_t size)
{
	if (p)
		munmap(p, count * size);
}

/* Creates a table, and allocates all of its memory in advance, because counting must not
 * allocate. */
static int cpu_make_table(struct pasta_rows *t, uint32_t rows)
{
	return pasta_rows_init(t, rows) || pasta_rows_reserve(t) ? -ENOMEM : 0;
}

static int cpu_make_cells(struct pasta_cpu *c, uint32_t cells)
{
	struct pasta_cpu_inside *in = c->in;

	in->slots = SLOTS_LEAST;
	while (in->slots < SPARSE * cells)
		in->slots *= 2;
	in->max = cells;
	if (cpu_is_wide(in))
		/* If the reducer PAGE is disabled, only the index depends on the page size. */
		c->page_shift = defaults.page_shift;
	in->cell_shift = cpu_is_wide(in) ? WIDE_SHIFT : c->page_shift;
	c->mask = cpu_least_slots(in) - 1;
	c->cells = cpu_map((size_t)cells + 1, sizeof(*c->cells));
	c->rests = cpu_map((size_t)cells + 1, sizeof(*c->rests));
	c->index = cpu_map(cpu_index_slots(in), sizeof(*c->index));
	if (cpu_is_wide(in))
		in->wide = cpu_map(in->slots, sizeof(*in->wide));
	if (!c->cells || !c->rests || !c->index || (cpu_is_wide(in) && !in->wide))
		return -ENOMEM;
	return cpu_make_table(&in->rest, defaults.rows);
}

static int cpu_make_tables(struct pasta_cpu *c, const struct pasta_cpu_config *config)
{
	struct pasta_cpu_inside *in = c->in;
	struct pasta_rows *t = in->tables;

	for (int i = PASTA_REDUCER_SITE; i < PASTA_REDUCER_COUNT; i++) {
		bool enabled =
			cpu_has(in, i) || (i == PASTA_REDUCER_SITE && in->reducers & BY_SITE);

		if (enabled && cpu_make_table(&t[i], cpu_value_or(config->rows, defaults.rows)))
			return -ENOMEM;
	}
	if (!(in->reducers & BY_REQUEST))
		return 0;
	in->requests = pasta_requests_new(
		cpu_value_or(config->requests, defaults.requests),
		cpu_has(in, PASTA_REDUCER_COALESCE) ? &t[PASTA_REDUCER_COALESCE] : NULL,
		cpu_has(in, PASTA_REDUCER_DIVERGE) ? &t[PASTA_REDUCER_DIVERGE] : NULL);
	return in->requests ? 0 : -ENOMEM;
}

static int cpu_check(const struct pasta_cpu_config *config, struct pasta_error *err)
{
	if (config->page_shift && (config->page_shift < 5 || config->page_shift > 30))
		return pasta_fail(err, -EINVAL,
				  "pages of 2^%u bytes are not supported: choose "
				  "2^5 to 2^30",
				  config->page_shift);
	if (config->cells > UINT16_MAX || config->rows > ROWS_MAX || config->requests > 1u << 20)
		return pasta_fail(
			err, -EINVAL,
			"the tables that count accesses are too large: at most 65,535 "
			"rows by page and object, 2^26 rows in each other table, and 2^20 "
			"open requests are allowed");
	return 0;
}

struct pasta_cpu *pasta_cpu_new(const struct pasta_cpu_config *config, struct pasta_error *err)
{
	struct pasta_cpu *c;

	if (cpu_check(config, err))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		goto fail;
	c->in = calloc(1, sizeof(*c->in));
	if (!c->in)
		goto fail;
	c->page_shift = cpu_value_or(config->page_shift, defaults.page_shift);
	c->in->reducers = config->reducers;
	c->in->turns = cpu_value_or(config->turns, defaults.turns);
	c->in->full = config->full;
	c->in->arg = config->arg;
	c->more = config->reducers & (BY_SITE | PASTA_REDUCER_MASK(SITE_OBJECT));
	if (cpu_make_cells(c, cpu_value_or(config->cells, defaults.cells)) ||
	    cpu_make_tables(c, config))
		goto fail;
	return c;
fail:
	pasta_cpu_free(c);
	pasta_fail(err, -ENOMEM, "cannot allocate the tables that count accesses: out of memory");
	return NULL;
}

void pasta_cpu_free(struct pasta_cpu *c)
{
	struct pasta_cpu_inside *in = c ? c->in : NULL;

	if (in) {
		cpu_unmap(c->cells, (size_t)in->max + 1, sizeof(*c->cells));
		cpu_unmap(c->rests, (size_t)in->max + 1, sizeof(*c->rests));
		cpu_unmap(c->index, cpu_index_slots(in), sizeof(*c->index));
		cpu_unmap(in->wide, in->slots, sizeof(*in->wide));
		pasta_rows_free(&in->rest);
		for (int i = 0; i < PASTA_REDUCER_COUNT; i++)
			pasta_rows_free(&in->tables[i]);
		pasta_requests_free(in->requests);
		free(in);
	}
	free(c);
}

/* -- Draining -- */

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
		pasta_cpu_reindex(c);
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
	/* pasta_cpu_spill does not shrink the index, because the thread goes on to access many
	 * pages. pasta_cpu_drain makes the index small again. */
	c->mask = cpu_least_slots(c->in) - 1;
	for (int i = PASTA_REDUCER_SITE; i < PASTA_REDUCER_COUNT; i++)
		drain_table(c, (enum pasta_reducer)i, sums);
}
