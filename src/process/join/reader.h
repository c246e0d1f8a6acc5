/*
 * reader.h - correlates and filters events, and delivers them to tools. Only one thread at a time
 * may call these functions.
 */
#ifndef PASTA_PROCESS_READER_H
#define PASTA_PROCESS_READER_H

#include "process/join/filter.h"
#include "process/read/stream.h"

struct pasta_reader;

/* Creates a reader. `kinds`: a mask of the kinds to deliver; `needs`: a mask of enum pasta_need.
 * `filter` may be NULL. `s` and `filter` must outlive the reader. The caller must exclude shards of
 * other ranks from s. Returns NULL when out of memory. */
struct pasta_reader *pasta_reader_new(struct pasta_stream *s, uint64_t kinds, uint64_t needs,
				      const struct pasta_filter *filter);
void pasta_reader_free(struct pasta_reader *r);

/* Returns the next event and its attribution, valid until the next call, or NULL at the end. May
 * also return events of kinds that were not requested. */
const struct pasta_event *pasta_reader_next(struct pasta_reader *r,
					    const struct pasta_where **where);
/* Makes the reader call go_on every few thousand events. When go_on returns false, the reader
 * stops. pasta_reader_next then returns the waiting events and missing ends, and after them NULL,
 * and pasta_reader_stopped returns true. */
void pasta_reader_set_cancel(struct pasta_reader *r, bool (*go_on)(void *ctx), void *ctx);
bool pasta_reader_stopped(const struct pasta_reader *r);
/* Call this function after the last event. Returns 0, or -ENOMEM if memory ran out. */
int pasta_reader_error(const struct pasta_reader *r);

/* The attribution of an event whose scope, iteration and launch are unknown. */
extern const struct pasta_where pasta_nowhere;

#endif
