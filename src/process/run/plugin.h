/*
 * plugin.h - loads tools from shared libraries. Each library is loaded once, and never unloaded.
 *
 * With workers (worker.h), a worker loads the library, and this process has only descriptors whose
 * functions must not be called; isolate.h runs such tools. The inode identifies a library, whatever
 * its path. Call these functions from the main thread, before tools are chosen.
 */
#ifndef PASTA_PROCESS_PLUGIN_H
#define PASTA_PROCESS_PLUGIN_H

#include <pasta/pasta.h>

/* Loads a library. Sets *file to the value that pasta_tool_file returns for its tools. Returns 0,
 * or an error if the library cannot be loaded, has no tools, or has a tool that is refused. Its
 * valid tools are registered even then. */
int pasta_plugin_load(const char *path, const char **file, struct pasta_error *err);

/* Loads all *.so files of the folders in a list "DIR:DIR", folder by folder, sorted by name. Calls
 * `warn` with one line for each library or tool that cannot be used. */
void pasta_plugin_load_dirs(const char *dirs, void (*warn)(const char *line));
/* Loads a library into this process, which the library may crash. Calls `report` for each error of
 * the library, and for each of its tools that is refused. */
void pasta_plugin_load_here(const char *file, void (*report)(void *ctx, int code, const char *text),
			    void *ctx);
/* Loads the libraries in a list of tool names and paths, such as "regions,./mine.so". Returns 0 or
 * the first error. */
int pasta_plugin_load_named(const char *names, struct pasta_error *err);

#endif
