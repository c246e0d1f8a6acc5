/*
 * accesses_config.h - the configuration of counting: which memory accesses a run counts, and how.
 * Only accesses_config.c reads the environment variables of this configuration.
 */
#ifndef PASTA_COLLECT_ACCESSES_CONFIG_H
#define PASTA_COLLECT_ACCESSES_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "reduce/cpu.h"

/* The configuration of counting. The agent sets the configuration when it attaches, and does not
 * change the configuration later. A forked child inherits the configuration. Strings that are not
 * configured are NULL. */
struct pasta_accesses_config {
	bool on;  /* whether to count accesses; if false, all other members are ignored */
	bool raw; /* whether to store raw accesses */
	/* Whether to count even those kernels whose results counting may change in the low-order
	 * digits. */
	bool inexact;
	/* Whether to count on the host, from raw accesses, even if the device can count. */
	bool on_host;
	/* whether device and host both count each launch, and accelprof compares the counts */
	bool both;
	bool lossy;	     /* whether to drop raw accesses instead of making kernels wait */
	uint32_t launches;   /* number of launches of each shape to count; 0 for all launches */
	uint32_t blocks;     /* N if one thread block in N is counted */
	uint32_t reducers;   /* mask of the reducers to run (PASTA_REDUCER_MASK) */
	uint32_t page_shift; /* log2 of a page's bytes */
	struct pasta_cpu_config cpu; /* the configuration of the reducers that the host can run */
	/* The kernels to count and the kernels to exclude, as extended regular expressions, one per
	 * line. */
	char *kernel, *exclude;
	char *patches; /* the variant of the device code, which only benchmarks set */
};
extern struct pasta_accesses_config pasta_accesses_config;

/* Sets all members of pasta_accesses_config, except `on`, from environment variables. Returns 1 if
 * accesses are to be counted, and 0 if not. On failure, returns a negative errno and sets err. */
int pasta_accesses_config_read(struct pasta_error *err);
/* Returns the path of the fat binary of a tool's own reducer, or NULL if no tool has a reducer of
 * its own. The path is not a member of the configuration, because accelprof run calls this function
 * too, to check the reducer, and accelprof run has no agent. */
const char *pasta_accesses_config_reducer(void);

/* Returns whether the host must count or store accesses. Some reducers run only on devices. */
static inline bool pasta_accesses_host_enabled(void)
{
	const struct pasta_accesses_config *c = &pasta_accesses_config;

	return c->on && (c->cpu.reducers || c->raw);
}

#endif
