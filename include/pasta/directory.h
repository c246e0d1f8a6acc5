/*
 * directory.h - what processes, devices and threads of a run are called, once for all tools and
 * outputs.
 *
 * All are known before the first event; devices and threads of older shards once their records are
 * read. What is returned lives until the run is closed. Structs grow at their end only. Any thread.
 */
#ifndef PASTA_DIRECTORY_H
#define PASTA_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PASTA_EXPORT
#define PASTA_EXPORT __attribute__((visibility("default")))
#endif

#define PASTA_NO_RANK UINT32_MAX
#define PASTA_HOST UINT32_MAX /* in place of a device */

struct pasta_process_info {
	uint32_t size;
	uint32_t proc;		    /* as events have it */
	uint32_t pid, parent;	    /* 0: not known */
	uint32_t rank;		    /* of the job; PASTA_NO_RANK: it has none */
	uint32_t world;		    /* ranks of the job; 0: not known */
	uint64_t kinds;		    /* mask of the kinds that it records; 0: not known */
	const char *host, *command; /* "" if not known */
	const char *source;	    /* format that it was imported from; "": it was recorded */
	/* What every output calls it: "rank 3" where all processes have ranks of their own, else
	 * "HOST-PID", else "pid PID", else "#3". No other process of the run is called so. */
	const char *text;
};

struct pasta_device_info {
	uint32_t size;
	uint32_t proc, device;		  /* as events have them; PASTA_HOST: the host */
	uint32_t units;			  /* multiprocessors or compute units; 0: not known */
	uint64_t memory;		  /* bytes; 0: not known */
	const char *name, *vendor, *arch; /* "" if not known */
	/* "device 0", "host"; with the process in front, "rank 3, device 0", where several
	 * processes are shown. */
	const char *text;
};

struct pasta_thread_info {
	uint32_t size;
	uint32_t proc, tid; /* as events have them */
	uint32_t reserved;
	const char *name; /* "" if not known */
	/* "loader (4711)", "thread 4711" if it has no name; with the process in front, likewise. */
	const char *text;
};

/* Never NULL: a process that is not known is called by its number. */
PASTA_EXPORT const struct pasta_process_info *pasta_process(uint32_t proc);
/* Walk all, in the order in which they are shown, by rank and then by number: start with *at 0;
 * NULL at the end. */
PASTA_EXPORT const struct pasta_process_info *pasta_process_next(size_t *at);
/* Never NULL: of what is not known only the numbers and text are. */
PASTA_EXPORT const struct pasta_device_info *pasta_device(uint32_t proc, uint32_t device);
PASTA_EXPORT const struct pasta_thread_info *pasta_thread(uint32_t proc, uint32_t tid);
/* Whether it records all of these kinds. What is not known counts as yes. */
PASTA_EXPORT bool pasta_process_records(uint32_t proc, uint64_t kinds);

/* "device 0", "host": where the process is shown beside it. */
PASTA_EXPORT const char *pasta_device_text(uint32_t device, char *text, size_t size);

/* The line of a call path: "function (file.c:12)" of the innermost function whose source is known,
 * or else of the innermost function; "" for an unknown path. Truncated to size; returns text. */
PASTA_EXPORT const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
