/* rawcopy.c - workers that copy raw accesses out of the ring, and hand them on. */
#include "collect/agent.h"
#include "core/lock.h"
#include "handlers/sanitizer/raw_internal.h"

static struct open *open_of(struct pasta_raw *r, uint32_t number)
{
	return is_open(r, number) ? &r->open[number % OPEN] : NULL;
}

/* Whether its site is known; else *place is where it is to be put, NULL: there is no room. */
static bool find_site(struct open *o, uint32_t difference, uint32_t *site, _Atomic uint64_t **place)
{
	uint32_t i = difference / 16 * UINT32_C(2654435761) % SITES, tries;

	*place = NULL;
	for (tries = 0; tries < 16; tries++, i = (i + 1) % SITES) {
		uint64_t cell = atomic_load_explicit(&o->sites[i], memory_order_relaxed);

		*site = (uint32_t)cell;
		if (cell && cell >> 32 == difference)
			return true;
		*place = &o->sites[i];
		if (!cell)
			return false;
	}
	*place = NULL;
	return false;
}

/* Where the cache is full the handler is asked each time. Workers begin a launch together, with the
 * same sites: one of them asks. */
static uint32_t site_of(struct pasta_raw *r, struct open *o, const struct pasta_access *a)
{
	uint32_t difference = a->site, flags = a->kind | (uint32_t)a->space << 8, site;
	_Atomic uint64_t *place;

	if (r->config.siteless)
		return 0;
	if (find_site(o, difference, &site, &place))
		return site;
	pasta_lock(&r->asking);
	if (!find_site(o, difference, &site, &place)) {
		site = r->ops.site(r->ops.ctx, o->data,
				   o->base + (uint64_t)(int64_t)(int32_t)difference, flags);
		if (place)
			atomic_store_explicit(place, (uint64_t)difference << 32 | site,
					      memory_order_relaxed);
	}
	pasta_unlock(&r->asking);
	return site;
}

/* Those of the first one's launch, in their order; others stay. */
static size_t sort_out(struct worker *w, struct open *o, uint32_t number)
{
	uint32_t difference = 0, site = 0;
	size_t i, kept = 0, count = 0;

	for (i = 0; i < w->count; i++) {
		struct pasta_access *a = &w->copy[i];

		if (a->launch != number) {
			w->copy[kept++] = *a;
			continue;
		}
		if (o && (!count || a->site != difference)) {
			difference = a->site;
			site = site_of(w->raw, o, a);
		}
		w->sorted[count] = *a;
		w->sorted[count++].site = site;
	}
	w->count = kept;
	return count;
}

/* They are all of one launch. */
static void name_sites(struct worker *w, struct open *o)
{
	uint32_t difference = w->copy[0].site, site = site_of(w->raw, o, &w->copy[0]);

	for (size_t i = 0; i < w->count; i++) {
		struct pasta_access *a = &w->copy[i];

		if (a->site != difference) {
			difference = a->site;
			site = site_of(w->raw, o, a);
		}
		a->site = site;
	}
}

static void hand_on(struct pasta_raw *r, struct worker *w)
{
	while (w->count) {
		uint32_t number = w->copy[0].launch;
		struct open *o = open_of(r, number);
		const struct pasta_access *list = w->mixed ? w->sorted : w->copy;
		size_t count = w->mixed ? sort_out(w, o, number) : w->count;

		if (!w->mixed) {
			if (o && !r->config.siteless)
				name_sites(w, o);
			w->count = 0;
		}
		if (o)
			r->ops.batch(o->launch, list, count, o->group_size, r->config.counts);
		else if (r->ops.stray)
			r->ops.stray(count);
		else
			pasta_emit_loss(PASTA_LOSS_SOURCE, count);
	}
}

static void copy(struct worker *w, struct pasta_access *from, size_t count)
{
	struct pasta_access *to = w->copy;
	size_t i;

	w->mixed = false;
	for (i = 0; i < count; i++) {
		if (!launch_of(&from[i])) /* it was taken before */
			continue;
		take_one(to, &from[i]);
		w->mixed |= to->launch != w->copy[0].launch;
		to++;
	}
	w->count = (size_t)(to - w->copy);
}

/* Under the lock: one that is not all somebody's. NULL: there is none. */
static struct list *find_list(struct pasta_raw *r)
{
	for (uint64_t i = r->popped; i < r->pushed; i++) {
		struct list *list = &r->lists[i % LISTS];

		if (list->next < list->count)
			return list;
	}
	return NULL;
}

/* Under the lock: the next piece. A request is one worker's. */
static struct pasta_access *take_piece(struct worker *w, struct list *list, size_t *count)
{
	struct pasta_access *records = list->records, *piece = records + list->next;
	size_t end = list->count - list->next > PIECE ? list->next + PIECE : list->count;

	while (end < list->count && goes_on(&records[end - 1], &records[end]))
		end++;
	*count = end - list->next;
	list->next = end;
	w->ticket = ++w->raw->tickets;
	return piece;
}

/* Under the lock. What was copied is the device's again, in the order in which it came. */
void raw_pop_lists(struct pasta_raw *r)
{
	uint64_t before = r->popped;

	while (r->popped < r->pushed) {
		struct list *list = &r->lists[r->popped % LISTS];

		if (list->copied < list->count)
			break;
		if (list->taken && !atomic_load(&r->cut))
			__atomic_store_n(&r->config.ring->taken, list->taken, __ATOMIC_RELEASE);
		r->popped++;
	}
	if (r->popped != before)
		pthread_cond_broadcast(&r->copied);
}

void *raw_work(void *arg)
{
	struct worker *w = arg;
	struct pasta_raw *r = w->raw;
	struct pasta_access *piece;
	struct list *list;
	size_t count;

	pasta_lock(&r->lock);
	while ((list = find_list(r)) || !r->quit || r->watched) {
		if (!list) {
			r->idle++;
			pthread_cond_wait(&r->work, &r->lock);
			r->idle--;
			continue;
		}
		piece = take_piece(w, list, &count);
		r->copying++;
		pasta_unlock(&r->lock);
		copy(w, piece, count);
		pasta_lock(&r->lock);
		list->copied += count;
		raw_pop_lists(r);
		if (!--r->copying && atomic_load(&r->cut))
			pthread_cond_broadcast(&r->copied);
		pasta_unlock(&r->lock);
		hand_on(r, w);
		pasta_lock(&r->lock);
		w->ticket = 0;
		pthread_cond_broadcast(&r->done);
	}
	r->running--;
	pthread_cond_broadcast(&r->done);
	pasta_unlock(&r->lock);
	return NULL;
}
