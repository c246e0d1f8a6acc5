/* lateness.c - which ranks start their collectives late, and how long others wait for them. */
#include "process/diagnosis/lateness.h"

#include <errno.h>
#include <stdlib.h>

enum { LATENESS_WAITING = 1 << 20 }; /* collectives that wait for their kernel */

/* A collective whose kernel has not arrived. */
struct lateness_waiting {
	uint64_t time;
	struct pasta_collective_record call;
};

struct lateness_proc {
	uint32_t proc;
	struct pasta_hist *errors; /* of the process's clock records; NULL: none */
	uint64_t error;		   /* computed by pasta_lateness_finish */
	bool counted;		   /* whether the window is known */
	uint64_t begin, end;	   /* of the window */
	struct pasta_late row;
};

/* A round in which a process is late. */
struct lateness_moment {
	uint32_t proc;
	uint64_t time;
};

struct pasta_lateness {
	struct pasta_pending *waiting;
	struct pasta_rounds *rounds;
	struct pasta_map *procs; /* struct lateness_proc, by number */
	struct lateness_moment *moments;
	size_t moment_count, moment_room;
	struct pasta_late *rows;
	size_t row_count;
	int error;
};

struct pasta_lateness *pasta_lateness_new(void)
{
	struct pasta_lateness *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->waiting = pasta_pending_new(sizeof(struct lateness_waiting), LATENESS_WAITING);
	l->rounds = pasta_rounds_new();
	l->procs = pasta_map_new(sizeof(struct lateness_proc));
	if (l->waiting && l->rounds && l->procs)
		return l;
	pasta_lateness_free(l);
	return NULL;
}

void pasta_lateness_free(struct pasta_lateness *l)
{
	struct lateness_proc *p;

	if (!l)
		return;
	for (size_t at = 0; l->procs && (p = pasta_map_next(l->procs, &at, NULL));)
		pasta_hist_free(p->errors);
	pasta_map_free(l->procs);
	pasta_rounds_free(l->rounds);
	pasta_pending_free(l->waiting);
	free(l->moments);
	free(l->rows);
	free(l);
}

int pasta_lateness_error(const struct pasta_lateness *l)
{
	return l->error;
}

static void *lateness_need(struct pasta_lateness *l, void *memory)
{
	if (!memory)
		l->error = -ENOMEM;
	return memory;
}

/* -- Events -- */

static struct lateness_proc *lateness_proc_of(struct pasta_lateness *l, uint32_t number)
{
	struct lateness_proc *p = lateness_need(l, pasta_map_add(l->procs, number));

	if (p)
		p->proc = number;
	return p;
}

static void lateness_on_clock(struct pasta_lateness *l, const struct pasta_event *ev)
{
	struct lateness_proc *p = lateness_proc_of(l, ev->proc);

	if (p && !p->errors)
		p->errors = lateness_need(l, pasta_hist_new());
	if (p && p->errors && pasta_hist_add(p->errors, ev->clock.error, 1) == -ENOMEM)
		l->error = -ENOMEM;
}

static void lateness_on_kernel(struct pasta_lateness *l, const struct pasta_event *ev)
{
	const struct lateness_waiting *w;

	if (!pasta_pending_count(l->waiting))
		return;
	w = pasta_collective_find(l->waiting, ev);
	if (!w)
		return;
	if (!lateness_proc_of(l, ev->proc) || pasta_rounds_add(l->rounds, &w->call, ev))
		l->error = -ENOMEM;
	pasta_collective_done(l->waiting, ev);
}

void pasta_lateness_event(struct pasta_lateness *l, const struct pasta_event *ev)
{
	struct lateness_waiting *w;

	if (ev->kind == PASTA_KIND_KERNEL) {
		lateness_on_kernel(l, ev);
	} else if (ev->kind == PASTA_KIND_CLOCK) {
		lateness_on_clock(l, ev);
	} else if (ev->kind == PASTA_KIND_COLLECTIVE) {
		w = lateness_need(l, pasta_collective_wait(l->waiting, ev));
		if (w)
			w->call = ev->collective;
	}
}

int pasta_lateness_merge(struct pasta_lateness *l, const struct pasta_lateness *from)
{
	struct lateness_proc *p;

	if (from->error || pasta_rounds_merge(l->rounds, from->rounds))
		l->error = -ENOMEM;
	for (size_t at = 0; !l->error && (p = pasta_map_next(from->procs, &at, NULL));) {
		struct lateness_proc *into = lateness_proc_of(l, p->proc);

		if (!into || into->errors)
			continue;
		into->errors = p->errors;
		p->errors = NULL;
	}
	return l->error;
}

/* -- Rows -- */

/* Returns the time by which the clocks of the ranks of a round may differ. Processes on one host
 * share a clock, to which they convert the times of devices with a known error. The clocks of
 * hosts differ by an unknown time. A collective ends on all ranks at about the same time, so the
 * ends of the round bound that time. */
static uint64_t lateness_clock_error(const struct pasta_lateness *l,
				     const struct pasta_round *round)
{
	const char *host = pasta_process(round->arrivals[0].proc)->host;
	uint64_t largest = 0, second = 0, error;
	bool same = *host;

	for (uint32_t i = 0; i < round->count; i++) {
		uint32_t proc = round->arrivals[i].proc;
		const struct lateness_proc *p = pasta_map_find(l->procs, proc);
		uint64_t own = p ? p->error : 0;

		same = same && !strcmp(pasta_process(proc)->host, host);
		second = own > largest ? largest : own > second ? own : second;
		largest = own > largest ? own : largest;
	}
	error = largest + second < largest ? UINT64_MAX : largest + second;
	if (!same && round->last_end - round->first_end > error)
		error = round->last_end - round->first_end;
	return error;
}

static uint64_t lateness_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void lateness_add_moment(struct pasta_lateness *l, uint32_t proc, uint64_t time)
{
	if (l->moment_count == l->moment_room) {
		size_t room = l->moment_room ? 2 * l->moment_room : 64;
		struct lateness_moment *more =
			lateness_need(l, reallocarray(l->moments, room, sizeof(*more)));

		if (!more)
			return;
		l->moments = more;
		l->moment_room = room;
	}
	l->moments[l->moment_count++] = (struct lateness_moment){proc, time};
}

static void lateness_judge(struct pasta_lateness *l, const struct pasta_round *round)
{
	uint64_t excess = round->wait;
	bool late = excess > lateness_clock_error(l, round);

	for (uint32_t i = 0; i < round->count; i++) {
		const struct pasta_arrival *a = &round->arrivals[i];
		struct lateness_proc *p = pasta_map_find(l->procs, a->proc);

		if (!p || !p->counted || a->begin < p->begin || a->begin >= p->end)
			continue;
		p->row.rounds++;
		if (a->begin != round->last) {
			if (late)
				p->row.waited =
					lateness_sum(p->row.waited, pasta_round_wait(round, a));
			continue;
		}
		p->row.last += round->last != round->first;
		if (!late)
			continue;
		p->row.late++;
		p->row.ns = lateness_sum(p->row.ns, excess);
		p->row.max = excess > p->row.max ? excess : p->row.max;
		lateness_add_moment(l, a->proc, a->begin);
	}
}

static void lateness_windows(struct pasta_lateness *l, struct pasta_diagnosis *d)
{
	const struct pasta_window *w;
	struct lateness_proc *p;

	for (size_t at = 0; (p = pasta_map_next(l->procs, &at, NULL));) {
		p->error = p->errors ? pasta_hist_quantile(p->errors, 0.95) : 0;
		p->row = (struct pasta_late){.size = sizeof(p->row), .proc = p->proc};
	}
	for (size_t at = 0; (w = pasta_diagnosis_window(d, &at));) {
		p = pasta_map_find(l->procs, w->proc);
		if (!p)
			continue;
		p->counted = true;
		p->begin = w->begin;
		p->end = w->end;
	}
}

static int lateness_by_time(const void *a, const void *b)
{
	const struct lateness_moment *x = a, *y = b;

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* Counts the steps with moments of the step's process. The rows of the steps of a device are in
 * order of time. */
static void lateness_steps(struct pasta_lateness *l, struct pasta_diagnosis *d)
{
	uint32_t proc = UINT32_MAX, device = 0;
	const struct pasta_step *s;
	size_t i = 0;

	for (size_t at = 0; (s = pasta_diagnosis_step(d, &at));) {
		struct lateness_proc *p = pasta_map_find(l->procs, s->proc);

		if (s->proc != proc) {
			proc = s->proc;
			device = s->device;
			for (i = 0; i < l->moment_count && l->moments[i].proc != proc;)
				i++;
		}
		if (!p || s->device != device || !s->in_window)
			continue;
		while (i < l->moment_count && l->moments[i].proc == proc &&
		       l->moments[i].time < s->begin)
			i++;
		p->row.steps += i < l->moment_count && l->moments[i].proc == proc &&
				l->moments[i].time < s->end;
	}
}

static int lateness_by_proc(const void *a, const void *b)
{
	const struct lateness_proc *const *x = a, *const *y = b;

	return (*x)->proc < (*y)->proc ? -1 : (*x)->proc > (*y)->proc;
}

/* Stores the rows of all processes that took part in a round. */
static void lateness_rows(struct pasta_lateness *l)
{
	struct lateness_proc **procs =
		lateness_need(l, pasta_map_sorted(l->procs, lateness_by_proc));

	l->rows = lateness_need(l, calloc(pasta_map_count(l->procs) + 1, sizeof(*l->rows)));
	for (size_t i = 0; procs && l->rows && procs[i]; i++)
		if (procs[i]->row.rounds)
			l->rows[l->row_count++] = procs[i]->row;
	free(procs);
}

int pasta_lateness_finish(struct pasta_lateness *l, struct pasta_diagnosis *d)
{
	struct pasta_rounds_lost lost;
	struct pasta_round round;

	if (l->error)
		return l->error;
	l->error = pasta_rounds_match(l->rounds, &lost);
	if (l->error)
		return l->error;
	lateness_windows(l, d);
	for (size_t at = 0; pasta_rounds_next(l->rounds, &at, &round);)
		lateness_judge(l, &round);
	if (l->moment_count)
		qsort(l->moments, l->moment_count, sizeof(*l->moments), lateness_by_time);
	lateness_steps(l, d);
	lateness_rows(l);
	return l->error;
}

const struct pasta_late *pasta_lateness_next(const struct pasta_lateness *l, size_t *at)
{
	return *at < l->row_count ? &l->rows[(*at)++] : NULL;
}
