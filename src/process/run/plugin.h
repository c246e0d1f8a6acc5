/*
 * plugin.h - tools in shared libraries: loaded once each, and never unloaded.
 *
 * Where there are workers (worker.h) a library is loaded in one of them, and here are descriptors
 * alone, whose functions must not be called: isolate.h runs such tools. A library is known by its
 * inode, whatever its paths are. The main thread, before tools are chosen.
 */
#ifndef PASTA_PROCESS_PLUGIN_H
#define PASTA_PROCESS_PLUGIN_H

#include <pasta/pasta.h>

/* Load a library, and say what its tools have as pasta_tool_file. An error if it cannot be loaded,
 * has no tools, or one of them is refused: the others are there all the same. */
int pasta_plugin_load(const char *path, const char **file, struct pasta_error *err);

/* Load all *.so of folders, "DIR:DIR", in order, each folder's by name. warn gets a line for each
 * thing that cannot be used; the others are. */
void pasta_plugin_load_dirs(const char *dirs, void (*warn)(const char *line));
/* Load a library in this process, whatever it does. tell gets what is wrong with it, and with each
 * of its tools that is refused. */
void pasta_plugin_load_here(const char *file, void (*tell)(void *ctx, int code, const char *text),
			    void *ctx);
/* Load those of "regions,./mine.so" that are paths. The first error ends it. */
int pasta_plugin_load_named(const char *names, struct pasta_error *err);

#endif
