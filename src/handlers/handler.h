/*
 * handler.h - a handler: turns the callbacks of one vendor or framework into records.
 *
 * To add a handler, add its folder and a line in table.c.
 */
#ifndef PASTA_HANDLERS_HANDLER_H
#define PASTA_HANDLERS_HANDLER_H

#include <stdbool.h>
#include <stddef.h>

struct pasta_handler {
	const char *name, *summary;
	/* Checks whether the handler can work on this machine. Returns 0 and writes what was found
	 * into `why`, or returns a negative errno (-ENODEV if the hardware or library is absent)
	 * and writes what to do into `why`. The function runs in accelprof, not in the program
	 * under study, and must not start anything. */
	int (*probe)(char *why, size_t size);
	/* The environment variable with the libraries, separated by ':', that the vendor's loader
	 * loads. accelprof run prepends the agent's path. NULL if the agent is loaded in another
	 * way. */
	const char *env;
	/* If `env` names one library instead of a list: the variable in which accelprof run passes
	 * the library that the user had set, so that the agent loads it as well. NULL if `env` is a
	 * list. */
	const char *env_other;
	/* If `env` is a list of folders: the folder that accelprof run prepends to it, relative to
	 * the agent's folder. NULL if `env` is a list of libraries. */
	const char *folder;
	/* Returns the name of a library beside the agent to preload if this machine's vendor loader
	 * ignores `env`; NULL if none is needed. */
	const char *(*preload)(void);
	/* Like `probe`, but checks whether memory accesses can be counted. NULL if the handler
	 * never counts them. */
	int (*accesses)(char *why, size_t size);
	/* The handler counts accesses on the host, without the times of blocks and barriers, and
	 * without tools' own reducers. */
	bool accesses_on_host;
};

extern const struct pasta_handler pasta_annotate_handler;
extern const struct pasta_handler pasta_opencl_handler;
extern const struct pasta_handler pasta_cupti_handler;
extern const struct pasta_handler pasta_sanitizer_handler;
extern const struct pasta_handler pasta_nvtx_handler;
extern const struct pasta_handler pasta_python_handler;
extern const struct pasta_handler pasta_torch_handler;

/* Returns the handlers of this build, ended by NULL. Exported by the agent. */
const struct pasta_handler *const *pasta_agent_handlers(void);

/* Returns the path of the library that makes stacks cheap to capture; NULL if it is not installed.
 * Exported by the agent. */
const char *pasta_agent_unwinder(void);

#endif
