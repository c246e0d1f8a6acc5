/*
 * accesses_config.h - which memory accesses the run counts, and how: the one file where this is
 * read from the environment.
 */
#ifndef PASTA_COLLECT_ACCESSES_CONFIG_H
#define PASTA_COLLECT_ACCESSES_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "reduce/cpu.h"

/* Set when the agent attaches and constant from then on; a forked child inherits it. Strings are
 * NULL if they are unset. */
struct pasta_accesses_config {
	bool on;	     /* accesses are counted; everything below holds only then */
	bool raw;	     /* store raw accesses */
	bool inexact;	     /* also count kernels whose low-order digits may change */
	bool on_host;	     /* the host counts, from raw accesses, even if the device could */
	bool both;	     /* device and host count the same launches, to be compared */
	bool lossy;	     /* drop raw accesses rather than stall kernels */
	uint32_t launches;   /* count the first N launches of each shape; 0: all */
	uint32_t blocks;     /* count one block in N */
	uint32_t reducers;   /* PASTA_REDUCER_MASK of the enabled tables */
	uint32_t page_shift; /* log2 of a page's bytes */
	struct pasta_cpu_config cpu; /* for the reducers that the host can run */
	char *kernel, *exclude;	     /* extended regular expressions, one a line */
	char *patches;		     /* variant of the device code, for benchmarks */
};
extern struct pasta_accesses_config pasta_accesses_config;

/* Reads the environment into pasta_accesses_config, all but on. Returns 1 if accesses are to be
 * counted, 0 if not, or a negative errno with err set. */
int pasta_accesses_config_read(struct pasta_error *err);
/* Returns the path of a tool's own reducer, a fat binary; NULL: none. Not in the struct, since
 * accelprof run calls this to check the reducer, without an agent. */
const char *pasta_accesses_config_reducer(void);

/* Whether the host has anything to count; some tables only devices can fill. */
static inline bool pasta_accesses_host_enabled(void)
{
	const struct pasta_accesses_config *c = &pasta_accesses_config;

	return c->on && (c->cpu.reducers || c->raw);
}

#endif
