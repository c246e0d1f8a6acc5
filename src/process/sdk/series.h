/* series.h - the framework's functions for series. They check, create, merge and free series. */
#ifndef PASTA_PROCESS_SERIES_H
#define PASTA_PROCESS_SERIES_H

#include <pasta/pasta.h>

/* Checks the declaration of a set of series. Returns 0, or -EINVAL with the reason in err. */
int pasta_series_check(const struct pasta_tool *tool, const struct pasta_series_def *def,
		       struct pasta_error *err);
/* Creates a set of series. def must outlive the set. Returns NULL when out of memory. */
struct pasta_series_set *pasta_series_new(const struct pasta_series_def *def);
void pasta_series_free(struct pasta_series_set *set);
/* Merges all series of `from`, which must have the same declaration. Returns 0, -ENOMEM, or an
 * error of either set. */
int pasta_series_merge(struct pasta_series_set *into, const struct pasta_series_set *from);

#endif
