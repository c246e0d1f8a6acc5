/*
 * handler.h - describes a handler, which turns the callbacks of one vendor or framework into
 * records.
 *
 * To add a handler, add its folder, and add a line to table.c.
 */
#ifndef PASTA_HANDLERS_HANDLER_H
#define PASTA_HANDLERS_HANDLER_H

#include <stdbool.h>
#include <stddef.h>

struct pasta_handler {
	const char *name, *summary;
	/* Checks whether the handler can work on this machine. If so, the function returns 0 and
	 * writes into `why` what was found. If not, the function returns a negative errno, and
	 * writes what the user can do into `why`. The errno is -ENODEV if the hardware or a library
	 * is absent. The function runs in accelprof, not in the program under study, and must not
	 * start anything. */
	int (*probe)(char *why, size_t size);
	/* The environment variable that makes the vendor's loader, or Python, load the agent. The
	 * variable usually contains a list of libraries, separated by ':'; accelprof run puts the
	 * agent's path at the start of the list. The member is NULL if the agent is loaded in
	 * another way. */
	const char *env;
	/* The variable in which accelprof run passes the library that the user has set in `env`, so
	 * that the agent loads that library too. A handler needs this variable if `env` contains
	 * one library instead of a list. The member is NULL if `env` is a list. */
	const char *env_other;
	/* The folder that accelprof run puts at the start of the list in `env`, if that list
	 * contains folders. The path is relative to the agent's folder. The member is NULL if the
	 * list contains libraries. */
	const char *folder;
	/* Returns the name of a library to preload, which is in the agent's folder. The library is
	 * needed if the vendor's loader on this machine ignores `env`. Returns NULL if no library
	 * is needed. */
	const char *(*preload)(void);
	/* Checks whether the handler can count memory accesses. Arguments and result are as for
	 * `probe`. The member is NULL if the handler never counts accesses. */
	int (*accesses)(char *why, size_t size);
	/* Whether the handler counts accesses on the host. Such a handler records no times of
	 * blocks and barriers, and does not run tools' own reducers. */
	bool accesses_on_host;
};

extern const struct pasta_handler pasta_annotate_handler;
extern const struct pasta_handler pasta_opencl_handler;
extern const struct pasta_handler pasta_cupti_handler;
extern const struct pasta_handler pasta_sanitizer_handler;
extern const struct pasta_handler pasta_nvtx_handler;
extern const struct pasta_handler pasta_python_handler;
extern const struct pasta_handler pasta_torch_handler;

/* Returns the handlers of this build, in an array that ends with NULL. The agent exports this
 * function. */
const struct pasta_handler *const *pasta_agent_handlers(void);

/* Returns the path of the library that makes stacks cheap to capture, or NULL if the library is not
 * installed. The agent exports this function. */
const char *pasta_agent_unwinder(void);

#endif
