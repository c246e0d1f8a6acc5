/* export.h - what a run can be exported to: each makes one file of its events. */
#ifndef PASTA_SINK_EXPORT_H
#define PASTA_SINK_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/read/input.h"

/* Asked now and then: whether to go on, and told how far it is with what ("reading"). */
struct pasta_export_watch {
	bool (*go_on)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *ctx;
};

/*
 * write fills the file at temp, which is there and empty, with all that the input's stream has;
 * name is what errors call it. 0; -EINTR: it was stopped, and the file is whole but has only what
 * was read until then; or another negative errno, with *err: then the file is of no use.
 */
struct pasta_export {
	const char *name, *summary;
	int (*write)(const char *temp, const char *name, struct pasta_input *in,
		     const struct pasta_export_watch *watch, struct pasta_error *err);
};

/* NULL if there is none of that name, or past the last. */
const struct pasta_export *pasta_export_find(const char *name);
const struct pasta_export *pasta_export_at(size_t i);

extern const struct pasta_export pasta_export_sqlite;

#endif
