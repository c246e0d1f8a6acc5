/* objects.h - emits the program's allocations of device memory and registers them as objects. */
#ifndef PASTA_HANDLERS_SANITIZER_OBJECTS_H
#define PASTA_HANDLERS_SANITIZER_OBJECTS_H

#include "handlers/sanitizer/sanitizer.h"

/* Called when the program allocates or frees memory. */
void san_object(uint32_t id, const struct san_memory_data *m);
/* Called when the program starts to destroy a context. Removes the context's objects. Until
 * san_objects_ended, this thread ignores frees of other contexts' memory. */
void san_objects_end(uint32_t context);
void san_objects_ended(void);

#endif
