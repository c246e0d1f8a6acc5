/* grid.h - writes tables as aligned columns that fit the terminal. */
#ifndef PASTA_SINK_GRID_H
#define PASTA_SINK_GRID_H

#include <stdio.h>

#include "process/sdk/result.h"
#include "sink/shortnames.h"
#include "sink/sink.h"

/* What the tables of a report have in common. */
struct pasta_grids {
	const struct pasta_sink_opts *opts;
	struct pasta_shortnames *names;
	size_t hidden; /* number of columns that were removed to fit the terminal */
	size_t widest; /* width in which no column of any table would be removed */
};

/* Write a table, without its name. Returns 0 or -ENOMEM. */
int pasta_grid_put(FILE *f, const struct pasta_table *table, struct pasta_grids *grids);

#endif
