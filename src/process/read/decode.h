/* decode.h - frames back to records, trusting nothing that they say. */
#ifndef PASTA_PROCESS_DECODE_H
#define PASTA_PROCESS_DECODE_H

#include "core/err.h"
#include "core/frame.h"
#include "process/read/clockmap.h"

/* A shard's schema, matched to this build's records. */
struct pasta_plan;
struct pasta_plan *pasta_plan_new(const char *schema, size_t size, struct pasta_error *err);
void pasta_plan_free(struct pasta_plan *plan);

/* Records back to back, in order of time. */
struct pasta_block {
	uint8_t *data;
	size_t size, capacity;
	uint32_t count;	  /* records */
	uint32_t unknown; /* events of kinds that this build does not know */
};

/* Scratch space; one a thread. */
struct pasta_decoder;
struct pasta_decoder *pasta_decoder_new(void);
void pasta_decoder_free(struct pasta_decoder *d);
/* Room for a payload as it is stored, which thousands of shards share; NULL when out of memory. */
void *pasta_decoder_payload(struct pasta_decoder *d, size_t size);

/* How ids and numbers of the shard become those of the run. */
struct pasta_mapping {
	const uint32_t *strings; /* by the shard's id */
	size_t string_count;
	uint32_t proc;
	uint64_t kinds;			    /* mask of the kinds to decode */
	const struct pasta_clockmap *clock; /* of the frame's times; NULL: they stay as they are */
	int64_t offset;			    /* then added to them */
};

/* Whether the payload, as stored, is what its head says. */
bool pasta_decode_check(const struct pasta_frame *frame, const void *payload);

/* The payload as stored to a block. -EBADMSG: it is not what its head says, or lies. -ENOMEM. */
int pasta_decode_events(struct pasta_decoder *d, const struct pasta_plan *plan,
			const struct pasta_frame *frame, const void *payload,
			const struct pasta_mapping *map, struct pasta_block *block);

/* The payload's bytes, checked and uncompressed, until the next call; NULL if it is damaged. */
const uint8_t *pasta_decode_plain(struct pasta_decoder *d, const struct pasta_frame *frame,
				  const void *payload);

#endif
