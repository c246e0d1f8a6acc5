/* exit.h - runs a function before the program calls _exit, which does not run atexit handlers. */
#ifndef PASTA_HANDLERS_CUDA_EXIT_H
#define PASTA_HANDLERS_CUDA_EXIT_H

/* Makes this process call `flush` before _exit ends the process. Child processes do not call
 * `flush`. The program may call _exit in a signal handler, so `flush` must be async-signal-safe and
 * return within a bounded time. Only one function can be set, and must be set before other threads
 * may call _exit. */
void cuda_exit_watch(void (*flush)(void));

#endif
