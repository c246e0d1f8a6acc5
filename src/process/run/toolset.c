/* toolset.c - opens tools that share one reader, delivers events to them, and merges and closes
 * them. */
#include "process/run/toolset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/pathnode.h"
#include "process/diagnosis/diagnosis.h"
#include "process/sdk/ledger.h"
#include "process/sdk/owned.h"
#include "process/sdk/toolindex.h"
#include "process/io/utf8.h"

enum { LOG_MESSAGES = 100, LOG_TEXT = 1000 };

struct pasta_toolset {
	struct pasta_tool_instance *instances;
	size_t count;
	/* The tools that subscribe to each kind. The array consists of PASTA_KIND_MAX lists with
	 * room for `count` pointers each. The first subscriber_count pointers of a kind's list are
	 * in use. */
	struct pasta_tool_instance **subscribers;
	size_t subscriber_count[PASTA_KIND_MAX];
	struct pasta_tool_instance *in; /* the tool whose callback is running, or NULL */
	struct pasta_call_slot *slot;	/* NULL if no process watches the calls */
	/* The diagnosis that the tools share, and the kinds that it reads. NULL and 0 if no open
	 * tool declares a diagnosis. */
	struct pasta_diagnosis *diagnosis;
	uint64_t diagnosis_kinds;
};

static __thread const struct pasta_toolset
	*toolset_here; /* the toolset whose tools the current thread is calling */

static bool toolset_is_python(uint32_t ref)
{
	struct pasta_pathnode node;
	size_t size;
	const char *bytes = pasta_bytes(ref, &size);

	return pasta_pathnode_decode(bytes, size, &node);
}

uint32_t pasta_python_of(const struct pasta_event *ev, const struct pasta_where *where)
{
	uint32_t stack = ev->kind == PASTA_KIND_ALLOC	 ? ev->alloc.stack
			 : ev->kind == PASTA_KIND_FREE	 ? ev->free.stack
			 : ev->kind == PASTA_KIND_LAUNCH ? ev->launch.stack
							 : where->stack;

	if (where->flags & PASTA_WHERE_BACKWARD && where->python)
		return where->python;
	return stack && toolset_is_python(stack) ? stack : where->python;
}

static bool toolset_has(enum pasta_toolset_select select, const struct pasta_tool *tool)
{
	return select == PASTA_TOOLSET_ALL ||
	       (select == PASTA_TOOLSET_SHARDED) == pasta_tool_is_sharded(tool);
}

struct pasta_toolset *pasta_toolset_new(const struct pasta_choice *choice,
					struct pasta_out *const *outs,
					enum pasta_toolset_select select)
{
	struct pasta_toolset *set = calloc(1, sizeof(*set));
	size_t i;

	if (!set)
		return NULL;
	set->instances = calloc(choice->count + 1, sizeof(*set->instances));
	set->subscribers =
		calloc(PASTA_KIND_MAX * choice->count + 1, sizeof(struct pasta_tool_instance *));
	if (!set->instances || !set->subscribers) {
		pasta_toolset_free(set);
		return NULL;
	}
	for (i = 0; i < choice->count; i++)
		if (toolset_has(select, choice->tools[i].tool))
			set->instances[set->count++] =
				(struct pasta_tool_instance){.tool = choice->tools[i].tool,
							     .number = (uint32_t)i + 1,
							     .opts = &choice->tools[i],
							     .out = outs[i],
							     .failed = outs[i]->err.code};
	return set;
}

size_t pasta_toolset_instances(const struct pasta_toolset *set)
{
	return set->count;
}

void pasta_toolset_watch(struct pasta_toolset *set, struct pasta_call_slot *slot)
{
	set->slot = slot;
}

/* -- Calls of tools. -- */

static inline void toolset_enter(struct pasta_toolset *set, struct pasta_tool_instance *instance)
{
	set->in = instance;
	pasta_call_begin(set->slot, instance->number);
}

static inline void toolset_leave(struct pasta_toolset *set)
{
	set->in = NULL;
	pasta_call_end(set->slot);
}

static void toolset_phase(struct pasta_toolset *set, enum pasta_phase phase)
{
	toolset_here = phase == PASTA_PHASE_NONE ? NULL : set;
	pasta_call_phase(set->slot, phase);
}

/* -- Messages of tools. Each line is written by a single call, so that lines of different threads
 * do not mix. -- */

static void toolset_write(const char *name, const char *level, const char *text)
{
	char plain[LOG_TEXT];

	dprintf(STDERR_FILENO, "accelprof: %s%s%s%s\n", name ? name : "", name ? ": " : "", level,
		pasta_utf8_plain(text, plain, sizeof(plain)));
}

void pasta_log(enum pasta_log_level level, const char *fmt, ...)
{
	struct pasta_tool_instance *instance = toolset_here ? toolset_here->in : NULL;
	char text[LOG_TEXT];
	va_list args;

	if (instance && instance->messages++ >= LOG_MESSAGES)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	toolset_write(instance ? instance->tool->name : NULL,
		      level == PASTA_LOG_ERROR	   ? "error: "
		      : level == PASTA_LOG_WARNING ? "warning: "
						   : "",
		      text);
}

static void instance_count_messages(const struct pasta_tool_instance *instance)
{
	char text[LOG_TEXT];

	if (instance->messages <= LOG_MESSAGES)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " more messages",
		 instance->messages - LOG_MESSAGES);
	toolset_write(instance->tool->name, "", text);
}

static void instance_close(struct pasta_toolset *set, struct pasta_tool_instance *instance)
{
	void *state = instance->state;

	instance->state = NULL;
	if (!state)
		return;
	toolset_enter(set, instance);
	if (instance->tool->close)
		instance->tool->close(state);
	toolset_leave(set);
	instance_count_messages(instance);
	pasta_owned_close(instance->tool, state);
	free(state);
}

void pasta_toolset_close(struct pasta_toolset *set)
{
	size_t i;

	toolset_phase(set, PASTA_PHASE_CLOSE);
	for (i = 0; i < set->count; i++)
		instance_close(set, &set->instances[i]);
	pasta_diagnosis_free(set->diagnosis);
	set->diagnosis = NULL;
	set->diagnosis_kinds = 0;
	toolset_phase(set, PASTA_PHASE_NONE);
}

void pasta_toolset_free(struct pasta_toolset *set)
{
	if (!set)
		return;
	if (set->instances)
		pasta_toolset_close(set);
	free(set->instances);
	free(set->subscribers);
	free(set);
}

/* -- Opening tools, delivering events, merging and reporting -- */

static void toolset_subscribe(struct pasta_toolset *set, struct pasta_tool_instance *instance)
{
	unsigned int kind;

	instance->ledger_kinds = pasta_ledger_kinds(instance->tool->ledger);
	instance->index_kinds = pasta_toolindex_kinds(instance->tool);
	instance->located = instance->tool->needs & (PASTA_NEED_SCOPES | PASTA_NEED_OPS);
	instance->shared_kinds = instance->ledger_kinds | instance->index_kinds;
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_tool_own_kinds(instance->tool) >> kind & 1)
			set->subscribers[kind * set->count + set->subscriber_count[kind]++] =
				instance;
}

/* Stores the toolset's diagnosis in the state of a tool that declares one. The first such tool
 * creates the diagnosis. Returns 0 or -ENOMEM. */
static int toolset_diagnose(struct pasta_toolset *set, const struct pasta_tool_instance *instance)
{
	if (!instance->tool->diagnosis)
		return 0;
	if (!set->diagnosis)
		set->diagnosis = pasta_diagnosis_new();
	if (!set->diagnosis)
		return -ENOMEM;
	set->diagnosis_kinds = PASTA_DIAGNOSIS_KINDS;
	pasta_diagnosis_share(set->diagnosis, instance->tool, instance->state);
	return 0;
}

static void instance_open(struct pasta_toolset *set, struct pasta_tool_instance *instance)
{
	struct pasta_error err = {.size = sizeof(err)};
	int error = 0;

	instance->state = calloc(1, instance->tool->state_size ? instance->tool->state_size : 1);
	if (!instance->state) {
		pasta_out_fail(instance->out, -ENOMEM, "out of memory");
		return;
	}
	error = pasta_owned_open(instance->tool, instance->opts, instance->state, &err);
	if (!error)
		error = toolset_diagnose(set, instance);
	toolset_enter(set, instance);
	if (!error && instance->tool->open)
		error = instance->tool->open(instance->state, instance->opts, &err);
	toolset_leave(set);
	if (error) {
		pasta_out_fail(instance->out, error, "%s",
			       *err.text ? err.text : strerror(abs(error)));
		instance_close(set, instance);
	}
}

void pasta_toolset_open(struct pasta_toolset *set)
{
	size_t i;

	toolset_phase(set, PASTA_PHASE_OPEN);
	for (i = 0; i < set->count; i++) {
		struct pasta_tool_instance *instance = &set->instances[i];

		if (!instance->failed)
			instance_open(set, instance);
		if (instance->state)
			toolset_subscribe(set, instance);
	}
	toolset_phase(set, PASTA_PHASE_NONE);
}

uint64_t pasta_toolset_kinds(const struct pasta_toolset *set)
{
	uint64_t kinds = 0;
	size_t i;

	for (i = 0; i < set->count; i++)
		kinds |= set->instances[i].state ? pasta_tool_kinds(set->instances[i].tool) : 0;
	return kinds;
}

uint64_t pasta_toolset_needs(const struct pasta_toolset *set)
{
	uint64_t needs = 0;
	size_t i;

	for (i = 0; i < set->count; i++)
		needs |= set->instances[i].state ? set->instances[i].tool->needs : 0;
	return needs;
}

/* Delivers an event that the tool's ledger or access index reads. The ledger and the index get the
 * event before the tool. */
__attribute__((noinline)) static void instance_event(const struct pasta_tool_instance *instance,
						     const struct pasta_event *ev,
						     const struct pasta_where *where)
{
	if (instance->ledger_kinds >> ev->kind & 1)
		pasta_ledger_event(pasta_ledger_in(instance->tool, instance->state), ev, where);
	if (instance->index_kinds >> ev->kind & 1)
		pasta_toolindex_event(instance->tool, instance->state, ev);
	if (instance->tool->events >> ev->kind & 1)
		instance->tool->event(instance->state, ev, where);
}

/* Delivers an event to the tools that subscribe to its kind. Inline, because the engine calls this
 * function for each event. */
__attribute__((always_inline)) static inline void toolset_deliver(struct pasta_toolset *set,
								  const struct pasta_event *ev,
								  const struct pasta_where *known)
{
	size_t i, count = set->subscriber_count[ev->kind];
	struct pasta_tool_instance **subscribers = set->subscribers + ev->kind * set->count;

	if (set->diagnosis_kinds >> ev->kind & 1)
		pasta_diagnosis_event(set->diagnosis, ev, known);
	for (i = 0; i < count; i++) {
		struct pasta_tool_instance *instance = subscribers[i];
		const struct pasta_where *where = instance->located ? known : NULL;

		toolset_enter(set, instance);
		if (instance->shared_kinds >> ev->kind & 1)
			instance_event(instance, ev, where);
		else
			instance->tool->event(instance->state, ev, where);
	}
	toolset_leave(set);
}

void pasta_toolset_event(struct pasta_toolset *set, const struct pasta_event *ev,
			 const struct pasta_where *where)
{
	if (ev->kind < PASTA_KIND_MAX)
		toolset_deliver(set, ev, where ? where : &pasta_nowhere);
}

void pasta_toolset_read(struct pasta_toolset *set, struct pasta_reader *reader)
{
	const struct pasta_event *ev;
	const struct pasta_where *where;

	toolset_phase(set, PASTA_PHASE_EVENT);
	while ((ev = pasta_reader_next(reader, &where)))
		if (ev->kind < PASTA_KIND_MAX)
			toolset_deliver(set, ev, where ? where : &pasta_nowhere);
	toolset_phase(set, PASTA_PHASE_NONE);
}

static void instance_merge(struct pasta_tool_instance *instance,
			   const struct pasta_tool_instance *other)
{
	struct pasta_error err = {.size = sizeof(err)};
	int error = instance->tool->merge(instance->state, other->state, &err);

	if (error)
		pasta_out_fail(instance->out, error, "cannot merge: %.400s",
			       *err.text ? err.text : strerror(abs(error)));
}

void pasta_toolset_merge(struct pasta_toolset *into, const struct pasta_toolset *from)
{
	size_t i;

	toolset_phase(into, PASTA_PHASE_MERGE);
	if (into->diagnosis && from->diagnosis)
		pasta_diagnosis_merge(into->diagnosis, from->diagnosis);
	for (i = 0; i < into->count; i++) {
		struct pasta_tool_instance *instance = &into->instances[i];
		const struct pasta_tool_instance *other = &from->instances[i];
		int error;

		/* Skip a tool that has no state in one of the two sets. A tool that fails in one
		 * set fails in all sets. */
		if (!instance->state || !other->state)
			continue;
		error = pasta_owned_merge(instance->tool, instance->state, other->state);
		if (error)
			pasta_out_fail(instance->out, error, "cannot merge: %s", strerror(-error));
		toolset_enter(into, instance);
		if (!error && instance->tool->merge)
			instance_merge(instance, other);
		toolset_leave(into);
	}
	toolset_phase(into, PASTA_PHASE_NONE);
}

/* Returns the first error of the containers and of the diagnosis that the tool uses, or 0. */
static int instance_error(const struct pasta_toolset *set,
			  const struct pasta_tool_instance *instance)
{
	int error = pasta_owned_error(instance->tool, instance->state);

	return error || !instance->tool->diagnosis ? error : pasta_diagnosis_error(set->diagnosis);
}

/* Calls the tool's `report`. If memory for the tool's state ran out before or during the report,
 * the tool fails, because its numbers are incomplete. */
static int instance_report_state(const struct pasta_toolset *set,
				 const struct pasta_tool_instance *instance,
				 struct pasta_error *err)
{
	int error = instance_error(set, instance);

	instance->out->tool = instance->tool;
	if (error)
		return error;
	error = instance->tool->report ? instance->tool->report(instance->state, instance->out, err)
				       : pasta_out_groups(instance->out, instance->state, err);
	return error ? error : instance_error(set, instance);
}

static void instance_report(struct pasta_toolset *set, struct pasta_tool_instance *instance)
{
	struct pasta_error err = {.size = sizeof(err)};
	int error;

	if (!instance->state || instance->out->err.code)
		return;
	toolset_enter(set, instance);
	error = instance_report_state(set, instance, &err);
	toolset_leave(set);
	if (error)
		pasta_out_fail(instance->out, error, "cannot report: %.400s",
			       *err.text ? err.text : strerror(abs(error)));
}

void pasta_toolset_report(struct pasta_toolset *set)
{
	size_t i;

	toolset_phase(set, PASTA_PHASE_REPORT);
	if (set->diagnosis)
		pasta_diagnosis_finish(set->diagnosis);
	for (i = 0; i < set->count; i++)
		instance_report(set, &set->instances[i]);
	toolset_phase(set, PASTA_PHASE_NONE);
}
