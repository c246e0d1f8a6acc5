/* contexts.h - contexts and streams of the program, with their numbers. */
#ifndef PASTA_HANDLERS_SANITIZER_CONTEXTS_H
#define PASTA_HANDLERS_SANITIZER_CONTEXTS_H

#include <time.h>

#include "handlers/sanitizer/rings.h"
#include "handlers/sanitizer/sanitizer.h"

enum { SAN_SLOTS = 128, SAN_SPARES = 512 };
/* Pages of a slot that can have sums: 512 MiB of sums, for 64 GiB in pages of 4 KiB. */
#define SAN_PAGES_MOST (UINT32_C(1) << 24)

struct san_slot;

/* Device memory that a slot has replaced by another piece. */
struct san_spare {
	char *memory;
	size_t size;
};

struct san_context {
	struct san_context *next;
	void *handle; /* NULL: destroyed */
	uint32_t number, device;
	void *own;	     /* handle of the handler's own stream; NULL if it could not be made */
	atomic_bool broken;  /* a call failed: the context is not used any more */
	bool added;	     /* the patches are loaded */
	const char *trouble; /* why the patches could not be loaded; static */
	struct san_slot *slots[SAN_SLOTS];
	uint32_t count;
	struct san_spare spares[SAN_SPARES];
	uint32_t spare_count;
	size_t bytes;		     /* device memory of slots and spares */
	size_t shortage;	     /* bytes that a slot needed and did not find; 0: none */
	bool oversized;		     /* some slots may have far more memory than they need */
	size_t list_bytes;	     /* bytes of object lists that may wait in streams */
	_Atomic uint32_t pages_most; /* pages of a slot that can have sums */
	struct san_ring ring;
};

struct san_stream {
	struct san_context *context;
	void *handle;
	uint32_t number;
	uint32_t pending;  /* slots that have not been read back */
	uint32_t waiting;  /* threads that wait for these slots and then read them */
	uint32_t users;	   /* threads that hold a reference from san_stream */
	bool destroyed;	   /* its handle may denote another stream */
	atomic_bool stuck; /* a wait for a slot timed out; cleared when a slot has been read */
};

/* Called when the program creates a context. */
void san_context_begin(void *handle, int device);
/* Returns the context with this handle, and creates it if necessary. device -1: unknown. Returns
 * NULL without memory. Any thread. */
struct san_context *san_context(void *handle, int device);
/* Returns the stream with this handle, and creates it if necessary; NULL without memory. The caller
 * returns the reference with san_stream_put. Any thread. */
struct san_stream *san_stream(struct san_context *context, void *handle);
/* Returns a reference from san_stream; s may be NULL. */
void san_stream_put(struct san_stream *s);
/* Returns the context's number; 0 if the context is unknown or destroyed. */
uint32_t san_context_number(const void *handle);
/* The program is about to destroy a stream or a context. Waits for its launches for a limited time,
 * then abandons them. */
void san_stream_end(void *handle);
void san_context_end(void *handle);
/* Returns a known context; NULL if the context is unknown or destroyed. */
struct san_context *san_context_find(const void *handle);
/* Stores at most max usable contexts in list and returns the number of usable contexts. The caller
 * holds the lock. */
size_t san_contexts(struct san_context **list, size_t max);
/* Frees spare device memory of all contexts. The caller ensures that no kernel runs. */
void san_contexts_tidy(void);
/* Returns the time in ns nanoseconds, for pthread_cond_timedwait. */
struct timespec san_deadline(uint64_t ns);

#endif
