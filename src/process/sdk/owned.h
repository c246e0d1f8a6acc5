/*
 * owned.h - the objects that the framework owns in a tool's state: groups, series, windows, ledger,
 * access index.
 *
 * A tool declares these objects in its descriptor; each declaration names a pointer in the state.
 * The framework creates the objects before the tool's `open`, merges them before its `merge`,
 * reports their errors before its `report`, and frees them after its `close`.
 */
#ifndef PASTA_PROCESS_OWNED_H
#define PASTA_PROCESS_OWNED_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* Returns whether a pointer at this offset is aligned and within the tool's state. */
bool pasta_owned_fits(const struct pasta_tool *tool, uint32_t state_offset);
/* Checks all declarations. Returns 0, or -EINVAL with the reason in err. */
int pasta_owned_check(const struct pasta_tool *tool, struct pasta_error *err);

/* Creates all objects. opts may be NULL; *err must be zeroed. Returns 0, -ENOMEM, or -EINVAL with a
 * description in err. */
int pasta_owned_open(const struct pasta_tool *tool, const struct pasta_opts *opts, void *state,
		     struct pasta_error *err);
/* Frees all objects. Works after a failed open, too, and may be called again. */
void pasta_owned_close(const struct pasta_tool *tool, void *state);
/* Merges the objects of another state, whose contents may be moved to this state. Returns 0 or the
 * first error. */
int pasta_owned_merge(const struct pasta_tool *tool, void *into, void *from);
/* Returns the first error of an object, or 0. */
int pasta_owned_error(const struct pasta_tool *tool, const void *state);

#endif
