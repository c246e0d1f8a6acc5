/*
 * launchtable.h - launches and their work, by process and correlation.
 *
 * A launch is known from when it is added until PASTA_LAUNCHTABLE_RECENT others of its process have
 * had their work after it had its own, or until PASTA_LAUNCHTABLE_MAX are known: then the oldest is
 * forgotten. One thread at a time.
 */
#ifndef PASTA_PROCESS_LAUNCHTABLE_H
#define PASTA_PROCESS_LAUNCHTABLE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#include "core/pending.h"

#define PASTA_LAUNCHTABLE_MAX (1 << 20) /* of all processes */
#define PASTA_LAUNCHTABLE_RECENT 512

struct pasta_launched {
	struct pasta_where where; /* where its work belongs */
	uint64_t use;		  /* the number of that use in its process */
	bool graph;		  /* it may have any number of pieces of work */
	bool used;		  /* it has its work */
	bool due;		  /* its work should have a record, and none has come */
	uint64_t event[];	  /* the launch's, if launches keep them */
};

/* The last uses of a process. Zero it before use. */
struct pasta_launch_uses {
	struct {
		struct pasta_launched *launch; /* which may have been forgotten since */
		uint64_t corr;
	} recent[PASTA_LAUNCHTABLE_RECENT];
	uint64_t count;
};

struct pasta_launchtable {
	struct pasta_pending *known; /* struct pasta_launched */
};

/* 0 or -ENOMEM. events: launches have room for their events. */
int pasta_launchtable_open(struct pasta_launchtable *l, bool events);
void pasta_launchtable_close(struct pasta_launchtable *l);

/* Whether the next addition removes one; the one that goes first, or NULL. */
bool pasta_launchtable_full(const struct pasta_launchtable *l);
struct pasta_launched *pasta_launchtable_oldest(const struct pasta_launchtable *l);
void pasta_launchtable_drop_oldest(struct pasta_launchtable *l); /* there is one */
/* The one that an addition would remove: it has the same numbers, or is the oldest of too many.
 * NULL: none. */
struct pasta_launched *pasta_launchtable_next_out(struct pasta_launchtable *l, uint32_t *proc,
						  uint64_t *corr);
/* A new one, in place of one that has the same numbers; the caller fills in where. NULL when out of
 * memory. */
static inline struct pasta_launched *pasta_launchtable_add(struct pasta_launchtable *l,
							   uint32_t proc, uint64_t corr)
{
	struct pasta_launched *launch = pasta_pending_renew(l->known, proc, corr);

	if (launch) {
		launch->use = 0;
		launch->graph = launch->used = launch->due = false;
	}
	return launch;
}
/* The latest, or NULL. */
static inline struct pasta_launched *pasta_launchtable_find(struct pasta_launchtable *l,
							    uint32_t proc, uint64_t corr)
{
	return pasta_pending_find(l->known, proc, corr);
}
/* It has its work now: others may be forgotten. */
void pasta_launchtable_use(struct pasta_launchtable *l, struct pasta_launch_uses *uses,
			   uint32_t proc, uint64_t corr, struct pasta_launched *launch);

/*
 * When a launch is known to have no record of its work, given the kinds that its process records
 * (0: not known). LATER: when it is forgotten, or the process ends. Older sources name kernels, and
 * nothing else that is launched. A correlation of 0 joins nothing: its work may well have a record.
 */
enum pasta_due { PASTA_DUE_NEVER, PASTA_DUE_NOW, PASTA_DUE_LATER };
enum pasta_due pasta_launch_due_any(const struct pasta_launch_record *launch, uint64_t recorded);
static inline enum pasta_due pasta_launch_due(const struct pasta_launch_record *launch,
					      uint64_t recorded)
{
	bool kernels = !recorded || recorded & PASTA_MASK(KERNEL);

	/* Nearly all launches are of kernels: no call for them. */
	if (launch->work == PASTA_LAUNCH_WORK_KERNEL && launch->corr && !launch->graph && kernels)
		return PASTA_DUE_LATER;
	return pasta_launch_due_any(launch, recorded);
}

/* The correlations of a process's launches that were forgotten without their work, 64 of them in a
 * value of the map, which is NULL at first. A record that comes later must not count again. */
int pasta_expired_add(struct pasta_map **expired, uint64_t corr); /* 0 or -ENOMEM */
void pasta_expired_remove(struct pasta_map *expired, uint64_t corr);
bool pasta_expired_has(const struct pasta_map *expired, uint64_t corr);

#endif
