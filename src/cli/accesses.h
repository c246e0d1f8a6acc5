/* accesses.h - run: whether memory accesses are counted and for which launches. */
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
	const char *every;     /* the tool that turned sampling of launches off; or NULL */
	uint64_t needs;	       /* the tools' needs of accesses (enum pasta_need); 0: count none */
	char words[96];
	char *kernel, *exclude; /* patterns, one per line; NULL: none */
	char *reducer;		/* path of a tool's own reducer; NULL: accelprof's reducers */
};

/* Parse --sample: "launches=3", "blocks=1/8", or both with a comma. Returns 0, or -EINVAL with
 * *err.
 */
int pasta_cli_accesses_sample(struct pasta_cli_accesses *a, const char *arg,
			      struct pasta_error *err);
/* Parse --processor: "gpu", "cpu", "both" or "auto". arg must outlive a. Returns 0, or -EINVAL with
 * *err. */
int pasta_cli_accesses_processor(struct pasta_cli_accesses *a, const char *arg,
				 struct pasta_error *err);
/* Decide what to count, after the tools have been chosen. Returns 0; -EINVAL if options or tools
 * exclude each other; -ENOMEM; or the error of reading a tool's reducer; with *err. */
int pasta_cli_accesses_choose(struct pasta_cli_accesses *a, const struct pasta_reportrun *report,
			      struct pasta_error *err);
void pasta_cli_accesses_free(struct pasta_cli_accesses *a);

/* Returns the kinds to record in addition to those of the tools. */
uint64_t pasta_cli_accesses_kinds(const struct pasta_cli_accesses *a);
/* Returns the value of PASTA_ACCESSES for the agent; NULL: count nothing. It is part of a. */
const char *pasta_cli_accesses_words(struct pasta_cli_accesses *a);
/* Write the member "accesses" of run.json. A callback for pasta_runinfo.more; ctx is the struct. */
void pasta_cli_accesses_json(struct pasta_json *j, const void *ctx);
/* Print a warning if no handler can count accesses on this machine, or not what a tool needs. */
void pasta_cli_accesses_check(const struct pasta_cli_accesses *a, const struct pasta_choice *choice,
			      const struct pasta_handler *const *handlers);

#endif
