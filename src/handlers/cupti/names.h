/* names.h - ids of names that come again and again, without the agent's lock. */
#ifndef PASTA_HANDLERS_CUPTI_NAMES_H
#define PASTA_HANDLERS_CUPTI_NAMES_H

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"

enum { CUPTI_NAMES = 1024 };

/* By content, not by address: modules go, and others take their place. One thread at a time. */
struct cupti_names {
	uint32_t gen; /* ids are of the process: a forked child has none */
	struct {
		uint64_t hash;
		uint32_t id;
	} slots[CUPTI_NAMES];
};

static inline uint32_t cupti_name(struct cupti_names *n, const char *text)
{
	size_t size = strlen(text);
	uint64_t hash = XXH3_64bits(text, size);
	unsigned int i = hash % CUPTI_NAMES;

	if (n->gen != pasta_agent_gen()) {
		memset(n, 0, sizeof(*n));
		n->gen = pasta_agent_gen();
	}
	if (n->slots[i].hash != hash || !n->slots[i].id) {
		n->slots[i].hash = hash;
		n->slots[i].id = pasta_intern(text, size);
	}
	return n->slots[i].id;
}

#endif
