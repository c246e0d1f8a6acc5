/*
 * idle_gaps - idle time of devices, by cause.
 *
 * Work is a kernel, a copy or a fill of one process on one device. A gap begins when all earlier
 * work has ended, and ends when the next work begins. Its cause is the first that applies:
 *
 *	copy         the next work is a copy
 *	unknown      its launch is unknown
 *	queued       it was launched before the gap began: it waited for other work
 *	sync         the thread's last call (launch or wait) before the launch is a wait that ends
 *		     in the gap; only the thread's latest launch after a wait counts
 *	late launch  it was launched in the gap
 */
#include <stdio.h>
#include <stdlib.h>

#include <pasta/tool.h>

enum cause { COPY, UNKNOWN, QUEUED, SYNC, LATE_LAUNCH };
static const char *const causes[] = {"copy", "unknown", "queued", "sync", "late launch", NULL};
static const char *const actions[] = {"copy earlier", "record launches too",
				      "check what the stream waits for", "launch before waiting",
				      "launch earlier, or launch one CUDA graph"};

struct gaps {
	struct {
		uint32_t proc, device, cause;
	} key;
	struct pasta_stat time;
};

struct device {
	struct {
		uint32_t proc, number;
	} key;
	uint64_t end, span; /* of all work so far; ns from the first begin to the last end */
};

/* Used by on_event only: not merged. */
struct thread {
	struct {
		uint32_t proc, tid;
	} key;
	uint64_t waited; /* end of the wait, if the thread's last event is one; 0: it is a launch */
	/* Index plus 1 of the thread's latest launch after a wait; the end of that wait. */
	uint64_t launch, launch_waited;
};

struct state {
	struct pasta_group *gaps, *devices, *threads;
};

static const struct pasta_member gaps_members[] = {
	PASTA_MEMBER(PROCESS, struct gaps, key.proc, .column = "process"),
	PASTA_MEMBER(DEVICE, struct gaps, key.device, .column = "device"),
	PASTA_MEMBER(ENUM, struct gaps, key.cause, .column = "cause", .names = causes),
	PASTA_MEMBER(STAT, struct gaps, time, .unit = "ns",
		     .column = "count=gaps,total=idle,mean,max,share"),
	{0}};
static const struct pasta_member device_members[] = {
	PASTA_KEY(struct device), PASTA_MEMBER(SUM, struct device, span), {0}};
static const struct pasta_member thread_members[] = {PASTA_KEY(struct thread), {0}};
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, gaps, struct gaps, gaps_members, .table = "idle_gaps",
		    .order = "-idle process device cause"),
	PASTA_GROUP(struct state, devices, struct device, device_members),
	PASTA_GROUP(struct state, threads, struct thread, thread_members),
	{0}};

static void on_thread(struct state *s, const struct pasta_event *ev, uint64_t launch)
{
	struct thread *t = PASTA_ROW(s->threads, struct thread, ev->proc, ev->tid);

	if (ev->kind == PASTA_KIND_LAUNCH && t->waited) {
		t->launch = launch + 1;
		t->launch_waited = t->waited;
	}
	t->waited = ev->kind == PASTA_KIND_SYNC ? ev->time + ev->sync.dur : 0;
}

static enum cause cause_of(const struct state *s, const struct pasta_event *ev,
			   const struct pasta_where *where, uint64_t idle_since)
{
	const struct thread *t = PASTA_ROW(s->threads, struct thread, ev->proc, where->tid);

	if (ev->kind == PASTA_KIND_COPY)
		return COPY;
	if (!(where->flags & PASTA_WHERE_LAUNCH))
		return UNKNOWN;
	if (where->launched < idle_since)
		return QUEUED;
	return t->launch == where->launch + 1 && t->launch_waited > idle_since ? SYNC : LATE_LAUNCH;
}

static void on_work(struct state *s, const struct pasta_event *ev, const struct pasta_where *where,
		    uint32_t device)
{
	struct device *d = PASTA_ROW(s->devices, struct device, ev->proc, device);
	uint64_t end = ev->time + pasta_work_ns(ev), idle = d->end ? d->end : ev->time;
	enum cause cause = cause_of(s, ev, where, idle);

	if (ev->time > idle)
		pasta_stat_add(&PASTA_ROW(s->gaps, struct gaps, ev->proc, device, cause)->time,
			       ev->time - idle);
	if (end >= idle) {
		d->span += end - idle;
		d->end = end;
	}
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	if (ev->kind == PASTA_KIND_KERNEL)
		on_work(state, ev, where, ev->kernel.device);
	else if (ev->kind == PASTA_KIND_SET)
		on_work(state, ev, where, ev->set.device);
	else if (ev->kind == PASTA_KIND_COPY && ev->sub != PASTA_COPY_H2H)
		on_work(state, ev, where, ev->copy.device);
	else if (ev->kind == PASTA_KIND_LAUNCH ||
		 (ev->kind == PASTA_KIND_SYNC && ev->sub != PASTA_SYNC_STREAM_WAIT))
		on_thread(state, ev, where->launch);
}

/* Reports the cause of the most idle time, if it exceeds a tenth of the device's time. */
static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;
	size_t count;
	struct gaps **most = pasta_group_sorted(s->gaps, NULL, &count), *g = count ? *most : NULL;
	const struct device *d = g ? pasta_group_find(s->devices, &g->key) : NULL;
	char text[100];

	if (d && g->time.sum > d->span / 10) {
		snprintf(text, sizeof(text), "%s: %.0f%% of its time", causes[g->key.cause],
			 100 * pasta_ratio(g->time.sum, d->span));
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = "an idle device",
				 .where = pasta_device(g->key.proc, g->key.device)->text,
				 .evidence = text, .action = actions[g->key.cause],
				 .ref = {.table = "idle_gaps", .row = 0});
	}
	free(most);
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "idle_gaps", .summary = "idle time of devices, by cause",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) | PASTA_MASK(LAUNCH) |
		     PASTA_MASK(SYNC),
	   .needs = PASTA_NEED_SCOPES, .flags = PASTA_TOOL_SHARDED,
	   .state_size = sizeof(struct state), .groups = groups, .event = on_event,
	   .report = report);
