/* sink.c - lists the output formats. */
#include "sink/sink.h"

#include <errno.h>
#include <string.h>

#define SINK(name) , &pasta_sink_##name
static const struct pasta_sink *const sinks[] = {&pasta_sink_text PASTA_SINKS_MORE(SINK)};

const struct pasta_sink *pasta_sink_at(size_t i)
{
	return i < sizeof(sinks) / sizeof(*sinks) ? sinks[i] : NULL;
}

const struct pasta_sink *pasta_sink_find(const char *name)
{
	size_t i;

	for (i = 0; pasta_sink_at(i); i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}

bool pasta_sink_select(const struct pasta_out *out, const char *name, const char *selected)
{
	size_t size = strlen(out->name);

	if (!selected || !strcmp(selected, name))
		return true;
	return !strncmp(selected, out->name, size) && selected[size] == '.' &&
	       !strcmp(selected + size + 1, name);
}

int pasta_sink_flush(FILE *file, struct pasta_error *err)
{
	int error = 0;

	errno = 0;
	if (fflush(file) || ferror(file))
		error = errno ? -errno : -EIO;
	return error ? pasta_fail(err, error, "cannot write the report: %s", strerror(-error)) : 0;
}
