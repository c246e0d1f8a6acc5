/*
 * bank_conflicts.cu - requests of shared memory, by instruction, and the wavefronts that they take.
 *
 * Shared memory has 32 banks of 4 bytes, and a wavefront has one word of each. A request takes as
 * many as the bank of which it wants most different words; at least, as its words fill. Bulk
 * copies are left out: they are no warp's request.
 *
 * Rows: key0 the instruction. loads and stores: requests; bytes: wavefronts that they need at
 * least; extra: those that they take.
 */
#include <pasta/reducer.cuh>

#define BANKS 32u
#define WORD 4u
#define MOST 16u /* bytes of an access */

/* The largest of the lanes' numbers, below 64. */
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
	/* Accesses are aligned to their size: two of them have the same words, or none in common.
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
