/* contexts.h - numbers the program's contexts and streams, and stores the handler's data about
 * them. */
#ifndef PASTA_HANDLERS_SANITIZER_CONTEXTS_H
#define PASTA_HANDLERS_SANITIZER_CONTEXTS_H

#include <time.h>

#include "handlers/sanitizer/rings.h"
#include "handlers/sanitizer/sanitizer.h"

enum { SAN_SLOTS = 128, SAN_SPARES = 512 };
/* The maximum number of memory pages for which a slot can have sums: 512 MiB of sums cover 64 GiB
 * in pages of 4 KiB. */
#define SAN_PAGES_MOST (UINT32_C(1) << 24)

struct san_slot;

/* Device memory that a slot has used and no longer needs. */
struct san_spare {
	char *memory;
	size_t size;
};

struct san_context {
	struct san_context *next;
	void *handle; /* NULL: destroyed */
	uint32_t number, device;
	void *own; /* the handler's own stream; NULL if creating it failed */
	/* whether a call has failed, so that the handler does not use the context any more */
	atomic_bool broken;
	bool added;	     /* the patches are loaded */
	const char *trouble; /* why the patches could not be loaded; a static string */
	struct san_slot *slots[SAN_SLOTS];
	uint32_t count;
	struct san_spare spares[SAN_SPARES];
	uint32_t spare_count;
	size_t bytes;	 /* device memory of slots and spares */
	size_t shortage; /* bytes that could not be allocated for a slot; 0: none */
	/* whether some slots may have far more memory than they need */
	bool oversized;
	/* number of bytes of object lists that may be waiting in streams to be copied */
	size_t list_bytes;
	_Atomic uint32_t pages_most; /* maximum number of pages with sums in a slot */
	struct san_ring ring;
};

struct san_stream {
	struct san_context *context;
	void *handle;
	uint32_t number;
	uint32_t pending; /* number of slots that have not been read back */
	uint32_t waiting; /* number of threads that wait for the stream's slots and read them */
	uint32_t users;	  /* number of threads that hold a reference from san_stream */
	/* whether the stream is destroyed, so that another stream may have the same handle */
	bool destroyed;
	/* whether a wait for a slot has timed out; cleared when a slot has been read */
	atomic_bool stuck;
};

/* Registers a context that the program creates. */
void san_context_begin(void *handle, int device);
/* Returns the context with this handle, and adds the context if it is new. `device` is -1 if
 * unknown. Returns NULL if out of memory. Any thread may call this function. */
struct san_context *san_context(void *handle, int device);
/* Returns a reference to the stream with this handle, and adds the stream if it is new; NULL if out
 * of memory. The caller drops the reference with san_stream_put. Any thread may call this
 * function. */
struct san_stream *san_stream(struct san_context *context, void *handle);
/* Drops a reference that san_stream returned; s may be NULL. */
void san_stream_put(struct san_stream *s);
/* Returns the context's number; 0 if the context is unknown or destroyed. */
uint32_t san_context_number(const void *handle);
/* Called before the program destroys a stream or a context. Waits a limited time for the launches
 * of the stream or context, and then abandons these launches. */
void san_stream_end(void *handle);
void san_context_end(void *handle);
/* Returns the context with this handle; NULL if the context is unknown or destroyed. */
struct san_context *san_context_find(const void *handle);
/* Stores at most max usable contexts in `list`. Returns the number of all usable contexts. The
 * caller holds san.lock. */
size_t san_contexts(struct san_context **list, size_t max);
/* Frees spare device memory of all contexts. The caller ensures that no kernel runs. */
void san_contexts_tidy(void);
/* Returns the current time plus ns nanoseconds, for pthread_cond_timedwait. */
struct timespec san_deadline(uint64_t ns);

#endif
