/*
 * shardwriter.h - writes shards of events that the agent did not record, such as imported ones.
 *
 * Importers, the generator and tests use it. The writer buffers events by source and writes them in
 * frames. The memory for these events is bounded, whatever the number of sources. The same calls
 * produce the same bytes. After the first error, nothing is written, and pasta_shardwriter_close
 * returns that error. Only one thread at a time may use a writer.
 */
#ifndef PASTA_CORE_SHARDWRITER_H
#define PASTA_CORE_SHARDWRITER_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/event.h>

#include "core/frame.h"

/* maximum size of the buffered events in bytes */
#define PASTA_SHARDWRITER_MEMORY ((size_t)64 << 20)
/* Maximum length of a string in bytes. Longer strings are truncated. */
#define PASTA_SHARDWRITER_STRING ((size_t)1 << 20)

struct pasta_shardwriter;

/* Creates a new file. If the file exists, fails with -EEXIST. The caller must set guid, boot, raw,
 * real and pid of the head. On error, returns NULL and sets *err. */
struct pasta_shardwriter *pasta_shardwriter_new(const char *path,
						const struct pasta_shard_head *head,
						struct pasta_error *err);

/* Creates a writer for an open, empty file. The writer then owns fd, even after an error. `path` is
 * the name of the file in messages. */
struct pasta_shardwriter *pasta_shardwriter_adopt(int fd, const char *path,
						  const struct pasta_shard_head *head,
						  struct pasta_error *err);

/* Returns the shard's id for a string of bytes. Ids start at 1, and equal strings have the same id.
 * Returns 0 when out of memory. */
uint32_t pasta_shardwriter_intern(struct pasta_shardwriter *w, const void *bytes, size_t size);
uint32_t pasta_shardwriter_str(struct pasta_shardwriter *w, const char *text);

/* Sets the clock of the events of a source. Call this function before the first event of the
 * source. The default is PASTA_CLOCK_RAW. */
int pasta_shardwriter_clock(struct pasta_shardwriter *w, uint32_t source, uint32_t clock);

/* Writes an event of a source; sources are numbered from 1. Strings in the event are ids of this
 * shard. Events may come in any order. The writer sorts only the events within a frame. The reader
 * needs less memory if the events come almost in order. */
int pasta_shardwriter_event(struct pasta_shardwriter *w, uint32_t source,
			    const struct pasta_event *ev);

/* Writes an event of source 0, which is a clock, the process, or the name of a thread. In the file,
 * the event precedes all events that are written later. */
int pasta_shardwriter_state(struct pasta_shardwriter *w, const struct pasta_event *ev);

/* Adds to the number of events that a source has dropped. If the source is not known, use source
 * 0. */
int pasta_shardwriter_drop(struct pasta_shardwriter *w, uint32_t source, enum pasta_loss_sub reason,
			   uint64_t count);

/* Writes the buffered events, and a loss record for each source, and frees the writer. Returns 0,
 * or the first error. */
int pasta_shardwriter_close(struct pasta_shardwriter *w, struct pasta_error *err);

#endif
