/* export.h - lists the export targets. An export target writes all events of a run into one
 * file. */
#ifndef PASTA_SINK_EXPORT_H
#define PASTA_SINK_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/read/input.h"

/* A callback that reports progress. It is called from time to time with the name of the current
 * phase, such as "reading", and its progress. If it returns false, the export stops. */
struct pasta_export_watch {
	bool (*go_on)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *ctx;
};

/*
 * `write` writes all events of the input into the file at `temp`, which exists and is empty. `name`
 * is the file's name in error messages. Returns 0, or a negative errno with *err. If go_on stopped
 * the export, returns -EINTR; the file then has the events that were read before the stop. After
 * any other error the file is not valid.
 */
struct pasta_export {
	const char *name, *summary;
	int (*write)(const char *temp, const char *name, struct pasta_input *in,
		     const struct pasta_export_watch *watch, struct pasta_error *err);
};

/* pasta_export_find returns the export target with a name, and pasta_export_at the target with a
 * number. Both return NULL if there is no such target. */
const struct pasta_export *pasta_export_find(const char *name);
const struct pasta_export *pasta_export_at(size_t i);

extern const struct pasta_export pasta_export_sqlite;

#endif
