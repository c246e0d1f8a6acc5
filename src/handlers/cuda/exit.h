/* exit.h - run a function before the program leaves by _exit, which runs no atexit handlers. */
#ifndef PASTA_HANDLERS_CUDA_EXIT_H
#define PASTA_HANDLERS_CUDA_EXIT_H

/* Call flush before each _exit of this process; its children do not call it. _exit may be called in
 * a signal handler, so flush must be async-signal-safe and must return within a bounded time. Only
 * one function can be set. Call before other threads may call _exit. */
void cuda_exit_watch(void (*flush)(void));

#endif
