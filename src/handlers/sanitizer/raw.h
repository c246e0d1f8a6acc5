/*
 * raw.h - the host's side of raw accesses: consumes the ring of a context and delivers its records.
 *
 * While launches write to the ring, one thread watches it and passes each full half to workers.
 * There is one worker per processor. Workers copy the half piece by piece and deliver each record
 * to its launch. A piece never splits a request. A half returns to the device as soon as it is
 * copied, so kernels wait for copies and not for counting.
 *
 * Consuming a record sets its launch in the ring to 0. The remaining records of a finished launch
 * can therefore be found between records of launches that still run.
 */
#ifndef PASTA_SANITIZER_RAW_H
#define PASTA_SANITIZER_RAW_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/accesses.h"
#include "reduce/gpu.h"

/* Functions of the handler; read, rewind and stray may be NULL. Errors are a negative errno. */
struct pasta_raw_ops {
	/* Reads the device's head and count of dropped accesses. Any thread that flushes. */
	int (*read)(void *ctx, uint64_t *head, uint64_t *dropped);
	/* Sets both to 0, and the device's copy of the ring's consumed. Called by a thread that
	 * begins a launch, while no other launch is open. */
	int (*rewind)(void *ctx);
	/* Returns the number of the SITE at an address; 0: unknown. data is the launch's, flags are
	 * the SITE's for the current access. Called a few times for each site of a launch, by any
	 * thread. */
	uint32_t (*site)(void *ctx, void *data, uint64_t addr, uint32_t flags);
	/* pasta_accesses_batch and pasta_accesses_dropped; tests replace them. */
	void (*batch)(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
		      size_t count, uint32_t group_size, bool counts);
	void (*dropped)(struct pasta_accesses_launch *launch, uint64_t count);
	/* Receives the number of records that belong to no open launch. */
	void (*stray)(uint64_t count);
	void *ctx;
};

struct pasta_raw_config {
	/* The caller owns ring and records. They must exist until pasta_raw_free returns 0 or
	 * pasta_raw_cut returns. */
	struct pasta_gpu_ring *ring;
	struct pasta_access *records; /* 2 * half */
	uint32_t half;
	bool counts;	   /* the host also counts the accesses */
	bool siteless;	   /* sites are not needed: ops.site is not called */
	uint32_t workers;  /* 0: one for each processor of the process */
	uint32_t stuck_ms; /* stops the ring after this time without progress; 0: 5,000 */
};

struct pasta_raw;

/* Clears the ring and the records, and starts the threads. Returns NULL and sets err on failure. */
struct pasta_raw *pasta_raw_new(const struct pasta_raw_config *config,
				const struct pasta_raw_ops *ops, struct pasta_error *err);
/* Stops the threads and frees r, which may be NULL. No launch may write to the ring any more.
 * Returns 0, or -ETIMEDOUT if a worker is busy for several seconds; then nothing is freed and the
 * ring must continue to exist. Not for a forked child. */
int pasta_raw_free(struct pasta_raw *r);

/*
 * Opens a launch before it is submitted to the device. Returns its number in records; 0 if 256
 * launches are open. base is the member of struct pasta_gpu_launch. Restarts a stopped ring if no
 * launch is open. Any thread.
 */
uint32_t pasta_raw_begin(struct pasta_raw *r, struct pasta_accesses_launch *launch,
			 uint32_t group_size, uint64_t base, void *data);
/*
 * Delivers all records of a launch that has finished, or that will never run, and closes it. Also
 * reports the accesses that the device has dropped since the last flush, as this launch's. Any
 * thread. Returns 0, or
 *   -ETIMEDOUT  some records are still being processed; the caller must not end the launch and
 *               calls again
 *   -ENODEV     pasta_raw_cut was called and some records may be dropped; the caller abandons the
 *               launch
 */
int pasta_raw_flush(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms);
/*
 * Closes a launch without waiting for its records; records that arrive later are strays. Any
 * thread. Returns 0, or -ETIMEDOUT if workers still deliver some of its records: the caller must
 * not end the launch, and calls again or calls pasta_raw_flush, which is then equivalent.
 */
int pasta_raw_abandon(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms);
/*
 * Detaches the ring: after the call no thread reads the ring or the records, and no launch can
 * begin. Workers still deliver records that they have copied. Waits for copies only. Any thread.
 */
void pasta_raw_cut(struct pasta_raw *r);

#endif
