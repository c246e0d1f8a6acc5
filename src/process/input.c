/* input.c - what a report is made of: a run's folder, or shards by name, as one stream. */
#include "process/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/run.h"
#include "process/salvage.h"
#include "process/tool.h"

static void warn(const struct pasta_input *in, const struct pasta_err *err)
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

/* What is in the info is the input's, whatever happens. */
static int add_other(struct pasta_input *in, struct pasta_runinfo *info)
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

/* A damaged run.json costs what it said, not the events. */
static int add_info(struct pasta_input *in, const char *folder)
{
	char *file = pasta_run_file(folder, PASTA_RUN_INFO);
	struct pasta_runinfo info = {0};
	struct pasta_err err = {0};

	if (!file)
		return -ENOMEM;
	if (pasta_runinfo_load(&info, file, &err) && err.code != -ENOENT) {
		in->refused++;
		warn(in, &err);
	}
	free(file);
	if (in->run.path)
		return add_other(in, &info);
	in->run = info;
	in->run.path = strdup(folder);
	return in->run.path ? 0 : -ENOMEM;
}

static void salvage(struct pasta_input *in, const char *shards)
{
	struct pasta_salvaged salvaged = {0};
	struct pasta_err err = {0};

	/* What lies in rings can be read later, by someone who may write here. */
	if (access(shards, W_OK))
		return;
	if (pasta_salvage_sweep(shards, &salvaged, &err) || salvaged.failed)
		warn(in, &err);
	in->salvaged += salvaged.processes;
	in->alive += salvaged.alive;
}

/* All shards of a folder; those that are no shards are told and passed over. */
static int add_shards(struct pasta_input *in, const char *folder, struct pasta_err *err)
{
	size_t i, count, before = in->shards;
	struct pasta_err last = {0};
	char **paths;
	int error = pasta_run_shards(folder, &paths, &count, err);

	for (i = 0; !error && i < count; i++) {
		if (!pasta_stream_add(in->stream, paths[i], &last)) {
			in->shards++;
			continue;
		}
		in->refused++;
		warn(in, &last);
	}
	if (!error && count && in->shards == before)
		error = pasta_fail(err, last.code, "%s: none of its %zu shards can be read", folder,
				   count);
	pasta_run_shards_free(paths);
	return error;
}

/* Several runs may say the same. */
static void add_note(struct pasta_input *in, const char *note)
{
	size_t i = 0;

	while (i < PASTA_RUN_NOTES && *in->notes[i] && strcmp(in->notes[i], note) != 0)
		i++;
	if (i < PASTA_RUN_NOTES)
		memcpy(in->notes[i], note, sizeof(in->notes[i]));
}

static void add_health(struct pasta_input *in, const char *folder)
{
	struct pasta_run_health health;
	size_t i;

	if (!pasta_run_health(folder, &health))
		return;
	if (!*in->why)
		memcpy(in->why, health.message, sizeof(in->why));
	for (i = 0; i < PASTA_RUN_NOTES && *health.notes[i]; i++)
		add_note(in, health.notes[i]);
	in->failed += health.failed;
	in->lost += health.lost;
}

/* Shards alone are no run, and lack nothing. */
static void warn_missing(const struct pasta_input *in, const char *folder)
{
	struct pasta_err err = {0};

	pasta_fail(&err, -ENOENT,
		   "%s has no " PASTA_RUN_INFO
		   ": what was run, and what was counted of memory accesses, is not known",
		   folder);
	warn(in, &err);
}

static int add_folder(struct pasta_input *in, const char *folder, struct pasta_err *err)
{
	char *shards = pasta_run_file(folder, PASTA_RUN_SHARDS);
	char *info = pasta_run_file(folder, PASTA_RUN_INFO);
	size_t before = in->shards;
	int error;

	add_health(in, folder);
	if (!shards || !info || add_info(in, folder)) {
		error = pasta_fail(err, -ENOMEM, "out of memory");
	} else if (!access(shards, F_OK)) {
		if (access(info, F_OK))
			warn_missing(in, folder);
		salvage(in, shards);
		error = add_shards(in, shards, err);
	} else {
		error = errno == ENOENT ? add_shards(in, folder, err)
					: pasta_fail(err, -errno, "cannot read %s: %s", shards,
						     strerror(errno));
		if (!error && in->shards == before && access(info, F_OK))
			error = pasta_fail(err, -EINVAL,
					   "%s is no run: it has neither run.json nor shards",
					   folder);
	}
	free(shards);
	free(info);
	return error;
}

int pasta_input_add(struct pasta_input *in, const char *path, struct pasta_err *err)
{
	struct stat st;
	int error;

	if (!in->stream)
		in->stream = pasta_stream_new(0);
	if (!in->stream)
		return pasta_fail(err, -ENOMEM, "out of memory");
	if (stat(path, &st))
		return pasta_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		error = add_folder(in, path, err);
	} else {
		error = pasta_stream_add(in->stream, path, err);
		in->shards += !error;
		in->refused += error != 0;
		if (!error && add_other(in, &(struct pasta_runinfo){0}))
			error = pasta_fail(err, -ENOMEM, "out of memory");
	}
	in->run.shards = in->shards; /* a run.json may be of before the last were written */
	return error;
}

int pasta_input_filter(struct pasta_input *in, struct pasta_filter *filter, struct pasta_err *err)
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
			pasta_stream_leave_out(in->stream, i);
			left++;
		}
	}
	pasta_filter_start(filter, start);
	return left && left == count ? pasta_fail(err, -ENOENT, "no process has such a --rank") : 0;
}

static bool has(char *const *list, const char *name)
{
	while (list && *list && strcmp(*list, name) != 0)
		list++;
	return list && *list;
}

/* Rows of one tool's own reducer look like another's, and say nothing to it. */
static bool is_others(const struct pasta_runinfo *run, const struct pasta_tool *tool)
{
	return run->has_counted && run->counted & tool->needs & PASTA_NEED_ACCESS_OWN &&
	       !has(run->tools, tool->name);
}

static bool may_have_counted(const struct pasta_runinfo *run, const struct pasta_tool *tool)
{
	return !run->has_counted ||
	       (!(tool->needs & PASTA_NEEDS_ACCESSES & ~run->counted) && !is_others(run, tool));
}

enum pasta_counted pasta_input_counted(const struct pasta_input *in, const struct pasta_tool *tool)
{
	size_t i, first = in->run.path ? 0 : 1, counted = 0;
	bool mixed = false;

	for (i = first; i <= in->other_count; i++) {
		const struct pasta_runinfo *run = i ? &in->others[i - 1] : &in->run;
		bool may = may_have_counted(run, tool);

		counted += may;
		mixed = mixed || (!may && run->counted);
	}
	if (counted == i - first)
		return PASTA_COUNTED_ALL;
	if (!counted)
		return PASTA_COUNTED_NONE;
	return mixed ? PASTA_COUNTED_OTHER : PASTA_COUNTED_SOME;
}
