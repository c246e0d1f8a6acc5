/* export.c - lists the export targets. */
#include "sink/export.h"

#include <string.h>

static const struct pasta_export *const targets[] = {
	&pasta_export_sqlite,
};

const struct pasta_export *pasta_export_at(size_t i)
{
	return i < sizeof(targets) / sizeof(*targets) ? targets[i] : NULL;
}

const struct pasta_export *pasta_export_find(const char *name)
{
	size_t i;

	for (i = 0; pasta_export_at(i); i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}
