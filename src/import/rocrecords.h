/*
 * rocrecords.h - converts the records of a rocprofv3 trace into events.
 *
 * The tables must be complete. Only one thread at a time may call these functions.
 */
#ifndef PASTA_IMPORT_ROCRECORDS_H
#define PASTA_IMPORT_ROCRECORDS_H

#include "import/rccl.h"
#include "import/roctables.h"

/* The size of a queue's scratch memory, as in the last record about it. */
struct pasta_rocscratch {
	uint64_t time, queue, bytes;
	uint32_t device;
};

/* Zero the struct before use, then set the first four members. */
struct pasta_rocread {
	struct pasta_trace *t;
	struct pasta_roctables *tables;
	const struct pasta_jsontape *tape; /* has the current record */
	struct pasta_rccl rccl;

	/* `name` is the name of the array that contains the current record. `sub` is an enum
	 * pasta_api_sub if the record is a call. */
	const char *name;
	uint8_t sub;

	/* What the file has. */
	bool work, calls;
	bool unnamed;	     /* some kernels have no symbol in the table */
	uint64_t null_frees; /* number of frees of address 0, which are not imported */

	/* private to rocrecords.c */
	struct pasta_rocscratch *scratch;
	size_t scratch_count, scratch_capacity;
	uint32_t roctx; /* domain of markers */
};

void pasta_rocread_free(struct pasta_rocread *p);

/* Each of these functions imports the record on the tape. Returns NULL or a description of the
 * error. */
const char *pasta_rocread_dispatch(struct pasta_rocread *p);
const char *pasta_rocread_copy(struct pasta_rocread *p);
const char *pasta_rocread_allocation(struct pasta_rocread *p);
const char *pasta_rocread_scratch(struct pasta_rocread *p);
const char *pasta_rocread_call(struct pasta_rocread *p);
const char *pasta_rocread_rccl(struct pasta_rocread *p);
const char *pasta_rocread_marker(struct pasta_rocread *p);
const char *pasta_rocread_sample(struct pasta_rocread *p);
/* Emits the records that can be emitted only after the last record was read. */
void pasta_rocread_end(struct pasta_rocread *p);

#endif
