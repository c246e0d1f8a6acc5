/*
 * rawblock.h - the encoding of raw accesses, and the format of their files.
 *
 * The encoding is a byte 1, the version, and then the accesses. Each access is a byte of flags and
 * the fields that the flags select, in the order below. A difference is a zigzag varint, modulo
 * 2^32 (addresses: 2^64). bit 0     site: the difference to the previous access bit 1     size:
 * varint bit 2     kind in bits 0-7 and space in bits 8-15: varint bit 3     launch, then group:
 * the differences to the previous access bits 4-5  thread: 0 unchanged, 1 the next number, 2 the
 * difference to the previous access bit 6     turn: the difference always    address: the
 * difference A field without its flag is unchanged. Site, launch, group and thread refer to the
 * previous access; size, kind, space, turn and address refer to the previous access whose site is
 * equal modulo 64. All fields are 0 before the first access.
 *
 * A file is a sequence of blocks; any prefix of it is readable. A block has a head, little endian,
 * and encoded accesses of one thread of one launch, compressed with zstd. docs/tools/mem_trace.md
 * describes the format byte by byte.
 */
#ifndef PASTA_CORE_RAWBLOCK_H
#define PASTA_CORE_RAWBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <pasta/device.h>

#define PASTA_RAW_FOLDER "accesses" /* folder in the run's folder; its files are HOST-PID.acc */
#define PASTA_RAW_MAGIC 0x43434150u /* "PACC" */
#define PASTA_RAW_VERSION 1
/* The maximum number of accesses in a block. A block with a larger count is damaged. */
#define PASTA_RAW_ACCESSES (1u << 16)

struct pasta_raw_block {
	uint32_t magic;
	uint16_t version;
	uint16_t head;	   /* bytes of this head */
	uint64_t corr;	   /* the launch's correlation id */
	uint32_t count;	   /* accesses */
	uint32_t raw_size; /* bytes, before compression */
	uint32_t size;	   /* bytes after the head */
	uint32_t reserved;
	uint64_t sum;	   /* XXH3 of the bytes after the head */
	uint64_t head_sum; /* XXH3 of all fields before this one */
};

/* Sets the magic, the version and the sums. Call it after setting all other fields. */
void pasta_raw_block_seal(struct pasta_raw_block *b, const void *bytes);
/* Returns whether the head is undamaged, and its version and sizes can be read. */
bool pasta_raw_block_ok(const struct pasta_raw_block *b);
/* Returns whether the bytes after the head are undamaged. */
bool pasta_raw_bytes_ok(const struct pasta_raw_block *b, const void *bytes);

/* The maximum size of an encoded access, and the number of bytes before the first access. */
enum { PASTA_BATCH_ACCESS_MAX = 48, PASTA_BATCH_HEAD = 1 };
/* Encodes accesses while they fit into room bytes. Returns the number encoded; *size is the number
 * of bytes written. */
size_t pasta_raw_encode(const struct pasta_access *accesses, size_t count, uint8_t *bytes,
			size_t room, size_t *size);
/* Decodes accesses. Returns their number; -EINVAL if the bytes are damaged or of another version;
 * -ENOSPC if there are more than max. */
ssize_t pasta_raw_decode(const uint8_t *bytes, size_t size, struct pasta_access *accesses,
			 size_t max);

#endif
