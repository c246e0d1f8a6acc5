/*
 * rawblock.h - the encoding of raw accesses, and the format of their files.
 *
 * The encoding starts with a byte 1, the version, followed by the accesses. An access is a byte of
 * flags, followed by the fields that the flags select, in this order:
 *   bit 0     selects the site (a difference);
 *   bit 1     selects the size (a varint);
 *   bit 2     selects a varint with the kind in bits 0-7 and the space in bits 8-15;
 *   bit 3     selects the launch, then the group (two differences);
 *   bits 4-5  state the thread: 0 means unchanged, 1 the next number, 2 a difference;
 *   bit 6     selects the turn (a difference).
 * The last field of every access is the address (a difference).
 *
 * A difference is a zigzag varint; it is computed modulo 2^64 for addresses, and modulo 2^32 for
 * other fields. A field whose flag is not set is unchanged. Differences of site, launch, group and
 * thread refer to the previous access. Differences of the other fields refer to the previous access
 * whose site is equal modulo 64. All fields are 0 before the first access.
 *
 * A file is a sequence of blocks of accesses; any prefix of a file is readable. A block of accesses
 * has a little-endian head, followed by encoded accesses of one thread of one launch, compressed
 * with zstd. docs/tools/mem_trace.md describes the format byte by byte.
 */
#ifndef PASTA_CORE_RAWBLOCK_H
#define PASTA_CORE_RAWBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <pasta/device.h>

/* The folder, inside the run's folder, that contains the files of raw accesses. The files are named
 * HOST-PID.acc. */
#define PASTA_RAW_FOLDER "accesses"
#define PASTA_RAW_MAGIC 0x43434150u /* "PACC" */
#define PASTA_RAW_VERSION 1
/* The maximum number of accesses in a block of a file. A block with a larger count is damaged. */
#define PASTA_RAW_ACCESSES (1u << 16)

struct pasta_raw_block {
	uint32_t magic;
	uint16_t version;
	uint16_t head;	   /* size of this head in bytes */
	uint64_t corr;	   /* correlation id of the launch */
	uint32_t count;	   /* accesses */
	uint32_t raw_size; /* size of the encoded accesses in bytes, before compression */
	uint32_t size;	   /* number of bytes that follow the head */
	uint32_t reserved;
	uint64_t sum;	   /* XXH3 of the bytes that follow the head */
	uint64_t head_sum; /* XXH3 of all fields before this one */
};

/* Sets the magic, the version and the sums of a head. Call this function after setting all other
 * fields. */
void pasta_raw_block_seal(struct pasta_raw_block *b, const void *bytes);
/* Returns whether the head is undamaged, and this build can read blocks of its version and
 * sizes. */
bool pasta_raw_block_ok(const struct pasta_raw_block *b);
/* Returns whether the bytes that follow the head are undamaged. */
bool pasta_raw_bytes_ok(const struct pasta_raw_block *b, const void *bytes);

/* The maximum size of an encoded access in bytes, and the number of bytes that precede the first
 * access. */
enum { PASTA_BATCH_ACCESS_MAX = 48, PASTA_BATCH_HEAD = 1 };
/* Encodes the accesses that fit into `room` bytes. Returns the number of these accesses, and sets
 * *size to the number of bytes written. */
size_t pasta_raw_encode(const struct pasta_access *accesses, size_t count, uint8_t *bytes,
			size_t room, size_t *size);
/* Decodes accesses, and returns their number. If the bytes are damaged or have another version,
 * returns -EINVAL. If there are more than `max` accesses, returns -ENOSPC. */
ssize_t pasta_raw_decode(const uint8_t *bytes, size_t size, struct pasta_access *accesses,
			 size_t max);

#endif
