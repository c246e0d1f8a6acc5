/* accesses.c - decides whether accelprof run counts memory accesses, and in which launches. */
#include "cli/accesses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pasta/device.h>

#include "collect/control.h"
#include "process/io/files.h"
#include "process/run/notes.h"

enum { LAUNCHES = 3 }; /* default number of counted launches of each kernel and shape */
/* Needs and reducers have the same order, so shifting a mask of needs makes a mask of reducers. */
#define SHIFT 3
_Static_assert(PASTA_NEED_ACCESS_OBJECT >> SHIFT == 1 << PASTA_REDUCER_OBJECT &&
		       PASTA_NEED_ACCESS_BARRIER >> SHIFT == 1 << PASTA_REDUCER_BARRIER,
	       "PASTA_NEED_ACCESS_* and PASTA_REDUCER_* must have the same order");

/* Needs that can be met only on a GPU. For all other needs, the CPU can count raw accesses. */
#define DEVICES                                                                                    \
	(PASTA_NEED_ACCESS_BLOCK | PASTA_NEED_ACCESS_TENSOR | PASTA_NEED_ACCESS_OWN |              \
	 PASTA_NEED_ACCESS_BARRIER)

static bool accesses_read_sample(struct pasta_cli_accesses *a, const char *word)
{
	size_t *to = &a->launches;
	const char *number = word + 9;

	if (!strncmp(word, "blocks=1/", 9))
		to = &a->blocks;
	else if (strncmp(word, "launches=", 9) != 0)
		return false;
	return !pasta_cli_count(number, to) && *to && *to <= UINT32_MAX;
}

int pasta_cli_accesses_sample(struct pasta_cli_accesses *a, const char *arg,
			      struct pasta_error *err)
{
	char *list = strdup(arg), *rest = list, *word;
	int error = list ? 0 : pasta_fail(err, -ENOMEM, "out of memory");

	while (!error && (word = strsep(&rest, ",")))
		if (!accesses_read_sample(a, word))
			error = pasta_fail(err, -EINVAL,
					   "--sample needs launches=K, blocks=1/N, or both "
					   "separated by a comma (K and N at least 1), not '%s'",
					   arg);
	free(list);
	return error;
}

int pasta_cli_accesses_processor(struct pasta_cli_accesses *a, const char *arg,
				 struct pasta_error *err)
{
	if (strcmp(arg, "gpu") != 0 && strcmp(arg, "cpu") != 0 && strcmp(arg, "both") != 0 &&
	    strcmp(arg, "auto") != 0)
		return pasta_fail(err, -EINVAL,
				  "--processor needs gpu, cpu, both or auto, not '%s'", arg);
	a->processor = arg;
	return 0;
}

static bool accesses_on_host(const struct pasta_cli_accesses *a)
{
	return a->processor && !strcmp(a->processor, "cpu");
}

static bool accesses_on_both(const struct pasta_cli_accesses *a)
{
	return a->processor && !strcmp(a->processor, "both");
}

/* Returns the name of the first option on the command line that has an effect only if accesses are
 * counted; NULL if there is none. */
static const char *accesses_first_option(const struct pasta_cli_accesses *a)
{
	if (a->all)
		return "--all";
	if (a->launches || a->blocks)
		return "--sample";
	if (a->inexact)
		return "--inexact";
	if (a->processor)
		return "--processor";
	return a->lossy ? "--lossy" : NULL;
}

/* Check that the options contradict neither each other nor the needs of the tools. */
static int accesses_check_options(const struct pasta_cli_accesses *a, struct pasta_error *err)
{
	if (a->all && a->launches)
		return pasta_fail(err, -EINVAL,
				  "--all counts every launch, but '--sample launches=K' counts "
				  "only some: remove one of the two options");
	if (!a->needs && accesses_first_option(a))
		return pasta_fail(err, -EINVAL,
				  "%s requires a tool that counts memory accesses: choose one "
				  "with -t, such as -t hotness",
				  accesses_first_option(a));
	if (accesses_on_host(a) && !(a->needs & ~(uint64_t)DEVICES))
		return pasta_fail(err, -EINVAL,
				  "'--processor cpu' cannot count the accesses that the selected "
				  "tools need, because only GPUs can count them: use '--processor "
				  "gpu' or '--processor auto'");
	if (a->processor && !strcmp(a->processor, "gpu") && !(a->needs & PASTA_NEEDS_TABLES))
		return pasta_fail(err, -EINVAL,
				  "'--processor gpu' cannot count the accesses that the selected "
				  "tools need, because the tools read raw accesses: use "
				  "'--processor cpu' or '--processor auto'");
	if (accesses_on_both(a) && !(a->needs & PASTA_NEEDS_TABLES & ~(uint64_t)DEVICES))
		return pasta_fail(err, -EINVAL,
				  "'--processor both' compares the counts of a GPU and the CPU, "
				  "but none of the accesses that the selected tools need can be "
				  "counted on both: use '--processor auto'");
	if (a->lossy && !accesses_on_host(a) && !accesses_on_both(a) &&
	    !(a->needs & PASTA_NEED_ACCESS_RAW))
		return pasta_fail(err, -EINVAL,
				  "--lossy requires raw accesses: choose a tool that reads them, "
				  "such as mem_trace, or use '--processor cpu' or '--processor "
				  "both'");
	return 0;
}

/* -- A tool's own reducer -- */

/* Returns the path of the tool's reducer: the value of the tool's option "reducer", or the default
 * file in the folder of the tool's library. The caller frees the path. */
static char *reducer_path(const struct pasta_opts *opts)
{
	const char *path = pasta_opt(opts, "reducer"), *file = pasta_tool_file(opts->tool);
	const char *slash = file ? strrchr(file, '/') : NULL;
	char *made = NULL;

	if (path && *path)
		return strdup(path);
	if (asprintf(&made, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, slash ? file : "",
		     opts->tool->reducer) < 0)
		return NULL;
	return made;
}

/* Check the file before the program runs: a reducer that is not a fatbin would count nothing, and
 * the user would notice this only after the run. */
static bool reducer_is_fatbin(const char *path)
{
	static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
	unsigned char first[sizeof(magic)];
	int fd = pasta_files_open_named(path, NULL);
	bool is = fd >= 0 &&
		  pasta_files_read_at(fd, first, sizeof(first), 0) == (ssize_t)sizeof(first) &&
		  !memcmp(first, magic, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

/* Find the tool's own reducer. Make its path absolute, because the program may change its working
 * directory. */
static int reducer_find(const struct pasta_opts *opts, char **found, struct pasta_error *err)
{
	char *path = reducer_path(opts);
	int error = 0;

	*found = path ? realpath(path, NULL) : NULL;
	if (!path || (!*found && errno == ENOMEM))
		error = pasta_fail(err, -ENOMEM, "out of memory");
	else if (!*found || access(*found, R_OK))
		error = pasta_fail(
			err, -errno,
			"tool %s needs the reducer %.250s, which cannot be read (%s): build the "
			"reducer with nvcc (docs/writing-a-reducer.md)",
			opts->tool->name, path, strerror(errno));
	else if (!reducer_is_fatbin(*found))
		error = pasta_fail(
			err, -EINVAL,
			"tool %s needs the reducer %.250s, which is not a fatbin: build the "
			"reducer with 'nvcc --fatbin' (docs/writing-a-reducer.md)",
			opts->tool->name, path);
	if (error) {
		free(*found);
		*found = NULL;
	}
	free(path);
	return error;
}

/* A tool's own reducer replaces AccelProf's reducers on the device, so no other tool can count
 * accesses in the same run. */
static int reducer_check_alone(const struct pasta_opts *own, const struct pasta_opts *other,
			       const char *reducer, struct pasta_error *err)
{
	bool is_same = other->tool->needs & PASTA_NEED_ACCESS_OWN;
	char *path = NULL;

	if (own == other || !(other->tool->needs & PASTA_NEEDS_ACCESSES))
		return 0;
	if (is_same && reducer_find(other, &path, err))
		return err->code;
	is_same = is_same && path && reducer && !strcmp(path, reducer) &&
		  !(other->tool->needs & PASTA_NEEDS_ACCESSES & ~(uint64_t)PASTA_NEED_ACCESS_OWN);
	free(path);
	return is_same ? 0
		       : pasta_fail(err, -EINVAL,
				    "tool %s counts accesses with its own reducer and cannot run "
				    "together with %s: run the two tools one after the other",
				    own->tool->name, other->tool->name);
}

static int accesses_choose_reducer(struct pasta_cli_accesses *a, const struct pasta_choice *choice,
				   struct pasta_error *err)
{
	const struct pasta_opts *own = NULL;
	int error = 0;

	for (size_t i = 0; i < choice->count && !own; i++)
		if (choice->tools[i].tool->needs & PASTA_NEED_ACCESS_OWN)
			own = &choice->tools[i];
	if (!own)
		return 0;
	if (own->tool->needs & PASTA_NEEDS_ACCESSES & ~(uint64_t)PASTA_NEED_ACCESS_OWN)
		return pasta_fail(err, -EINVAL,
				  "tool %s needs the accesses that its own reducer counts and "
				  "also other accesses, but a run cannot record both: remove one "
				  "of them from the tool's .needs",
				  own->tool->name);
	error = reducer_find(own, &a->reducer, err);
	for (size_t i = 0; i < choice->count && !error; i++)
		error = reducer_check_alone(own, &choice->tools[i], a->reducer, err);
	return error;
}

/* If a tool needs the accesses of every launch, disable the sampling of launches for all tools of
 * the run. */
static int accesses_choose_launches(struct pasta_cli_accesses *a, const struct pasta_choice *choice,
				    struct pasta_error *err)
{
	const char *name = NULL;

	for (size_t i = 0; i < choice->count && !name; i++)
		if (choice->tools[i].tool->needs & PASTA_NEED_EVERY_LAUNCH)
			name = choice->tools[i].tool->name;
	if (!name || a->all)
		return 0;
	if (a->launches)
		return pasta_fail(err, -EINVAL,
				  "tool %s needs the memory accesses of every launch: remove "
				  "'launches=K' from --sample",
				  name);
	a->all = true;
	a->every = name;
	return 0;
}

int pasta_cli_accesses_choose(struct pasta_cli_accesses *a, const struct pasta_reportrun *report,
			      struct pasta_error *err)
{
	int error;

	a->needs = pasta_choice_needs(&report->choice) & PASTA_NEEDS_ACCESSES;
	error = accesses_check_options(a, err);
	error = error ? error : pasta_notes_check_filter(report->filter, a->needs, err);
	error = error ? error : accesses_choose_reducer(a, &report->choice, err);
	error = error ? error : accesses_choose_launches(a, &report->choice, err);
	if (error || !a->needs)
		return error;
	if (pasta_filter_patterns(report->filter, PASTA_FILTER_KERNEL, &a->kernel) ||
	    pasta_filter_patterns(report->filter, PASTA_FILTER_EXCLUDE, &a->exclude))
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

void pasta_cli_accesses_free(struct pasta_cli_accesses *a)
{
	free(a->kernel);
	free(a->exclude);
	free(a->reducer);
}

uint64_t pasta_cli_accesses_kinds(const struct pasta_cli_accesses *a)
{
	uint64_t kinds = 0;

	if (a->needs)
		kinds = PASTA_MASK(OBJECT) | PASTA_MASK(SITE) | PASTA_MASK(ACCESS_LAUNCH);
	if (a->needs & PASTA_NEEDS_TABLES)
		kinds |= PASTA_MASK(ACCESS_SUM);
	if (a->needs & PASTA_NEED_ACCESS_RAW)
		kinds |= PASTA_MASK(ACCESS_BATCH);
	return kinds;
}

static size_t accesses_launches(const struct pasta_cli_accesses *a)
{
	return a->all ? 0 : a->launches ? a->launches : LAUNCHES;
}

const char *pasta_cli_accesses_words(struct pasta_cli_accesses *a)
{
	char blocks[32] = "";

	if (!a->needs)
		return NULL;
	if (a->blocks > 1)
		snprintf(blocks, sizeof(blocks), ",blocks=%zu", a->blocks);
	snprintf(a->words, sizeof(a->words), "%#" PRIx64 ",launches=%zu%s%s%s%s%s",
		 (a->needs & PASTA_NEEDS_TABLES) >> SHIFT, accesses_launches(a), blocks,
		 a->needs & PASTA_NEED_ACCESS_RAW ? ",raw" : "", a->inexact ? ",inexact" : "",
		 accesses_on_host(a)   ? ",host"
		 : accesses_on_both(a) ? ",both"
				       : "",
		 a->lossy ? ",lossy" : "");
	return a->words;
}

void pasta_cli_accesses_json(struct pasta_json *j, const void *ctx)
{
	const struct pasta_cli_accesses *a = ctx;

	if (!a->needs)
		return;
	pasta_json_key(j, "accesses");
	pasta_json_map(j);
	pasta_json_key(j, "launches");
	if (a->all)
		pasta_json_null(j);
	else
		pasta_json_uint(j, accesses_launches(a));
	pasta_json_key(j, "blocks");
	pasta_json_uint(j, a->blocks ? a->blocks : 1);
	pasta_json_key(j, "processor");
	pasta_json_str(j, a->processor ? a->processor : "auto");
	pasta_json_key(j, "inexact");
	pasta_json_bool(j, a->inexact);
	pasta_json_key(j, "lossy");
	pasta_json_bool(j, a->lossy);
	pasta_json_map_end(j);
}

/* Returns whether a handler can count accesses on this machine. If on_devices is true, returns
 * whether a handler can count them on a GPU. If no handler can, writes the reasons into `why`. */
static bool accesses_can_count(const struct pasta_handler *const *handlers, bool on_devices,
			       char *why, size_t size)
{
	char one[300];

	*why = '\0';
	for (; handlers && *handlers; handlers++) {
		if (!(*handlers)->accesses || (on_devices && (*handlers)->accesses_on_host))
			continue;
		if (!(*handlers)->accesses(one, sizeof(one)))
			return true;
		snprintf(why + strlen(why), size - strlen(why), "%s%s", *why ? "; " : "", one);
	}
	if (!*why)
		snprintf(why, size, "no handler counts them");
	return false;
}

void pasta_cli_accesses_check(const struct pasta_cli_accesses *a, const struct pasta_choice *choice,
			      const struct pasta_handler *const *handlers)
{
	/* Do not warn that tensor accesses cannot be counted: a program without tensor descriptors
	 * has none. */
	uint64_t devices = DEVICES & ~(uint64_t)PASTA_NEED_ACCESS_TENSOR;
	char why[700];

	/* If a tool has its own reducer, the handlers check that reducer instead of AccelProf's
	 * reducers. */
	if (a->reducer)
		setenv(PASTA_ENV_REDUCER, a->reducer, 1);
	if (a->needs && !accesses_can_count(handlers, false, why, sizeof(why))) {
		pasta_cli_message("cannot count memory accesses: %s", why);
		return;
	}
	if (!(a->needs & devices) || accesses_can_count(handlers, true, why, sizeof(why)))
		return;
	for (size_t i = 0; i < choice->count; i++)
		if (choice->tools[i].tool->needs & devices)
			pasta_cli_message(
				"cannot count %s that tool %s needs: only GPUs can count them, "
				"and no GPU can be used (%s)",
				choice->tools[i].tool->needs & PASTA_NEEDS_ACCESSES & ~devices
					? "some of the accesses"
					: "the accesses",
				choice->tools[i].tool->name, why);
}
