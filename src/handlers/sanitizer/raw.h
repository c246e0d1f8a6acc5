/*
 * raw.h - the host's side of raw accesses: taken out of a context's ring, and handed on.
 *
 * A thread watches the ring while launches write into it and takes halves that are full; workers,
 * as many as there are processors, copy them piece by piece, and hand them to the reducers' driver,
 * each launch's to its own. Requests stay whole. Who has copied frees the ring: devices wait for
 * copies, not for counting.
 *
 * A record that was taken has launch 0 in the ring, so that what is left of a launch that has run
 * is found there, whoever else writes between.
 */
#ifndef PASTA_SANITIZER_RAW_H
#define PASTA_SANITIZER_RAW_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/accesses.h"
#include "reduce/gpu.h"

/* What the handler does for it; read, rewind and stray may be NULL. Errors are a negative errno. */
struct pasta_raw_ops {
	/* The device's head and lost, by any thread that flushes. */
	int (*read)(void *ctx, uint64_t *head, uint64_t *lost);
	/* Set both to 0, and what else the device remembers of taken; while no launch is open, by a
	 * thread that begins one. */
	int (*rewind)(void *ctx);
	/* The number of the SITE at an address, in a launch that data is of; 0: not known. flags
	 * are a SITE's, of the access at hand. By many threads at once; asked once or a few times
	 * for each site of a launch. */
	uint32_t (*site)(void *ctx, void *data, uint64_t addr, uint32_t flags);
	/* pasta_accesses_batch and pasta_accesses_dropped, but for tests. */
	void (*batch)(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
		      size_t count, uint32_t group_size, bool counts);
	void (*lost)(struct pasta_accesses_launch *launch, uint64_t count);
	/* Records whose number is no open launch's. */
	void (*stray)(uint64_t count);
	void *ctx;
};

struct pasta_raw_config {
	/* The caller's, as the records, until pasta_raw_free is 0 or pasta_raw_cut returns. */
	struct pasta_gpu_ring *ring;
	struct pasta_access *records; /* 2 * half */
	uint32_t half;
	bool counts;	   /* the host counts them, beside what is kept */
	bool siteless;	   /* nobody wants to know sites: none is asked for */
	uint32_t workers;  /* 0: as many as there are processors for us */
	uint32_t stuck_ms; /* after so long without a step the ring is stopped; 0: 5,000 */
};

struct pasta_raw;

/* Clears the ring and the records, and starts the threads. NULL: err says why. */
struct pasta_raw *pasta_raw_new(const struct pasta_raw_config *config,
				const struct pasta_raw_ops *ops, struct pasta_error *err);
/* No launch is open, or none will write any more. -ETIMEDOUT: a worker is still at it after some
 * seconds, and nothing is freed: the ring must stay. NULL is 0. Not in a forked child. */
int pasta_raw_free(struct pasta_raw *r);

/*
 * Before a launch is given to the device: its number in records. base is that of struct
 * pasta_gpu_launch. 0: 256 are open already. Any thread.
 * Where the ring was stopped and nothing is open any more, it is used again.
 */
uint32_t pasta_raw_begin(struct pasta_raw *r, struct pasta_accesses_launch *launch,
			 uint32_t group_size, uint64_t base, void *data);
/*
 * The launch has run, or never will: all its records are handed on when this returns 0, and what
 * the device has lost since the last time was told as this launch's. Its number is nobody's then,
 * and it may be ended. -ETIMEDOUT: some are still under way, and it must not be ended: call again.
 * -ENODEV: the ring was cut off, and some may be lost: abandon it. Any thread.
 */
int pasta_raw_flush(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms);
/*
 * The launch is not waited for any more: its number is nobody's at once, and what still comes of it
 * is a stray. -ETIMEDOUT: some are still being handed on, and it must not be ended: call again, or
 * flush, which is the same then. Any thread.
 */
int pasta_raw_abandon(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms);
/*
 * The ring goes, whoever is still at it: when this returns nobody looks at it or the records any
 * more. What is copied is still handed on; nothing begins any more. It waits for copies alone, not
 * for those who are handed them. Any thread.
 */
void pasta_raw_cut(struct pasta_raw *r);

#endif
