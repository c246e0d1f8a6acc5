/* rings.h - the ring of a context, into which kernels write raw accesses. */
#ifndef PASTA_HANDLERS_SANITIZER_RINGS_H
#define PASTA_HANDLERS_SANITIZER_RINGS_H

#include "handlers/sanitizer/raw.h"
#include "handlers/sanitizer/sanitizer.h"

struct san_context;
struct san_slot;

struct san_ring {
	struct pasta_raw *raw;
	struct pasta_access *records; /* pinned memory; the host's part of the ring follows */
	struct pasta_gpu_ring *host;
	struct pasta_gpu_raw *device; /* in device memory */
	bool made;
	const char *trouble;	      /* why the ring is missing or unusable; static */
	const struct san_slot *first; /* the set-up precedes this slot's launch on its stream.
					 NULL: the ring is set up */
	uint64_t dropped;	      /* the device's count of dropped accesses, when last read */
};

/* Returns whether the run needs raw accesses on the host. */
bool san_ring_enabled(void);
/* Prepares the slot's image for raw accesses of a launch whose blocks have this number of threads.
 * Returns NULL, or a static text that explains why this is impossible. After an error, or if the
 * launch does not happen, the caller calls san_ring_cancel. */
const char *san_ring_begin(struct san_slot *s, uint32_t threads);
void san_ring_cancel(struct san_slot *s);
/* Consumes the remaining raw accesses of a launch. read is the device's part of the ring, read
 * after the launch; NULL: the launch is abandoned. Returns false if threads still process some of
 * its accesses: the launch cannot be ended then. */
bool san_ring_end(const struct san_slot *s, const struct pasta_gpu_raw *read);
/* Closes the ring of a context that the program is about to destroy. */
void san_ring_close(struct san_context *c);

#endif
