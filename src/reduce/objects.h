/*
 * objects.h - where objects lie, by version: what an address was when a launch was made.
 *
 * The table is one for all threads. Each change makes a new version; a launch pins the one it was
 * launched with and looks addresses up in it, without a lock, whatever is freed and allocated
 * meanwhile. Versions share what they have in common, in leaves that are copied when they change.
 */
#ifndef PASTA_REDUCE_OBJECTS_H
#define PASTA_REDUCE_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

struct pasta_objects;
struct pasta_version;

/* The range around an address, both ends in it: an object's, or, with PASTA_OBJECT_NONE, what is
 * between two of them. */
struct pasta_object_part {
	uint64_t begin, last;
	uint64_t object;
};

struct pasta_objects_stats {
	size_t live;	  /* objects of the newest version */
	size_t bytes;	  /* memory that all versions take */
	uint64_t gone;	  /* objects that another one was put over: their end was not seen */
	uint64_t refused; /* objects that were not added, for want of memory */
};

/* bytes: the most that may be taken before objects are refused; 0: 64 MiB. NULL: no memory. */
struct pasta_objects *pasta_objects_new(size_t bytes);
/* Pinned versions live on until they are unpinned. */
void pasta_objects_free(struct pasta_objects *t);

/* Any thread. object is the caller's number of it, PASTA_OBJECT_FIRST or more, and never used
 * again for another range. Objects that it overlaps are gone. -EINVAL: the size is 0, the range
 * wraps or the number is none; -ENOSPC, -ENOMEM: it is refused, and accesses to it are outside of
 * all objects. */
int pasta_objects_add(struct pasta_objects *t, uint64_t addr, uint64_t size, uint64_t object);
/* -ENOENT: no object begins there. It may take a little more memory than the limit: what is freed
 * must not be left in the table. */
int pasta_objects_remove(struct pasta_objects *t, uint64_t addr);

/* Any thread. The newest version, unchanging until it is unpinned. */
const struct pasta_version *pasta_objects_pin(struct pasta_objects *t);
void pasta_objects_unpin(const struct pasta_version *v);
/* One that is pinned, once more. */
const struct pasta_version *pasta_version_pin(const struct pasta_version *v);
void pasta_objects_stats(struct pasta_objects *t, struct pasta_objects_stats *stats);

/* Of a pinned version: a number that no other one has, never 0, and the place of an
 * address, in O(log n). Any thread, no lock. */
uint64_t pasta_version_number(const struct pasta_version *v);
struct pasta_object_part pasta_version_find(const struct pasta_version *v, uint64_t addr);
/* Its objects, by address: how many there are, and up to room of them. */
size_t pasta_version_parts(const struct pasta_version *v, struct pasta_object_part *places, size_t room);

#endif
