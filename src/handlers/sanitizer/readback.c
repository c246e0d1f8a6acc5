/* readback.c - copies the counts of a launch from its slot in device memory and adds them to the
 * launch's rows. */
#include <stdlib.h>

#include "handlers/sanitizer/readback.h"
#include "handlers/sanitizer/sites.h"

/* A run of successive pages whose sums were read; "first" is the number of the first page. */
struct page_run {
	uint32_t first, count;
	struct pasta_gpu_sums *sums;
};

struct san_readback {
	struct pasta_gpu_launch header;
	char *front;		/* allocated memory that contains marks and counts */
	const uint8_t *marks;	/* marks of pages, or NULL */
	const uint64_t *counts; /* counters of objects, or NULL */
	/* the first "count" rows of each table, and its last row */
	struct pasta_gpu_row *rows[PASTA_REDUCER_COUNT];
	uint32_t count[PASTA_REDUCER_COUNT];
	uint64_t *begin, *end; /* times of blocks */
	uint32_t blocks;
	struct pasta_gpu_raw raw;
	struct pasta_gpu_sums *sums; /* of all runs */
	struct page_run *runs;
	uint32_t run_count;
};

/* One call copies the sums of marked pages across a short gap of unmarked pages, because a second
 * call would take longer. A gap of this many unmarked stretches is too long. */
enum { GAP = 16 };

/* -- Reading -- */

/* Returns the handler's own stream if possible, because the slot's stream may already run other
 * work. */
static void *readback_stream(const struct san_slot *s)
{
	return s->context->own ? s->context->own : s->handle;
}

/* Copies from the device into newly allocated memory. Returns false if out of memory, or on an
 * error of the library, which is stored in *result. */
static bool readback_copy(void *to, const void *from, size_t size, const struct san_slot *s,
			  int *result)
{
	void **memory = to;

	*memory = malloc(size ? size : 1);
	if (*memory && size)
		*result = SAN_CALL(MemcpyDeviceToHost, *memory, (void *)from, size,
				   readback_stream(s));
	return *memory && *result == SAN_OK;
}

/* Copies the rows of a table. The last row, which counts the accesses whose keys did not fit, is
 * copied only if the table is full. */
static bool readback_get_rows(const struct san_slot *s, struct san_readback *r, uint32_t i,
			      int *result)
{
	const struct pasta_gpu_table *t = &s->image.tables[i];
	uint32_t asked = r->header.tables[i].count, n = asked < t->max ? asked : t->max;

	if (!t->index)
		return true;
	r->rows[i] = calloc(n + 1, sizeof(*t->rows));
	r->count[i] = n;
	if (!r->rows[i])
		return false;
	if (n)
		*result = SAN_CALL(MemcpyDeviceToHost, r->rows[i], t->rows, n * sizeof(*t->rows),
				   readback_stream(s));
	if (n == t->max && *result == SAN_OK)
		*result = SAN_CALL(MemcpyDeviceToHost, &r->rows[i][n], &t->rows[t->max],
				   sizeof(*t->rows), readback_stream(s));
	return *result == SAN_OK;
}

/* -- Pages -- */

/* Finds the next run of marked pages, and advances *at past the run. A mark shows that pages may
 * have been accessed. Returns false if no more pages are marked. */
static bool pages_next_run(const struct san_readback *r, uint32_t pages, uint32_t *at,
			   struct page_run *run)
{
	uint32_t stretches = (pages >> PASTA_GPU_STRETCH) + 1, end, i = *at;

	while (i < stretches && !r->marks[i])
		i++;
	if (i == stretches)
		return false;
	run->first = i << PASTA_GPU_STRETCH;
	for (end = ++i; i < stretches && i - end < GAP; i++)
		if (r->marks[i])
			end = i + 1;
	*at = end;
	end <<= PASTA_GPU_STRETCH;
	run->count = (end < pages ? end : pages) - run->first;
	return true;
}

static bool pages_find_runs(const struct san_slot *s, struct san_readback *r)
{
	struct pasta_gpu_sums *next;
	uint32_t at = 0, runs = 0;
	size_t pages = 0;
	struct page_run run;

	while (pages_next_run(r, s->pages, &at, &run)) {
		pages += run.count;
		runs++;
	}
	r->runs = calloc(runs + 1, sizeof(*r->runs));
	r->sums = next = malloc((pages + 1) * sizeof(*r->sums));
	if (!r->runs || !r->sums)
		return false;
	r->run_count = runs;
	at = 0;
	for (uint32_t i = 0; i < runs && pages_next_run(r, s->pages, &at, &run); i++) {
		run.sums = next;
		next += run.count;
		r->runs[i] = run;
	}
	return true;
}

static bool readback_get_pages(const struct san_slot *s, struct san_readback *r, int *result)
{
	const struct pasta_gpu_pages *p = &s->image.pages;

	if (!r->marks)
		return true;
	if (!pages_find_runs(s, r))
		return false;
	for (uint32_t i = 0; i < r->run_count && *result == SAN_OK; i++)
		*result = SAN_CALL(MemcpyDeviceToHost, r->runs[i].sums, p->sums + r->runs[i].first,
				   r->runs[i].count * sizeof(*p->sums), readback_stream(s));
	return *result == SAN_OK;
}

/* Reads the header, which the device changes only if the launch has tables. */
static bool readback_get_header(const struct san_slot *s, struct san_readback *r, int *result)
{
	bool tables = false;

	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++)
		tables = tables || s->image.tables[i].index;
	if (tables)
		*result = SAN_CALL(MemcpyDeviceToHost, &r->header, s->memory, sizeof(r->header),
				   readback_stream(s));
	return *result == SAN_OK;
}

/* Copies the marks and the counters in one call, because a second call would take longer than
 * copying the gap between marks and counters. */
static bool readback_get_front(const struct san_slot *s, struct san_readback *r, int *result)
{
	const struct pasta_gpu_launch *l = &s->image;
	bool objects = l->reducers & PASTA_REDUCER_MASK(OBJECT);
	const char *marks = (const char *)l->pages.marks, *counts = (const char *)l->counts;
	const char *from = s->pages ? marks : counts;
	const char *end = marks + (s->pages >> PASTA_GPU_STRETCH) + 1;

	if (objects)
		end = counts + ((size_t)PASTA_GPU_PARTS(l->count) << l->spread) *
				       PASTA_GPU_COUNTERS * sizeof(*l->counts);
	if (!s->pages && !objects)
		return true;
	if (!readback_copy(&r->front, from, (size_t)(end - from), s, result))
		return false;
	r->marks = s->pages ? (const uint8_t *)r->front : NULL;
	r->counts = objects ? (const uint64_t *)(r->front + (counts - from)) : NULL;
	return true;
}

static bool readback_get_all(const struct san_slot *s, struct san_readback *r, int *result)
{
	const struct pasta_gpu_launch *l = &s->image;
	bool got;

	if (l->raw)
		*result = SAN_CALL(MemcpyDeviceToHost, &r->raw, l->raw, sizeof(r->raw),
				   readback_stream(s));
	if (*result != SAN_OK || !readback_get_header(s, r, result))
		return false;
	got = readback_get_front(s, r, result);
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT && got; i++)
		got = readback_get_rows(s, r, i, result);
	got = got && readback_get_pages(s, r, result);
	r->blocks = s->blocks < l->blocks.max ? (uint32_t)s->blocks : l->blocks.max;
	return got && (!r->blocks || (readback_copy(&r->begin, l->blocks.begin,
						    r->blocks * sizeof(*r->begin), s, result) &&
				      readback_copy(&r->end, l->blocks.end,
						    r->blocks * sizeof(*r->end), s, result)));
}

struct san_readback *san_readback_new(const struct san_slot *s, int *result)
{
	struct san_readback *r = calloc(1, sizeof(*r));

	*result = SAN_OK;
	if (!r || readback_get_all(s, r, result))
		return r;
	san_readback_free(r);
	return NULL;
}

const struct pasta_gpu_raw *san_readback_raw(const struct san_readback *r)
{
	return &r->raw;
}

void san_readback_free(struct san_readback *r)
{
	if (!r)
		return;
	free(r->front);
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++)
		free(r->rows[i]);
	free(r->begin);
	free(r->end);
	free(r->sums);
	free(r->runs);
	free(r);
}

/* -- Adding -- */

/* Returns the row key of a part, which is an object, all addresses outside of objects, or a memory
 * space. */
static uint64_t readback_object(const struct san_slot *s, uint64_t part)
{
	uint32_t count = s->image.count;

	if (part < count)
		return s->parts[part].object;
	if (part >= PASTA_GPU_PARTS(count))
		return PASTA_KEY_OTHER; /* the device has written an invalid number */
	return part == PASTA_GPU_NOWHERE(count) ? PASTA_OBJECT_NONE
						: part - PASTA_GPU_SPACE(count, 0);
}

static void readback_add_object(const struct san_slot *s, uint64_t part, const uint64_t *c)
{
	struct pasta_row row = {.key0 = readback_object(s, part),
				.loads = c[PASTA_GPU_LOADS],
				.stores = c[PASTA_GPU_STORES],
				.bytes = c[PASTA_GPU_BYTES],
				.written = pasta_gpu_part_written(c),
				.extra = c[PASTA_GPU_CROSS]};

	for (uint32_t i = 0; i < PASTA_GPU_SIZES; i++) {
		uint64_t loads = c[PASTA_GPU_OF(PASTA_ACCESS_LOAD, i)];
		uint64_t stores = c[PASTA_GPU_OF(PASTA_ACCESS_STORE, i)];
		uint64_t atomics = c[PASTA_GPU_OF(PASTA_ACCESS_ATOMIC, i)];

		row.loads += loads + atomics;
		row.stores += stores + atomics;
		row.bytes += (loads + stores + 2 * atomics) << i;
	}
	if (row.loads || row.stores)
		pasta_accesses_add(s->launch, PASTA_REDUCER_OBJECT, &row);
}

static bool readback_is_by_site(enum pasta_reducer reducer)
{
	return reducer == PASTA_REDUCER_OWN ? san.own_sites : reducer != PASTA_REDUCER_PAGE;
}

/* Returns the flags of a SITE event. Only the table of the reducer SITE contains the memory space.
 */
static uint32_t readback_flags(enum pasta_reducer reducer, const struct pasta_gpu_row *from)
{
	if (reducer == PASTA_REDUCER_SITE)
		return (uint32_t)from->key1;
	if (reducer == PASTA_REDUCER_BARRIER)
		return PASTA_ACCESS_BARRIER;
	return (from->loads ? PASTA_ACCESS_LOAD : 0u) | (from->stores ? PASTA_ACCESS_STORE : 0u);
}

/* Converts a row that the device has counted. `reducer` is 0 for the row that counts accesses whose
 * keys did not fit into a table. */
static struct pasta_row readback_counts(uint32_t reducer, const struct pasta_gpu_row *from)
{
	uint64_t written = pasta_gpu_written(reducer, from);
	struct pasta_row row = {.loads = from->loads,
				.stores = from->stores,
				.bytes = from->bytes,
				.extra = from->extra};

	if (written == PASTA_GPU_UNSPLIT)
		row.unsplit = 1;
	else
		row.written = written;
	return row;
}

static void readback_add_row(const struct san_slot *s, enum pasta_reducer reducer,
			     const struct pasta_gpu_row *from)
{
	struct pasta_row row = readback_counts(reducer, from);

	row.key0 = from->key0;
	row.key1 = from->key1;
	if (!row.loads && !row.stores &&
	    (reducer != PASTA_REDUCER_OWN || (!row.bytes && !row.extra)))
		return;
	if (readback_is_by_site(reducer))
		row.key0 = san_site(s, from->key0, readback_flags(reducer, from));
	if (!row.key0 && readback_is_by_site(reducer))
		row.key0 = PASTA_KEY_OTHER;
	if (reducer == PASTA_REDUCER_SITE || reducer == PASTA_REDUCER_COALESCE)
		row.key1 = 0;
	if (reducer == PASTA_REDUCER_DIVERGE)
		row.key1 = PASTA_GPU_THREADS(from->key1);
	if (reducer == PASTA_REDUCER_SITE_OBJECT)
		row.key1 = readback_object(s, from->key1);
	pasta_accesses_add(s->launch, reducer, &row);
}

static void readback_add_other(const struct san_slot *s, enum pasta_reducer reducer,
			       const struct pasta_gpu_row *from)
{
	struct pasta_row row = readback_counts(0, from);

	row.key0 = PASTA_KEY_OTHER;
	if (!pasta_row_is_zero(&row))
		pasta_accesses_add(s->launch, reducer, &row);
}

static void readback_add_blocks(const struct san_slot *s, const struct san_readback *r)
{
	uint64_t unseen = s->blocks - r->blocks, ns;
	struct pasta_row row = {0};

	for (uint32_t i = 0; i < r->blocks; i++) {
		if (!r->begin[i] || r->end[i] < r->begin[i]) {
			unseen++;
			continue;
		}
		ns = r->end[i] - r->begin[i];
		row = (struct pasta_row){.key0 = pasta_block_bucket(ns), .loads = 1, .bytes = ns};
		pasta_accesses_add(s->launch, PASTA_REDUCER_BLOCK, &row);
	}
	row = (struct pasta_row){.extra = unseen};
	if (unseen)
		pasta_accesses_add(s->launch, PASTA_REDUCER_BLOCK, &row);
}

/* -- Pages -- */

struct page_walk {
	pasta_sums_fn fn;
	void *arg;
	struct pasta_row row; /* row of the last page, which may be shared with the next object */
};

static bool sums_are_zero(const struct pasta_gpu_sums *s)
{
	return !(s->loads | s->stores | s->bytes | s->extra);
}

static int page_deliver(struct page_walk *t)
{
	return pasta_row_is_zero(&t->row) ? 0 : t->fn(t->arg, PASTA_REDUCER_PAGE, &t->row);
}

static int page_add(struct page_walk *t, uint64_t addr, const struct pasta_gpu_sums *sums)
{
	struct pasta_row row;
	int error = 0;

	if (addr != t->row.key0) {
		error = page_deliver(t);
		t->row = (struct pasta_row){.key0 = addr};
	}
	row = readback_counts(PASTA_REDUCER_PAGE, &(struct pasta_gpu_row){.loads = sums->loads,
									  .stores = sums->stores,
									  .bytes = sums->bytes,
									  .extra = sums->extra});
	pasta_row_add(&t->row, &row);
	return error;
}

/* Adds the pages that are both in an object and in this run of pages. */
static int pages_of_part(struct page_walk *t, const struct san_slot *s, uint32_t part,
			 const struct page_run *run)
{
	uint32_t shift = s->image.page_shift;
	uint64_t page = s->parts[part].begin >> shift, last = s->parts[part].last >> shift;
	uint32_t first = (uint32_t)page + s->bases[part];
	uint32_t end = first + (uint32_t)(last - page) + 1, i = first;
	int error = 0;

	if (end > run->first + run->count)
		end = run->first + run->count;
	if (i < run->first)
		i = run->first;
	for (; i < end && !error; i++)
		if (!sums_are_zero(&run->sums[i - run->first]))
			error = page_add(t, (page + (i - first)) << shift,
					 &run->sums[i - run->first]);
	return error;
}

/* Returns the number of the object's last page, plus 1. */
static uint32_t part_pages_end(const struct san_slot *s, uint32_t part)
{
	return (uint32_t)(s->parts[part].last >> s->image.page_shift) + s->bases[part] + 1;
}

/* Calls fn for each page. Objects and runs of pages are both sorted by page number. */
static int pages_each(const struct san_slot *s, const struct san_readback *r, pasta_sums_fn fn,
		      void *arg)
{
	struct page_walk t = {.fn = fn, .arg = arg};
	uint32_t part = 0;
	int error = 0;

	for (uint32_t i = 0; i < r->run_count && !error; i++) {
		const struct page_run *run = &r->runs[i];

		while (part < s->count &&
		       (s->bases[part] == PASTA_GPU_FAR || part_pages_end(s, part) <= run->first))
			part++;
		for (uint32_t k = part; k < s->count && !error; k++) {
			if (s->bases[k] == PASTA_GPU_FAR)
				continue;
			if ((uint32_t)(s->parts[k].begin >> s->image.page_shift) + s->bases[k] >=
			    run->first + run->count)
				break;
			error = pages_of_part(&t, s, k, run);
		}
	}
	return error ? error : page_deliver(&t);
}

/* Returns whether pages can be delivered one by one. If the table of the reducer PAGE contains
 * rows, or the run compares reducers, the rows of a page must be added up first. */
static bool pages_are_separate(const struct san_readback *r)
{
	return !r->count[PASTA_REDUCER_PAGE] && !pasta_accesses_config.both;
}

static int page_to_launch(void *slot, enum pasta_reducer reducer, const struct pasta_row *row)
{
	pasta_accesses_add(((const struct san_slot *)slot)->launch, reducer, row);
	return 0;
}

int san_readback_pages(void *source, pasta_sums_fn fn, void *arg)
{
	const struct san_page_source *t = source;

	return t->readback && pages_are_separate(t->readback)
		       ? pages_each(t->slot, t->readback, fn, arg)
		       : 0;
}

/* A site that copies between memory spaces is identified by its access to memory that contains
 * objects, so the rows of accesses to such memory are added first. */
static void readback_add_sites(const struct san_slot *s, const struct san_readback *r)
{
	const struct pasta_gpu_row *rows = r->rows[PASTA_REDUCER_SITE];

	for (uint32_t apart = 0; rows && apart < 2; apart++)
		for (uint32_t i = 0; i < r->count[PASTA_REDUCER_SITE]; i++)
			if ((rows[i].key1 >> 8 >= PASTA_SPACE_LOCAL) == apart)
				readback_add_row(s, PASTA_REDUCER_SITE, &rows[i]);
}

void san_readback_add(const struct san_slot *s, const struct san_readback *r)
{
	uint32_t spread = s->image.spread;

	readback_add_sites(s, r);
	for (uint32_t i = 0; r->counts && i < PASTA_GPU_PARTS(s->image.count) << spread; i++)
		readback_add_object(s, i >> spread, r->counts + (size_t)i * PASTA_GPU_COUNTERS);
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++) {
		for (uint32_t k = 0; i != PASTA_REDUCER_SITE && r->rows[i] && k < r->count[i]; k++)
			readback_add_row(s, i, &r->rows[i][k]);
		if (r->rows[i])
			readback_add_other(s, i, &r->rows[i][r->count[i]]);
	}
	if (s->image.reducers & PASTA_REDUCER_MASK(BLOCK))
		readback_add_blocks(s, r);
	if (!pages_are_separate(r))
		pages_each(s, r, page_to_launch, (void *)s);
}
