/*
 * hostlog.h - what a thread of the program did, and when.
 *
 * A log divides the time of one thread into intervals, each with one activity. It stores at most
 * `max` intervals: when it is full, it merges pairs of intervals in its older half, so that sums
 * over long times remain exact at the remaining limits of intervals.
 */
#ifndef PASTA_PROCESS_HOSTLOG_H
#define PASTA_PROCESS_HOSTLOG_H

#include <pasta/tool.h>

/* What a thread does. If several activities nest, the first in this list counts. */
enum hostlog_activity {
	HOSTLOG_SYNC, /* wait for a device */
	HOSTLOG_ALLOCATOR,
	HOSTLOG_LOADING,
	HOSTLOG_DATA,
	HOSTLOG_DISPATCH, /* run an operator or a call of the vendor's API */
	HOSTLOG_HOST,
	HOSTLOG_ACTIVITIES,
};

/* An interval, which lasts until the next one begins. */
struct hostlog_entry {
	uint64_t begin;
	uint64_t sum[HOSTLOG_ACTIVITIES]; /* ns of each activity before `begin` */
	uint64_t op;			  /* id of the innermost operator; 0: not known */
	const struct pasta_scope *scope;  /* NULL: none */
	uint32_t python, module, api;	  /* 0: not known */
	uint32_t activity;
};

struct hostlog {
	struct hostlog_entry *entries;
	uint32_t count, room, max;
	/* number of open operators and regions that have an activity, by activity */
	uint32_t open[HOSTLOG_ACTIVITIES];
	uint64_t at; /* the time up to which the log is complete */
	uint64_t sum[HOSTLOG_ACTIVITIES];
	/* Ends of the latest calls, and the functions that they call, by activity. */
	uint64_t end[HOSTLOG_ACTIVITIES];
	uint32_t api[HOSTLOG_ACTIVITIES];
	/* Set these members before hostlog_add. */
	uint64_t op;
	const struct pasta_scope *scope;
	uint32_t python, module;
};

void hostlog_clear(struct hostlog *log);
/* Advances the log to a time. Call this function before you change a member of the log. If `time`
 * is in the past, nothing happens. Returns 0 or -ENOMEM. */
int hostlog_advance(struct hostlog *log, uint64_t time);
/* Begins a new interval, after members have changed. Returns 0 or -ENOMEM. */
int hostlog_add(struct hostlog *log);
/* Sets the activity of the time from now to `end`. Call this function before hostlog_add. */
void hostlog_call(struct hostlog *log, uint32_t activity, uint64_t end, uint32_t api);

/* Returns the interval that contains a time; NULL if the log begins later. */
const struct hostlog_entry *hostlog_find(const struct hostlog *log, uint64_t time);
/* Sums the ns of each activity in [from, to). The time before the log begins counts as HOST. */
void hostlog_sums(const struct hostlog *log, uint64_t from, uint64_t to,
		  uint64_t sums[HOSTLOG_ACTIVITIES]);
/* Returns the interval with the most ns of an activity in [from, to); NULL if there is none. */
const struct hostlog_entry *hostlog_longest(const struct hostlog *log, uint64_t from, uint64_t to,
					    uint32_t activity);
/* Returns whether no interval begins after `from` and before `to`. */
bool hostlog_is_quiet(const struct hostlog *log, uint64_t from, uint64_t to);

#endif
