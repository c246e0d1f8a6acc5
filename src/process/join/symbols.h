/*
 * symbols.h - resolves call paths to functions and source lines.
 *
 * The reader of a stream passes each MODULE event to pasta_symbols_module, for all tools. pasta.h
 * has the functions for tools. There is one stream at a time. Any thread may call these functions.
 */
#ifndef PASTA_PROCESS_SYMBOLS_H
#define PASTA_PROCESS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Removes all modules. Call it before reading another stream, whose processes have the same
 * numbers. */
void pasta_symbols_reset(void);
/* Adds a module that a process loaded. Ignores modules of devices. */
void pasta_symbols_module(const struct pasta_event *ev);

/* Returns the number of files that were looked up and have changed since they were recorded. Sets
 * *first to the name of one of these files, or to NULL. */
size_t pasta_symbols_changed(const char **first);

#endif
