/* python.c - the Python handler. The environment variable PYTHONPATH names a folder with a file
 * sitecustomize.py, which loads the agent. */
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

/* path of the folder with sitecustomize.py, relative to the agent's folder */
#define FOLDER "../share/accelprof/python/site"

/* Returns the mask of the enabled types of stacks (enum pasta_stack_types), or -1 if nothing is
 * recorded. The function is exported for the Python package. */
__attribute__((visibility("default"))) int pasta_python_attach(void);
/* Reports to the user what the Python package cannot do. Each message is printed once. */
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

/* Ends the agent's thread before Python forks, because Python warns if a process with threads
 * forks. */
__attribute__((visibility("default"))) void pasta_agent_fork_pause(void);

void pasta_agent_fork_pause(void)
{
	pasta_agent_pause();
}

/* Stores the path of a file in the folder FOLDER. Returns whether the file can be read. */
static bool python_find(const char *agent, const char *name, char *path, size_t size)
{
	const char *end = strrchr(agent, '/');

	snprintf(path, size, "%.*s/" FOLDER "/%s", end ? (int)(end - agent) : 1, end ? agent : ".",
		 name);
	return !access(path, R_OK);
}

static int python_probe(char *why, size_t size)
{
	static const char *const files[] = {"sitecustomize.py", "../accelprof/_hook.py"};
	char path[2 * PATH_MAX], real[PATH_MAX];
	Dl_info self;

	if (!dladdr(__extension__(void *) python_probe, &self) || !self.dli_fname)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!python_find(self.dli_fname, files[i], path, sizeof(path))) {
			snprintf(why, size, "cannot read %s: build or install AccelProf again",
				 path);
			return -ENOENT;
		}
	if (!python_find(self.dli_fname, "", path, sizeof(path)) || !realpath(path, real))
		return -ENOENT;
	if (strchr(real, ':')) {
		snprintf(why, size,
			 "%s contains a ':', which PYTHONPATH does not allow: move AccelProf to "
			 "another folder",
			 real);
		return -EINVAL;
	}
	snprintf(why, size,
		 "records programs in Python 3.8 or later; the package accelprof lets them define "
		 "regions and steps");
	return 0;
}

const struct pasta_handler pasta_python_handler = {
	.name = "python",
	.summary = "regions and steps of Python programs, and their PyTorch operators",
	.probe = python_probe,
	.env = "PYTHONPATH",
	.folder = FOLDER,
};
