/* files.c - opens, creates, renames and removes files safely. */
#include "process/io/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* O_NONBLOCK makes open(2) of a FIFO return without waiting for a writer. */
#define READ (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define MAKE (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define CHUNK 65536
#define TRIES 100 /* number of random names to try for a temporary file */

const char *pasta_files_why(int error)
{
	switch (error < 0 ? -error : error) {
	case ELOOP:
		return "the path is a symbolic link, which accelprof does not follow in the folder "
		       "of a run";
	case EINVAL:
		return "the path is not a regular file";
	case EPERM:
		return "the file belongs to another user, or other users can replace the file";
	default:
		return strerror(error < 0 ? -error : error);
	}
}

/* -- Folders -- */

/* Only pasta_files_hold sets these variables. That function is called only while no other thread
 * opens files. */
static const char *held_path;
static int held_folder;

void pasta_files_hold(const char *path, int folder)
{
	held_path = path;
	held_folder = folder;
}

const char *pasta_files_held(int *folder)
{
	*folder = held_path ? held_folder : -1;
	return held_path;
}

int pasta_files_folder(const char *path)
{
	int fd = held_path && !strcmp(path, held_path)
			 ? openat(held_folder, ".", READ | O_DIRECTORY)
			 : open(path, READ | O_DIRECTORY);

	return fd < 0 ? -errno : fd;
}

int pasta_files_folder_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!slash)
		return pasta_files_folder(".");
	folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	fd = folder ? pasta_files_folder(folder) : -ENOMEM;
	free(folder);
	return fd;
}

int pasta_files_subfolder(int folder, const char *name)
{
	struct stat st;
	int fd = openat(folder, name, READ | O_DIRECTORY | O_NOFOLLOW);

	if (fd >= 0)
		return fd;
	/* With O_DIRECTORY, openat returns ENOTDIR for a symbolic link. Return ELOOP for a link, so
	 * that callers can distinguish a link from a file. */
	if (errno == ENOTDIR && !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTDIR;
	return -errno;
}

int pasta_files_make_folder(int folder, const char *name, mode_t mode)
{
	return mkdirat(folder, name, mode) ? -errno : 0;
}

static int files_by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int files_add(char ***names, size_t *count, const char *name)
{
	/* The array needs space for this name and the final NULL. Its capacity doubles when it is
	 * full. */
	if (!(*count & (*count + 1))) {
		char **more = reallocarray(*names, 2 * *count + 2, sizeof(**names));

		if (!more)
			return -ENOMEM;
		*names = more;
	}
	(*names)[*count] = strdup(name);
	(*names)[*count + 1] = NULL;
	return (*names)[(*count)++] ? 0 : -ENOMEM;
}

int pasta_files_list(int folder, bool (*matches)(const char *name), char ***names, size_t *count)
{
	/* Opens the folder again, because a duplicated descriptor would share its read position. */
	int fd = openat(folder, ".", READ | O_DIRECTORY), error = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	*names = NULL;
	*count = 0;
	if (!dir) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	for (errno = 0; !error && (entry = readdir(dir)); errno = 0)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    (!matches || matches(entry->d_name)))
			error = files_add(names, count, entry->d_name);
	error = error ? error : -errno;
	closedir(dir);
	if (!error && !*names && !(*names = calloc(1, sizeof(**names))))
		error = -ENOMEM;
	if (!error) {
		qsort(*names, *count, sizeof(**names), files_by_version);
		return 0;
	}
	pasta_files_list_free(*names);
	*names = NULL;
	*count = 0;
	return error;
}

void pasta_files_list_free(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static bool files_mode_is_safe(const struct stat *st)
{
	return !(st->st_mode & (S_IWGRP | S_IWOTH)) || st->st_mode & S_ISVTX;
}

bool pasta_files_folder_is_ours(int folder)
{
	struct stat st;

	return !fstat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       files_mode_is_safe(&st);
}

bool pasta_files_is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

bool pasta_files_is_still(int folder, const char *name, int fd)
{
	struct stat st, named;

	return !fstat(fd, &st) && !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       st.st_dev == named.st_dev && st.st_ino == named.st_ino;
}

/* Applies the rules of the sysctls fs.protected_symlinks and fs.protected_fifos, which not all
 * systems enable. */
bool pasta_files_is_strangers(const char *path)
{
	size_t size = strlen(path);
	struct stat st, in = {0};
	char *plain;
	const char *name;
	int folder = -1;
	bool is;

	/* Remove a final slash, because lstat would follow a link whose path ends with a slash. */
	while (size > 1 && path[size - 1] == '/')
		size--;
	plain = strndup(path, size);
	if (!plain)
		return true;
	is = !lstat(plain, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && st.st_uid &&
	     st.st_uid != geteuid();
	if (is && !S_ISLNK(st.st_mode)) {
		folder = pasta_files_folder_of(plain, &name);
		is = folder >= 0 && !fstat(folder, &in) && in.st_mode & S_IWOTH &&
		     st.st_uid != in.st_uid;
	}
	if (folder >= 0)
		close(folder);
	free(plain);
	return is;
}

/* -- Reading -- */

/* Sets *size and returns fd if fd is a regular file. Otherwise closes fd and returns a negative
 * errno. */
static int files_regular(int fd, uint64_t *size)
{
	struct stat st;
	int error;

	if (fd < 0)
		return -errno;
	error = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (error) {
		close(fd);
		return error;
	}
	if (size)
		*size = (uint64_t)st.st_size;
	return fd;
}

/* Opens regular files only. Checks the type before opening the file, because opening a device may
 * have side effects. */
static int files_open(int folder, const char *name, int flags, uint64_t *size)
{
	struct stat st;

	if (fstatat(folder, name, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return files_regular(openat(folder, name, flags), size);
}

int pasta_files_open(int folder, const char *name, uint64_t *size)
{
	return files_open(folder, name, READ | O_NOFOLLOW, size);
}

int pasta_files_folder_in(const char *run, const char *path, const char **name)
{
	int next, folder = pasta_files_folder(run);
	const char *slash;

	for (*name = path; folder >= 0 && (slash = strchr(*name, '/')); *name = slash + 1) {
		char *part = strndup(*name, (size_t)(slash - *name));

		next = !part		    ? -ENOMEM
		       : strcmp(part, "..") ? pasta_files_subfolder(folder, part)
					    : -EINVAL;
		free(part);
		close(folder);
		folder = next;
	}
	return folder;
}

int pasta_files_open_in(const char *run, const char *path, uint64_t *size)
{
	const char *name;
	int fd, folder = pasta_files_folder_in(run, path, &name);

	if (folder < 0)
		return folder;
	fd = pasta_files_open(folder, name, size);
	close(folder);
	return fd;
}

int pasta_files_open_ours(int folder, const char *name)
{
	int fd;

	if (!pasta_files_folder_is_ours(folder))
		return -EPERM;
	fd = files_open(folder, name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW,
			NULL);
	if (fd >= 0 && !pasta_files_is_ours(fd)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int pasta_files_open_named(const char *path, uint64_t *size)
{
	return files_open(AT_FDCWD, path, READ, size);
}

int pasta_files_open_input(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int pasta_files_open_system(const char *path, int flags)
{
	int fd = -1;

	errno = EINVAL;
	if (!strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) || !strncmp(path, "/dev/", 5))
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

FILE *pasta_files_system(const char *path)
{
	int fd = pasta_files_open_system(path, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

ssize_t pasta_files_read_at(int fd, void *to, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

char *pasta_files_text(int fd, size_t limit, size_t *size, int *error)
{
	char *text = NULL, *more;
	ssize_t n = 1;

	*size = 0;
	*error = 0;
	while (n > 0 && !*error) {
		more = realloc(text, *size + CHUNK + 1);
		if (!more) {
			*error = -ENOMEM;
			break;
		}
		text = more;
		n = pasta_files_read_at(fd, text + *size, CHUNK, *size);
		*error = n < 0 ? (int)n : *size + (size_t)n > limit ? -EFBIG : 0;
		*size += n > 0 ? (size_t)n : 0;
	}
	if (*error) {
		free(text);
		return NULL;
	}
	text[*size] = '\0';
	return text;
}

/* -- Writing -- */

int pasta_files_create(int folder, const char *name, mode_t mode)
{
	int fd = openat(folder, name, MAKE, mode);

	return fd < 0 ? -errno : fd;
}

/* Returns a random number for temporary names. O_EXCL already makes creation safe; a random name
 * also prevents other users from occupying the name in advance. */
static uint64_t files_random(void)
{
	struct timespec now;
	uint64_t value;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) == (ssize_t)sizeof(value))
		return value;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16) *
	       UINT64_C(0x9e3779b97f4a7c15);
}

int pasta_files_create_beside(int folder, const char *name, mode_t mode, char **made)
{
	int fd = -EEXIST;

	*made = NULL;
	for (int i = 0; fd == -EEXIST && i < TRIES; i++) {
		/* The suffix must not make the name longer than NAME_MAX. */
		int room = (int)strnlen(name, NAME_MAX - 22);

		free(*made);
		if (asprintf(made, "%.*s.%016llx.tmp", room, name,
			     (unsigned long long)files_random()) < 0) {
			*made = NULL;
			return -ENOMEM;
		}
		fd = pasta_files_create(folder, *made, mode);
	}
	if (fd < 0) {
		free(*made);
		*made = NULL;
	}
	return fd;
}

int pasta_files_open_output(const char *path)
{
	struct stat st;
	int fd, follow;

	if (lstat(path, &st))
		return -errno;
	if (pasta_files_is_strangers(path))
		return -EPERM;
	follow = S_ISLNK(st.st_mode) ? O_CREAT | O_TRUNC : O_NOFOLLOW;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | follow, 0666);
	return fd < 0 ? -errno : fd;
}

/* Block signals: a signal that ends the process between mkostemp and unlink would leave the file
 * behind. */
static int files_nameless(const char *folder)
{
	sigset_t all, before;
	char *path;
	int fd, error;

	if (asprintf(&path, "%s/.accelprof-XXXXXX", folder) < 0)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	fd = mkostemp(path, O_CLOEXEC);
	error = -errno;
	if (fd >= 0)
		unlink(path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(path);
	return fd < 0 ? error : fd;
}

int pasta_files_temporary(const char *folder)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	if (!folder)
		folder = tmp && *tmp ? tmp : "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? files_nameless(folder) : fd;
}

int pasta_files_for_reading(int fd)
{
	char path[40];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, READ);
	return again < 0 ? -errno : again;
}

int pasta_files_sealable(void)
{
	int fd = memfd_create("accelprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

int pasta_files_memory(void)
{
	int fd = memfd_create("accelprof", MFD_CLOEXEC);

	return fd < 0 ? pasta_files_temporary(NULL) : fd;
}

int pasta_files_sync(int fd)
{
	if (!fsync(fd) || errno == EINVAL || errno == EROFS || errno == ENOTSUP)
		return 0;
	return -errno;
}

static int files_check(int folder, const char *name, int fd)
{
	if (!pasta_files_folder_is_ours(folder) || !pasta_files_is_ours(fd))
		return -EPERM;
	return pasta_files_is_still(folder, name, fd) ? 0 : -ESTALE;
}

int pasta_files_remove(int folder, const char *name, int fd)
{
	int error = files_check(folder, name, fd);

	if (!error && unlinkat(folder, name, 0))
		error = -errno;
	return error;
}

int pasta_files_rename(int folder, const char *name, int fd, const char *to)
{
	int error = files_check(folder, name, fd);
	struct stat st;

	if (error || !renameat2(folder, name, folder, to, RENAME_NOREPLACE))
		return error;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The file system lacks RENAME_NOREPLACE, so check that the new name is unused. That is
	 * safe, because only this user can create files in the folder. */
	if (!fstatat(folder, to, &st, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(folder, name, folder, to) ? -errno : 0;
}

int pasta_files_replace(int folder, const char *made, const char *name)
{
	return renameat(folder, made, folder, name) ? -errno : 0;
}

void pasta_files_undo(int folder, const char *name, bool is_folder)
{
	unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0);
}
