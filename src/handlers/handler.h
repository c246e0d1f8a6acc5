/*
 * handler.h - what a handler is: a source of events for the agent.
 *
 * Adding a handler is adding its folder and a line in table.c.
 */
#ifndef PASTA_HANDLERS_HANDLER_H
#define PASTA_HANDLERS_HANDLER_H

#include <stdbool.h>
#include <stddef.h>

struct pasta_handler {
	const char *name, *summary;
	/* Can it work on this machine? 0, or a negative errno (-ENODEV: the hardware or library is
	 * absent) with, either way, one line that says what was found or what to do. Outside the
	 * program under study; must not start anything. */
	int (*probe)(char *why, size_t size);
	/* A list of libraries, separated by ':', that makes its vendor's loader load the agent: the
	 * agent's path is put before what is there. NULL: the agent comes in another way. */
	const char *env;
	/* Where env names one library, not a list: the variable in which the agent is told of the
	 * one that was there, to load it as well. NULL: it is a list. */
	const char *env_other;
	/* Where env is a list of folders: the one, from the agent's own, that is put first in the
	 * agent's place. NULL: it is a list of libraries. */
	const char *folder;
	/* The name of a library beside the agent that must be preloaded because this machine's
	 * loader does not know that variable; NULL: there is no need. */
	const char *(*preload)(void);
	/* Can it tell of memory accesses on this machine? As probe; NULL: it never can. */
	int (*accesses)(char *why, size_t size);
	/* Its accesses are counted on the host, which knows nothing of blocks' times and barriers,
	 * and runs no tool's reducer. */
	bool accesses_on_host;
};

extern const struct pasta_handler pasta_annotate_handler;
extern const struct pasta_handler pasta_opencl_handler;
extern const struct pasta_handler pasta_cupti_handler;
extern const struct pasta_handler pasta_sanitizer_handler;
extern const struct pasta_handler pasta_nvtx_handler;
extern const struct pasta_handler pasta_python_handler;
extern const struct pasta_handler pasta_torch_handler;

/* The handlers of this build, ended by NULL. Exported by the agent. */
const struct pasta_handler *const *pasta_agent_handlers(void);

/* The library that makes call paths cheap, or NULL: it is not here. Exported, likewise. */
const char *pasta_agent_unwinder(void);

#endif
