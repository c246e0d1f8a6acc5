/* rawcopy.c - workers that copy raw accesses out of the ring and deliver them to launches. */
#include "collect/agent.h"
#include "core/lock.h"
#include "handlers/sanitizer/raw_internal.h"

static struct open *open_lookup(struct pasta_raw *r, uint32_t number)
{
	return is_open(r, number) ? &r->open[number % OPEN] : NULL;
}

/* Returns whether the cache contains the site. If not, sets *slot to the slot in which to store the
 * site, or to NULL if the cache is full. */
static bool site_lookup(struct open *o, uint32_t difference, uint32_t *site,
			_Atomic uint64_t **slot)
{
	uint32_t i = difference / 16 * UINT32_C(2654435761) % SITES, tries;

	*slot = NULL;
	for (tries = 0; tries < 16; tries++, i = (i + 1) % SITES) {
		uint64_t cell = atomic_load_explicit(&o->sites[i], memory_order_relaxed);

		*site = (uint32_t)cell;
		if (cell && cell >> 32 == difference)
			return true;
		*slot = &o->sites[i];
		if (!cell)
			return false;
	}
	*slot = NULL;
	return false;
}

/* Returns the number of an access's site. If the cache is full, calls ops.site each time. Several
 * workers may need a new site at the same time, and the mutex lets only one worker call
 * ops.site. */
static uint32_t worker_site(struct pasta_raw *r, struct open *o, const struct pasta_access *a)
{
	uint32_t difference = a->site, flags = a->kind | (uint32_t)a->space << 8, site;
	_Atomic uint64_t *slot;

	if (r->config.siteless)
		return 0;
	if (site_lookup(o, difference, &site, &slot))
		return site;
	pasta_lock(&r->resolving);
	if (!site_lookup(o, difference, &site, &slot)) {
		site = r->ops.site(r->ops.ctx, o->data,
				   o->base + (uint64_t)(int64_t)(int32_t)difference, flags);
		if (slot)
			atomic_store_explicit(slot, (uint64_t)difference << 32 | site,
					      memory_order_relaxed);
	}
	pasta_unlock(&r->resolving);
	return site;
}

/* Moves the records of one launch from `copy` to `sorted`, in order, and returns the number of
 * these records. */
static size_t worker_split(struct worker *w, struct open *o, uint32_t number)
{
	uint32_t difference = 0, site = 0;
	size_t i, remaining = 0, count = 0;

	for (i = 0; i < w->count; i++) {
		struct pasta_access *a = &w->copy[i];

		if (a->launch != number) {
			w->copy[remaining++] = *a;
			continue;
		}
		if (o && (!count || a->site != difference)) {
			difference = a->site;
			site = worker_site(w->raw, o, a);
		}
		w->sorted[count] = *a;
		w->sorted[count++].site = site;
	}
	w->count = remaining;
	return count;
}

/* Delivers records that all belong to one launch. */
static void worker_resolve_sites(struct worker *w, struct open *o)
{
	uint32_t difference = w->copy[0].site, site = worker_site(w->raw, o, &w->copy[0]);

	for (size_t i = 0; i < w->count; i++) {
		struct pasta_access *a = &w->copy[i];

		if (a->site != difference) {
			difference = a->site;
			site = worker_site(w->raw, o, a);
		}
		a->site = site;
	}
}

static void worker_deliver(struct pasta_raw *r, struct worker *w)
{
	while (w->count) {
		uint32_t number = w->copy[0].launch;
		struct open *o = open_lookup(r, number);
		const struct pasta_access *list = w->mixed ? w->sorted : w->copy;
		size_t count = w->mixed ? worker_split(w, o, number) : w->count;

		if (!w->mixed) {
			if (o && !r->config.siteless)
				worker_resolve_sites(w, o);
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

static void worker_copy(struct worker *w, struct pasta_access *from, size_t count)
{
	struct pasta_access *to = w->copy;
	size_t i;

	w->mixed = false;
	for (i = 0; i < count; i++) {
		if (!launch_of(&from[i])) /* already consumed */
			continue;
		raw_move_record(to, &from[i]);
		w->mixed |= to->launch != w->copy[0].launch;
		to++;
	}
	w->count = (size_t)(to - w->copy);
}

/* Returns a list with records that no worker is copying yet, or NULL if there is no such list. The
 * caller holds r->lock. */
static struct list *lists_find(struct pasta_raw *r)
{
	for (uint64_t i = r->popped; i < r->pushed; i++) {
		struct list *list = &r->lists[i % LISTS];

		if (list->next < list->count)
			return list;
	}
	return NULL;
}

/* Returns the next piece of a list. A piece does not split a request. The caller holds r->lock. */
static struct pasta_access *worker_next_piece(struct worker *w, struct list *list, size_t *count)
{
	struct pasta_access *records = list->records, *piece = records + list->next;
	size_t end = list->count - list->next > PIECE ? list->next + PIECE : list->count;

	while (end < list->count && is_same_request(&records[end - 1], &records[end]))
		end++;
	*count = end - list->next;
	list->next = end;
	w->ticket = ++w->raw->tickets;
	return piece;
}

/* Removes lists whose records are copied, and lets the device reuse their slots in the order of the
 * ring. The caller holds r->lock. */
void raw_pop_lists(struct pasta_raw *r)
{
	uint64_t before = r->popped;

	while (r->popped < r->pushed) {
		struct list *list = &r->lists[r->popped % LISTS];

		if (list->copied < list->count)
			break;
		if (list->ring_consumed && !atomic_load(&r->cut))
			__atomic_store_n(&r->config.ring->consumed, list->ring_consumed,
					 __ATOMIC_RELEASE);
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
	while ((list = lists_find(r)) || !r->quit || r->watched) {
		if (!list) {
			r->idle++;
			pthread_cond_wait(&r->work, &r->lock);
			r->idle--;
			continue;
		}
		piece = worker_next_piece(w, list, &count);
		r->copying++;
		pasta_unlock(&r->lock);
		worker_copy(w, piece, count);
		pasta_lock(&r->lock);
		list->copied += count;
		raw_pop_lists(r);
		if (!--r->copying && atomic_load(&r->cut))
			pthread_cond_broadcast(&r->copied);
		pasta_unlock(&r->lock);
		worker_deliver(r, w);
		pasta_lock(&r->lock);
		w->ticket = 0;
		pthread_cond_broadcast(&r->done);
	}
	r->running--;
	pthread_cond_broadcast(&r->done);
	pasta_unlock(&r->lock);
	return NULL;
}
