/* accesses.h - run: whether memory accesses are counted, of which launches, and how that is told.
 */
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
	size_t launches;       /* --sample; 0: it was not told */
	size_t blocks;	       /* likewise: one in so many */
	const char *processor; /* --processor; NULL: it was not told */
	const char *every;     /* the tool whose need turned sampling of launches off; or NULL */
	uint64_t needs; /* of enum pasta_need, those that are about accesses; 0: none are counted */
	char words[96];
	char *kernel, *exclude; /* patterns, one a line; NULL: none */
	char *reducer;		/* path of a tool's own; NULL: it is accelprof's */
};

/* "launches=3", "blocks=1/8", or both with a comma. -EINVAL, with *err. */
int pasta_cli_accesses_sample(struct pasta_cli_accesses *a, const char *arg,
			      struct pasta_error *err);
/* "gpu", "cpu", "both" or "auto"; arg lives as long as a. -EINVAL, with *err. */
int pasta_cli_accesses_processor(struct pasta_cli_accesses *a, const char *arg,
				 struct pasta_error *err);
/* Once the tools are chosen. -EINVAL: options or tools that exclude each other; -ENOMEM; or why a
 * tool's reducer cannot be read. */
int pasta_cli_accesses_choose(struct pasta_cli_accesses *a, const struct pasta_reportrun *report,
			      struct pasta_error *err);
void pasta_cli_accesses_free(struct pasta_cli_accesses *a);

/* Kinds that are to be recorded, beside those that the tools are about. */
uint64_t pasta_cli_accesses_kinds(const struct pasta_cli_accesses *a);
/* For the agent: the value of PASTA_ACCESSES; NULL: none are counted. */
const char *pasta_cli_accesses_words(struct pasta_cli_accesses *a);
/* A member of run.json, of which pasta_runinfo reads launches; as pasta_runinfo.more, ctx is the
 * struct. */
void pasta_cli_accesses_json(struct pasta_json *j, const void *ctx);
/* Say so if they are wanted and no handler can tell of them here, or none that can count what some
 * of the tools need. */
void pasta_cli_accesses_check(const struct pasta_cli_accesses *a, const struct pasta_choice *choice,
			      const struct pasta_handler *const *handlers);

#endif
