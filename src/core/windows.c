/* windows.c - tumbling and sliding windows over time, launches or iterations, kept by panes. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

#define PANES_MAX ((size_t)1 << 20)
#define PARTS_MAX ((uint64_t)1 << 16) /* panes of a window */

/* Where a process is. */
struct proc {
	uint64_t position;
	uint64_t begun; /* 0: before its first launch or iteration */
};

/* The value follows. */
struct pane {
	uint64_t events;
};

struct pasta_windows {
	struct pasta_window_spec spec;
	struct pasta_map *panes; /* by position / step */
	struct pasta_map *procs;
	struct pane *pane; /* of the last event */
	uint64_t pane_number;
	struct proc *proc; /* likewise */
	uint32_t proc_number;
	uint64_t lost;
};

static int check(const struct pasta_window_spec *spec, struct pasta_error *err)
{
	uint64_t step = spec->step ? spec->step : spec->size;

	if (spec->unit < PASTA_WINDOW_TIME || spec->unit > PASTA_WINDOW_ITERATIONS)
		return pasta_fail(err, -EINVAL, "windows: %d is no unit", (int)spec->unit);
	if (!spec->size || spec->size % step)
		return pasta_fail(err, -EINVAL,
				  "windows: the size must be a multiple of the step, and more "
				  "than 0: it is %llu, the step %llu",
				  (unsigned long long)spec->size, (unsigned long long)step);
	if (spec->size / step > PARTS_MAX)
		return pasta_fail(err, -EINVAL,
				  "windows: the size may be %llu steps at most, and is %llu: take "
				  "a longer step",
				  (unsigned long long)PARTS_MAX,
				  (unsigned long long)(spec->size / step));
	return 0;
}

struct pasta_windows *pasta_windows_new(const struct pasta_window_spec *spec,
					struct pasta_error *err)
{
	struct pasta_windows *w;

	if (check(spec, err))
		return NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		goto fail;
	w->spec = *spec;
	if (!w->spec.step)
		w->spec.step = spec->size;
	w->panes = pasta_map_new(sizeof(struct pane) + spec->value_size);
	w->procs = pasta_map_new(sizeof(struct proc));
	if (!w->panes || !w->procs)
		goto fail;
	return w;
fail:
	pasta_windows_free(w);
	pasta_fail(err, -ENOMEM, "windows: out of memory");
	return NULL;
}

void pasta_windows_free(struct pasta_windows *w)
{
	if (!w)
		return;
	pasta_map_free(w->panes);
	pasta_map_free(w->procs);
	free(w);
}

static struct proc *proc_of(struct pasta_windows *w, uint32_t number)
{
	if (!w->proc || w->proc_number != number) {
		w->proc = pasta_map_add(w->procs, number);
		w->proc_number = number;
	}
	return w->proc;
}

/* 0; -ENOENT: it has none yet; -ENOMEM. */
static int position_of(struct pasta_windows *w, const struct pasta_event *ev, uint64_t *position)
{
	bool iterations = w->spec.unit == PASTA_WINDOW_ITERATIONS;
	struct proc *proc;

	*position = ev->time;
	if (w->spec.unit == PASTA_WINDOW_TIME)
		return 0;
	proc = proc_of(w, ev->proc);
	if (!proc)
		return -ENOMEM;
	if (iterations && ev->kind == PASTA_KIND_ITERATION) {
		proc->position = ev->iteration.index;
		proc->begun = 1;
	} else if (!iterations && ev->kind == PASTA_KIND_LAUNCH) {
		proc->position += proc->begun;
		proc->begun = 1;
	}
	*position = proc->position;
	return iterations && !proc->begun ? -ENOENT : 0;
}

/* NULL when there are too many, or no memory. */
static struct pane *pane_of(struct pasta_windows *w, uint64_t number)
{
	struct pane *pane;

	if (w->pane && w->pane_number == number)
		return w->pane;
	if (pasta_map_count(w->panes) < PANES_MAX)
		pane = pasta_map_add(w->panes, number);
	else
		pane = pasta_map_find(w->panes, number);
	if (pane) {
		w->pane = pane;
		w->pane_number = number;
	}
	return pane;
}

void *pasta_windows_at(struct pasta_windows *w, const struct pasta_event *ev)
{
	struct pane *pane = NULL;
	uint64_t position;
	int error = position_of(w, ev, &position);

	if (!error)
		pane = pane_of(w, position / w->spec.step);
	if (pane) {
		pane->events++;
		return pane + 1;
	}
	w->lost += error != -ENOENT;
	return NULL;
}

uint64_t pasta_windows_lost(const struct pasta_windows *w)
{
	return w->lost;
}

static bool alike(const struct pasta_window_spec *a, const struct pasta_window_spec *b)
{
	return a->unit == b->unit && a->size == b->size && a->step == b->step &&
	       a->value_size == b->value_size;
}

int pasta_windows_merge(struct pasta_windows *into, const struct pasta_windows *from,
			void (*combine)(void *into, const void *from))
{
	const struct proc *proc;
	const struct pane *pane;
	uint64_t number;
	size_t at = 0;
	int error = 0;

	if (!alike(&into->spec, &from->spec))
		return -EINVAL;
	while ((pane = pasta_map_next(from->panes, &at, &number))) {
		struct pane *sum = pane_of(into, number);

		if (sum) {
			sum->events += pane->events;
			combine(sum + 1, pane + 1);
			continue;
		}
		error = pasta_map_count(into->panes) < PANES_MAX ? -ENOMEM : -ENOSPC;
		into->lost += pane->events;
	}
	into->lost += from->lost;
	at = 0;
	while ((proc = pasta_map_next(from->procs, &at, &number))) {
		struct proc *copy = pasta_map_add(into->procs, number);

		if (!copy)
			error = -ENOMEM;
		else if (!copy->begun)
			*copy = *proc;
	}
	return error;
}

/* -- Visiting. -- */

struct place {
	uint64_t number;
	const struct pane *pane;
};

/*
 * The panes of a window, as a queue of two halves: from low to middle, each with all that are after
 * it in its half combined into it; and from middle to high, combined into one. So a pane is
 * combined three times, in however many windows it is.
 */
struct slide {
	const struct pasta_windows *w;
	void (*combine)(void *into, const void *from);
	struct place *places;
	size_t count, low, middle, high;
	size_t first;	    /* the place of front's first value */
	size_t stride;	    /* of a value */
	char *front;	    /* the first half's values */
	char *back, *value; /* the second half's; a window's */
};

static int by_number(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* In order. NULL when out of memory. */
static struct place *places_of(const struct pasta_windows *w)
{
	struct place *places = calloc(pasta_map_count(w->panes) + 1, sizeof(*places));
	size_t at = 0, n = 0;

	if (!places)
		return NULL;
	while ((places[n].pane = pasta_map_next(w->panes, &at, &places[n].number)))
		n++;
	qsort(places, n, sizeof(*places), by_number);
	return places;
}

static char *front_of(const struct slide *s, size_t place)
{
	return s->front + (place - s->first) * s->stride;
}

/* What is in the second half goes to the first. */
static void turn(struct slide *s)
{
	size_t i;

	s->first = s->low;
	for (i = s->high; i-- > s->low;) {
		memset(front_of(s, i), 0, s->stride);
		s->combine(front_of(s, i), s->places[i].pane + 1);
		if (i + 1 < s->high)
			s->combine(front_of(s, i), front_of(s, i + 1));
	}
	s->middle = s->high;
	memset(s->back, 0, s->stride);
}

/* To the window that begins at this pane. */
static void move(struct slide *s, uint64_t begin, uint64_t parts)
{
	while (s->low < s->high && s->places[s->low].number < begin) {
		if (s->low == s->middle)
			turn(s);
		s->low++;
	}
	while (s->high < s->count && s->places[s->high].number - begin < parts)
		s->combine(s->back, s->places[s->high++].pane + 1);
}

static int visit_one(struct slide *s, uint64_t begin,
		     int (*visit)(void *ctx, uint64_t begin, uint64_t end, const void *value),
		     void *ctx)
{
	uint64_t from = begin * s->w->spec.step, end = from + s->w->spec.size;

	memset(s->value, 0, s->stride);
	if (s->low < s->middle)
		s->combine(s->value, front_of(s, s->low));
	if (s->middle < s->high)
		s->combine(s->value, s->back);
	return visit(ctx, from, end < from ? UINT64_MAX : end, s->value);
}

/* The windows that have the next pane which is in none so far begin at this one. */
static uint64_t first_with(const struct slide *s, uint64_t parts)
{
	uint64_t number = s->places[s->high].number;

	return number < parts ? 0 : number - parts + 1;
}

static int slide(struct slide *s,
		 int (*visit)(void *ctx, uint64_t begin, uint64_t end, const void *value),
		 void *ctx)
{
	uint64_t begin = 0, parts = s->w->spec.size / s->w->spec.step;
	int stop = 0;

	while (!stop && (s->low < s->high || s->high < s->count)) {
		if (s->low == s->high)
			begin = first_with(s, parts);
		move(s, begin, parts);
		if (s->low < s->high)
			stop = visit_one(s, begin++, visit, ctx);
	}
	return stop;
}

static int tumble(const struct pasta_windows *w, const struct place *places,
		  int (*visit)(void *ctx, uint64_t begin, uint64_t end, const void *value),
		  void *ctx)
{
	size_t i, count = pasta_map_count(w->panes);
	int stop = 0;

	for (i = 0; i < count && !stop; i++) {
		uint64_t begin = places[i].number * w->spec.step, end = begin + w->spec.size;

		stop = visit(ctx, begin, end < begin ? UINT64_MAX : end, places[i].pane + 1);
	}
	return stop;
}

int pasta_windows_each(const struct pasta_windows *w, void (*combine)(void *into, const void *from),
		       int (*visit)(void *ctx, uint64_t begin, uint64_t end, const void *value),
		       void *ctx)
{
	size_t parts = (size_t)(w->spec.size / w->spec.step);
	struct slide s = {.w = w, .combine = combine, .count = pasta_map_count(w->panes)};
	int status = -ENOMEM;

	s.places = places_of(w);
	if (s.places && parts == 1) {
		status = tumble(w, s.places, visit, ctx);
		free(s.places);
		return status;
	}
	if (parts > s.count)
		parts = s.count;
	s.stride = (w->spec.value_size + 7) & ~(size_t)7;
	s.front = calloc(parts + 1, s.stride + 1);
	s.back = calloc(1, s.stride + 1);
	s.value = calloc(1, s.stride + 1);
	if (s.places && s.front && s.back && s.value)
		status = slide(&s, visit, ctx);
	free(s.places);
	free(s.front);
	free(s.back);
	free(s.value);
	return status;
}
