/* tracefile.c - reads a trace, plain or compressed, through a window. */
#include "import/tracefile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/unpack.h"
#include "process/io/files.h"

enum { WINDOW = 1 << 20, PACKED = WINDOW, MAGIC = 4 };

/* Compressed data that has not been decompressed into the window yet. */
struct pasta_packed {
	struct pasta_unpacker *unpacker;
	size_t at, size;
	bool end; /* of the file */
	char bytes[PACKED];
};

static ssize_t tracefile_read(struct pasta_tracefile *f, void *to, size_t size,
			      struct pasta_error *err)
{
	ssize_t n;

	do
		n = read(f->fd, to, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return pasta_fail(err, -errno, "cannot read %s: %s", f->path, strerror(errno));
	f->done += (uint64_t)n;
	return n;
}

/* Handles damaged compressed data. With `recover`, the text ends before the damage. */
static ssize_t tracefile_torn(struct pasta_tracefile *f, const char *how, struct pasta_error *err)
{
	struct pasta_packed *p = f->packed;

	if (f->recover) {
		f->torn = true;
		return 0;
	}
	return pasta_fail(err, -EBADMSG,
			  "%s: byte %llu of the file: the %s data is %s (--recover imports the "
			  "part before this byte)",
			  f->path, (unsigned long long)(f->done - (p->size - p->at)),
			  p->unpacker->name, how);
}

static ssize_t tracefile_unpack(struct pasta_tracefile *f, char *to, size_t size,
				struct pasta_error *err)
{
	struct pasta_packed *p = f->packed;
	size_t used, made = 0;

	while (!made && !f->torn) {
		int r;

		if (p->at == p->size && !p->end) {
			ssize_t n = tracefile_read(f, p->bytes, PACKED, err);

			if (n < 0)
				return n;
			p->at = 0;
			p->size = (size_t)n;
			p->end = !n;
		}
		if (p->at == p->size && p->end)
			return p->unpacker->between ? 0 : tracefile_torn(f, "cut short", err);
		r = p->unpacker->unpack(p->unpacker, p->bytes + p->at, p->size - p->at, &used, to,
					size, &made);
		p->at += used;
		if (r == -ENOMEM)
			return pasta_fail(err, r, "out of memory");
		if (r && !made)
			return tracefile_torn(f, "damaged", err);
	}
	return (ssize_t)made;
}

static int tracefile_grow(struct pasta_tracefile *f, struct pasta_error *err)
{
	size_t n = f->capacity ? 2 * f->capacity : WINDOW;
	char *data;

	if (n > PASTA_TRACEFILE_WINDOW_MAX)
		return pasta_fail(err, -EFBIG,
				  "%s: byte %llu: the trace is not valid, because it contains a "
				  "value of more than %zu MiB",
				  f->path, (unsigned long long)f->offset,
				  PASTA_TRACEFILE_WINDOW_MAX >> 20);
	data = realloc(f->data, n + PASTA_TRACEFILE_PAD);
	if (!data)
		return pasta_fail(err, -ENOMEM, "out of memory");
	f->data = data;
	f->capacity = n;
	return 0;
}

int pasta_tracefile_more(struct pasta_tracefile *f, size_t discard, struct pasta_error *err)
{
	ssize_t n;

	f->size -= discard;
	f->offset += discard;
	if (f->size && discard)
		memmove(f->data, f->data + discard, f->size);
	memset(f->data + f->size, 0, PASTA_TRACEFILE_PAD);
	/* Grow the window early: small reads would move its contents again and again. */
	if (f->size > f->capacity / 2 &&
	    (f->capacity < PASTA_TRACEFILE_WINDOW_MAX || f->size == f->capacity) &&
	    tracefile_grow(f, err))
		return err->code;
	if (f->packed)
		n = tracefile_unpack(f, f->data + f->size, f->capacity - f->size, err);
	else
		n = tracefile_read(f, f->data + f->size, f->capacity - f->size, err);
	f->size += n > 0 ? (size_t)n : 0;
	f->end = !n;
	memset(f->data + f->size, 0, PASTA_TRACEFILE_PAD);
	return n < 0 ? (int)n : 0;
}

static int open_plain(struct pasta_tracefile *f, struct pasta_error *err)
{
	struct stat st;
	int error;

	f->fd = pasta_files_open_input(f->path);
	error = f->fd < 0 ? f->fd : fstat(f->fd, &st) ? -errno : 0;
	if (error)
		return pasta_fail(err, error, "cannot open %s: %s", f->path, strerror(-error));
	if (S_ISDIR(st.st_mode))
		return pasta_fail(err, -EISDIR, "%s is a folder", f->path);
	f->total = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (tracefile_grow(f, err))
		return err->code;
	return pasta_tracefile_more(f, 0, err);
}

/* Moves the data that was read so far to the unpacker, because the file is compressed. */
static int repack(struct pasta_tracefile *f, struct pasta_unpacker *unpacker,
		  struct pasta_error *err)
{
	struct pasta_packed *p = malloc(sizeof(*p));
	off_t back = lseek(f->fd, 0, SEEK_SET);

	if (!p || !unpacker) {
		free(p);
		if (unpacker)
			unpacker->free(unpacker);
		return pasta_fail(err, -ENOMEM, "out of memory");
	}
	*p = (struct pasta_packed){.unpacker = unpacker};
	f->packed = p;
	if (back < 0) { /* the file is a pipe, from which at most one window was read */
		memcpy(p->bytes, f->data, f->size);
		p->size = f->size;
	} else {
		f->done = 0;
	}
	f->size = 0;
	return pasta_tracefile_more(f, 0, err);
}

int pasta_tracefile_open(struct pasta_tracefile *f, const char *path, bool recover,
			 struct pasta_error *err)
{
	struct pasta_unpacker *unpacker;
	bool known;
	int r;

	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->recover = recover;
	f->path = strdup(path);
	if (!f->path)
		return pasta_fail(err, -ENOMEM, "out of memory");
	r = open_plain(f, err);
	while (!r && f->size < MAGIC && !f->end) /* a pipe may return less */
		r = pasta_tracefile_more(f, 0, err);
	if (r)
		return r;
	unpacker = pasta_unpacker_new(f->data, f->size, &known);
	return known ? repack(f, unpacker, err) : 0;
}

void pasta_tracefile_close(struct pasta_tracefile *f)
{
	if (f->packed) {
		f->packed->unpacker->free(f->packed->unpacker);
		free(f->packed);
	}
	if (f->path && f->fd >= 0)
		close(f->fd);
	free(f->data);
	free(f->path);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

int pasta_tracefile_restart(struct pasta_tracefile *f, struct pasta_error *err)
{
	bool recover = f->recover;
	char *path = f->path;
	int r;

	if (lseek(f->fd, 0, SEEK_SET) < 0)
		return pasta_fail(
			err, -ESPIPE,
			"%s is a pipe, and the trace has tables after the records that refer to "
			"the tables: store the trace in a file first, because a pipe cannot be "
			"read twice",
			path);
	close(f->fd);
	f->path = NULL;
	pasta_tracefile_close(f);
	r = pasta_tracefile_open(f, path, recover, err);
	free(path);
	return r;
}
