/* idle.h - creates periods in which no kernel of the program runs, so that modules can be patched
 * and memory freed. */
#ifndef PASTA_HANDLERS_SANITIZER_IDLE_H
#define PASTA_HANDLERS_SANITIZER_IDLE_H

#include "handlers/sanitizer/sanitizer.h"

/* Called before and after each of the program's calls that launch work. san_idle_enter waits until
 * the current period without kernels ends. */
void san_idle_enter(void);
void san_idle_leave(void);
/* Called when the program starts or ends a stream capture. */
void san_idle_capture(const void *context, const void *stream, bool begins);
/* Called when the program destroys a stream, or a context with all of its streams (`stream` is
 * NULL). Ends the captures of the destroyed streams. */
void san_idle_uncapture(const void *context, const void *stream);
/* Starts a period in which no thread launches and no kernel runs. Returns false if that is
 * impossible at present. The caller must not be between san_idle_enter and san_idle_leave. */
bool san_idle_begin(void);
void san_idle_end(void);
/* Returns whether a thread has launched a kernel during the current period, in which no kernel
 * should run. */
bool san_idle_breached(void);
/* Called when the program is about to destroy a context, or exits. The caller holds san.lock. */
void san_idle_stop(void);

#endif
