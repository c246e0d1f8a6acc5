/*
 * owned.h - manages the containers in a tool's state that the framework owns: groups, series,
 * windows, ledger, access index.
 *
 * A tool declares these containers in its descriptor; each declaration names a pointer in the
 * state. The framework creates the containers before it calls the tool's `open`, merges them before
 * it calls `merge`, reports their errors before it calls `report`, and frees them after it has
 * called `close`.
 */
#ifndef PASTA_PROCESS_OWNED_H
#define PASTA_PROCESS_OWNED_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* Returns whether a pointer at this offset is aligned and within the tool's state. */
bool pasta_owned_fits(const struct pasta_tool *tool, uint32_t state_offset);
/* Checks all declarations of the containers in a tool's state. Returns 0, or -EINVAL with the
 * reason in err. */
int pasta_owned_check(const struct pasta_tool *tool, struct pasta_error *err);

/* Creates the containers in a tool's state. opts may be NULL; *err must be zeroed. Returns 0,
 * -ENOMEM, or -EINVAL with a description in err. */
int pasta_owned_open(const struct pasta_tool *tool, const struct pasta_opts *opts, void *state,
		     struct pasta_error *err);
/* Frees the containers in a tool's state. May be called after pasta_owned_open failed, and may be
 * called again. */
void pasta_owned_close(const struct pasta_tool *tool, void *state);
/* Merges the containers of the state `from` into the state `into`. May move the contents of `from`.
 * Returns 0 or the first error. */
int pasta_owned_merge(const struct pasta_tool *tool, void *into, void *from);
/* Returns the first error of the containers in a tool's state, or 0. */
int pasta_owned_error(const struct pasta_tool *tool, const void *state);

#endif
