/* tool.c - the tools of this build, and those that the user chose. */
#include "process/tool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process/parse.h"

/* Filled by constructors, when nothing is allocated yet that could fail and be told. */
#define TOOLS_MAX 256
static const struct pasta_tool *tools[TOOLS_MAX];
static size_t tool_count;
static struct pasta_err refused;

static bool name_ok(const char *name)
{
	return name && *name && strlen(name) <= 40 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

static const char *wrong(const struct pasta_tool *tool)
{
	if (tool->size != sizeof(*tool) || tool->api != PASTA_API_VERSION)
		return "it was built for another version of the SDK: build it again";
	if (!name_ok(tool->name))
		return "its name must be of a-z, 0-9, _ and -";
	if (pasta_tool_find(tool->name))
		return "there is another tool of this name";
	if (!tool->summary || !tool->event || !tool->report)
		return "it must have a summary, event and report";
	if (tool_count == TOOLS_MAX)
		return "there are too many tools";
	return NULL;
}

/* The first option that has no such type, or a default that is not of it. */
static const struct pasta_option *wrong_option(const struct pasta_tool *tool)
{
	const struct pasta_option *o;
	uint64_t value;

	for (o = tool->options; o && o->name; o++)
		if (!pasta_option_type_name(o->type) ||
		    (o->value && pasta_parse_option(o->type, o->value, &value)))
			return o;
	return NULL;
}

static void refuse_option(const struct pasta_tool *tool, const struct pasta_option *o)
{
	const char *needs = pasta_option_type_needs(o->type);

	if (needs)
		pasta_fail(&refused, -EINVAL,
			   "tool %s is left out: its option %s must be %s, and is '%s' by default",
			   tool->name, o->name, needs, o->value);
	else
		pasta_fail(&refused, -EINVAL,
			   "tool %s is left out: its option %s is of type %d, which is none",
			   tool->name, o->name, (int)o->type);
}

void pasta_tool_register(const struct pasta_tool *tool)
{
	/* Another version's descriptor may have no name where this one has it. */
	const char *name = tool->size == sizeof(*tool) && tool->name ? tool->name : "(unknown)";
	const char *why = wrong(tool);
	const struct pasta_option *option = why ? NULL : wrong_option(tool);
	size_t i;

	if (why && !refused.code)
		pasta_fail(&refused, -EINVAL, "tool %s is left out: %s", name, why);
	else if (option && !refused.code)
		refuse_option(tool, option);
	if (why || option)
		return;
	for (i = tool_count++; i > 0 && strcmp(tools[i - 1]->name, name) > 0; i--)
		tools[i] = tools[i - 1];
	tools[i] = tool;
}

const struct pasta_tool *pasta_tool_at(size_t i)
{
	return i < tool_count ? tools[i] : NULL;
}

const struct pasta_tool *pasta_tool_find(const char *name)
{
	size_t i;

	for (i = 0; i < tool_count; i++)
		if (!strcmp(tools[i]->name, name))
			return tools[i];
	return NULL;
}

int pasta_tool_check(struct pasta_err *err)
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

/* The value of an option that is of one of these types, as a mask; else 0. */
static uint64_t value_of(const struct pasta_opts *opts, const char *name, unsigned int types)
{
	size_t i = opts ? option_find(opts->tool, name, strlen(name)) : SIZE_MAX;
	const char *text = pasta_opt(opts, name);
	uint64_t value = 0;

	/* It was checked when it was set, as was the default. */
	if (text && types >> opts->tool->options[i].type & 1)
		pasta_parse_option(opts->tool->options[i].type, text, &value);
	return value;
}

uint64_t pasta_opt_u64(const struct pasta_opts *opts, const char *name)
{
	return value_of(opts, name,
			1u << PASTA_OPTION_NUMBER | 1u << PASTA_OPTION_TIME |
				1u << PASTA_OPTION_SIZE);
}

int pasta_opt_yes(const struct pasta_opts *opts, const char *name)
{
	return value_of(opts, name, 1u << PASTA_OPTION_YES_NO) != 0;
}

void pasta_choice_free(struct pasta_choice *choice)
{
	size_t i, k;

	for (i = 0; i < choice->count; i++) {
		struct pasta_opts *opts = &choice->tools[i];

		for (k = 0; opts->values && k < option_count(opts->tool); k++)
			free(opts->values[k]);
		free(opts->values);
	}
	free(choice->tools);
	memset(choice, 0, sizeof(*choice));
}

static struct pasta_opts *chosen(const struct pasta_choice *choice, const struct pasta_tool *tool)
{
	size_t i;

	for (i = 0; i < choice->count; i++)
		if (choice->tools[i].tool == tool)
			return &choice->tools[i];
	return NULL;
}

static int add(struct pasta_choice *choice, const char *name, struct pasta_err *err)
{
	const struct pasta_tool *tool = pasta_tool_find(name);
	struct pasta_opts *more;

	if (!tool)
		return pasta_fail(err, -ENOENT,
				  "there is no tool '%s': 'accelprof tools' lists them", name);
	if (chosen(choice, tool))
		return 0;
	more = reallocarray(choice->tools, choice->count + 1, sizeof(*more));
	if (!more)
		return pasta_fail(err, -ENOMEM, "out of memory");
	choice->tools = more;
	more += choice->count;
	more->tool = tool;
	more->values = calloc(option_count(tool) + 1, sizeof(*more->values));
	if (!more->values)
		return pasta_fail(err, -ENOMEM, "out of memory");
	choice->count++;
	return 0;
}

int pasta_choice_add(struct pasta_choice *choice, const char *names, struct pasta_err *err)
{
	char *list = strdup(names), *rest = list, *name;
	int error = 0;

	if (!list)
		return pasta_fail(err, -ENOMEM, "out of memory");
	while (!error && (name = strsep(&rest, ",")))
		error = add(choice, name, err);
	free(list);
	return error;
}

static int check_value(const struct pasta_tool *tool, const struct pasta_option *o,
		       const char *text, struct pasta_err *err)
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

int pasta_choice_set(struct pasta_choice *choice, const char *text, struct pasta_err *err)
{
	const char *dot = strchr(text, '.'), *equal = dot ? strchr(dot, '=') : NULL;
	struct pasta_opts *opts = NULL;
	size_t i, option;
	char *value;

	if (!equal)
		return pasta_fail(err, -EINVAL, "'%s' is not of the form TOOL.OPTION=VALUE", text);
	for (i = 0; i < choice->count && !opts; i++)
		if (!strncmp(choice->tools[i].tool->name, text, (size_t)(dot - text)) &&
		    !choice->tools[i].tool->name[dot - text])
			opts = &choice->tools[i];
	if (!opts)
		return pasta_fail(err, -ENOENT,
				  "'%s' is for a tool that is not chosen: add it to -t", text);
	option = option_find(opts->tool, dot + 1, (size_t)(equal - dot - 1));
	if (option == SIZE_MAX)
		return pasta_fail(err, -ENOENT,
				  "tool %s has no option '%.*s': 'accelprof tools %s' lists them",
				  opts->tool->name, (int)(equal - dot - 1), dot + 1,
				  opts->tool->name);
	if (check_value(opts->tool, &opts->tool->options[option], equal + 1, err))
		return -EINVAL;
	value = strdup(equal + 1);
	if (!value)
		return pasta_fail(err, -ENOMEM, "out of memory");
	free(opts->values[option]);
	opts->values[option] = value;
	return 0;
}

uint64_t pasta_choice_events(const struct pasta_choice *choice)
{
	uint64_t events = 0;
	size_t i;

	for (i = 0; i < choice->count; i++)
		events |= choice->tools[i].tool->events;
	return events;
}
