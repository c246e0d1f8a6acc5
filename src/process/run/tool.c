/* tool.c - registers tools, and stores which tools the user chose and with which options. */
#include "process/run/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/diagnosis/diagnosis.h"
#include "process/join/correlate.h"
#include "process/sdk/ledger.h"
#include "process/sdk/owned.h"
#include "process/io/parse.h"
#include "process/io/suggest.h"
#include "process/run/plugin.h"
#include "process/run/tooladopt.h"
#include "process/sdk/toolindex.h"
#include "process/io/utf8.h"

/* The array is static because constructors register tools, and a constructor could not report that
 * malloc failed. */
#define TOOLS_MAX 256
#define OPTIONS_MAX 64
#define STATE_MAX ((size_t)1 << 30)
static struct {
	const struct pasta_tool *tool;
	const char *file; /* path of the tool's library; NULL for a built-in tool */
} tools[TOOLS_MAX];
static size_t tool_count;

/* The error of the first built-in tool that could not be registered. */
static struct pasta_error refused;
static struct pasta_tool_source *source;

static bool tool_name_ok(const char *name)
{
	return name && *name && strlen(name) <= 40 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* Checks that the option's summary and default have no control characters, because the help prints
 * each of these texts on a line of the terminal. */
static int tool_check_texts(const struct pasta_option *o, struct pasta_error *err)
{
	if ((o->summary && pasta_utf8_control(o->summary)) ||
	    (o->value && pasta_utf8_control(o->value)))
		return pasta_fail(err, -EINVAL,
				  "option '%s' has a control character in its summary or "
				  "default: remove the character",
				  o->name);
	return 0;
}

/* Checks that the option has a known type, and that its default value has this type. */
static int tool_check_type(const struct pasta_option *o, struct pasta_error *err)
{
	const char *needs = pasta_option_type_needs(o->type);
	uint64_t value;

	if (!needs)
		return pasta_fail(err, -EINVAL, "option '%s' has the unknown type %d", o->name,
				  (int)o->type);
	if (o->value && pasta_parse_option(o->type, o->value, &value))
		return pasta_fail(err, -EINVAL, "option '%s' must be %s, but its default is '%s'",
				  o->name, needs, o->value);
	return 0;
}

static int tool_check_options(const struct pasta_option *options, struct pasta_error *err)
{
	size_t i, k;

	for (i = 0; options && options[i].name; i++) {
		if (i == OPTIONS_MAX)
			return pasta_fail(err, -EINVAL,
					  "the tool's list of options has no end, or more than %d "
					  "options: end the list with {0}",
					  OPTIONS_MAX);
		if (!tool_name_ok(options[i].name))
			return pasta_fail(err, -EINVAL,
					  "option %zu of the tool must have a name of 1 to 40 "
					  "characters from a-z, 0-9, _ and -",
					  i + 1);
		for (k = 0; k < i; k++)
			if (!strcmp(options[i].name, options[k].name))
				return pasta_fail(err, -EINVAL,
						  "two options of the tool are named '%s': "
						  "rename one",
						  options[i].name);
		if (tool_check_texts(&options[i], err) || tool_check_type(&options[i], err))
			return err->code;
	}
	return 0;
}

static int tool_check_needs(const struct pasta_tool *tool, struct pasta_error *err)
{
	if (tool->needs & PASTA_NEED_EVERY_LAUNCH && !(tool->needs & PASTA_NEEDS_ACCESSES))
		return pasta_fail(err, -EINVAL,
				  "PASTA_NEED_EVERY_LAUNCH requires memory accesses: add a "
				  "PASTA_NEED_ACCESS_... to .needs");
	return 0;
}

/* Checks that the reducer is a file name, not a path. The reducer's fat binary must be in the same
 * folder as the tool. */
static int tool_check_reducer(const struct pasta_tool *tool, struct pasta_error *err)
{
	bool needs = tool->needs & PASTA_NEED_ACCESS_OWN;

	if (needs && !tool->reducer)
		return pasta_fail(err, -EINVAL,
				  "the tool needs PASTA_NEED_ACCESS_OWN, but has no reducer: set "
				  ".reducer to the file name of a fat binary");
	if (!tool->reducer)
		return 0;
	if (!needs)
		return pasta_fail(err, -EINVAL,
				  "the tool has a .reducer, but .needs does not include "
				  "PASTA_NEED_ACCESS_OWN: add it");
	if (!*tool->reducer || strchr(tool->reducer, '/') || pasta_utf8_control(tool->reducer))
		return pasta_fail(err, -EINVAL,
				  ".reducer must be the name of a file in the tool's folder, "
				  "without a /");
	return 0;
}

static int tool_check_free(const struct pasta_tool *tool, struct pasta_error *err)
{
	const struct pasta_tool *other = pasta_tool_find(tool->name);
	const char *file = other ? pasta_tool_file(other) : NULL;

	if (other)
		return pasta_fail(err, -EEXIST,
				  "another tool has the same name (%s): rename one of the two",
				  file ? file : "built in");
	if (tool_count == TOOLS_MAX)
		return pasta_fail(err, -ENOSPC,
				  "too many tools: at most %d can be registered, "
				  "so load fewer plug-ins",
				  TOOLS_MAX);
	return 0;
}

/* Returns whether this version of accelprof can read the descriptor. If not, no members except the
 * versions may be read. */
static bool tool_version_ok(const struct pasta_tool *tool)
{
	return tool->api_major == PASTA_API_MAJOR && tool->api_minor <= PASTA_API_MINOR;
}

static int tool_check(const struct pasta_tool *tool, struct pasta_error *err)
{
	int error;

	if (!tool_version_ok(tool))
		return pasta_fail(err, -EINVAL,
				  "the tool was built for version %u.%u of the SDK, but this "
				  "accelprof has %d.%d: build the tool again",
				  tool->api_major, tool->api_minor, PASTA_API_MAJOR,
				  PASTA_API_MINOR);
	if (!tool_name_ok(tool->name))
		return pasta_fail(err, -EINVAL,
				  "the tool's name must consist of 1 to 40 characters from a-z, "
				  "0-9, _ and -");
	if (!tool->summary || !*tool->summary || pasta_utf8_control(tool->summary))
		return pasta_fail(err, -EINVAL,
				  "a tool must have a .summary of one line, without control "
				  "characters");
	if (!(tool->event || tool->ledger || tool->accesses || tool->diagnosis) ||
	    !(tool->report || tool->groups))
		return pasta_fail(err, -EINVAL,
				  "a tool must define .event, and either .report or .groups");
	if (!tool->events != !tool->event)
		return pasta_fail(err, -EINVAL,
				  tool->event
					  ? "the tool subscribes to no events: set .events to "
					    "PASTA_MASK(KIND)"
					  : "the tool subscribes to events, but does not define "
					    "the function .event");
	if (tool->state_size > STATE_MAX)
		return pasta_fail(err, -EINVAL,
				  "the tool's .state_size is %llu bytes, more than the limit of "
				  "%zu: allocate memory in the function .open",
				  (unsigned long long)tool->state_size, STATE_MAX);
	error = tool_check_options(tool->options, err);
	error = error ? error : pasta_owned_check(tool, err);
	error = error ? error : tool_check_needs(tool, err);
	error = error ? error : tool_check_reducer(tool, err);
	return error ? error : tool_check_free(tool, err);
}

static void tool_refuse(const struct pasta_tool *tool, const struct pasta_error *err)
{
	/* Don't print an invalid name, because it may contain any bytes. */
	const char *name =
		tool_version_ok(tool) && pasta_tool_is_whole(tool) && tool_name_ok(tool->name)
			? tool->name
			: "(unknown)";

	if (source) {
		source->refused++;
		source->refuse(source->ctx, name, err);
	} else if (!refused.code) {
		pasta_fail(&refused, err->code, "tool %s is left out: %.400s", name, err->text);
	}
}

void pasta_tool_register(const struct pasta_tool *tool)
{
	struct pasta_error err = {0};
	const struct pasta_tool *current =
		tool_version_ok(tool) ? pasta_tool_adopt(tool, &err) : tool;
	size_t i;

	if (!current || tool_check(current, &err)) {
		tool_refuse(tool, &err);
		return;
	}
	for (i = tool_count++; i > 0 && strcmp(tools[i - 1].tool->name, tool->name) > 0; i--)
		tools[i] = tools[i - 1];
	tools[i].tool = current;
	tools[i].file = source ? source->file : NULL;
	if (source)
		source->accepted++;
}

void pasta_tool_from(struct pasta_tool_source *from)
{
	source = from;
}

const struct pasta_tool *pasta_tool_at(size_t i)
{
	return i < tool_count ? tools[i].tool : NULL;
}

bool pasta_tool_is_sharded(const struct pasta_tool *tool)
{
	return tool->merge || tool->flags & PASTA_TOOL_SHARDED;
}

const struct pasta_tool *pasta_tool_find(const char *name)
{
	size_t i;

	for (i = 0; i < tool_count; i++)
		if (!strcmp(tools[i].tool->name, name))
			return tools[i].tool;
	return NULL;
}

const char *pasta_tool_file(const struct pasta_tool *tool)
{
	size_t i;

	for (i = 0; i < tool_count; i++)
		if (tools[i].tool == tool)
			return tools[i].file;
	return NULL;
}

int pasta_tool_check(struct pasta_error *err)
{
	return refused.code ? pasta_fail(err, refused.code, "%s", refused.text) : 0;
}

static size_t option_count(const struct pasta_tool *tool)
{
	size_t n = 0;

	while (tool->options && tool->options[n].name)
		n++;
	return n;
}

static size_t option_find(const struct pasta_tool *tool, const char *name, size_t size)
{
	size_t i, n = option_count(tool);

	for (i = 0; i < n; i++)
		if (!strncmp(tool->options[i].name, name, size) && !tool->options[i].name[size])
			return i;
	return SIZE_MAX;
}

const char *pasta_opt(const struct pasta_opts *opts, const char *name)
{
	size_t i = opts ? option_find(opts->tool, name, strlen(name)) : SIZE_MAX;

	if (i == SIZE_MAX)
		return NULL;
	return opts->values && opts->values[i] ? opts->values[i] : opts->tool->options[i].value;
}

/* Returns the value of an option, or 0 if the option's type is not in the mask `types`. */
static uint64_t option_value(const struct pasta_opts *opts, const char *name, unsigned int types)
{
	size_t i = opts ? option_find(opts->tool, name, strlen(name)) : SIZE_MAX;
	const char *text = pasta_opt(opts, name);
	uint64_t value = 0;

	/* The value is valid: an option's value is checked when it is set, and its default when the
	 * tool is registered. */
	if (text && types >> opts->tool->options[i].type & 1)
		pasta_parse_option(opts->tool->options[i].type, text, &value);
	return value;
}

uint64_t pasta_opt_u64(const struct pasta_opts *opts, const char *name)
{
	return option_value(opts, name,
			    1u << PASTA_OPTION_NUMBER | 1u << PASTA_OPTION_TIME |
				    1u << PASTA_OPTION_SIZE);
}

int pasta_opt_yes(const struct pasta_opts *opts, const char *name)
{
	return option_value(opts, name, 1u << PASTA_OPTION_YES_NO) != 0;
}

void pasta_choice_free(struct pasta_choice *choice)
{
	size_t i, k;

	for (i = 0; i < choice->count; i++) {
		struct pasta_opts *opts = &choice->tools[i];

		for (k = 0; opts->values && k < option_count(opts->tool); k++)
			free(opts->values[k]);
		free(opts->values);
		free(opts->chosen_as);
	}
	free(choice->tools);
	memset(choice, 0, sizeof(*choice));
}

static struct pasta_opts *choice_find(const struct pasta_choice *choice,
				      const struct pasta_tool *tool)
{
	size_t i;

	for (i = 0; i < choice->count; i++)
		if (choice->tools[i].tool == tool)
			return &choice->tools[i];
	return NULL;
}

const char *pasta_choice_name(const struct pasta_choice *choice, const struct pasta_tool *tool)
{
	const struct pasta_opts *opts = choice_find(choice, tool);

	return opts ? opts->chosen_as : tool->name;
}

static int choice_add_tool(struct pasta_choice *choice, const struct pasta_tool *tool,
			   const char *chosen_as, struct pasta_error *err)
{
	struct pasta_opts *more;

	if (choice_find(choice, tool))
		return 0;
	more = reallocarray(choice->tools, choice->count + 1, sizeof(*more));
	if (!more)
		return pasta_fail(err, -ENOMEM, "out of memory");
	choice->tools = more;
	more += choice->count;
	more->tool = tool;
	more->values = calloc(option_count(tool) + 1, sizeof(*more->values));
	more->chosen_as = strdup(chosen_as);
	if (!more->values || !more->chosen_as) {
		free(more->values);
		free(more->chosen_as);
		return pasta_fail(err, -ENOMEM, "out of memory");
	}
	choice->count++;
	return 0;
}

static int choice_add_file(struct pasta_choice *choice, const char *path, struct pasta_error *err)
{
	const struct pasta_tool *tool;
	const char *file;
	int error = pasta_plugin_load(path, &file, err);
	size_t i;

	for (i = 0; !error && (tool = pasta_tool_at(i)); i++)
		if (pasta_tool_file(tool) == file)
			error = choice_add_tool(choice, tool, path, err);
	return error;
}

static int choice_unknown(const char *name, struct pasta_error *err)
{
	struct pasta_suggest suggest = {.word = name};
	char text[PASTA_SUGGEST_SIZE];
	const struct pasta_tool *tool;
	size_t i;

	for (i = 0; (tool = pasta_tool_at(i)); i++)
		pasta_suggest_add(&suggest, tool->name);
	return pasta_fail(err, -ENOENT,
			  "unknown tool '%s'%s 'accelprof tools' lists all tools, and --tool-path "
			  "DIR adds the tools of a folder",
			  name,
			  suggest.best ? pasta_suggest_text(&suggest, text, sizeof(text)) : ":");
}

static int choice_add(struct pasta_choice *choice, const char *name, struct pasta_error *err)
{
	const struct pasta_tool *tool;

	if (strchr(name, '/'))
		return choice_add_file(choice, name, err);
	tool = pasta_tool_find(name);
	return tool ? choice_add_tool(choice, tool, name, err) : choice_unknown(name, err);
}

int pasta_choice_add(struct pasta_choice *choice, const char *names, struct pasta_error *err)
{
	char *list = strdup(names), *rest = list, *name;
	int error = 0;

	if (!list)
		return pasta_fail(err, -ENOMEM, "out of memory");
	while (!error && (name = strsep(&rest, ",")))
		error = choice_add(choice, name, err);
	free(list);
	return error;
}

static int tool_check_value(const struct pasta_tool *tool, const struct pasta_option *o,
			    const char *text, struct pasta_error *err)
{
	uint64_t value;
	int error = pasta_parse_option(o->type, text, &value);

	if (error == -ERANGE)
		return pasta_fail(err, -EINVAL, "%s.%s must be below 2^64, not '%s'", tool->name,
				  o->name, text);
	if (error)
		return pasta_fail(err, -EINVAL, "%s.%s must be %s, not '%s'", tool->name, o->name,
				  pasta_option_type_needs(o->type), text);
	return 0;
}

static int choice_unknown_option(const struct pasta_tool *tool, const char *name, size_t size,
				 struct pasta_error *err)
{
	char word[80], text[PASTA_SUGGEST_SIZE];
	struct pasta_suggest suggest = {.word = word};
	const struct pasta_option *o;

	snprintf(word, sizeof(word), "%.*s", (int)size, name);
	for (o = tool->options; o && o->name; o++)
		pasta_suggest_add(&suggest, o->name);
	return pasta_fail(err, -ENOENT,
			  "tool %s has no option '%s'%s 'accelprof tools %s' lists its options",
			  tool->name, word,
			  suggest.best ? pasta_suggest_text(&suggest, text, sizeof(text)) : ":",
			  tool->name);
}

int pasta_choice_set(struct pasta_choice *choice, const char *text, struct pasta_error *err)
{
	const char *dot = strchr(text, '.'), *equal = dot ? strchr(dot, '=') : NULL;
	struct pasta_opts *opts = NULL;
	size_t i, option;
	char *value;

	if (!equal)
		return pasta_fail(err, -EINVAL, "option '%s' is not of the form TOOL.OPTION=VALUE",
				  text);
	for (i = 0; i < choice->count && !opts; i++)
		if (!strncmp(choice->tools[i].tool->name, text, (size_t)(dot - text)) &&
		    !choice->tools[i].tool->name[dot - text])
			opts = &choice->tools[i];
	if (!opts)
		return pasta_fail(err, -ENOENT,
				  "option '%s' belongs to a tool that is not selected: add the "
				  "tool to -t",
				  text);
	option = option_find(opts->tool, dot + 1, (size_t)(equal - dot - 1));
	if (option == SIZE_MAX)
		return choice_unknown_option(opts->tool, dot + 1, (size_t)(equal - dot - 1), err);
	if (tool_check_value(opts->tool, &opts->tool->options[option], equal + 1, err))
		return -EINVAL;
	value = strdup(equal + 1);
	if (!value)
		return pasta_fail(err, -ENOMEM, "out of memory");
	free(opts->values[option]);
	opts->values[option] = value;
	return 0;
}

/* Returns the kinds that must be recorded for a mask of kinds of events. UNMATCHED is not recorded,
 * because the reader derives it from launches. */
static uint64_t tool_recorded_kinds(uint64_t kinds)
{
	return kinds & PASTA_MASK(UNMATCHED) ? (kinds & ~PASTA_MASK(UNMATCHED)) | PASTA_MASK(LAUNCH)
					     : kinds;
}

uint64_t pasta_tool_own_kinds(const struct pasta_tool *tool)
{
	return tool->events | pasta_ledger_kinds(tool->ledger) | pasta_toolindex_kinds(tool);
}

uint64_t pasta_tool_kinds(const struct pasta_tool *tool)
{
	return pasta_tool_own_kinds(tool) | (tool->diagnosis ? PASTA_DIAGNOSIS_KINDS : 0);
}

uint64_t pasta_tool_subscribed(const struct pasta_tool *tool)
{
	return tool_recorded_kinds(tool->events | (tool->ledger ? PASTA_LEDGER_MUST : 0) |
				   pasta_toolindex_kinds(tool) |
				   (tool->diagnosis ? PASTA_DIAGNOSIS_MUST : 0));
}

uint64_t pasta_tool_recorded(const struct pasta_tool *tool)
{
	return tool_recorded_kinds(pasta_tool_own_kinds(tool) |
				   (tool->diagnosis ? PASTA_DIAGNOSIS_RECORD : 0));
}

uint64_t pasta_choice_events(const struct pasta_choice *choice)
{
	uint64_t events = 0;
	size_t i;

	for (i = 0; i < choice->count; i++) {
		const struct pasta_tool *tool = choice->tools[i].tool;

		events |= pasta_tool_recorded(tool);
		if (tool->needs & (PASTA_NEED_SCOPES | PASTA_NEED_OPS))
			events |= pasta_correlate_kinds(tool->needs & PASTA_NEED_OPS);
	}
	return events;
}

uint64_t pasta_choice_needs(const struct pasta_choice *choice)
{
	uint64_t needs = 0;

	for (size_t i = 0; i < choice->count; i++)
		needs |= choice->tools[i].tool->needs;
	return needs;
}
