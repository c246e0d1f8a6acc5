/* importing.c - other profilers' files made into a run. */
#include "cli/importing.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "core/frame.h"
#include "process/runinfo.h"

void pasta_importing_free(struct pasta_importing *im)
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

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* What comes through a pipe comes once: it is not looked at, and is no shard. */
static bool is_shard(const char *path)
{
	char magic[sizeof(PASTA_SHARD_MAGIC) - 1];
	struct stat st;
	FILE *f = !stat(path, &st) && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
	bool is = f && fread(magic, 1, sizeof(magic), f) == sizeof(magic) &&
		  !memcmp(magic, PASTA_SHARD_MAGIC, sizeof(magic));

	if (f)
		fclose(f);
	return is;
}

/* By its name, for a folder may hold much else; the content is asked later. */
static int may_be_trace(const struct dirent *entry)
{
	static const char *const ends[] = {".json", ".json.gz", ".json.zst"};
	size_t size = strlen(entry->d_name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);

		if (size > n && !strcmp(entry->d_name + size - n, ends[i]) &&
		    strcmp(entry->d_name, PASTA_RUN_INFO) != 0)
			return 1;
	}
	return 0;
}

static bool has(const char *folder, const char *name)
{
	char *path = pasta_run_file(folder, name);
	bool there = path && !access(path, F_OK);

	free(path);
	return there;
}

bool pasta_importing_is(const char *path)
{
	struct dirent **entries = NULL;
	int n;

	if (!is_folder(path))
		return !access(path, R_OK) && !is_shard(path);
	if (has(path, PASTA_RUN_INFO) || has(path, PASTA_RUN_SHARDS))
		return false;
	n = scandir(path, &entries, may_be_trace, versionsort);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return n > 0;
}

static int add_file(struct pasta_importing *im, char *path, struct pasta_err *err)
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

static int add_folder(struct pasta_importing *im, const char *folder, struct pasta_err *err)
{
	struct dirent **entries = NULL;
	int r = 0, n = scandir(folder, &entries, may_be_trace, versionsort);
	size_t before = im->count;

	if (n < 0)
		return pasta_fail(err, -errno, "cannot read %s: %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *path = pasta_run_file(folder, entries[i]->d_name);

		free(entries[i]);
		if (!r && path && !pasta_import_knows(path)) {
			pasta_cli_say("%s is passed over: it is no trace that can be imported",
				      path);
			free(path);
		} else if (!r) {
			r = add_file(im, path, err);
		} else {
			free(path);
		}
	}
	free(entries);
	if (!r && im->count == before)
		return pasta_fail(
			err, -ENOENT,
			"%s has no traces: files that end in .json, .json.gz or .json.zst", folder);
	return r;
}

int pasta_importing_add(struct pasta_importing *im, const char *path, struct pasta_err *err)
{
	return is_folder(path) ? add_folder(im, path, err) : add_file(im, strdup(path), err);
}

/* -- Importing -- */

struct watch {
	struct pasta_progress progress;
	char what[80];
};

static bool go_on(void *ctx, uint64_t done, uint64_t total)
{
	struct watch *w = ctx;

	pasta_progress_show(&w->progress, w->what, done, total);
	return !pasta_reading_stop(NULL);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "0-train-rank0.pst": the number keeps the order, and names apart. */
static char *shard_name(const struct pasta_run *run, const char *file, size_t number)
{
	const char *base = base_name(file), *end = strstr(base, ".json");
	char *path;

	return asprintf(&path, "%s/" PASTA_RUN_SHARDS "/%zu-%.*s.pst", run->path, number,
			end && end - base < 100 ? (int)(end - base) : 100, base) < 0
		       ? NULL
		       : path;
}

static int import_one(struct pasta_importing *im, const struct pasta_run *run, size_t i,
		      struct pasta_err *err)
{
	struct watch w = {.progress = pasta_progress_begin()};
	struct pasta_import_options options = im->options;
	char *shard = shard_name(run, im->files[i], i);
	int r;

	if (!shard)
		return pasta_fail(err, -ENOMEM, "out of memory");
	snprintf(w.what, sizeof(w.what), "importing %.60s", base_name(im->files[i]));
	options.go_on = go_on;
	options.ctx = &w;
	r = pasta_import(im->files[i], shard, &options, &im->infos[i], err);
	pasta_progress_erase(&w.progress);
	free(shard);
	return r;
}

static void put_counts(struct pasta_json *j, const char *name, const struct pasta_import_info *info,
		       enum pasta_import_list list)
{
	pasta_json_key(j, name);
	pasta_json_map(j);
	for (size_t i = 0; i < info->counts[list]; i++) {
		pasta_json_key(j, info->lists[list][i].name);
		pasta_json_uint(j, info->lists[list][i].count);
	}
	pasta_json_map_end(j);
}

static void put_uint(struct pasta_json *j, const char *name, uint64_t value)
{
	pasta_json_key(j, name);
	pasta_json_uint(j, value);
}

static void put_imports(struct pasta_json *j, const void *ctx)
{
	const struct pasta_importing *im = ctx;

	pasta_json_key(j, "import");
	pasta_json_list(j);
	for (size_t i = 0; i < im->count; i++) {
		const struct pasta_import_info *info = &im->infos[i];

		pasta_json_map(j);
		pasta_json_key(j, "file");
		pasta_json_str(j, base_name(im->files[i]));
		pasta_json_key(j, "format");
		pasta_json_str(j, info->format);
		put_uint(j, "events", info->events);
		put_counts(j, "counts", info, PASTA_IMPORT_FOUND);
		put_counts(j, "left_out", info, PASTA_IMPORT_LEFT_OUT);
		put_counts(j, "unknown", info, PASTA_IMPORT_UNKNOWN);
		put_uint(j, "damaged", info->damaged);
		put_uint(j, "damaged_bytes", info->damaged_bytes);
		put_uint(j, "invalid", info->invalid);
		put_uint(j, "crossed", info->crossed);
		pasta_json_key(j, "lacks");
		pasta_json_list(j);
		for (size_t k = 0; info->lacks[k]; k++)
			pasta_json_str(j, info->lacks[k]);
		pasta_json_list_end(j);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static int save_info(struct pasta_importing *im, const struct pasta_run *run, struct pasta_err *err)
{
	struct pasta_runinfo info = {.more = put_imports, .more_ctx = im, .shards = im->count};
	char *file = pasta_run_file(run->path, PASTA_RUN_INFO), host[256] = "";
	int r;

	info.version = strdup(PASTA_VERSION_STRING);
	info.cwd = NULL;
	if (im->infos[0].host && *im->infos[0].host)
		snprintf(host, sizeof(host), "%s", im->infos[0].host);
	info.host = *host ? strdup(host) : NULL;
	for (size_t i = 0; i < im->count; i++) {
		if (!info.start || im->infos[i].begin < info.start)
			info.start = im->infos[i].begin;
		if (im->infos[i].end > info.end)
			info.end = im->infos[i].end;
		info.kinds |= im->infos[i].kinds;
	}
	r = file && info.version ? pasta_runinfo_save(&info, file, err)
				 : pasta_fail(err, -ENOMEM, "out of memory");
	free(file);
	pasta_runinfo_free(&info);
	return r;
}

int pasta_importing_run(struct pasta_importing *im, const struct pasta_run *run,
			struct pasta_err *err)
{
	int r = 0;

	im->infos = calloc(im->count + 1, sizeof(*im->infos));
	if (!im->infos)
		return pasta_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < im->count; i++)
		r = import_one(im, run, i, err);
	return r ? r : save_info(im, run, err);
}

/* -- What is to be said -- */

/* Files of one job mostly lack the same: it is said once. */
static void say_lacks(const struct pasta_importing *im)
{
	char text[800];
	size_t at = 0;

	for (size_t i = 0; i < im->count; i++) {
		for (size_t k = 0; im->infos[i].lacks[k]; k++) {
			const char *what = im->infos[i].lacks[k];
			bool said = false;

			for (size_t e = 0; e < i && !said; e++)
				for (size_t l = 0; im->infos[e].lacks[l] && !said; l++)
					said = !strcmp(im->infos[e].lacks[l], what);
			if (!said && at < sizeof(text))
				at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
						       at ? "; " : "", what);
		}
	}
	if (at)
		pasta_cli_say("%s does not have: %s", im->count > 1 ? "the source" : "the trace",
			      text);
}

static void say_counts(const char *file, const struct pasta_import_info *info,
		       enum pasta_import_list list, const char *what)
{
	char text[600];
	size_t at = 0;

	for (size_t i = 0; i < info->counts[list] && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s: %" PRIu64,
				       at ? ", " : "", info->lists[list][i].name,
				       info->lists[list][i].count);
	if (at)
		pasta_cli_say("%s: %s: %s", base_name(file), what, text);
}

void pasta_importing_say(const struct pasta_importing *im)
{
	for (size_t i = 0; i < im->count; i++) {
		const struct pasta_import_info *info = &im->infos[i];

		say_counts(im->files[i], info, PASTA_IMPORT_UNKNOWN, "not known");
		if (info->damaged || info->invalid)
			pasta_cli_say("%s: salvaged: %" PRIu64 " damaged places (%" PRIu64
				      " bytes) and %" PRIu64
				      " records that make no sense were passed over",
				      base_name(im->files[i]), info->damaged, info->damaged_bytes,
				      info->invalid);
		if (info->crossed)
			pasta_cli_say("%s: %" PRIu64
				      " spans cross the end of one around them, and are cut there",
				      base_name(im->files[i]), info->crossed);
	}
	say_lacks(im);
}
