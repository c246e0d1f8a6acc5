/*
 * toolworker.h - what a worker does: a plug-in loaded, its tools opened, or run over a run.
 *
 * The code of plug-ins runs in this process alone. worker.h has the other side.
 */
#ifndef PASTA_PROCESS_TOOLWORKER_H
#define PASTA_PROCESS_TOOLWORKER_H

#include <stddef.h>

#include "process/filter.h"
#include "process/stream.h"
#include "process/tool.h"
#include "process/wire.h"

/* Be a worker: one request is read from the socket, and answered. Does not return. */
_Noreturn void pasta_toolworker_main(int socket);

/* Requests, made on the other side. All of them begin with the library; then come the tools of it,
 * with what was set of their options. */
void pasta_toolworker_put_tools(struct pasta_wire *w, const char *file,
				const struct pasta_opts *const *tools, size_t count);
/* And then, to run them, what they are run over. *fds is what the worker must be given, to be
 * freed; NULL when out of memory. */
void pasta_toolworker_put_run(struct pasta_wire *w, const struct pasta_stream *s,
			      const struct pasta_filter *filter, size_t threads, int **fds,
			      size_t *fd_count);

#endif
