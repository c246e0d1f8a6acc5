/*
 * rccl.h - which collective a kernel of RCCL was, told by the calls around its launch.
 *
 * Most of RCCL's kernels have one name for all that they do, so they wait here until the calls are
 * known, which a file may have before or after them. One thread at a time.
 */
#ifndef PASTA_IMPORT_RCCL_H
#define PASTA_IMPORT_RCCL_H

#include "import/trace.h"

struct pasta_rccl_call {
	uint64_t begin, end, corr;
	uint32_t tid;
	uint8_t what; /* rccl.c's own */
};

struct pasta_rccl_kernel {
	struct pasta_event ev;
	const char *name; /* of its collective, as far as its own name tells */
};

struct pasta_rccl_launch {
	uint64_t corr, begin;
	uint32_t tid;
};

/* Zero it before use, with t set. */
struct pasta_rccl {
	struct pasta_trace *t;
	struct pasta_rccl_kernel *kernels; /* that wait */
	size_t kernel_count, kernel_capacity;
	struct pasta_map *waiting; /* their correlations; nothing else is known of them */
	struct pasta_rccl_call *calls;
	size_t call_count, call_capacity;
	struct pasta_rccl_launch *launches;
	size_t launch_count, launch_capacity;
	bool kernels_read; /* no more come */
};

void pasta_rccl_free(struct pasta_rccl *r);

/* A kernel of RCCL, and what pasta_collective_name says of it: put emits both. */
void pasta_rccl_kernel(struct pasta_rccl *r, const struct pasta_event *ev, const char *name);
/* A call of RCCL. */
void pasta_rccl_call(struct pasta_rccl *r, struct pasta_slice name, uint32_t tid, uint64_t corr,
		     uint64_t begin, uint64_t end);
/* Some call that gave work to a device. */
void pasta_rccl_launch(struct pasta_rccl *r, uint32_t tid, uint64_t corr, uint64_t begin);
/* All is known: emit what waits, each kernel after its collective. */
void pasta_rccl_put(struct pasta_rccl *r);

#endif
