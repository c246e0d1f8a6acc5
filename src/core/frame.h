/*
 * frame.h - the shard format: a file head, followed by frames.
 *
 * Frames are only ever appended, so any prefix of a shard is readable. All numbers are little
 * endian. Frames start at multiples of 8 bytes. The first frame contains the schema, a text with
 * one line per kind: "number name type:field type:field ...". Strings have consecutive ids,
 * starting with 1. A frame with strings precedes the frames that refer to these strings.
 *
 * The payload of an events frame, before compression, consists of
 *   - the number of sections (varint);
 *   - one section per kind: the kind (u8), the number of events (varint), the number of columns
 *     (varint), the size of the columns in bytes (varint), and the columns;
 *   - if there are several sections, one byte per event: the number of the event's section.
 *
 * The columns are sub, tid, time, and the fields in the schema's order. A column consists of
 *   - a tag (u8), whose bits 0-3 are the width, 0 to 8, and whose bit 4 is delta;
 *   - the base (varint) and the step (zigzag varint);
 *   - as many byte planes as the width.
 *
 * A column decodes to value[i]. x[i] is the number whose bytes are byte i of each plane, lowest
 * byte first. Without delta, value[i] = base + x[i]. With delta, value[0] = base, and value[i] =
 * value[i-1] + step + x[i]. Sums are modulo 2^64.
 *
 * The payload of a strings frame has, for each string, the size in bytes (varint) and the bytes.
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

/* The maximum number of events and of bytes in a frame. A frame whose head exceeds these limits is
 * damaged. */
#define PASTA_FRAME_EVENTS 32768u
#define PASTA_FRAME_BYTES (8u << 20)

/* CLOCK_MONOTONIC_RAW in ns; handlers define the clocks with higher numbers */
#define PASTA_CLOCK_RAW 0

struct pasta_shard_head {
	char magic[8];
	uint32_t version;
	uint32_t size; /* size of this head, in bytes */
	uint8_t guid[16];
	/* The boot id of the host. Shards with the same boot id were written with the same
	 * CLOCK_MONOTONIC_RAW. */
	uint8_t boot[16];
	uint64_t raw, real; /* CLOCK_MONOTONIC_RAW and CLOCK_REALTIME, read at the same time */
	uint32_t pid;
	uint32_t flags; /* enum pasta_shard_flag */
	uint64_t sum;	/* XXH3 of all fields before this one */
};

/* PASTA_SHARD_ENDS: if the shard is complete, its last event is a loss event of the subtype
 * `account` for source 0, the writer. The event's field `pushed` is the number of the writer's own
 * events, including this one; its field `dropped` is the number of strings. If the event is
 * missing, the shard was truncated, or its process crashed and left a ring file. */
enum pasta_shard_flag {
	PASTA_SHARD_ENDS = 1,
	PASTA_SHARD_NAMES = 2, /* a frame that contains names has the flag PASTA_FRAME_NAMES */
};

enum pasta_frame_type { PASTA_FRAME_SCHEMA = 1, PASTA_FRAME_STRINGS, PASTA_FRAME_EVENTS_T };
enum pasta_frame_flag {
	PASTA_FRAME_ZSTD = 1, /* the payload is compressed */
	/* the frame contains clock records, which must be read before other frames */
	PASTA_FRAME_CLOCK = 2,
	/* the frame contains records of the writer itself: clocks, process, threads, loss */
	PASTA_FRAME_STATE = 4,
	/* The frame contains device or thread records, which must be read before other frames. */
	PASTA_FRAME_NAMES = 8,
};

struct pasta_frame {
	uint32_t magic;
	uint8_t type, flags;
	/* pasta_shard_tag of the shard, by which the reader detects frames of other shards */
	uint16_t tag;
	/* number of the ring from which the events come; 0: they come from the writer itself */
	uint32_t source;
	uint32_t clock;
	uint64_t first, last; /* times of the earliest and the latest event in the frame */
	uint64_t watermark;   /* later frames of this source have no event before this time */
	/* Number of the source's events in earlier frames. In a frame with strings: the id of the
	 * first string. */
	uint64_t seq;
	uint64_t pos;	   /* position in the ring directly after the last event */
	uint32_t count;	   /* number of events or strings in the frame */
	uint32_t raw_size; /* size of the uncompressed payload in bytes */
	uint32_t size; /* size of the stored payload in bytes, without padding to a multiple of 8 */
	uint32_t schema;   /* pasta_schema_hash of the schema's text */
	uint64_t sum;	   /* XXH3 of the stored payload */
	uint64_t head_sum; /* XXH3 of all fields before this one */
};

/* Returns 16 bits of a hash of the guid, but never 0. Shards of older versions have the tag 0. */
uint16_t pasta_shard_tag(const uint8_t guid[16]);

/* pasta_shard_head_seal sets the magic, version, size and sum of a shard's head. The other two
 * functions return whether the magic and the sum are right: pasta_shard_head_ok for a shard's head,
 * pasta_frame_head_ok for a frame's head. */
void pasta_shard_head_seal(struct pasta_shard_head *head);
bool pasta_shard_head_ok(const struct pasta_shard_head *head);
bool pasta_frame_head_ok(const struct pasta_frame *frame);

/* A field of a kind: its name, its type, and its offset in the record. A field has 4 or 8 bytes. */
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
	uint16_t size; /* size of a record in bytes; 0: the kind doesn't exist */
};
extern const struct pasta_kind_info pasta_kinds[PASTA_KIND_MAX];
static inline unsigned int pasta_field_size(unsigned int type)
{
	return type == PASTA_FIELD_u64 || type == PASTA_FIELD_i64 || type == PASTA_FIELD_f64 ? 8
											     : 4;
}

/* Returns the text of the schema of this build. The text is static. Any thread may call this
 * function. */
const char *pasta_schema_text(size_t *size);
uint32_t pasta_schema_hash(const char *text, size_t size);

/*
 * The encoder creates frames. The caller provides memory for the encoder: pasta_encoder_size bytes,
 * zeroed and aligned to 64. Pages of this memory that the encoder never writes need no physical
 * memory. The encoder itself never allocates memory. A frame that it returns is valid until the
 * next call. Only one thread at a time may use an encoder.
 */
struct pasta_encoder;
size_t pasta_encoder_size(void);
struct pasta_encoder *pasta_encoder_init(void *memory);
/* Derives a tag from the shard's guid. All later frames have this tag. */
void pasta_encoder_tag(struct pasta_encoder *enc, const uint8_t guid[16]);

struct pasta_frame_meta {
	uint32_t source, clock;
	uint64_t seq, pos, watermark;
	unsigned int flags;
};

/* Encodes records as an events frame. Sorts the records by time; records with equal times remain in
 * order. `count` must be from 1 to PASTA_FRAME_EVENTS. Returns the frame, followed by its
 * padding. */
const void *pasta_encode_events(struct pasta_encoder *enc, const struct pasta_event **events,
				size_t count, const struct pasta_frame_meta *meta, size_t *size);
/* Encodes a payload, of at most PASTA_FRAME_BYTES, as a frame with a schema or with strings. */
const void *pasta_encode_plain(struct pasta_encoder *enc, enum pasta_frame_type type,
			       const void *payload, size_t payload_size, uint64_t first_id,
			       uint32_t count, size_t *size);

/* Writes the length of a string, and then the string, to p. Returns the number of bytes written, at
 * most size + 5. */
size_t pasta_encode_string(uint8_t *p, const void *text, uint32_t size);

#endif
