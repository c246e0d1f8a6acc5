/* liveness.h - whether the process that made a ring file still runs. */
#ifndef PASTA_PROCESS_LIVENESS_H
#define PASTA_PROCESS_LIVENESS_H

#include "core/ringfile.h"

enum pasta_liveness {
	PASTA_LIVENESS_DEAD,
	PASTA_LIVENESS_ALIVE,
	PASTA_LIVENESS_UNSURE, /* another host's, or one that nothing can be learned of */
};

/* By the lock that it holds on its ring file. A lock of somebody who has not mapped the file is not
 * its process's: UNSURE. DEAD: nobody has locked it, which alone proves nothing. */
enum pasta_liveness pasta_liveness_by_lock(int ring, const char *name);

/* By the lock, the boot, the host and /proc. f must be whole; name is the ring file's. */
enum pasta_liveness pasta_liveness(const struct pasta_ringfile *f, int ring, const char *name);

#endif
