/* runinfo.h - run.json: what is known of a run beside its events. */
#ifndef PASTA_PROCESS_RUNINFO_H
#define PASTA_PROCESS_RUNINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/io/json.h"
#include "process/read/stream.h"

#define PASTA_RUN_SCHEMA "accelprof-run/1"

/* Zero it before use. Strings are its own; NULL where they are unknown. */
struct pasta_runinfo {
	char *path;	/* the folder, as it was named; not in run.json: folders move */
	char **command; /* ended by NULL; NULL: unknown */
	char *cwd, *host;
	char *version;	     /* of accelprof */
	char **tools;	     /* ended by NULL */
	uint64_t kinds;	     /* that were to be recorded; 0: unknown */
	bool has_counted;    /* false: whether accesses were counted is unknown */
	uint64_t counted;    /* of enum pasta_need: memory accesses that were to be counted */
	bool sampled;	     /* of some launches accesses were not counted; from more's accesses */
	uint64_t start, end; /* CLOCK_REALTIME, ns; end 0: it has not ended */
	bool exited, signaled; /* how it ended: neither is unknown */
	int status, signal;
	uint64_t shards;
	bool has_loss;
	struct pasta_loss_summary loss;
	/* Further members of run.json, which others write. May be NULL. */
	void (*more)(struct pasta_json *j, const void *ctx);
	const void *more_ctx;
};

void pasta_runinfo_free(struct pasta_runinfo *info);

/* Members of an object: all of it but the schema, the path, what was counted and the loss. */
void pasta_runinfo_json(const struct pasta_runinfo *info, struct pasta_json *j);
/* Write a run.json, whole or not at all. */
int pasta_runinfo_save(const struct pasta_runinfo *info, const char *file, struct pasta_error *err);
/* Read the one of a run's folder. What is missing is unknown. -ENOENT, -EINVAL (no run.json of
 * ours), -ELOOP (a link)...; -EBADMSG: somebody has changed it, and it is read all the same. */
int pasta_runinfo_load(struct pasta_runinfo *info, const char *folder, struct pasta_error *err);
/* The same of a text, which has a zero behind it, and is not used any more; file is for messages.
 */
int pasta_runinfo_parse(struct pasta_runinfo *info, char *text, size_t size, const char *file,
			struct pasta_error *err);

#endif
