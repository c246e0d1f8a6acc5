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
	uint64_t number; /* The number of the object table's version to which the cells belong. */
	/* The maximum number of index slots, the maximum number of cells, and the number of cells
	 * in use. */
	uint32_t slots, max, count;
	uint32_t cell_shift;	/* log2 of the largest size of a cell */
	uint16_t *wide;		/* index of wide cells by key; NULL if cells are not wide */
	struct pasta_rows rest; /* rows of objects for which no cell was left */
	struct pasta_row rest_page;
	struct pasta_rows tables[PASTA_REDUCER_COUNT];
	struct pasta_requests *requests;
	bool (*full)(void *arg);
	void *arg;
	bool stuck; /* whether the tables were full and could not be spilled */
	uint32_t reducers, turns;
	uint32_t stamp; /* a number that changes each time a thread of a group starts */
	uint32_t group, thread, group_size;
	bool turn_known; /* whether the turn is known, because an access record contains it */
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

/* Rebuilds the index of a state from all of its cells. */
void pasta_cpu_reindex(struct pasta_cpu *c);

#endif
