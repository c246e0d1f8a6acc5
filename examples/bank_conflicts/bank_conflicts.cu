/*
 * bank_conflicts.cu - requests to shared memory, by instruction, and their wavefronts.
 *
 * Shared memory has 32 banks of 4 bytes; a wavefront reads one word of each. A request needs one
 * wavefront for each different word in its busiest bank. The least possible number is its words
 * divided by 32. Bulk copies do not count: they are not requests of a warp.
 *
 * Rows: key0 is the instruction; loads and stores are requests; bytes is the least possible number
 * of wavefronts; extra is their actual number.
 */
#include <pasta/reducer.cuh>

#define BANKS 32u
#define WORD 4u
#define MOST 16u /* bytes of one access */

/* Returns the largest of the lanes' values, which must be below 64. */
PASTA_REDUCER_INLINE uint32_t largest(uint32_t mask, uint32_t n)
{
	uint32_t most = 0;
	bool may = true;

	for (int bit = 5; bit >= 0; bit--) {
		uint32_t with = __ballot_sync(mask, may && n >> bit & 1);

		if (with)
			may = may && n >> bit & 1;
		most |= with ? 1u << bit : 0;
	}
	return most;
}

PASTA_REDUCER(SITES, SHARED)
{
	/* Accesses are aligned to their size: two of them have either all words in common or none.
	 */
	uint32_t unit = a->size > WORD ? a->size : WORD, units = BANKS * WORD / unit;
	uint32_t piece = (uint32_t)a->addr / unit, same, firsts, ways, most;

	if (a->size > MOST || a->space != PASTA_SPACE_LOCAL)
		return;
	same = __match_any_sync(a->mask, piece);
	firsts = __ballot_sync(a->mask, a->lane == pasta_reducer_leader(same));
	ways = __popc(__match_any_sync(a->mask, piece % units) & firsts);
	most = largest(a->mask, ways);
	if (a->lane == pasta_reducer_leader(a->mask))
		pasta_reducer_add(a, 1u << a->lane, a->pc, 0, a->kind & PASTA_ACCESS_LOAD ? 1 : 0,
				  a->kind & PASTA_ACCESS_STORE ? 1 : 0,
				  (__popc(firsts) + units - 1) / units, most);
}
