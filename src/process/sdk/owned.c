/* owned.c - creates, merges, checks and frees the groups, ledgers and similar containers in a
 * tool's state. */
#include "process/sdk/owned.h"

#include <errno.h>
#include <string.h>

#include "process/diagnosis/diagnosis.h"
#include "process/sdk/group.h"
#include "process/sdk/ledger.h"
#include "process/sdk/series.h"
#include "process/sdk/toolindex.h"
#include "process/sdk/windows.h"

/* The operations on one type of container. A declaration with size 0 ends a list of
 * declarations. */
struct owned_type {
	const void *(*defs)(const struct pasta_tool *tool);
	/* Size of a declaration in a list; 0 if the tool has a single declaration instead of a
	 * list. */
	size_t def_size;
	uint32_t (*offset)(const void *def);
	int (*check)(const struct pasta_tool *tool, const void *def, struct pasta_error *err);
	void *(*make)(const void *def, const struct pasta_opts *opts, void *state,
		      struct pasta_error *err);
	void (*free)(void *thing);
	int (*merge)(void *into, void *from);
	int (*error)(const void *thing);
};

#define OWNED(noun, type, member, checked, made)                                                   \
	static const void *owned_##noun##_defs(const struct pasta_tool *tool)                      \
	{                                                                                          \
		return tool->member;                                                               \
	}                                                                                          \
	static uint32_t owned_##noun##_offset(const void *def)                                     \
	{                                                                                          \
		return ((const struct type *)def)->state_offset;                                   \
	}                                                                                          \
	static int owned_##noun##_check(const struct pasta_tool *tool, const void *def,            \
					struct pasta_error *err)                                   \
	{                                                                                          \
		return checked;                                                                    \
	}                                                                                          \
	static void *owned_##noun##_make(const void *def, const struct pasta_opts *opts,           \
					 void *state, struct pasta_error *err)                     \
	{                                                                                          \
		return made;                                                                       \
	}                                                                                          \
	static void owned_##noun##_free(void *thing)                                               \
	{                                                                                          \
		pasta_##noun##_free(thing);                                                        \
	}                                                                                          \
	static int owned_##noun##_merge(void *into, void *from)                                    \
	{                                                                                          \
		return pasta_##noun##_merge(into, from);                                           \
	}                                                                                          \
	static int owned_##noun##_error(const void *thing)                                         \
	{                                                                                          \
		return pasta_##noun##_error(thing);                                                \
	}

OWNED(group, pasta_group_def, groups, pasta_group_check(tool, def, err),
      pasta_group_new(def, opts, state))
OWNED(series, pasta_series_def, series, pasta_series_check(tool, def, err), pasta_series_new(def))
OWNED(windows, pasta_window_def, windows, pasta_windows_check(tool, def, err),
      pasta_windows_new(def, opts, err))
OWNED(ledger, pasta_ledger_def, ledger, pasta_ledger_check(tool, err), pasta_ledger_new(def, state))
OWNED(access_index, pasta_access_index_def, accesses, pasta_toolindex_check(tool, err),
      pasta_access_index_new(((const struct pasta_access_index_def *)def)->reducers))

#define TYPE(noun, size)                                                                           \
	{                                                                                          \
		owned_##noun##_defs, size, owned_##noun##_offset, owned_##noun##_check,            \
			owned_##noun##_make, owned_##noun##_free, owned_##noun##_merge,            \
			owned_##noun##_error                                                       \
	}
static const struct owned_type types[] = {
	TYPE(group, sizeof(struct pasta_group_def)),
	TYPE(series, sizeof(struct pasta_series_def)),
	TYPE(windows, sizeof(struct pasta_window_def)),
	TYPE(ledger, 0),
	TYPE(access_index, 0),
};
enum { TYPES = sizeof(types) / sizeof(*types) };

/* Iterates over all declarations of a tool. Zero the struct before use, then set `tool`. */
struct owned_walk {
	const struct pasta_tool *tool;
	const struct owned_type *type;
	const char *def;
};

static const void *owned_first(const struct pasta_tool *tool, const struct owned_type *type)
{
	const uint32_t *def = type->defs(tool);

	return def && (*def || !type->def_size) ? def : NULL;
}

static bool owned_next(struct owned_walk *w)
{
	if (w->def && w->type->def_size) {
		uint32_t size;

		w->def += w->type->def_size;
		/* every declaration has `size` as its first member */
		memcpy(&size, w->def, sizeof(size));
		if (size)
			return true;
	}
	do {
		w->type = w->type ? w->type + 1 : types;
		if (w->type == types + TYPES)
			return false;
		w->def = owned_first(w->tool, w->type);
	} while (!w->def);
	return true;
}

static void *owned_get(const struct owned_walk *w, const void *state)
{
	void *thing;

	memcpy(&thing, (const char *)state + w->type->offset(w->def), sizeof(thing));
	return thing;
}

static void owned_set(const struct owned_walk *w, void *state, void *thing)
{
	memcpy((char *)state + w->type->offset(w->def), &thing, sizeof(thing));
}

bool pasta_owned_fits(const struct pasta_tool *tool, uint32_t state_offset)
{
	return state_offset % sizeof(void *) == 0 &&
	       state_offset + sizeof(void *) <= tool->state_size;
}

/* Returns whether an earlier declaration names the same pointer. One of the two containers would
 * then overwrite the other. */
static bool owned_is_shared(const struct owned_walk *w)
{
	struct owned_walk other = {.tool = w->tool};

	while (owned_next(&other) && other.def != w->def)
		if (other.type->offset(other.def) == w->type->offset(w->def))
			return true;
	return false;
}

/* Returns whether a declaration names the pointer at an offset. */
static bool owned_is_taken(const struct pasta_tool *tool, uint32_t offset)
{
	struct owned_walk w = {.tool = tool};

	while (owned_next(&w))
		if (w.type->offset(w.def) == offset)
			return true;
	return false;
}

int pasta_owned_check(const struct pasta_tool *tool, struct pasta_error *err)
{
	struct owned_walk w = {.tool = tool};
	int error = 0;

	while (!error && owned_next(&w)) {
		error = w.type->check(tool, w.def, err);
		if (!error && owned_is_shared(&w))
			error = pasta_fail(err, -EINVAL,
					   "two declarations of the tool refer to the same "
					   "pointer, at byte %u of the state",
					   w.type->offset(w.def));
	}
	if (!error && tool->diagnosis)
		error = pasta_diagnosis_check(tool, err);
	if (!error && tool->diagnosis && owned_is_taken(tool, tool->diagnosis->state_offset))
		error = pasta_fail(err, -EINVAL,
				   "the tool's diagnosis and another declaration refer to the same "
				   "pointer, at byte %u of the state",
				   tool->diagnosis->state_offset);
	return error;
}

int pasta_owned_open(const struct pasta_tool *tool, const struct pasta_opts *opts, void *state,
		     struct pasta_error *err)
{
	struct owned_walk w = {.tool = tool};

	while (owned_next(&w)) {
		void *thing = w.type->make(w.def, opts, state, err);

		if (!thing)
			return err->code ? err->code : -ENOMEM;
		owned_set(&w, state, thing);
	}
	return 0;
}

void pasta_owned_close(const struct pasta_tool *tool, void *state)
{
	struct owned_walk w = {.tool = tool};

	while (owned_next(&w)) {
		w.type->free(owned_get(&w, state));
		owned_set(&w, state, NULL);
	}
}

int pasta_owned_merge(const struct pasta_tool *tool, void *into, void *from)
{
	struct owned_walk w = {.tool = tool};
	int error = 0;

	while (!error && owned_next(&w))
		error = w.type->merge(owned_get(&w, into), owned_get(&w, from));
	return error;
}

int pasta_owned_error(const struct pasta_tool *tool, const void *state)
{
	struct owned_walk w = {.tool = tool};
	int error = 0;

	while (!error && owned_next(&w))
		error = w.type->error(owned_get(&w, state));
	return error;
}
