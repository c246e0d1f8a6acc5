/* rounds.h - matches the collectives of ranks, so that a tool can compare when ranks arrive. */
#ifndef PASTA_ROUNDS_H
#define PASTA_ROUNDS_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_event;
struct pasta_collective_record;

/* maximum number of arrivals of a process that are stored */
#define PASTA_ARRIVALS 262144

/* The arrival of a rank at a collective: the kernel of the collective on one device. */
struct pasta_arrival {
	uint64_t begin, end, seq;
	uint32_t proc;
	uint32_t meeting; /* interned: group, name and size of the group */
	/* index of the arrival among the process's arrivals with this meeting and sequence number
	 */
	uint32_t number;
	uint32_t reserved;
};

/*
 * A round: one collective, in which all ranks of its group take part whose processes are in the
 * run. The collectives of two ranks match if they have the same group, name, group size and
 * sequence number. Collectives without sequence numbers match by order: the n-th collective of one
 * rank matches the n-th collective of every other rank. A match by order is rejected if the
 * collective ended on one rank before it began on another.
 */
struct pasta_round {
	uint32_t size;
	uint32_t name;	       /* of the collective */
	uint32_t count, group; /* number of arrivals; size of the group, or 0 */
	uint64_t comm, seq;
	uint64_t first, last; /* the times at which the first and the last rank arrive */
	/* The time for which the median rank waits for the last one. A rank waits until the last
	 * one arrives, but not longer than its kernel runs. Of an even number of ranks, the median
	 * is that with the longer wait of the two in the middle. */
	uint64_t wait;
	uint64_t first_end, last_end; /* the earliest and the latest end */
	const struct pasta_arrival *arrivals;
};
/* Returns the time for which the rank of an arrival waits for the last rank of the round. */
static inline uint64_t pasta_round_wait(const struct pasta_round *round,
					const struct pasta_arrival *arrival)
{
	uint64_t end = arrival->end < round->last ? arrival->end : round->last;

	return end - arrival->begin;
}

/* Numbers of arrivals that are in no round. */
struct pasta_rounds_lost {
	uint32_t size, reserved;
	uint64_t alone; /* not every rank of the group recorded the collective */
	uint64_t apart; /* match by order, but do not overlap in time */
	uint64_t mixed; /* more ranks took part than the group has */
	uint64_t over;	/* past the limit of PASTA_ARRIVALS */
};

/* Collects arrivals. Only one thread at a time may use this struct. pasta_rounds_new returns NULL
 * when out of memory. */
struct pasta_rounds;
PASTA_EXPORT struct pasta_rounds *pasta_rounds_new(void);
PASTA_EXPORT void pasta_rounds_free(struct pasta_rounds *rounds);
/* Adds the kernel of a collective. Returns 0 or -ENOMEM. */
PASTA_EXPORT int pasta_rounds_add(struct pasta_rounds *rounds,
				  const struct pasta_collective_record *collective,
				  const struct pasta_event *kernel);
/* Adds all arrivals of `from`, whose processes must be others. Returns 0 or -ENOMEM. */
PASTA_EXPORT int pasta_rounds_merge(struct pasta_rounds *rounds, const struct pasta_rounds *from);
/* Matches the arrivals. Call this function once, after all arrivals were added. Fills in *lost.
 * Returns 0 or -ENOMEM. */
PASTA_EXPORT int pasta_rounds_match(struct pasta_rounds *rounds, struct pasta_rounds_lost *lost);
/* Fills in the next round, and returns true; returns false at the end. Set *at to 0 before the
 * first call. Call this function after pasta_rounds_match. The order of the rounds is the same
 * in all reports of a run. */
PASTA_EXPORT bool pasta_rounds_next(const struct pasta_rounds *rounds, size_t *at,
				    struct pasta_round *round);

#ifdef __cplusplus
}
#endif
#endif
