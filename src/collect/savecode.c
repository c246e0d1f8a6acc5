/*
 * savecode.c - saves device code in the run's folder.
 *
 * The hash of a file's content is the file's name, so code that several contexts or processes load
 * is one file. A file is written under a temporary name first, so that files under their final name
 * are complete.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/state.h"

#define FOLDER "modules"
enum {
	NAME_SIZE = 64,
	PATH_SIZE = sizeof(pasta_config.run) + NAME_SIZE,
	CHUNK = 1 << 20,
};

static void code_name(char *name, const void *bytes, size_t size, const char *suffix)
{
	snprintf(name, NAME_SIZE, FOLDER "/%016" PRIx64 ".%s", (uint64_t)XXH3_64bits(bytes, size),
		 suffix);
}

static bool code_is_saved(const char *path, size_t size)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

/* Creates a file under a unique temporary name, because another process may be saving the same
 * code. */
static int code_create(struct pasta_file *f, const char *path)
{
	char other[PATH_SIZE + 40];

	snprintf(other, sizeof(other), "%s/" FOLDER, pasta_config.run);
	if (mkdir(other, 0777) && errno != EEXIST)
		return -errno;
	snprintf(other, sizeof(other), "%s.%x-%" PRIx64, path, pasta_agent_tid(), pasta_now());
	return pasta_file_create(f, other);
}

static int code_write(struct pasta_file *f, const char *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t left = size - at;
		int fd = pasta_file_fd(f);
		ssize_t n = fd < 0 ? -1
				   : pwrite(fd, bytes + at, left < CHUNK ? left : CHUNK, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (size_t)n;
	}
	return 0;
}

/* Closes the file, and renames it to its final name. Some file systems report a full disk only when
 * a file is closed. */
static int code_close(struct pasta_file *f, const char *path)
{
	int fd = pasta_file_fd(f);

	f->fd = -1;
	if (fd < 0 || close(fd) || rename(f->path, path))
		return -errno;
	return 0;
}

struct code {
	const char *path;
	const void *bytes;
	size_t size;
};

static int code_save(void *arg)
{
	const struct code *m = arg;
	struct pasta_file f = {.fd = -1};
	int error;

	if (code_is_saved(m->path, m->size))
		return 0;
	error = code_create(&f, m->path);
	if (error)
		return error;
	error = code_write(&f, m->bytes, m->size);
	if (!error)
		error = code_close(&f, m->path);
	if (error) {
		pasta_file_close(&f);
		unlink(f.path);
	}
	return error;
}

static void code_report(int error)
{
	char why[sizeof(pasta_config.control->notes[0].text)];

	snprintf(why, sizeof(why),
		 "some modules cannot be saved in %.120s (%s): free some space, or choose another "
		 "folder with -o",
		 pasta_config.run, strerror(-error));
	pasta_agent_log("modules", why);
}

uint32_t pasta_agent_save_code(const void *bytes, size_t size, const char *suffix)
{
	char name[NAME_SIZE], path[PATH_SIZE];
	struct code code = {.path = path, .bytes = bytes, .size = size};
	struct pasta_guard guard;
	uint32_t id = 0;
	int error;

	if (!pasta_config.save_code || !size)
		return 0;
	code_name(name, bytes, size, suffix);
	snprintf(path, sizeof(path), "%s/%s", pasta_config.run, name);
	id = pasta_intern_str(name); /* the id is 0 if the process cannot record */
	if (id) {
		pasta_guard_enter(&guard);
		error = pasta_aside(code_save, &code);
		pasta_guard_leave(&guard);
		if (error) {
			code_report(error);
			id = 0;
		}
	}
	return id;
}
