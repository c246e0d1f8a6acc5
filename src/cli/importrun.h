/* importrun.h - imports other profilers' traces, for the commands import, report and export. */
#ifndef PASTA_CLI_IMPORTRUN_H
#define PASTA_CLI_IMPORTRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import.h"
#include "process/read/input.h"
#include "process/read/run.h"

/* The traces to import: the files that the user named, and the files of the folders that the user
 * named. */
struct pasta_importrun {
	char **files;
	size_t count, capacity;
	struct pasta_import_options options;
	/* for each file, what the import found out about it; NULL before the import */
	struct pasta_import_info *infos;
	uint64_t kinds;
};

/* Returns whether a path can be imported: it is a file but not a shard, or a folder that contains
 * traces but is not a run. */
bool pasta_importrun_is(const char *path);
/* Add a file, or the traces of a folder in order of their names. Returns 0, or a negative errno
 * with *err. */
int pasta_importrun_add(struct pasta_importrun *im, const char *path, struct pasta_error *err);
/* Import all files into a run, which the caller has created. Returns 0, -EINTR after an interrupt,
 * or another negative errno with *err. On failure the caller discards the run. */
int pasta_importrun_run(struct pasta_importrun *im, const struct pasta_run *run,
			struct pasta_error *err);
/* Import all files into temporary files that have no names, and add these files to the input.
 * Returns the same values as pasta_importrun_run. */
int pasta_importrun_input(struct pasta_importrun *im, struct pasta_input *in,
			  struct pasta_error *err);
/* Print which data the traces lack, and which parts of the traces were skipped. */
void pasta_importrun_print_losses(const struct pasta_importrun *im);
void pasta_importrun_free(struct pasta_importrun *im);

#endif
