/* inside.h - what the files of the fake of the Compute Sanitizer share, and a test that is linked
 * with them sees. */
#ifndef FAKE_SANITIZER_INSIDE_H
#define FAKE_SANITIZER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../../../src/reduce/gpu.h"
#include "../fake_sanitizer.h"

enum { FAILED = 999 };

struct context {
	struct context *next;
	_Atomic(struct stream *) streams; /* destroyed ones included */
	_Atomic(struct module *) modules;
	atomic_bool destroyed;
	int device;
	atomic_bool failed, patches;
	char path[4096]; /* of those */
};

struct module {
	struct module *next;
	struct context *context;
	bool unloaded;
	uint64_t pc;
	bool marked[64], patched;
};

/* What a stream does, in order. */
struct op {
	struct op *next;
	enum { COPY, SET, KERNEL } what;
	void *to;
	size_t size;
	int value;
	struct fake_kernel kernel;
	struct pasta_gpu_launch *data; /* NULL: it does not count */
	char bytes[];
};

struct stream {
	struct stream *next;
	struct context *context;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct op *first, **last;
	uint64_t given, done;
};

struct launch {
	struct pasta_gpu_launch *data;
	bool set;
};

/* Hidden, so that another library cannot replace them. */
#pragma GCC visibility push(hidden)

/* Call the subscriber back: for an event of a domain, and for a call of the driver's API. */
void fake_deliver(int domain, uint32_t id, const void *data);
void fake_deliver_api(uint32_t id, void *stream, const void *arguments, uint32_t site);
/* Where FAKE_SANITIZER_HELD is set, no other thread is between the two. */
void fake_hold(void);
void fake_let_go(void);
/* Put it last in a stream, whose it is from now on. */
void fake_give(struct stream *s, struct op *op);
/* So many bytes wait to be copied to a device. */
void fake_stage(size_t size);
/* If this function would hang, prints that and kills the process. */
void fake_must_not_hang(const char *function);
void fake_run_patches(struct pasta_gpu_launch *l, const struct fake_kernel *k);

#pragma GCC visibility pop

#endif
