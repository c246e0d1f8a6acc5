/* launch_storms - bursts of kernel launches: windows of time with many launches of a thread. */
#include <stdio.h>
#include <stdlib.h>

#include <pasta/tool.h>

struct thread {
	struct thread_key {
		uint32_t proc, tid;
	} key;
	uint64_t launches, storms, time; /* time: ns in storms */
};

struct storm {
	struct {
		uint32_t proc, tid;
		uint64_t begin; /* time of the storm's first launch */
	} key;
	uint64_t launches, gap; /* mean ns between launches */
};

struct burst {
	uint64_t launches, first, last; /* of a window: launches, times of the first and the last */
};

struct state {
	struct pasta_windows *bursts; /* struct burst by struct thread_key */
	struct pasta_group *storms, *threads;
	uint64_t least, origin; /* option least; time of the run's first launch */
};

static const struct pasta_option options[] = {
	{"window", "1ms", "length of the windows", PASTA_OPTION_TIME},
	{"least", "50", "launches that make a window a storm", PASTA_OPTION_NUMBER},
	{"top", "10", "number of worst storms to list; 0: all", PASTA_OPTION_NUMBER},
	{0}};

static void add_burst(void *into, const void *from)
{
	const struct burst *b = from;
	struct burst *a = into;

	if (b->launches && (!a->launches || b->first < a->first))
		a->first = b->first;
	a->last = b->last > a->last ? b->last : a->last;
	a->launches += b->launches;
}

static const struct pasta_window_def windows[] = {
	PASTA_WINDOWS(struct state, bursts, struct burst, .key_size = sizeof(struct thread_key),
		      .merge = add_burst, .length_option = "window"),
	{0}};

static const char *thread_text(const void *row, const void *state, char *buffer, size_t size)
{
	const struct thread *t = row; /* struct storm begins with the same members */

	return pasta_thread(t->key.proc, t->key.tid)->text;
}

static int64_t since_origin(const void *row, const void *state)
{
	return (int64_t)(((const struct storm *)row)->key.begin -
			 ((const struct state *)state)->origin);
}

static const struct pasta_member storm_members[] = {
	PASTA_KEY(struct storm),
	PASTA_MEMBER_BY(TEXT, .column = "thread", .text = thread_text),
	PASTA_MEMBER_BY(CALL, .column = "begin", .unit = "ns", .call = since_origin),
	PASTA_MEMBER(SUM, struct storm, launches, .column = "launches"),
	PASTA_MEMBER(MAX, struct storm, gap, .column = "mean_gap", .unit = "ns"),
	{0}};
static const struct pasta_member thread_members[] = {
	PASTA_KEY(struct thread),
	PASTA_MEMBER_BY(TEXT, .column = "thread", .text = thread_text),
	PASTA_MEMBER(SUM, struct thread, launches, .column = "launches"),
	PASTA_MEMBER(SUM, struct thread, storms, .column = "storms"),
	PASTA_MEMBER(SUM, struct thread, time, .column = "time", .unit = "ns"),
	{0}};
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, threads, struct thread, thread_members, .table = "launch_storms",
		    .order = "-time -launches thread"),
	PASTA_GROUP(struct state, storms, struct storm, storm_members, .table = "worst_storms",
		    .order = "-launches mean_gap begin thread", .limit_option = "top"),
	{0}};

static int storms_open(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	uint64_t least = ((struct state *)state)->least = pasta_opt_u64(opts, "least");

	return least > 1 ? 0 : pasta_fail(err, -EINVAL, "least must be at least 2");
}

/* Launches of copies, fills and graphs do not count. Older runs do not record the type. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct thread_key key = {ev->proc, ev->tid};
	const struct burst one = {1, ev->time, ev->time};

	if (ev->launch.work <= PASTA_LAUNCH_WORK_KERNEL)
		add_burst(pasta_windows_at(((struct state *)state)->bursts, &key, ev->time), &one);
}

static int add_window(void *ctx, const void *key, uint64_t begin, uint64_t end, const void *value)
{
	const struct thread_key *k = key;
	const struct burst *b = value;
	struct state *s = ctx;
	struct thread *t = PASTA_ROW(s->threads, struct thread, k->proc, k->tid);

	s->origin = s->origin && s->origin < b->first ? s->origin : b->first;
	t->launches += b->launches;
	if (b->launches < s->least)
		return 0;
	t->storms++;
	t->time += end - begin;
	struct storm *storm = PASTA_ROW(s->storms, struct storm, k->proc, k->tid, b->first);
	storm->launches = b->launches;
	storm->gap = (b->last - b->first) / (b->launches - 1);
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;
	int error = pasta_windows_each(s->bursts, add_window, s);
	size_t count;
	struct storm **worst = pasta_group_sorted(s->storms, NULL, &count);
	char text[100] = "";

	if (count)
		snprintf(text, sizeof(text), "the worst has %llu launches, %.1f us apart",
			 (unsigned long long)worst[0]->launches, (double)worst[0]->gap / 1000);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(count),
			 .what = "storms of kernel launches", .evidence = text,
			 .where = count ? thread_text(worst[0], s, NULL, 0) : NULL,
			 .action = "use one CUDA graph, or fuse", .ref = {.table = "worst_storms"});
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 PASTA_COUNT(pasta_windows_dropped(s->bursts)),
			 .what = "launches without a window",
			 .evidence = "there are too many windows",
			 .action = "make windows longer: --opt launch_storms.window=10ms");
	free(worst);
	return error ? error : pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "launch_storms", .summary = "bursts of kernel launches, by thread",
	   .events = PASTA_MASK(LAUNCH), .flags = PASTA_TOOL_SHARDED,
	   .state_size = sizeof(struct state), .options = options, .groups = groups,
	   .windows = windows, .open = storms_open, .event = on_event, .report = report);
