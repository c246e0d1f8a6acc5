/*
 * rocrecords.h - the records of a rocprofv3 trace, made into events.
 *
 * Their tables must be whole. One thread at a time.
 */
#ifndef PASTA_IMPORT_ROCRECORDS_H
#define PASTA_IMPORT_ROCRECORDS_H

#include "import/rccl.h"
#include "import/roctables.h"

/* Scratch memory of a queue, as it is after a record. */
struct pasta_rocscratch {
	uint64_t time, queue, bytes;
	uint32_t device;
};

/* Zero it before use, with the first four set. */
struct pasta_rocread {
	struct pasta_trace *t;
	struct pasta_roctables *tables;
	const struct pasta_jsontape *tape; /* has the record at hand */
	struct pasta_rccl rccl;

	/* Of the record at hand: what it is in, and of calls enum pasta_api_sub. */
	const char *name;
	uint8_t sub;

	/* What there was. */
	bool work, calls;
	bool unnamed;	     /* kernels that are not in the table */
	uint64_t null_frees; /* of address 0, which are left out */

	/* rocrecords.c's own */
	struct pasta_rocscratch *scratch;
	size_t scratch_count, scratch_capacity;
	uint32_t roctx; /* the domain of markers */
};

void pasta_rocread_free(struct pasta_rocread *p);

/* Take the record on the tape. NULL, or what is wrong with it. */
const char *pasta_rocread_dispatch(struct pasta_rocread *p);
const char *pasta_rocread_copy(struct pasta_rocread *p);
const char *pasta_rocread_allocation(struct pasta_rocread *p);
const char *pasta_rocread_scratch(struct pasta_rocread *p);
const char *pasta_rocread_call(struct pasta_rocread *p);
const char *pasta_rocread_rccl(struct pasta_rocread *p);
const char *pasta_rocread_marker(struct pasta_rocread *p);
const char *pasta_rocread_sample(struct pasta_rocread *p);
/* There are no more: emit what had to wait for that. */
void pasta_rocread_end(struct pasta_rocread *p);

#endif
