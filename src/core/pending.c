/* pending.c - what waits for its other half, by process and correlation, the oldest first to go. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

/*
 * Entries lie in chunks, each twice as big as the one before, and never move; those that wait are
 * in a list, the oldest first. The index has chains: a slot holds the number of the first entry,
 * from 1, or 0.
 */
#define CHUNK_SHIFT 6 /* the first chunk's entries */
#define CHUNKS (32 - CHUNK_SHIFT)
#define ENTRIES_MAX ((UINT32_C(1) << 31) - 1)
#define RUN 4 /* bits of a correlation: so many neighbours share a line of the index */

struct entry {
	uint64_t corr;
	uint32_t proc;
	uint32_t next; /* in its chain, or of the free */
	uint32_t older, younger;
	/* the value follows */
};

struct pasta_pending {
	size_t stride, limit, count;
	char *chunks[CHUNKS];
	uint32_t *index;
	uint32_t mask;	  /* slots - 1 */
	uint32_t entries; /* that were ever used */
	uint32_t free, oldest, youngest;
};

static struct entry *entry_at(const struct pasta_pending *p, uint32_t number)
{
	uint32_t n = ((number - 1) >> CHUNK_SHIFT) + 1;
	unsigned int chunk = 31u - (unsigned int)__builtin_clz(n);
	uint32_t first = ((UINT32_C(1) << chunk) - 1) << CHUNK_SHIFT;

	return (struct entry *)(p->chunks[chunk] + (number - 1 - first) * p->stride);
}

/* Correlations are mostly counted up: neighbours lie side by side, and runs of them anywhere. */
static uint32_t home_of(const struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint64_t key = (corr >> RUN) + proc * UINT64_C(0x9e3779b97f4a7c15);

	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((key >> 32 << RUN) | (corr & ((1 << RUN) - 1))) & p->mask;
}

struct pasta_pending *pasta_pending_new(size_t value_size, size_t limit)
{
	struct pasta_pending *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->stride = (sizeof(struct entry) + value_size + 7) & ~(size_t)7;
	p->limit = !limit ? 1 : limit < ENTRIES_MAX / 2 ? limit : ENTRIES_MAX / 2;
	p->mask = (UINT32_C(4) << CHUNK_SHIFT) - 1;
	p->index = calloc((size_t)p->mask + 1, sizeof(*p->index));
	if (!p->index) {
		free(p);
		return NULL;
	}
	return p;
}

void pasta_pending_free(struct pasta_pending *p)
{
	unsigned int i;

	if (!p)
		return;
	for (i = 0; i < CHUNKS; i++)
		free(p->chunks[i]);
	free(p->index);
	free(p);
}

/* Where the key's number is written: in the index or in the entry before it; 0 is written there if
 * it has none. */
static uint32_t *link_of(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint32_t *link = &p->index[home_of(p, proc, corr)];

	while (*link) {
		struct entry *e = entry_at(p, *link);

		if (e->corr == corr && e->proc == proc)
			break;
		link = &e->next;
	}
	return link;
}

/* Keep chains short. */
static bool grow_index(struct pasta_pending *p)
{
	uint32_t mask = p->mask * 2 + 1, number;
	uint32_t *index;

	if (p->count < p->mask / 2)
		return true;
	index = calloc((size_t)mask + 1, sizeof(*index));
	if (!index)
		return false;
	free(p->index);
	p->index = index;
	p->mask = mask;
	for (number = p->oldest; number; number = entry_at(p, number)->younger) {
		struct entry *e = entry_at(p, number);
		uint32_t home = home_of(p, e->proc, e->corr);

		e->next = index[home];
		index[home] = number;
	}
	return true;
}

/* The number of an entry that is free; 0 when out of memory. */
static uint32_t take(struct pasta_pending *p)
{
	uint32_t number = p->free, n = (p->entries >> CHUNK_SHIFT) + 1;
	unsigned int chunk = 31u - (unsigned int)__builtin_clz(n);

	if (number) {
		p->free = entry_at(p, number)->next;
		return number;
	}
	if (!p->chunks[chunk])
		p->chunks[chunk] = malloc(((size_t)1 << (chunk + CHUNK_SHIFT)) * p->stride);
	return p->chunks[chunk] ? ++p->entries : 0;
}

static void drop(struct pasta_pending *p, uint32_t *link)
{
	uint32_t number = *link;
	struct entry *e = entry_at(p, number);

	*link = e->next;
	*(e->older ? &entry_at(p, e->older)->younger : &p->oldest) = e->younger;
	*(e->younger ? &entry_at(p, e->younger)->older : &p->youngest) = e->older;
	e->next = p->free;
	p->free = number;
	p->count--;
}

void *pasta_pending_find(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint32_t number = p->count ? *link_of(p, proc, corr) : 0;

	return number ? entry_at(p, number) + 1 : NULL;
}

static void drop_oldest(struct pasta_pending *p)
{
	const struct entry *e = entry_at(p, p->oldest);

	drop(p, link_of(p, e->proc, e->corr));
}

void *pasta_pending_add(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint32_t number = *link_of(p, proc, corr), home;
	struct entry *e;

	if (number)
		return entry_at(p, number) + 1;
	if (p->count == p->limit)
		drop_oldest(p);
	number = grow_index(p) ? take(p) : 0;
	if (!number)
		return NULL;
	home = home_of(p, proc, corr);
	e = entry_at(p, number);
	memset(e, 0, p->stride);
	e->corr = corr;
	e->proc = proc;
	e->next = p->index[home];
	p->index[home] = number;
	e->older = p->youngest;
	*(p->youngest ? &entry_at(p, p->youngest)->younger : &p->oldest) = number;
	p->youngest = number;
	p->count++;
	return e + 1;
}

void pasta_pending_remove(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint32_t *link = link_of(p, proc, corr);

	if (*link)
		drop(p, link);
}

size_t pasta_pending_count(const struct pasta_pending *p)
{
	return p->count;
}
