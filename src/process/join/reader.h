/*
 * reader.h - a stream of events as tools see them: joined and filtered.
 *
 * One thread at a time.
 */
#ifndef PASTA_PROCESS_READER_H
#define PASTA_PROCESS_READER_H

#include "process/join/filter.h"
#include "process/read/stream.h"

struct pasta_reader;

/* kinds: those that are wanted; needs: of enum pasta_need. filter may be NULL. All must outlive
 * it. Shards of other ranks must have been left out. NULL when out of memory. */
struct pasta_reader *pasta_reader_new(struct pasta_stream *s, uint64_t kinds, uint64_t needs,
				      const struct pasta_filter *filter);
void pasta_reader_free(struct pasta_reader *r);

/* The next event, and where it belongs, until the next call; NULL at the end. There may be events
 * of other kinds among them. */
const struct pasta_event *pasta_reader_next(struct pasta_reader *r,
					    const struct pasta_where **where);
/* Ask, every few thousand events that are read, whether to go on. If not, no more is read: next
 * gives what still waits, ends that are missing, and then NULL; stopped says that it was so. */
void pasta_reader_set_cancel(struct pasta_reader *r, bool (*go_on)(void *ctx), void *ctx);
bool pasta_reader_stopped(const struct pasta_reader *r);
/* After the end: 0, or -ENOMEM if memory ran out on the way. */
int pasta_reader_error(const struct pasta_reader *r);

/* Of what nothing is known. */
extern const struct pasta_where pasta_nowhere;

#endif
