/* reduce_oracle.c - the same accesses, counted on the host, and what differs. */
#include "gpu/reduce_oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/cpu.h"

enum { LINES = 1 << 18, SHOWN = 8 };

struct oracle {
	struct pasta_objects *objects;
	const struct pasta_version *version;
	struct pasta_object_part *parts;
	uint32_t count;
};

struct line {
	uint32_t reducer;
	uint64_t key0, key1;
	uint64_t counts[4]; /* loads, stores, bytes, extra */
	uint64_t written;
	bool unsplit;
};

struct lines {
	struct line *lines;
	size_t count;
};

static void need(bool what, const char *why)
{
	if (what)
		return;
	fprintf(stderr, "reduce_oracle: %s\n", why);
	exit(1);
}

struct oracle *oracle_new(uint32_t objects)
{
	struct oracle *o = calloc(1, sizeof(*o));
	uint64_t addr = UINT64_C(0x7f0000000000);

	need(o, "no memory");
	o->objects = pasta_objects_new(0);
	o->parts = calloc((size_t)objects + 1, sizeof(*o->parts));
	need(o->objects && o->parts, "no memory");
	for (uint32_t i = 0; i < objects; i++) {
		uint64_t size = i % 5 ? 1 + i * UINT64_C(7919) % 20000 : 3 + i % 2;

		need(!pasta_objects_add(o->objects, addr, size, PASTA_OBJECT_FIRST + i),
		     "an object is refused");
		addr += size + (i % 3 ? i * UINT64_C(104729) % 300 : 0);
	}
	o->version = pasta_objects_pin(o->objects);
	o->count = objects;
	need(pasta_version_parts(o->version, o->parts, objects) == objects, "objects are missing");
	return o;
}

void oracle_free(struct oracle *o)
{
	if (!o)
		return;
	pasta_objects_unpin(o->version);
	pasta_objects_free(o->objects);
	free(o->parts);
	free(o);
}

void oracle_parts(const struct oracle *o, struct pasta_gpu_part *parts)
{
	for (uint32_t i = 0; i < o->count; i++)
		parts[i] = (struct pasta_gpu_part){.begin = o->parts[i].begin,
						   .last = o->parts[i].last,
						   .base = PASTA_GPU_FAR};
}

/* -- Lines -- */

static void add_line(struct lines *to, uint32_t reducer, uint64_t key0, uint64_t key1,
		     const uint64_t counts[4], uint64_t written)
{
	struct line *line = &to->lines[to->count];

	if (!counts[0] && !counts[1])
		return;
	need(to->count++ < LINES, "too many rows");
	*line = (struct line){.reducer = reducer,
			      .key0 = key0,
			      .key1 = key1,
			      .written = written,
			      .unsplit = written == PASTA_GPU_UNSPLIT};
	memcpy(line->counts, counts, sizeof(line->counts));
}

static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->reducer != y->reducer)
		return x->reducer < y->reducer ? -1 : 1;
	if (x->key0 != y->key0)
		return x->key0 < y->key0 ? -1 : 1;
	return x->key1 < y->key1 ? -1 : x->key1 > y->key1;
}

/* Sorted, and those of the same key added up. */
static void add_up(struct lines *l, bool totals)
{
	size_t n = 0;

	for (size_t i = 0; totals && i < l->count; i++)
		l->lines[i].key0 = l->lines[i].key1 = 0;
	qsort(l->lines, l->count, sizeof(*l->lines), by_key);
	for (size_t i = 0; i < l->count; i++) {
		if (!n || by_key(&l->lines[n - 1], &l->lines[i])) {
			l->lines[n++] = l->lines[i];
			continue;
		}
		for (int k = 0; k < 4; k++)
			l->lines[n - 1].counts[k] += l->lines[i].counts[k];
		l->lines[n - 1].written += l->lines[i].written;
		l->lines[n - 1].unsplit |= l->lines[i].unsplit;
	}
	l->count = n;
}

/* Returns the number of the object that owns a part. */
static uint64_t object_of(const struct oracle *o, uint64_t part)
{
	if (part < o->count)
		return o->parts[part].object;
	return part == PASTA_GPU_NOWHERE(o->count) ? PASTA_OBJECT_NONE : part - o->count - 1;
}

static void read_counts(const struct oracle *o, const struct pasta_gpu_launch *l, struct lines *to)
{
	for (uint32_t k = 0; k < PASTA_GPU_PARTS(o->count) << l->spread; k++) {
		const uint64_t *c = l->counts + (size_t)k * PASTA_GPU_COUNTERS;
		uint64_t counts[4] = {c[PASTA_GPU_LOADS], c[PASTA_GPU_STORES], c[PASTA_GPU_BYTES],
				      c[PASTA_GPU_CROSS]};

		for (uint32_t i = 0; i < PASTA_GPU_LOADS; i++) {
			uint32_t kind = i / PASTA_GPU_SIZES + 1;

			counts[0] += kind & PASTA_ACCESS_LOAD ? c[i] : 0;
			counts[1] += kind & PASTA_ACCESS_STORE ? c[i] : 0;
			counts[2] += c[i] * pasta_access_bytes(kind, 1u << i % PASTA_GPU_SIZES);
		}
		add_line(to, PASTA_REDUCER_OBJECT, object_of(o, k >> l->spread), 0, counts,
			 pasta_gpu_part_written(c));
	}
}

static void read_table(const struct oracle *o, const struct pasta_gpu_launch *l, uint32_t reducer,
		       struct lines *to)
{
	const struct pasta_gpu_table *t = &l->tables[reducer];
	uint32_t rows = t->count < t->max ? t->count : t->max;

	for (uint32_t i = 0; i <= rows; i++) {
		const struct pasta_gpu_row *row = &t->rows[i < rows ? i : t->max];
		uint64_t key0 = reducer == PASTA_REDUCER_PAGE ? row->key0 : row->key0 - l->base;
		uint64_t key1 =
			reducer == PASTA_REDUCER_SITE_OBJECT ? object_of(o, row->key1) : row->key1;

		/* What it does, and where: the host has one row for all. */
		if (reducer == PASTA_REDUCER_SITE || reducer == PASTA_REDUCER_COALESCE)
			key1 = 0;
		if (reducer == PASTA_REDUCER_DIVERGE)
			key1 = PASTA_GPU_THREADS(row->key1);
		if (i == rows)
			key0 = key1 = PASTA_KEY_OTHER;
		add_line(to, reducer, key0, key1,
			 (uint64_t[]){row->loads, row->stores, row->bytes, row->extra},
			 pasta_gpu_written(i < rows ? reducer : 0, row));
	}
}

/* Pages that have sums of their own. Unmarked pages are skipped. */
static void read_pages(const struct oracle *o, const struct pasta_gpu_launch *l, struct lines *to)
{
	for (uint32_t i = 0; i < o->count; i++) {
		uint64_t page = o->parts[i].begin >> l->page_shift;
		uint64_t last = o->parts[i].last >> l->page_shift;

		uint32_t base = PASTA_GPU_PARTS_OF(l)[i].base;

		for (; base != PASTA_GPU_FAR && page <= last; page++) {
			uint32_t number = (uint32_t)page + base;
			const struct pasta_gpu_sums *s = &l->pages.sums[number];

			need(number < l->page_count, "a page has no sums");
			if (l->pages.marks[number >> PASTA_GPU_STRETCH])
				add_line(to, PASTA_REDUCER_PAGE, page << l->page_shift, 0,
					 (uint64_t[]){s->loads, s->stores, s->bytes, s->extra},
					 PASTA_GPU_UNSPLIT);
		}
	}
}

static int keep(void *arg, enum pasta_reducer reducer, const struct pasta_row *row)
{
	add_line(arg, reducer, row->key0, row->key1,
		 (uint64_t[]){row->loads, row->stores, row->bytes, row->extra}, row->written);
	return 0;
}

static void read_host(const struct oracle *o, uint32_t reducers, const struct pasta_access *records,
		      size_t count, uint32_t group_size, struct lines *to)
{
	struct pasta_error err = {0};
	struct pasta_cpu *cpu = pasta_cpu_new(
		&(struct pasta_cpu_config){.reducers = reducers, .rows = 1 << 16}, &err);
	struct pasta_sums *sums = pasta_sums_new(reducers, 1 << 17);
	size_t bad = 0;

	need(cpu && sums, "no memory for tables");
	pasta_cpu_launch(cpu, o->version, 0, group_size);
	need(pasta_cpu_batch(cpu, records, count, &bad) == count, "records of another launch");
	need(!bad, "records that are no accesses");
	pasta_cpu_drain(cpu, sums);
	need(!pasta_sums_each(sums, keep, to), "no memory for rows");
	pasta_sums_free(sums);
	pasta_cpu_free(cpu);
}

/* -- What differs -- */

static void show(const char *who, const struct line *l)
{
	printf("  %s: reducer %u, %#" PRIx64 " %#" PRIx64 ": %" PRIu64 " loads, %" PRIu64
	       " stores, %" PRIu64 " bytes, extra %" PRIu64 ", %" PRIu64 " written%s\n",
	       who, l->reducer, l->key0, l->key1, l->counts[0], l->counts[1], l->counts[2],
	       l->counts[3], l->written, l->unsplit ? " (unknown)" : "");
}

static size_t differences(const struct lines *device, const struct lines *host)
{
	size_t i = 0, k = 0, found = 0;

	while (i < device->count || k < host->count) {
		const struct line *d = &device->lines[i], *h = &host->lines[k];
		int order = i == device->count ? 1 : k == host->count ? -1 : by_key(d, h);
		bool same = !order && !memcmp(d->counts, h->counts, sizeof(d->counts)) &&
			    (d->unsplit || d->written == h->written);

		i += order <= 0;
		k += order >= 0;
		if (same || found++ >= SHOWN)
			continue;
		if (order <= 0)
			show("device", d);
		if (order >= 0)
			show("host", h);
	}
	return found;
}

size_t oracle_compare(struct oracle *o, const struct pasta_gpu_launch *launch, uint32_t reducers,
		      const struct pasta_access *records, size_t count, uint32_t group_size,
		      bool totals)
{
	struct lines device = {malloc(LINES * sizeof(struct line)), 0};
	struct lines host = {malloc(LINES * sizeof(struct line)), 0};
	size_t found;

	need(device.lines && host.lines, "no memory for rows");
	if (reducers & PASTA_REDUCER_MASK(OBJECT))
		read_counts(o, launch, &device);
	for (uint32_t i = PASTA_REDUCER_PAGE; i <= PASTA_REDUCER_DIVERGE; i++)
		if (reducers >> i & 1)
			read_table(o, launch, i, &device);
	if (reducers & PASTA_REDUCER_MASK(PAGE))
		read_pages(o, launch, &device);
	read_host(o, reducers, records, count, group_size, &host);
	add_up(&device, totals);
	add_up(&host, totals);
	found = differences(&device, &host);
	free(device.lines);
	free(host.lines);
	return found;
}
