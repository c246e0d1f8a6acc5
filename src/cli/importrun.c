/* importrun.c - imports other profilers' traces. */
#include "cli/importrun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/openrun.h"
#include "core/frame.h"
#include "process/io/files.h"
#include "process/read/runinfo.h"
#include "process/read/shard.h"

void pasta_importrun_free(struct pasta_importrun *im)
{
	for (size_t i = 0; i < im->count; i++) {
		free(im->files[i]);
		if (im->infos)
			pasta_import_info_free(&im->infos[i]);
	}
	free(im->infos);
	free(im->files);
	memset(im, 0, sizeof(*im));
}

/* -- Which files -- */

static bool importrun_is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Returns whether a file is a shard. A pipe is never a shard, and is not opened, because it can be
 * read only once. */
static bool importrun_is_shard(const char *path)
{
	char magic[sizeof(PASTA_SHARD_MAGIC) - 1];
	int fd = pasta_files_open_named(path, NULL);
	bool is = fd >= 0 &&
		  pasta_files_read_at(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		  !memcmp(magic, PASTA_SHARD_MAGIC, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

/* Returns whether the file's name looks like that of a trace. The folder may contain other files,
 * too; the importer checks the content later. */
static bool importrun_has_trace_name(const char *name)
{
	static const char *const ends[] = {".json", ".json.gz", ".json.zst"};
	size_t size = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);

		if (size > n && !strcmp(name + size - n, ends[i]) &&
		    strcmp(name, PASTA_RUN_INFO) != 0)
			return true;
	}
	return false;
}

/* List the traces of a folder. The caller frees *names with pasta_files_list_free. Returns 0 or a
 * negative errno. */
static int importrun_list_traces(const char *path, char ***names, size_t *count)
{
	int folder = pasta_files_folder(path);
	int error = folder < 0 ? folder
			       : pasta_files_list(folder, importrun_has_trace_name, names, count);

	if (folder >= 0)
		close(folder);
	return error;
}

static bool importrun_has(const char *folder, const char *name)
{
	char *path = pasta_run_file(folder, name);
	bool there = path && !access(path, F_OK);

	free(path);
	return there;
}

bool pasta_importrun_is(const char *path)
{
	char **names;
	size_t count;

	if (!importrun_is_folder(path))
		return !access(path, R_OK) && !importrun_is_shard(path);
	if (importrun_has(path, PASTA_RUN_INFO) || importrun_has(path, PASTA_RUN_SHARDS) ||
	    importrun_list_traces(path, &names, &count))
		return false;
	pasta_files_list_free(names);
	return count;
}

static int importrun_add_file(struct pasta_importrun *im, char *path, struct pasta_error *err)
{
	if (path && im->count == im->capacity) {
		size_t n = im->capacity ? 2 * im->capacity : 16;
		void *files = reallocarray(im->files, n, sizeof(*im->files));

		if (files)
			im->files = files;
		im->capacity = files ? n : im->capacity;
	}
	if (!path || im->count == im->capacity) {
		free(path);
		return pasta_fail(err, -ENOMEM, "out of memory");
	}
	im->files[im->count++] = path;
	return 0;
}

/* Returns whether the file has a known format. A FIFO is not opened, so its format counts as
 * unknown. */
static bool importrun_is_trace(const char *path)
{
	int fd = pasta_files_open_named(path, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && pasta_import_knows(path);
}

static int importrun_add_folder(struct pasta_importrun *im, const char *folder,
				struct pasta_error *err)
{
	size_t before = im->count, count = 0;
	char **names = NULL;
	int r = importrun_list_traces(folder, &names, &count);

	if (r)
		return pasta_fail(err, r, "cannot read %s: %s", folder, strerror(-r));
	for (size_t i = 0; !r && i < count; i++) {
		char *path = pasta_run_file(folder, names[i]);

		if (path && !importrun_is_trace(path)) {
			pasta_cli_message("skipped %s: the file is not a trace in a known format",
					  path);
			free(path);
		} else {
			r = importrun_add_file(im, path, err);
		}
	}
	pasta_files_list_free(names);
	if (!r && im->count == before)
		return pasta_fail(
			err, -ENOENT,
			"%s contains no traces: no file name ends in .json, .json.gz or .json.zst",
			folder);
	return r;
}

int pasta_importrun_add(struct pasta_importrun *im, const char *path, struct pasta_error *err)
{
	return importrun_is_folder(path) ? importrun_add_folder(im, path, err)
					 : importrun_add_file(im, strdup(path), err);
}

/* -- Importing -- */

struct watch {
	struct pasta_progress progress;
	char what[80];
};

static bool importrun_go_on(void *ctx, uint64_t done, uint64_t total)
{
	struct watch *w = ctx;

	pasta_progress_show(&w->progress, w->what, done, total);
	return !pasta_openrun_stop(NULL);
}

static const char *importrun_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Returns a path such as "0-train-rank0.pst". The number preserves the order of the files, and
 * makes the name unique. */
static char *importrun_shard_name(const struct pasta_run *run, const char *file, size_t number)
{
	const char *base = importrun_base_name(file), *end = strstr(base, ".json");
	char *path;

	return asprintf(&path, "%s/" PASTA_RUN_SHARDS "/%zu-%.*s.pst", run->path, number,
			end && end - base < 100 ? (int)(end - base) : 100, base) < 0
		       ? NULL
		       : path;
}

/* Import file i into a shard of the run; if `run` is NULL, into fd. */
static int importrun_import_file(struct pasta_importrun *im, const struct pasta_run *run, int fd,
				 size_t i, struct pasta_error *err)
{
	struct watch w = {.progress = pasta_progress_begin()};
	const struct pasta_import_to to = {.fd = fd, .name = "a temporary file"};
	struct pasta_import_options options = im->options;
	char *shard = run ? importrun_shard_name(run, im->files[i], i) : NULL;
	int r;

	if (run && !shard)
		return pasta_fail(err, -ENOMEM, "out of memory");
	snprintf(w.what, sizeof(w.what), "importing %.60s", importrun_base_name(im->files[i]));
	options.go_on = importrun_go_on;
	options.ctx = &w;
	r = run ? pasta_import(im->files[i], shard, &options, &im->infos[i], err)
		: pasta_import_into(im->files[i], &to, &options, &im->infos[i], err);
	pasta_progress_erase(&w.progress);
	free(shard);
	return r;
}

static void importrun_put_counts(struct pasta_json *j, const char *name,
				 const struct pasta_import_info *info, enum pasta_import_list list)
{
	pasta_json_key(j, name);
	pasta_json_map(j);
	for (size_t i = 0; i < info->counts[list]; i++) {
		pasta_json_key(j, info->lists[list][i].name);
		pasta_json_uint(j, info->lists[list][i].count);
	}
	pasta_json_map_end(j);
}

static void importrun_put_uint(struct pasta_json *j, const char *name, uint64_t value)
{
	pasta_json_key(j, name);
	pasta_json_uint(j, value);
}

static void importrun_put_imports(struct pasta_json *j, const void *ctx)
{
	const struct pasta_importrun *im = ctx;

	pasta_json_key(j, "import");
	pasta_json_list(j);
	for (size_t i = 0; i < im->count; i++) {
		const struct pasta_import_info *info = &im->infos[i];

		pasta_json_map(j);
		pasta_json_key(j, "file");
		pasta_json_str(j, importrun_base_name(im->files[i]));
		pasta_json_key(j, "format");
		pasta_json_str(j, info->format);
		importrun_put_uint(j, "events", info->events);
		importrun_put_counts(j, "counts", info, PASTA_IMPORT_FOUND);
		importrun_put_counts(j, "left_out", info, PASTA_IMPORT_LEFT_OUT);
		importrun_put_counts(j, "unknown", info, PASTA_IMPORT_UNKNOWN);
		importrun_put_uint(j, "damaged", info->damaged);
		importrun_put_uint(j, "damaged_bytes", info->damaged_bytes);
		importrun_put_uint(j, "invalid", info->invalid);
		importrun_put_uint(j, "crossed", info->crossed);
		pasta_json_key(j, "lacks");
		pasta_json_list(j);
		for (size_t k = 0; info->lacks[k]; k++)
			pasta_json_str(j, info->lacks[k]);
		pasta_json_list_end(j);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static int importrun_describe(struct pasta_importrun *im, struct pasta_runinfo *info,
			      struct pasta_error *err)
{
	*info = (struct pasta_runinfo){.shards = im->count};
	info->version = strdup(PASTA_VERSION_STRING);
	if (im->infos[0].host && *im->infos[0].host)
		info->host = strdup(im->infos[0].host);
	for (size_t i = 0; i < im->count; i++) {
		if (!info->start || im->infos[i].begin < info->start)
			info->start = im->infos[i].begin;
		if (im->infos[i].end > info->end)
			info->end = im->infos[i].end;
		info->kinds |= im->infos[i].kinds;
	}
	return info->version ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static int importrun_save_info(struct pasta_importrun *im, const struct pasta_run *run,
			       struct pasta_error *err)
{
	char *file = pasta_run_file(run->path, PASTA_RUN_INFO);
	struct pasta_runinfo info;
	int r = importrun_describe(im, &info, err);

	info.more = importrun_put_imports;
	info.more_ctx = im;
	if (!r)
		r = file ? pasta_runinfo_save(&info, file, err)
			 : pasta_fail(err, -ENOMEM, "out of memory");
	free(file);
	pasta_runinfo_free(&info);
	return r;
}

int pasta_importrun_run(struct pasta_importrun *im, const struct pasta_run *run,
			struct pasta_error *err)
{
	int r = 0;

	im->infos = calloc(im->count + 1, sizeof(*im->infos));
	if (!im->infos)
		return pasta_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < im->count; i++)
		r = importrun_import_file(im, run, -1, i, err);
	return r ? r : importrun_save_info(im, run, err);
}

int pasta_importrun_input(struct pasta_importrun *im, struct pasta_input *in,
			  struct pasta_error *err)
{
	struct pasta_runinfo info = {0};
	int r = 0;

	im->infos = calloc(im->count + 1, sizeof(*im->infos));
	if (!im->infos)
		return pasta_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < im->count; i++) {
		struct pasta_shard_parts parts = {
			.path = im->files[i], .end = UINT64_MAX, .tail = -1};

		parts.file = pasta_files_temporary(NULL);
		if (parts.file < 0)
			return pasta_fail(err, parts.file,
					  "cannot create a temporary file for the import (%s): "
					  "set TMPDIR to a writable folder",
					  strerror(-parts.file));
		r = importrun_import_file(im, NULL, parts.file, i, err);
		if (r)
			close(parts.file);
		else
			r = pasta_input_add_open(in, &parts, err);
	}
	if (!r)
		r = importrun_describe(im, &info, err);
	if (!r)
		return pasta_input_describe(in, &info, im->files[0], err);
	pasta_runinfo_free(&info);
	return r;
}

/* -- Messages -- */

/* Print which data the traces lack. Print each item only once, because the files of a job usually
 * lack the same data. */
static void importrun_print_lacks(const struct pasta_importrun *im)
{
	char text[800];
	size_t at = 0;

	for (size_t i = 0; i < im->count; i++) {
		for (size_t k = 0; im->infos[i].lacks[k]; k++) {
			const char *what = im->infos[i].lacks[k];
			bool printed = false;

			for (size_t e = 0; e < i && !printed; e++)
				for (size_t l = 0; im->infos[e].lacks[l] && !printed; l++)
					printed = !strcmp(im->infos[e].lacks[l], what);
			if (!printed && at < sizeof(text))
				at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
						       at ? "; " : "", what);
		}
	}
	if (at)
		pasta_cli_message("%s no: %s", im->count > 1 ? "the traces have" : "the trace has",
				  text);
}

static void importrun_print_counts(const char *file, const struct pasta_import_info *info,
				   enum pasta_import_list list, const char *what)
{
	char text[600];
	size_t at = 0;

	for (size_t i = 0; i < info->counts[list] && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s: %" PRIu64,
				       at ? ", " : "", info->lists[list][i].name,
				       info->lists[list][i].count);
	if (at)
		pasta_cli_message("%s: %s: %s", importrun_base_name(file), what, text);
}

void pasta_importrun_print_losses(const struct pasta_importrun *im)
{
	for (size_t i = 0; i < im->count; i++) {
		const struct pasta_import_info *info = &im->infos[i];

		importrun_print_counts(im->files[i], info, PASTA_IMPORT_UNKNOWN,
				       "skipped unknown events");
		if (info->damaged || info->invalid)
			pasta_cli_message("%s: recovered: skipped %" PRIu64
					  " damaged parts (%" PRIu64 " bytes) and %" PRIu64
					  " invalid records",
					  importrun_base_name(im->files[i]), info->damaged,
					  info->damaged_bytes, info->invalid);
		if (info->crossed)
			pasta_cli_message(
				"%s: %llu spans ended after the span that encloses them, and were "
				"shortened",
				importrun_base_name(im->files[i]),
				(unsigned long long)info->crossed);
	}
	importrun_print_lacks(im);
}
