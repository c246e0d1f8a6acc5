/* liveness.h - finds out whether the process that made a ring file still runs. */
#ifndef PASTA_PROCESS_LIVENESS_H
#define PASTA_PROCESS_LIVENESS_H

#include "core/ringfile.h"

enum pasta_liveness {
	PASTA_LIVENESS_DEAD,
	PASTA_LIVENESS_ALIVE,
	PASTA_LIVENESS_UNSURE, /* the process is on another host, or its state is unknown */
};

/* Checks the lock that the process holds on its ring file. Returns UNSURE if the process that holds
 * the lock does not map the file, because it is then another program. DEAD means only that no
 * process holds the lock. */
enum pasta_liveness pasta_liveness_by_lock(int ring, const char *name);

/* Checks the lock, the boot id, the host name and /proc. The head f of the ring file must be
 * intact; `name` is the file's name. */
enum pasta_liveness pasta_liveness(const struct pasta_ringfile *f, int ring, const char *name);

#endif
