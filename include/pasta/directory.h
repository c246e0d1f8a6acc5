/*
 * directory.h - what processes and devices of a run are called, once for all tools and outputs.
 *
 * Processes are known before the first event. Any thread.
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
	uint32_t pid;		    /* 0: not known */
	uint32_t rank;		    /* of the job; PASTA_NO_RANK: it has none */
	uint64_t kinds;		    /* mask of the kinds that it records; 0: not known */
	const char *host, *command; /* "" if not known */
	/* What every output calls it: "rank 3" where all processes have ranks of their own, else
	 * "HOST-PID", else "pid PID", else "#3". No other process of the run is called so. */
	const char *text;
	bool imported; /* another profiler recorded it */
};

/* Never NULL: a process that is not known is called by its number. Until the run is closed. */
PASTA_EXPORT const struct pasta_process_info *pasta_process(uint32_t proc);
/* Walk all, in the order in which they are shown, by rank and then by number: start with *at 0;
 * NULL at the end. */
PASTA_EXPORT const struct pasta_process_info *pasta_process_next(size_t *at);
/* Whether it records all of these kinds. What is not known counts as yes. */
PASTA_EXPORT bool pasta_process_records(uint32_t proc, uint64_t kinds);

/* "device 0", "host". */
PASTA_EXPORT const char *pasta_device_text(uint32_t device, char *text, size_t size);

/* The direction of a copy, from its subtype: "h2d", "unspecified". */
PASTA_EXPORT const char *pasta_copy_text(uint32_t sub);

/* The line of a call path: "function (file.c:12)" of the innermost function whose source is known,
 * or else of the innermost function; "" for an unknown path. Truncated to size; returns text. */
PASTA_EXPORT const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
