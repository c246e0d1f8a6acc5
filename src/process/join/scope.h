/* scope.h - stores paths of nested regions and operators, one struct for each path. */
#ifndef PASTA_PROCESS_SCOPE_H
#define PASTA_PROCESS_SCOPE_H

#include <stdint.h>

#include <pasta/pasta.h>

/* Finds or creates the scope of a region or an operator inside the scope `up`, which is NULL for an
 * outermost scope. Returns NULL when out of memory, or if there are already 2^22 scopes. Acquires a
 * mutex, so frequent callers should cache the result. Any thread may call it. */
const struct pasta_scope *pasta_scope_below(const struct pasta_scope *up, unsigned int kind,
					    uint32_t name);

/* Returns a key for the scope of a region or an operator inside the scope `up`. Caches of the
 * results of pasta_scope_below use this key. */
static inline uint64_t pasta_scope_key(const struct pasta_scope *up, unsigned int kind,
				       uint32_t name)
{
	return pasta_pair((up ? up->id << 1 : 0) | (kind == PASTA_KIND_OP_BEGIN), name);
}

#endif
