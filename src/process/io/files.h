/*
 * files.h - how accelprof opens files: those of a run, those that its user names, and its own.
 *
 * src/process, src/sink and src/cli open, make, rename and remove files through this module alone,
 * so that these rules hold everywhere:
 *   - Within a run no symbolic link is followed, and only regular files are opened. A link, a FIFO
 *     or a device in their place is an error that names it, never a hang.
 *   - What accelprof makes is new (O_EXCL), or has no name at all. Temporary names cannot be
 * guessed.
 *   - A file that was there before is written to or removed only if it and its folder belong to our
 *     user, and nobody else can exchange names in that folder.
 * What users name on the command line is theirs: links are followed, and pipes may be read.
 *
 * Descriptors are close-on-exec. Functions return 0 or a descriptor, or a negative errno; -EINVAL
 * is what is not a regular file, -ELOOP a symbolic link. Any thread.
 */
#ifndef PASTA_PROCESS_FILES_H
#define PASTA_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Why, for a message: strerror, but for what this module refuses itself. */
const char *pasta_files_why(int error);

/* -- Folders -- */

/* A folder that the user named, or its parent: links are followed. */
int pasta_files_folder(const char *path);
int pasta_files_folder_of(const char *path, const char **name); /* *name: the last part of path */
/* From now on this path is this folder, which stays the caller's, wherever it leads by then: the
 * program under study can exchange its own run. There is one such path; NULL: none. */
void pasta_files_hold(const char *path, int folder);
const char *pasta_files_held(int *folder); /* that path, or NULL */
/* A folder in a folder. */
int pasta_files_subfolder(int folder, const char *name);
/* New; -EEXIST. umask applies. */
int pasta_files_make_folder(int folder, const char *name, mode_t mode);
/* Names in a folder, "." and ".." aside, that are wanted (NULL: all), in order of version, ended by
 * NULL; to be freed with the next. */
int pasta_files_list(int folder, bool (*wanted)(const char *name), char ***names, size_t *count);
void pasta_files_list_free(char **names);

/* Whether the folder is our user's, and others cannot exchange what is in it. */
bool pasta_files_folder_is_ours(int folder);
/* Whether an open file is regular, our user's, and has no second name. */
bool pasta_files_is_ours(int fd);
/* Whether this name in a folder still is this open file. */
bool pasta_files_is_still(int folder, const char *name, int fd);

/* Whether a path that the user named is another user's link, or another user has put a pipe or the
 * like there, in a folder that all may write to. */
bool pasta_files_is_strangers(const char *path);

/* -- Reading -- */

/* A regular file of a run, in an open folder. size may be NULL. */
int pasta_files_open(int folder, const char *name, uint64_t *size);
/* The same, by the run's path, which the user named, and a path within it, such as "results/x". */
int pasta_files_open_in(const char *run, const char *path, uint64_t *size);
/* The folder of a path within a run, and the path's last part, which lies in path. */
int pasta_files_folder_in(const char *run, const char *path, const char **name);
/* The same, to write to: refused (-EPERM) unless it and its folder are ours. */
int pasta_files_open_ours(int folder, const char *name);
/* A regular file that the user, a shard or the system names: links are followed. */
int pasta_files_open_named(const char *path, uint64_t *size);
/* Anything that can be read, and that the user named: a pipe is waited for. */
int pasta_files_open_input(const char *path);
/* A file of the kernel's: in /proc, /sys or /dev. */
int pasta_files_open_system(const char *path, int flags);
FILE *pasta_files_system(const char *path);

/* size bytes from offset on, or fewer where the file ends; negative errno. */
ssize_t pasta_files_read_at(int fd, void *to, size_t size, uint64_t offset);
/* A whole file as text, ended by a zero that is not counted, to be freed; NULL with *error. -EFBIG:
 * it is longer than limit. */
char *pasta_files_text(int fd, size_t limit, size_t *size, int *error);

/* -- Writing -- */

/* A new file, to read and write; -EEXIST, also for a link that leads nowhere. umask applies. */
int pasta_files_create(int folder, const char *name, mode_t mode);
/* The same with a name that nobody can guess: NAME.RANDOM.tmp, which is to be freed. */
int pasta_files_create_beside(int folder, const char *name, mode_t mode, char **made);
/* What a user named to be written to and is no regular file: a device, a pipe, or a link. Refused
 * (-EPERM) if it is a stranger's. */
int pasta_files_open_output(const char *path);
/* A file without a name, in a folder; NULL: where TMPDIR says. */
int pasta_files_temporary(const char *folder);
/* The same file, opened again and for reading alone, for another process. */
int pasta_files_for_reading(int fd);
/* A file in memory, to be shared with another process: it can be sealed. */
int pasta_files_sealable(void);
/* A file in memory; where the system has none, a temporary one. */
int pasta_files_memory(void);
/* Wait for the disk; file systems that have nothing to wait for are no error. */
int pasta_files_sync(int fd);

/* Remove a name, but only if it is this open file and both are ours. */
int pasta_files_remove(int folder, const char *name, int fd);
/* Give it another name, under the same conditions, and never over an existing file. */
int pasta_files_rename(int folder, const char *name, int fd, const char *to);
/* Put a file that create_beside made into its place, over what was there. */
int pasta_files_replace(int folder, const char *made, const char *name);
/* Remove what the caller itself has made, a file or an empty folder. */
void pasta_files_undo(int folder, const char *name, bool is_folder);

#endif
