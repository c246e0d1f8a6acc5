/*
 * rawblock.h - raw accesses as bytes, and the file that they are kept in.
 *
 * The bytes: a byte 1, and then for each access a byte of flags and what they say, in this order; a
 * difference is modulo 2^32 (the address's 2^64), a zigzag varint:
 *   bit 0     site, the difference to the access before
 *   bit 1     size, varint
 *   bit 2     kind, and space above it from bit 8, varint
 *   bit 3     launch, then group, the differences to the access before
 *   bits 4-5  thread: 0 that of the access before, 1 the next, 2 the difference to it
 *   bit 6     turn, the difference
 *   always    address, the difference
 * What is not said is as before. Size, kind, space, turn and address are held against the access
 * before whose site is the same modulo 64. Before the first access all is 0.
 *
 * A file is blocks, one after the other; any prefix of it is readable. A block is its head, in
 * little endian, and then those bytes, compressed by zstd, of accesses of one thread of one launch.
 * docs/tools/mem_trace.md has it byte by byte.
 */
#ifndef PASTA_CORE_RAWBLOCK_H
#define PASTA_CORE_RAWBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <pasta/device.h>

#define PASTA_RAW_FOLDER "accesses" /* of the run's folder; files are HOST-PID.acc, as shards */
#define PASTA_RAW_MAGIC 0x43434150u /* "PACC" */
#define PASTA_RAW_VERSION 1
/* How many accesses a block has at most; one that says more is damaged. */
#define PASTA_RAW_ACCESSES (1u << 16)

struct pasta_raw_block {
	uint32_t magic;
	uint16_t version;
	uint16_t head;	   /* bytes of this head */
	uint64_t corr;	   /* the launch's */
	uint32_t count;	   /* accesses */
	uint32_t raw_size; /* bytes, before compression */
	uint32_t size;	   /* bytes that follow the head */
	uint32_t reserved;
	uint64_t sum;	   /* XXH3 of them */
	uint64_t head_sum; /* XXH3 of the head before it */
};

/* Set the magic, the version and the sums, once all else is set. */
void pasta_raw_block_seal(struct pasta_raw_block *b, const void *bytes);
/* Whether the head is whole, and of a version and of sizes that can be read. */
bool pasta_raw_block_ok(const struct pasta_raw_block *b);
/* And what follows it. */
bool pasta_raw_bytes_ok(const struct pasta_raw_block *b, const void *bytes);

/* The most bytes that one access takes, and that come before the first. */
enum { PASTA_BATCH_ACCESS_MAX = 48, PASTA_BATCH_HEAD = 1 };
/* Write accesses as bytes, as many as there is room for; returns how many, and *size is the bytes
 * that they take. */
size_t pasta_raw_encode(const struct pasta_access *accesses, size_t count, uint8_t *bytes,
			size_t room, size_t *size);
/* Read them back, max at most. Returns how many; -EINVAL: the bytes are damaged or of another
 * version; -ENOSPC: there are more. */
ssize_t pasta_raw_decode(const uint8_t *bytes, size_t size, struct pasta_access *accesses,
			 size_t max);

#endif
