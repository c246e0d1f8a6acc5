/*
 * pathnode.h - a node of a tree of call paths: an interpreter's function, and its caller's node.
 *
 * A stack field refers to interned bytes: return addresses, as collect/stack.h has them, or the
 * innermost node of a path. A node is 18 bytes: 0xff 'P', which no UTF-8 text begins with, and four
 * little-endian u32. In a shard the ids in it are the shard's, of strings that are defined before
 * it; the reader turns them into its own, so that equal paths of all shards have one ref.
 */
#ifndef PASTA_CORE_PATHNODE_H
#define PASTA_CORE_PATHNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_PATHNODE_SIZE 18

struct pasta_pathnode {
	uint32_t parent;   /* the caller's node; 0: it is the outermost */
	uint32_t function; /* interned; 0: not known */
	uint32_t file;	   /* interned; 0: it is in none, or not known */
	uint32_t line;	   /* 0: not known */
};

static inline void pasta_pathnode_encode(const struct pasta_pathnode *node,
					 uint8_t bytes[PASTA_PATHNODE_SIZE])
{
	const uint32_t v[4] = {node->parent, node->function, node->file, node->line};

	bytes[0] = 0xff;
	bytes[1] = 'P';
	for (unsigned int i = 0; i < 16; i++)
		bytes[2 + i] = (uint8_t)(v[i / 4] >> i % 4 * 8);
}

/* False: these bytes are no node. */
static inline bool pasta_pathnode_decode(const void *bytes, size_t size,
					 struct pasta_pathnode *node)
{
	const uint8_t *b = (const uint8_t *)bytes;
	uint32_t v[4] = {0};

	if (size != PASTA_PATHNODE_SIZE || b[0] != 0xff || b[1] != 'P')
		return false;
	for (unsigned int i = 0; i < 16; i++)
		v[i / 4] |= (uint32_t)b[2 + i] << i % 4 * 8;
	*node = (struct pasta_pathnode){v[0], v[1], v[2], v[3]};
	return true;
}

#endif
