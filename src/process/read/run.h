/*
 * run.h - creates a run's folder (run.json, control, shards/, results/) and reads its control page.
 *
 * An existing run is never overwritten.
 */
#ifndef PASTA_PROCESS_RUN_H
#define PASTA_PROCESS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#define PASTA_RUN_INFO "run.json"
#define PASTA_RUN_CONTROL "control"
#define PASTA_RUN_SHARDS "shards"
#define PASTA_RUN_RESULTS "results"

/* The folder of a new run. Zero the struct before use. */
struct pasta_run {
	/* Absolute path of the run. files.h resolves this path to `folder`, even if the folder is
	 * moved. */
	char *path;
	int folder; /* descriptor of the run's folder; it is open whenever `path` is set */
	bool made;  /* pasta_run_create made the folder */
	/* If true, files get the modes that the umask allows. If false, only this user can read the
	 * run. Set it before calling pasta_run_create. */
	bool shared;
};

/* Creates the run's folders and control page in dir. If dir exists, it must be empty and belong to
 * this user. If dir is NULL, uses the first unused name of accelprof-run-1, accelprof-run-2 and so
 * on. On failure, removes everything that was created. */
int pasta_run_create(struct pasta_run *run, const char *dir, struct pasta_error *err);
/* Removes a run whose program was never started. Removes only run.json and the files that
 * pasta_run_create made. */
void pasta_run_remove(const struct pasta_run *run);
/* Removes a run and its shards. Call this function only for imported runs, whose input files still
 * exist. */
void pasta_run_discard(const struct pasta_run *run);
void pasta_run_free(struct pasta_run *run);

/* Returns "FOLDER/NAME", which the caller frees, or NULL when out of memory. */
char *pasta_run_file(const char *folder, const char *name);

/* Lists the full paths of a folder's shards, in version order, ending with NULL. Free the list with
 * pasta_run_shards_free. A folder that does not exist has no shards. */
int pasta_run_shards(const char *folder, char ***paths, size_t *count, struct pasta_error *err);
void pasta_run_shards_free(char **paths);

#define PASTA_RUN_NOTES 8

/* Data that agents have written to the control page of a run. */
struct pasta_run_health {
	/* Number of processes that made a shard, and number of processes that could not record. */
	uint64_t shards, failed;
	uint64_t dropped; /* number of events that were not written to any shard */
	/* The error of the first process that could not record, or "". */
	char message[256];
	/* Notes on what handlers cannot record; the first empty note ends the list. */
	char notes[PASTA_RUN_NOTES][256];
};

/* Adds to the control page the number of processes that could not write to it themselves, the
 * number of their dropped events, and their first error. Returns 0 or a negative errno. */
int pasta_run_add_failed(const char *folder, uint32_t processes, uint64_t dropped, const char *why);

/* Reads the control page. Returns 0, -ENOENT if there is none, -EBADMSG if the file is damaged or
 * not a control page, or another negative errno. */
int pasta_run_health(const char *folder, struct pasta_run_health *health);

#endif
