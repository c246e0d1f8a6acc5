/*
 * toolworker.h - the code of a worker: it loads a plug-in, opens its tools, or runs them.
 *
 * The code of plug-ins runs only in workers. worker.h is the side of accelprof.
 */
#ifndef PASTA_PROCESS_TOOLWORKER_H
#define PASTA_PROCESS_TOOLWORKER_H

#include <stddef.h>

#include "process/join/filter.h"
#include "process/read/stream.h"
#include "process/run/tool.h"
#include "process/io/wire.h"

/* Reads one request from the socket, answers it, and exits. */
_Noreturn void pasta_toolworker_main(int socket);

/* The functions below make requests, in accelprof. Each begins with the library, its chosen tools,
 * and the options that were set. */
void pasta_toolworker_put_tools(struct pasta_wire *w, const char *file,
				const struct pasta_opts *const *tools, size_t count);
/* Descriptors that the worker inherits, all read-only. */
struct pasta_toolworker_fds {
	int *fds, *made; /* all; the ones among them that were opened for the worker */
	size_t count, made_count;
};
void pasta_toolworker_fds_free(struct pasta_toolworker_fds *f); /* frees the contents */
/* Adds what the tools run over: shards, filter and threads. Zero *f before. Returns 0 or a negative
 * errno. */
int pasta_toolworker_put_run(struct pasta_wire *w, const struct pasta_stream *s,
			     const struct pasta_filter *filter, size_t threads,
			     struct pasta_toolworker_fds *f);

#endif
