/*
 * collective.h - recognizes collective operations in traces.
 *
 * A kernel belongs to a collective if its arguments or its name show that. For some kernels, only
 * an annotation around the launch names the operation and its size. So the importer writes a
 * collective and its kernel after the spans of all threads.
 */
#ifndef PASTA_IMPORT_COLLECTIVE_H
#define PASTA_IMPORT_COLLECTIVE_H

#include "import/trace.h"

struct pasta_chromeevent;

/* Returns the operation, such as "all_reduce", of a communication library's kernel, by the
 * kernel's name. Returns NULL for other kernels. */
const char *pasta_collective_name(struct pasta_slice kernel);
/* Returns the size in bytes of an element of a PyTorch type, by the type's name. Returns 0 if the
 * type is unknown. */
uint64_t pasta_collective_element(struct pasta_slice dtype);

/* If the event is the kernel of a collective, stores the collective and the kernel event, and
 * returns true. `token` is the token of the event's argument "Collective name", or 0. */
bool pasta_collective_kernel(struct pasta_trace *t, const struct pasta_chromeevent *e,
			     const struct pasta_event *kernel, uint32_t token);

/* Data from an annotation. The data describes the collectives that were launched inside the
 * annotation. */
struct pasta_collective_desc {
	uint32_t name, dtype; /* string ids in the shard */
	uint64_t bytes;
};
/* Applies an annotation to the collectives with this correlation id. */
void pasta_collective_describe(struct pasta_trace *t, uint64_t corr,
			       const struct pasta_collective_desc *desc);

/* Writes the waiting collectives. */
void pasta_collective_write(struct pasta_trace *t);
void pasta_collective_free(struct pasta_trace *t);

#endif
