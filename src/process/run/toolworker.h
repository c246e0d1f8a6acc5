/*
 * toolworker.h - what a worker does: a plug-in loaded, its tools opened, or run over a run.
 *
 * The code of plug-ins runs in this process alone. worker.h has the other side.
 */
#ifndef PASTA_PROCESS_TOOLWORKER_H
#define PASTA_PROCESS_TOOLWORKER_H

#include <stddef.h>

#include "process/join/filter.h"
#include "process/read/stream.h"
#include "process/run/tool.h"
#include "process/io/wire.h"

/* Be a worker: one request is read from the socket, and answered. Does not return. */
_Noreturn void pasta_toolworker_main(int socket);

/* Requests, made on the other side. All of them begin with the library; then come the tools of it,
 * with what was set of their options. */
void pasta_toolworker_put_tools(struct pasta_wire *w, const char *file,
				const struct pasta_opts *const *tools, size_t count);
/* Descriptors that a worker must be given, none of which it can write to. */
struct pasta_toolworker_fds {
	int *fds, *made; /* of these, those that were opened for it */
	size_t count, made_count;
};
void pasta_toolworker_fds_free(struct pasta_toolworker_fds *f); /* what is in it */
/* And then, to run them, what they are run over. Zero *f before. A negative errno. */
int pasta_toolworker_put_run(struct pasta_wire *w, const struct pasta_stream *s,
			     const struct pasta_filter *filter, size_t threads,
			     struct pasta_toolworker_fds *f);

#endif
