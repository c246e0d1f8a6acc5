/* python.c - the way into Python programs: a folder that their interpreter looks into first. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/stack.h"
#include "handlers/handler.h"

#define FOLDER "../share/accelprof/python/site" /* from the agent's */

/* For the Python package: which of enum pasta_stack_types are wanted; -1: nothing is recorded. */
__attribute__((visibility("default"))) int pasta_python_attach(void);
/* What it cannot do, told to the user once. */
__attribute__((visibility("default"))) void pasta_python_log(const char *what);

int pasta_python_attach(void)
{
	return pasta_agent_attach_vendor() ? (int)pasta_stack_types() : -1;
}

void pasta_python_log(const char *what)
{
	if (what && pasta_agent_attach_vendor())
		pasta_agent_log("python", what);
}

/* For an interpreter that is about to fork, and warns of threads that it does not know. */
__attribute__((visibility("default"))) void pasta_agent_fork_pause(void);

void pasta_agent_fork_pause(void)
{
	pasta_agent_pause();
}

/* Where a file below the folder is, as accelprof run looks for it; false: it is not there. */
static bool find(const char *agent, const char *name, char *path, size_t size)
{
	const char *end = strrchr(agent, '/');

	snprintf(path, size, "%.*s/" FOLDER "/%s", end ? (int)(end - agent) : 1, end ? agent : ".",
		 name);
	return !access(path, R_OK);
}

static int probe(char *why, size_t size)
{
	static const char *const files[] = {"sitecustomize.py", "../accelprof/_hook.py"};
	char path[2 * PATH_MAX], real[PATH_MAX];
	Dl_info self;

	if (!dladdr(__extension__(void *) probe, &self) || !self.dli_fname)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!find(self.dli_fname, files[i], path, sizeof(path))) {
			snprintf(why, size,
				 "%s is not there, or cannot be read: build or install AccelProf "
				 "anew",
				 path);
			return -ENOENT;
		}
	if (!find(self.dli_fname, "", path, sizeof(path)) || !realpath(path, real))
		return -ENOENT;
	if (strchr(real, ':')) {
		snprintf(why, size, "%s has a ':', so PYTHONPATH cannot have it: move AccelProf",
			 real);
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
