/* liveness.h - finds out whether the process that made a ring file still runs. */
#ifndef PASTA_PROCESS_LIVENESS_H
#define PASTA_PROCESS_LIVENESS_H

#include "core/ringfile.h"

enum pasta_liveness {
	PASTA_LIVENESS_DEAD,
	PASTA_LIVENESS_ALIVE,
	PASTA_LIVENESS_UNSURE, /* the process is on another host, or its state is unknown */
};

/* Checks the lock that the process holds on its ring file. UNSURE if the holder does not map the
 * file: it is another program. DEAD means only that the file is not locked. */
enum pasta_liveness pasta_liveness_by_lock(int ring, const char *name);

/* Checks the lock, the boot, the host and /proc. f must be intact; name is the ring file's. */
enum pasta_liveness pasta_liveness(const struct pasta_ringfile *f, int ring, const char *name);

#endif
