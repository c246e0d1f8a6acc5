/* hist.h - log-linear histograms of 64-bit numbers. */
#ifndef PASTA_HIST_H
#define PASTA_HIST_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A log-linear histogram of 64-bit numbers. count, sum, min and max are exact (a sum is capped at
 * UINT64_MAX); quantiles differ from the true values by at most 1/64 of these values, and are exact
 * below 64. A histogram needs at most 16 KiB, and usually 256 bytes for each power of two between
 * the numbers. Only one thread at a time may use a histogram.
 */
struct pasta_hist;
PASTA_EXPORT struct pasta_hist *pasta_hist_new(void); /* NULL when out of memory */
PASTA_EXPORT void pasta_hist_free(struct pasta_hist *hist);
/* pasta_hist_add adds a value `count` times, and pasta_hist_merge adds all values of another
 * histogram. Both return 0, -ENOMEM, or -EOVERFLOW if the histogram would have more than UINT64_MAX
 * numbers. After an error, nothing has been added. */
PASTA_EXPORT int pasta_hist_add(struct pasta_hist *hist, uint64_t value, uint64_t count);
PASTA_EXPORT int pasta_hist_merge(struct pasta_hist *into, const struct pasta_hist *from);
/* Return statistics of the values. An empty histogram returns 0. */
PASTA_EXPORT uint64_t pasta_hist_count(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_sum(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_min(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_max(const struct pasta_hist *hist);
/* Returns the ceil(q * count)-th value in ascending order. q = 0.5 selects the median, q <= 0 the
 * minimum, and q = 1 the maximum. */
PASTA_EXPORT uint64_t pasta_hist_quantile(const struct pasta_hist *hist, double q);
/* Returns the median absolute deviation: the median of the distances of all values from their
 * median. An empty histogram returns 0. */
PASTA_EXPORT uint64_t pasta_hist_mad(const struct pasta_hist *hist);
/* Returns how many values are greater than `value`. If `sum` is not NULL, sets *sum to the sum of
 * these values, capped at UINT64_MAX. Values that differ from `value` by at most 1/64 may count as
 * greater or not. */
PASTA_EXPORT uint64_t pasta_hist_above(const struct pasta_hist *hist, uint64_t value,
				       uint64_t *sum);

#ifdef __cplusplus
}
#endif
#endif
