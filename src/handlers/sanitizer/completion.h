/* completion.h - waits for counted launches and reads their counts (slots) back. */
#ifndef PASTA_HANDLERS_SANITIZER_COMPLETION_H
#define PASTA_HANDLERS_SANITIZER_COMPLETION_H

#include "handlers/sanitizer/slots.h"

enum { SAN_LANES = 32 };

/* Initializes the queues of the waiting threads. Returns false on failure. */
bool san_completion_start(void);
/* The functions below wait only for a limited time. */
/* Waits until the stream's slots are read back. */
void san_completion_wait(struct san_stream *stream);
/* Waits until a launch has set up the ring of raw accesses. Does not wait if that launch is on
 * the same stream. */
void san_completion_wait_ring(const struct san_ring *ring, const void *stream);
/* Waits until all slots are read back. */
void san_completion_wait_all(void);
/* If large lists of objects are waiting to be copied to the context's device, waits until all slots
 * are read back. */
void san_completion_wait_sent(const struct san_context *context);
/* Waits until the rows of all launches of the context are emitted. */
void san_completion_wait_emitted(const struct san_context *context);
/* Starts a detached thread with all signals blocked. Returns false if that fails. */
bool san_thread(void *(*run)(void *), void *arg);
/* Adds the slot of a launch that has not been submitted to its stream yet. */
void san_completion_begin(struct san_slot *s);
/* Called when the launch has been submitted to its stream. A thread reads the slot back when the
 * stream has finished the launch. */
void san_completion_queue(struct san_slot *s);
/* Waits for the slots of a context or of a stream, or for all slots if both are NULL. Abandons
 * the slots that have not been read back after a limited time. */
void san_completion_end(const struct san_context *context, const struct san_stream *stream);

#endif
