/*
 * launchtable.h - launches by process and correlation id, until their work has come.
 *
 * A launch stays in the table until PASTA_LAUNCHTABLE_RECENT further launches of its process have
 * had their work after its own came, or until the table has PASTA_LAUNCHTABLE_MAX launches: then
 * the oldest one expires. One thread at a time.
 */
#ifndef PASTA_PROCESS_LAUNCHTABLE_H
#define PASTA_PROCESS_LAUNCHTABLE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#include "core/pending.h"

#define PASTA_LAUNCHTABLE_MAX (1 << 20) /* of all processes */
#define PASTA_LAUNCHTABLE_RECENT 512

struct pasta_launched {
	struct pasta_where where; /* attribution of its work */
	uint64_t use;		  /* number of that match in its process */
	bool graph;		  /* may have any number of pieces of work */
	bool used;		  /* its work has come */
	bool due;		  /* its work should have a record, which has not come */
	uint64_t event[];	  /* the launch's record, if the table stores records */
};

/* The last matches of a process. Zero it before use. */
struct pasta_launch_uses {
	struct {
		struct pasta_launched *launch; /* may have been removed since */
		uint64_t corr;
	} recent[PASTA_LAUNCHTABLE_RECENT];
	uint64_t count;
};

struct pasta_launchtable {
	struct pasta_pending *known; /* struct pasta_launched */
};

/* Opens an empty table. events: it stores the launches' records. 0 or -ENOMEM. */
int pasta_launchtable_open(struct pasta_launchtable *l, bool events);
void pasta_launchtable_close(struct pasta_launchtable *l);

/* Whether adding a launch removes another one; the oldest launch, or NULL. */
bool pasta_launchtable_full(const struct pasta_launchtable *l);
struct pasta_launched *pasta_launchtable_oldest(const struct pasta_launchtable *l);
void pasta_launchtable_drop_oldest(struct pasta_launchtable *l); /* there must be one */
/* The launch that adding *proc and *corr would replace: the one with the same ids, or the oldest of
 * a full table. Returns NULL if there is none. */
struct pasta_launched *pasta_launchtable_next_out(struct pasta_launchtable *l, uint32_t *proc,
						  uint64_t *corr);
/* Adds a launch, replacing one with the same ids; the caller fills in where. Returns NULL when out
 * of memory. */
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
/* The latest launch with these ids, or NULL. */
static inline struct pasta_launched *pasta_launchtable_find(struct pasta_launchtable *l,
							    uint32_t proc, uint64_t corr)
{
	return pasta_pending_find(l->known, proc, corr);
}
/* Marks a launch as matched. May remove an older one. */
void pasta_launchtable_use(struct pasta_launchtable *l, struct pasta_launch_uses *uses,
			   uint32_t proc, uint64_t corr, struct pasta_launched *launch);

/*
 * When a launch is known to be unmatched, given the kinds that its process records (0: unknown).
 * LATER: when the launch expires, or at the end. Older sources name only kernel launches.
 * Launches with correlation id 0 are never unmatched: their work may well have a record.
 */
enum pasta_due { PASTA_DUE_NEVER, PASTA_DUE_NOW, PASTA_DUE_LATER };
enum pasta_due pasta_launch_due_any(const struct pasta_launch_record *launch, uint64_t recorded);
static inline enum pasta_due pasta_launch_due(const struct pasta_launch_record *launch,
					      uint64_t recorded)
{
	bool kernels = !recorded || recorded & PASTA_MASK(KERNEL);

	/* Nearly all launches are of kernels: decide inline. */
	if (launch->work == PASTA_LAUNCH_WORK_KERNEL && launch->corr && !launch->graph && kernels)
		return PASTA_DUE_LATER;
	return pasta_launch_due_any(launch, recorded);
}

/* The correlation ids of a process's launches that expired without their work, 64 per value of the
 * map, which is NULL at first. Their work may still come, and must not count again. */
int pasta_expired_add(struct pasta_map **expired, uint64_t corr); /* 0 or -ENOMEM */
void pasta_expired_remove(struct pasta_map *expired, uint64_t corr);
bool pasta_expired_has(const struct pasta_map *expired, uint64_t corr);

#endif
