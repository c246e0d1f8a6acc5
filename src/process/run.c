/* run.c - a run's folder: run.json, control, shards/ and results/. */
#include "process/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/control.h"

#define RUNS_MAX 1000000 /* in one folder: then something else is wrong */

char *pasta_run_file(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool dir_empty(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool empty = dir != NULL;

	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return empty;
}

static int make_named(struct pasta_run *run, const char *dir, struct pasta_err *err)
{
	int error = mkdir(dir, 0777) ? errno : 0;

	run->made = !error;
	if (!error || (error == EEXIST && dir_empty(dir)))
		return 0;
	if (error == EEXIST)
		return pasta_fail(
			err, -EEXIST,
			"%s is there already and not an empty folder: choose another with -o", dir);
	return pasta_fail(err, -error, "cannot make the folder %s: %s (choose another with -o)",
			  dir, strerror(error));
}

/* mkdir decides who has a name, so that two runs at once do not get the same. */
static int make_next(struct pasta_run *run, char *name, size_t size, struct pasta_err *err)
{
	int i;

	for (i = 1; i < RUNS_MAX; i++) {
		snprintf(name, size, "accelprof-run-%d", i);
		if (!mkdir(name, 0777)) {
			run->made = true;
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return pasta_fail(err, -errno,
			  "cannot make a folder for the run here: %s (choose one with -o)",
			  strerror(errno));
}

static int make_dir(const char *folder, const char *name)
{
	char *path = pasta_run_file(folder, name);
	int error = path ? 0 : -ENOMEM;

	if (path && mkdir(path, 0777))
		error = -errno;
	free(path);
	return error;
}

/* Its pages must be there: a full disk would otherwise be a SIGBUS in the program under study. */
static int make_control(const char *folder)
{
	struct pasta_control control = {.magic = PASTA_CONTROL_MAGIC, .size = PASTA_CONTROL_SIZE};
	char *path = pasta_run_file(folder, PASTA_RUN_CONTROL);
	int fd, error = 0;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	free(path);
	if (fd < 0)
		return -errno;
	error = -posix_fallocate(fd, 0, PASTA_CONTROL_SIZE);
	if (!error && pwrite(fd, &control, sizeof(control), 0) != (ssize_t)sizeof(control))
		error = -EIO;
	if (close(fd) && !error)
		error = -errno;
	return error;
}

int pasta_run_create(struct pasta_run *run, const char *dir, struct pasta_err *err)
{
	char name[64];
	int error;

	error = dir ? make_named(run, dir, err) : make_next(run, name, sizeof(name), err);
	if (error)
		return error;
	run->path = realpath(dir ? dir : name, NULL);
	if (!run->path) {
		error = -errno;
		if (run->made)
			rmdir(dir ? dir : name);
		return pasta_fail(err, error, "cannot use %s: %s", dir ? dir : name,
				  strerror(-error));
	}
	error = make_dir(run->path, PASTA_RUN_SHARDS);
	if (!error)
		error = make_dir(run->path, PASTA_RUN_RESULTS);
	if (!error)
		error = make_control(run->path);
	if (!error)
		return 0;
	pasta_fail(err, error, "cannot make a run in %s: %s (choose another place with -o)",
		   run->path, strerror(-error));
	pasta_run_remove(run);
	return error;
}

void pasta_run_remove(const struct pasta_run *run)
{
	static const char *const names[] = {PASTA_RUN_INFO, PASTA_RUN_CONTROL, PASTA_RUN_SHARDS,
					    PASTA_RUN_RESULTS};
	size_t i;

	if (!run->path)
		return;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = pasta_run_file(run->path, names[i]);

		if (path)
			remove(path); /* a folder only if it is empty */
		free(path);
	}
	if (run->made)
		rmdir(run->path);
}

void pasta_run_discard(const struct pasta_run *run)
{
	char *folder = run->path ? pasta_run_file(run->path, PASTA_RUN_SHARDS) : NULL;
	char **paths = NULL;
	size_t count = 0;

	if (folder && !pasta_run_shards(folder, &paths, &count, NULL))
		for (size_t i = 0; i < count; i++)
			unlink(paths[i]);
	pasta_run_shards_free(paths);
	free(folder);
	pasta_run_remove(run);
}

void pasta_run_free(struct pasta_run *run)
{
	free(run->path);
	memset(run, 0, sizeof(*run));
}

static int is_shard(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 4 && !strcmp(entry->d_name + size - 4, ".pst");
}

int pasta_run_shards(const char *folder, char ***paths, size_t *count, struct pasta_err *err)
{
	struct dirent **entries = NULL;
	int i, error = 0, n = scandir(folder, &entries, is_shard, versionsort);

	*count = 0;
	*paths = NULL;
	if (n < 0 && errno != ENOENT)
		return pasta_fail(err, -errno, "cannot read %s: %s", folder, strerror(errno));
	n = n < 0 ? 0 : n;
	*paths = calloc((size_t)n + 1, sizeof(**paths));
	for (i = 0; i < n; i++) {
		if (*paths && !error)
			(*paths)[i] = pasta_run_file(folder, entries[i]->d_name);
		if (!*paths || !(*paths)[i])
			error = -ENOMEM;
		free(entries[i]);
	}
	free(entries);
	if (!*paths || error) {
		pasta_run_shards_free(*paths);
		*paths = NULL;
		return pasta_fail(err, -ENOMEM, "out of memory");
	}
	*count = (size_t)n;
	return 0;
}

void pasta_run_shards_free(char **paths)
{
	size_t i;

	for (i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}

_Static_assert(PASTA_RUN_NOTES == PASTA_CONTROL_NOTES, "all of them");

static void copy_text(char to[256], const char from[256])
{
	memcpy(to, from, 256);
	to[255] = '\0';
}

bool pasta_run_health(const char *folder, struct pasta_run_health *health)
{
	char *path = pasta_run_file(folder, PASTA_RUN_CONTROL);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct pasta_control control;
	size_t i, notes = 0;
	bool ok;

	memset(health, 0, sizeof(*health));
	free(path);
	if (fd < 0)
		return false;
	ok = pread(fd, &control, sizeof(control), 0) == (ssize_t)sizeof(control) &&
	     control.magic == PASTA_CONTROL_MAGIC;
	close(fd);
	if (!ok)
		return false;
	health->shards = control.shards;
	health->failed = control.failed;
	health->lost = control.lost;
	copy_text(health->message, control.message);
	/* One who was killed while it wrote has left an empty one. */
	for (i = 0; i < PASTA_CONTROL_NOTES; i++)
		if (*control.notes[i].text)
			copy_text(health->notes[notes++], control.notes[i].text);
	return true;
}
