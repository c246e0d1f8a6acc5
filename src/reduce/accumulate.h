/*
 * accumulate.h - how accesses are counted: one text for the host and for CUDA.
 *
 * On the host a table is one thread's, and adding is adding; on a device all threads share a table,
 * and adding is atomic. Nothing here allocates, waits for another table or fails: what finds no
 * room is counted in the table's last row.
 */
#ifndef PASTA_REDUCE_ACCUMULATE_H
#define PASTA_REDUCE_ACCUMULATE_H

#include <pasta/device.h>

#ifdef __CUDACC__
#define PASTA_DEV static __host__ __device__ __forceinline__
#else
#define PASTA_DEV static inline
#endif

#ifdef __CUDA_ARCH__
#define PASTA_ADD64(p, n) ((void)atomicAdd((unsigned long long *)(p), (unsigned long long)(n)))
#define PASTA_TAKE32(p) atomicAdd((p), 1u)
#define PASTA_CLAIM32(p, was, is) atomicCAS((p), (was), (is))
#define PASTA_READ32(p) (*(const volatile uint32_t *)(p))
#define PASTA_READ64(p) (*(const volatile uint64_t *)(p))
#define PASTA_FENCE() __threadfence()
#else
#define PASTA_ADD64(p, n) ((void)(*(p) += (n)))
#define PASTA_TAKE32(p) ((*(p))++)
#define PASTA_CLAIM32(p, was, is) pasta_claim32((p), (was), (is))
#define PASTA_READ32(p) (*(p))
#define PASTA_READ64(p) (*(p))
#define PASTA_FENCE() ((void)0)
#endif

#ifndef __CUDA_ARCH__
static inline uint32_t pasta_claim32(uint32_t *p, uint32_t was, uint32_t is)
{
	uint32_t old = *p;

	if (old == was)
		*p = is;
	return old;
}
#endif

enum pasta_row_state { PASTA_ROW_EMPTY, PASTA_ROW_BUSY, PASTA_ROW_READY };

struct pasta_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
	uint32_t state;
	uint32_t stamp, turn; /* the host's: how often a thread was at this site */
	uint32_t reserved;
};

/* Open addressing. rows has mask + 2 of them: the last one is of what had no room. */
struct pasta_rows {
	struct pasta_row *rows;
	uint32_t *used; /* which rows are not empty, count of them; there is room for mask + 1 */
	uint32_t mask, max;
	uint32_t count, reserved;
};

PASTA_DEV uint32_t pasta_rows_hash(uint64_t key0, uint64_t key1)
{
	uint64_t h = key0 * UINT64_C(0x9e3779b97f4a7c15) + key1 * UINT64_C(0xd6e8feb86659fd93);

	h ^= h >> 32;
	return (uint32_t)(h * UINT64_C(0xd6e8feb86659fd93) >> 32);
}

PASTA_DEV struct pasta_row *pasta_rows_other(const struct pasta_rows *t)
{
	return &t->rows[t->mask + 1];
}

/* Whether the row at i is the caller's: it was empty, or had the key. A thread may wait here for
 * another of its warp: devices from sm_70 on let each of them go on. */
PASTA_DEV int pasta_rows_try(struct pasta_rows *t, uint32_t i, uint64_t key0, uint64_t key1)
{
	struct pasta_row *row = &t->rows[i];
	uint32_t state = PASTA_CLAIM32(&row->state, PASTA_ROW_EMPTY, PASTA_ROW_BUSY);

	if (state == PASTA_ROW_EMPTY) {
		row->key0 = key0;
		row->key1 = key1;
		t->used[PASTA_TAKE32(&t->count)] = i;
		PASTA_FENCE();
		*(volatile uint32_t *)&row->state = PASTA_ROW_READY;
		return 1;
	}
	while (state == PASTA_ROW_BUSY)
		state = PASTA_READ32(&row->state);
	PASTA_FENCE();
	return PASTA_READ64(&row->key0) == key0 && PASTA_READ64(&row->key1) == key1;
}

/* The row of a key, made if there is none; where there is no room, the last one. */
PASTA_DEV struct pasta_row *pasta_rows_at(struct pasta_rows *t, uint64_t key0, uint64_t key1)
{
	uint32_t i = pasta_rows_hash(key0, key1) & t->mask, tries;

	for (tries = 0; tries <= t->mask; tries++, i = (i + 1) & t->mask) {
		if (PASTA_READ32(&t->rows[i].state) == PASTA_ROW_EMPTY &&
		    PASTA_READ32(&t->count) >= t->max)
			break;
		if (pasta_rows_try(t, i, key0, key1))
			return &t->rows[i];
	}
	return pasta_rows_other(t);
}

/* Bytes that an access moves: an atomic moves them to and fro. */
PASTA_DEV uint64_t pasta_access_bytes(uint32_t kind, uint32_t size)
{
	return (uint64_t)size << (kind == PASTA_ACCESS_ATOMIC);
}

/* Whether an access reaches beyond last, the last byte of what its first byte is in. The sum of
 * address and size is never made: it may wrap. */
PASTA_DEV uint32_t pasta_access_crosses(uint64_t addr, uint32_t size, uint64_t last)
{
	return size && size - 1 > last - addr;
}

PASTA_DEV void pasta_row_count(struct pasta_row *row, uint32_t kind, uint64_t bytes, uint64_t extra)
{
	if (kind & PASTA_ACCESS_LOAD)
		PASTA_ADD64(&row->loads, 1);
	if (kind & PASTA_ACCESS_STORE)
		PASTA_ADD64(&row->stores, 1);
	if (bytes)
		PASTA_ADD64(&row->bytes, bytes);
	if (extra)
		PASTA_ADD64(&row->extra, extra);
}

/* -- An access: crosses is whether it reaches out of its object. -- */

PASTA_DEV void pasta_count_object(struct pasta_rows *t, uint64_t object, uint32_t kind,
				  uint32_t size, uint32_t crosses)
{
	pasta_row_count(pasta_rows_at(t, object, 0), kind, pasta_access_bytes(kind, size), crosses);
}

PASTA_DEV void pasta_count_page(struct pasta_rows *t, uint32_t shift, uint64_t addr, uint32_t kind,
				uint32_t size)
{
	uint64_t page = addr >> shift << shift;
	uint64_t last = page + ((UINT64_C(1) << shift) - 1);

	pasta_row_count(pasta_rows_at(t, page, 0), kind, pasta_access_bytes(kind, size),
			pasta_access_crosses(addr, size, last));
}

PASTA_DEV struct pasta_row *pasta_count_site(struct pasta_rows *t, uint64_t site, uint32_t kind,
					     uint32_t size, uint32_t crosses)
{
	struct pasta_row *row = pasta_rows_at(t, site, 0);

	pasta_row_count(row, kind, pasta_access_bytes(kind, size), crosses);
	return row;
}

PASTA_DEV void pasta_count_site_object(struct pasta_rows *t, uint64_t site, uint64_t object,
				       uint32_t kind, uint32_t size, uint32_t crosses)
{
	pasta_row_count(pasta_rows_at(t, site, object), kind, pasta_access_bytes(kind, size),
			crosses);
}

/* -- A request: what the active threads of a warp access together. -- */

struct pasta_request {
	uint64_t site;
	uint32_t active; /* a bit a thread */
	uint32_t lanes;	 /* threads that the warp has */
	uint32_t kind;
	uint32_t sizes[PASTA_WARP];
	uint64_t addrs[PASTA_WARP];
};

PASTA_DEV uint32_t pasta_bits(uint32_t mask)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popc(mask);
#else
	return (uint32_t)__builtin_popcount(mask);
#endif
}

/* The sectors of the active threads' bytes, first and last, in order of the first. */
PASTA_DEV uint32_t pasta_request_spans(const struct pasta_request *r, uint64_t *first,
				       uint64_t *last)
{
	uint32_t count = 0, lane, at;

	for (lane = 0; lane < PASTA_WARP; lane++) {
		uint64_t addr = r->addrs[lane], end = addr + r->sizes[lane] - 1;
		uint64_t sector = addr / PASTA_SECTOR;

		if (!(r->active >> lane & 1) || !r->sizes[lane])
			continue;
		for (at = count++; at && first[at - 1] > sector; at--) {
			first[at] = first[at - 1];
			last[at] = last[at - 1];
		}
		first[at] = sector;
		last[at] = (end < addr ? UINT64_MAX : end) / PASTA_SECTOR;
	}
	return count;
}

/* How many different sectors the active threads touch. */
PASTA_DEV uint64_t pasta_request_sectors(const struct pasta_request *r)
{
	uint64_t first[PASTA_WARP], last[PASTA_WARP], sectors = 0, next = 0;
	uint32_t count = pasta_request_spans(r, first, last), i;

	for (i = 0; i < count; i++) {
		uint64_t from = first[i] > next ? first[i] : next;

		if (last[i] < from)
			continue;
		sectors += last[i] - from + 1;
		next = last[i] + 1;
	}
	return sectors;
}

PASTA_DEV uint64_t pasta_request_bytes(const struct pasta_request *r)
{
	uint64_t bytes = 0;
	uint32_t lane;

	for (lane = 0; lane < PASTA_WARP; lane++)
		if (r->active >> lane & 1)
			bytes += pasta_access_bytes(r->kind, r->sizes[lane]);
	return bytes;
}

PASTA_DEV void pasta_count_coalesce(struct pasta_rows *t, const struct pasta_request *r)
{
	pasta_row_count(pasta_rows_at(t, r->site, 0), r->kind, pasta_request_bytes(r),
			pasta_request_sectors(r));
}

PASTA_DEV void pasta_count_diverge(struct pasta_rows *t, const struct pasta_request *r)
{
	pasta_row_count(pasta_rows_at(t, r->site, pasta_bits(r->active)), r->kind,
			pasta_request_bytes(r), r->lanes);
}

#endif
