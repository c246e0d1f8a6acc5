/*
 * spansort.h - spans of time put in order, however many there are.
 *
 * What does not fit into memory goes to a temporary file. One thread at a time.
 */
#ifndef PASTA_IMPORT_SPANSORT_H
#define PASTA_IMPORT_SPANSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* What it means is its giver's business. */
struct pasta_span {
	uint64_t begin, end;
	uint64_t order; /* the number of its adding; set here */
	uint64_t a, b;
	uint32_t track, name, extra;
	uint8_t what, sub;
	uint16_t rank; /* of those that begin at once, the lower ones come first */
};

#define PASTA_SPANSORT_MEMORY ((size_t)64 << 20)

struct pasta_spansort;

/* memory: bytes of spans to keep; 0: the default. folder: for the temporary file. NULL: no memory.
 */
struct pasta_spansort *pasta_spansort_new(size_t memory, const char *folder);
void pasta_spansort_free(struct pasta_spansort *s);

/* 0, -ENOMEM, or what writing the temporary file says. */
int pasta_spansort_add(struct pasta_spansort *s, const struct pasta_span *span,
		       struct pasta_error *err);
uint64_t pasta_spansort_count(const struct pasta_spansort *s);

/* After the last add: the spans by begin, then by rank, then the longer first, then the one that
 * was added first. 1: *span, until the next call; 0 at the end; a negative errno. */
int pasta_spansort_next(struct pasta_spansort *s, const struct pasta_span **span,
			struct pasta_error *err);

#endif
