/*
 * told.h - the objects that handlers told of: each has one number, however often it is told.
 */
#ifndef PASTA_COLLECT_TOLD_H
#define PASTA_COLLECT_TOLD_H

#include <stdint.h>

#include "reduce/objects.h"

struct pasta_told;

/* What a new object is told with. */
struct pasta_told_object {
	uint64_t id, alloc, addr, bytes;
	uint32_t context, device;
};
typedef void (*pasta_told_fn)(const struct pasta_told_object *object);

/* NULL: no memory. */
struct pasta_told *pasta_told_new(void);
void pasta_told_free(struct pasta_told *t);

/* Any thread. Sets the object's id, and calls fn if it is new, before another thread is given the
 * same. 0, or what pasta_objects_add says. */
int pasta_told_add(struct pasta_told *t, struct pasta_told_object *object, pasta_told_fn fn);
/* If it is this one; 0: whichever. */
void pasta_told_gone(struct pasta_told *t, uint64_t addr, uint64_t id);
/* The newest version, to be unpinned. */
const struct pasta_version *pasta_told_pin(struct pasta_told *t);

#endif
