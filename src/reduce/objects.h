/*
 * objects.h - the versioned table of objects. The table shows to which object an address belonged
 * when a kernel was launched.
 *
 * All threads share one table. Each change makes a new version. A launch pins the current version
 * and looks up addresses in this version without a lock, regardless of later allocations and frees.
 * Versions share leaves (arrays of objects), and copy a leaf when the leaf changes.
 */
#ifndef PASTA_REDUCE_OBJECTS_H
#define PASTA_REDUCE_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

struct pasta_objects;
struct pasta_version;

/* A range of addresses, including its first and last address. The range is an object, or a gap
 * between objects (PASTA_OBJECT_NONE). */
struct pasta_object_part {
	uint64_t begin, last;
	uint64_t object;
};

struct pasta_objects_stats {
	size_t live;  /* number of objects in the newest version */
	size_t bytes; /* number of bytes that all versions use */
	/* Number of objects that were removed because a later object overlaps them. For such an
	 * object, the agent has missed the call that freed the memory. */
	uint64_t replaced;
	uint64_t refused; /* number of objects that were not added because of the memory limit */
};

/* Returns a table, or NULL if memory is exhausted. `bytes` limits the table's memory; 0 stands for
 * 64 MiB. Objects that exceed the limit are refused. */
struct pasta_objects *pasta_objects_new(size_t bytes);
/* Frees a table. Pinned versions remain valid until they are unpinned. */
void pasta_objects_free(struct pasta_objects *t);

/* Adds an object, and removes the objects that it overlaps. `object` is the number that the caller
 * assigns to the object; it is at least PASTA_OBJECT_FIRST, and must not be reused for another
 * range. Returns -EINVAL if the size is 0, the range wraps or the number is invalid. Returns
 * -ENOSPC or -ENOMEM if the object is refused. Accesses to a refused object count as outside of
 * objects. Any thread may call this function. */
int pasta_objects_add(struct pasta_objects *t, uint64_t addr, uint64_t size, uint64_t object);
/* Removes the object that begins at addr. Returns -ENOENT if there is no such object. The function
 * may exceed the memory limit slightly, because a freed object must not stay in the table. */
int pasta_objects_remove(struct pasta_objects *t, uint64_t addr);

/* Pins the newest version. A pinned version does not change until it is unpinned. Any thread may
 * call this function. */
const struct pasta_version *pasta_objects_pin(struct pasta_objects *t);
void pasta_objects_unpin(const struct pasta_version *v);
/* Adds another pin to a version that is already pinned. */
const struct pasta_version *pasta_version_pin(const struct pasta_version *v);
void pasta_objects_stats(struct pasta_objects *t, struct pasta_objects_stats *stats);

/* Any thread may call these functions, without a lock, for a pinned version. pasta_version_number
 * returns the version's unique number, which is never 0. pasta_version_find returns the range that
 * contains an address, in O(log n). */
uint64_t pasta_version_number(const struct pasta_version *v);
struct pasta_object_part pasta_version_find(const struct pasta_version *v, uint64_t addr);
/* Stores at most `room` objects of a version in the array `parts`, sorted by address. Returns the
 * number of all objects of the version. */
size_t pasta_version_parts(const struct pasta_version *v, struct pasta_object_part *parts,
			   size_t room);

#endif
