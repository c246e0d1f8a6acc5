/* slots.h - slots: device memory in which counted launches count, and their life cycle. */
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
	SAN_SLOT_FREE,	    /* no launch uses the slot */
	SAN_SLOT_RESERVED,  /* a thread prepares a launch; only that thread uses the slot */
	SAN_SLOT_QUEUED,    /* the launch is on its stream; its kernel may write to the slot */
	SAN_SLOT_READABLE,  /* the stream has passed the launch; no thread has claimed its counts */
	SAN_SLOT_CLAIMED,   /* one thread emits the counts, or has emitted them */
	SAN_SLOT_ABANDONED, /* abandoned while QUEUED: its kernel may still write to the slot */
};

/* A counted launch. Its memory holds a struct pasta_gpu_launch and the data it points to. */
struct san_slot {
	enum san_slot_state state;
	struct san_context *context;
	struct san_stream *stream;
	struct san_module *module;
	struct san_slot *next, *next_under_way;
	struct pasta_accesses_launch *launch;
	uint64_t pc;		 /* address of its function; 0: unknown */
	uint64_t blocks;	 /* blocks of the grid; 0 for a graph */
	uint32_t threads;	 /* threads of a block; for a graph, those of its first kernel */
	uint32_t number;	 /* the launch's number in raw accesses; 0: no raw accesses */
	uint64_t dropped_before; /* the ring's count of dropped accesses before the launch */
	void *handle;		 /* handle of the stream to wait for */
	bool left; /* the queue's reference belongs to the thread that waits for the stream */
	uint32_t lane;
	uint32_t readers; /* references: one of the queue, one of each reading thread */
	struct san_readback *readback; /* the emitter's */
	char *memory;
	size_t size, zero, sums; /* of the memory; offsets of the zeroed part and the pages' sums */
	uint32_t room, page_room;	 /* capacity: object parts, and pages with sums */
	size_t list_bytes;		 /* bytes of the object list that may wait in its stream */
	uint64_t version;		 /* the version whose parts are on the device */
	uint64_t known;			 /* the version whose parts are in parts */
	struct pasta_object_part *parts; /* count of them; memory for listed */
	uint32_t *bases; /* added to a page, results in the number of its sums; per part */
	uint32_t listed, count, pages;
	bool cut; /* the version has more parts */
	struct pasta_gpu_launch image;
};

/* Moves a slot to another state. Returns false, logs an error and changes nothing if the life cycle
 * has no such transition. The caller holds the lock. */
bool san_slot_advance(struct san_slot *s, enum san_slot_state to);
/* Returns whether a thread has claimed or abandoned the slot. The caller holds the lock. */
static inline bool san_slot_done(const struct san_slot *s)
{
	return s->state == SAN_SLOT_CLAIMED || s->state == SAN_SLOT_ABANDONED;
}

/* Returns a reserved slot with room for the version's objects; NULL, and *why (static), if there is
 * none. */
struct san_slot *san_slot_acquire(struct san_context *context, const struct pasta_version *version,
				  const char **why);
/* Enqueues the slot's initial contents on a stream. Returns 0 or the library's error. */
int san_slot_fill(struct san_slot *s, void *stream);
/* Its object list does not wait in its stream any more. The caller holds the lock. */
void san_slot_sent(struct san_slot *s);
/* Makes the slot free. The caller holds the lock. */
void san_slot_release(struct san_slot *s);
/* Returns whether the object lists that wait for a device are large enough to wait for it. The
 * caller holds the lock. */
bool san_slots_wait(const struct san_context *context);
/* Frees spare device memory. The caller ensures that no kernel runs. */
void san_slots_tidy(struct san_context *context);
/* Frees the slots of a destroyed context; their device memory no longer exists. The caller holds
 * the lock. */
void san_slots_end(struct san_context *context);

#endif
