/* liveness.h - finds out whether the process that made a ring file still runs. */
#ifndef PASTA_PROCESS_LIVENESS_H
#define PASTA_PROCESS_LIVENESS_H

#include "core/ringfile.h"

enum pasta_liveness {
	PASTA_LIVENESS_DEAD,
	PASTA_LIVENESS_ALIVE,
	PASTA_LIVENESS_UNSURE, /* the process is on another host, or its state is unknown */
};

/* Checks the lock that the process holds on its ring file. Returns PASTA_LIVENESS_UNSURE if the
 * process that holds the lock does not map the file, and is therefore another program.
 * PASTA_LIVENESS_DEAD means only that no process holds the lock. */
enum pasta_liveness pasta_liveness_by_lock(int ring, const char *name);

/* Checks whether the process of the ring file f still runs, by the lock, the boot id, the host name
 * and /proc. The head of the ring file must be intact; `name` is the file's name. */
enum pasta_liveness pasta_liveness(const struct pasta_ringfile *f, int ring, const char *name);

#endif
