/*
 * control.h - the page that accelprof and the agents of a run share, and how agents are told what
 * to do. RUN/control is this page, made by accelprof before the program starts.
 */
#ifndef PASTA_COLLECT_CONTROL_H
#define PASTA_COLLECT_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#define PASTA_CONTROL_MAGIC 0x32545243u /* "CRT2" */
#define PASTA_CONTROL_SIZE 4096
#define PASTA_CONTROL_NOTES 8
#define PASTA_CONTROL_NEWS '=' /* a note that begins so is no trouble */

/* The agent's environment; accelprof run sets it, children inherit it. */
#define PASTA_ENV_AGENT "PASTA_AGENT" /* path of libpasta-agent.so: annotate.h loads it */
#define PASTA_ENV_RUN "PASTA_RUN"     /* the run's folder, absolute */
#define PASTA_ENV_KINDS "PASTA_KINDS" /* mask of kinds to record, hex; unset: all */
/* Those of them that somebody asked for, hex; unset: all. Others are state, recorded if cheap. */
#define PASTA_ENV_ASKED "PASTA_ASKED"
#define PASTA_ENV_MEMORY "PASTA_MEMORY"	     /* bytes of rings and strings a process may have */
#define PASTA_MEMORY_MIN (UINT64_C(1) << 20) /* of it */
#define PASTA_ENV_PAUSED "PASTA_PAUSED"	     /* 1: record no activity until pasta_start() */
/* OPENS-CLOSES: record activity only between these two, ns of CLOCK_MONOTONIC_RAW; 0: never */
#define PASTA_ENV_WINDOW "PASTA_WINDOW"
#define PASTA_ENV_KEEP "PASTA_KEEP_MODULES" /* 1: copies of modules go into RUN/modules */
/* A list of native (as many as are cheap) or native=N (one in N), python and modules. */
#define PASTA_ENV_STACKS "PASTA_STACKS"
/* MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact][,host|,both][,lossy]: memory accesses
 * are counted, by the reducers whose PASTA_REDUCER_MASK the mask has, of the first K launches of
 * each shape; 0: of all (unset: 3) */
#define PASTA_ENV_ACCESSES "PASTA_ACCESSES"
/* The fat binary of a tool's own reducer, an absolute path: where the mask has it, it is alone. */
#define PASTA_ENV_REDUCER "PASTA_REDUCER"
/* Of which kernels: extended regular expressions, one a line. */
#define PASTA_ENV_ACCESS_KERNEL "PASTA_ACCESS_KERNEL"
#define PASTA_ENV_ACCESS_EXCLUDE "PASTA_ACCESS_EXCLUDE"

/* What a handler cannot do. Claimed by setting who, written once. */
struct pasta_control_note {
	_Atomic uint64_t who; /* hashes of the handler's name, above, and of the text; 0: free */
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
	/* Sealed, as in ringfile.h, with these salts: what they count goes into reports. */
	_Atomic uint64_t shards; /* processes that opened a shard */
	_Atomic uint64_t failed; /* processes that could not */
	_Atomic uint64_t lost;	 /* events of those, and of threads that got no ring in time */
	_Atomic int32_t error;	 /* errno of the first failure */
	char message[256];	 /* what failed first, written once by who set error */
	struct pasta_control_note notes[PASTA_CONTROL_NOTES];
};

_Static_assert(sizeof(struct pasta_control) <= PASTA_CONTROL_SIZE, "it is one page");

#endif
