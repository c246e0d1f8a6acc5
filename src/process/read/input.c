/* input.c - opens the input of a report as one stream: a run's folder, or single shards. */
#include "process/read/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/frame.h"
#include "process/io/files.h"
#include "process/read/run.h"
#include "process/read/recover.h"
#include "process/read/shard.h"
#include "process/run/tool.h"

static void input_warn(const struct pasta_input *in, const struct pasta_error *err)
{
	if (in->warn)
		in->warn(err->text);
}

void pasta_input_free(struct pasta_input *in)
{
	pasta_stream_free(in->stream);
	pasta_runinfo_free(&in->run);
	for (size_t i = 0; i < in->other_count; i++)
		pasta_runinfo_free(&in->others[i]);
	free(in->others);
	memset(in, 0, sizeof(*in));
}

/* Adds the description of another run. The input then owns the contents of info, even on
 * failure. */
static int input_add_other(struct pasta_input *in, struct pasta_runinfo *info)
{
	struct pasta_runinfo *more =
		realloc(in->others, (in->other_count + 1) * sizeof(*in->others));

	if (!more) {
		pasta_runinfo_free(info);
		return -ENOMEM;
	}
	in->others = more;
	in->others[in->other_count++] = *info;
	return 0;
}

/* Reads run.json. If that fails, the report still includes the events. Sets *is_run if the folder
 * has a run.json that accelprof wrote. */
static int input_add_info(struct pasta_input *in, const char *folder, bool *is_run)
{
	struct pasta_runinfo info = {0};
	struct pasta_error err = {0};
	int error = pasta_runinfo_load(&info, folder, &err);

	if (error && error != -ENOENT) {
		in->refused++;
		input_warn(in, &err);
	}
	*is_run = *is_run || !error || error == -EBADMSG;
	in->expected += !error && info.has_loss ? info.loss.expected : 0;
	in->made = info.shards > in->made ? info.shards : in->made;
	in->unnamed = error == -ENOENT;
	if (in->run.path)
		return input_add_other(in, &info);
	in->run = info;
	in->run.path = strdup(folder);
	return in->run.path ? 0 : -ENOMEM;
}

/* Warns if the most recently added shard is incomplete. `ended`: whether its process has ended and
 * its rings have been recovered. */
static void input_check_end(struct pasta_input *in, bool ended)
{
	const struct pasta_shard_info *info =
		pasta_stream_shard(in->stream, pasta_stream_shards(in->stream) - 1);
	struct pasta_error err = {0};

	if (ended && !info->ends)
		pasta_fail(&err, -ENODATA,
			   "%s has no end record: the shard was truncated, or its ring file was "
			   "removed; an unknown number of events is missing",
			   info->path);
	else if (info->missing)
		pasta_fail(&err, -ENODATA,
			   "%s is damaged: %llu of the records that define names, clocks, threads "
			   "or the process are missing",
			   info->path, (unsigned long long)info->missing);
	else
		return;
	in->refused++;
	input_warn(in, &err);
}

/* Returns the path of an earlier shard in the same folder with the same id, or NULL. Each process
 * has a unique id, so the later file is a copy, and its events must not be counted twice. But a
 * shard that the user names twice on the command line is read twice. */
static const char *input_original(const struct pasta_input *in,
				  const struct pasta_shard_parts *parts)
{
	static const uint8_t unknown[16];
	size_t i, count = pasta_stream_shards(in->stream);
	struct pasta_shard_head head;

	if (pasta_files_read_at(parts->file < 0 ? parts->tail : parts->file, &head, sizeof(head),
				0) != (ssize_t)sizeof(head) ||
	    !pasta_shard_head_ok(&head) || !memcmp(head.guid, unknown, sizeof(unknown)))
		return NULL;
	for (i = in->first; i < count; i++) {
		const struct pasta_shard_info *info = pasta_stream_shard(in->stream, i);

		if (!memcmp(info->guid, head.guid, sizeof(head.guid)))
			return info->path;
	}
	return NULL;
}

/* Adds an open shard, unless it is a copy of an earlier one. The stream then owns the descriptors,
 * even on failure. */
static int input_add_open_shard(struct pasta_input *in, const struct pasta_shard_parts *parts,
				struct pasta_error *err)
{
	const char *copied = input_original(in, parts);

	if (!copied)
		return pasta_stream_add_open(in->stream, parts, err);
	pasta_fail(err, -EEXIST, "%s is a copy of %s: skipped", parts->path, copied);
	if (parts->file >= 0)
		close(parts->file);
	if (parts->tail >= 0)
		close(parts->tail);
	return err->code;
}

/* Adds a shard, including the events in its ring file. Does not change any other file of the
 * folder. */
static int input_read_shard(struct pasta_input *in, int folder, const char *path, bool commit,
			    struct pasta_error *last)
{
	const char *slash = strrchr(path, '/');
	struct pasta_recovered recovered = {0};
	struct pasta_shard_parts parts;

	if (pasta_recover_shard(folder, slash ? slash + 1 : path, path, commit, &parts, &recovered,
				last)) {
		/* If the only error is that the recovered events could not be written to the
		 * shard, the report is still complete. */
		in->refused += recovered.failed || recovered.damaged || !recovered.unwritten;
		input_warn(in, last);
	}
	in->recovered += recovered.processes;
	in->alive += recovered.alive;
	in->unsure += recovered.unsure;
	if (parts.file < 0 && parts.tail < 0)
		return 0;
	if (input_add_open_shard(in, &parts, last))
		return last->code;
	in->shards++;
	input_check_end(in, !recovered.alive);
	return 0;
}

static bool input_has_suffix(const char *name, const char *end)
{
	size_t size = strlen(name), n = strlen(end);

	return size > n && !strcmp(name + size - n, end);
}

static bool input_is_shard_or_ring(const char *name)
{
	return input_has_suffix(name, ".pst") || input_has_suffix(name, PASTA_RECOVER_RING) ||
	       strstr(name, PASTA_RECOVER_DAMAGED);
}

static int input_by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Warns that a ring file is damaged. Each report of the run prints this warning, because some
 * events of the ring file cannot be recovered. */
static void input_warn_damaged(struct pasta_input *in, const char *folder, const char *name)
{
	struct pasta_error err = {0};

	pasta_fail(&err, -EBADMSG,
		   "%s/%s is a damaged ring file: the shard has only the events that could be read "
		   "from this file",
		   folder, name);
	in->refused++;
	input_warn(in, &err);
}

/* Lists the path of each shard once. A shard may exist only as a ring file. */
static int input_paths(struct pasta_input *in, int fd, const char *folder, char ***paths,
		       size_t *count, struct pasta_error *err)
{
	size_t all = 0, i, n = 0;
	char **names;
	int error = pasta_files_list(fd, input_is_shard_or_ring, &names, &all);

	*paths = error ? NULL : calloc(all + 1, sizeof(**paths));
	for (i = 0; *paths && i < all && !error; i++) {
		bool ring = input_has_suffix(names[i], PASTA_RECOVER_RING);

		if (!ring && !input_has_suffix(names[i], ".pst"))
			input_warn_damaged(in, folder, names[i]);
		else if (asprintf(&(*paths)[n], "%s/%.*s.pst", folder,
				  (int)(strlen(names[i]) - (ring ? 5 : 4)), names[i]) < 0)
			error = -ENOMEM;
		else
			n++;
	}
	pasta_files_list_free(names);
	if (!*paths || error) {
		*count = 0;
		return pasta_fail(err, error ? error : -ENOMEM, "cannot read %s: %s", folder,
				  strerror(error ? -error : ENOMEM));
	}
	qsort(*paths, n, sizeof(**paths), input_by_version);
	for (i = *count = 0; i < n; i++) {
		if (*count && !strcmp((*paths)[*count - 1], (*paths)[i]))
			free((*paths)[i]);
		else
			(*paths)[(*count)++] = (*paths)[i];
	}
	(*paths)[*count] = NULL;
	return 0;
}

/* Warns that the folder has fewer shards than its control page states. Each recorded process makes
 * one shard. */
static void input_warn_missing(struct pasta_input *in, const char *folder, uint64_t count)
{
	struct pasta_error err = {0};

	pasta_fail(&err, -ENODATA, "%s: shards are missing: %" PRIu64 ", with all their events",
		   folder, count);
	in->refused++;
	input_warn(in, &err);
}

/* Adds all shards of a folder. Warns about unreadable shards and continues. */
static int input_add_shards(struct pasta_input *in, int fd, const char *folder, bool commit,
			    struct pasta_error *err)
{
	size_t i, count, before = in->shards;
	struct pasta_error last = {0};
	char **paths = NULL;
	int error = input_paths(in, fd, folder, &paths, &count, err);

	in->first = pasta_stream_shards(in->stream);
	for (i = 0; !error && i < count; i++)
		if (input_read_shard(in, fd, paths[i], commit, &last)) {
			in->refused++;
			input_warn(in, &last);
		}
	if (!error && count && in->shards == before && last.code)
		error = pasta_fail(err, last.code, "%s: none of its %zu shards can be read", folder,
				   count);
	if (!error && count < in->made)
		input_warn_missing(in, folder, in->made - count);
	pasta_files_list_free(paths);
	return error;
}

/* Adds a note, unless another run has added the same note already. */
static void input_add_note(struct pasta_input *in, const char *note)
{
	size_t i = 0;

	while (i < PASTA_RUN_NOTES && *in->notes[i] && strcmp(in->notes[i], note) != 0)
		i++;
	if (i < PASTA_RUN_NOTES)
		memcpy(in->notes[i], note, sizeof(in->notes[i]));
}

/* Reads the control page. Returns 0 or a negative errno. */
static int input_add_health(struct pasta_input *in, const char *folder, bool *is_run)
{
	struct pasta_run_health health;
	int error = pasta_run_health(folder, &health);
	size_t i;

	if (error)
		return error;
	*is_run = true;
	in->made = health.shards;
	if (!*in->why)
		memcpy(in->why, health.message, sizeof(in->why));
	for (i = 0; i < PASTA_RUN_NOTES && *health.notes[i]; i++)
		input_add_note(in, health.notes[i]);
	in->failed += health.failed;
	in->dropped += health.dropped;
	return 0;
}

/* Warns if a run's control page cannot be read, because only the control page counts the events
 * that were not written to any shard. A folder that contains only shards has no control page. */
static void input_check_control(struct pasta_input *in, const char *folder, int error)
{
	struct pasta_error err = {0};

	if (!error || (error == -ENOENT && in->unnamed))
		return;
	pasta_fail(&err, error,
		   "cannot read %s/%s: %s; the handlers' notes are missing, and the number of "
		   "events that reached no shard is unknown",
		   folder, PASTA_RUN_CONTROL,
		   error == -EBADMSG ? "the file is damaged or has another version"
				     : pasta_files_why(error));
	in->refused++;
	input_warn(in, &err);
}

/* Warns that a folder has no run.json. The report is complete, so this does not count as damage. */
static void input_warn_no_info(const struct pasta_input *in, const char *folder)
{
	struct pasta_error err = {0};

	pasta_fail(&err, -ENOENT,
		   "%s has no %s: the command line and the types of counted memory accesses are "
		   "unknown",
		   folder, PASTA_RUN_INFO);
	input_warn(in, &err);
}

/* Adds a run, or a folder that contains shards. Writes to the run only if it belongs to this
 * user. */
static int input_add_folder(struct pasta_input *in, const char *folder, struct pasta_error *err)
{
	char *path = pasta_run_file(folder, PASTA_RUN_SHARDS);
	int fd = pasta_files_folder(folder), error;
	int shards = fd < 0 ? fd : pasta_files_subfolder(fd, PASTA_RUN_SHARDS);
	size_t before = in->shards;
	bool is_run = false;
	int control;

	in->made = 0;
	control = input_add_health(in, folder, &is_run);
	if (!path || input_add_info(in, folder, &is_run)) {
		error = pasta_fail(err, -ENOMEM, "out of memory");
	} else if (shards >= 0) {
		if (in->unnamed)
			input_warn_no_info(in, folder);
		input_check_control(in, folder, control);
		error = input_add_shards(in, shards, path, is_run, err);
	} else if (fd >= 0 && shards == -ENOENT) {
		if (!in->unnamed)
			input_check_control(in, folder, control);
		error = input_add_shards(in, fd, folder, false, err);
		if (!error && in->shards == before && in->unnamed)
			error = pasta_fail(err, -EINVAL,
					   "%s is not a run: it has neither run.json nor shards",
					   folder);
	} else {
		error = pasta_fail(err, shards, "cannot read %s: %s", path,
				   pasta_files_why(shards));
	}
	if (shards >= 0)
		close(shards);
	if (fd >= 0)
		close(fd);
	free(path);
	return error;
}

static int input_begin(struct pasta_input *in, struct pasta_error *err)
{
	if (!in->stream)
		in->stream = pasta_stream_new(0);
	return in->stream ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

int pasta_input_add_open(struct pasta_input *in, const struct pasta_shard_parts *parts,
			 struct pasta_error *err)
{
	int error = input_begin(in, err);

	if (!error)
		error = pasta_stream_add_open(in->stream, parts, err);
	else if (parts->file >= 0)
		close(parts->file);
	in->shards += !error;
	return error;
}

int pasta_input_describe(struct pasta_input *in, struct pasta_runinfo *info, const char *name,
			 struct pasta_error *err)
{
	int error = 0;

	if (in->run.path) {
		error = input_add_other(in, info);
	} else {
		in->run = *info;
		in->run.path = strdup(name);
		error = in->run.path ? 0 : -ENOMEM;
	}
	in->run.shards = in->shards;
	return error ? pasta_fail(err, error, "out of memory") : 0;
}

/* Adds a shard that the user named, including the events in its ring file. Writes no files, because
 * the shard's folder may not be a run. If the path is a symbolic link or does not end with .pst,
 * the ring file is not read. */
static int input_add_file(struct pasta_input *in, const char *path, struct pasta_error *err)
{
	struct pasta_shard_parts parts = {.path = path, .end = UINT64_MAX, .tail = -1};
	size_t before = in->shards, refused = in->refused;
	const char *name;
	struct stat st;
	int error, folder = -ENOENT;

	in->first = pasta_stream_shards(in->stream);
	if (!lstat(path, &st) && S_ISREG(st.st_mode) && input_has_suffix(path, ".pst"))
		folder = pasta_files_folder_of(path, &name);
	if (folder >= 0) {
		error = input_read_shard(in, folder, path, false, err);
		close(folder);
		if (!error && in->shards == before)
			error = pasta_fail(err, -EIO, "%s cannot be read", path);
		/* Do not count this error here: the caller counts and reports it. */
		in->refused = error ? refused : in->refused;
		return error;
	}
	parts.file = pasta_files_open_named(path, NULL);
	if (parts.file < 0)
		return pasta_fail(err, parts.file, "cannot open %s: %s", path,
				  pasta_files_why(parts.file));
	error = input_add_open_shard(in, &parts, err);
	if (error)
		return error;
	in->shards++;
	input_check_end(in, true);
	return 0;
}

int pasta_input_add(struct pasta_input *in, const char *path, struct pasta_error *err)
{
	struct stat st;
	int error = input_begin(in, err), folder;

	if (error)
		return error;
	folder = pasta_files_folder(path);
	if (folder < 0 && stat(path, &st))
		return pasta_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (folder >= 0)
		close(folder);
	if (folder >= 0 || S_ISDIR(st.st_mode)) {
		error = input_add_folder(in, path, err);
	} else {
		error = input_add_file(in, path, err);
		in->refused += error != 0;
		if (!error && input_add_other(in, &(struct pasta_runinfo){0}))
			error = pasta_fail(err, -ENOMEM, "out of memory");
	}
	/* Replace the number of shards from run.json, because shards may have been added after
	 * run.json was written. */
	in->run.shards = in->shards;
	return error;
}

int pasta_input_filter(struct pasta_input *in, struct pasta_filter *filter, struct pasta_error *err)
{
	size_t i, left = 0, count = in->stream ? pasta_stream_shards(in->stream) : 0;
	uint64_t start = in->run.start;

	in->filter = filter;
	if (!filter)
		return 0;
	for (i = 0; i < count; i++) {
		const struct pasta_shard_info *info = pasta_stream_shard(in->stream, i);

		if (!in->run.start && (!start || info->created < start))
			start = info->created;
		if (!pasta_filter_rank(filter, info->rank)) {
			pasta_stream_exclude(in->stream, i);
			left++;
		}
	}
	pasta_filter_start(filter, start);
	return left && left == count
		       ? pasta_fail(err, -ENOENT, "no process has the rank that --rank selects")
		       : 0;
}

static bool input_list_has(char *const *list, const char *name)
{
	while (list && *list && strcmp(*list, name) != 0)
		list++;
	return list && *list;
}

/* Returns whether the run's accesses were counted by another tool's reducer. The rows of that
 * reducer have the same format, but another meaning. */
static bool input_is_other_reducer(const struct pasta_runinfo *run, const struct pasta_tool *tool)
{
	return run->has_counted && run->counted & tool->needs & PASTA_NEED_ACCESS_OWN &&
	       !input_list_has(run->tools, tool->name);
}

static bool input_may_have_counted(const struct pasta_runinfo *run, const struct pasta_tool *tool)
{
	return !run->has_counted || (!(tool->needs & PASTA_NEEDS_ACCESSES & ~run->counted) &&
				     !input_is_other_reducer(run, tool));
}

enum pasta_counted pasta_input_counted(const struct pasta_input *in, const struct pasta_tool *tool)
{
	size_t i, first = in->run.path ? 0 : 1, counted = 0;
	bool mixed = false;

	for (i = first; i <= in->other_count; i++) {
		const struct pasta_runinfo *run = i ? &in->others[i - 1] : &in->run;
		bool may = input_may_have_counted(run, tool);

		counted += may;
		mixed = mixed || (!may && run->counted);
	}
	if (counted == i - first)
		return PASTA_COUNTED_ALL;
	if (!counted)
		return PASTA_COUNTED_NONE;
	return mixed ? PASTA_COUNTED_OTHER : PASTA_COUNTED_SOME;
}

bool pasta_input_sampled(const struct pasta_input *in)
{
	bool sampled = in->run.sampled;

	for (size_t i = 0; i < in->other_count; i++)
		sampled = sampled || in->others[i].sampled;
	return sampled;
}
