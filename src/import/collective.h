/*
 * collective.h - collective operations, as traces tell of them.
 *
 * A kernel is a collective's by its arguments or by its name. What it does, and how much, may be
 * said elsewhere: by an annotation around its launch. So both of its events wait until the threads
 * are written.
 */
#ifndef PASTA_IMPORT_COLLECTIVE_H
#define PASTA_IMPORT_COLLECTIVE_H

#include "import/trace.h"

struct pasta_chromeevent;

/* What a kernel of a communication library does, by its name: "all_reduce"; NULL if it is none. */
const char *pasta_collective_name(struct pasta_slice kernel);
/* Bytes of an element of a type, as PyTorch calls it; 0: not known. */
uint64_t pasta_collective_element(struct pasta_slice dtype);

/* If the event is one of a collective's kernel (token: the value of its "Collective name", or 0),
 * keep it with its kernel event, and return true. */
bool pasta_collective_kernel(struct pasta_trace *t, const struct pasta_chromeevent *e,
			     const struct pasta_event *kernel, uint32_t token);

/* What an annotation says of the collectives that are launched in it. */
struct pasta_collective_said {
	uint32_t name, dtype; /* of the shard */
	uint64_t bytes;
};
/* The launch of this correlation lies in such an annotation. */
void pasta_collective_describe(struct pasta_trace *t, uint64_t corr,
			  const struct pasta_collective_said *said);

/* Write those that wait. */
void pasta_collective_write(struct pasta_trace *t);
void pasta_collective_free(struct pasta_trace *t);

#endif
