/*
 * control.h - the control page, and the environment variables that configure the agent. accelprof
 * creates RUN/control before the program starts; the agents of all processes map it.
 */
#ifndef PASTA_COLLECT_CONTROL_H
#define PASTA_COLLECT_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#define PASTA_CONTROL_MAGIC 0x32545243u /* "CRT2" */
#define PASTA_CONTROL_SIZE 4096
#define PASTA_CONTROL_NOTES 8
#define PASTA_CONTROL_NEWS '=' /* the first character of a note that is not a warning */

/* Environment variables: accelprof run sets them, and child processes inherit them. */
#define PASTA_ENV_AGENT "PASTA_AGENT" /* path of libpasta-agent.so: annotate.h loads it */
#define PASTA_ENV_RUN "PASTA_RUN"     /* the run's folder, absolute */
#define PASTA_ENV_KINDS "PASTA_KINDS" /* mask of kinds to record, hex; unset: all */
/* Mask of the kinds that a tool or the user requested, in hex; unset: all. Handlers record other
 * kinds only if that is cheap. */
#define PASTA_ENV_ASKED "PASTA_ASKED"
#define PASTA_ENV_MEMORY "PASTA_MEMORY" /* maximum bytes of rings and strings in each process */
#define PASTA_MEMORY_MIN (UINT64_C(1) << 20) /* least value of PASTA_MEMORY */
#define PASTA_ENV_PAUSED "PASTA_PAUSED"	     /* 1: record no activity until pasta_start() */
/* The window of time in which activity is recorded: OPENS-CLOSES, in ns of CLOCK_MONOTONIC_RAW. If
 * CLOSES is 0, the window has no end. */
#define PASTA_ENV_WINDOW "PASTA_WINDOW"
#define PASTA_ENV_KEEP "PASTA_KEEP_MODULES" /* 1: copy device code into RUN/modules */
/* The stacks to record, separated by commas: `native` (sampled within a time budget) or `native=N`
 * (every Nth call), `python`, `modules`. */
#define PASTA_ENV_STACKS "PASTA_STACKS"
/* MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact][,host|,both][,lossy]: count memory
 * accesses with the reducers in MASK (PASTA_REDUCER_MASK), for the first K launches of each shape.
 * The default of K is 3; 0 means all launches. accesses_config.h describes the other words. */
#define PASTA_ENV_ACCESSES "PASTA_ACCESSES"
/* Absolute path of the fat binary of a tool's own reducer. MASK then contains no other reducer. */
#define PASTA_ENV_REDUCER "PASTA_REDUCER"
/* The kernels whose accesses to count, and the kernels to exclude: extended regular expressions,
 * one per line. */
#define PASTA_ENV_ACCESS_KERNEL "PASTA_ACCESS_KERNEL"
#define PASTA_ENV_ACCESS_EXCLUDE "PASTA_ACCESS_EXCLUDE"

/* A message of a handler to the user. A process claims the entry by setting `who`, and then writes
 * the text once. */
struct pasta_control_note {
	/* hash of the handler's name << 32 | hash of the text; 0: the entry is free */
	_Atomic uint64_t who;
	char text[256];
};

enum pasta_control_salt {
	PASTA_CONTROL_SHARDS = 2001,
	PASTA_CONTROL_FAILED,
	PASTA_CONTROL_LOST,
};

struct pasta_control {
	uint32_t magic;
	uint32_t size;
	/* Reports depend on these counters, so they are sealed with checksums (see ringfile.h),
	 * with the salts above. */
	_Atomic uint64_t shards; /* processes that opened a shard */
	_Atomic uint64_t failed; /* processes that could not */
	/* number of events dropped by failed processes and by threads without a ring */
	_Atomic uint64_t lost;
	_Atomic int32_t error; /* errno of the first failure of a process */
	/* describes the first failure; written by the process that set the member `error` */
	char message[256];
	struct pasta_control_note notes[PASTA_CONTROL_NOTES];
};

_Static_assert(sizeof(struct pasta_control) <= PASTA_CONTROL_SIZE, "it is one page");

#endif
