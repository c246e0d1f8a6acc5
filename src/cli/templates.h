/* templates.h - the files of share/new-tool, as they are, inside accelprof. */
#ifndef PASTA_CLI_TEMPLATES_H
#define PASTA_CLI_TEMPLATES_H

#include <stddef.h>

/* Ends with a NULL name, which is its path in share/new-tool. */
struct pasta_template {
	const char *name;
	const unsigned char *data;
	size_t size;
};
extern const struct pasta_template pasta_templates[];

#endif
