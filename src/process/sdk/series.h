/* series.h - series as the framework sees them: it checks, makes, merges and frees them. */
#ifndef PASTA_PROCESS_SERIES_H
#define PASTA_PROCESS_SERIES_H

#include <pasta/pasta.h>

/* 0, or -EINVAL, and in err what is wrong with the declaration. */
int pasta_series_check(const struct pasta_tool *tool, const struct pasta_series_def *def,
		       struct pasta_error *err);
/* def must outlive it. NULL when out of memory. */
struct pasta_series_set *pasta_series_new(const struct pasta_series_def *def);
void pasta_series_free(struct pasta_series_set *set);
/* All series of from, which has the same declaration. -ENOMEM, or an error that one of them has. */
int pasta_series_merge(struct pasta_series_set *into, const struct pasta_series_set *from);

#endif
