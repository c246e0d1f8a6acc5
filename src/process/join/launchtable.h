/*
 * launchtable.h - stores launches by process and correlation id until their work is read.
 *
 * A launch that has matched its work stays in the table until PASTA_LAUNCHTABLE_RECENT further
 * launches of its process have matched. If the table has PASTA_LAUNCHTABLE_MAX launches, the oldest
 * one expires. Only one thread at a time may call these functions.
 */
#ifndef PASTA_PROCESS_LAUNCHTABLE_H
#define PASTA_PROCESS_LAUNCHTABLE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#include "core/pending.h"

#define PASTA_LAUNCHTABLE_MAX (1 << 20) /* maximum number of launches of all processes together */
#define PASTA_LAUNCHTABLE_RECENT 512

struct pasta_launched {
	struct pasta_where where; /* attribution that the launch's work will have */
	/* The launch's position in the order in which the launches of its process matched their
	 * work. */
	uint64_t use;
	/* Whether the launch is a graph launch, which may have any number of pieces of work. */
	bool graph;
	bool used; /* the launch has matched its work */
	/* The launch's work should have a record, but this record has not been read yet. */
	bool due;
	uint64_t event[]; /* copy of the launch's record, if the table stores records */
};

/* The launches of a process that matched their work most recently. Zero the struct before use. */
struct pasta_launch_uses {
	struct {
		/* This launch may already have been removed from the table. */
		struct pasta_launched *launch;
		uint64_t corr;
	} recent[PASTA_LAUNCHTABLE_RECENT];
	uint64_t count;
};

struct pasta_launchtable {
	struct pasta_pending *known; /* struct pasta_launched */
};

/* Opens an empty table. `events`: whether the table stores the launches' records. Returns 0 or
 * -ENOMEM. */
int pasta_launchtable_open(struct pasta_launchtable *l, bool events);
void pasta_launchtable_close(struct pasta_launchtable *l);

/* Returns whether the table is full. If it is, adding a launch removes another launch. */
bool pasta_launchtable_full(const struct pasta_launchtable *l);
struct pasta_launched *pasta_launchtable_oldest(const struct pasta_launchtable *l);
/* Removes the oldest launch from the table, which must not be empty. */
void pasta_launchtable_drop_oldest(struct pasta_launchtable *l);
/* Returns the launch that pasta_launchtable_add would replace: one with the same ids, or the oldest
 * launch of a full table. Sets *proc and *corr to the launch's ids. Returns NULL if no launch would
 * be replaced. */
struct pasta_launched *pasta_launchtable_next_out(struct pasta_launchtable *l, uint32_t *proc,
						  uint64_t *corr);
/* Adds a launch, replacing any launch with the same ids. The caller fills in `where`. Returns NULL
 * when out of memory. */
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
/* Returns the latest launch with this process and correlation id, or NULL. */
static inline struct pasta_launched *pasta_launchtable_find(struct pasta_launchtable *l,
							    uint32_t proc, uint64_t corr)
{
	return pasta_pending_find(l->known, proc, corr);
}
/* Marks a launch as matched with its work. This may remove an older launch from the table. */
void pasta_launchtable_use(struct pasta_launchtable *l, struct pasta_launch_uses *uses,
			   uint32_t proc, uint64_t corr, struct pasta_launched *launch);

/*
 * Returns whether and when a launch without work becomes unmatched. `recorded` is a mask of the
 * kinds that its process records, or 0 if they are unknown. With PASTA_DUE_LATER, the launch
 * becomes unmatched when it expires, or at the end of the input. A launch of unknown type counts as
 * a kernel launch if it has a name, because older sources name only kernel launches. Launches with
 * correlation id 0 never become unmatched, because their work cannot be identified.
 */
enum pasta_due { PASTA_DUE_NEVER, PASTA_DUE_NOW, PASTA_DUE_LATER };
enum pasta_due pasta_launch_due_any(const struct pasta_launch_record *launch, uint64_t recorded);
static inline enum pasta_due pasta_launch_due(const struct pasta_launch_record *launch,
					      uint64_t recorded)
{
	bool kernels = !recorded || recorded & PASTA_MASK(KERNEL);

	/* Only the test for kernel launches is inline, because nearly all launches are kernel
	 * launches. */
	if (launch->work == PASTA_LAUNCH_WORK_KERNEL && launch->corr && !launch->graph && kernels)
		return PASTA_DUE_LATER;
	return pasta_launch_due_any(launch, recorded);
}

/* Add, remove and find a correlation id in the set of a process's launches that expired without
 * their work. If the work of such a launch is read later, the launch must not be counted again. The
 * set is a map with 64 ids per value, or NULL if it is empty. */
int pasta_expired_add(struct pasta_map **expired, uint64_t corr); /* 0 or -ENOMEM */
void pasta_expired_remove(struct pasta_map *expired, uint64_t corr);
bool pasta_expired_has(const struct pasta_map *expired, uint64_t corr);

#endif
