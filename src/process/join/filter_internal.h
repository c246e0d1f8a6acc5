/* filter_internal.h - struct pasta_filter, shared by filter.c and sieve.c. */
#ifndef PASTA_PROCESS_FILTER_INTERNAL_H
#define PASTA_PROCESS_FILTER_INTERNAL_H

#include <pthread.h>
#include <regex.h>

#include "process/join/filter.h"

/* If a filter matches nothing, the message lists up to FILTER_OTHERS values that the run has, each
 * truncated to FILTER_OTHER_TEXT bytes. */
enum { FILTER_OTHERS = 3, FILTER_OTHER_TEXT = 80 };

/* A range of values, from `low` to `high`. In a range of times, `high` itself is excluded. */
struct filter_range {
	uint64_t low, high;
};

/* One option, such as --kernel gemm. */
struct filter_term {
	enum pasta_filter_type type;
	char *text;
	regex_t regex;
	struct filter_range *ranges;
	size_t range_count;
	bool is_regex; /* whether regex contains a compiled expression */
};

/* Types of filters that must match at least one event; otherwise, the report fails. */
#define PASTA_FILTER_CHECKED                                                                       \
	(1u << PASTA_FILTER_KERNEL | 1u << PASTA_FILTER_REGION | 1u << PASTA_FILTER_DEVICE)

/* The first few values, in sorted order, that no term matched. */
struct filter_others {
	char *texts[FILTER_OTHERS];
	size_t count;
	bool more; /* whether there are more values than `texts` has room for */
};

/* Results of a sieve: which filter types have matched an event, and values that no term matched. */
struct filter_found {
	bool looked;	  /* whether there was any event */
	uint32_t matched; /* mask of the filter types that matched */
	struct filter_others others[PASTA_FILTER_TYPES];
};

struct pasta_filter {
	struct filter_term *terms;
	size_t count;
	uint64_t start;
	uint32_t types;		    /* mask of the filter types that have at least one term */
	pthread_mutex_t *lock;	    /* guards found */
	struct filter_found *found; /* combined results of all freed sieves */
};

/* Kinds whose device fields show which devices the run uses. */
#define PASTA_FILTER_ON_DEVICE                                                                     \
	(PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |            \
	 PASTA_MASK(ALLOC))

static inline bool filter_has(const struct pasta_filter *f, enum pasta_filter_type type)
{
	return f->types >> type & 1;
}

/* Returns whether a value is in one of the ranges of a filter type. */
static inline bool filter_in_ranges(const struct pasta_filter *f, enum pasta_filter_type type,
				    uint64_t value)
{
	size_t i, k;

	for (i = 0; i < f->count; i++) {
		const struct filter_term *t = &f->terms[i];

		for (k = 0; t->type == type && k < t->range_count; k++) {
			const struct filter_range *r = &t->ranges[k];
			bool below = type == PASTA_FILTER_TIME && r->high != UINT64_MAX
					     ? value < r->high
					     : value <= r->high;

			if (value >= r->low && below)
				return true;
		}
	}
	return false;
}

void pasta_filter_others_add(struct filter_others *o, const char *text);
void pasta_filter_found_add(struct filter_found *into, const struct filter_found *from);
void pasta_filter_found_free(struct filter_found *found);

#endif
