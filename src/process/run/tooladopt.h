/* tooladopt.h - descriptors of older minor versions, in the layout of this one. */
#ifndef PASTA_PROCESS_TOOLADOPT_H
#define PASTA_PROCESS_TOOLADOPT_H

#include <pasta/tool.h>

/* Whether it has the members that every version's descriptor has; only its size is read. */
bool pasta_tool_is_whole(const struct pasta_tool *tool);

/*
 * The descriptor itself, if all of its structs have today's sizes; otherwise a copy in which each
 * struct is extended with zeros. The copy lives as long as the process, like the descriptor. NULL
 * with -EINVAL: a struct is larger than this version's, or a list has no end; -ENOMEM.
 */
const struct pasta_tool *pasta_tool_adopt(const struct pasta_tool *tool, struct pasta_error *err);

#endif
