/*
 * shardwriter.h - writes shards of events that the agent did not record, such as imported ones.
 *
 * Importers, the generator and tests use it. The writer buffers events by source and writes them in
 * frames. Its memory is bounded, whatever the number of sources. The same calls produce the same
 * bytes. After the first error nothing is written, and close returns that error. Not thread-safe.
 */
#ifndef PASTA_CORE_SHARDWRITER_H
#define PASTA_CORE_SHARDWRITER_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/event.h>

#include "core/frame.h"

#define PASTA_SHARDWRITER_MEMORY ((size_t)64 << 20) /* maximum size of buffered events in bytes */
/* Maximum length in bytes; longer strings are truncated. */
#define PASTA_SHARDWRITER_STRING ((size_t)1 << 20)

struct pasta_shardwriter;

/* Creates a new file. Does not overwrite an existing one (-EEXIST). The caller sets guid, boot,
 * raw, real and pid of the head. Returns NULL and sets *err on error. */
struct pasta_shardwriter *pasta_shardwriter_new(const char *path,
						const struct pasta_shard_head *head,
						struct pasta_error *err);

/* Writes into an open, empty file. The writer owns fd from now on, even on error. `path` is for
 * messages. */
struct pasta_shardwriter *pasta_shardwriter_adopt(int fd, const char *path,
						  const struct pasta_shard_head *head,
						  struct pasta_error *err);

/* Returns the shard's id for a string of bytes; ids start at 1, and equal strings have the same id.
 * Returns 0 when out of memory. */
uint32_t pasta_shardwriter_intern(struct pasta_shardwriter *w, const void *bytes, size_t size);
uint32_t pasta_shardwriter_str(struct pasta_shardwriter *w, const char *text);

/* Sets the clock of a source's events. Call it before the source's first event. The default is
 * PASTA_CLOCK_RAW. */
int pasta_shardwriter_clock(struct pasta_shardwriter *w, uint32_t source, uint32_t clock);

/* Writes an event of a source; sources are numbered from 1. Strings in the event are ids of this
 * shard. Events may come in any order. The writer sorts only within a frame; events that come
 * nearly sorted need less memory in the reader. */
int pasta_shardwriter_event(struct pasta_shardwriter *w, uint32_t source,
			    const struct pasta_event *ev);

/* Writes an event of source 0: a clock, the process or a thread's name. In the file it precedes all
 * later events. */
int pasta_shardwriter_state(struct pasta_shardwriter *w, const struct pasta_event *ev);

/* Adds to the number of events that a source dropped. Use source 0 if the source is unknown. */
int pasta_shardwriter_drop(struct pasta_shardwriter *w, uint32_t source, enum pasta_loss_sub reason,
			   uint64_t count);

/* Writes the buffered events and a loss record for each source, and frees the writer. Returns 0 or
 * the first error. */
int pasta_shardwriter_close(struct pasta_shardwriter *w, struct pasta_error *err);

#endif
