/* rings.h - manages the ring buffer of a context, into which its kernels write raw accesses. */
#ifndef PASTA_HANDLERS_SANITIZER_RINGS_H
#define PASTA_HANDLERS_SANITIZER_RINGS_H

#include "handlers/sanitizer/raw.h"
#include "handlers/sanitizer/sanitizer.h"

struct san_context;
struct san_slot;

struct san_ring {
	struct pasta_raw *raw;
	/* pinned memory: the records, followed by the ring's data in host memory */
	struct pasta_access *records;
	struct pasta_gpu_ring *host;
	struct pasta_gpu_raw *device; /* in device memory */
	bool made;
	const char *trouble; /* why the ring is missing or unusable; a static string */
	/* the slot whose launch sets up the ring; NULL if the ring is set up */
	const struct san_slot *first;
	/* number of accesses that the device had dropped at the last reading */
	uint64_t dropped;
};

/* Returns whether the run needs raw accesses on the host. */
bool san_ring_enabled(void);
/* Prepares a launch's slot for raw accesses. `threads` is the number of threads in a thread block.
 * Returns NULL, or a static string that explains why this is impossible. After an error, or if the
 * launch fails, the caller calls san_ring_cancel. */
const char *san_ring_begin(struct san_slot *s, uint32_t threads);
void san_ring_cancel(struct san_slot *s);
/* Consumes the remaining raw accesses of a launch. `read` is a copy of the ring's data in device
 * memory, read after the launch, or NULL if the launch is abandoned. Returns false if threads are
 * still processing accesses of the launch, so that the launch cannot be ended. */
bool san_ring_end(const struct san_slot *s, const struct pasta_gpu_raw *read);
/* Closes the ring of a context that the program is about to destroy. */
void san_ring_close(struct san_context *c);

#endif
