/* preload_plugin - a library that emits through a copy of annotate.h of its own. */
#include <pasta/annotate.h>

void plugin_mark(void);

__attribute__((visibility("default"))) void plugin_mark(void)
{
	pasta_mark("plugin");
}
