/* batch.c - implements a queue of buffers with raw accesses, between producers and consumers. */
#include "reduce/batch.h"
#include "core/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct list {
	struct pasta_buffer *first, *last;
};

struct pasta_batches {
	pthread_mutex_t lock;
	pthread_cond_t freed, filled;
	struct list free, full;
	/* The number of free buffers. Producers that drop accesses read this number without holding
	 * the lock. */
	_Atomic uint32_t free_count;
	/* Whether a wait has timed out, and no buffer was released since then. */
	_Atomic bool late;
	uint32_t accesses, wait_ms;
	_Atomic bool closed;
	struct pasta_batches_stats stats;
};

static void list_append(struct list *l, struct pasta_buffer *b)
{
	b->next = NULL;
	if (l->first)
		l->last->next = b;
	else
		l->first = b;
	l->last = b;
}

static struct pasta_buffer *list_pop(struct list *l)
{
	struct pasta_buffer *b = l->first;

	if (b)
		l->first = b->next;
	return b;
}

static int batches_make_buffers(struct pasta_batches *q, uint32_t buffers)
{
	struct pasta_buffer *b;

	for (uint32_t i = 0; i < buffers; i++) {
		b = malloc(sizeof(*b) + (size_t)q->accesses * sizeof(b->accesses[0]));
		if (!b)
			return -ENOMEM;
		b->count = 0;
		list_append(&q->free, b);
	}
	q->free_count = buffers;
	return 0;
}

static int batches_make_conditions(struct pasta_batches *q)
{
	pthread_condattr_t attr;
	int error;

	if (pthread_condattr_init(&attr))
		return -ENOMEM;
	error = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!error)
		error = pthread_mutex_init(&q->lock, NULL);
	if (!error)
		error = pthread_cond_init(&q->freed, &attr);
	if (!error)
		error = pthread_cond_init(&q->filled, &attr);
	pthread_condattr_destroy(&attr);
	return -error;
}

struct pasta_batches *pasta_batches_new(uint32_t buffers, uint32_t accesses, uint32_t wait_ms)
{
	struct pasta_batches *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->accesses = accesses;
	q->wait_ms = wait_ms;
	if (!buffers || !accesses || batches_make_conditions(q) ||
	    batches_make_buffers(q, buffers)) {
		pasta_batches_free(q);
		return NULL;
	}
	return q;
}

void pasta_batches_free(struct pasta_batches *q)
{
	struct pasta_buffer *b;

	if (!q)
		return;
	while ((b = list_pop(&q->free)) || (b = list_pop(&q->full)))
		free(b);
	pthread_cond_destroy(&q->freed);
	pthread_cond_destroy(&q->filled);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void pasta_batches_close(struct pasta_batches *q)
{
	pasta_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->freed);
	pthread_cond_broadcast(&q->filled);
	pasta_unlock(&q->lock);
}

void pasta_batches_stats(struct pasta_batches *q, struct pasta_batches_stats *stats)
{
	pasta_lock(&q->lock);
	*stats = q->stats;
	pasta_unlock(&q->lock);
}

struct pasta_buffer *pasta_batches_acquire(struct pasta_batches *q, bool wait)
{
	struct pasta_buffer *b;

	pasta_lock(&q->lock);
	while (wait && !q->full.first && !q->closed)
		pthread_cond_wait(&q->filled, &q->lock);
	b = list_pop(&q->full);
	if (b)
		q->stats.consumed += b->count;
	pasta_unlock(&q->lock);
	return b;
}

static void batches_release_locked(struct pasta_batches *q, struct pasta_buffer *b)
{
	b->count = 0;
	list_append(&q->free, b);
	q->free_count++;
	q->late = false;
	pthread_cond_signal(&q->freed);
}

void pasta_batches_release(struct pasta_batches *q, struct pasta_buffer *b)
{
	pasta_lock(&q->lock);
	batches_release_locked(q, b);
	pasta_unlock(&q->lock);
}

/* -- Producers -- */

void pasta_filler_begin(struct pasta_filler *b, struct pasta_batches *q)
{
	*b = (struct pasta_filler){.q = q, .room = q->accesses};
}

static void filler_hand_over(struct pasta_filler *b)
{
	struct pasta_batches *q = b->q;

	if (b->buffer && b->buffer->count) {
		memcpy(b->buffer->tag, b->tag, sizeof(b->tag));
		list_append(&q->full, b->buffer);
		pthread_cond_signal(&q->filled);
	} else if (b->buffer) {
		batches_release_locked(q, b->buffer);
	}
	b->buffer = NULL;
	q->stats.pushed += b->pushed;
	q->stats.dropped += b->dropped;
	b->pushed = b->dropped = 0;
}

/* Waits for a free buffer. Returns false on a timeout, or if the queue is closed. The caller holds
 * the queue's lock. */
static bool batches_wait_free(struct pasta_batches *q)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += q->wait_ms / 1000;
	until.tv_nsec += q->wait_ms % 1000 * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!q->free.first && !q->closed) {
		if (q->wait_ms == UINT32_MAX)
			pthread_cond_wait(&q->freed, &q->lock);
		else if (pthread_cond_timedwait(&q->freed, &q->lock, &until))
			break;
	}
	q->late = !q->free.first;
	return q->free.first && !q->closed;
}

bool pasta_filler_turn(struct pasta_filler *b)
{
	struct pasta_batches *q = b->q;

	/* While accesses are dropped, this check avoids locking the mutex for each access. */
	if (!b->buffer && (q->closed || ((!q->wait_ms || q->late) && !q->free_count)))
		return false;
	pasta_lock(&q->lock);
	/* The current access is neither stored nor dropped yet, so the statistics must not include
	 * this access. */
	b->pushed--;
	filler_hand_over(b);
	b->pushed++;
	if (q->wait_ms ? batches_wait_free(q) : q->free.first && !q->closed) {
		b->buffer = list_pop(&q->free);
		q->free_count--;
	}
	pasta_unlock(&q->lock);
	return b->buffer;
}

void pasta_filler_flush(struct pasta_filler *b)
{
	pasta_lock(&b->q->lock);
	filler_hand_over(b);
	pasta_unlock(&b->q->lock);
}

void pasta_filler_end(struct pasta_filler *b)
{
	pasta_filler_flush(b);
}
