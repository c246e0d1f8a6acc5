/* hostlog.c - divides the time of a thread into intervals by activity. */
#include "process/diagnosis/hostlog.h"

#include <errno.h>
#include <stdlib.h>

enum { HOSTLOG_FIRST_ROOM = 16 };

void hostlog_clear(struct hostlog *log)
{
	free(log->entries);
	*log = (struct hostlog){0};
}

/* Returns the current activity, and the time until which it lasts unless an event changes it. */
static uint32_t hostlog_activity(const struct hostlog *log, uint64_t *until)
{
	for (uint32_t a = HOSTLOG_SYNC; a <= HOSTLOG_LOADING; a++) {
		*until = log->end[a];
		if (log->end[a] > log->at)
			return a;
	}
	*until = UINT64_MAX;
	for (uint32_t a = HOSTLOG_LOADING; a <= HOSTLOG_DISPATCH; a++)
		if (log->open[a])
			return a;
	if (log->end[HOSTLOG_DISPATCH] <= log->at)
		return HOSTLOG_HOST;
	*until = log->end[HOSTLOG_DISPATCH];
	return HOSTLOG_DISPATCH;
}

/* Merges each interval of the older half with its successor. */
static void hostlog_thin(struct hostlog *log)
{
	uint32_t from = 0, to = 0, half = log->count / 2;

	for (; from < half; from += 2)
		log->entries[to++] = log->entries[from];
	memmove(log->entries + to, log->entries + from,
		(log->count - from) * sizeof(*log->entries));
	log->count -= from - to;
}

static struct hostlog_entry *hostlog_append(struct hostlog *log)
{
	struct hostlog_entry *entries;
	uint32_t room;

	if (log->count && log->entries[log->count - 1].begin == log->at)
		return &log->entries[log->count - 1];
	if (log->count == log->max)
		hostlog_thin(log);
	if (log->count < log->room)
		return &log->entries[log->count++];
	room = log->room ? 2 * log->room : HOSTLOG_FIRST_ROOM;
	entries = reallocarray(log->entries, room, sizeof(*entries));
	if (!entries)
		return NULL;
	log->entries = entries;
	log->room = room;
	return &log->entries[log->count++];
}

int hostlog_add(struct hostlog *log)
{
	struct hostlog_entry *e = hostlog_append(log);
	uint64_t until;

	if (!e)
		return -ENOMEM;
	e->begin = log->at;
	memcpy(e->sum, log->sum, sizeof(e->sum));
	e->op = log->op;
	e->scope = log->scope;
	e->python = log->python;
	e->module = log->module;
	e->activity = hostlog_activity(log, &until);
	e->api = log->end[e->activity] > log->at ? log->api[e->activity] : 0;
	return 0;
}

int hostlog_advance(struct hostlog *log, uint64_t time)
{
	int error = 0;

	if (!log->count)
		log->at = time;
	while (log->at < time && !error) {
		uint64_t until, activity = hostlog_activity(log, &until);
		uint64_t stop = until < time ? until : time;

		log->sum[activity] += stop - log->at;
		log->at = stop;
		if (stop < time)
			error = hostlog_add(log);
	}
	return error;
}

void hostlog_call(struct hostlog *log, uint32_t activity, uint64_t end, uint32_t api)
{
	if (end <= log->end[activity])
		return;
	log->end[activity] = end;
	log->api[activity] = api;
}

/* -- Queries -- */

/* Returns the number of intervals that begin at a time or earlier. */
static uint32_t hostlog_count_until(const struct hostlog *log, uint64_t time)
{
	uint32_t low = 0, high = log->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (log->entries[middle].begin <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct hostlog_entry *hostlog_find(const struct hostlog *log, uint64_t time)
{
	uint32_t count = hostlog_count_until(log, time);

	return count ? &log->entries[count - 1] : NULL;
}

/* Computes the sums up to a time. */
static void hostlog_until(const struct hostlog *log, uint64_t time,
			  uint64_t sums[HOSTLOG_ACTIVITIES])
{
	const struct hostlog_entry *e = hostlog_find(log, time);

	memset(sums, 0, sizeof(e->sum));
	if (!e)
		return;
	memcpy(sums, e->sum, sizeof(e->sum));
	sums[e->activity] += time - e->begin;
}

void hostlog_sums(const struct hostlog *log, uint64_t from, uint64_t to,
		  uint64_t sums[HOSTLOG_ACTIVITIES])
{
	uint64_t first = log->count ? log->entries[0].begin : UINT64_MAX, before = 0;
	uint64_t start[HOSTLOG_ACTIVITIES];

	memset(sums, 0, sizeof(start));
	if (from < first) {
		before = (to < first ? to : first) - from;
		from = first;
	}
	if (from < to) {
		hostlog_until(log, from, start);
		hostlog_until(log, to, sums);
		/* Merged intervals have only approximate sums between their limits. */
		for (size_t i = 0; i < HOSTLOG_ACTIVITIES; i++)
			sums[i] -= start[i] < sums[i] ? start[i] : sums[i];
	}
	sums[HOSTLOG_HOST] += before;
}

const struct hostlog_entry *hostlog_longest(const struct hostlog *log, uint64_t from, uint64_t to,
					    uint32_t activity)
{
	uint32_t i = hostlog_count_until(log, from), end = hostlog_count_until(log, to);
	const struct hostlog_entry *longest = NULL;
	uint64_t most = 0;

	for (i = i ? i - 1 : 0; i < end; i++) {
		const struct hostlog_entry *e = &log->entries[i];
		uint64_t begin = e->begin > from ? e->begin : from;
		uint64_t stop = i + 1 < log->count && e[1].begin < to ? e[1].begin : to;

		if (e->activity != activity || stop <= begin || stop - begin <= most)
			continue;
		most = stop - begin;
		longest = e;
	}
	return longest;
}

bool hostlog_is_quiet(const struct hostlog *log, uint64_t from, uint64_t to)
{
	const struct hostlog_entry *e = to ? hostlog_find(log, to - 1) : NULL;

	return !e || e->begin <= from;
}
