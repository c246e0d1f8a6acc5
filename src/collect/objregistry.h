/*
 * objregistry.h - the objects that handlers told of: each has one number, however often it is told.
 */
#ifndef PASTA_COLLECT_OBJREGISTRY_H
#define PASTA_COLLECT_OBJREGISTRY_H

#include <stdint.h>

#include "reduce/objects.h"

struct pasta_objreg;

/* What a new object is told with. */
struct pasta_objreg_object {
	uint64_t id, alloc, addr, bytes;
	uint32_t context, device;
};
typedef void (*pasta_objreg_fn)(const struct pasta_objreg_object *object);

/* NULL: no memory. */
struct pasta_objreg *pasta_objreg_new(void);
void pasta_objreg_free(struct pasta_objreg *t);

/* Any thread. Sets the object's id, and calls fn if it is new, before another thread is given the
 * same. 0, or what pasta_objects_add says. */
int pasta_objreg_add(struct pasta_objreg *t, struct pasta_objreg_object *object, pasta_objreg_fn fn);
/* If it is this one; 0: whichever. */
void pasta_objreg_unregister(struct pasta_objreg *t, uint64_t addr, uint64_t id);
/* The newest version, to be unpinned. */
const struct pasta_version *pasta_objreg_acquire(struct pasta_objreg *t);

#endif
