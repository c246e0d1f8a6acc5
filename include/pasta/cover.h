/* cover.h - measures for how long intervals of two types run alone, and for how long they
 * overlap. */
#ifndef PASTA_COVER_H
#define PASTA_COVER_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The time that intervals of two types, such as kernels and collectives, cover alone and together.
 * Zero the struct before use. Add intervals in order of their start times; the part of an interval
 * before the start of the previous interval is ignored. An interval that reaches past UINT64_MAX
 * ends there. Only one thread at a time may use a struct. No function fails.
 */
struct pasta_cover {
	uint64_t at, end[2];
	/* ns, indexed by a mask of the types whose intervals run: 1 means only the first type, 2
	 * only the second type, 3 both, and 0 neither (the gaps between intervals) */
	uint64_t time[4];
	uint64_t count; /* intervals added */
};
/* type: 0 or 1. */
PASTA_EXPORT void pasta_cover_add(struct pasta_cover *cover, unsigned int type, uint64_t begin,
				  uint64_t dur);
/* Adds the time up to the end of the last interval to the member `time`. Call this function before
 * you read `time`. If you add more intervals later, only the parts after that end count. To read an
 * intermediate time, call the function on a copy of the struct instead. */
PASTA_EXPORT void pasta_cover_finish(struct pasta_cover *cover);

#ifdef __cplusplus
}
#endif
#endif
