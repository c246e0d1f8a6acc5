/*
 * raw.h - consumes the ring buffer in which a context's kernels store raw accesses, and delivers
 * the records.
 *
 * While launches write to the ring, one thread watches the ring and passes each full half to
 * workers. There is one worker per processor. Workers copy the half piece by piece and deliver each
 * record to the record's launch. A piece never splits a request. The device may reuse a half as
 * soon as the half is copied, so kernels wait for copies and not for counting.
 *
 * When a record is consumed, its member `launch` is set to 0 in the ring. The remaining records of
 * a finished launch can therefore be found between records of launches that still run.
 */
#ifndef PASTA_SANITIZER_RAW_H
#define PASTA_SANITIZER_RAW_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/accesses.h"
#include "reduce/gpu.h"

/* Functions that the handler provides. `read`, `rewind` and `stray` may be NULL. Functions return 0
 * or a negative errno. */
struct pasta_raw_ops {
	/* Reads from the device the number of reserved records (`head`) and the number of dropped
	 * accesses. Called on any thread that flushes a launch. */
	int (*read)(void *ctx, uint64_t *head, uint64_t *dropped);
	/* Sets three values in device memory to 0: `head`, the number of dropped accesses, and the
	 * copy of the ring's member `consumed`. Called on a thread that opens a launch, while no
	 * other launch is open. */
	int (*rewind)(void *ctx);
	/* Returns the number of the SITE event for an instruction's address, or 0 if the site is
	 * unknown. `data` belongs to the launch; `flags` describe the access as in SITE. Called a
	 * few times for each site of a launch, on any thread. */
	uint32_t (*site)(void *ctx, void *data, uint64_t addr, uint32_t flags);
	/* pasta_accesses_batch and pasta_accesses_dropped; tests replace them. */
	void (*batch)(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
		      size_t count, uint32_t group_size, bool counts);
	void (*dropped)(struct pasta_accesses_launch *launch, uint64_t count);
	/* Receives the number of records that do not belong to an open launch. */
	void (*stray)(uint64_t count);
	void *ctx;
};

struct pasta_raw_config {
	/* The caller owns the ring and the records. Both must exist until pasta_raw_free returns 0
	 * or pasta_raw_cut returns. */
	struct pasta_gpu_ring *ring;
	struct pasta_access *records; /* 2 * half */
	uint32_t half;
	bool counts;	  /* whether the host counts the accesses, in addition to storing them */
	bool siteless;	  /* whether sites are not needed, so that ops.site is not called */
	uint32_t workers; /* number of workers; 0 stands for one worker for each processor */
	/* number of ms without progress after which the ring is stopped; 0 stands for 5,000 */
	uint32_t stuck_ms;
};

struct pasta_raw;

/* Clears the ring and the records, and starts the threads that consume them. Returns NULL and sets
 * err on failure. */
struct pasta_raw *pasta_raw_new(const struct pasta_raw_config *config,
				const struct pasta_raw_ops *ops, struct pasta_error *err);
/* Stops the threads and frees `r`, which may be NULL. No launch may write to the ring any more.
 * Returns 0, or -ETIMEDOUT if a worker is busy for several seconds. After -ETIMEDOUT nothing is
 * freed, and the ring must continue to exist. A forked child must not call this function. */
int pasta_raw_free(struct pasta_raw *r);

/*
 * Opens a launch before the launch is submitted to the device. Returns the number that the launch's
 * records contain, or 0 if 256 launches are open. `base` is the value of pasta_gpu_launch.base.
 * Restarts a stopped ring if no launch is open. Any thread may call this function.
 */
uint32_t pasta_raw_begin(struct pasta_raw *r, struct pasta_accesses_launch *launch,
			 uint32_t group_size, uint64_t base, void *data);
/*
 * Delivers all records of a launch that has finished, or that will never run, and closes the
 * launch. Also reports the accesses that the device has dropped since the last flush, as accesses
 * of this launch. Any thread may call this function. Returns 0, or -ETIMEDOUT if some records are
 * still being processed, or -ENODEV if pasta_raw_cut was called and some records may be dropped.
 * After -ETIMEDOUT the caller must not end the launch, and must call this function again. After
 * -ENODEV the caller abandons the launch.
 */
int pasta_raw_flush(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms);
/*
 * Closes a launch without waiting for its records; records that arrive later belong to no launch.
 * Any thread may call this function. Returns 0, or -ETIMEDOUT if workers are still delivering some
 * of the launch's records. In that case the caller must not end the launch, and must call this
 * function or pasta_raw_flush again.
 */
int pasta_raw_abandon(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms);
/*
 * Detaches the ring. After the call no thread reads the ring or its records, and no launch can be
 * opened. The function waits only for copies in progress; workers deliver copied records later. Any
 * thread may call this function.
 */
void pasta_raw_cut(struct pasta_raw *r);

#endif
