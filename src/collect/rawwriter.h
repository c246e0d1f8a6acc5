/*
 * rawwriter.h - raw accesses on their way to a file of the run's: buffers, and a thread that
 * writes.
 *
 * There are 64 buffers of 256 KiB, or four a processor if that is more; who finds none free waits
 * for a second at most. What cannot be written is lost, told and counted.
 */
#ifndef PASTA_COLLECT_RAWWRITER_H
#define PASTA_COLLECT_RAWWRITER_H

#include <stdint.h>

#include "reduce/batch.h"

struct pasta_rawwriter;

/* How long a producer waits for a free buffer, in ms. Tests raise it before pasta_rawwriter_new. */
extern uint32_t pasta_rawwriter_wait_ms;

/* Begin, with a thread of its own; NULL: no memory, or no thread. It lives as long as the process;
 * what is put into its batches, by fillers with the tag below, is written. */
struct pasta_rawwriter *pasta_rawwriter_new(void);
struct pasta_batches *pasta_rawwriter_batches(struct pasta_rawwriter *w);
/* Write what was handed over and end the thread, within seconds: what is put later is lost. */
void pasta_rawwriter_close(struct pasta_rawwriter *w);
/* In a forked child, of its parent's: let go of the file. */
void pasta_rawwriter_forked(struct pasta_rawwriter *w);

/* Whose the accesses are. */
static inline void pasta_rawwriter_tag(uint64_t tag[2], uint64_t corr, uint32_t name, uint32_t tid)
{
	tag[0] = corr;
	tag[1] = (uint64_t)name << 32 | tid;
}

#endif
