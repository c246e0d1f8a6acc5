/* output.c - a file that is there whole or not at all. */
#include "process/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pasta_output {
	FILE *file;
	char *path, *temp;
};

static void output_free(struct pasta_output *out)
{
	if (!out)
		return;
	if (out->file)
		fclose(out->file);
	free(out->path);
	free(out->temp);
	free(out);
}

struct pasta_output *pasta_output_open(const char *path, struct pasta_err *err)
{
	struct pasta_output *out = calloc(1, sizeof(*out));

	if (!out)
		goto memory;
	out->path = strdup(path);
	if (!out->path || asprintf(&out->temp, "%s.%ld.tmp", path, (long)getpid()) < 0)
		goto memory;
	out->file = fopen(out->temp, "we");
	if (!out->file) {
		pasta_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
		output_free(out);
		return NULL;
	}
	return out;
memory:
	pasta_fail(err, -ENOMEM, "cannot write %s: out of memory", path);
	output_free(out);
	return NULL;
}

FILE *pasta_output_file(struct pasta_output *out)
{
	return out->file;
}

const char *pasta_output_path(const struct pasta_output *out)
{
	return out->temp;
}

/* The content must be on the disk before the name is: else a power cut leaves an empty file. */
static int settle(FILE *file)
{
	int error = 0;

	if (fflush(file) || ferror(file))
		error = errno ? -errno : -EIO;
	else if (fsync(fileno(file)) && errno != EINVAL && errno != EROFS)
		error = -errno;
	if (fclose(file) && !error)
		error = -errno;
	return error;
}

int pasta_output_close(struct pasta_output *out, int error, struct pasta_err *err)
{
	int settled;

	errno = 0;
	settled = settle(out->file);
	out->file = NULL;
	if (settled)
		error = settled; /* says more than the -EIO of who wrote */
	if (!error && rename(out->temp, out->path))
		error = -errno;
	if (error) {
		unlink(out->temp);
		pasta_fail(err, error, "cannot write %s: %s", out->path, strerror(-error));
	}
	output_free(out);
	return error;
}
