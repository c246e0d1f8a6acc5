/* corrproc.c - stores the correlator's data about each process: its threads, launches and
 * operators. */
#include "process/join/corrproc.h"

#include <stdlib.h>
#include <string.h>

static void corrproc_free(struct pasta_corrproc *p)
{
	struct pasta_nest *thread;
	size_t at = 0;

	if (!p)
		return;
	while (p->threads && (thread = pasta_map_next(p->threads, &at, NULL)))
		pasta_nest_free(thread);
	pasta_map_free(p->threads);
	pasta_map_free(p->captured);
	pasta_map_free(p->expired);
	pasta_forward_ops_free(&p->forwards);
	free(p->uses);
	free(p);
}

void pasta_corrprocs_close(struct pasta_corrprocs *all)
{
	for (size_t i = 0; i < all->count; i++)
		corrproc_free(all->by_number[i]);
	free(all->by_number);
	*all = (struct pasta_corrprocs){0};
}

static bool corrproc_make_room(struct pasta_corrprocs *all, uint32_t number)
{
	size_t count = all->count ? all->count : 16;
	struct pasta_corrproc **procs;

	while (count <= number)
		count *= 2;
	procs = reallocarray(all->by_number, count, sizeof(*procs));
	if (!procs)
		return false;
	memset(procs + all->count, 0, (count - all->count) * sizeof(*procs));
	all->by_number = procs;
	all->count = count;
	return true;
}

/* Processes are in an array, because their numbers are consecutive and start at 0. */
struct pasta_corrproc *pasta_corrprocs_add(struct pasta_corrprocs *all, uint32_t number)
{
	struct pasta_corrproc *p;

	if (number >= all->count && !corrproc_make_room(all, number))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->number = number;
	p->now = (struct pasta_progress){PASTA_NO_ITERATION, PASTA_NO_LAUNCH};
	p->threads = pasta_map_new(sizeof(struct pasta_nest));
	if (!p->threads) {
		corrproc_free(p);
		return NULL;
	}
	all->by_number[number] = p;
	return p;
}

struct pasta_nest *pasta_corrproc_find_thread(struct pasta_corrproc *p, uint32_t tid)
{
	struct pasta_nest *thread = pasta_map_add(p->threads, tid);

	if (!thread)
		return NULL;
	thread->tid = tid;
	p->thread = thread;
	return thread;
}

static int corrproc_by_tid(const void *a, const void *b)
{
	const struct pasta_nest *x = *(struct pasta_nest *const *)a;
	const struct pasta_nest *y = *(struct pasta_nest *const *)b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

struct pasta_nest **pasta_corrproc_threads(const struct pasta_corrproc *p)
{
	size_t i, at = 0, count = pasta_map_count(p->threads);
	struct pasta_nest **threads = calloc(count + 1, sizeof(*threads));

	if (!threads)
		return NULL;
	for (i = 0; i < count; i++)
		threads[i] = pasta_map_next(p->threads, &at, NULL);
	qsort(threads, count, sizeof(*threads), corrproc_by_tid);
	return threads;
}
