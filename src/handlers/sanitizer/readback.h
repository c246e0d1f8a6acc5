/* readback.h - the counts of a slot, read from the device and added to the launch's rows. */
#ifndef PASTA_HANDLERS_SANITIZER_READBACK_H
#define PASTA_HANDLERS_SANITIZER_READBACK_H

#include "handlers/sanitizer/slots.h"

struct san_readback;

/* Copies a slot's counts from the device. On failure returns NULL and the library's error in
 * *result; SAN_OK: no memory. */
struct san_readback *san_readback_new(const struct san_slot *s, int *result);
void san_readback_free(struct san_readback *r);
/* Adds all counts to the launch, except rows that san_readback_pages delivers. */
void san_readback_add(const struct san_slot *s, const struct san_readback *r);
/* Calls fn for each page with accesses, in order of addresses, if no other part of the slot has
 * rows of pages. source is a struct san_page_source. Returns the first error of fn. */
struct san_page_source {
	const struct san_slot *slot;
	const struct san_readback *readback; /* NULL: no pages */
};
int san_readback_pages(void *source, pasta_sums_fn fn, void *arg);
/* Returns the device's part of the ring of raw accesses. */
const struct pasta_gpu_raw *san_readback_raw(const struct san_readback *r);

#endif
