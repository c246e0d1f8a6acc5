/*
 * plugin.h - loads tools from shared libraries, each once; they are never unloaded.
 *
 * With workers (worker.h), a worker loads the library, and this process has only descriptors whose
 * functions must not be called: isolate.h runs such tools. The inode identifies a library, whatever
 * its path. Call these functions from the main thread, before tools are chosen.
 */
#ifndef PASTA_PROCESS_PLUGIN_H
#define PASTA_PROCESS_PLUGIN_H

#include <pasta/pasta.h>

/* Loads a library. *file becomes what pasta_tool_file returns for its tools. Returns 0, or an error
 * if the library cannot be loaded, has no tools, or one of its tools is refused; its other tools
 * are registered all the same. */
int pasta_plugin_load(const char *path, const char **file, struct pasta_error *err);

/* Loads all *.so files of the folders "DIR:DIR", in this order, and by name within a folder. Calls
 * warn with a line for each library or tool that cannot be used. */
void pasta_plugin_load_dirs(const char *dirs, void (*warn)(const char *line));
/* Loads a library into this process, which it may crash. Calls report with what is wrong with the
 * library, and with each of its tools that is refused. */
void pasta_plugin_load_here(const char *file, void (*report)(void *ctx, int code, const char *text),
			    void *ctx);
/* Loads the libraries in a list of names and paths, such as "regions,./mine.so". Returns 0 or the
 * first error. */
int pasta_plugin_load_named(const char *names, struct pasta_error *err);

#endif
