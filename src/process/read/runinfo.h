/* runinfo.h - reads and writes run.json, which describes a run. */
#ifndef PASTA_PROCESS_RUNINFO_H
#define PASTA_PROCESS_RUNINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/io/json.h"
#include "process/read/stream.h"

#define PASTA_RUN_SCHEMA "accelprof-run/1"

/* The contents of run.json. Zero the struct before use. It owns its strings; a string that is NULL
 * is unknown. */
struct pasta_runinfo {
	/* The folder as the user named it; run.json does not contain it, because folders move. */
	char *path;
	char **command; /* arguments of the program, ending with NULL; NULL if they are unknown */
	char *cwd, *host;
	char *version;	  /* of accelprof */
	char **tools;	  /* names of the tools, ending with NULL */
	uint64_t kinds;	  /* mask of the kinds that the run was to record; 0: unknown */
	bool has_counted; /* whether `counted` is known */
	/* Mask of enum pasta_need with the memory accesses that the run was to count. */
	uint64_t counted;
	/* Whether only sampled launches were counted, according to the member "accesses" of
	 * run.json. */
	bool sampled;
	/* Start and end of the run in ns of CLOCK_REALTIME. The end is 0 while the program is still
	 * running. */
	uint64_t start, end;
	/* Whether the program exited, and whether a signal killed it. If both are false, it is
	 * unknown how the program ended. */
	bool exited, signaled;
	int status, signal;
	uint64_t shards;
	bool has_loss;
	struct pasta_loss_summary loss;
	/* Callback that writes more members of run.json, or NULL. */
	void (*more)(struct pasta_json *j, const void *ctx);
	const void *more_ctx;
};

void pasta_runinfo_free(struct pasta_runinfo *info);

/* Writes the members of a JSON object that describes a run, except schema, path, counted accesses
 * and loss. */
void pasta_runinfo_json(const struct pasta_runinfo *info, struct pasta_json *j);
/* Writes run.json completely or not at all. */
int pasta_runinfo_save(const struct pasta_runinfo *info, const char *file, struct pasta_error *err);
/* Reads a run's run.json. Leaves missing members unknown. Returns -ENOENT, -EINVAL if accelprof did
 * not write the file, -ELOOP if it is a symbolic link, or another error. If the file was changed
 * after accelprof wrote it, fills in info but returns -EBADMSG. */
int pasta_runinfo_load(struct pasta_runinfo *info, const char *folder, struct pasta_error *err);
/* Like pasta_runinfo_load, but parses a NUL-terminated text, and changes this text. `file` is the
 * name for messages. */
int pasta_runinfo_parse(struct pasta_runinfo *info, char *text, size_t size, const char *file,
			struct pasta_error *err);

#endif
