/* test_diagnosis_random.c - the timing against a second implementation, which visits each ns. */
/* labels: onethread */
#include "unit/diagnosistest.h"

enum {
	TIME = 4000, /* all events begin before this ns */
	TIME_MAX = TIME + 600,
	EVENTS_MAX = 700,
	PROCS = 2,
	DEVICES = 2,
	THREADS = 3, /* thread ids 1 to THREADS */
	KINDS_OF_ACTIVITY = 6,
};
enum { SYNC, ALLOCATOR, LOADING, DATA, DISPATCH, HOST };

static struct pasta_event events[EVENTS_MAX];
static size_t event_count;
/* How often each cause, and each reason for SYNC, was expected. */
static uint64_t causes_seen[PASTA_CAUSES], blocking_seen, sync_seen;
static uint64_t open_ops[PROCS][THREADS + 1], open_loaders[PROCS][THREADS + 1], op_number;

/* -- Making -- */

static struct pasta_event *make_event(enum pasta_kind kind, uint32_t proc, uint32_t tid,
				      uint64_t time)
{
	struct pasta_event *ev = &events[event_count++];

	assert_true(event_count <= EVENTS_MAX);
	*ev = (struct pasta_event){.size = sizeof(*ev), .kind = (uint8_t)kind, .tid = tid};
	ev->proc = proc;
	ev->time = time;
	return ev;
}

static void make_work(uint64_t corr, uint32_t proc, uint64_t time, uint64_t dur)
{
	static const uint8_t kinds[] = {PASTA_KIND_KERNEL, PASTA_KIND_KERNEL, PASTA_KIND_KERNEL,
					PASTA_KIND_COPY, PASTA_KIND_SET};
	uint8_t kind = kinds[random_below(5)];
	struct pasta_event *ev = make_event(kind, proc, 0, time);
	uint32_t device = (uint32_t)random_below(DEVICES), stream = (uint32_t)random_below(2);

	if (kind == PASTA_KIND_KERNEL) {
		ev->kernel.name = id(random_below(5) ? "k" : "ncclDevKernel_AllReduce");
		ev->kernel.dur = dur;
		ev->kernel.corr = corr;
		ev->kernel.device = device;
		ev->kernel.stream = stream;
	} else if (kind == PASTA_KIND_COPY) {
		ev->sub = (uint8_t)random_below(6);
		ev->copy.dur = dur;
		ev->copy.corr = corr;
		ev->copy.device = device;
		ev->copy.stream = stream;
		ev->copy.bytes = random_below(2) << 16;
		ev->copy.dst_memory = (uint32_t)random_below(3);
		ev->copy.src_memory = (uint32_t)random_below(3);
	} else {
		ev->set.dur = dur;
		ev->set.corr = corr;
		ev->set.device = device;
		ev->set.stream = stream;
	}
}

static void make_nesting(uint32_t proc, uint32_t tid, uint64_t time)
{
	uint64_t *ops = &open_ops[proc][tid], *loaders = &open_loaders[proc][tid];
	bool op = random_below(2);
	struct pasta_event *ev =
		make_event(op ? *ops ? PASTA_KIND_OP_END : PASTA_KIND_OP_BEGIN : PASTA_KIND_REGION,
			   proc, tid, time);

	if (op && !*ops) {
		*ops = ev->op_begin.id = ++op_number;
		ev->op_begin.name = id(random_below(2) ? "aten::item" : "aten::mm");
	} else if (op) {
		ev->op_end.id = *ops;
		*ops = 0;
	} else {
		ev->sub = *loaders ? PASTA_REGION_END : PASTA_REGION_BEGIN;
		ev->region.name = *loaders ? 0 : id("enumerate(DataLoader)#x.__next__");
		*loaders = !*loaders;
	}
}

static void make_call(uint32_t proc, uint32_t tid, uint64_t time)
{
	static const char *const calls[] = {"cudaDeviceSynchronize", "cudaMalloc",
					    "cuModuleLoadData", "cudaLaunchKernel"};
	struct pasta_event *ev;

	switch (random_below(4)) {
	case 0:
		ev = make_event(PASTA_KIND_SYNC, proc, random_below(2) ? 0 : tid, time);
		ev->sub = (uint8_t)(1 + random_below(4));
		ev->sync.dur = random_below(80);
		ev->sync.device = (uint32_t)random_below(DEVICES);
		ev->sync.stream = (uint32_t)random_below(2);
		break;
	case 1:
		ev = make_event(PASTA_KIND_ALLOC, proc, tid, time);
		ev->alloc.dur = random_below(40);
		break;
	default:
		ev = make_event(PASTA_KIND_API, proc, tid, time);
		ev->api.name = id(calls[random_below(4)]);
		ev->api.dur = random_below(60);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct pasta_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Makes events at most times of the run, at most one at each ns. */
static void make_events(uint64_t steps)
{
	uint64_t time = 1 + random_below(20), corr = 0, gap = 5 + random_below(25);

	event_count = 0;
	memset(open_ops, 0, sizeof(open_ops));
	memset(open_loaders, 0, sizeof(open_loaders));
	for (; time < TIME && event_count + 2 < EVENTS_MAX; time += 2 + random_below(gap)) {
		uint32_t proc = (uint32_t)random_below(PROCS);
		uint32_t tid = 1 + (uint32_t)random_below(THREADS);

		switch (random_below(6)) {
		case 0:
			make_nesting(proc, tid, time);
			break;
		case 1:
			make_call(proc, tid, time);
			break;
		case 2:
			if (steps && !random_below(TIME / gap / steps + 1)) {
				struct pasta_event *ev =
					make_event(PASTA_KIND_ITERATION, proc, 1, time);

				ev->iteration.index = time;
			}
			break;
		default:
			make_event(PASTA_KIND_LAUNCH, proc, tid, time)->launch.corr = ++corr;
			/* Times of launches and other events have the parity of `time`. */
			make_work(random_below(15) ? corr : 1000000 + corr, proc,
				  time + 1 + random_below(random_below(3) ? 20 : 150),
				  random_below(random_below(3) ? 20 : 90));
		}
	}
	qsort(events, event_count, sizeof(*events), by_time);
	/* Only one event at each ns, so that the order is unique. */
	for (size_t i = 1; i < event_count; i++)
		if (events[i].time <= events[i - 1].time)
			events[i].time = events[i - 1].time + 1;
	assert_true(events[event_count - 1].time < TIME_MAX);
}

/* -- The second implementation: what happens at each ns of a process -- */

static bool is_work(const struct pasta_event *ev, uint32_t proc, uint32_t device)
{
	return ev->proc == proc &&
	       ((ev->kind == PASTA_KIND_KERNEL && ev->kernel.device == device) ||
		(ev->kind == PASTA_KIND_COPY && ev->copy.device == device &&
		 ev->sub != PASTA_COPY_H2H) ||
		(ev->kind == PASTA_KIND_SET && ev->set.device == device));
}

static bool is_any_work(const struct pasta_event *ev, uint32_t proc)
{
	return is_work(ev, proc, 0) || is_work(ev, proc, 1);
}

static uint64_t end_of(const struct pasta_event *ev)
{
	return ev->time + pasta_work_ns(ev);
}

static uint64_t corr_of(const struct pasta_event *work)
{
	return work->kind == PASTA_KIND_KERNEL ? work->kernel.corr
	       : work->kind == PASTA_KIND_COPY ? work->copy.corr
					       : work->set.corr;
}

static uint32_t stream_of(const struct pasta_event *work)
{
	return work->kind == PASTA_KIND_KERNEL ? work->kernel.stream
	       : work->kind == PASTA_KIND_COPY ? work->copy.stream
					       : work->set.stream;
}

static const struct pasta_event *launch_of(const struct pasta_event *work)
{
	for (size_t i = 0; i < event_count; i++)
		if (events[i].kind == PASTA_KIND_LAUNCH && events[i].proc == work->proc &&
		    events[i].launch.corr == corr_of(work))
			return &events[i];
	return NULL;
}

static enum pasta_part part_of(const struct pasta_event *work)
{
	if (work->kind != PASTA_KIND_KERNEL)
		return PASTA_PART_COPY;
	return work->kernel.name == id("k") ? PASTA_PART_COMPUTE : PASTA_PART_COMMUNICATION;
}

static enum pasta_part part_at(uint32_t proc, uint32_t device, uint64_t time)
{
	enum pasta_part part = PASTA_PART_IDLE;

	for (size_t i = 0; i < event_count; i++)
		if (is_work(&events[i], proc, device) && events[i].time <= time &&
		    end_of(&events[i]) > time && part_of(&events[i]) < part)
			part = part_of(&events[i]);
	return part;
}

struct want {
	uint64_t steps, all, begin, end, launches;
	uint64_t starts[EVENTS_MAX];
	uint64_t part[PASTA_PARTS], cause[PASTA_CAUSES], gaps[PASTA_CAUSES];
	uint64_t kernels, copies, fills, kernel_ns, exposed[PASTA_COPY_UNMAP + 1];
	/* Time of kernels of the two names, of copies by direction, and of fills. */
	uint64_t busy[2 + PASTA_COPY_UNMAP + 2];
};

/* A last step without a launch belongs to its predecessor. */
static void want_window(uint32_t proc, struct want *w)
{
	uint64_t first = UINT64_MAX, last_launch = 0, end = 0;

	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i];

		if (ev->proc != proc)
			continue;
		if (ev->kind == PASTA_KIND_ITERATION)
			w->starts[w->all++] = ev->time;
		if (ev->kind == PASTA_KIND_LAUNCH)
			last_launch = ev->time;
		if (!is_any_work(ev, proc))
			continue;
		first = ev->time < first ? ev->time : first;
		end = end_of(ev) > end ? end_of(ev) : end;
	}
	if (w->all && w->starts[w->all - 1] > last_launch)
		w->all--;
	w->steps = w->all >= 5 ? w->all - 2 : w->all;
	w->begin = w->all ? w->starts[w->all - w->steps] : first;
	w->end = w->all && last_launch > end ? last_launch : end;
	for (size_t i = 0; i < event_count; i++)
		w->launches += events[i].proc == proc && events[i].kind == PASTA_KIND_LAUNCH &&
			       (!w->all || events[i].time >= w->begin);
}

/* What a thread does at each ns, and at which ns it begins something. */
static struct doing {
	uint8_t activity[TIME_MAX], begins[TIME_MAX];
	uint64_t op[TIME_MAX];
} doings[PROCS][THREADS + 1], *doing;

static bool covers(const struct pasta_event *ev, uint32_t what, uint64_t time)
{
	uint64_t dur = ev->kind == PASTA_KIND_SYNC    ? ev->sync.dur
		       : ev->kind == PASTA_KIND_ALLOC ? ev->alloc.dur
						      : ev->api.dur;
	const char *name = ev->kind == PASTA_KIND_API ? pasta_str(ev->api.name) : "";
	uint32_t does = ev->kind == PASTA_KIND_SYNC		 ? SYNC
			: ev->kind == PASTA_KIND_ALLOC		 ? ALLOCATOR
			: !strcmp(name, "cudaDeviceSynchronize") ? SYNC
			: !strcmp(name, "cudaMalloc")		 ? ALLOCATOR
			: !strcmp(name, "cuModuleLoadData")	 ? LOADING
								 : DISPATCH;

	return does == what && ev->time <= time && ev->time + dur > time;
}

static bool is_call(const struct pasta_event *ev)
{
	return (ev->kind == PASTA_KIND_SYNC && ev->sub != PASTA_SYNC_STREAM_WAIT) ||
	       ev->kind == PASTA_KIND_ALLOC || ev->kind == PASTA_KIND_API;
}

static bool is_on_thread(const struct pasta_event *ev, uint32_t proc, uint32_t tid)
{
	if (ev->proc != proc || ev->tid != tid || is_any_work(ev, proc) ||
	    ev->kind == PASTA_KIND_ITERATION || ev->kind == PASTA_KIND_COPY)
		return false;
	return ev->kind == PASTA_KIND_SYNC    ? is_call(ev) && ev->sync.dur
	       : ev->kind == PASTA_KIND_ALLOC ? ev->alloc.dur
					      : true;
}

static uint8_t activity_at(uint32_t proc, uint32_t tid, uint64_t time)
{
	uint8_t most = HOST;

	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i];

		if (!is_on_thread(ev, proc, tid) || !is_call(ev))
			continue;
		for (uint8_t what = SYNC; what < most; what++)
			if (covers(ev, what, time))
				most = what;
	}
	return most;
}

static void want_thread(uint32_t proc, uint32_t tid)
{
	uint64_t op = 0, loaders = 0;
	size_t i = 0;

	doing = &doings[proc][tid];
	memset(doing, 0, sizeof(*doing));
	for (uint64_t time = 0; time < TIME_MAX; time++) {
		for (; i < event_count && events[i].time == time; i++) {
			const struct pasta_event *ev = &events[i];

			if (!is_on_thread(ev, proc, tid))
				continue;
			doing->begins[time] = 1;
			if (ev->kind == PASTA_KIND_OP_BEGIN)
				op = ev->op_begin.id;
			else if (ev->kind == PASTA_KIND_OP_END)
				op = 0;
			else if (ev->kind == PASTA_KIND_REGION)
				loaders = ev->sub == PASTA_REGION_BEGIN;
		}
		doing->activity[time] = activity_at(proc, tid, time);
		if (doing->activity[time] >= DATA && loaders)
			doing->activity[time] = DATA;
		else if (doing->activity[time] >= DATA && op)
			doing->activity[time] = DISPATCH;
		doing->op[time] = op;
		doing->begins[time] |= time && doing->activity[time] != doing->activity[time - 1];
	}
}

/* Returns whether the thread begins nothing after one time and before another. */
static bool is_quiet(uint64_t from, uint64_t to, uint64_t now)
{
	for (uint64_t time = from + 1; time < to && time <= now; time++)
		if (doing->begins[time])
			return false;
	return true;
}

/* Returns the work that ends last before the work with number `i`. */
static const struct pasta_event *last_work(size_t i, uint32_t device)
{
	const struct pasta_event *last = NULL;

	for (size_t k = 0; k < i; k++)
		if (is_work(&events[k], events[i].proc, device) &&
		    (!last || end_of(&events[k]) >= end_of(last)))
			last = &events[k];
	return last;
}

static bool is_item(const struct pasta_event *launch)
{
	uint64_t op = doing->op[launch->time];

	for (size_t i = 0; i < event_count; i++)
		if (events[i].kind == PASTA_KIND_OP_BEGIN && events[i].op_begin.id == op)
			return events[i].op_begin.name == id("aten::item");
	return false;
}

/* Whether the copy that ended at `begin` blocked the thread of `launch`. */
static bool want_blocking(const struct pasta_event *last, const struct pasta_event *launch,
			  uint64_t begin)
{
	const struct pasta_event *own = last ? launch_of(last) : NULL;
	uint32_t memory;

	if (!last || last->kind != PASTA_KIND_COPY || !own || own->tid != launch->tid)
		return false;
	if (!is_quiet(own->time, begin + 1, begin) || doing->op[begin] != doing->op[own->time])
		return false;
	memory = last->sub == PASTA_COPY_D2H ? last->copy.dst_memory : last->copy.src_memory;
	if (last->sub != PASTA_COPY_D2H)
		return last->sub == PASTA_COPY_H2D && memory == PASTA_MEMORY_PAGEABLE;
	return memory == PASTA_MEMORY_PAGEABLE || is_item(own) ||
	       (doing->op[own->time] && memory != PASTA_MEMORY_PINNED);
}

static bool want_in_sync(const struct pasta_event *launch, uint64_t begin, uint64_t now)
{
	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i];

		if (ev->kind == PASTA_KIND_SYNC && ev->sub != PASTA_SYNC_STREAM_WAIT &&
		    ev->proc == launch->proc && !ev->tid && ev->time <= begin &&
		    ev->time + ev->sync.dur > begin &&
		    is_quiet(ev->time, ev->time + ev->sync.dur, now))
			return true;
	}
	return false;
}

static bool thread_has_begun(uint64_t time)
{
	for (uint64_t t = 0; t <= time; t++)
		if (doing->begins[t])
			return true;
	return false;
}

static uint32_t want_late(const struct pasta_event *launch, const struct pasta_event *last,
			  uint64_t begin, uint64_t now)
{
	static const uint32_t causes[] = {PASTA_CAUSE_SYNC,	PASTA_CAUSE_ALLOCATOR,
					  PASTA_CAUSE_LOADING,	PASTA_CAUSE_DATA,
					  PASTA_CAUSE_DISPATCH, PASTA_CAUSE_HOST};
	uint64_t sums[KINDS_OF_ACTIVITY] = {0};
	uint32_t most = 0;
	bool sync;

	doing = &doings[launch->proc][launch->tid];
	blocking_seen += want_blocking(last, launch, begin);
	sync_seen += want_in_sync(launch, begin, now);
	sync = thread_has_begun(begin) &&
	       (doing->activity[begin] == SYNC || want_in_sync(launch, begin, now) ||
		want_blocking(last, launch, begin));
	for (uint64_t time = begin; time < launch->time; time++)
		sums[doing->activity[time]]++;
	for (uint32_t i = 1; i < KINDS_OF_ACTIVITY; i++)
		most = sums[i] > sums[most] ? i : most;
	if (sync &&
	    (most == SYNC || most >= DISPATCH || 2 * sums[most] <= (launch->time - begin) / 2 * 2))
		return PASTA_CAUSE_SYNC;
	return causes[most];
}

/* Whether the stream of the work was made to wait since its previous work was launched. A wait is
 * used up by the first work that was launched later. */
static bool want_waited(size_t work, uint32_t device)
{
	const struct pasta_event *launch = launch_of(&events[work]);
	bool any = false, first_work = true;

	for (size_t i = 0; launch && i < work; i++) {
		const struct pasta_event *ev = &events[i];
		bool used = false;

		first_work = first_work && !is_work(ev, events[work].proc, device);
		if (ev->kind != PASTA_KIND_SYNC || ev->sub != PASTA_SYNC_STREAM_WAIT ||
		    ev->proc != events[work].proc || ev->sync.device != device ||
		    ev->sync.stream != stream_of(&events[work]) || ev->time > launch->time ||
		    first_work)
			continue;
		for (size_t k = i + 1; k < work; k++) {
			const struct pasta_event *own = launch_of(&events[k]);

			used |= is_work(&events[k], ev->proc, device) && own &&
				stream_of(&events[k]) == ev->sync.stream && own->time >= ev->time;
		}
		any |= !used;
	}
	return any;
}

static bool want_other_device(const struct pasta_event *work, uint32_t device, uint64_t begin)
{
	uint64_t end = 0;

	for (const struct pasta_event *ev = events; ev < work; ev++)
		if (is_work(ev, work->proc, !device) && end_of(ev) > end)
			end = end_of(ev);
	return end && end >= begin && end <= work->time;
}

/* Adds the part of a gap that is in the window. */
static void want_gap(struct want *w, uint32_t cause, uint64_t begin, uint64_t end)
{
	begin = begin > w->begin ? begin : w->begin;
	if (end <= begin)
		return;
	w->cause[cause] += end - begin;
	w->gaps[cause]++;
}

static uint64_t first_time(uint32_t proc, const struct want *w)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < event_count && first == UINT64_MAX; i++)
		if (is_any_work(&events[i], proc))
			first = events[i].time;
	for (size_t i = 0; i < event_count; i++)
		if (events[i].proc == proc && events[i].kind == PASTA_KIND_ITERATION)
			return events[i].time < first ? events[i].time : first;
	return first;
}

/* Gaps end with work, or with the window. Short gaps are KERNELS: all are below 4 us. */
static void want_gaps(uint32_t proc, uint32_t device, struct want *w)
{
	uint64_t at = first_time(proc, w);

	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i], *last, *launch;
		uint32_t cause = PASTA_CAUSE_KERNELS;

		if (!is_work(ev, proc, device))
			continue;
		last = last_work(i, device);
		launch = launch_of(ev);
		at = last && end_of(last) > at ? end_of(last) : at;
		if (ev->time > at) {
			if (launch && launch->time > at)
				cause = want_late(launch, last, at, ev->time);
			else if (want_waited(i, device) &&
				 ((last ? stream_of(last) : 0) != stream_of(ev) ||
				  want_other_device(ev, device, at)))
				cause = PASTA_CAUSE_DEPENDENCY;
			want_gap(w, cause, at, ev->time);
			at = ev->time;
		}
	}
	for (size_t i = 0; i < event_count; i++)
		if (is_work(&events[i], proc, device) && end_of(&events[i]) > at)
			at = end_of(&events[i]);
	want_gap(w, PASTA_CAUSE_UNKNOWN, at, w->end);
}

/* The direction of the first copy that runs at a time; UINT32_MAX: a fill, or a copy that began
 * before the window. */
static uint32_t want_direction(uint32_t proc, uint32_t device, uint64_t begin, uint64_t time)
{
	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i];

		if (is_work(ev, proc, device) && part_of(ev) == PASTA_PART_COPY &&
		    ev->time <= time && end_of(ev) > time)
			return ev->kind == PASTA_KIND_COPY && ev->time >= begin ? ev->sub
										: UINT32_MAX;
	}
	return UINT32_MAX;
}

/* The index in want.busy of the work of a part that began first and runs at a time. */
static size_t want_busy(uint32_t proc, uint32_t device, enum pasta_part part, uint64_t time)
{
	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i];

		if (is_work(ev, proc, device) && part_of(ev) == part && ev->time <= time &&
		    end_of(ev) > time)
			return ev->kind == PASTA_KIND_KERNEL ? part == PASTA_PART_COMPUTE
			       : ev->kind == PASTA_KIND_COPY ? 2u + ev->sub
							     : 3u + PASTA_COPY_UNMAP;
	}
	fail();
	return 0;
}

static bool want_device(uint32_t proc, uint32_t device, struct want *w)
{
	bool any = false;

	for (size_t i = 0; i < event_count; i++) {
		const struct pasta_event *ev = &events[i];

		if (!is_work(ev, proc, device))
			continue;
		any = true;
		if (ev->time < w->begin)
			continue;
		w->kernels += ev->kind == PASTA_KIND_KERNEL;
		w->kernel_ns += ev->kind == PASTA_KIND_KERNEL ? ev->kernel.dur : 0;
		w->copies += ev->kind == PASTA_KIND_COPY;
		w->fills += ev->kind == PASTA_KIND_SET;
	}
	for (uint64_t time = w->begin; any && time < w->end; time++) {
		enum pasta_part part = part_at(proc, device, time);
		uint32_t direction = part == PASTA_PART_COPY
					     ? want_direction(proc, device, w->begin, time)
					     : UINT32_MAX;

		w->part[part]++;
		if (part != PASTA_PART_IDLE)
			w->busy[want_busy(proc, device, part, time)]++;
		if (direction != UINT32_MAX)
			w->exposed[direction]++;
	}
	if (any)
		want_gaps(proc, device, w);
	return any;
}

/* -- Comparing -- */

static void check_window(uint32_t proc, const struct want *want)
{
	const struct pasta_window *w = window(proc);

	assert_non_null(w);
	assert_int_equal(w->steps, want->steps);
	assert_int_equal(w->all, want->all);
	assert_int_equal(w->begin, want->begin);
	assert_int_equal(w->end, want->end);
	assert_int_equal(w->launches, want->launches);
}

static void check_device(uint32_t proc, uint32_t device, struct want want)
{
	const struct pasta_transfer *t;
	const struct pasta_usage *u;
	const struct pasta_busy *b;
	uint64_t count = 0;

	if (!want_device(proc, device, &want)) {
		assert_null(usage(proc, device));
		return;
	}
	u = usage(proc, device);
	assert_non_null(u);
	for (size_t i = 0; i < PASTA_PARTS; i++)
		assert_int_equal(u->part[i], want.part[i]);
	for (size_t i = 0; i < PASTA_CAUSES; i++) {
		assert_int_equal(u->cause[i], want.cause[i]);
		assert_int_equal(u->gaps[i], want.gaps[i]);
		causes_seen[i] += want.gaps[i];
	}
	assert_int_equal(u->kernels, want.kernels);
	assert_int_equal(u->kernel_ns, want.kernel_ns);
	assert_int_equal(u->copies, want.copies);
	assert_int_equal(u->fills, want.fills);
	for (size_t at = 0; (t = pasta_diagnosis_transfer(diagnosis, &at));)
		if (t->proc == proc && t->device == device)
			want.exposed[t->direction] -= t->exposed;
	for (size_t i = 0; i <= PASTA_COPY_UNMAP; i++)
		assert_int_equal(want.exposed[i], 0);
	for (size_t at = 0; (b = pasta_diagnosis_busy(diagnosis, &at));) {
		size_t i = b->kind == PASTA_KIND_KERNEL ? b->kernel == id("k")
			   : b->kind == PASTA_KIND_COPY ? 2u + b->direction
							: 3u + PASTA_COPY_UNMAP;

		if (b->proc != proc || b->device != device)
			continue;
		want.busy[i] -= b->ns;
		count += b->count;
	}
	for (size_t i = 0; i < sizeof(want.busy) / sizeof(*want.busy); i++)
		assert_int_equal(want.busy[i], 0);
	assert_int_equal(count, want.kernels + want.copies + want.fills);
}

static void check(void)
{
	check_sums();
	for (uint32_t proc = 0; proc < PROCS; proc++) {
		struct want want = {0};
		bool any = false;

		for (uint32_t tid = 1; tid <= THREADS; tid++)
			want_thread(proc, tid);
		for (size_t i = 0; i < event_count; i++)
			any |= is_any_work(&events[i], proc);
		if (!any)
			continue;
		want_window(proc, &want);
		check_window(proc, &want);
		for (uint32_t device = 0; device < DEVICES; device++)
			check_device(proc, device, want);
	}
}

static void the_timing_equals_a_visit_of_each_ns(void **state)
{
	for (uint64_t run = 0; run < 60; run++) {
		make_events(run % 4 ? 1 + random_below(12) : 0);
		for (size_t i = 0; i < event_count; i++)
			send_event(&events[i]);
		assert_int_equal(finish(), 0);
		check();
		start_over(NULL);
	}
	for (size_t i = 0; i < PASTA_CAUSE_COUNT; i++)
		assert_in_range(causes_seen[i], 10, UINT32_MAX);
	assert_in_range(blocking_seen, 10, UINT32_MAX);
	assert_in_range(sync_seen, 10, UINT32_MAX);
}

/* Sends the events of each process to a state of its own. The sums must not depend on it. */
static void merged_states_equal_a_single_one(void **state)
{
	for (uint64_t run = 0; run < 10; run++) {
		make_events(run % 4 ? 6 : 0);
		for (uint32_t proc = 0; proc < PROCS; proc++) {
			struct pasta_toolset *own = another_toolset(&result), *first = toolset;
			struct pasta_correlate *joined = correlate;

			toolset = own;
			correlate = pasta_correlate_new(true);
			assert_int_equal(pasta_correlate_unmatched(correlate), 0);
			for (size_t i = 0; i < event_count; i++)
				if (events[i].proc == proc)
					send_event(&events[i]);
			pasta_correlate_end(correlate);
			send_joined();
			pasta_correlate_free(correlate);
			toolset = first;
			correlate = joined;
			pasta_toolset_merge(toolset, own);
			pasta_toolset_free(own);
		}
		assert_int_equal(finish(), 0);
		check();
		start_over(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_timing_equals_a_visit_of_each_ns),
		TEST(merged_states_equal_a_single_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
