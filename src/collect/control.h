/*
 * control.h - the control page, and the environment variables that configure the agent. accelprof
 * creates the file RUN/control before the program starts, and the agents of all processes map it.
 */
#ifndef PASTA_COLLECT_CONTROL_H
#define PASTA_COLLECT_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#define PASTA_CONTROL_MAGIC 0x32545243u /* the letters "CRT2" */
#define PASTA_CONTROL_SIZE 4096
#define PASTA_CONTROL_NOTES 8
#define PASTA_CONTROL_NEWS '=' /* the first character of a note that is not a warning */

/* accelprof run sets these environment variables, and child processes inherit them. */
#define PASTA_ENV_AGENT "PASTA_AGENT" /* path of libpasta-agent.so, which annotate.h loads */
#define PASTA_ENV_RUN "PASTA_RUN"     /* absolute path of the run's folder */
/* The mask of the kinds to record, in hex. If it is unset, all kinds are recorded. */
#define PASTA_ENV_KINDS "PASTA_KINDS"
/* The mask of the kinds that a tool or the user requested, in hex. If the variable is unset, all
 * kinds count as requested. Handlers record a kind that is not requested only if recording the kind
 * is cheap. */
#define PASTA_ENV_ASKED "PASTA_ASKED"
/* maximum number of bytes of rings and strings in each process */
#define PASTA_ENV_MEMORY "PASTA_MEMORY"
#define PASTA_MEMORY_MIN (UINT64_C(1) << 20) /* smallest value of PASTA_MEMORY */
#define PASTA_ENV_PAUSED "PASTA_PAUSED" /* if 1, activity is recorded only after pasta_start() */
/* The window of time in which activity is recorded. The value is OPENS-CLOSES, in ns of
 * CLOCK_MONOTONIC_RAW. If CLOSES is 0, the window has no end. */
#define PASTA_ENV_WINDOW "PASTA_WINDOW"
#define PASTA_ENV_KEEP "PASTA_KEEP_MODULES" /* if 1, device code is copied into RUN/modules */
/* The types of stacks to record, separated by commas. `native` samples native stacks within a time
 * budget, `native=N` samples every Nth call, `python` records Python's stacks, and `modules`
 * records PyTorch modules. */
#define PASTA_ENV_STACKS "PASTA_STACKS"
/* The memory accesses to count. The value is
 * MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact][,host|,both][,lossy]. MASK selects the
 * reducers (PASTA_REDUCER_MASK), and K is the number of launches of each shape to count. The
 * default of K is 3; 0 selects all launches. accesses_config.h describes the other words. */
#define PASTA_ENV_ACCESSES "PASTA_ACCESSES"
/* The absolute path of the fat binary of a tool's own reducer. If it is set, the MASK of
 * PASTA_ACCESSES contains no other reducer. */
#define PASTA_ENV_REDUCER "PASTA_REDUCER"
/* The kernels whose accesses to count, and the kernels to exclude, as extended regular expressions,
 * one per line. */
#define PASTA_ENV_ACCESS_KERNEL "PASTA_ACCESS_KERNEL"
#define PASTA_ENV_ACCESS_EXCLUDE "PASTA_ACCESS_EXCLUDE"

/* A message of a handler to the user. A process claims an entry by setting `who`, and then writes
 * the text once. */
struct pasta_control_note {
	/* hash of the handler's name << 32 | hash of the text; 0 if the entry is free */
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
	/* Checksums protect these counters, because reports depend on the counters (see
	 * ringfile.h). The checksums use the salts above. */
	_Atomic uint64_t shards; /* number of processes that opened a shard */
	_Atomic uint64_t failed; /* number of processes that could not open a shard */
	/* number of events that failed processes, and threads without a ring, have dropped */
	_Atomic uint64_t lost;
	_Atomic int32_t error; /* errno of the first failure of a process */
	/* The description of the first failure, written by the process that sets the member
	 * `error`. */
	char message[256];
	struct pasta_control_note notes[PASTA_CONTROL_NOTES];
};

_Static_assert(sizeof(struct pasta_control) <= PASTA_CONTROL_SIZE,
	       "the control page must have room for struct pasta_control");

#endif
