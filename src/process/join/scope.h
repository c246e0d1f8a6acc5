/* scope.h - places in the nesting of regions and operators, one object a path. */
#ifndef PASTA_PROCESS_SCOPE_H
#define PASTA_PROCESS_SCOPE_H

#include <stdint.h>

#include <pasta/pasta.h>

/* The place below up (NULL: the outermost) of a region or operator, made if it is new. NULL when
 * out of memory, or past 2^22 places. It takes a lock: who asks often keeps the answers. Any
 * thread. */
const struct pasta_scope *pasta_scope_below(const struct pasta_scope *up, unsigned int kind,
					    uint32_t name);

/* A key of a place below another, for maps of those answers. */
static inline uint64_t pasta_scope_key(const struct pasta_scope *up, unsigned int kind,
				       uint32_t name)
{
	return pasta_pair((up ? up->id << 1 : 0) | (kind == PASTA_KIND_OP_BEGIN), name);
}

#endif
