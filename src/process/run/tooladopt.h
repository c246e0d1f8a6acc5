/* tooladopt.h - converts tool descriptors of older minor versions to the current layout. */
#ifndef PASTA_PROCESS_TOOLADOPT_H
#define PASTA_PROCESS_TOOLADOPT_H

#include <pasta/tool.h>

/* Returns whether the descriptor is large enough for all members of the first version. Reads only
 * its size. */
bool pasta_tool_is_whole(const struct pasta_tool *tool);

/*
 * Converts a descriptor. If all of its structs have the current sizes, returns the descriptor
 * itself. Otherwise, returns a copy in which each struct is extended with zeros, and which is never
 * freed. Returns NULL with *err: -EINVAL if a struct is larger than the current one or a list has
 * no end, or -ENOMEM.
 */
const struct pasta_tool *pasta_tool_adopt(const struct pasta_tool *tool, struct pasta_error *err);

#endif
