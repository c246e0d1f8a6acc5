/*
 * spansort.h - sorts any number of time spans. Spans that do not fit into memory are written to a
 * temporary file. Only one thread at a time may use a sorter.
 */
#ifndef PASTA_IMPORT_SPANSORT_H
#define PASTA_IMPORT_SPANSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* A time span. The sorter reads `begin`, `end`, `order` and `rank`; the rest belongs to the caller.
 */
struct pasta_span {
	uint64_t begin, end;
	uint64_t order; /* position in the order of adding; pasta_spansort_add sets it */
	uint64_t a, b;
	uint32_t track, name, extra;
	uint8_t what, sub;
	uint16_t rank; /* among spans with the same `begin`, lower ranks come first */
};

#define PASTA_SPANSORT_MEMORY ((size_t)64 << 20)

struct pasta_spansort;

/* Returns a new sorter, or NULL when out of memory. `memory` is the maximum number of bytes of
 * spans in memory (0: the default). `folder` is the folder for the temporary file. */
struct pasta_spansort *pasta_spansort_new(size_t memory, const char *folder);
void pasta_spansort_free(struct pasta_spansort *s);

/* Adds a span. Returns 0, -ENOMEM, or an error of writing the temporary file. */
int pasta_spansort_add(struct pasta_spansort *s, const struct pasta_span *span,
		       struct pasta_error *err);
uint64_t pasta_spansort_count(const struct pasta_spansort *s);

/* Delivers the next span. Call this function only after adding all spans. Spans are ordered by
 * `begin`, then by `rank`, then by decreasing length, then in order of adding. Returns 1 and *span,
 * valid until the next call; 0 at the end; or a negative errno. */
int pasta_spansort_next(struct pasta_spansort *s, const struct pasta_span **span,
			struct pasta_error *err);

#endif
