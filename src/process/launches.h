/*
 * launches.h - launches and their work, by process and correlation.
 *
 * A launch is known from when it is added until PASTA_LAUNCHES_RECENT others of its process have
 * had their work after it had its own, or until PASTA_LAUNCHES_MAX are known: then the oldest is
 * forgotten. One thread at a time.
 */
#ifndef PASTA_PROCESS_LAUNCHES_H
#define PASTA_PROCESS_LAUNCHES_H

#include <stdbool.h>

#include <pasta/pasta.h>

#define PASTA_LAUNCHES_MAX (1 << 20) /* of all processes */
#define PASTA_LAUNCHES_RECENT 512

struct pasta_launched {
	struct pasta_where where; /* where its work belongs */
	uint64_t use;		  /* the number of that use in its process */
	bool graph;		  /* it may have any number of pieces of work */
	bool used;		  /* it has its work */
};

/* The last uses of a process. Zero it before use. */
struct pasta_launch_uses {
	uint64_t corr[PASTA_LAUNCHES_RECENT];
	uint64_t count;
};

struct pasta_launches {
	struct pasta_pending *known; /* struct pasta_launched */
};

int pasta_launches_open(struct pasta_launches *l); /* 0 or -ENOMEM */
void pasta_launches_close(struct pasta_launches *l);

/* A new one, in place of one that has the same numbers; the caller fills in where. NULL when out of
 * memory. */
struct pasta_launched *pasta_launches_add(struct pasta_launches *l, uint32_t proc, uint64_t corr);
/* The latest, or NULL. */
static inline struct pasta_launched *pasta_launches_find(struct pasta_launches *l, uint32_t proc,
							 uint64_t corr)
{
	return pasta_pending_find(l->known, proc, corr);
}
/* It has its work now: others may be forgotten. */
void pasta_launches_use(struct pasta_launches *l, struct pasta_launch_uses *uses, uint32_t proc,
			uint64_t corr, struct pasta_launched *launch);

#endif
