/* requests.c - groups the accesses of one warp into requests, by site and number of visits to the
 * site. */
#include "reduce/requests.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX (UINT32_C(1) << 20)

/* -- Single requests -- */

/* Stores the first and the last sector of each active thread's access, sorted by the first sector.
 * Returns the number of these threads. */
static uint32_t request_spans(const struct pasta_request *r, uint64_t *first, uint64_t *last)
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

uint64_t pasta_request_sectors(const struct pasta_request *r)
{
	uint64_t first[PASTA_WARP], last[PASTA_WARP], sectors = 0, next = 0;
	uint32_t count = request_spans(r, first, last), i;

	for (i = 0; i < count; i++) {
		uint64_t from = first[i] > next ? first[i] : next;

		if (last[i] < from)
			continue;
		sectors += last[i] - from + 1;
		next = last[i] + 1;
	}
	return sectors;
}

static uint64_t request_bytes(const struct pasta_request *r)
{
	uint64_t bytes = 0;
	uint32_t lane;

	for (lane = 0; lane < PASTA_WARP; lane++)
		if (r->active >> lane & 1)
			bytes += pasta_access_bytes(r->kind, r->sizes[lane]);
	return bytes;
}

/* -- Open requests -- */

/* The table of open requests. Its index uses open addressing and is at most half full. A slot of
 * the index contains the number of a request plus 1. */
struct pasta_requests {
	struct pasta_rows *coalesce, *diverge;
	struct pasta_request *open;
	/* for each open request: the number of the visit to its site, and the request's slot in the
	 * index */
	uint32_t *turn, *slot;
	uint32_t *slots;
	uint32_t count, max, mask;
	uint32_t group, warp, lane, lanes;
	bool begun;
};

struct pasta_requests *pasta_requests_new(uint32_t count, struct pasta_rows *coalesce,
					  struct pasta_rows *diverge)
{
	struct pasta_requests *q;
	uint32_t slots = 16;

	if (!count || count > REQUESTS_MAX)
		return NULL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	while (slots < 2 * count)
		slots *= 2;
	*q = (struct pasta_requests){.coalesce = coalesce,
				     .diverge = diverge,
				     .max = count,
				     .mask = slots - 1,
				     .open = malloc(count * sizeof(*q->open)),
				     .turn = malloc(count * sizeof(*q->turn)),
				     .slot = malloc(count * sizeof(*q->slot)),
				     .slots = calloc(slots, sizeof(*q->slots))};
	if (!q->open || !q->turn || !q->slot || !q->slots) {
		pasta_requests_free(q);
		return NULL;
	}
	return q;
}

void pasta_requests_free(struct pasta_requests *q)
{
	if (!q)
		return;
	free(q->open);
	free(q->turn);
	free(q->slot);
	free(q->slots);
	free(q);
}

static void request_count(struct pasta_requests *q, const struct pasta_request *r)
{
	uint64_t bytes = request_bytes(r);
	uint32_t threads = (uint32_t)__builtin_popcount(r->active);

	if (!r->active)
		return;
	if (q->coalesce)
		pasta_row_count(pasta_rows_at(q->coalesce, r->site, 0), r->kind, bytes,
				pasta_request_sectors(r));
	if (q->diverge)
		pasta_row_count(pasta_rows_at(q->diverge, r->site, threads), r->kind, bytes,
				r->lanes);
}

void pasta_requests_close(struct pasta_requests *q)
{
	for (uint32_t i = 0; i < q->count; i++) {
		request_count(q, &q->open[i]);
		q->slots[q->slot[i]] = 0;
	}
	q->count = 0;
	q->begun = false;
}

void pasta_requests_thread(struct pasta_requests *q, uint32_t group, uint32_t thread, uint32_t size)
{
	uint32_t warp = thread / PASTA_WARP, lane = thread % PASTA_WARP;
	uint32_t left = size > warp * PASTA_WARP ? size - warp * PASTA_WARP : 0;

	if (q->begun && (group != q->group || warp != q->warp || lane <= q->lane))
		pasta_requests_close(q);
	q->begun = true;
	q->group = group;
	q->warp = warp;
	q->lane = lane;
	/* A thread-block size that is too small to include this thread is ignored. */
	q->lanes = left < PASTA_WARP && left > lane ? left : PASTA_WARP;
}

/* Returns the open request for visit number `turn` to a site, and creates the request if necessary.
 * Returns NULL if there is no room. */
static struct pasta_request *requests_get(struct pasta_requests *q, uint64_t site, uint32_t turn,
					  uint32_t kind)
{
	uint32_t i = pasta_rows_hash(site, turn) & q->mask, at;

	for (; q->slots[i]; i = (i + 1) & q->mask) {
		at = q->slots[i] - 1;
		if (q->open[at].site == site && q->turn[at] == turn && q->open[at].kind == kind)
			return &q->open[at];
	}
	if (q->count == q->max)
		return NULL;
	at = q->count++;
	q->slots[i] = at + 1;
	q->slot[at] = i;
	q->turn[at] = turn;
	q->open[at].site = site;
	q->open[at].kind = kind;
	q->open[at].active = 0;
	return &q->open[at];
}

static void requests_count_other(struct pasta_rows *t, uint32_t kind, uint32_t size)
{
	if (t)
		pasta_row_count(pasta_rows_other(t), kind, pasta_access_bytes(kind, size), 0);
}

void pasta_requests_exclude(struct pasta_requests *q, uint32_t size, uint32_t kind)
{
	requests_count_other(q->coalesce, kind, size);
	requests_count_other(q->diverge, kind, size);
}

void pasta_requests_add(struct pasta_requests *q, uint64_t site, uint32_t turn, uint64_t addr,
			uint32_t size, uint32_t kind)
{
	struct pasta_request *r = requests_get(q, site, turn, kind);

	if (!r) {
		pasta_requests_exclude(q, size, kind);
		return;
	}
	if (r->active >> q->lane & 1) {
		request_count(q, r);
		r->active = 0;
	}
	r->active |= 1u << q->lane;
	r->lanes = q->lanes;
	r->sizes[q->lane] = size;
	r->addrs[q->lane] = addr;
}
