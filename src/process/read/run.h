/*
 * run.h - a run's folder: run.json, control, shards/ and results/.
 *
 * Never made over an old one.
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

/* A new folder. Zero it before use. */
struct pasta_run {
	char *path; /* absolute; to files.h it is the folder that was made, whatever is there now */
	int folder; /* open, where path is set */
	bool made;  /* the folder itself is ours: it was not there before */
	/* Set before create: modes are as the umask has them. Else nobody but its user can read it.
	 */
	bool shared;
};

/* Make dir, which must not exist, or be empty and our user's, or where it is NULL the first of
 * accelprof-run-1, -2 and so on that is free; and what belongs into it. On failure nothing is left
 * behind. */
int pasta_run_create(struct pasta_run *run, const char *dir, struct pasta_error *err);
/* Remove a run that never began: only what create made, and run.json. */
void pasta_run_remove(const struct pasta_run *run);
/* Remove it with its shards: one that was made of files which are still there. */
void pasta_run_discard(const struct pasta_run *run);
void pasta_run_free(struct pasta_run *run);

/* "FOLDER/NAME", to be freed; NULL when out of memory. */
char *pasta_run_file(const char *folder, const char *name);

/* The shards of a folder, full paths in order, ended by NULL; free it with the next. A folder that
 * is not there has none. */
int pasta_run_shards(const char *folder, char ***paths, size_t *count, struct pasta_error *err);
void pasta_run_shards_free(char **paths);

#define PASTA_RUN_NOTES 8

/* What the agents say in the control page. */
struct pasta_run_health {
	uint64_t shards, failed;	  /* processes */
	uint64_t dropped;		  /* events that reached no shard */
	char message[256];		  /* why the first of them failed, or empty */
	char notes[PASTA_RUN_NOTES][256]; /* what handlers cannot do, the first empty one ends it */
};

/* Add to them, for processes that could not: how many there are, their events, and why the first
 * failed. */
int pasta_run_add_failed(const char *folder, uint32_t processes, uint64_t dropped, const char *why);

/* 0; -ENOENT: there is no such page; -EBADMSG: it is damaged, or none of ours; or why it cannot be
 * read. */
int pasta_run_health(const char *folder, struct pasta_run_health *health);

#endif
