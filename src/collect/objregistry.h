/*
 * objregistry.h - stores the objects that handlers have registered. An object has the same number
 * each time it is registered.
 */
#ifndef PASTA_COLLECT_OBJREGISTRY_H
#define PASTA_COLLECT_OBJREGISTRY_H

#include <stdint.h>

#include "reduce/objects.h"

struct pasta_objreg;

/* The data for the OBJECT event of a new object. */
struct pasta_objreg_object {
	uint64_t id, alloc, addr, bytes;
	uint32_t context, device;
};
typedef void (*pasta_objreg_fn)(const struct pasta_objreg_object *object);

/* Returns an empty registry, or NULL if memory is exhausted. */
struct pasta_objreg *pasta_objreg_new(void);
void pasta_objreg_free(struct pasta_objreg *r);

/* Registers an object and sets its id. If the object is new, calls fn before another thread can
 * get the same id. Any thread may call this function. Returns 0 or the error of
 * pasta_objects_add. */
int pasta_objreg_add(struct pasta_objreg *r, struct pasta_objreg_object *object,
		     pasta_objreg_fn fn);
/* Unregisters the object at addr if it has this id. If `id` is 0, the object may have any id. */
void pasta_objreg_unregister(struct pasta_objreg *r, uint64_t addr, uint64_t id);
/* Returns the newest version of the set, which the caller must unpin. */
const struct pasta_version *pasta_objreg_acquire(struct pasta_objreg *r);

#endif
