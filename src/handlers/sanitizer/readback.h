/* readback.h - copies the counts of a launch from its slot in device memory and adds them to the
 * launch's rows. */
#ifndef PASTA_HANDLERS_SANITIZER_READBACK_H
#define PASTA_HANDLERS_SANITIZER_READBACK_H

#include "handlers/sanitizer/slots.h"

struct san_readback;

/* Copies a slot's counts from the device. On failure, returns NULL and sets *result to the
 * library's error, or to SAN_OK if out of memory. */
struct san_readback *san_readback_new(const struct san_slot *s, int *result);
void san_readback_free(struct san_readback *r);
/* Adds all counts of a slot to its launch, except the rows that san_readback_pages delivers. */
void san_readback_add(const struct san_slot *s, const struct san_readback *r);
/* Calls fn for each page with accesses, in the order of addresses. Does nothing if san_readback_add
 * has already added the pages. `source` is a struct san_page_source. Returns the first error of
 * fn. */
struct san_page_source {
	const struct san_slot *slot;
	const struct san_readback *readback; /* NULL: no pages */
};
int san_readback_pages(void *source, pasta_sums_fn fn, void *arg);
/* Returns the copy that was read of the ring's data in device memory. */
const struct pasta_gpu_raw *san_readback_raw(const struct san_readback *r);

#endif
