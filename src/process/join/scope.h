/* scope.h - paths of nested regions and operators, one object for each path. */
#ifndef PASTA_PROCESS_SCOPE_H
#define PASTA_PROCESS_SCOPE_H

#include <stdint.h>

#include <pasta/pasta.h>

/* Finds or creates the scope of a region or an operator within the scope up (NULL: outermost).
 * Returns NULL when out of memory, or past 2^22 scopes. Locks a mutex: frequent callers should
 * cache the result. Any thread. */
const struct pasta_scope *pasta_scope_below(const struct pasta_scope *up, unsigned int kind,
					    uint32_t name);

/* The key of a scope within an outer scope, for caches of pasta_scope_below. */
static inline uint64_t pasta_scope_key(const struct pasta_scope *up, unsigned int kind,
				       uint32_t name)
{
	return pasta_pair((up ? up->id << 1 : 0) | (kind == PASTA_KIND_OP_BEGIN), name);
}

#endif
