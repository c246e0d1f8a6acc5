/* import.c - detects the format of a file and converts it into a shard. */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/trace.h"
#include "process/io/files.h"

/* All formats, in the order in which they are tried. */
static const struct pasta_format *const formats[] = {
	&pasta_format_rocprof,
	&pasta_format_kineto,
	&pasta_format_chrome,
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

/* Returns the index of the file's format; FORMATS if the format is unknown. */
static size_t import_sniff(const struct pasta_tracefile *f)
{
	size_t i = 0;

	while (i < FORMATS && !formats[i]->sniff(f->data, f->size))
		i++;
	return i;
}

/* Opens a file and fills the window, so that the format can be detected. Reads a file that is
 * smaller than the window to its end. */
static int import_open_file(struct pasta_tracefile *f, const char *path, bool recover,
			    struct pasta_error *err)
{
	int r = pasta_tracefile_open(f, path, recover, err);

	while (!r && !f->end && f->size < f->capacity / 2)
		r = pasta_tracefile_more(f, 0, err);
	if (!r && f->size >= 3 && !memcmp(f->data, "\xef\xbb\xbf", 3))
		r = pasta_tracefile_more(f, 3, err);
	return r;
}

bool pasta_import_knows(const char *path)
{
	struct pasta_tracefile f = {0};
	struct pasta_error err = {0};
	bool known = !import_open_file(&f, path, true, &err) && import_sniff(&f) < FORMATS;

	pasta_tracefile_close(&f);
	return known;
}

static int import_refuse(const struct pasta_tracefile *f, struct pasta_error *err)
{
	const unsigned char *b = (const unsigned char *)f->data;
	char known[300] = "";

	for (size_t i = 0; i < FORMATS; i++) {
		strncat(known, i ? "; " : "", sizeof(known) - strlen(known) - 1);
		strncat(known, formats[i]->summary, sizeof(known) - strlen(known) - 1);
	}
	if (!f->size)
		return pasta_fail(err, -EMEDIUMTYPE, "%s is empty", f->path);
	if (f->size >= 2 &&
	    ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff) || !b[0] || !b[1]))
		return pasta_fail(
			err, -EMEDIUMTYPE,
			"%s: byte 0: the file is not UTF-8 text, but UTF-16, UTF-32 or binary; "
			"traces must be JSON in UTF-8",
			f->path);
	return pasta_fail(err, -EMEDIUMTYPE,
			  "%s is not a trace in a known format. Known formats, plain or "
			  "compressed with gzip or zstd: %s",
			  f->path, known);
}

static int import_parse(const struct pasta_format *format, struct pasta_tracefile *f,
			const struct pasta_import_to *to,
			const struct pasta_import_options *options, struct pasta_import_info *info,
			struct pasta_error *err)
{
	struct pasta_cursor c = {.file = f, .err = err, .recover = options->recover};
	struct pasta_trace t = {0};
	int fd = fcntl(to->fd, F_DUPFD_CLOEXEC, 3);
	int r = fd < 0 ? pasta_fail(err, -errno, "cannot write %s: %s", to->name, strerror(errno))
		       : pasta_trace_open(&t, fd, to->name, to->folder, options, info, err);

	info->format = format->name;
	t.cursor = &c;
	if (!r)
		r = format->parse(&t, &c);
	info->damaged = c.damaged + f->torn;
	info->damaged_bytes = c.damaged_bytes;
	if (t.err)
		pasta_trace_free(&t);
	pasta_cursor_free(&c);
	return r;
}

/* Puts the file's name in front of an error that does not contain it. */
static void name_file(const char *path, struct pasta_error *err)
{
	struct pasta_error was = *err;

	if (!strstr(was.text, path))
		pasta_fail(err, was.code, "%s: %s", path, was.text);
}

int pasta_import_into(const char *path, const struct pasta_import_to *to,
		      const struct pasta_import_options *options, struct pasta_import_info *info,
		      struct pasta_error *err)
{
	struct pasta_tracefile f = {0};
	size_t format;
	int r;

	memset(info, 0, sizeof(*info));
	r = import_open_file(&f, path, options->recover, err);
	if (!r) {
		format = import_sniff(&f);
		r = format < FORMATS ? import_parse(formats[format], &f, to, options, info, err)
				     : import_refuse(&f, err);
	}
	if (r)
		name_file(path, err);
	pasta_tracefile_close(&f);
	return r;
}

int pasta_import(const char *path, const char *shard, const struct pasta_import_options *options,
		 struct pasta_import_info *info, struct pasta_error *err)
{
	const char *name;
	int r, folder = pasta_files_folder_of(shard, &name);
	char *in = strndup(shard, (size_t)(name - shard));
	struct pasta_import_to to = {.name = shard, .folder = in && *in ? in : "."};

	memset(info, 0, sizeof(*info));
	to.fd = folder < 0 ? folder : in ? pasta_files_create(folder, name, 0666) : -ENOMEM;
	if (to.fd < 0) {
		r = pasta_fail(err, to.fd, "%s: cannot create %s: %s", path, shard,
			       strerror(-to.fd));
	} else {
		r = pasta_import_into(path, &to, options, info, err);
		close(to.fd);
		if (r)
			pasta_files_undo(folder, name, false);
	}
	if (folder >= 0)
		close(folder);
	free(in);
	return r;
}

void pasta_import_info_free(struct pasta_import_info *info)
{
	for (int i = 0; i < PASTA_IMPORT_LISTS; i++)
		free(info->lists[i]);
	memset(info, 0, sizeof(*info));
}
