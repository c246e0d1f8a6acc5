/* blocks.h - how long blocks ran, by buckets. */
#ifndef PASTA_REDUCE_BLOCKS_H
#define PASTA_REDUCE_BLOCKS_H

#include <stdint.h>

/* The least of the bucket of so many ns: 8 buckets an octave; below 8 each has its own. */
static inline uint64_t pasta_block_bucket(uint64_t ns)
{
	uint32_t shift = ns < 8 ? 0 : 60u - (uint32_t)__builtin_clzll(ns);

	return ns >> shift << shift;
}

#endif
