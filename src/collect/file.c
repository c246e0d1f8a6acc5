/* file.c - opens, locks and closes the agent's files. The program may close any descriptor, so the
 * agent checks that a descriptor still refers to its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/state.h"

/* The descriptors of the agent's files have at least this number, because programs may depend on
 * low numbers. The numbers matter only on a thread that shares the program's descriptor table. */
enum { HIGH_FD = 512 };

struct pasta_file pasta_shard_file = {.fd = -1}, pasta_ring_file = {.fd = -1};

static int file_open(const char *path, int flags)
{
	int low = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666), high, e;

	if (low < 0)
		return -1;
	high = fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return low;
	e = errno;
	close(low);
	errno = e;
	return high;
}

static int file_adopt(struct pasta_file *f, int fd)
{
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st)) {
		close(fd);
		return -1;
	}
	f->fd = fd;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return fd;
}

int pasta_file_create(struct pasta_file *f, const char *path)
{
	snprintf(f->path, sizeof(f->path), "%s", path);
	return file_adopt(f, file_open(path, O_RDWR | O_CREAT | O_EXCL)) < 0 ? -errno : 0;
}

static bool file_is(const struct pasta_file *f, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino;
}

/* Other threads may read the members dev and ino at the same time, but not the member fd. */
int pasta_file_fd(struct pasta_file *f)
{
	int fd;

	if (f->fd >= 0 && file_is(f, f->fd))
		return f->fd;
	f->fd = -1;
	fd = file_open(f->path, O_RDWR);
	if (fd < 0)
		return -1;
	if (!file_is(f, fd)) {
		close(fd);
		errno = ESTALE;
		return -1;
	}
	f->fd = fd;
	return fd;
}

void pasta_file_same(struct pasta_file *to, const struct pasta_file *from)
{
	to->fd = -1;
	to->dev = from->dev;
	to->ino = from->ino;
	memcpy(to->path, from->path, sizeof(to->path));
}

void pasta_file_close(struct pasta_file *f)
{
	if (f->fd >= 0 && file_is(f, f->fd))
		close(f->fd);
	f->fd = -1;
}

/* Recovery tests the lock to determine whether the process is still running. On file systems
 * without locks, recovery uses /proc instead. */
void pasta_file_lock(struct pasta_file *f)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = pasta_file_fd(f);

	if (fd >= 0)
		fcntl(fd, F_SETLK, &lock);
}

void pasta_file_read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	n = n < 0 ? 0 : n;
	while (n > 0 && (text[n - 1] == '\0' || text[n - 1] == '\n'))
		n--;
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n] = '\0';
}
