/*
 * plugin.h - loads tools from shared libraries. Each library is loaded once, and is never unloaded.
 *
 * If plug-ins run in workers (worker.h), a worker loads the library. accelprof itself then has only
 * tool descriptors whose functions must not be called; isolate.h runs these tools. The inode
 * identifies a library, whatever its path. Call these functions from the main thread, before tools
 * are chosen.
 */
#ifndef PASTA_PROCESS_PLUGIN_H
#define PASTA_PROCESS_PLUGIN_H

#include <pasta/pasta.h>

/* Loads a library. Sets *file to the value that pasta_tool_file returns for its tools. Returns 0,
 * or an error if the library cannot be loaded, has no tools, or has an invalid tool. Even then,
 * registers its valid tools. */
int pasta_plugin_load(const char *path, const char **file, struct pasta_error *err);

/* Loads all *.so files of the folders in a list such as "DIR:DIR". Loads the files of each folder
 * in order of their names. Calls `warn` with one line for each library or tool that cannot be
 * used. */
void pasta_plugin_load_dirs(const char *dirs, void (*warn)(const char *line));
/* Loads a library into this process, even though the library may crash the process. Calls `report`
 * for each error of the library, and for each of its tools that cannot be registered. */
void pasta_plugin_load_here(const char *file, void (*report)(void *ctx, int code, const char *text),
			    void *ctx);
/* Loads the libraries in a list of tool names and paths, such as "regions,./mine.so". Returns 0 or
 * the first error. */
int pasta_plugin_load_named(const char *names, struct pasta_error *err);

#endif
