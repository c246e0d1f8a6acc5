/* python.c - the way into Python programs: a folder that their interpreter looks into first. */
#include <stdio.h>

#include "collect/agent.h"
#include "collect/stack.h"
#include "handlers/handler.h"

/* For the Python package: which of enum pasta_stack_sorts are wanted; -1: nothing is recorded. */
__attribute__((visibility("default"))) int pasta_python_attach(void);
/* What it cannot do, told to the user once. */
__attribute__((visibility("default"))) void pasta_python_say(const char *what);

int pasta_python_attach(void)
{
	return pasta_agent_attach() ? (int)pasta_stack_sorts() : -1;
}

void pasta_python_say(const char *what)
{
	if (what && pasta_agent_attach())
		pasta_agent_say("python", what);
}

static int probe(char *why, size_t size)
{
	snprintf(why, size, "Python 3.8 and later; 'import accelprof' names regions and steps");
	return 0;
}

const struct pasta_handler pasta_python_handler = {
	.name = "python",
	.summary = "regions and steps of Python programs, and the way into PyTorch",
	.probe = probe,
	.env = "PYTHONPATH",
	.folder = "../share/accelprof/python/site",
};
