/* robust.h - statistics that outliers do not change: scores, and changes of the level of a
 * series. */
#ifndef PASTA_ROBUST_H
#define PASTA_ROBUST_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value with a score above this one leaves the distribution of the others. */
#define PASTA_ROBUST_ODD 3.5
#define PASTA_ROBUST_SIGMA 1.4826 /* standard deviation / MAD of a normal distribution */
/* the least standard deviation that is assumed, as a fraction of the median */
#define PASTA_ROBUST_LEAST 0.02

/* The median of a set of numbers, and the median of their distances from it (MAD). */
struct pasta_robust {
	uint64_t count;
	uint64_t median; /* of an even number of values, the lower one in the middle */
	uint64_t mad;
};
/* Computes the statistics of `count` values. Returns 0 or -ENOMEM. */
PASTA_EXPORT int pasta_robust_of(const uint64_t *values, size_t count, struct pasta_robust *robust);
/* Returns the standard deviation that the MAD stands for, but at least 2 % of the median and at
 * least 1. */
PASTA_EXPORT double pasta_robust_sigma(const struct pasta_robust *robust);
/* Returns by how many standard deviations a value exceeds the median. */
PASTA_EXPORT double pasta_robust_score(const struct pasta_robust *robust, uint64_t value);

/* A lasting change of the level of a series. */
struct pasta_change {
	size_t at;		/* index of the first value after the change */
	uint64_t before, after; /* medians of the values between two changes */
};
/*
 * Finds lasting changes by binary segmentation: the series is cut where this reduces the sum of the
 * squared deviations from the levels most, as long as the reduction exceeds a penalty. Values far
 * from the median are moved closer first, so that outliers are no changes. A level has at least
 * five values, and differs from its neighbours by at least 5 %. Fills in at most `max` changes, in
 * the order of the series. Returns the number of changes, or -ENOMEM.
 */
PASTA_EXPORT int pasta_robust_changes(const uint64_t *values, size_t count,
				      struct pasta_change *changes, size_t max);

#ifdef __cplusplus
}
#endif
#endif
