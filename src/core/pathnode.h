/*
 * pathnode.h - encodes call paths of an interpreter as a tree of nodes.
 *
 * A node refers to a function and to the node of the function's caller. The field `stack` of a
 * record is the id of interned bytes, which are either return addresses (collect/stack.h) or the
 * innermost node of a call path. A node has 18 bytes: the bytes 0xff and 'P', which are not valid
 * UTF-8, and four little-endian u32. In a shard, the first three of the u32 are ids of strings,
 * which the shard defines before the node. The reader replaces them with its own ids, so that equal
 * call paths of all shards have the same id.
 */
#ifndef PASTA_CORE_PATHNODE_H
#define PASTA_CORE_PATHNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_PATHNODE_SIZE 18

struct pasta_pathnode {
	uint32_t parent;   /* id of the node of the caller; 0: the function is outermost */
	uint32_t function; /* id of the name of the function; 0: unknown */
	uint32_t file;	   /* id of the name of the file; 0: unknown */
	uint32_t line;	   /* 0: unknown */
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

/* Decodes a node. Returns false if the bytes are not a node. */
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
