/* plugins.c - loads plug-ins from the folders in which accelprof searches for them. */
#include <stdlib.h>

#include "cli/cli.h"
#include "process/run/plugin.h"

#define OWN "lib/accelprof/tools"

void pasta_cli_warn(const char *line)
{
	pasta_cli_message("%s", line);
}

void pasta_cli_plugins(const char *const *paths, size_t count, void (*warn)(const char *line))
{
	const char *env = getenv("PASTA_TOOL_PATH");
	char *own = pasta_cli_own(OWN);
	size_t i;

	for (i = 0; i < count; i++)
		pasta_plugin_load_dirs(paths[i], warn);
	if (env)
		pasta_plugin_load_dirs(env, warn);
	if (own)
		pasta_plugin_load_dirs(own, warn);
	free(own);
}
