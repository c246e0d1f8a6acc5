/* salvage.h - what a process that died left in its rings, brought into its shard. */
#ifndef PASTA_PROCESS_SALVAGE_H
#define PASTA_PROCESS_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_salvaged {
	uint64_t processes; /* whose rings were emptied */
	uint64_t events;    /* that were still in them */
	uint64_t alive;	    /* processes that still run: their rings are left alone */
	uint64_t failed;    /* rings that could not be salvaged: err names the last */
};

/* Salvage every ring file (*.ring) in a run's shards folder whose process is dead: events and
 * strings go to its shard, the loss account too, and the ring file is removed. Adds to *out. What
 * fails is left as it is, to be tried again. Two sweepers do no harm to each other. */
int pasta_salvage_sweep(const char *shards_dir, struct pasta_salvaged *out, struct pasta_err *err);

#endif
