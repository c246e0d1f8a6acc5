/* decode.h - decodes frames to records and validates everything in them. */
#ifndef PASTA_PROCESS_DECODE_H
#define PASTA_PROCESS_DECODE_H

#include "core/err.h"
#include "core/frame.h"
#include "process/read/clockmap.h"

/* Describes how to decode records with a shard's schema into records with the schema of this
 * build. */
struct pasta_plan;
struct pasta_plan *pasta_plan_new(const char *schema, size_t size, struct pasta_error *err);
void pasta_plan_free(struct pasta_plan *plan);

/* Decoded records, stored consecutively in order of time. */
struct pasta_block {
	uint8_t *data;
	size_t size, capacity;
	uint32_t count;	  /* records */
	uint32_t unknown; /* number of events of kinds that this build does not know */
};

/* Scratch memory for decoding. Each thread needs its own. */
struct pasta_decoder;
struct pasta_decoder *pasta_decoder_new(void);
void pasta_decoder_free(struct pasta_decoder *d);
/* Returns a buffer of `size` bytes, into which the caller reads a frame's stored payload. The
 * buffer is valid until the next call. Returns NULL when out of memory. */
void *pasta_decoder_payload(struct pasta_decoder *d, size_t size);

/* Describes how to convert the string ids and times of a shard to those of the run. */
struct pasta_mapping {
	const uint32_t *strings; /* string ids of the run, indexed by string id of the shard */
	size_t string_count;
	uint32_t proc;
	uint64_t kinds; /* mask of the kinds to decode */
	/* Converts times of the clock of the frame; NULL if no conversion is needed. */
	const struct pasta_clockmap *clock;
	int64_t offset; /* offset that is added to each time after `clock` has converted it */
};

/* Returns whether the stored payload of a frame matches the frame's checksum. */
bool pasta_decode_check(const struct pasta_frame *frame, const void *payload);

/* Decodes the stored payload of a frame into a pasta_block. Returns 0, -EBADMSG if the payload is
 * damaged or inconsistent, or -ENOMEM. */
int pasta_decode_events(struct pasta_decoder *d, const struct pasta_plan *plan,
			const struct pasta_frame *frame, const void *payload,
			const struct pasta_mapping *map, struct pasta_block *block);

/* Checks and decompresses a payload. Returns the payload, valid until the next call, or NULL if it
 * is damaged. */
const uint8_t *pasta_decode_plain(struct pasta_decoder *d, const struct pasta_frame *frame,
				  const void *payload);

#endif
