/* python.c - the way into Python programs: a folder that their interpreter looks into first. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/stack.h"
#include "handlers/handler.h"

#define FOLDER "../share/accelprof/python/site" /* from the agent's */

/* For the Python package: which of enum pasta_stack_sorts are wanted; -1: nothing is recorded. */
__attribute__((visibility("default"))) int pasta_python_attach(void);
/* What it cannot do, told to the user once. */
__attribute__((visibility("default"))) void pasta_python_say(const char *what);

int pasta_python_attach(void)
{
	return pasta_agent_attach_vendor() ? (int)pasta_stack_sorts() : -1;
}

void pasta_python_say(const char *what)
{
	if (what && pasta_agent_attach_vendor())
		pasta_agent_say("python", what);
}

/* For an interpreter that is about to fork, and warns of threads that it does not know. */
__attribute__((visibility("default"))) void pasta_agent_fork_pause(void);

void pasta_agent_fork_pause(void)
{
	pasta_agent_pause();
}

/* As accelprof run looks for it. */
static int probe(char *why, size_t size)
{
	char path[4096 + sizeof(FOLDER)];
	Dl_info self;
	const char *end;

	if (!dladdr(__extension__(void *) probe, &self) || !self.dli_fname)
		return -ENOENT;
	end = strrchr(self.dli_fname, '/');
	snprintf(path, sizeof(path), "%.*s/" FOLDER "/sitecustomize.py",
		 end ? (int)(end - self.dli_fname) : 1, end ? self.dli_fname : ".");
	if (access(path, R_OK)) {
		snprintf(why, size, "%s is not there: install AccelProf anew", path);
		return -ENOENT;
	}
	if (strchr(path, ':')) {
		snprintf(why, size, "%s has a ':', so PYTHONPATH cannot have it: move AccelProf",
			 path);
		return -EINVAL;
	}
	snprintf(why, size, "Python 3.8 and later; 'import accelprof' names regions and steps");
	return 0;
}

const struct pasta_handler pasta_python_handler = {
	.name = "python",
	.summary = "regions and steps of Python programs, and the way into PyTorch",
	.probe = probe,
	.env = "PYTHONPATH",
	.folder = FOLDER,
};
