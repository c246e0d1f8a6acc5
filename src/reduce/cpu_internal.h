/* cpu_internal.h - declares the private state of reducers on the host. Only cpu.c and cpucount.c
 * use this state. */
#ifndef PASTA_REDUCE_CPU_INTERNAL_H
#define PASTA_REDUCE_CPU_INTERNAL_H

#include "reduce/cpu.h"
#include "reduce/requests.h"

/* The index starts with SLOTS_LEAST slots, and grows so that at most a quarter of its slots is
 * used. */
enum { SLOTS_LEAST = 1024, SPARSE = 4, WIDE_SLOTS = 4096 };
#define BY_REQUEST (PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE))
#define BY_SITE (PASTA_REDUCER_MASK(SITE) | BY_REQUEST)

struct pasta_cpu_inside {
	const struct pasta_version *version;
	/* The number of the object table's version to which the rows by page and object belong. */
	uint64_t number;
	/* The maximum number of index slots, the maximum number of rows by page and object, and the
	 * number of such rows in use. */
	uint32_t slots, max, count;
	uint32_t cell_shift; /* log2 of the maximum size of a cell's address range */
	/* index by key, of cells that cover whole objects; NULL if the reducer PAGE is enabled */
	uint16_t *wide;
	struct pasta_rows rest; /* rows of objects for which the member `cells` had no room */
	struct pasta_row rest_page;
	struct pasta_rows tables[PASTA_REDUCER_COUNT];
	struct pasta_requests *requests;
	bool (*full)(void *arg);
	void *arg;
	/* whether the tables were full and their counts could not be added to the sums */
	bool stuck;
	uint32_t reducers, turns;
	uint32_t stamp; /* a number that changes each time a thread of a thread block starts */
	uint32_t group, thread, group_size;
	bool turn_known; /* whether the member `turn` is set, because access records contain it */
	uint32_t turn;
};

static inline bool cpu_has(const struct pasta_cpu_inside *in, enum pasta_reducer reducer)
{
	return in->reducers >> reducer & 1;
}

static inline bool cpu_is_wide(const struct pasta_cpu_inside *in)
{
	return !cpu_has(in, PASTA_REDUCER_PAGE);
}

static inline uint32_t cpu_least_slots(const struct pasta_cpu_inside *in)
{
	return cpu_is_wide(in) ? WIDE_SLOTS : SLOTS_LEAST;
}

static inline uint32_t cpu_index_slots(const struct pasta_cpu_inside *in)
{
	return cpu_is_wide(in) ? WIDE_SLOTS : in->slots;
}

/* Rebuilds a state's index by page from all rows of its table by page and object. */
void pasta_cpu_reindex(struct pasta_cpu *c);

#endif
