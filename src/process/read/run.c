/* run.c - creates a run's folder (run.json, control, shards/, results/) and reads its control page.
 */
#include "process/read/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/control.h"
#include "core/ringfile.h"
#include "process/io/files.h"

#define RUNS_MAX 1000000 /* number of folder names to try for a new run */

char *pasta_run_file(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool run_folder_is_empty(int folder)
{
	size_t count = 1;
	char **names;

	if (!pasta_files_list(folder, NULL, &names, &count))
		pasta_files_list_free(names);
	return !count;
}

/* Opens an existing folder for a new run. The folder must be empty, and only this user may be able
 * to change it. */
static int run_check_existing(const char *dir, struct pasta_error *err)
{
	int folder = pasta_files_folder(dir);
	struct stat st;

	if (pasta_files_is_strangers(dir))
		pasta_fail(err, -EPERM,
			   "%s is a symbolic link that belongs to another user: choose another "
			   "folder with -o",
			   dir);
	else if (folder < 0 || fstat(folder, &st) || !run_folder_is_empty(folder))
		pasta_fail(err, -EEXIST,
			   "%s exists and is not an empty folder: choose another folder with -o",
			   dir);
	else if (st.st_uid != geteuid())
		pasta_fail(err, -EPERM,
			   "%s belongs to another user, who could change the run: choose another "
			   "folder with -o",
			   dir);
	else if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		pasta_fail(err, -EPERM,
			   "all users can write to %s and could change the run: run chmod o-w on "
			   "it, or choose another folder with -o",
			   dir);
	else
		return folder;
	if (folder >= 0)
		close(folder);
	return err->code;
}

/* Creates the folder of a run under the first unused name. Returns the descriptor of the folder, or
 * a negative errno. */
static int run_make_named(struct pasta_run *run, const char *dir, struct pasta_error *err)
{
	int error = pasta_files_make_folder(AT_FDCWD, dir, run->shared ? 0777 : 0700), folder;

	if (error == -EEXIST)
		return run_check_existing(dir, err);
	folder = error ? error : pasta_files_folder(dir);
	run->made = !error;
	if (folder < 0)
		pasta_fail(err, folder,
			   "cannot create the folder %s: %s (choose another folder with -o)", dir,
			   strerror(-folder));
	return folder;
}

/* mkdir is atomic, so two runs that start at the same time get different names. */
static int run_make_next(struct pasta_run *run, char *name, size_t size, struct pasta_error *err)
{
	int i, error = -EEXIST;

	for (i = 1; error == -EEXIST && i < RUNS_MAX; i++) {
		snprintf(name, size, "accelprof-run-%d", i);
		error = pasta_files_make_folder(AT_FDCWD, name, run->shared ? 0777 : 0700);
	}
	run->made = !error;
	if (!error)
		error = pasta_files_folder(name);
	if (error < 0)
		pasta_fail(err, error,
			   "cannot create a folder for the run in the current folder: %s (choose a "
			   "folder with -o)",
			   strerror(-error));
	return error;
}

/* Allocate the disk space of the control page now. On a full disk, the program under study would
 * otherwise get a SIGBUS when it writes to the page. */
static int run_make_control(int folder, mode_t mode)
{
	struct pasta_control control = {.magic = PASTA_CONTROL_MAGIC,
					.size = PASTA_CONTROL_SIZE,
					.shards = pasta_seal(0, PASTA_CONTROL_SHARDS),
					.failed = pasta_seal(0, PASTA_CONTROL_FAILED),
					.lost = pasta_seal(0, PASTA_CONTROL_LOST)};
	int fd = pasta_files_create(folder, PASTA_RUN_CONTROL, mode), error = 0;

	if (fd < 0)
		return fd;
	error = -posix_fallocate(fd, 0, PASTA_CONTROL_SIZE);
	if (!error && pwrite(fd, &control, sizeof(control), 0) != (ssize_t)sizeof(control))
		error = -EIO;
	if (close(fd) && !error)
		error = -errno;
	return error;
}

static int run_fill(const struct pasta_run *run, int folder)
{
	mode_t mode = run->shared ? 0777 : 0700;
	int error = pasta_files_make_folder(folder, PASTA_RUN_SHARDS, mode);

	if (!error)
		error = pasta_files_make_folder(folder, PASTA_RUN_RESULTS, mode);
	return error ? error : run_make_control(folder, mode & 0666);
}

int pasta_run_create(struct pasta_run *run, const char *dir, struct pasta_error *err)
{
	struct pasta_error own = {0};
	char name[64];
	int error, folder;

	err = err ? err : &own;
	folder = dir ? run_make_named(run, dir, err) : run_make_next(run, name, sizeof(name), err);
	if (folder < 0)
		return folder;
	dir = dir ? dir : name;
	run->path = realpath(dir, NULL);
	error = run->path ? run_fill(run, folder) : -errno;
	if (run->path) {
		run->folder = folder;
		pasta_files_hold(run->path, folder);
	} else {
		close(folder);
	}
	if (!error)
		return 0;
	pasta_fail(err, error, "cannot create a run in %s: %s (choose another folder with -o)", dir,
		   strerror(-error));
	if (run->path)
		pasta_run_remove(run);
	else if (run->made)
		pasta_files_undo(AT_FDCWD, dir, true);
	pasta_run_free(run);
	return error;
}

void pasta_run_remove(const struct pasta_run *run)
{
	int folder = run->path ? pasta_files_folder(run->path) : -1;

	if (folder < 0)
		return;
	pasta_files_undo(folder, PASTA_RUN_INFO, false);
	pasta_files_undo(folder, PASTA_RUN_CONTROL, false);
	/* pasta_files_undo removes a folder only if it is empty */
	pasta_files_undo(folder, PASTA_RUN_SHARDS, true);
	pasta_files_undo(folder, PASTA_RUN_RESULTS, true);
	close(folder);
	if (run->made)
		pasta_files_undo(AT_FDCWD, run->path, true);
}

static bool run_is_shard(const char *name)
{
	size_t size = strlen(name);

	return size > 4 && !strcmp(name + size - 4, ".pst");
}

void pasta_run_discard(const struct pasta_run *run)
{
	int folder = run->path ? pasta_files_folder(run->path) : -1;
	int shards = folder < 0 ? -1 : pasta_files_subfolder(folder, PASTA_RUN_SHARDS);
	char **names = NULL;
	size_t count = 0;

	if (shards >= 0 && !pasta_files_list(shards, run_is_shard, &names, &count))
		for (size_t i = 0; i < count; i++)
			pasta_files_undo(shards, names[i], false);
	pasta_files_list_free(names);
	if (shards >= 0)
		close(shards);
	if (folder >= 0)
		close(folder);
	pasta_run_remove(run);
}

void pasta_run_free(struct pasta_run *run)
{
	if (run->path) {
		pasta_files_hold(NULL, -1);
		close(run->folder);
	}
	free(run->path);
	memset(run, 0, sizeof(*run));
}

int pasta_run_shards(const char *folder, char ***paths, size_t *count, struct pasta_error *err)
{
	int fd = pasta_files_folder(folder), error;

	*count = 0;
	*paths = fd == -ENOENT ? calloc(1, sizeof(**paths)) : NULL;
	if (fd == -ENOENT)
		return *paths ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
	error = fd < 0 ? fd : pasta_files_list(fd, run_is_shard, paths, count);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; !error && i < *count; i++) {
		char *path = pasta_run_file(folder, (*paths)[i]);

		if (path) {
			free((*paths)[i]);
			(*paths)[i] = path;
		}
		error = path ? 0 : -ENOMEM;
	}
	if (!error)
		return 0;
	pasta_files_list_free(*paths);
	*paths = NULL;
	*count = 0;
	return pasta_fail(err, error, "cannot read %s: %s", folder, strerror(-error));
}

void pasta_run_shards_free(char **paths)
{
	pasta_files_list_free(paths);
}

_Static_assert(PASTA_RUN_NOTES == PASTA_CONTROL_NOTES,
	       "run.json must have room for all notes of the control page");

static void run_copy_text(char to[256], const char from[256])
{
	memcpy(to, from, 256);
	to[255] = '\0';
}

static int run_open_control(const char *folder)
{
	int dir = pasta_files_folder(folder);
	int fd = dir < 0 ? dir : pasta_files_open_ours(dir, PASTA_RUN_CONTROL);

	if (dir >= 0)
		close(dir);
	return fd;
}

static void run_note_failed(struct pasta_control *c, uint32_t processes, uint64_t dropped,
			    const char *why)
{
	int32_t none = 0;

	pasta_sealed_add(&c->failed, PASTA_CONTROL_FAILED, processes);
	pasta_sealed_add(&c->lost, PASTA_CONTROL_LOST, dropped);
	if (*why && atomic_compare_exchange_strong(&c->error, &none, EACCES))
		snprintf(c->message, sizeof(c->message), "%s", why);
}

/* Updates the control page in a child process, because writing to the mapped page may cause a
 * SIGBUS. */
static int run_note_in_child(int fd, uint32_t processes, uint64_t dropped, const char *why)
{
	const struct rlimit none = {0, 0};
	struct pasta_control *page, copy;

	setrlimit(RLIMIT_CORE, &none);
	/* Prevent a core dump of this process. Setting RLIMIT_CORE to 0 is not enough if
	 * core_pattern is a pipe. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGBUS, SIG_DFL);
	page = mmap(NULL, PASTA_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		run_note_failed(page, processes, dropped, why);
		return 0;
	}
	/* The file system does not support shared mappings, so no other process can have mapped the
	 * control page. Change the file directly. */
	if (pasta_files_read_at(fd, &copy, sizeof(copy), 0) != (ssize_t)sizeof(copy))
		return 1;
	run_note_failed(&copy, processes, dropped, why);
	return pwrite(fd, &copy, sizeof(copy), 0) == (ssize_t)sizeof(copy) ? 0 : 1;
}

/* Updates the control page in a child process, through a mapping. The mapping is necessary because
 * processes that are still running update the page as well. The child process is necessary because
 * the program may truncate the file at any time, and an access to the page then causes a SIGBUS. */
int pasta_run_add_failed(const char *folder, uint32_t processes, uint64_t dropped, const char *why)
{
	int fd = processes ? run_open_control(folder) : 0, status = 0, error = 0;
	pid_t pid;

	if (fd <= 0)
		return fd;
	pid = fork();
	if (!pid)
		_exit(run_note_in_child(fd, processes, dropped, why));
	if (pid < 0)
		error = -errno;
	while (!error && waitpid(pid, &status, 0) < 0)
		error = errno == EINTR ? 0 : -errno;
	close(fd);
	return error ? error : status ? -EIO : 0;
}

int pasta_run_health(const char *folder, struct pasta_run_health *health)
{
	int fd = pasta_files_open_in(folder, PASTA_RUN_CONTROL, NULL);
	struct pasta_control control;
	size_t i, notes = 0;
	ssize_t n;
	bool ok;

	memset(health, 0, sizeof(*health));
	if (fd < 0)
		return fd;
	n = pasta_files_read_at(fd, &control, sizeof(control), 0);
	ok = n == (ssize_t)sizeof(control) && control.magic == PASTA_CONTROL_MAGIC &&
	     control.size == PASTA_CONTROL_SIZE &&
	     pasta_unseal(control.shards, PASTA_CONTROL_SHARDS, &health->shards) &&
	     pasta_unseal(control.failed, PASTA_CONTROL_FAILED, &health->failed) &&
	     pasta_unseal(control.lost, PASTA_CONTROL_LOST, &health->dropped);
	close(fd);
	if (!ok) {
		memset(health, 0, sizeof(*health));
		return n < 0 ? (int)n : -EBADMSG;
	}
	run_copy_text(health->message, control.message);
	/* If a process was killed while it wrote a note, the note is empty. Skip it. */
	for (i = 0; i < PASTA_CONTROL_NOTES; i++)
		if (*control.notes[i].text)
			run_copy_text(health->notes[notes++], control.notes[i].text);
	return 0;
}
