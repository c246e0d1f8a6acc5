/*
 * shardwriter.h - makes a shard of events that come from elsewhere than the program under study.
 *
 * For importers, the generator and tests. Events are buffered by source and written in frames; the
 * memory for them is bounded, whatever the number of sources. The same calls make the same bytes.
 * The first error is kept: from then on nothing is written, and close tells it. One thread at a
 * time.
 */
#ifndef PASTA_CORE_SHARDWRITER_H
#define PASTA_CORE_SHARDWRITER_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "core/frame.h"

#define PASTA_SHARDWRITER_MEMORY ((size_t)64 << 20) /* bytes of events that wait to be written */
#define PASTA_SHARDWRITER_STRING ((size_t)1 << 20)  /* longer ones are cut */

struct pasta_shardwriter;

/* A new file; one that is there is never written over (-EEXIST). guid, boot, raw, real and pid of
 * the head are the caller's. NULL and *err if it cannot be made. */
struct pasta_shardwriter *pasta_shardwriter_new(const char *path,
						const struct pasta_shard_head *head,
						struct pasta_error *err);

/* The same into a file that is open and empty, and is its own from now on, whatever happens; path
 * is for messages. */
struct pasta_shardwriter *pasta_shardwriter_adopt(int fd, const char *path,
						 const struct pasta_shard_head *head,
						 struct pasta_error *err);

/* The shard's id of some bytes: from 1, the same for the same bytes. 0 when out of memory. */
uint32_t pasta_shardwriter_intern(struct pasta_shardwriter *w, const void *bytes, size_t size);
uint32_t pasta_shardwriter_str(struct pasta_shardwriter *w, const char *text);

/* The clock of a source's events: before its first. PASTA_CLOCK_RAW unless told. */
int pasta_shardwriter_clock(struct pasta_shardwriter *w, uint32_t source, uint32_t clock);

/* An event of a source, from 1; strings in it are ids of this shard. They may come in any order,
 * but a frame is sorted in itself only: the nearer to order, the less a reader has to hold. */
int pasta_shardwriter_event(struct pasta_shardwriter *w, uint32_t source,
			    const struct pasta_event *ev);

/* What an agent says for itself: clocks, process, threads' names. Written before what follows. */
int pasta_shardwriter_state(struct pasta_shardwriter *w, const struct pasta_event *ev);

/* The source could not keep so many events. Source 0: nobody knows whose they were. */
int pasta_shardwriter_drop(struct pasta_shardwriter *w, uint32_t source, enum pasta_loss_sub reason,
			   uint64_t count);

/* Write what is left and each source's account, and free it. 0, or the first error. */
int pasta_shardwriter_close(struct pasta_shardwriter *w, struct pasta_error *err);

#endif
