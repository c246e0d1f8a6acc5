/* accesses.h - decides whether accelprof run counts memory accesses, and in which launches. */
#ifndef PASTA_CLI_ACCESSES_H
#define PASTA_CLI_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/reportrun.h"
#include "process/io/json.h"

/* Zero it before use. */
struct pasta_cli_accesses {
	bool all;	       /* --all */
	bool inexact;	       /* --inexact */
	bool lossy;	       /* --lossy */
	size_t launches;       /* --sample launches=K; 0: the default */
	size_t blocks;	       /* --sample blocks=1/N; 0: all blocks */
	const char *processor; /* --processor; NULL: the default */
	const char *every; /* name of the tool that disabled the sampling of launches; NULL: none */
	uint64_t needs;	   /* the accesses that the tools need (enum pasta_need); 0: none */
	char words[96];
	/* the patterns of --kernel and --exclude, one per line; NULL: no patterns */
	char *kernel, *exclude;
	char *reducer; /* path of a tool's own reducer; NULL: AccelProf's reducers are used */
};

/* Parse the argument of --sample: "launches=3", "blocks=1/8", or both, separated by a comma.
 * Returns 0, or -EINVAL with *err. */
int pasta_cli_accesses_sample(struct pasta_cli_accesses *a, const char *arg,
			      struct pasta_error *err);
/* Parse the argument of --processor: "gpu", "cpu", "both" or "auto". `arg` must outlive `a`.
 * Returns 0, or -EINVAL with *err. */
int pasta_cli_accesses_processor(struct pasta_cli_accesses *a, const char *arg,
				 struct pasta_error *err);
/* Decide which accesses to count. Call this function after the tools have been chosen. On failure
 * returns a negative errno with *err: -EINVAL if options or tools exclude each other, -ENOMEM, or
 * the error of reading a tool's reducer. */
int pasta_cli_accesses_choose(struct pasta_cli_accesses *a, const struct pasta_reportrun *report,
			      struct pasta_error *err);
void pasta_cli_accesses_free(struct pasta_cli_accesses *a);

/* Returns the kinds of records that are recorded because accesses are counted, in addition to those
 * that tools need. */
uint64_t pasta_cli_accesses_kinds(const struct pasta_cli_accesses *a);
/* Returns the value of PASTA_ACCESSES for the agent; NULL if no accesses are counted. The text is
 * stored in `a`. */
const char *pasta_cli_accesses_words(struct pasta_cli_accesses *a);
/* Write the member "accesses" of run.json. This is a callback for pasta_runinfo.more; ctx is a
 * struct pasta_cli_accesses. */
void pasta_cli_accesses_json(struct pasta_json *j, const void *ctx);
/* Print a warning if no handler on this machine can count accesses, or if a tool needs accesses
 * that no handler can count. */
void pasta_cli_accesses_check(const struct pasta_cli_accesses *a, const struct pasta_choice *choice,
			      const struct pasta_handler *const *handlers);

#endif
