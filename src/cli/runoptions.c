/* runoptions.c - parses the options of accelprof run and checks that they do not contradict each
 * other. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/runjob.h"
#include "collect/control.h"
#include "process/io/parse.h"
#include "process/io/suggest.h"
#include "process/run/isolate.h"

#define RUN_ROWS 20 /* maximum number of rows of a table, so that the report fits on a screen */
#define WINDOW_MAX (UINT64_C(3650) * 86400 * 1000000000) /* ns: ten years */

/* Kinds with the times of work on devices and of API calls. The level "count" does not record
 * them. */
#define TIMES                                                                                      \
	(PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) | PASTA_MASK(SYNC) |              \
	 PASTA_MASK(API) | PASTA_MASK(UVM))

/* Kinds that only a few tools need. The level "full" adds them. */
#define DETAILS (PASTA_MASK(LINK) | PASTA_MASK(QUEUE) | PASTA_MASK(EVENT_RECORD))

static const struct pasta_runlevel levels[] = {
	{"count", PASTA_MASK(LAUNCH), TIMES},
	{"trace", 0, 0},
	{"full", PASTA_MASK(LAUNCH) | TIMES | DETAILS, 0},
};

void pasta_runoptions_init(struct pasta_runjob *job)
{
	pasta_reportrun_init(&job->report, RUN_ROWS);
	job->report.sink_opts.brief = true;
	job->level = &levels[1];
}

/* Returns the mask of the kind with this name; for "all", the mask of all kinds; 0 if there is no
 * such kind. */
static uint64_t runoptions_kind(const char *name)
{
	unsigned int kind;

	if (!strcmp(name, "all"))
		return UINT64_MAX;
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_kind_name(kind) && !strcmp(pasta_kind_name(kind), name))
			return UINT64_C(1) << kind;
	return 0;
}

static int runoptions_unknown_kind(const char *name, struct pasta_error *err)
{
	struct pasta_suggest suggest = {.word = name};
	char text[PASTA_SUGGEST_SIZE];
	unsigned int kind;

	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		pasta_suggest_add(&suggest, pasta_kind_name(kind));
	return pasta_fail(err, -EINVAL,
			  "unknown kind '%s'%s --record needs all, or a list of kinds such as "
			  "region,kernel",
			  name,
			  suggest.best ? pasta_suggest_text(&suggest, text, sizeof(text)) : ":");
}

/* Parse the argument of --record: "all", or kinds separated by commas. */
static int runoptions_record(struct pasta_runjob *job, const char *arg, struct pasta_error *err)
{
	char *list = strdup(arg), *rest = list, *name;
	int error = list ? 0 : pasta_fail(err, -ENOMEM, "out of memory");

	while (!error && (name = strsep(&rest, ","))) {
		uint64_t bit = runoptions_kind(name);

		job->record |= bit;
		if (!bit)
			error = runoptions_unknown_kind(name, err);
	}
	free(list);
	return error;
}

static int runoptions_memory(struct pasta_runjob *job, const char *arg, struct pasta_error *err)
{
	uint64_t bytes;

	if (pasta_parse_size(arg, &bytes) || bytes < PASTA_MEMORY_MIN)
		return pasta_fail(err, -EINVAL,
				  "--memory needs a size like 64M, at least 1M (bytes, or with a "
				  "suffix K, M, G or T), not '%s'",
				  arg);
	snprintf(job->memory_text, sizeof(job->memory_text), "%" PRIu64, bytes);
	job->memory = job->memory_text;
	return 0;
}

/* Parse "native" or "native=PERIOD". Returns false for any other text. */
static bool runoptions_native(struct pasta_runjob *job, const char *name)
{
	size_t period = 0;

	if (strncmp(name, "native", 6) != 0 || (name[6] && name[6] != '='))
		return false;
	if (name[6] && (pasta_cli_count(name + 7, &period) || !period || period > UINT32_MAX))
		return false;
	job->native = true;
	job->period = period;
	return true;
}

static int runoptions_stacks(struct pasta_runjob *job, const char *arg, struct pasta_error *err)
{
	char *list = strdup(arg), *rest = list, *name;
	int error = list ? 0 : pasta_fail(err, -ENOMEM, "out of memory");

	while (!error && (name = strsep(&rest, ","))) {
		if (!strcmp(name, "python"))
			job->python = true;
		else if (!strcmp(name, "modules"))
			job->modules = true;
		else if (!runoptions_native(job, name))
			error = pasta_fail(err, -EINVAL,
					   "--stacks needs a list of native, native=PERIOD, "
					   "python and modules, not '%s'",
					   arg);
	}
	free(list);
	return error;
}

static int runoptions_delay(struct pasta_runjob *job, const char *arg, struct pasta_error *err)
{
	if (pasta_parse_time(arg, &job->delay) || job->delay > WINDOW_MAX)
		return pasta_fail(err, -EINVAL, "--delay needs a time like 10s, not '%s'", arg);
	return 0;
}

static int runoptions_duration(struct pasta_runjob *job, const char *arg, struct pasta_error *err)
{
	if (pasta_parse_time(arg, &job->duration) || !job->duration || job->duration > WINDOW_MAX)
		return pasta_fail(err, -EINVAL, "--duration needs a time like 10s, not '%s'", arg);
	return 0;
}

static int runoptions_level(struct pasta_runjob *job, const char *arg, struct pasta_error *err)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (!strcmp(arg, levels[i].name)) {
			job->level = &levels[i];
			return 0;
		}
	return pasta_fail(err, -EINVAL, "--level needs count, trace or full, not '%s'", arg);
}

int pasta_runoptions_set(struct pasta_runjob *job, int id, const char *arg, struct pasta_error *err)
{
	switch (id) {
	case 'o':
		job->dir = arg;
		return 0;
	case 'q':
		job->quiet = true;
		return 0;
	case PASTA_RUNJOB_RECORD:
		return runoptions_record(job, arg, err);
	case PASTA_RUNJOB_PAUSED:
		job->paused = true;
		return 0;
	case PASTA_RUNJOB_SAVE_MODULES:
		job->save_modules = true;
		return 0;
	case PASTA_RUNJOB_MEMORY:
		return runoptions_memory(job, arg, err);
	case PASTA_RUNJOB_STACKS:
		return runoptions_stacks(job, arg, err);
	case PASTA_RUNJOB_LEVEL:
		return runoptions_level(job, arg, err);
	case PASTA_RUNJOB_DELAY:
		return runoptions_delay(job, arg, err);
	case PASTA_RUNJOB_DURATION:
		return runoptions_duration(job, arg, err);
	case PASTA_RUNJOB_SAMPLE:
		return pasta_cli_accesses_sample(&job->accesses, arg, err);
	case PASTA_RUNJOB_ALL:
		job->accesses.all = true;
		return 0;
	case PASTA_RUNJOB_INEXACT:
		job->accesses.inexact = true;
		return 0;
	case PASTA_RUNJOB_PROCESSOR:
		return pasta_cli_accesses_processor(&job->accesses, arg, err);
	case PASTA_RUNJOB_SHARE:
		job->run.shared = true;
		return 0;
	case PASTA_RUNJOB_LOSSY:
		job->accesses.lossy = true;
		return 0;
	default:
		return pasta_reportrun_option(&job->report, id, arg, err);
	}
}

/* accelprof run prints its report on stderr, for which a format that lists all events is too
 * long. */
static int runoptions_check_format(const struct pasta_runjob *job, struct pasta_error *err)
{
	if (!job->report.sink->events)
		return 0;
	return pasta_fail(err, -EINVAL,
			  "'accelprof run' cannot write the format %s: run the program first, then "
			  "use 'accelprof report RUN --format %s -o FILE'",
			  job->report.sink->name, job->report.sink->name);
}

/* Return an error if the level excludes a kind that --record names, or all kinds that a tool
 * needs. */
static int runoptions_check_level(const struct pasta_runjob *job, struct pasta_error *err)
{
	const struct pasta_choice *choice = &job->report.choice;
	const char *level = job->level->name;
	size_t i;

	if (job->record & job->level->without)
		return pasta_fail(err, -EINVAL,
				  "--level %s does not record the kinds of events that --record "
				  "enables: remove one of the two options",
				  level);
	for (i = 0; i < choice->count; i++) {
		const struct pasta_tool *tool = choice->tools[i].tool;
		uint64_t kinds = pasta_tool_subscribed(tool);

		if (kinds & job->level->without &&
		    !(kinds & ~(job->level->without | PASTA_RUNJOB_ALWAYS)))
			return pasta_fail(err, -EINVAL,
					  "--level %s records nothing that tool %s shows: use "
					  "'--level trace'",
					  level, tool->name);
	}
	return 0;
}

int pasta_runoptions_check(struct pasta_runjob *job, struct pasta_error *err)
{
	int error = runoptions_check_format(job, err);

	error = error ? error : pasta_reportrun_check(&job->report, err);
	error = error ? error : pasta_reportrun_choose(&job->report, NULL, err);
	error = error ? error : runoptions_check_level(job, err);
	error = error ? error : pasta_cli_accesses_choose(&job->accesses, &job->report, err);
	return error ? error : pasta_isolate_try(&job->report.choice, err);
}
