/*
 * frame.h - the shard format: a file head, then frames, each whole in itself.
 *
 * A shard is appended to and never rewritten; any prefix of it is readable. All numbers are little
 * endian. Frames begin at multiples of 8 bytes. The first frame is the schema: a line a kind,
 * "number name type:field type:field ...". Strings have consecutive ids, from 1, and are defined
 * before the frames that use them.
 *
 * Payload of an events frame, before compression:
 *   varint sections, then a section a kind:
 *     u8 kind, varint events, varint columns, varint bytes of what follows, columns
 *   then, if there is more than one section: a byte an event, in order, the number of its section.
 * Columns are sub, tid, time, then the fields in the schema's order. A column is
 *   u8 tag (bits 0-3 width 0..8, bit 4 delta), varint base, zigzag varint step, width byte planes
 * and value[i] is base + x[i], or with delta value[i-1] + step + x[i] (value[0] is base, x[0] 0),
 * modulo 2^64, where x[i] is put together from the planes, lowest byte first.
 * Payload of a strings frame: for each, varint bytes, then the bytes.
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

/* How much one frame holds at most; a frame that says more is damaged. */
#define PASTA_FRAME_EVENTS 32768u
#define PASTA_FRAME_BYTES (8u << 20)

#define PASTA_CLOCK_RAW 0 /* CLOCK_MONOTONIC_RAW in ns; other clocks are their handler's */

struct pasta_shard_head {
	char magic[8];
	uint32_t version;
	uint32_t size; /* of this head */
	uint8_t guid[16];
	uint8_t boot[16];   /* the host's boot id: shards of one boot share CLOCK_MONOTONIC_RAW */
	uint64_t raw, real; /* the two host clocks at one moment */
	uint32_t pid;
	uint32_t flags; /* enum pasta_shard_flag */
	uint64_t sum;	/* XXH3 of what is before it */
};

/* Its last event is an account of source 0, the writer: so many events of its own (pushed), the
 * account included, and so many strings (dropped). Without it the shard was cut, or its process
 * died and left a ring file. */
enum pasta_shard_flag {
	PASTA_SHARD_ENDS = 1,
	PASTA_SHARD_NAMES = 2, /* frames that hold names are marked, PASTA_FRAME_NAMES */
};

enum pasta_frame_type { PASTA_FRAME_SCHEMA = 1, PASTA_FRAME_STRINGS, PASTA_FRAME_EVENTS_T };
enum pasta_frame_flag {
	PASTA_FRAME_ZSTD = 1,  /* the payload is compressed */
	PASTA_FRAME_CLOCK = 2, /* holds clock events: read it before others */
	PASTA_FRAME_STATE = 4, /* the agent's own: clocks, process, threads, loss */
	PASTA_FRAME_NAMES = 8, /* holds records of devices or threads: read them before others */
};

struct pasta_frame {
	uint32_t magic;
	uint8_t type, flags;
	uint16_t tag;	 /* pasta_shard_tag of its shard: a frame of another one is no part of it */
	uint32_t source; /* the ring it is from; 0 is the writer itself */
	uint32_t clock;
	uint64_t first, last; /* times of its earliest and its latest event */
	uint64_t watermark;   /* no later frame of this source has an earlier event */
	uint64_t seq;	      /* events of the source before this frame; strings: the first id */
	uint64_t pos;	      /* the ring's position after its last event */
	uint32_t count;	      /* events or strings */
	uint32_t raw_size;    /* bytes of the payload, uncompressed */
	uint32_t size;	      /* bytes of the payload, as stored, without padding to 8 */
	uint32_t schema;      /* which: pasta_schema_hash of its text */
	uint64_t sum;	      /* XXH3 of the payload, as stored */
	uint64_t head_sum;    /* XXH3 of the head before it */
};

/* From the guid; 0 in shards of older versions. */
uint16_t pasta_shard_tag(const uint8_t guid[16]);

/* Set the magic and sum; say if they are right. */
void pasta_shard_head_seal(struct pasta_shard_head *head);
bool pasta_shard_head_ok(const struct pasta_shard_head *head);
bool pasta_frame_head_ok(const struct pasta_frame *frame);

/* A field of a kind. offset is in the record; sizes are 4 or 8. */
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
	uint16_t size; /* of a whole record; 0: no such kind */
};
extern const struct pasta_kind_info pasta_kinds[PASTA_KIND_MAX];
static inline unsigned int pasta_field_size(unsigned int type)
{
	return type == PASTA_FIELD_u64 || type == PASTA_FIELD_i64 || type == PASTA_FIELD_f64 ? 8
											     : 4;
}

/* This build's schema, as text. It lives for ever. Any thread. */
const char *pasta_schema_text(size_t *size);
uint32_t pasta_schema_hash(const char *text, size_t size);

/*
 * The encoder makes frames. It lives in memory that its caller gives (pasta_encoder_size bytes,
 * zeroed, aligned to 64; pages that are never touched cost nothing) and never allocates. A frame
 * that is returned lives until the next call.
 */
struct pasta_encoder;
size_t pasta_encoder_size(void);
struct pasta_encoder *pasta_encoder_init(void *memory);
/* The shard that its frames are of, from now on. */
void pasta_encoder_tag(struct pasta_encoder *enc, const uint8_t guid[16]);

struct pasta_frame_meta {
	uint32_t source, clock;
	uint64_t seq, pos, watermark;
	unsigned int flags;
};

/* A record lies at each of the count pointers; they are sorted by time here, stably. At most
 * PASTA_FRAME_EVENTS. Returns the frame's bytes, whole and padded. */
const void *pasta_encode_events(struct pasta_encoder *enc, const struct pasta_event **events,
				size_t count, const struct pasta_frame_meta *meta, size_t *size);
/* payload: as the format has it. At most PASTA_FRAME_BYTES. */
const void *pasta_encode_plain(struct pasta_encoder *enc, enum pasta_frame_type type,
			       const void *payload, size_t payload_size, uint64_t first_id,
			       uint32_t count, size_t *size);

/* One length-prefixed string to p; returns the bytes used, at most size + 5. */
size_t pasta_encode_string(uint8_t *p, const void *text, uint32_t size);

#endif
