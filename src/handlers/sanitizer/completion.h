/* completion.h - waits for counted launches and reads their slots back. */
#ifndef PASTA_HANDLERS_SANITIZER_COMPLETION_H
#define PASTA_HANDLERS_SANITIZER_COMPLETION_H

#include "handlers/sanitizer/slots.h"

enum { SAN_LANES = 32 };

/* Initializes the lanes. Returns false on failure. */
bool san_completion_start(void);
/* The waits below have a time limit. */
/* Waits until the stream's slots are read back. */
void san_completion_wait(struct san_stream *stream);
/* Waits until the ring of raw accesses is set up, or its set-up precedes on the same stream. */
void san_completion_wait_ring(const struct san_ring *ring, const void *stream);
/* Waits until all slots are read back. */
void san_completion_wait_all(void);
/* Waits for all slots if large object lists wait to be copied to the context's device. */
void san_completion_wait_sent(const struct san_context *context);
/* Waits until the rows of all launches of the context are emitted. */
void san_completion_wait_emitted(const struct san_context *context);
/* Starts a detached thread with all signals blocked. Returns false if that fails. */
bool san_thread(void *(*run)(void *), void *arg);
/* The slot belongs to a launch that is not on its stream yet. */
void san_completion_begin(struct san_slot *s);
/* The launch is on its stream: its slot is read back when the stream has passed it. */
void san_completion_queue(struct san_slot *s);
/* Waits for the slots of a context, of a stream, or all (NULL, NULL), then abandons the rest. */
void san_completion_end(const struct san_context *context, const struct san_stream *stream);

#endif
