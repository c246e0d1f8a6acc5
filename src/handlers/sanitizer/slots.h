/* slots.h - manages slots: device memory in which a counted launch stores its counts. */
#ifndef PASTA_HANDLERS_SANITIZER_SLOTS_H
#define PASTA_HANDLERS_SANITIZER_SLOTS_H

#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/modules.h"

/*
 * The life cycle of a slot. san_slot_advance makes all transitions:
 *
 *   FREE -> RESERVED -> QUEUED -> READABLE -> CLAIMED -> FREE
 *           RESERVED -> FREE            the launch is not counted after all
 *                       QUEUED -> ABANDONED -> CLAIMED
 */
enum san_slot_state {
	SAN_SLOT_FREE,	   /* no launch uses the slot */
	SAN_SLOT_RESERVED, /* a thread prepares a launch; only that thread uses the slot */
	SAN_SLOT_QUEUED,   /* the launch is on its stream; its kernel may write to the slot */
	SAN_SLOT_READABLE, /* the launch has finished; no thread has claimed its counts */
	SAN_SLOT_CLAIMED,  /* a thread is emitting the counts, or has emitted them */
	/* no thread waits for the launch, but the kernel may still write to the slot */
	SAN_SLOT_ABANDONED,
};

/* A slot, which contains the counts of one launch. The slot's device memory contains a struct
 * pasta_gpu_launch and the data that this struct points to. */
struct san_slot {
	enum san_slot_state state;
	struct san_context *context;
	struct san_stream *stream;
	struct san_module *module;
	struct san_slot *next, *next_under_way;
	struct pasta_accesses_launch *launch;
	uint64_t pc;	 /* address of the function's code; 0 if unknown */
	uint64_t blocks; /* number of thread blocks of the grid; 0 for a graph */
	/* number of threads in a thread block; for a graph, in a thread block of the graph's first
	 * kernel */
	uint32_t threads;
	/* the launch's number in raw accesses; 0 if raw accesses are not stored */
	uint32_t number;
	/* number of accesses that the ring had dropped before the launch */
	uint64_t dropped_before;
	void *handle; /* handle of the stream to wait for */
	bool left;    /* whether a thread that waits for the stream will read the slot */
	uint32_t lane;
	/* number of references: one from the queue, and one from each thread that reads the slot */
	uint32_t readers;
	struct san_readback *readback; /* the emitter's */
	char *memory;
	/* size of the memory; offset of the data that is zeroed; offset of the sums of pages */
	size_t size, zero, sums;
	/* maximum number of objects, and maximum number of pages with sums */
	uint32_t room, page_room;
	/* size of the object list, while its copy to the device may be waiting */
	size_t list_bytes;
	uint64_t version; /* version of the object table that is on the device */
	uint64_t known;	  /* version of the object table whose objects are in `parts` */
	/* array with `count` objects, and room for `listed` objects */
	struct pasta_object_part *parts;
	/* for each object: the index of the first page's sums, minus the first page's number */
	uint32_t *bases;
	uint32_t listed, count, pages;
	bool cut; /* whether the version has more objects than fit into the slot */
	struct pasta_gpu_launch image;
};

/* Moves a slot to another state. Returns false, logs an error and changes nothing if the life cycle
 * has no such transition. The caller holds san.lock. */
bool san_slot_advance(struct san_slot *s, enum san_slot_state to);
/* Returns whether a thread has claimed or abandoned the slot. The caller holds san.lock. */
static inline bool san_slot_done(const struct san_slot *s)
{
	return s->state == SAN_SLOT_CLAIMED || s->state == SAN_SLOT_ABANDONED;
}

/* Returns a reserved slot with room for the objects of this version of the object table. If no slot
 * can be reserved, returns NULL and sets *why to a static string. */
struct san_slot *san_slot_acquire(struct san_context *context, const struct pasta_version *version,
				  const char **why);
/* Enqueues copies of the slot's initial contents on a stream. Returns 0 or the library's error. */
int san_slot_fill(struct san_slot *s, void *stream);
/* Called when the slot's object list has been copied to the device. The caller holds san.lock. */
void san_slot_sent(struct san_slot *s);
/* Makes the slot free. The caller holds san.lock. */
void san_slot_release(struct san_slot *s);
/* Returns whether the caller should wait for the device, because too many bytes of object lists
 * are waiting to be copied. The caller holds san.lock. */
bool san_slots_wait(const struct san_context *context);
/* Frees spare device memory. The caller ensures that no kernel runs. */
void san_slots_tidy(struct san_context *context);
/* Frees the slots of a destroyed context; their device memory no longer exists. The caller holds
 * san.lock. */
void san_slots_end(struct san_context *context);

#endif
