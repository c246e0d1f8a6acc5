/* runenv.c - prepares the environment in which the program loads the agent, and starts the
 * program. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/runjob.h"
#include "collect/channel.h"
#include "collect/control.h"

/* Returns the value of PASTA_STACKS: the types of stacks that --stacks and the tools request.
 * Returns NULL if they request none. */
static const char *runenv_stacks(struct pasta_runjob *job)
{
	uint64_t needs = pasta_choice_needs(&job->report.choice);
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

/* Returns the value of PASTA_WINDOW: the times at which recording starts and stops, on a clock that
 * all processes of the program share. Returns NULL if the whole program is recorded. */
static const char *runenv_window(struct pasta_runjob *job)
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

/* Returns a list that consists of the library, followed by the libraries that the variable already
 * lists. Returns NULL when out of memory. The caller frees the text. */
static char *runenv_prepend(const char *variable, const char *library)
{
	const char *old = getenv(variable);
	char *list;

	if (asprintf(&list, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0)
		return NULL;
	return list;
}

static int runenv_add_list(struct pasta_runjob *job, struct pasta_child_env *env,
			   const char *variable, const char *library, struct pasta_error *err)
{
	size_t n = 0;

	while (env[n].name)
		n++;
	if (n + 1 == PASTA_RUNJOB_ENV)
		return pasta_fail(err, -E2BIG, "the handlers need too many environment variables");
	env[n].name = variable;
	env[n].value = job->lists[n] = runenv_prepend(variable, library);
	return env[n].value ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

/* Set a variable that can name only one library, so that it names the agent. The agent then loads
 * the library that the variable named before. */
static int runenv_add_single(struct pasta_runjob *job, struct pasta_child_env *env,
			     const struct pasta_handler *h, struct pasta_error *err)
{
	const char *old = getenv(h->env);
	size_t n = 0;

	while (env[n].name)
		n++;
	if (n + 2 >= PASTA_RUNJOB_ENV)
		return pasta_fail(err, -E2BIG, "the handlers need too many environment variables");
	env[n] = (struct pasta_child_env){h->env, job->agent};
	/* If accelprof itself runs under accelprof, the variable already names the agent. The agent
	 * must not load itself. */
	if (old && *old && strcmp(old, job->agent) != 0)
		env[n + 1] = (struct pasta_child_env){h->env_other, old};
	return 0;
}

/* Returns the path of a file in the agent's folder; NULL when out of memory. The caller frees the
 * path. */
static char *runenv_beside(const char *agent, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s/%s", (int)(strrchr(agent, '/') - agent), agent, name) < 0)
		return NULL;
	return path;
}

static int runenv_add_preload(struct pasta_runjob *job, struct pasta_child_env *env,
			      const char *name, struct pasta_error *err)
{
	char *path = runenv_beside(job->agent, name);
	int error = 0;

	if (!path)
		return pasta_fail(err, -ENOMEM, "out of memory");
	if (!access(path, R_OK)) /* for a missing file, the dynamic loader would print a warning */
		error = runenv_add_list(job, env, "LD_PRELOAD", path, err);
	free(path);
	return error;
}

/* Warn if the user requests data that a handler records, but files of the handler are missing, for
 * example because the agent was moved. */
static void runenv_warn_missing(const struct pasta_runjob *job, const struct pasta_handler *h)
{
	bool requested = job->requested & PASTA_MASK(OP_BEGIN) || job->python || job->modules;
	char why[700] = "";

	if (requested && h->probe && h->probe(why, sizeof(why)))
		pasta_cli_message("not recorded: %s: %s", h->summary, why);
}

static int runenv_add_folder(struct pasta_runjob *job, struct pasta_child_env *env,
			     const struct pasta_handler *h, struct pasta_error *err)
{
	char *path = runenv_beside(job->agent, h->folder),
	     *real = path ? realpath(path, NULL) : NULL;
	int error = 0;

	if (!path)
		error = pasta_fail(err, -ENOMEM, "out of memory");
	runenv_warn_missing(job, h);
	/* the list uses colons as separators, so a path in the list must not contain a colon */
	if (real && !strchr(real, ':'))
		error = runenv_add_list(job, env, h->env, real, err);
	free(real);
	free(path);
	return error;
}

/* Set the environment variables that make the runtime library of each vendor load the agent. */
static int runenv_add_handlers(struct pasta_runjob *job, struct pasta_child_env *env,
			       struct pasta_error *err)
{
	const struct pasta_handler *const *all = pasta_cli_handlers(job->agent, err),
					  *const * handler;
	int error = 0;

	if (!all)
		return err->code;
	for (handler = all; !error && *handler; handler++) {
		const char *preload = (*handler)->preload ? (*handler)->preload() : NULL;

		if (preload)
			error = runenv_add_preload(job, env, preload, err);
		else if ((*handler)->env_other)
			error = runenv_add_single(job, env, *handler, err);
		else if ((*handler)->folder)
			error = runenv_add_folder(job, env, *handler, err);
		else if ((*handler)->env)
			error = runenv_add_list(job, env, (*handler)->env, job->agent, err);
	}
	if (!error)
		pasta_cli_accesses_check(&job->accesses, &job->report.choice, all);
	if (!error && job->accesses.every && !job->quiet)
		pasta_cli_message(
			"sampling of launches is disabled, because tool %s needs the memory "
			"accesses of every launch",
			job->accesses.every);
	return error;
}

int pasta_runenv_start(struct pasta_runjob *job, struct pasta_error *err)
{
	char kinds[24], requested[24];
	struct pasta_child_env env[PASTA_RUNJOB_ENV] = {
		{PASTA_ENV_AGENT, job->agent},
		{PASTA_ENV_RUN, job->run.path},
		{PASTA_ENV_CHANNEL, pasta_listener_name(job->listener)},
		{PASTA_ENV_KINDS, kinds},
		{PASTA_ENV_ASKED, requested},
		{PASTA_ENV_MEMORY, job->memory},
		{PASTA_ENV_PAUSED, job->paused ? "1" : NULL},
		{PASTA_ENV_STACKS, runenv_stacks(job)},
		{PASTA_ENV_WINDOW, runenv_window(job)},
		{PASTA_ENV_KEEP, job->save_modules ? "1" : NULL},
		{PASTA_ENV_ACCESSES, pasta_cli_accesses_words(&job->accesses)},
		{PASTA_ENV_ACCESS_KERNEL, job->accesses.kernel},
		{PASTA_ENV_ACCESS_EXCLUDE, job->accesses.exclude},
		{PASTA_ENV_REDUCER, job->accesses.reducer},
	};
	int status = PASTA_CLI_NOT_STARTED;

	snprintf(kinds, sizeof(kinds), "%" PRIx64, job->info.kinds);
	snprintf(requested, sizeof(requested), "%" PRIx64, job->requested);
	if (!runenv_add_handlers(job, env, err))
		status = pasta_child_start(&job->child, job->args, job->argv, env, err);
	if (status)
		pasta_run_remove(&job->run);
	return status;
}
