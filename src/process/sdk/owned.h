/*
 * owned.h - what the framework owns in a tool's state: groups, series, windows, ledger and book.
 *
 * A tool declares them in its descriptor; each declaration names the pointer in the state. The
 * framework makes them before open, merges them before the tool's merge, reports their errors
 * before report, and frees them after close.
 */
#ifndef PASTA_PROCESS_OWNED_H
#define PASTA_PROCESS_OWNED_H

#include <stdbool.h>

#include <pasta/pasta.h>

/* Whether a pointer at this offset is aligned and within the tool's state. */
bool pasta_owned_fits(const struct pasta_tool *tool, uint32_t state_offset);
/* 0, or -EINVAL, and in err what is wrong with a declaration. */
int pasta_owned_check(const struct pasta_tool *tool, struct pasta_error *err);

/* Make all of them. opts may be NULL, and err is zeroed. -ENOMEM, or -EINVAL with a description in
 * err. */
int pasta_owned_open(const struct pasta_tool *tool, const struct pasta_opts *opts, void *state,
		     struct pasta_error *err);
/* Free all of them; also where open failed, or after another close. */
void pasta_owned_close(const struct pasta_tool *tool, void *state);
/* Add what another state has, which may be moved. The first error. */
int pasta_owned_merge(const struct pasta_tool *tool, void *into, void *from);
/* The first error that one of them has. */
int pasta_owned_error(const struct pasta_tool *tool, const void *state);

#endif
