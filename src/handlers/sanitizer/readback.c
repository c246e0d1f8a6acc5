/* readback.c - what a device has counted, read back and told as rows. */
#include <stdlib.h>

#include "handlers/sanitizer/sanitizer.h"

/* Pages whose sums were read: those from first on. */
struct run {
	uint32_t first, count;
	struct pasta_gpu_sums *sums;
};

struct san_reading {
	struct pasta_gpu_launch header;
	char *front;		/* has what follows */
	const uint8_t *marks;	/* of pages; NULL: none has sums */
	const uint64_t *counts; /* NULL: they are not wanted */
	struct pasta_gpu_row
		*rows[PASTA_REDUCER_COUNT]; /* count of them, and that of what had no room */
	uint32_t count[PASTA_REDUCER_COUNT];
	uint64_t *begin, *end; /* of blocks */
	uint32_t blocks;
	struct pasta_gpu_raw raw;
	struct pasta_gpu_sums *sums; /* of the runs */
	struct run *runs;
	uint32_t run_count;
};

enum { GAP = 16 }; /* stretches of pages that are read though nobody was there: calls take longer */

/* -- Reading -- */

/* The slot's own stream is through with it, and may have more to do by now. */
static void *stream_of(const struct san_slot *s)
{
	return s->context->own ? s->context->own : s->handle;
}

/* In memory of its own. False: none, or what the library returned. */
static bool get(void *to, const void *from, size_t size, const struct san_slot *s, int *result)
{
	void **memory = to;

	*memory = malloc(size ? size : 1);
	if (*memory && size)
		*result = SAN_CALL(MemcpyDeviceToHost, *memory, (void *)from, size, stream_of(s));
	return *memory && *result == SAN_OK;
}

/* Rows are behind each other, but that of what had no room, which is the last. There is none while
 * there is room. */
static bool get_rows(const struct san_slot *s, struct san_reading *r, uint32_t i, int *result)
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
				   stream_of(s));
	if (n == t->max && *result == SAN_OK)
		*result = SAN_CALL(MemcpyDeviceToHost, &r->rows[i][n], &t->rows[t->max],
				   sizeof(*t->rows), stream_of(s));
	return *result == SAN_OK;
}

/* -- Pages -- */

/* The next run of stretches from *at on; false: there is none. */
static bool next_run(const struct san_reading *r, uint32_t pages, uint32_t *at, struct run *run)
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

static bool find_runs(const struct san_slot *s, struct san_reading *r)
{
	struct pasta_gpu_sums *next;
	uint32_t at = 0, runs = 0;
	size_t pages = 0;
	struct run run;

	while (next_run(r, s->pages, &at, &run)) {
		pages += run.count;
		runs++;
	}
	r->runs = calloc(runs + 1, sizeof(*r->runs));
	r->sums = next = malloc((pages + 1) * sizeof(*r->sums));
	if (!r->runs || !r->sums)
		return false;
	r->run_count = runs;
	at = 0;
	for (uint32_t i = 0; i < runs && next_run(r, s->pages, &at, &run); i++) {
		run.sums = next;
		next += run.count;
		r->runs[i] = run;
	}
	return true;
}

static bool get_pages(const struct san_slot *s, struct san_reading *r, int *result)
{
	const struct pasta_gpu_pages *p = &s->image.pages;

	if (!r->marks)
		return true;
	if (!find_runs(s, r))
		return false;
	for (uint32_t i = 0; i < r->run_count && *result == SAN_OK; i++)
		*result = SAN_CALL(MemcpyDeviceToHost, r->runs[i].sums, p->sums + r->runs[i].first,
				   r->runs[i].count * sizeof(*p->sums), stream_of(s));
	return *result == SAN_OK;
}

/* Only tables change it. */
static bool get_header(const struct san_slot *s, struct san_reading *r, int *result)
{
	bool tables = false;

	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++)
		tables = tables || s->image.tables[i].index;
	if (tables)
		*result = SAN_CALL(MemcpyDeviceToHost, &r->header, s->memory, sizeof(r->header),
				   stream_of(s));
	return *result == SAN_OK;
}

/* Marks, and counters behind them: a call takes longer than what is between them. */
static bool get_front(const struct san_slot *s, struct san_reading *r, int *result)
{
	const struct pasta_gpu_launch *l = &s->image;
	bool objects = l->reducers & PASTA_REDUCER_MASK(OBJECT);
	const char *marks = (const char *)l->pages.marks, *counts = (const char *)l->counts;
	const char *from = s->pages ? marks : counts;
	const char *end = marks + (s->pages >> PASTA_GPU_STRETCH) + 1;

	if (objects)
		end = counts + ((size_t)PASTA_GPU_PLACES(l->count) << l->spread) *
				       PASTA_GPU_COUNTERS * sizeof(*l->counts);
	if (!s->pages && !objects)
		return true;
	if (!get(&r->front, from, (size_t)(end - from), s, result))
		return false;
	r->marks = s->pages ? (const uint8_t *)r->front : NULL;
	r->counts = objects ? (const uint64_t *)(r->front + (counts - from)) : NULL;
	return true;
}

static bool get_all(const struct san_slot *s, struct san_reading *r, int *result)
{
	const struct pasta_gpu_launch *l = &s->image;
	bool got;

	if (l->raw)
		*result =
			SAN_CALL(MemcpyDeviceToHost, &r->raw, l->raw, sizeof(r->raw), stream_of(s));
	if (*result != SAN_OK || !get_header(s, r, result))
		return false;
	got = get_front(s, r, result);
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT && got; i++)
		got = get_rows(s, r, i, result);
	got = got && get_pages(s, r, result);
	r->blocks = s->blocks < l->blocks.max ? (uint32_t)s->blocks : l->blocks.max;
	return got && (!r->blocks ||
		       (get(&r->begin, l->blocks.begin, r->blocks * sizeof(*r->begin), s, result) &&
			get(&r->end, l->blocks.end, r->blocks * sizeof(*r->end), s, result)));
}

struct san_reading *san_read(const struct san_slot *s, int *result)
{
	struct san_reading *r = calloc(1, sizeof(*r));

	*result = SAN_OK;
	if (!r || get_all(s, r, result))
		return r;
	san_reading_free(r);
	return NULL;
}

const struct pasta_gpu_raw *san_reading_raw(const struct san_reading *r)
{
	return &r->raw;
}

void san_reading_free(struct san_reading *r)
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

/* -- Telling -- */

/* The key of an object, of what is in none, or of a space. */
static uint64_t object_of(const struct san_slot *s, uint64_t place)
{
	uint32_t count = s->image.count;

	if (place < count)
		return s->places[place].object;
	if (place >= PASTA_GPU_PLACES(count))
		return PASTA_KEY_OTHER; /* no place at all: a device has written rubbish */
	return place == PASTA_GPU_NOWHERE(count) ? PASTA_OBJECT_NONE
						 : place - PASTA_GPU_SPACE(count, 0);
}

static void fold_object(const struct san_slot *s, uint64_t place, const uint64_t *c)
{
	struct pasta_row row = {.key0 = object_of(s, place),
				.loads = c[PASTA_GPU_LOADS],
				.stores = c[PASTA_GPU_STORES],
				.bytes = c[PASTA_GPU_BYTES],
				.written = pasta_gpu_place_written(c),
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

static bool is_by_site(enum pasta_reducer reducer)
{
	return reducer == PASTA_REDUCER_OWN ? san.own_sites : reducer != PASTA_REDUCER_PAGE;
}

/* Of a site. Only tables by site alone know where it is. */
static uint32_t flags_of(enum pasta_reducer reducer, const struct pasta_gpu_row *from)
{
	if (reducer == PASTA_REDUCER_SITE)
		return (uint32_t)from->key1;
	if (reducer == PASTA_REDUCER_BARRIER)
		return PASTA_ACCESS_BARRIER;
	return (from->loads ? PASTA_ACCESS_LOAD : 0u) | (from->stores ? PASTA_ACCESS_STORE : 0u);
}

/* reducer: 0 for what had no room. */
static struct pasta_row counts_of(uint32_t reducer, const struct pasta_gpu_row *from)
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

static void fold_row(const struct san_slot *s, enum pasta_reducer reducer,
		     const struct pasta_gpu_row *from)
{
	struct pasta_row row = counts_of(reducer, from);

	row.key0 = from->key0;
	row.key1 = from->key1;
	if (!row.loads && !row.stores &&
	    (reducer != PASTA_REDUCER_OWN || (!row.bytes && !row.extra)))
		return;
	if (is_by_site(reducer))
		row.key0 = san_site(s, from->key0, flags_of(reducer, from));
	if (!row.key0 && is_by_site(reducer))
		row.key0 = PASTA_KEY_OTHER;
	if (reducer == PASTA_REDUCER_SITE || reducer == PASTA_REDUCER_COALESCE)
		row.key1 = 0;
	if (reducer == PASTA_REDUCER_DIVERGE)
		row.key1 = PASTA_GPU_THREADS(from->key1);
	if (reducer == PASTA_REDUCER_SITE_OBJECT)
		row.key1 = object_of(s, from->key1);
	pasta_accesses_add(s->launch, reducer, &row);
}

static void fold_other(const struct san_slot *s, enum pasta_reducer reducer,
		       const struct pasta_gpu_row *from)
{
	struct pasta_row row = counts_of(0, from);

	row.key0 = PASTA_KEY_OTHER;
	if (!pasta_row_is_zero(&row))
		pasta_accesses_add(s->launch, reducer, &row);
}

static void fold_blocks(const struct san_slot *s, const struct san_reading *r)
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

/* -- Pages, told -- */

struct telling {
	pasta_sums_fn fn;
	void *arg;
	struct pasta_row row; /* the last one: the next place may have its page as well */
};

static bool is_zero(const struct pasta_gpu_sums *s)
{
	return !(s->loads | s->stores | s->bytes | s->extra);
}

static int tell_row(struct telling *t)
{
	return pasta_row_is_zero(&t->row) ? 0 : t->fn(t->arg, PASTA_REDUCER_PAGE, &t->row);
}

static int tell_page(struct telling *t, uint64_t addr, const struct pasta_gpu_sums *sums)
{
	struct pasta_row row;
	int error = 0;

	if (addr != t->row.key0) {
		error = tell_row(t);
		t->row = (struct pasta_row){.key0 = addr};
	}
	row = counts_of(PASTA_REDUCER_PAGE, &(struct pasta_gpu_row){.loads = sums->loads,
								    .stores = sums->stores,
								    .bytes = sums->bytes,
								    .extra = sums->extra});
	pasta_row_add(&t->row, &row);
	return error;
}

/* Those of a place, as far as a run has them. */
static int tell_place(struct telling *t, const struct san_slot *s, uint32_t place,
		      const struct run *run)
{
	uint32_t shift = s->image.page_shift;
	uint64_t page = s->places[place].begin >> shift, last = s->places[place].last >> shift;
	uint32_t first = (uint32_t)page + s->bases[place];
	uint32_t end = first + (uint32_t)(last - page) + 1, i = first;
	int error = 0;

	if (end > run->first + run->count)
		end = run->first + run->count;
	if (i < run->first)
		i = run->first;
	for (; i < end && !error; i++)
		if (!is_zero(&run->sums[i - run->first]))
			error = tell_page(t, (page + (i - first)) << shift,
					  &run->sums[i - run->first]);
	return error;
}

/* The number of the page that follows a place's last. */
static uint32_t end_of(const struct san_slot *s, uint32_t place)
{
	return (uint32_t)(s->places[place].last >> s->image.page_shift) + s->bases[place] + 1;
}

/* Places and runs are both in the order of their pages' numbers. */
static int each_page(const struct san_slot *s, const struct san_reading *r, pasta_sums_fn fn,
		     void *arg)
{
	struct telling t = {.fn = fn, .arg = arg};
	uint32_t place = 0;
	int error = 0;

	for (uint32_t i = 0; i < r->run_count && !error; i++) {
		const struct run *run = &r->runs[i];

		while (place < s->count &&
		       (s->bases[place] == PASTA_GPU_FAR || end_of(s, place) <= run->first))
			place++;
		for (uint32_t k = place; k < s->count && !error; k++) {
			if (s->bases[k] == PASTA_GPU_FAR)
				continue;
			if ((uint32_t)(s->places[k].begin >> s->image.page_shift) + s->bases[k] >=
			    run->first + run->count)
				break;
			error = tell_place(&t, s, k, run);
		}
	}
	return error ? error : tell_row(&t);
}

/* Rows of pages, where the table has some of them as well, or they are compared, are added up. */
static bool is_apart(const struct san_reading *r)
{
	return !r->count[PASTA_REDUCER_PAGE] && !pasta_accesses_config.both;
}

static int add_page(void *slot, enum pasta_reducer reducer, const struct pasta_row *row)
{
	pasta_accesses_add(((const struct san_slot *)slot)->launch, reducer, row);
	return 0;
}

int san_pages_each(void *told, pasta_sums_fn fn, void *arg)
{
	const struct san_told *t = told;

	return t->reading && is_apart(t->reading) ? each_page(t->slot, t->reading, fn, arg) : 0;
}

/* A copy is told as what it does to memory that has objects: that side is first. */
static void fold_sites(const struct san_slot *s, const struct san_reading *r)
{
	const struct pasta_gpu_row *rows = r->rows[PASTA_REDUCER_SITE];

	for (uint32_t apart = 0; rows && apart < 2; apart++)
		for (uint32_t i = 0; i < r->count[PASTA_REDUCER_SITE]; i++)
			if ((rows[i].key1 >> 8 >= PASTA_SPACE_LOCAL) == apart)
				fold_row(s, PASTA_REDUCER_SITE, &rows[i]);
}

void san_fold(const struct san_slot *s, const struct san_reading *r)
{
	uint32_t spread = s->image.spread;

	fold_sites(s, r);
	for (uint32_t i = 0; r->counts && i < PASTA_GPU_PLACES(s->image.count) << spread; i++)
		fold_object(s, i >> spread, r->counts + (size_t)i * PASTA_GPU_COUNTERS);
	for (uint32_t i = 0; i < PASTA_REDUCER_COUNT; i++) {
		for (uint32_t k = 0; i != PASTA_REDUCER_SITE && r->rows[i] && k < r->count[i]; k++)
			fold_row(s, i, &r->rows[i][k]);
		if (r->rows[i])
			fold_other(s, i, &r->rows[i][r->count[i]]);
	}
	if (s->image.reducers & PASTA_REDUCER_MASK(BLOCK))
		fold_blocks(s, r);
	if (!is_apart(r))
		each_page(s, r, add_page, (void *)s);
}
