/* pending.h - what the core itself asks of what waits for its other half. */
#ifndef PASTA_CORE_PENDING_H
#define PASTA_CORE_PENDING_H

#include <pasta/pasta.h>

/* Remove a value that find or add gave, without looking for it again. */
void pasta_pending_drop(struct pasta_pending *pending, void *value);

#endif
