/*
 * reader.h - delivers events to tools: correlated and filtered.
 *
 * One thread at a time.
 */
#ifndef PASTA_PROCESS_READER_H
#define PASTA_PROCESS_READER_H

#include "process/join/filter.h"
#include "process/read/stream.h"

struct pasta_reader;

/* kinds: a mask of the kinds to deliver; needs: a mask of enum pasta_need. filter may be NULL. s
 * and filter must outlive the reader. Shards of other ranks must be excluded from s. Returns NULL
 * when out of memory. */
struct pasta_reader *pasta_reader_new(struct pasta_stream *s, uint64_t kinds, uint64_t needs,
				      const struct pasta_filter *filter);
void pasta_reader_free(struct pasta_reader *r);

/* Returns the next event and its attribution, valid until the next call; NULL at the end. Other
 * kinds may be among the events. */
const struct pasta_event *pasta_reader_next(struct pasta_reader *r,
					    const struct pasta_where **where);
/* Calls go_on every few thousand events. When that returns false, the reader stops:
 * pasta_reader_next returns events that wait and missing ends, then NULL. pasta_reader_stopped then
 * returns true. */
void pasta_reader_set_cancel(struct pasta_reader *r, bool (*go_on)(void *ctx), void *ctx);
bool pasta_reader_stopped(const struct pasta_reader *r);
/* After the end: 0, or -ENOMEM if memory ran out. */
int pasta_reader_error(const struct pasta_reader *r);

/* The attribution of an event of which nothing is known. */
extern const struct pasta_where pasta_nowhere;

#endif
