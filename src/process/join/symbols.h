/*
 * symbols.h - from call paths to functions and lines.
 *
 * Host modules come from MODULE events; who reads a stream gives them here, whatever its tools
 * want. pasta.h has what tools call. One stream at a time; any thread.
 */
#ifndef PASTA_PROCESS_SYMBOLS_H
#define PASTA_PROCESS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Forget the modules of an earlier stream: its processes had the same numbers. */
void pasta_symbols_reset(void);
/* A module was loaded or unloaded. Those of devices are passed over. */
void pasta_symbols_module(const struct pasta_event *ev);

/* Files that were asked for and are not what was recorded: how many, and the first; NULL: none. */
size_t pasta_symbols_changed(const char **first);

#endif
