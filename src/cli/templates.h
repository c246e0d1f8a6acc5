/* templates.h - the files of share/new-tool, compiled into accelprof. */
#ifndef PASTA_CLI_TEMPLATES_H
#define PASTA_CLI_TEMPLATES_H

#include <stddef.h>

/* A template. `name` is the path of its file in share/new-tool. The list ends with a NULL name. */
struct pasta_template {
	const char *name;
	const unsigned char *data;
	size_t size;
};
extern const struct pasta_template pasta_templates[];

#endif
