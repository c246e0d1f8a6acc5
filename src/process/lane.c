/* lane.c - states of tools, at work on one feed of events. */
#include "process/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/pathnode.h"
#include "process/group.h"
#include "process/ledger.h"
#include "process/toolbook.h"

struct pasta_lane {
	struct pasta_seat *seats;
	size_t count;
	/* Who wants a kind: count places for each, of which the first few are used. */
	struct pasta_seat **wants;
	size_t want_count[PASTA_KIND_MAX];
	const struct pasta_event *ev;
	const struct pasta_where *where;
	struct pasta_call_slot *slot; /* NULL: nobody watches */
};

static __thread struct pasta_lane *now; /* that gives events on this thread */

const struct pasta_where *pasta_where_of(const struct pasta_event *ev)
{
	return now && now->ev == ev && now->where ? now->where : &pasta_nowhere;
}

static bool is_python(uint32_t ref)
{
	struct pasta_pathnode node;
	size_t size;
	const char *bytes = pasta_bytes(ref, &size);

	return pasta_pathnode_decode(bytes, size, &node);
}

uint32_t pasta_python_of(const struct pasta_event *ev)
{
	const struct pasta_where *where = pasta_where_of(ev);
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

static inline void enter(struct pasta_lane *l, const struct pasta_seat *seat)
{
	pasta_call_begin(l->slot, seat->number);
}

static inline void leave(struct pasta_lane *l)
{
	pasta_call_end(l->slot);
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
	pasta_groups_close(seat->tool, state);
	pasta_ledger_close(seat->tool, state);
	pasta_toolbook_close(seat->tool, state);
	free(state);
}

void pasta_lane_close(struct pasta_lane *l)
{
	size_t i;

	pasta_call_phase(l->slot, PASTA_PHASE_CLOSE);
	for (i = 0; i < l->count; i++)
		seat_close(l, &l->seats[i]);
	pasta_call_phase(l->slot, PASTA_PHASE_NONE);
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
	seat->shared_kinds = seat->ledger_kinds | seat->book_kinds;
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_tool_kinds(seat->tool) >> kind & 1)
			l->wants[kind * l->count + l->want_count[kind]++] = seat;
}

static void seat_open(struct pasta_lane *l, struct pasta_seat *seat)
{
	struct pasta_error err = {0};
	int error = 0;

	seat->state = calloc(1, seat->tool->state_size ? seat->tool->state_size : 1);
	if (!seat->state) {
		pasta_out_fail(seat->out, -ENOMEM, "out of memory");
		return;
	}
	error = pasta_groups_open(seat->tool, seat->opts, seat->state);
	if (!error)
		error = pasta_ledger_open(seat->tool, seat->state);
	error = error ? error : pasta_toolbook_open(seat->tool, seat->state);
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

	pasta_call_phase(l->slot, PASTA_PHASE_OPEN);
	for (i = 0; i < l->count; i++) {
		struct pasta_seat *seat = &l->seats[i];

		if (!seat->failed)
			seat_open(l, seat);
		if (seat->state)
			want(l, seat);
	}
	pasta_call_phase(l->slot, PASTA_PHASE_NONE);
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

/* Of a kind that its ledger or its book takes, too. */
__attribute__((noinline)) static void seat_event(const struct pasta_seat *seat,
						 const struct pasta_event *ev)
{
	if (seat->ledger_kinds >> ev->kind & 1)
		pasta_ledger_event(pasta_ledger_in(seat->tool, seat->state), ev);
	if (seat->book_kinds >> ev->kind & 1)
		pasta_toolbook_event(seat->tool, seat->state, ev);
	if (seat->tool->events >> ev->kind & 1)
		seat->tool->event(seat->state, ev);
}

/* To the seats that want it. Inline: it runs for each event. */
static inline __attribute__((always_inline)) void give(struct pasta_lane *l)
{
	const struct pasta_event *ev = l->ev;
	size_t i, count = l->want_count[ev->kind];
	struct pasta_seat **wants = l->wants + ev->kind * l->count;

	for (i = 0; i < count; i++) {
		struct pasta_seat *seat = wants[i];

		enter(l, seat);
		if (seat->shared_kinds >> ev->kind & 1)
			seat_event(seat, ev);
		else
			seat->tool->event(seat->state, ev);
	}
	leave(l);
}

void pasta_lane_event(struct pasta_lane *l, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	if (ev->kind >= PASTA_KIND_MAX)
		return;
	now = l;
	l->ev = ev;
	l->where = where;
	give(l);
	l->ev = NULL;
	now = NULL;
}

void pasta_lane_read(struct pasta_lane *l, struct pasta_feed *feed)
{
	pasta_call_phase(l->slot, PASTA_PHASE_EVENT);
	now = l;
	while ((l->ev = pasta_feed_next(feed, &l->where)))
		if (l->ev->kind < PASTA_KIND_MAX)
			give(l);
	now = NULL;
	pasta_call_phase(l->slot, PASTA_PHASE_NONE);
}

void pasta_lane_merge(struct pasta_lane *into, const struct pasta_lane *from)
{
	size_t i;

	pasta_call_phase(into->slot, PASTA_PHASE_MERGE);
	for (i = 0; i < into->count; i++) {
		struct pasta_seat *seat = &into->seats[i];
		const struct pasta_seat *other = &from->seats[i];
		int error;

		/* Where the tool failed in the other, it has failed. */
		if (!seat->state || !other->state)
			continue;
		error = pasta_groups_merge(seat->tool, seat->state, other->state);
		if (!error && seat->tool->ledger)
			error = pasta_ledger_merge(pasta_ledger_in(seat->tool, seat->state),
						   pasta_ledger_in(seat->tool, other->state));
		error = error ? error : pasta_toolbook_merge(seat->tool, seat->state, other->state);
		if (error)
			pasta_out_fail(seat->out, error, "cannot merge: %s", strerror(-error));
		enter(into, seat);
		if (!error && seat->tool->merge)
			seat->tool->merge(seat->state, other->state);
		leave(into);
	}
	pasta_call_phase(into->slot, PASTA_PHASE_NONE);
}

/* What ran out of memory, before the report or in it, is not whole: it is not shown. */
static int report_state(const struct pasta_seat *seat)
{
	int error = pasta_groups_error(seat->tool, seat->state);

	if (!error && seat->tool->ledger)
		error = pasta_ledger_error(pasta_ledger_in(seat->tool, seat->state));
	error = error ? error : pasta_toolbook_error(seat->tool, seat->state);
	seat->out->tool = seat->tool;
	if (error)
		return error;
	error = seat->tool->report ? seat->tool->report(seat->state, seat->out)
				   : pasta_out_groups(seat->out, seat->state);
	return error ? error : pasta_groups_error(seat->tool, seat->state);
}

static void seat_report(struct pasta_lane *l, struct pasta_seat *seat)
{
	int error;

	if (!seat->state || seat->out->err.code)
		return;
	enter(l, seat);
	error = report_state(seat);
	leave(l);
	if (error)
		pasta_out_fail(seat->out, error, "cannot report: %s", strerror(abs(error)));
}

void pasta_lane_report(struct pasta_lane *l)
{
	size_t i;

	pasta_call_phase(l->slot, PASTA_PHASE_REPORT);
	for (i = 0; i < l->count; i++)
		seat_report(l, &l->seats[i]);
	pasta_call_phase(l->slot, PASTA_PHASE_NONE);
}
