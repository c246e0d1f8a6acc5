/* toolset.c - states of tools, at work on one feed of events. */
#include "process/run/toolset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/pathnode.h"
#include "process/sdk/ledger.h"
#include "process/sdk/owned.h"
#include "process/sdk/toolindex.h"
#include "process/io/utf8.h"

enum { LOG_MESSAGES = 100, LOG_TEXT = 1000 };

struct pasta_lane {
	struct pasta_seat *seats;
	size_t count;
	/* Who wants a kind: count places for each, of which the first few are used. */
	struct pasta_seat **wants;
	size_t want_count[PASTA_KIND_MAX];
	struct pasta_seat *in;	      /* the tool whose callback runs, or NULL */
	struct pasta_call_slot *slot; /* NULL: nobody watches */
};

static __thread const struct pasta_lane *lane_here; /* that calls tools on this thread */

static bool is_python(uint32_t ref)
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
	return stack && is_python(stack) ? stack : where->python;
}

static bool takes(enum pasta_lane_who who, const struct pasta_tool *tool)
{
	return who == PASTA_LANE_ALL || (who == PASTA_LANE_MERGING) == pasta_tool_is_sharded(tool);
}

struct pasta_lane *pasta_lane_new(const struct pasta_choice *choice, struct pasta_out *const *outs,
				  enum pasta_lane_who who)
{
	struct pasta_lane *l = calloc(1, sizeof(*l));
	size_t i;

	if (!l)
		return NULL;
	l->seats = calloc(choice->count + 1, sizeof(*l->seats));
	l->wants = calloc(PASTA_KIND_MAX * choice->count + 1, sizeof(struct pasta_seat *));
	if (!l->seats || !l->wants) {
		pasta_lane_free(l);
		return NULL;
	}
	for (i = 0; i < choice->count; i++)
		if (takes(who, choice->tools[i].tool))
			l->seats[l->count++] = (struct pasta_seat){.tool = choice->tools[i].tool,
								   .number = (uint32_t)i + 1,
								   .opts = &choice->tools[i],
								   .out = outs[i],
								   .failed = outs[i]->err.code};
	return l;
}

size_t pasta_lane_seats(const struct pasta_lane *l)
{
	return l->count;
}

void pasta_lane_watch(struct pasta_lane *l, struct pasta_call_slot *slot)
{
	l->slot = slot;
}

/* -- Calls, which may be watched. -- */

static inline void enter(struct pasta_lane *l, struct pasta_seat *seat)
{
	l->in = seat;
	pasta_call_begin(l->slot, seat->number);
}

static inline void leave(struct pasta_lane *l)
{
	l->in = NULL;
	pasta_call_end(l->slot);
}

static void lane_phase(struct pasta_lane *l, enum pasta_phase phase)
{
	lane_here = phase == PASTA_PHASE_NONE ? NULL : l;
	pasta_call_phase(l->slot, phase);
}

/* -- Messages of tools. One line is one write, also where other threads write. -- */

static void lane_write(const char *name, const char *level, const char *text)
{
	char plain[LOG_TEXT];

	dprintf(STDERR_FILENO, "accelprof: %s%s%s%s\n", name ? name : "", name ? ": " : "", level,
		pasta_utf8_plain(text, plain, sizeof(plain)));
}

void pasta_log(enum pasta_log_level level, const char *fmt, ...)
{
	struct pasta_seat *seat = lane_here ? lane_here->in : NULL;
	char text[LOG_TEXT];
	va_list args;

	if (seat && seat->messages++ >= LOG_MESSAGES)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	lane_write(seat ? seat->tool->name : NULL,
		   level == PASTA_LOG_ERROR	? "error: "
		   : level == PASTA_LOG_WARNING ? "warning: "
						: "",
		   text);
}

static void seat_count_messages(const struct pasta_seat *seat)
{
	char text[LOG_TEXT];

	if (seat->messages <= LOG_MESSAGES)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " more messages", seat->messages - LOG_MESSAGES);
	lane_write(seat->tool->name, "", text);
}

static void seat_close(struct pasta_lane *l, struct pasta_seat *seat)
{
	void *state = seat->state;

	seat->state = NULL;
	if (!state)
		return;
	enter(l, seat);
	if (seat->tool->close)
		seat->tool->close(state);
	leave(l);
	seat_count_messages(seat);
	pasta_owned_close(seat->tool, state);
	free(state);
}

void pasta_lane_close(struct pasta_lane *l)
{
	size_t i;

	lane_phase(l, PASTA_PHASE_CLOSE);
	for (i = 0; i < l->count; i++)
		seat_close(l, &l->seats[i]);
	lane_phase(l, PASTA_PHASE_NONE);
}

void pasta_lane_free(struct pasta_lane *l)
{
	if (!l)
		return;
	if (l->seats)
		pasta_lane_close(l);
	free(l->seats);
	free(l->wants);
	free(l);
}

/* -- What a lane does. -- */

static void want(struct pasta_lane *l, struct pasta_seat *seat)
{
	unsigned int kind;

	seat->ledger_kinds = pasta_ledger_kinds(seat->tool->ledger);
	seat->book_kinds = pasta_toolbook_kinds(seat->tool);
	seat->located = seat->tool->needs & (PASTA_NEED_SCOPES | PASTA_NEED_OPS);
	seat->shared_kinds = seat->ledger_kinds | seat->book_kinds;
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_tool_kinds(seat->tool) >> kind & 1)
			l->wants[kind * l->count + l->want_count[kind]++] = seat;
}

static void seat_open(struct pasta_lane *l, struct pasta_seat *seat)
{
	struct pasta_error err = {.size = sizeof(err)};
	int error = 0;

	seat->state = calloc(1, seat->tool->state_size ? seat->tool->state_size : 1);
	if (!seat->state) {
		pasta_out_fail(seat->out, -ENOMEM, "out of memory");
		return;
	}
	error = pasta_owned_open(seat->tool, seat->opts, seat->state, &err);
	enter(l, seat);
	if (!error && seat->tool->open)
		error = seat->tool->open(seat->state, seat->opts, &err);
	leave(l);
	if (error) {
		pasta_out_fail(seat->out, error, "%s", *err.text ? err.text : strerror(abs(error)));
		seat_close(l, seat);
	}
}

void pasta_lane_open(struct pasta_lane *l)
{
	size_t i;

	lane_phase(l, PASTA_PHASE_OPEN);
	for (i = 0; i < l->count; i++) {
		struct pasta_seat *seat = &l->seats[i];

		if (!seat->failed)
			seat_open(l, seat);
		if (seat->state)
			want(l, seat);
	}
	lane_phase(l, PASTA_PHASE_NONE);
}

uint64_t pasta_lane_kinds(const struct pasta_lane *l)
{
	uint64_t kinds = 0;
	size_t i;

	for (i = 0; i < l->count; i++)
		kinds |= l->seats[i].state ? pasta_tool_kinds(l->seats[i].tool) : 0;
	return kinds;
}

uint64_t pasta_lane_needs(const struct pasta_lane *l)
{
	uint64_t needs = 0;
	size_t i;

	for (i = 0; i < l->count; i++)
		needs |= l->seats[i].state ? l->seats[i].tool->needs : 0;
	return needs;
}

/* Of a kind that its ledger or its index of accesses takes, too. */
__attribute__((noinline)) static void seat_event(const struct pasta_seat *seat,
						 const struct pasta_event *ev,
						 const struct pasta_where *where)
{
	if (seat->ledger_kinds >> ev->kind & 1)
		pasta_ledger_event(pasta_ledger_in(seat->tool, seat->state), ev, where);
	if (seat->book_kinds >> ev->kind & 1)
		pasta_toolbook_event(seat->tool, seat->state, ev);
	if (seat->tool->events >> ev->kind & 1)
		seat->tool->event(seat->state, ev, where);
}

/* To the seats that want it. Inline: it runs for each event. */
static inline __attribute__((always_inline)) void
give(struct pasta_lane *l, const struct pasta_event *ev, const struct pasta_where *known)
{
	size_t i, count = l->want_count[ev->kind];
	struct pasta_seat **wants = l->wants + ev->kind * l->count;

	for (i = 0; i < count; i++) {
		struct pasta_seat *seat = wants[i];
		const struct pasta_where *where = seat->located ? known : NULL;

		enter(l, seat);
		if (seat->shared_kinds >> ev->kind & 1)
			seat_event(seat, ev, where);
		else
			seat->tool->event(seat->state, ev, where);
	}
	leave(l);
}

void pasta_lane_event(struct pasta_lane *l, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	if (ev->kind < PASTA_KIND_MAX)
		give(l, ev, where ? where : &pasta_nowhere);
}

void pasta_lane_read(struct pasta_lane *l, struct pasta_feed *feed)
{
	const struct pasta_event *ev;
	const struct pasta_where *where;

	lane_phase(l, PASTA_PHASE_EVENT);
	while ((ev = pasta_feed_next(feed, &where)))
		if (ev->kind < PASTA_KIND_MAX)
			give(l, ev, where ? where : &pasta_nowhere);
	lane_phase(l, PASTA_PHASE_NONE);
}

static void seat_merge(struct pasta_seat *seat, const struct pasta_seat *other)
{
	struct pasta_error err = {.size = sizeof(err)};
	int error = seat->tool->merge(seat->state, other->state, &err);

	if (error)
		pasta_out_fail(seat->out, error, "cannot merge: %.400s",
			       *err.text ? err.text : strerror(abs(error)));
}

void pasta_lane_merge(struct pasta_lane *into, const struct pasta_lane *from)
{
	size_t i;

	lane_phase(into, PASTA_PHASE_MERGE);
	for (i = 0; i < into->count; i++) {
		struct pasta_seat *seat = &into->seats[i];
		const struct pasta_seat *other = &from->seats[i];
		int error;

		/* Where the tool failed in the other, it has failed. */
		if (!seat->state || !other->state)
			continue;
		error = pasta_owned_merge(seat->tool, seat->state, other->state);
		if (error)
			pasta_out_fail(seat->out, error, "cannot merge: %s", strerror(-error));
		enter(into, seat);
		if (!error && seat->tool->merge)
			seat_merge(seat, other);
		leave(into);
	}
	lane_phase(into, PASTA_PHASE_NONE);
}

/* What ran out of memory, before the report or in it, is not whole: it is not shown. */
static int report_state(const struct pasta_seat *seat, struct pasta_error *err)
{
	int error = pasta_owned_error(seat->tool, seat->state);

	seat->out->tool = seat->tool;
	if (error)
		return error;
	error = seat->tool->report ? seat->tool->report(seat->state, seat->out, err)
				   : pasta_out_groups(seat->out, seat->state, err);
	return error ? error : pasta_owned_error(seat->tool, seat->state);
}

static void seat_report(struct pasta_lane *l, struct pasta_seat *seat)
{
	struct pasta_error err = {.size = sizeof(err)};
	int error;

	if (!seat->state || seat->out->err.code)
		return;
	enter(l, seat);
	error = report_state(seat, &err);
	leave(l);
	if (error)
		pasta_out_fail(seat->out, error, "cannot report: %.400s",
			       *err.text ? err.text : strerror(abs(error)));
}

void pasta_lane_report(struct pasta_lane *l)
{
	size_t i;

	lane_phase(l, PASTA_PHASE_REPORT);
	for (i = 0; i < l->count; i++)
		seat_report(l, &l->seats[i]);
	lane_phase(l, PASTA_PHASE_NONE);
}
