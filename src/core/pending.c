/* pending.c - stores values by process and correlation id until a matching event arrives. If there
 * are too many values, drops the oldest. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/pending.h"

/*
 * Entries are allocated in chunks, each twice as large as the one before, and never move. Entries
 * in use form a list, with the oldest first. The index is a hash table with chaining.
 */
#define CHUNK_SHIFT 6 /* log2 of the number of entries in the first chunk */
#define CHUNKS (32 - CHUNK_SHIFT)
#define ENTRIES_MAX ((UINT32_C(1) << 31) - 1)
/* Correlation ids that differ only in this number of low bits get neighbouring slots of the
 * index. */
#define RUN 12

struct entry {
	uint64_t corr;
	uint32_t proc, unused;
	struct entry *next; /* the next entry in the same chain, or in the list of free entries */
	/* Address of the pointer to this entry. That pointer is in the index or in the previous
	 * entry of the chain. NULL: this entry is free. */
	struct entry **link;
	struct entry *older, *younger;
	/* the value follows */
};

struct pasta_pending {
	size_t stride, limit, count;
	struct entry **index;
	uint32_t mask; /* slots - 1 */
	struct entry *free, *oldest, *youngest;
	char *fresh; /* entries of the last chunk that have not been used yet */
	size_t fresh_count;
	char *chunks[CHUNKS];
	unsigned int chunk_count;
};

/* Correlation ids are mostly consecutive. Ids of one process that are close together form a group.
 * The ids of a group get neighbouring slots, and never share a chain. The groups are spread over
 * the index. */
static uint32_t pending_hash(uint32_t proc, uint64_t corr)
{
	uint64_t key = (corr >> RUN) ^ (uint64_t)proc << 32 ^ UINT64_C(0x9e3779b97f4a7c15);
	unsigned __int128 product = (unsigned __int128)key * UINT64_C(0xd6e8feb86659fd93);

	return (uint32_t)((uint64_t)(product >> 64) ^ (uint64_t)product) + (uint32_t)corr;
}

struct pasta_pending *pasta_pending_new(size_t value_size, size_t limit)
{
	struct pasta_pending *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->stride = (sizeof(struct entry) + value_size + 7) & ~(size_t)7;
	p->limit = !limit ? 1 : limit < ENTRIES_MAX / 2 ? limit : ENTRIES_MAX / 2;
	p->mask = (UINT32_C(2) << CHUNK_SHIFT) - 1;
	p->index = calloc((size_t)p->mask + 1, sizeof(struct entry *));
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
	for (i = 0; i < p->chunk_count; i++)
		free(p->chunks[i]);
	free(p->index);
	free(p);
}

/* `home` must be the result of pending_hash for the key. */
static struct entry *pending_find(const struct pasta_pending *p, uint32_t home, uint32_t proc,
				  uint64_t corr)
{
	struct entry *e = p->index[home & p->mask];

	while (e && (e->corr != corr || e->proc != proc))
		e = e->next;
	return e;
}

static void pending_link(struct pasta_pending *p, uint32_t home, struct entry *e)
{
	struct entry **link = &p->index[home & p->mask];

	e->next = *link;
	e->link = link;
	if (e->next)
		e->next->link = &e->next;
	*link = e;
}

/* Doubles the size of the index, so that chains remain short. Returns false when out of memory. */
__attribute__((noinline)) static bool pending_grow_index(struct pasta_pending *p)
{
	uint32_t mask = p->mask * 2 + 1;
	struct entry **index, *e;

	index = calloc((size_t)mask + 1, sizeof(*index));
	if (!index)
		return false;
	free(p->index);
	p->index = index;
	p->mask = mask;
	for (e = p->oldest; e; e = e->younger)
		pending_link(p, pending_hash(e->proc, e->corr), e);
	return true;
}

static bool pending_add_chunk(struct pasta_pending *p)
{
	size_t count = (size_t)1 << (p->chunk_count + CHUNK_SHIFT);
	char *chunk = p->chunk_count < CHUNKS ? malloc(count * p->stride) : NULL;

	if (!chunk)
		return false;
	p->chunks[p->chunk_count++] = p->fresh = chunk;
	p->fresh_count = count;
	return true;
}

/* Returns a free entry, or NULL when out of memory. */
static struct entry *pending_acquire(struct pasta_pending *p)
{
	struct entry *e = p->free;

	if (e) {
		p->free = e->next;
		return e;
	}
	if (!p->fresh_count && !pending_add_chunk(p))
		return NULL;
	e = (struct entry *)p->fresh;
	p->fresh += p->stride;
	p->fresh_count--;
	return e;
}

static void pending_unlink(struct pasta_pending *p, struct entry *e)
{
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	*(e->older ? &e->older->younger : &p->oldest) = e->younger;
	*(e->younger ? &e->younger->older : &p->youngest) = e->older;
	e->link = NULL;
	e->next = p->free;
	p->free = e;
	p->count--;
}

void *pasta_pending_find(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	struct entry *e = p->count ? pending_find(p, pending_hash(proc, corr), proc, corr) : NULL;

	return e ? e + 1 : NULL;
}

/* Adds an entry for a key that has no entry. If there are `limit` entries already, drops the oldest
 * one. */
static inline struct entry *pending_make(struct pasta_pending *p, uint32_t home, uint32_t proc,
					 uint64_t corr)
{
	struct entry *e;

	if (p->count == p->limit)
		pending_unlink(p, p->oldest);
	e = p->count < p->mask / 2 || pending_grow_index(p) ? pending_acquire(p) : NULL;
	if (!e)
		return NULL;
	e->corr = corr;
	e->proc = proc;
	pending_link(p, home, e);
	e->older = p->youngest;
	e->younger = NULL;
	*(p->youngest ? &p->youngest->younger : &p->oldest) = e;
	p->youngest = e;
	p->count++;
	return e;
}

void *pasta_pending_add(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint32_t home = pending_hash(proc, corr);
	struct entry *e = pending_find(p, home, proc, corr);

	if (e)
		return e + 1;
	e = pending_make(p, home, proc, corr);
	return e ? memset(e + 1, 0, p->stride - sizeof(*e)) : NULL;
}

void *pasta_pending_renew(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	uint32_t home = pending_hash(proc, corr);
	struct entry *e = pending_find(p, home, proc, corr);

	if (e)
		pending_unlink(p, e);
	e = pending_make(p, home, proc, corr);
	return e ? e + 1 : NULL;
}

void pasta_pending_drop(struct pasta_pending *p, void *value)
{
	pending_unlink(p, (struct entry *)value - 1);
}

bool pasta_pending_is(const void *value, uint32_t proc, uint64_t corr)
{
	const struct entry *e = (const struct entry *)value - 1;

	return e->link && e->corr == corr && e->proc == proc;
}

void *pasta_pending_oldest(const struct pasta_pending *p, uint32_t *proc, uint64_t *corr)
{
	struct entry *e = p->oldest;

	if (!e)
		return NULL;
	*proc = e->proc;
	*corr = e->corr;
	return e + 1;
}

bool pasta_pending_full(const struct pasta_pending *p)
{
	return p->count == p->limit;
}

void pasta_pending_remove(struct pasta_pending *p, uint32_t proc, uint64_t corr)
{
	struct entry *e = pending_find(p, pending_hash(proc, corr), proc, corr);

	if (e)
		pending_unlink(p, e);
}

size_t pasta_pending_count(const struct pasta_pending *p)
{
	return p->count;
}
