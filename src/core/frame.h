/*
 * frame.h - the shard format: a file head, followed by frames.
 *
 * Frames are only appended, so any prefix of a shard is readable. All numbers are little endian.
 * Frames start at multiples of 8 bytes. The first frame is the schema, with one line per kind:
 * "number name type:field type:field ...". Strings have consecutive ids, from 1. A strings frame
 * precedes the frames that use its strings.
 *
 * Payload of an events frame, before compression:
 *   varint number of sections, then one section per kind:
 *     u8 kind, varint events, varint columns, varint size of the columns in bytes, columns
 *   then, with more than one section: one byte per event, in order: the number of its section.
 * The columns are sub, tid, time, and the fields in the schema's order. A column is
 *   u8 tag (bits 0-3 width 0..8, bit 4 delta), varint base, zigzag varint step, width byte planes
 * Without delta, value[i] is base + x[i]. With delta, value[i] is value[i-1] + step + x[i], and
 * value[0] is base. Sums are modulo 2^64. x[i] consists of byte i of each plane, lowest byte first.
 * Payload of a strings frame: for each string, varint size in bytes, then the bytes.
 */
#ifndef PASTA_CORE_FRAME_H
#define PASTA_CORE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/event.h>

#define PASTA_SHARD_MAGIC "PASTA\r\n\x1a"
#define PASTA_SHARD_VERSION 1
#define PASTA_FRAME_MAGIC 0x46545350u /* "PSTF" */

/* Limits of a frame. A frame whose head exceeds them is damaged. */
#define PASTA_FRAME_EVENTS 32768u
#define PASTA_FRAME_BYTES (8u << 20)

#define PASTA_CLOCK_RAW 0 /* CLOCK_MONOTONIC_RAW in ns; handlers define other clocks */

struct pasta_shard_head {
	char magic[8];
	uint32_t version;
	uint32_t size; /* size of this head, in bytes */
	uint8_t guid[16];
	uint8_t boot[16];   /* the host's boot id: shards of one boot share CLOCK_MONOTONIC_RAW */
	uint64_t raw, real; /* CLOCK_MONOTONIC_RAW and CLOCK_REALTIME at the same time */
	uint32_t pid;
	uint32_t flags; /* enum pasta_shard_flag */
	uint64_t sum;	/* XXH3 of all fields before this one */
};

/* PASTA_SHARD_ENDS: the shard's last event is a loss event of subtype account for source 0, the
 * writer. Its field pushed is the number of the writer's own events, including this one; dropped is
 * the number of strings. If that event is missing, the shard was cut short, or its process crashed
 * and left a ring file. */
enum pasta_shard_flag {
	PASTA_SHARD_ENDS = 1,
	PASTA_SHARD_NAMES = 2, /* frames with names have the flag PASTA_FRAME_NAMES */
};

enum pasta_frame_type { PASTA_FRAME_SCHEMA = 1, PASTA_FRAME_STRINGS, PASTA_FRAME_EVENTS_T };
enum pasta_frame_flag {
	PASTA_FRAME_ZSTD = 1,  /* the payload is compressed */
	PASTA_FRAME_CLOCK = 2, /* contains clock records: read before other frames */
	PASTA_FRAME_STATE = 4, /* the writer's own records: clocks, process, threads, loss */
	PASTA_FRAME_NAMES = 8, /* contains device or thread records: read before other frames */
};

struct pasta_frame {
	uint32_t magic;
	uint8_t type, flags;
	uint16_t tag;	 /* pasta_shard_tag of the shard, to detect frames of other shards */
	uint32_t source; /* the ring that the events come from; 0: the writer itself */
	uint32_t clock;
	uint64_t first, last; /* times of the earliest and the latest event */
	uint64_t watermark;   /* later frames of this source have no event before this time */
	uint64_t seq;	/* number of the source's events before this frame; strings: the first id */
	uint64_t pos;	/* the ring's position after the last event */
	uint32_t count; /* of events or strings */
	uint32_t raw_size; /* bytes of the payload, uncompressed */
	uint32_t size;	   /* bytes of the payload, as stored, without padding to 8 */
	uint32_t schema;   /* pasta_schema_hash of the schema's text */
	uint64_t sum;	   /* XXH3 of the payload, as stored */
	uint64_t head_sum; /* XXH3 of all fields before this one */
};

/* Returns 16 bits of a hash of the guid, never 0. Shards of older versions have the tag 0. */
uint16_t pasta_shard_tag(const uint8_t guid[16]);

/* pasta_shard_head_seal sets the magic, version, size and sum of a head. The other two check a
 * head's magic and sum. */
void pasta_shard_head_seal(struct pasta_shard_head *head);
bool pasta_shard_head_ok(const struct pasta_shard_head *head);
bool pasta_frame_head_ok(const struct pasta_frame *frame);

/* A field of a kind, at an offset in the record. It has 4 or 8 bytes. */
struct pasta_field {
	const char *name;
	uint8_t type; /* enum pasta_field_type */
	uint16_t offset;
};
enum pasta_field_type {
	PASTA_FIELD_u32 = 1,
	PASTA_FIELD_u64,
	PASTA_FIELD_i64,
	PASTA_FIELD_f64,
	PASTA_FIELD_str,
	PASTA_FIELD_ref,
};
struct pasta_kind_info {
	const char *name, *summary;
	const struct pasta_field *fields;
	unsigned int count;
	uint16_t size; /* size of a record; 0: the kind doesn't exist */
};
extern const struct pasta_kind_info pasta_kinds[PASTA_KIND_MAX];
static inline unsigned int pasta_field_size(unsigned int type)
{
	return type == PASTA_FIELD_u64 || type == PASTA_FIELD_i64 || type == PASTA_FIELD_f64 ? 8
											     : 4;
}

/* Returns this build's schema, a static text. Any thread may call it. */
const char *pasta_schema_text(size_t *size);
uint32_t pasta_schema_hash(const char *text, size_t size);

/*
 * The encoder creates frames. The caller provides its memory: pasta_encoder_size bytes, zeroed and
 * aligned to 64. Pages that the encoder never touches cost nothing. The encoder never allocates. A
 * frame that it returns is valid until the next call. Not thread-safe.
 */
struct pasta_encoder;
size_t pasta_encoder_size(void);
struct pasta_encoder *pasta_encoder_init(void *memory);
/* Sets the tag of all later frames from the shard's guid. */
void pasta_encoder_tag(struct pasta_encoder *enc, const uint8_t guid[16]);

struct pasta_frame_meta {
	uint32_t source, clock;
	uint64_t seq, pos, watermark;
	unsigned int flags;
};

/* Encodes records as an events frame, sorted by time; records with equal times stay in order. count
 * is 1 to PASTA_FRAME_EVENTS. Returns the frame with its padding. */
const void *pasta_encode_events(struct pasta_encoder *enc, const struct pasta_event **events,
				size_t count, const struct pasta_frame_meta *meta, size_t *size);
/* Encodes a schema or strings frame from a payload of at most PASTA_FRAME_BYTES. */
const void *pasta_encode_plain(struct pasta_encoder *enc, enum pasta_frame_type type,
			       const void *payload, size_t payload_size, uint64_t first_id,
			       uint32_t count, size_t *size);

/* Writes a string with its length to p. Returns the number of bytes written, at most size + 5. */
size_t pasta_encode_string(uint8_t *p, const void *text, uint32_t size);

#endif
