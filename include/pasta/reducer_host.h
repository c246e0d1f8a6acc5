/*
 * reducer_host.h - runs a tool's own reducer on the host, for tests without a GPU.
 *
 *	#include <pasta/reducer_host.h>
 *	#include "pages.cu"
 *
 *	std::vector<struct pasta_reducer_row> rows = pasta_reducer_run(accesses, count);
 *
 * Needs C++17. A program has one reducer, and only one thread may run it. This header emulates the
 * lanes of a warp, which synchronize in __ballot_sync, __match_any_sync, __shfl_sync, __any_sync,
 * __all_sync and __syncwarp as on a device. If lanes deadlock, the program ends with a message.
 *Only a test on a device shows how many registers and how much stack nvcc uses.
 * docs/writing-a-reducer.md has an example.
 */
#ifndef PASTA_REDUCER_HOST_H
#define PASTA_REDUCER_HOST_H

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <utility>
#include <vector>

#include <pasta/gpu/gpu_host.h>

#define PASTA_REDUCER_SEES(spaces)                                                                 \
	static inline uint32_t pasta_reducer_sees(void)                                            \
	{                                                                                          \
		return pasta_gpu::SEES_##spaces;                                                   \
	}
static inline uint32_t pasta_reducer_sees(void);

#include <pasta/reducer.cuh>

/* A row, as in the event access_sum. With SITES, key0 is the field `site` of the access. */
struct pasta_reducer_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
};

namespace pasta_reducer_host
{
enum { ROWS = 65536 }; /* as on a device */

/* A request: what one instruction accesses in each lane of a warp. The access of an inactive lane
 * is NULL. */
struct request {
	const struct pasta_access *lanes[PASTA_WARP];
	uint32_t mask;
};

struct launch {
	std::vector<struct request> requests;
	struct pasta_gpu_table table;
};

inline uint32_t sees_bit(uint32_t space)
{
	if (space == PASTA_SPACE_PRIVATE)
		return pasta_gpu::SEES_LOCAL;
	return space < PASTA_SPACE_LOCAL ? pasta_gpu::SEES_GLOBAL : pasta_gpu::SEES_SHARED;
}

/* Returns whether access b belongs to the same request as access a. Both accesses must have the
 * same instruction, and the lane of b must come after the lane of a. */
inline bool is_together(const struct pasta_access *a, const struct pasta_access *b)
{
	return a->launch == b->launch && a->group == b->group && a->site == b->site &&
	       a->turn == b->turn && a->kind == b->kind && a->space == b->space &&
	       a->size == b->size && a->thread / PASTA_WARP == b->thread / PASTA_WARP &&
	       a->thread < b->thread;
}

inline std::vector<struct request> requests_of(const struct pasta_access *accesses, size_t count,
					       uint32_t sees)
{
	std::vector<struct request> all;
	const struct pasta_access *last = NULL;

	for (const struct pasta_access *a = accesses; a < accesses + count; a++) {
		if (!(a->kind & PASTA_ACCESS_ATOMIC) || !(sees & sees_bit(a->space)))
			continue;
		if (!last || !is_together(last, a))
			all.push_back({});
		all.back().lanes[a->thread % PASTA_WARP] = last = a;
		all.back().mask |= 1u << a->thread % PASTA_WARP;
	}
	return all;
}

/* All lanes process all requests. After each request, a lane waits for the other lanes. */
inline void run_lane(void *arg)
{
	struct launch *l = (struct launch *)arg;

	for (const struct request &r : l->requests) {
		const struct pasta_access *access = r.lanes[lane_id()];

		if (access) {
			struct pasta_reducer_access a = {};

			a.pc = access->site;
			a.addr = access->addr;
			a.size = access->size;
			a.kind = access->kind;
			a.space = access->space < PASTA_SPACE_LOCAL ? (uint32_t)PASTA_SPACE_GLOBAL
								    : access->space;
			a.mask = r.mask;
			a.lane = lane_id();
			a.block = access->group;
			a.thread = access->thread;
			a.table = &l->table;
			pasta_reducer_body(&a);
		}
		pasta_warp::meet(~0u, 0, pasta_warp::AFTER_CODE);
	}
}

typedef std::map<std::pair<uint64_t, uint64_t>, struct pasta_reducer_row> sums;

inline void add_row(sums *all, uint64_t key0, uint64_t key1, const struct pasta_gpu_row *from)
{
	struct pasta_reducer_row *to = &(*all)[{key0, key1}];

	to->key0 = key0;
	to->key1 = key1;
	to->loads += from->loads;
	to->stores += from->stores;
	to->bytes += from->bytes;
	to->extra += from->extra;
}

/* Adds up the sums of rows that have equal keys, as accelprof does. */
inline std::vector<struct pasta_reducer_row> rows_of(const struct pasta_gpu_table *t)
{
	const struct pasta_gpu_row *other = &t->rows[t->max];
	std::vector<struct pasta_reducer_row> rows;
	sums all;

	for (uint32_t i = 0; i < t->count && i < t->max; i++)
		add_row(&all, t->rows[i].key0, t->rows[i].key1, &t->rows[i]);
	if (other->loads || other->stores || other->bytes || other->extra)
		add_row(&all, PASTA_KEY_OTHER, PASTA_KEY_OTHER, other);
	for (const auto &row : all)
		rows.push_back(row.second);
	return rows;
}
} // namespace pasta_reducer_host

/*
 * Returns the rows of one launch, ordered by keys. Successive accesses form a request if they have
 * the same launch, group, site, turn, kind, size and space, and ascending threads of one warp.
 * Their lanes then call the reducer together. Thread n is lane n % 32. In the reducer, pc is the
 * access's site, block is its group, and the spaces CONSTANT and GENERIC are GLOBAL. Accesses to
 * spaces that PASTA_REDUCER does not name are ignored. The table has `max` rows, at most 65,536;
 * keys that do not fit are counted in one more row, with the keys PASTA_KEY_OTHER.
 */
static inline std::vector<struct pasta_reducer_row>
pasta_reducer_run(const struct pasta_access *accesses, size_t count,
		  uint32_t max = pasta_reducer_host::ROWS)
{
	struct pasta_reducer_host::launch l = {};
	std::vector<struct pasta_gpu_row> rows(max + 1);
	std::vector<uint32_t> index(2 * pasta_reducer_host::ROWS); /* never full */

	l.requests = pasta_reducer_host::requests_of(accesses, count, pasta_reducer_sees());
	l.table.index = index.data();
	l.table.rows = rows.data();
	l.table.mask = (uint32_t)index.size() - 1;
	l.table.max = max;
	warp_run({1, 1, 1}, {PASTA_WARP, 1, 1}, pasta_reducer_host::run_lane, &l);
	return pasta_reducer_host::rows_of(&l.table);
}

/* Returns the row with these two keys; if there is none, returns a row with all values 0. */
static inline struct pasta_reducer_row
pasta_reducer_find(const std::vector<struct pasta_reducer_row> &rows, uint64_t key0, uint64_t key1)
{
	for (const struct pasta_reducer_row &row : rows)
		if (row.key0 == key0 && row.key1 == key1)
			return row;
	return {key0, key1, 0, 0, 0, 0};
}

#endif
