/* output.c - writes a file completely or not at all. */
#include "process/io/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/io/files.h"

struct pasta_output {
	FILE *file;
	int folder;
	/* `made` is the name of the temporary file in the folder; `temp` is the path of that
	 * file. */
	char *path, *made, *temp;
	const char *name; /* points into path */
};

static void output_free(struct pasta_output *out)
{
	if (!out)
		return;
	if (out->file)
		fclose(out->file);
	if (out->folder >= 0)
		close(out->folder);
	free(out->path);
	free(out->made);
	free(out->temp);
	free(out);
}

static int output_make(struct pasta_output *out)
{
	int fd;

	if (out->folder < 0)
		return out->folder;
	fd = pasta_files_create_beside(out->folder, out->name, 0666, &out->made);
	if (fd < 0)
		return fd;
	out->file = fdopen(fd, "w");
	if (out->file &&
	    asprintf(&out->temp, "%.*s%s", (int)(out->name - out->path), out->path, out->made) >= 0)
		return 0;
	if (!out->file)
		close(fd);
	out->temp = NULL;
	pasta_files_undo(out->folder, out->made, false);
	return -ENOMEM;
}

/* Creates the temporary file. If `path` is relative to a run, `run` is the run's folder; if the
 * user named `path`, `run` is NULL. */
static struct pasta_output *output_open(const char *run, const char *path, struct pasta_error *err)
{
	struct pasta_output *out = calloc(1, sizeof(*out));
	int error = -ENOMEM;

	if (out) {
		out->folder = -1;
		if (asprintf(&out->path, "%s%s%s", run ? run : "", run ? "/" : "", path) < 0)
			out->path = NULL;
	}
	if (out && out->path) {
		const char *in = out->path + (run ? strlen(run) + 1 : 0);

		out->folder = run ? pasta_files_folder_in(run, in, &out->name)
				  : pasta_files_folder_of(in, &out->name);
		error = output_make(out);
	}
	if (!error)
		return out;
	pasta_fail(err, error, "cannot write %s%s%s: %s", run ? run : "", run ? "/" : "", path,
		   error == -ELOOP ? pasta_files_why(error) : strerror(-error));
	output_free(out);
	return NULL;
}

struct pasta_output *pasta_output_open(const char *path, struct pasta_error *err)
{
	return output_open(NULL, path, err);
}

struct pasta_output *pasta_output_open_in(const char *run, const char *path,
					  struct pasta_error *err)
{
	return output_open(run, path, err);
}

FILE *pasta_output_file(struct pasta_output *out)
{
	return out->file;
}

const char *pasta_output_path(const struct pasta_output *out)
{
	return out->temp;
}

/* Flushes the content before the rename, so that a power failure cannot leave an empty file. */
static int output_settle(FILE *file)
{
	int error;

	if (fflush(file) || ferror(file))
		error = errno ? -errno : -EIO;
	else
		error = pasta_files_sync(fileno(file));
	if (fclose(file) && !error)
		error = -errno;
	return error;
}

int pasta_output_close(struct pasta_output *out, int error, struct pasta_error *err)
{
	int settled;

	errno = 0;
	settled = output_settle(out->file);
	out->file = NULL;
	/* Prefer the error from output_settle, which is more precise than the caller's -EIO. */
	if (settled)
		error = settled;
	if (!error)
		error = pasta_files_replace(out->folder, out->made, out->name);
	if (error) {
		pasta_files_undo(out->folder, out->made, false);
		pasta_fail(err, error, "cannot write %s: %s", out->path, strerror(-error));
	}
	output_free(out);
	return error;
}
