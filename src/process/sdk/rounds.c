/* rounds.c - matches the collectives of ranks into rounds. */
#include <errno.h>
#include <stdlib.h>

#include <pasta/event.h>
#include <pasta/map.h>
#include <pasta/rounds.h>

/* The bytes of an interned meeting. */
struct rounds_meeting {
	uint64_t comm;
	uint32_t name, ranks;
};

/* The range of the arrivals of a round. */
struct rounds_range {
	size_t first;
	uint32_t count;
};

struct rounds_proc {
	uint64_t stored, over;
};

struct pasta_rounds {
	struct pasta_arrival *arrivals;
	size_t count, room;
	struct pasta_map *procs; /* struct rounds_proc */
	struct rounds_range *ranges;
	size_t range_count;
	uint64_t *waits; /* scratch: the waits of a round's arrivals */
};

struct pasta_rounds *pasta_rounds_new(void)
{
	struct pasta_rounds *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->procs = pasta_map_new(sizeof(struct rounds_proc));
	if (r->procs)
		return r;
	pasta_rounds_free(r);
	return NULL;
}

void pasta_rounds_free(struct pasta_rounds *r)
{
	if (!r)
		return;
	pasta_map_free(r->procs);
	free(r->arrivals);
	free(r->ranges);
	free(r->waits);
	free(r);
}

static int rounds_reserve(struct pasta_rounds *r, size_t more)
{
	size_t room = r->room ? r->room : 64;
	struct pasta_arrival *arrivals;

	if (r->room - r->count >= more)
		return 0;
	while (room - r->count < more)
		room *= 2;
	arrivals = reallocarray(r->arrivals, room, sizeof(*arrivals));
	if (!arrivals)
		return -ENOMEM;
	r->arrivals = arrivals;
	r->room = room;
	return 0;
}

/* The limit applies to each process alone, so the result does not depend on the order in which
 * shards are merged. */
int pasta_rounds_add(struct pasta_rounds *r, const struct pasta_collective_record *c,
		     const struct pasta_event *ev)
{
	const struct rounds_meeting meeting = {c->comm, c->name, c->ranks};
	uint64_t end = ev->time + ev->kernel.dur;
	struct rounds_proc *p = pasta_map_add(r->procs, ev->proc);
	uint32_t id;

	if (!p)
		return -ENOMEM;
	if (p->stored == PASTA_ARRIVALS) {
		p->over++;
		return 0;
	}
	id = pasta_strings_add(&meeting, sizeof(meeting));
	if (!id || rounds_reserve(r, 1))
		return -ENOMEM;
	p->stored++;
	r->arrivals[r->count++] = (struct pasta_arrival){.begin = ev->time,
							 .end = end < ev->time ? UINT64_MAX : end,
							 .seq = c->seq,
							 .proc = ev->proc,
							 .meeting = id};
	return 0;
}

int pasta_rounds_merge(struct pasta_rounds *r, const struct pasta_rounds *from)
{
	const struct rounds_proc *p;
	uint64_t proc;

	if (rounds_reserve(r, from->count))
		return -ENOMEM;
	for (size_t at = 0; (p = pasta_map_next(from->procs, &at, &proc));) {
		struct rounds_proc *into = pasta_map_add(r->procs, proc);

		if (!into)
			return -ENOMEM;
		into->stored += p->stored;
		into->over += p->over;
	}
	if (from->count)
		memcpy(r->arrivals + r->count, from->arrivals, from->count * sizeof(*r->arrivals));
	r->count += from->count;
	return 0;
}

/* -- Matching -- */

static struct rounds_meeting rounds_meeting_of(const struct pasta_arrival *a)
{
	struct rounds_meeting meeting = {0};
	size_t size;
	const char *bytes = pasta_bytes(a->meeting, &size);

	if (size == sizeof(meeting))
		memcpy(&meeting, bytes, sizeof(meeting));
	return meeting;
}

/* Orders arrivals by meeting, round, process and time. The ids of meetings depend on the order in
 * which threads intern them, so meetings are compared by their bytes. */
static int rounds_order(const void *a, const void *b)
{
	const struct pasta_arrival *x = a, *y = b;
	const uint64_t left[] = {x->seq, x->number, x->proc, x->begin, x->end};
	const uint64_t right[] = {y->seq, y->number, y->proc, y->begin, y->end};
	size_t i = 0;

	if (x->meeting != y->meeting) {
		struct rounds_meeting m = rounds_meeting_of(x), n = rounds_meeting_of(y);

		if (m.name != n.name) {
			int order = strcmp(pasta_str(m.name), pasta_str(n.name));

			return order ? order : m.name < n.name ? -1 : 1;
		}
		if (m.comm != n.comm)
			return m.comm < n.comm ? -1 : 1;
		return m.ranks < n.ranks ? -1 : m.ranks > n.ranks;
	}
	while (i < 4 && left[i] == right[i])
		i++;
	return left[i] < right[i] ? -1 : left[i] > right[i];
}

/* Returns the number of processes that took part in the collectives of a meeting. The arrivals of
 * one sequence number are sorted by process. */
static int rounds_count_procs(const struct pasta_arrival *a, size_t count, uint32_t *procs)
{
	struct pasta_map *seen = pasta_map_new(1);
	int error = seen ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < count; i++)
		if ((!i || a[i].proc != a[i - 1].proc) && !pasta_map_add(seen, a[i].proc))
			error = -ENOMEM;
	*procs = error ? 0 : (uint32_t)pasta_map_count(seen);
	pasta_map_free(seen);
	return error;
}

static int rounds_by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void rounds_fill(const struct pasta_rounds *r, const struct rounds_range *range,
			struct pasta_round *round)
{
	const struct pasta_arrival *a = r->arrivals + range->first;
	struct rounds_meeting meeting = rounds_meeting_of(a);

	*round = (struct pasta_round){.size = sizeof(*round),
				      .name = meeting.name,
				      .count = range->count,
				      .group = meeting.ranks,
				      .comm = meeting.comm,
				      .seq = a->seq,
				      .first_end = UINT64_MAX,
				      .arrivals = a};
	for (uint32_t i = 0; i < range->count; i++) {
		round->first = !i || a[i].begin < round->first ? a[i].begin : round->first;
		round->last = a[i].begin > round->last ? a[i].begin : round->last;
		round->first_end = a[i].end < round->first_end ? a[i].end : round->first_end;
		round->last_end = a[i].end > round->last_end ? a[i].end : round->last_end;
	}
	for (uint32_t i = 0; i < range->count; i++)
		r->waits[i] = pasta_round_wait(round, &a[i]);
	qsort(r->waits, range->count, sizeof(*r->waits), rounds_by_number);
	round->wait = r->waits[range->count / 2];
}

/* Adds the round of `procs` arrivals that begin at index `first`, unless their times contradict
 * the match. */
static void rounds_judge(struct pasta_rounds *r, size_t first, uint32_t procs,
			 struct pasta_rounds_lost *lost)
{
	uint64_t last = 0, end = UINT64_MAX;

	for (size_t i = first; i < first + procs; i++) {
		last = r->arrivals[i].begin > last ? r->arrivals[i].begin : last;
		end = r->arrivals[i].end < end ? r->arrivals[i].end : end;
	}
	if (!r->arrivals[first].seq && last > end)
		lost->apart += procs;
	else
		r->ranges[r->range_count++] = (struct rounds_range){first, procs};
}

/* Matches the arrivals of one meeting. */
static int rounds_match_meeting(struct pasta_rounds *r, size_t first, size_t count,
				struct pasta_rounds_lost *lost)
{
	struct pasta_arrival *a = r->arrivals + first;
	uint32_t ranks = rounds_meeting_of(a).ranks, procs;
	size_t i, k;

	if (rounds_count_procs(a, count, &procs))
		return -ENOMEM;
	if (procs < 2)
		return 0;
	if (ranks && procs > ranks) {
		lost->mixed += count;
		return 0;
	}
	for (i = 1; i < count; i++)
		if (a[i].seq == a[i - 1].seq && a[i].proc == a[i - 1].proc)
			a[i].number = a[i - 1].number + 1;
	qsort(a, count, sizeof(*a), rounds_order);
	for (i = 0; i < count; i = k) {
		for (k = i + 1; k < count && a[k].seq == a[i].seq && a[k].number == a[i].number;)
			k++;
		if (k - i == procs)
			rounds_judge(r, first + i, procs, lost);
		else
			lost->alone += k - i;
	}
	return 0;
}

int pasta_rounds_match(struct pasta_rounds *r, struct pasta_rounds_lost *lost)
{
	const struct rounds_proc *p;
	size_t i, k;

	*lost = (struct pasta_rounds_lost){.size = sizeof(*lost)};
	for (size_t at = 0; (p = pasta_map_next(r->procs, &at, NULL));)
		lost->over += p->over;
	r->ranges = calloc(r->count / 2 + 1, sizeof(*r->ranges));
	r->waits = calloc(pasta_map_count(r->procs) + 1, sizeof(*r->waits));
	if (!r->ranges || !r->waits)
		return -ENOMEM;
	if (r->count)
		qsort(r->arrivals, r->count, sizeof(*r->arrivals), rounds_order);
	for (i = 0; i < r->count; i = k) {
		for (k = i + 1; k < r->count && r->arrivals[k].meeting == r->arrivals[i].meeting;)
			k++;
		if (rounds_match_meeting(r, i, k - i, lost))
			return -ENOMEM;
	}
	return 0;
}

bool pasta_rounds_next(const struct pasta_rounds *r, size_t *at, struct pasta_round *round)
{
	if (*at >= r->range_count)
		return false;
	rounds_fill(r, &r->ranges[(*at)++], round);
	return true;
}
