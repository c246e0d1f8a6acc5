/* run.c - accelprof run: a program, with the agent in it, recorded into a folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/accesses.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/listener.h"
#include "cli/reportrun.h"
#include "collect/channel.h"
#include "collect/control.h"
#include "process/read/input.h"
#include "process/run/isolate.h"
#include "process/io/output.h"
#include "process/io/parse.h"
#include "process/read/run.h"
#include "process/join/correlate.h"
#include "process/read/runinfo.h"
#include "process/read/recover.h"

/* State is always recorded; so are iterations, which cost nothing and divide everything. Tensors
 * are not: to know them makes an operator twice as dear. */
#define ALWAYS                                                                                     \
	(PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(MODULE) | PASTA_MASK(GRAPH) |           \
	 PASTA_MASK(DEVICE) | PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) | PASTA_MASK(CLOCK) |       \
	 PASTA_MASK(LOSS) | PASTA_MASK(ITERATION))

/* Times of devices and of calls: what counting launches does without. */
#define TIMES                                                                                      \
	(PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) | PASTA_MASK(SYNC) |              \
	 PASTA_MASK(API) | PASTA_MASK(UVM))

/* And what is rarely asked for. */
#define DETAILS (PASTA_MASK(LINK) | PASTA_MASK(QUEUE) | PASTA_MASK(EVENT_RECORD))

#define RUN_ROWS 20 /* with a table at exit that fits a screen */
#define WINDOW_MAX (UINT64_C(3650) * 86400 * 1000000000) /* ns: ten years are for ever */
#define REPORT_GRACE 2 /* s: who pressed Ctrl-C to end the program still wants its report */

enum {
	RECORD = 256,
	PAUSED,
	MEMORY,
	STACKS,
	LEVEL,
	DELAY,
	DURATION,
	KEEP,
	SAMPLE,
	ALL,
	INEXACT,
	PROCESSOR,
	LOSSY,
	SHARE,
};
enum { ENV = 24 }; /* variables that the program gets */

/* How much is recorded of what devices do. */
static const struct level {
	const char *name;
	uint64_t with, without;
} levels[] = {
	{"count", PASTA_MASK(LAUNCH), TIMES},
	{"trace", 0, 0},
	{"full", PASTA_MASK(LAUNCH) | TIMES | DETAILS, 0},
};

struct job {
	struct pasta_show show;
	const char *dir;    /* -o */
	uint64_t record;    /* --record */
	uint64_t asked;	    /* kinds that the options ask for */
	const char *memory; /* bytes, as text */
	char memory_text[24];
	bool native, python, modules; /* --stacks */
	size_t period;		      /* of native ones; 0: not told */
	char stacks[64];
	const struct level *level;
	uint64_t delay, duration; /* ns; duration 0: to the end */
	char window[48];
	struct pasta_cli_accesses accesses;
	bool paused, quiet, keep;
	char **args, **argv; /* accelprof's, the program's */

	char *agent, *shards, *info_file, *lists[ENV];
	struct pasta_run run;
	struct pasta_runinfo info;
	struct pasta_child child;
	struct pasta_listener *listener;
	time_t ended;
	bool unsaved; /* run.json could not be written, and that was said */
	uint64_t alive, failed;
	bool told; /* handlers said what they could not do */
};

static uint64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* -- Options -- */

static uint64_t kind_bit(const char *name)
{
	unsigned int kind;

	if (!strcmp(name, "all"))
		return UINT64_MAX;
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_kind_name(kind) && !strcmp(pasta_kind_name(kind), name))
			return UINT64_C(1) << kind;
	return 0;
}

static int parse_record(struct job *job, const char *arg, struct pasta_error *err)
{
	char *list = strdup(arg), *rest = list, *name;
	int error = list ? 0 : pasta_fail(err, -ENOMEM, "out of memory");

	while (!error && (name = strsep(&rest, ","))) {
		uint64_t bit = kind_bit(name);

		job->record |= bit;
		if (!bit)
			error = pasta_fail(
				err, -EINVAL,
				"unknown kind '%s': it is all, or kinds like region,kernel", name);
	}
	free(list);
	return error;
}

static int parse_memory(struct job *job, const char *arg, struct pasta_error *err)
{
	uint64_t bytes;

	if (pasta_parse_size(arg, &bytes) || bytes < PASTA_MEMORY_MIN)
		return pasta_fail(err, -EINVAL,
				  "--memory needs a size like 64M, at least 1M (K, M, G and T are "
				  "suffixes; without one it is bytes), not '%s'",
				  arg);
	snprintf(job->memory_text, sizeof(job->memory_text), "%" PRIu64, bytes);
	job->memory = job->memory_text;
	return 0;
}

static bool parse_native(struct job *job, const char *name)
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

static int parse_stacks(struct job *job, const char *arg, struct pasta_error *err)
{
	char *list = strdup(arg), *rest = list, *name;
	int error = list ? 0 : pasta_fail(err, -ENOMEM, "out of memory");

	while (!error && (name = strsep(&rest, ","))) {
		if (!strcmp(name, "python"))
			job->python = true;
		else if (!strcmp(name, "modules"))
			job->modules = true;
		else if (!parse_native(job, name))
			error = pasta_fail(err, -EINVAL,
					   "--stacks is native, native=PERIOD, python or modules, "
					   "or some of them with commas, not '%s'",
					   arg);
	}
	free(list);
	return error;
}

/* What was asked for, and what the tools need. NULL: none. */
static const char *stacks(struct job *job)
{
	uint64_t needs = pasta_choice_needs(&job->show.choice);
	bool python = job->python || needs & PASTA_NEED_PYTHON;
	bool modules = job->modules || needs & PASTA_NEED_MODULES;
	char native[32] = "";

	if (job->native && job->period)
		snprintf(native, sizeof(native), ",native=%zu", job->period);
	else if (job->native)
		snprintf(native, sizeof(native), ",native");
	snprintf(job->stacks, sizeof(job->stacks), "%s%s%s", native, python ? ",python" : "",
		 modules ? ",modules" : "");
	return *job->stacks ? job->stacks + 1 : NULL;
}

static int parse_delay(struct job *job, const char *arg, struct pasta_error *err)
{
	if (pasta_parse_time(arg, &job->delay) || job->delay > WINDOW_MAX)
		return pasta_fail(err, -EINVAL, "--delay needs a time like 10s, not '%s'", arg);
	return 0;
}

static int parse_duration(struct job *job, const char *arg, struct pasta_error *err)
{
	if (pasta_parse_time(arg, &job->duration) || !job->duration || job->duration > WINDOW_MAX)
		return pasta_fail(err, -EINVAL, "--duration needs a time like 10s, not '%s'", arg);
	return 0;
}

static int parse_level(struct job *job, const char *arg, struct pasta_error *err)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (!strcmp(arg, levels[i].name)) {
			job->level = &levels[i];
			return 0;
		}
	return pasta_fail(err, -EINVAL, "--level is count, trace or full, not '%s'", arg);
}

static int option(struct job *job, int id, const char *arg, struct pasta_error *err)
{
	switch (id) {
	case 'o':
		job->dir = arg;
		return 0;
	case 'q':
		job->quiet = true;
		return 0;
	case RECORD:
		return parse_record(job, arg, err);
	case PAUSED:
		job->paused = true;
		return 0;
	case KEEP:
		job->keep = true;
		return 0;
	case MEMORY:
		return parse_memory(job, arg, err);
	case STACKS:
		return parse_stacks(job, arg, err);
	case LEVEL:
		return parse_level(job, arg, err);
	case DELAY:
		return parse_delay(job, arg, err);
	case DURATION:
		return parse_duration(job, arg, err);
	case SAMPLE:
		return pasta_cli_accesses_sample(&job->accesses, arg, err);
	case ALL:
		job->accesses.all = true;
		return 0;
	case INEXACT:
		job->accesses.inexact = true;
		return 0;
	case PROCESSOR:
		return pasta_cli_accesses_processor(&job->accesses, arg, err);
	case SHARE:
		job->run.shared = true;
		return 0;
	case LOSSY:
		job->accesses.lossy = true;
		return 0;
	default:
		return pasta_reportrun_option(&job->show, id, arg, err);
	}
}

/* The events themselves are many, and stderr is for people. */
static int check_format(const struct job *job, struct pasta_error *err)
{
	if (!job->show.sink->events)
		return 0;
	return pasta_fail(err, -EINVAL,
			  "%s is a format of report: run first, then 'accelprof report RUN "
			  "--format %s -o FILE'",
			  job->show.sink->name, job->show.sink->name);
}

/* What a level leaves out must not be asked for by name, nor be all that a tool is about. */
static int check_level(const struct job *job, struct pasta_error *err)
{
	const struct pasta_choice *choice = &job->show.choice;
	const char *level = job->level->name;
	size_t i;

	if (job->record & job->level->without)
		return pasta_fail(err, -EINVAL,
				  "--level %s leaves out what --record asks for: choose one",
				  level);
	for (i = 0; i < choice->count; i++) {
		const struct pasta_tool *tool = choice->tools[i].tool;
		uint64_t wants = pasta_tool_subscribed(tool);

		if (wants & job->level->without && !(wants & ~(job->level->without | ALWAYS)))
			return pasta_fail(err, -EINVAL,
					  "--level %s leaves out all that %s is about: use --level "
					  "trace",
					  level, tool->name);
	}
	return 0;
}

/* -- Before -- */

static char **copy_list(char *const *list)
{
	size_t i, n = 0;
	char **copy;

	while (list[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (i = 0; copy && i < n; i++)
		copy[i] = strdup(list[i]);
	return copy;
}

static void describe(struct job *job)
{
	struct pasta_runinfo *info = &job->info;
	size_t i, n = job->show.choice.count;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	info->path = strdup(job->run.path);
	info->command = copy_list(job->argv);
	info->cwd = getcwd(NULL, 0);
	info->host = strdup(host);
	info->version = strdup(PASTA_VERSION_STRING);
	info->tools = calloc(n + 1, sizeof(*info->tools));
	for (i = 0; info->tools && i < n; i++)
		info->tools[i] = strdup(job->show.choice.tools[i].tool->name);
	job->asked = pasta_choice_events(&job->show.choice) | job->record |
		     pasta_cli_accesses_kinds(&job->accesses);
	if (pasta_filter_needs(job->show.filter))
		job->asked |= pasta_correlate_kinds(true);
	info->kinds = (job->asked | ALWAYS | job->level->with) & ~job->level->without;
	info->has_counted = true;
	info->counted = job->accesses.needs;
	info->start = realtime();
	info->more = pasta_cli_accesses_json;
	info->more_ctx = &job->accesses;
}

static int prepare(struct job *job, struct pasta_error *err)
{
	int error;

	job->agent = pasta_cli_agent(err);
	if (!job->agent)
		return err->code;
	error = pasta_run_create(&job->run, job->dir, err);
	if (error)
		return error;
	job->shards = pasta_run_file(job->run.path, PASTA_RUN_SHARDS);
	job->info_file = pasta_run_file(job->run.path, PASTA_RUN_INFO);
	describe(job);
	if (!job->shards || !job->info_file)
		error = pasta_fail(err, -ENOMEM, "out of memory");
	else
		error = pasta_runinfo_save(&job->info, job->info_file, err);
	if (error)
		pasta_run_remove(&job->run);
	return error;
}

/* A library before what is in the list already; NULL when out of memory. */
static char *listed(const char *variable, const char *library)
{
	const char *old = getenv(variable);
	char *list;

	if (asprintf(&list, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0)
		return NULL;
	return list;
}

static int add_list(struct job *job, struct pasta_child_env *env, const char *variable,
		    const char *library, struct pasta_error *err)
{
	size_t n = 0;

	while (env[n].name)
		n++;
	if (n + 1 == ENV)
		return pasta_fail(err, -E2BIG, "too many handlers for the environment");
	env[n].name = variable;
	env[n].value = job->lists[n] = listed(variable, library);
	return env[n].value ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

/* The agent in the place of a library, of which it is told. */
static int add_one(struct job *job, struct pasta_child_env *env, const struct pasta_handler *h,
		   struct pasta_error *err)
{
	const char *old = getenv(h->env);
	size_t n = 0;

	while (env[n].name)
		n++;
	if (n + 2 >= ENV)
		return pasta_fail(err, -E2BIG, "too many handlers for the environment");
	env[n] = (struct pasta_child_env){h->env, job->agent};
	/* A run within a run: the agent does not load itself. */
	if (old && *old && strcmp(old, job->agent) != 0)
		env[n + 1] = (struct pasta_child_env){h->env_other, old};
	return 0;
}

/* What lies beside the agent; NULL when out of memory. */
static char *beside(const char *agent, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s/%s", (int)(strrchr(agent, '/') - agent), agent, name) < 0)
		return NULL;
	return path;
}

static int add_preload(struct job *job, struct pasta_child_env *env, const char *name,
		       struct pasta_error *err)
{
	char *path = beside(job->agent, name);
	int error = 0;

	if (!path)
		return pasta_fail(err, -ENOMEM, "out of memory");
	if (!access(path, R_OK)) /* else the dynamic loader would complain, in the program's name */
		error = add_list(job, env, "LD_PRELOAD", path, err);
	free(path);
	return error;
}

/* The way in is missing, as beside an agent that was moved, and somebody asks for what comes in. */
static void say_missing(const struct job *job, const struct pasta_handler *h)
{
	bool asked = job->asked & PASTA_MASK(OP_BEGIN) || job->python || job->modules;
	char why[700] = "";

	if (asked && h->probe && h->probe(why, sizeof(why)))
		pasta_cli_message("not recorded: %s: %s", h->summary, why);
}

static int add_folder(struct job *job, struct pasta_child_env *env, const struct pasta_handler *h,
		      struct pasta_error *err)
{
	char *path = beside(job->agent, h->folder), *real = path ? realpath(path, NULL) : NULL;
	int error = 0;

	if (!path)
		error = pasta_fail(err, -ENOMEM, "out of memory");
	say_missing(job, h);
	if (real && !strchr(real, ':')) /* the list cannot hold it */
		error = add_list(job, env, h->env, real, err);
	free(real);
	free(path);
	return error;
}

/* How each handler's vendor is told to load the agent. */
static int add_handlers(struct job *job, struct pasta_child_env *env, struct pasta_error *err)
{
	const struct pasta_handler *const *all = pasta_cli_handlers(job->agent, err),
					  *const * handler;
	int error = 0;

	if (!all)
		return err->code;
	for (handler = all; !error && *handler; handler++) {
		const char *preload = (*handler)->preload ? (*handler)->preload() : NULL;

		if (preload)
			error = add_preload(job, env, preload, err);
		else if ((*handler)->env_other)
			error = add_one(job, env, *handler, err);
		else if ((*handler)->folder)
			error = add_folder(job, env, *handler, err);
		else if ((*handler)->env)
			error = add_list(job, env, (*handler)->env, job->agent, err);
	}
	if (!error)
		pasta_cli_accesses_check(&job->accesses, &job->show.choice, all);
	if (!error && job->accesses.every && !job->quiet)
		pasta_cli_message("accesses of every launch are counted, not of some: tool %s needs it",
			      job->accesses.every);
	return error;
}

/* From now on, by a clock that is the same in all the program's processes. NULL: all of it. */
static const char *window(struct job *job)
{
	struct timespec t;
	uint64_t opens;

	if (!job->delay && !job->duration)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	opens = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + job->delay;
	snprintf(job->window, sizeof(job->window), "%" PRIu64 "-%" PRIu64, opens,
		 job->duration ? opens + job->duration : 0);
	return job->window;
}

static int start(struct job *job, struct pasta_error *err)
{
	char kinds[24], asked[24];
	struct pasta_child_env env[ENV] = {
		{PASTA_ENV_AGENT, job->agent},
		{PASTA_ENV_RUN, job->run.path},
		{PASTA_ENV_CHANNEL, pasta_listener_name(job->listener)},
		{PASTA_ENV_KINDS, kinds},
		{PASTA_ENV_ASKED, asked},
		{PASTA_ENV_MEMORY, job->memory},
		{PASTA_ENV_PAUSED, job->paused ? "1" : NULL},
		{PASTA_ENV_STACKS, stacks(job)},
		{PASTA_ENV_WINDOW, window(job)},
		{PASTA_ENV_KEEP, job->keep ? "1" : NULL},
		{PASTA_ENV_ACCESSES, pasta_cli_accesses_words(&job->accesses)},
		{PASTA_ENV_ACCESS_KERNEL, job->accesses.kernel},
		{PASTA_ENV_ACCESS_EXCLUDE, job->accesses.exclude},
		{PASTA_ENV_REDUCER, job->accesses.reducer},
	};
	int status = PASTA_CLI_NOT_STARTED;

	snprintf(kinds, sizeof(kinds), "%" PRIx64, job->info.kinds);
	snprintf(asked, sizeof(asked), "%" PRIx64, job->asked);
	if (!add_handlers(job, env, err))
		status = pasta_child_start(&job->child, job->args, job->argv, env, err);
	if (status)
		pasta_run_remove(&job->run);
	return status;
}

/* -- While it runs, and after -- */

/* Dead children's rings must not pile up. What fails now is tried again, and told, at the end. */
static void sweep(void *ctx)
{
	struct pasta_recovered recovered = {0};
	struct pasta_error err = {0};
	struct job *job = ctx;

	pasta_recover_sweep(job->shards, &recovered, &err);
}

static void save_info(struct job *job)
{
	struct pasta_error err = {0};

	if (!pasta_runinfo_save(&job->info, job->info_file, &err) || job->unsaved)
		return;
	job->unsaved = true;
	pasta_cli_message("%s", err.text);
}

static void save_report(const struct job *job, const struct pasta_result *result)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_output *out =
		pasta_output_open_in(job->run.path, PASTA_RUN_RESULTS "/report.json", &err);
	int error;

	if (out) {
		error = pasta_sink_json.write(pasta_output_file(out), result, &opts, &err);
		pasta_output_close(out, error, error ? NULL : &err);
	}
	if (err.code)
		pasta_cli_message("%s", err.text);
}

/* In one piece: the program's children may still use this terminal. Where stderr cannot be
 * written to there is nobody to tell. */
static void print(const struct job *job, const struct pasta_result *result)
{
	struct pasta_error err = {0};
	size_t size = 0, at = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	if (file)
		pasta_reportrun_print(&job->show, file, STDERR_FILENO, result, &err);
	if ((!file || fclose(file)) && !err.code)
		pasta_fail(&err, -errno, "cannot show the report: %s", strerror(errno));
	while (!err.code && at < size) {
		ssize_t n = write(STDERR_FILENO, text + at, size - at);

		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	if (err.code)
		pasta_cli_message("%s", err.text);
	free(text);
}

static bool asked_to_end(void *ctx)
{
	const struct job *job = ctx;
	struct timespec now;

	/* Take the signals all the same: what came in the first moments was for the program. */
	bool asked = pasta_child_asked_to_end(&job->child);

	clock_gettime(CLOCK_MONOTONIC, &now);
	return asked && now.tv_sec > job->ended + REPORT_GRACE;
}

static void warn(const char *line)
{
	pasta_cli_message("%s", line);
}

/* What processes that can write nothing into the run have lost. It belongs on the control page, for
 * later reports. */
static void add_heard(struct job *job)
{
	struct pasta_listener_heard heard;
	int error;

	pasta_listener_ask(job->listener, &heard);
	error = pasta_run_add_failed(job->run.path, heard.processes, heard.lost, heard.why);
	if (error)
		pasta_cli_message("processes that could not record: %" PRIu32 ", with %" PRIu64
			      " events (%s); that cannot be noted in %s: %s",
			      heard.processes, heard.lost, heard.why, job->run.path,
			      strerror(-error));
}

/* Read what was recorded and show it. Returns how many events were dropped. */
static uint64_t report(struct job *job)
{
	struct pasta_input in = {.warn = warn};
	struct pasta_result result = {0};
	struct pasta_error err = {0};
	uint64_t dropped = 0;
	int error = pasta_input_add(&in, job->run.path, &err);

	job->info.shards = in.shards;
	job->alive = in.alive;
	job->failed = in.failed;
	job->told = *in.notes[0];
	pasta_reportrun_trouble(&in);
	if (!error) {
		error = pasta_reportrun_read(&job->show, &in, &result, asked_to_end, job, &err);
		dropped = result.loss.dropped;
	}
	result.run = &job->info;
	job->info.has_loss = !error;
	job->info.loss = result.loss;
	save_info(job);
	if (!error)
		save_report(job, &result);
	if (error && error != -EINTR)
		pasta_cli_message("cannot report: %s", err.text);
	else if (!error && pasta_filter_missed(job->show.filter, &err))
		pasta_cli_message("%s", err.text);
	else if (!job->quiet && in.shards)
		print(job, &result);
	pasta_reportrun_failures(&result);
	pasta_result_free(&result);
	pasta_input_free(&in);
	return dropped;
}

static const char *short_path(const struct job *job)
{
	size_t size = job->info.cwd ? strlen(job->info.cwd) : 0;
	const char *path = job->run.path;

	return size > 1 && !strncmp(path, job->info.cwd, size) && path[size] == '/'
		       ? path + size + 1
		       : path;
}

static void say_end(const struct job *job)
{
	if (job->child.unrecorded)
		pasta_cli_message("the program ran unrecorded: its arguments and environment are too "
			      "large for AccelProf's variables beside them; unset variables, pass "
			      "fewer arguments, or raise the limit ('ulimit -s')");
	if (job->quiet)
		return;
	if (job->alive)
		pasta_cli_message("still running, and recording: %" PRIu64
			      " of the program's processes; "
			      "'accelprof report %s' shows more later",
			      job->alive, short_path(job));
	else if (!job->info.shards && !job->failed && !job->told && !job->child.unrecorded)
		pasta_cli_message("nothing was recorded: the program used no device and never called "
			      "<pasta/annotate.h>; 'accelprof doctor' says what works here");
	pasta_cli_message("run saved in %s", short_path(job));
}

/* All that is left to do when the program has ended; its status is returned, or ours. */
static int finish(struct job *job, int status)
{
	struct timespec now;
	uint64_t dropped;

	clock_gettime(CLOCK_MONOTONIC, &now);
	job->ended = now.tv_sec;
	job->info.end = realtime();
	job->info.exited = WIFEXITED(status);
	job->info.signaled = WIFSIGNALED(status);
	job->info.status = job->info.exited ? WEXITSTATUS(status) : 0;
	job->info.signal = job->info.signaled ? WTERMSIG(status) : 0;
	save_info(job); /* whatever happens to the report */
	add_heard(job);
	dropped = report(job);
	say_end(job);
	if (!job->info.signaled && !job->info.status && job->show.strict && dropped)
		return PASTA_CLI_LOSS;
	return job->info.status;
}

static void job_free(struct job *job)
{
	pasta_reportrun_free(&job->show);
	pasta_listener_free(job->listener);
	pasta_run_free(&job->run);
	pasta_runinfo_free(&job->info);
	pasta_cli_accesses_free(&job->accesses);
	for (size_t i = 0; i < ENV; i++)
		free(job->lists[i]);
	free(job->agent);
	free(job->shards);
	free(job->info_file);
}

static int run(struct job *job)
{
	struct pasta_error err = {0};
	int status, ended;

	pasta_child_hold(&job->child);
	job->listener = pasta_listener_new();
	if (prepare(job, &err)) {
		pasta_cli_message("%s", err.text);
		return PASTA_CLI_NOT_STARTED;
	}
	status = start(job, &err);
	if (status) {
		pasta_cli_message("%s", err.text);
		return status;
	}
	ended = pasta_child_wait(&job->child, sweep, job);
	return finish(job, ended);
}

static int main_(int argc, char **argv)
{
	struct pasta_error err = {0};
	struct job job = {.level = &levels[1]};
	const char *arg;
	int id, first, status, sig;

	pasta_reportrun_init(&job.show, RUN_ROWS);
	job.show.sink_opts.brief = true;
	while ((id = pasta_cli_next(&pasta_verb_run, argc, argv, &arg, &first)) > 0)
		if (option(&job, id, arg, &err))
			return pasta_cli_usage(&pasta_verb_run, "%s", err.text);
	if (id < 0)
		return first;
	if (first == argc)
		return pasta_cli_usage(&pasta_verb_run, "say which program to run");
	if (check_format(&job, &err) || pasta_reportrun_check(&job.show, &err) ||
	    pasta_reportrun_choose(&job.show, NULL, &err) || check_level(&job, &err) ||
	    pasta_cli_accesses_choose(&job.accesses, &job.show, &err) ||
	    pasta_isolate_try(&job.show.choice, &err)) {
		job_free(&job);
		return pasta_cli_usage(&pasta_verb_run, "%s", err.text);
	}
	job.args = argv;
	job.argv = argv + first;
	status = run(&job);
	sig = job.info.signaled ? job.info.signal : 0;
	job_free(&job);
	if (sig)
		pasta_child_die(sig);
	return status;
}

static const struct pasta_cli_option options[] = {
	PASTA_SHOW_OPTIONS(PASTA_SINK_RESULT_NAMES),
	{'o', "output", "DIR", "the run's folder (default: accelprof-run-N here)"},
	{SHARE, "share", NULL, "let others read the folder, as the umask has it"},
	{RECORD, "record", "all|KIND,...", "record these too, whatever the tools want"},
	{LEVEL, "level", "count|trace|full", "launches alone; times too (default); calls too"},
	{PAUSED, "paused", NULL, "record no activity until the program calls pasta_start()"},
	{DELAY, "delay", "TIME", "record no activity before this time (such as 10s)"},
	{DURATION, "duration", "TIME", "record activity for so long"},
	{MEMORY, "memory", "SIZE", "memory for events in each process (such as 64M; at least 1M)"},
	{STACKS, "stacks", "LIST", "where work comes from: native[=PERIOD],python,modules"},
	{KEEP, "keep-modules", NULL, "keep copies of the code that devices run"},
	{SAMPLE, "sample", "LIST",
	 "count accesses of launches=K of each kernel and shape (default: 3), of blocks=1/N"},
	{ALL, "all", NULL, "count accesses of every launch"},
	{INEXACT, "inexact", NULL, "and of kernels that may then round otherwise"},
	{PROCESSOR, "processor", "gpu|cpu|both|auto",
	 "who counts accesses of GPUs (default: auto)"},
	{LOSSY, "lossy", NULL, "rather lose single accesses than let kernels wait"},
	{'q', "quiet", NULL, "say nothing but errors"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_run = {
	.name = "run",
	.summary = "run a program and record what it does",
	.usage = "[OPTIONS] [--] PROGRAM ARGS...",
	.more = "The program keeps its stdin, stdout, stderr, signals and exit status; the report goes\n"
		"to stderr. Exit status: the program's; 125 if accelprof failed before it started, 126\n"
		"if it cannot be executed, 127 if it is not found, 2 for wrong usage.\n",
	.options = options,
	.stop_early = true,
	.main = main_,
};
