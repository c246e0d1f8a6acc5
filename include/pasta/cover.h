/* cover.h - how long intervals of two types cover a span of time. */
#ifndef PASTA_COVER_H
#define PASTA_COVER_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The time that intervals of two types, such as kernels and collectives, cover alone and together.
 * Plain data: zero it before use. Add intervals in order of their begins; the part of an interval
 * that lies before the begin of the previous one is ignored. An interval that reaches past
 * UINT64_MAX ends there. One thread at a time for each; no function fails.
 */
struct pasta_cover {
	uint64_t at, end[2];
	uint64_t time[4]; /* ns by mask: 1 only the first type, 2 only the second, 3 both; 0
			   * neither, between the first interval and the last */
	uint64_t count;	  /* intervals added */
};
/* type: 0 or 1. */
PASTA_EXPORT void pasta_cover_add(struct pasta_cover *cover, unsigned int type, uint64_t begin,
				  uint64_t dur);
/* Completes time up to the end of the last interval; call it before you read time. Later intervals
 * count only from there on: to add overlapping ones afterwards, finish a copy instead. */
PASTA_EXPORT void pasta_cover_finish(struct pasta_cover *cover);

#ifdef __cplusplus
}
#endif
#endif
