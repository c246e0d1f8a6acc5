/*
 * rccl.h - finds the collective that an RCCL kernel belongs to, by the calls around its launch.
 *
 * Most RCCL kernels have the same name for all operations. The importer stores the kernels until it
 * has read all calls, because calls may precede or follow the kernels in the file. Only one thread
 * at a time may use a struct pasta_rccl.
 */
#ifndef PASTA_IMPORT_RCCL_H
#define PASTA_IMPORT_RCCL_H

#include "import/trace.h"

struct pasta_rccl_call {
	uint64_t begin, end, corr;
	uint32_t tid;
	uint8_t what; /* private to rccl.c */
};

struct pasta_rccl_kernel {
	struct pasta_event ev;
	const char *name; /* name of the kernel's collective, if the kernel's name shows it */
};

struct pasta_rccl_launch {
	uint64_t corr, begin;
	uint32_t tid;
};

/* Zero the struct before use, then set `t`. */
struct pasta_rccl {
	struct pasta_trace *t;
	struct pasta_rccl_kernel *kernels; /* waiting kernels */
	size_t kernel_count, kernel_capacity;
	struct pasta_map *waiting; /* set of the correlation ids of the stored kernels */
	struct pasta_rccl_call *calls;
	size_t call_count, call_capacity;
	struct pasta_rccl_launch *launches;
	size_t launch_count, launch_capacity;
	bool kernels_read; /* no more kernels follow */
};

void pasta_rccl_free(struct pasta_rccl *r);

/* Stores an RCCL kernel and the name that pasta_collective_name returned for it. pasta_rccl_put
 * emits both. */
void pasta_rccl_kernel(struct pasta_rccl *r, const struct pasta_event *ev, const char *name);
/* Adds a call of RCCL. */
void pasta_rccl_call(struct pasta_rccl *r, struct pasta_slice name, uint32_t tid, uint64_t corr,
		     uint64_t begin, uint64_t end);
/* Adds a call that launched work. */
void pasta_rccl_launch(struct pasta_rccl *r, uint32_t tid, uint64_t corr, uint64_t begin);
/* Emits the stored kernels, each after its collective. Call this function after adding all
 * kernels and calls. */
void pasta_rccl_put(struct pasta_rccl *r);

#endif
