/*
 * runjob.h - one execution of accelprof run: the options, the run and the program.
 *
 * run.c implements the command, runoptions.c parses the options, runenv.c starts the program, and
 * runend.c prints the report after the program has ended. Only one thread may use these functions.
 */
#ifndef PASTA_CLI_RUNJOB_H
#define PASTA_CLI_RUNJOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/accesses.h"
#include "cli/child.h"
#include "cli/listener.h"
#include "cli/reportrun.h"
#include "process/read/run.h"
#include "process/read/runinfo.h"

/* Kinds of records that every run has. They describe the state of the program. Iterations are among
 * them, because they cost next to nothing, and divide all other events into steps. Tensors are not
 * recorded by default, because they double the cost of an operator. */
#define PASTA_RUNJOB_ALWAYS                                                                        \
	(PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(MODULE) | PASTA_MASK(GRAPH) |           \
	 PASTA_MASK(DEVICE) | PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) | PASTA_MASK(CLOCK) |       \
	 PASTA_MASK(LOSS) | PASTA_MASK(ITERATION))

/* Ids of the options that accelprof run does not share with other commands. */
enum {
	PASTA_RUNJOB_RECORD = 256,
	PASTA_RUNJOB_PAUSED,
	PASTA_RUNJOB_MEMORY,
	PASTA_RUNJOB_STACKS,
	PASTA_RUNJOB_LEVEL,
	PASTA_RUNJOB_DELAY,
	PASTA_RUNJOB_DURATION,
	PASTA_RUNJOB_SAVE_MODULES,
	PASTA_RUNJOB_SAMPLE,
	PASTA_RUNJOB_ALL,
	PASTA_RUNJOB_INEXACT,
	PASTA_RUNJOB_PROCESSOR,
	PASTA_RUNJOB_LOSSY,
	PASTA_RUNJOB_SHARE,
};

/* room for the environment variables of the program; the last entry has the name NULL */
enum { PASTA_RUNJOB_ENV = 24 };

/* A value of --level: the kinds of records that the level adds, and those that it removes. */
struct pasta_runlevel {
	const char *name;
	uint64_t with, without;
};

/* Zero the struct before use, then call pasta_runoptions_init. */
struct pasta_runjob {
	/* Options. */
	struct pasta_reportrun report;
	const char *dir;    /* -o */
	uint64_t record;    /* the kinds of records that --record names, as a mask */
	uint64_t requested; /* kinds of records that the tools and the options request */
	const char *memory; /* value of --memory, in bytes; NULL: the agent's default applies */
	char memory_text[24];
	bool native, python, modules; /* --stacks */
	/* the PERIOD in --stacks native=PERIOD; 0: the agent's default applies */
	size_t period;
	char stacks[64];
	const struct pasta_runlevel *level;
	/* when recording starts, and for how long it lasts, in ns; if the duration is 0, recording
	 * lasts until the program ends */
	uint64_t delay, duration;
	char window[48];
	struct pasta_cli_accesses accesses;
	bool paused, quiet, save_modules;
	char **args, **argv; /* accelprof's arguments; the program's */

	/* State of the run and of the program. */
	char *agent, *shards, *info_file, *lists[PASTA_RUNJOB_ENV];
	struct pasta_run run;
	struct pasta_runinfo info;
	struct pasta_child child;
	struct pasta_listener *listener;
	time_t ended; /* CLOCK_MONOTONIC, s */
	bool unsaved; /* run.json could not be written, and the error has been printed */
	/* number of processes that are still running, and number of processes that could not
	 * record */
	uint64_t alive, failed;
	bool has_notes; /* handlers have reported that they were not able to record some data */
};

/* Set the defaults. */
void pasta_runoptions_init(struct pasta_runjob *job);
/* Apply one option. Returns 0, or a negative errno with *err. */
int pasta_runoptions_set(struct pasta_runjob *job, int id, const char *arg,
			 struct pasta_error *err);
/* Load the tools, and check that the options do not contradict each other. Returns 0, or a negative
 * errno with *err. */
int pasta_runoptions_check(struct pasta_runjob *job, struct pasta_error *err);

/* Start the program with the agent in it. Returns 0. If the program cannot be started, removes the
 * run's folder, sets *err, and returns accelprof's exit status. */
int pasta_runenv_start(struct pasta_runjob *job, struct pasta_error *err);

/* Move records from the rings of dead processes to the shards of these processes. Called every
 * second while the program runs; ctx is the job. */
void pasta_runend_sweep(void *ctx);
/* Save run.json and print the report, after the program has ended. `status` is the status that
 * waitpid returned. Returns accelprof's exit status. */
int pasta_runend_finish(struct pasta_runjob *job, int status);

/* Nanoseconds since 1970. */
uint64_t pasta_runjob_realtime(void);

#endif
