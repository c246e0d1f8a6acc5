/*
 * symbols.h - resolves call paths to functions and source lines.
 *
 * The reader of a stream passes each MODULE event to pasta_symbols_module, for all tools. pasta.h
 * has the functions for tools. One stream at a time; any thread.
 */
#ifndef PASTA_PROCESS_SYMBOLS_H
#define PASTA_PROCESS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Removes the modules of an earlier stream, whose processes had the same numbers. */
void pasta_symbols_reset(void);
/* Adds a module that was loaded. Modules of devices are ignored. */
void pasta_symbols_module(const struct pasta_event *ev);

/* Returns the number of files that were looked up but have changed since the recording, and the
 * first name; NULL: none. */
size_t pasta_symbols_changed(const char **first);

#endif
