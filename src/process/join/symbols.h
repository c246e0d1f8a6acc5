/*
 * symbols.h - resolves call paths to functions and source lines.
 *
 * The reader of a stream passes each MODULE event to pasta_symbols_module, for all tools. pasta.h
 * has the functions for tools. There is one stream at a time. Any thread may call these functions.
 */
#ifndef PASTA_PROCESS_SYMBOLS_H
#define PASTA_PROCESS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Removes all modules. Call it before reading another stream, whose processes have the same
 * numbers. */
void pasta_symbols_reset(void);
/* Adds a module that a process loaded. Ignores modules of devices. */
void pasta_symbols_module(const struct pasta_event *ev);

/* Maximum number of frames in an interpreter's call path. Most interpreters stop at 1000 calls. */
#define PASTA_SYMBOLS_DEPTH 4096
/* If *ref is an interpreter's call path, sets *frame to the path's innermost frame and *ref to the
 * path of the caller, or to 0, and returns true. The caller's reference is smaller than *ref, so a
 * walk over a path ends. For any other reference, including 0, returns false. */
bool pasta_symbols_interpreted(uint32_t *ref, struct pasta_stack_frame *frame);

/* Returns the number of files that were looked up and have changed since they were recorded. Sets
 * *first to the name of one of these files, or to NULL. */
size_t pasta_symbols_changed(const char **first);

#endif
