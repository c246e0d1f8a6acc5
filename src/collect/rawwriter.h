/*
 * rawwriter.h - a thread that writes raw accesses to a file of the run, and its buffers. There are
 * 64 buffers of 256 KiB, or four per processor if that is more. A thread that finds no free buffer
 * waits for at most a second. Accesses that cannot be written are dropped, counted and reported.
 */
#ifndef PASTA_COLLECT_RAWWRITER_H
#define PASTA_COLLECT_RAWWRITER_H

#include <stdint.h>

#include "reduce/batch.h"

struct pasta_rawwriter;

/* The time in ms for which a producer waits for a free buffer. Tests raise this time before they
 * call pasta_rawwriter_new. */
extern uint32_t pasta_rawwriter_wait_ms;

/* Starts the writer thread. Returns NULL if memory is exhausted, or if the thread cannot be
 * started. The writer exists as long as the process. The writer writes the accesses that producers
 * put into batches, with the tag of each batch. */
struct pasta_rawwriter *pasta_rawwriter_new(void);
struct pasta_batches *pasta_rawwriter_batches(struct pasta_rawwriter *w);
/* Writes the accesses that are in the batches, and ends the thread, within seconds. Later accesses
 * are dropped. */
void pasta_rawwriter_close(struct pasta_rawwriter *w);
/* Closes the file of the parent process's writer. A forked child calls this function. */
void pasta_rawwriter_forked(struct pasta_rawwriter *w);

/* Sets the tag of a batch. The tag identifies the launch to which the batch's accesses belong. */
static inline void pasta_rawwriter_tag(uint64_t tag[2], uint64_t corr, uint32_t name, uint32_t tid)
{
	tag[0] = corr;
	tag[1] = (uint64_t)name << 32 | tid;
}

#endif
