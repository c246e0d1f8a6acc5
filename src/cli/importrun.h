/* importrun.h - other profilers' files made into a run: what import and report have in common. */
#ifndef PASTA_CLI_IMPORTRUN_H
#define PASTA_CLI_IMPORTRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import.h"
#include "process/read/input.h"
#include "process/read/run.h"

/* The files that are named, and those in folders that are named: what is to be imported. */
struct pasta_importrun {
	char **files;
	size_t count, capacity;
	struct pasta_import_options options;
	struct pasta_import_info *infos; /* of those that were imported */
	uint64_t kinds;
};

/* Whether a path is something to import: a file that is no shard, or a folder that is no run but
 * has such files. */
bool pasta_importrun_is(const char *path);
/* Add a file, or a folder's in order of their names. */
int pasta_importrun_add(struct pasta_importrun *im, const char *path, struct pasta_error *err);
/* Make a run of them, which must have been created; all or nothing: on failure the caller discards
 * it. -EINTR: the user interrupted. */
int pasta_importrun_run(struct pasta_importrun *im, const struct pasta_run *run,
			struct pasta_error *err);
/* Read them as a run that is nowhere: their shards are files without a name. */
int pasta_importrun_input(struct pasta_importrun *im, struct pasta_input *in,
			  struct pasta_error *err);
/* Say, a line each, what the sources lack and what was passed over. */
void pasta_importrun_print_losses(const struct pasta_importrun *im);
void pasta_importrun_free(struct pasta_importrun *im);

#endif
