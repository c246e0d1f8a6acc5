/*
 * tooladopt.c - converts tool descriptors of older minor versions to the current layout.
 *
 * Members are only added at the end of a struct. So a tool that was built for an earlier minor
 * version passes shorter structs, and lists with a shorter stride. After the conversion, all other
 * files see only the current layout.
 */
#include "process/run/tooladopt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <pasta/series.h>

enum { ADOPT_LIST_MAX = 256 };
/* Size of the members that every descriptor has, whatever its version. */
enum { ADOPT_TOOL_LEAST = offsetof(struct pasta_tool, reducer) };

/* A copy of a struct or list in the current layout. */
struct adopted {
	struct adopted *next;
	max_align_t bytes[];
};

/* List of all converted structs, so that leak checkers find them. Only one thread at a time
 * registers tools. */
static struct adopted *adopted;

struct adopting {
	struct adopted *all;
	struct pasta_error *err;
	int error;
};

static void adopt_fail(struct adopting *a, int code, const char *what, size_t theirs, size_t ours)
{
	if (a->error)
		return;
	a->error = code;
	if (code == -ENOMEM)
		pasta_fail(a->err, code, "out of memory");
	else if (theirs > ours)
		pasta_fail(a->err, code,
			   "%s has %zu bytes, but this accelprof supports only %zu: build the tool "
			   "again with the SDK of this accelprof",
			   what, theirs, ours);
	else
		pasta_fail(a->err, code, "the tool's list of %s has no end: end the list with {0}",
			   what);
}

/* Copies a list of `count` structs. Extends each struct with zeros to the current size. */
static void *adopt_copy(struct adopting *a, const void *list, size_t count, size_t theirs,
			size_t ours, const char *what)
{
	struct adopted *made;

	if (theirs > ours) {
		adopt_fail(a, -EINVAL, what, theirs, ours);
		return NULL;
	}
	made = calloc(1, sizeof(*made) + (count + 1) * ours);
	if (!made) {
		adopt_fail(a, -ENOMEM, what, 0, 0);
		return NULL;
	}
	made->next = a->all;
	a->all = made;
	for (size_t i = 0; i < count; i++)
		memcpy((char *)made->bytes + i * ours, (const char *)list + i * theirs, theirs);
	return made->bytes;
}

/* Counts the structs of a list. The list ends before the first struct whose first end_size bytes
 * are zero. */
static size_t adopt_count(struct adopting *a, const void *list, size_t stride, size_t end_size,
			  const char *what)
{
	static const char zeros[sizeof(void *)];
	size_t count = 0;

	while (memcmp((const char *)list + count * stride, zeros, end_size)) {
		if (++count > ADOPT_LIST_MAX) {
			adopt_fail(a, -EINVAL, what, 0, 0);
			return 0;
		}
	}
	return count;
}

static uint32_t adopt_size(const void *first)
{
	return first ? *(const uint32_t *)first : 0;
}

/* Converts a list of structs that each begin with their size. The size of the first struct is the
 * distance between the structs of the list. */
static void *adopt_list(struct adopting *a, const void *list, size_t ours, const char *what)
{
	size_t theirs = adopt_size(list), count;
	char *copy;

	if (!theirs)
		return NULL;
	count = adopt_count(a, list, theirs, sizeof(uint32_t), what);
	copy = adopt_copy(a, list, count, theirs, ours, what);
	for (size_t i = 0; copy && i < count; i++)
		*(uint32_t *)(copy + i * ours) = (uint32_t)ours;
	return copy;
}

/* Converts a single struct that begins with its size. */
static void *adopt_one(struct adopting *a, const void *one, size_t ours, const char *what)
{
	void *copy = adopt_size(one) ? adopt_copy(a, one, 1, adopt_size(one), ours, what) : NULL;

	if (copy)
		*(uint32_t *)copy = (uint32_t)ours;
	return copy;
}

static const struct pasta_group_def *adopt_groups(struct adopting *a,
						  const struct pasta_group_def *list)
{
	struct pasta_group_def *groups =
		adopt_list(a, list, sizeof(*groups), "struct pasta_group_def");

	for (struct pasta_group_def *g = groups; g && !a->error && g->size; g++) {
		size_t stride = g->member_size;

		if (!g->members || !stride)
			continue; /* pasta_group_check refuses a group without members */
		g->members = adopt_copy(a, g->members,
					adopt_count(a, g->members, stride, sizeof(uint32_t),
						    "struct pasta_member"),
					stride, sizeof(struct pasta_member), "struct pasta_member");
		g->member_size = sizeof(struct pasta_member);
	}
	return groups;
}

static const struct pasta_option *adopt_options(struct adopting *a, const struct pasta_tool *tool)
{
	size_t stride = tool->option_size;

	if (!tool->options || !stride)
		return tool->options;
	return adopt_copy(a, tool->options,
			  adopt_count(a, tool->options, stride, sizeof(char *),
				      "struct pasta_option"),
			  stride, sizeof(struct pasta_option), "struct pasta_option");
}

/* Returns whether all structs of a descriptor have their current sizes. */
static bool adopt_is_current(const struct pasta_tool *tool)
{
	if (tool->size != sizeof(*tool) || tool->option_size != sizeof(struct pasta_option))
		return false;
	for (const struct pasta_group_def *g = tool->groups; g && g->size; g++)
		if (g->size != sizeof(*g) || g->member_size != sizeof(struct pasta_member))
			return false;
#define ADOPT_CURRENT(list) (!adopt_size(list) || adopt_size(list) == sizeof(*(list)))
	return ADOPT_CURRENT(tool->series) && ADOPT_CURRENT(tool->windows) &&
	       ADOPT_CURRENT(tool->ledger) && ADOPT_CURRENT(tool->accesses) &&
	       ADOPT_CURRENT(tool->diagnosis);
}

static void adopt_end(struct adopting *a)
{
	for (struct adopted *made = a->all, *next; made; made = next) {
		next = made->next;
		if (a->error) {
			free(made);
		} else {
			made->next = adopted;
			adopted = made;
		}
	}
}

bool pasta_tool_is_whole(const struct pasta_tool *tool)
{
	return tool->size >= ADOPT_TOOL_LEAST;
}

const struct pasta_tool *pasta_tool_adopt(const struct pasta_tool *tool, struct pasta_error *err)
{
	struct adopting a = {.err = err};
	struct pasta_tool *copy;

	if (!pasta_tool_is_whole(tool)) {
		pasta_fail(err, -EINVAL,
			   "the tool's descriptor has %u bytes, fewer than %d: declare the tool "
			   "with PASTA_TOOL",
			   tool->size, ADOPT_TOOL_LEAST);
		return NULL;
	}
	if (adopt_is_current(tool))
		return tool;
	copy = adopt_one(&a, tool, sizeof(*copy), "struct pasta_tool");
	if (!copy)
		return NULL;
	copy->options = adopt_options(&a, copy);
	copy->option_size = sizeof(struct pasta_option);
	copy->groups = adopt_groups(&a, copy->groups);
	copy->series =
		adopt_list(&a, copy->series, sizeof(*copy->series), "struct pasta_series_def");
	copy->windows =
		adopt_list(&a, copy->windows, sizeof(*copy->windows), "struct pasta_window_def");
	copy->ledger =
		adopt_one(&a, copy->ledger, sizeof(*copy->ledger), "struct pasta_ledger_def");
	copy->accesses = adopt_one(&a, copy->accesses, sizeof(*copy->accesses),
				   "struct pasta_access_index_def");
	copy->diagnosis = adopt_one(&a, copy->diagnosis, sizeof(*copy->diagnosis),
				    "struct pasta_diagnosis_def");
	adopt_end(&a);
	return a.error ? NULL : copy;
}
