/*
 * files.h - opens, creates, renames and removes files safely.
 *
 * src/process, src/sink and src/cli open, create, rename and remove files only through this module,
 * so that these rules hold everywhere:
 *
 *   - Within a run, symbolic links are not followed and only regular files are opened. If a
 *     link, a FIFO or a device is found instead, the function returns an error and never hangs.
 *   - accelprof creates files with O_EXCL or without a name. Temporary names are random.
 *   - An existing file is changed or removed only if the file and its folder belong to this user
 *     and no other user can rename files in that folder.
 *
 * Paths on the command line are the user's choice: links are followed, and pipes may be read.
 *
 * Descriptors are close-on-exec. Functions return 0 or a descriptor, or a negative errno: -EINVAL
 * for anything that is not a regular file, -ELOOP for a symbolic link. Any thread may
 * call these functions.
 */
#ifndef PASTA_PROCESS_FILES_H
#define PASTA_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Returns the text of an errno for messages: strerror, except for the errors that this module
 * defines. */
const char *pasta_files_why(int error);

/* -- Folders -- */

/* pasta_files_folder opens a folder that the user named. pasta_files_folder_of opens the folder
 * that contains `path`. Both functions follow links. */
int pasta_files_folder(const char *path);
int pasta_files_folder_of(const char *path,
			  const char **name); /* *`name` points to the last part of `path` */
/* From now on, this module resolves `path` to this open folder, even if the program under study
 * replaces the folder. There is one such path at a time; NULL removes it. The caller owns `path`
 * and `folder`. */
void pasta_files_hold(const char *path, int folder);
const char *pasta_files_held(int *folder); /* returns the path that pasta_files_hold set, or NULL */
/* Opens a folder within a folder. */
int pasta_files_subfolder(int folder, const char *name);
/* Creates a folder; the umask applies. Returns -EEXIST if the name exists. */
int pasta_files_make_folder(int folder, const char *name, mode_t mode);
/* Lists the names in a folder for which `matches` returns true, or all names if `matches` is NULL,
 * except "." and "..", in version order. The list ends with NULL; free it with
 * pasta_files_list_free. */
int pasta_files_list(int folder, bool (*matches)(const char *name), char ***names, size_t *count);
void pasta_files_list_free(char **names);

/* Returns whether the folder belongs to this user, and no other user can replace files in it. */
bool pasta_files_folder_is_ours(int folder);
/* Returns whether an open file is a regular file of this user that has no other hard links. */
bool pasta_files_is_ours(int fd);
/* Returns whether `name` in the folder still refers to the open file fd. */
bool pasta_files_is_still(int folder, const char *name, int fd);

/* Returns whether `path` is a link of another user, or a special file, such as a pipe, that another
 * user created in a world-writable folder. */
bool pasta_files_is_strangers(const char *path);

/* -- Reading -- */

/* Opens a regular file of a run in an open folder, and sets *size unless `size` is NULL. */
int pasta_files_open(int folder, const char *name, uint64_t *size);
/* Like pasta_files_open, for a path within a run, such as "results/x". `run` is the path of the
 * run, as the user named it. */
int pasta_files_open_in(const char *run, const char *path, uint64_t *size);
/* Opens the folder that contains a path within a run. *name points to the last part of `path`. */
int pasta_files_folder_in(const char *run, const char *path, const char **name);
/* Opens a file of a run for writing. Returns -EPERM unless the file and its folder belong to this
 * user. */
int pasta_files_open_ours(int folder, const char *name);
/* Opens a regular file by a path from the user, a shard or the system. Follows links. */
int pasta_files_open_named(const char *path, uint64_t *size);
/* Opens any readable file that the user named. On a named pipe, waits for a writer. */
int pasta_files_open_input(const char *path);
/* Opens a file in /proc, /sys or /dev. */
int pasta_files_open_system(const char *path, int flags);
FILE *pasta_files_system(const char *path);

/* Reads `size` bytes at an offset. Returns the number of bytes read, which is less than `size` only
 * at the end of the file, or a negative errno. */
ssize_t pasta_files_read_at(int fd, void *to, size_t size, uint64_t offset);
/* Reads a whole file as text and adds a NUL, which *size does not include. The caller frees the
 * text. On failure, returns NULL and sets *error; -EFBIG if the file is longer than `limit`. */
char *pasta_files_text(int fd, size_t limit, size_t *size, int *error);

/* -- Writing -- */

/* Creates a file and opens it for reading and writing. The umask applies. Returns -EEXIST if the
 * name exists, even if it is a dangling link. */
int pasta_files_create(int folder, const char *name, mode_t mode);
/* Like pasta_files_create, but names the file NAME.RANDOM.tmp. Sets *made to this name, which the
 * caller frees. */
int pasta_files_create_beside(int folder, const char *name, mode_t mode, char **made);
/* Opens an output that the user named and that is not a regular file: a device, a pipe or a link.
 * Returns -EPERM if pasta_files_is_strangers(path). */
int pasta_files_open_output(const char *path);
/* Creates an unnamed temporary file in a folder; if `folder` is NULL, in $TMPDIR or /tmp. */
int pasta_files_temporary(const char *folder);
/* Opens a descriptor's file again, read-only, to pass it to another process. */
int pasta_files_for_reading(int fd);
/* Creates a memory file (memfd) that can be sealed and passed to another process. */
int pasta_files_sealable(void);
/* Creates a memory file (memfd), or a temporary file if the system has no memfd. */
int pasta_files_memory(void);
/* Flushes a file to disk. Returns 0 if the file system does not support fsync. */
int pasta_files_sync(int fd);

/* Removes a file if the name still refers to this open file, and if the file and the folder belong
 * to this user. */
int pasta_files_remove(int folder, const char *name, int fd);
/* Renames a file under the same conditions as pasta_files_remove. Never replaces an existing file.
 */
int pasta_files_rename(int folder, const char *name, int fd, const char *to);
/* Renames a file from pasta_files_create_beside to its final name, replacing any existing file. */
int pasta_files_replace(int folder, const char *made, const char *name);
/* Removes a file or an empty folder that the caller created. */
void pasta_files_undo(int folder, const char *name, bool is_folder);

#endif
