/* export.h - export targets: each writes all events of a run into one file. */
#ifndef PASTA_SINK_EXPORT_H
#define PASTA_SINK_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/read/input.h"

/* A callback, called from time to time with the current phase ("reading") and its progress.
 * Returning false stops the export. */
struct pasta_export_watch {
	bool (*go_on)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *ctx;
};

/*
 * `write` fills the file at `temp`, which exists and is empty, with all events of the input. `name`
 * is the file's name in error messages. Returns 0; -EINTR if go_on stopped the export, in which
 * case the file has the events read so far; or another negative errno with *err, in which case the
 * file is not valid.
 */
struct pasta_export {
	const char *name, *summary;
	int (*write)(const char *temp, const char *name, struct pasta_input *in,
		     const struct pasta_export_watch *watch, struct pasta_error *err);
};

/* Return an export target by name or by number; NULL for an unknown name, or a number past the last
 * target. */
const struct pasta_export *pasta_export_find(const char *name);
const struct pasta_export *pasta_export_at(size_t i);

extern const struct pasta_export pasta_export_sqlite;

#endif
