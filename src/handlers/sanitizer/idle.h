/* idle.h - periods in which no kernel of the program runs, for patching and freeing memory. */
#ifndef PASTA_HANDLERS_SANITIZER_IDLE_H
#define PASTA_HANDLERS_SANITIZER_IDLE_H

#include "handlers/sanitizer/sanitizer.h"

/* Enclose each call that launches. san_idle_enter waits while a period lasts. */
void san_idle_enter(void);
void san_idle_leave(void);
/* The program begins or ends to capture a stream. */
void san_idle_capture(const void *context, const void *stream, bool begins);
/* The program destroys a stream, or a context with all of its streams (stream is NULL). Ends their
 * captures. */
void san_idle_uncapture(const void *context, const void *stream);
/* Begins a period in which no thread launches and no kernel runs; the caller is not within a call
 * that launches. Returns false if that is impossible at present. */
bool san_idle_begin(void);
void san_idle_end(void);
/* Returns whether a thread has launched during the current period. */
bool san_idle_breached(void);
/* The program is about to destroy a context, or exits. The caller holds the lock. */
void san_idle_stop(void);

#endif
