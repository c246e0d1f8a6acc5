/* imbalance - reports how evenly streams, devices and ranks work, and which rank is late. */
#include <inttypes.h>
#include <stdio.h>

#include <pasta/tool.h>

#define ROUNDS 20  /* report a late rank only after this many collectives */
#define MOSTLY 50  /* a straggler is late in at least this % of the collectives */
#define WORTH 1	   /* report lateness of at least this % of the window */
#define EXPOSED 10 /* report communication that is exposed for more than this % of the window */
#define UNEVEN 10  /* report a device that computes longer by more than this % of the window */
#define SECOND 10  /* a stream with at least this % of the busy time of its device matters */
#define OVERLAP 10 /* streams overlap if they do for at least this % of the possible time */

/* Work by the step in which it begins. The window begins with step 0 or 2, which is known only at
 * the end of the run. */
enum bucket { NO_STEP, STEP_0, STEP_1, LATER, BUCKETS };

struct share {
	uint64_t kernels, copies, busy, time;
};

struct stream {
	struct {
		uint32_t proc, device, context, stream;
	} key;
	struct share part[BUCKETS];
	uint64_t end; /* of the latest work */
	/* in the window; computed when the tool reports */
	struct share sum;
};

/* The rows of devices and ranks are computed when the tool reports. */
struct device {
	struct {
		uint32_t proc, device;
	} key;
	uint64_t streams, kernels, time, busy, compute, communication, copy, idle;
	/* ns in which several streams ran, counted once for each stream but one */
	uint64_t overlap;
	uint64_t active; /* sum of the streams' busy times */
	uint64_t most;	 /* the longest busy time of a stream */
	uint64_t second; /* number of streams with a busy time that matters */
	uint64_t cause[PASTA_CAUSES];
};

struct rank {
	uint32_t key; /* process */
	uint32_t reserved;
	uint64_t launches, steps, step_p50, time;
	uint64_t rounds, last, late, by, max, waited;
};

struct loop {
	uint32_t key; /* process */
	uint32_t reserved;
	uint64_t iterations;
};

/* A list for the computation of a median. */
struct values {
	uint64_t key;
	struct pasta_list list;
};

struct imbalance {
	struct pasta_diagnosis *diagnosis;
	struct pasta_group *streams, *devices, *ranks, *loops, *values;
};

/* -- Tables -- */

static int64_t mean_late(const void *row, const void *state)
{
	const struct rank *r = row;

	return (int64_t)(r->late ? r->by / r->late : 0);
}

static bool rank_met(const void *row, const void *state)
{
	return ((const struct rank *)row)->rounds;
}

static bool stream_worked(const void *row, const void *state)
{
	const struct stream *s = row;

	return s->sum.kernels || s->sum.copies;
}

static const struct pasta_member rank_members[] = {
	PASTA_MEMBER(PROCESS, struct rank, key, .column = "rank"),
	PASTA_MEMBER(U64, struct rank, launches, .column = "launches"),
	PASTA_MEMBER(U64, struct rank, steps, .column = "steps", .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(U64, struct rank, step_p50, .unit = "ns", .column = "step_p50",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(U64, struct rank, rounds, .column = "collectives"),
	PASTA_MEMBER(U64, struct rank, last, .column = "last"),
	PASTA_MEMBER(U64, struct rank, late, .column = "late"),
	PASTA_MEMBER_OF(PERCENT, struct rank, late, rounds, .column = "late_share"),
	PASTA_MEMBER(U64, struct rank, by, .unit = "ns", .column = "late_by"),
	PASTA_MEMBER_BY(CALL, .call = mean_late, .unit = "ns", .column = "mean"),
	PASTA_MEMBER(U64, struct rank, max, .unit = "ns", .column = "max"),
	PASTA_MEMBER(U64, struct rank, waited, .unit = "ns", .column = "waited"),
	{0},
};

static const struct pasta_member device_members[] = {
	PASTA_MEMBER(PROCESS, struct device, key.proc, .column = "rank"),
	PASTA_MEMBER(DEVICE, struct device, key.device, .column = "device"),
	PASTA_MEMBER(U64, struct device, streams, .column = "streams"),
	PASTA_MEMBER(U64, struct device, kernels, .column = "kernels"),
	PASTA_MEMBER(U64, struct device, time, .unit = "ns", .column = "window"),
	PASTA_MEMBER_OF(PERCENT, struct device, busy, time, .column = "busy"),
	PASTA_MEMBER(U64, struct device, compute, .unit = "ns", .column = "compute"),
	PASTA_MEMBER(U64, struct device, communication, .unit = "ns", .column = "communication"),
	PASTA_MEMBER(U64, struct device, copy, .unit = "ns", .column = "copy"),
	PASTA_MEMBER(U64, struct device, idle, .unit = "ns", .column = "idle"),
	PASTA_MEMBER(U64, struct device, overlap, .unit = "ns", .column = "overlap"),
	{0},
};

static const struct pasta_member stream_members[] = {
	PASTA_MEMBER(PROCESS, struct stream, key.proc, .column = "rank"),
	PASTA_MEMBER(DEVICE, struct stream, key.device, .column = "device"),
	PASTA_MEMBER(U32, struct stream, key.context, .column = "context"),
	PASTA_MEMBER(U32, struct stream, key.stream, .column = "stream"),
	PASTA_MEMBER(SUM, struct stream, part[0], .item_size = sizeof(struct share) * BUCKETS),
	PASTA_MEMBER(U64, struct stream, sum.kernels, .column = "kernels"),
	PASTA_MEMBER(U64, struct stream, sum.copies, .column = "copies"),
	PASTA_MEMBER(U64, struct stream, sum.busy, .unit = "ns", .column = "busy"),
	PASTA_MEMBER_OF(PERCENT, struct stream, sum.busy, sum.time, .column = "share"),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct imbalance, ranks, struct rank, rank_members, .table = "ranks",
		    .order = "rank", .keep = rank_met, .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct imbalance, devices, struct device, device_members, .table = "devices",
		    .order = "rank device"),
	PASTA_GROUP(struct imbalance, streams, struct stream, stream_members, .table = "streams",
		    .order = "rank device -busy context stream", .keep = stream_worked),
	PASTA_GROUP_HIDDEN(struct imbalance, loops, struct loop,
			   PASTA_MEMBER(SUM, struct loop, iterations)),
	PASTA_GROUP_HIDDEN(struct imbalance, values, struct values,
			   PASTA_MEMBER(LIST, struct values, list, .item_size = sizeof(uint64_t))),
	{0},
};

/* -- Collecting -- */

/* All earlier work belongs to no step. */
static void restart(struct imbalance *im, uint32_t proc)
{
	struct stream *s;

	for (size_t at = 0; (s = pasta_group_next(im->streams, &at));)
		for (unsigned int i = STEP_0; s->key.proc == proc && i < BUCKETS; i++) {
			s->part[NO_STEP].kernels += s->part[i].kernels;
			s->part[NO_STEP].copies += s->part[i].copies;
			s->part[NO_STEP].busy += s->part[i].busy;
			s->part[i] = (struct share){0};
		}
}

static void on_work(struct imbalance *im, const struct pasta_event *ev, uint32_t device,
		    uint32_t context, uint32_t stream)
{
	struct stream *s = PASTA_ROW(im->streams, struct stream, ev->proc, device, context, stream);
	uint64_t step = pasta_diagnosis_current(im->diagnosis);
	uint64_t end = ev->time + pasta_work_ns(ev), begin = ev->time;
	struct share *part = &s->part[step == PASTA_NO_STEP ? NO_STEP
				      : step >= 2	    ? LATER
							    : STEP_0 + step];

	end = end < ev->time ? UINT64_MAX : end;
	begin = s->end > begin ? s->end : begin;
	part->busy += end > begin ? end - begin : 0;
	s->end = end > s->end ? end : s->end;
	part->kernels += ev->kind == PASTA_KIND_KERNEL;
	part->copies += ev->kind != PASTA_KIND_KERNEL;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct imbalance *im = state;

	if (ev->kind == PASTA_KIND_KERNEL)
		on_work(im, ev, ev->kernel.device, ev->kernel.context, ev->kernel.stream);
	else if (ev->kind == PASTA_KIND_COPY && ev->sub != PASTA_COPY_H2H)
		on_work(im, ev, ev->copy.device, ev->copy.context, ev->copy.stream);
	else if (ev->kind == PASTA_KIND_SET)
		on_work(im, ev, ev->set.device, ev->set.context, ev->set.stream);
	else if (ev->kind == PASTA_KIND_ITERATION &&
		 !PASTA_ROW(im->loops, struct loop, ev->proc)->iterations++)
		restart(im, ev->proc);
}

/* -- Rows of the report -- */

static void add_windows(struct imbalance *im)
{
	const struct pasta_window *w;
	const struct pasta_late *late;

	for (size_t at = 0; (w = pasta_diagnosis_window(im->diagnosis, &at));) {
		struct rank *r = PASTA_ROW(im->ranks, struct rank, w->proc);

		r->launches = w->launches;
		r->steps = w->steps;
		r->step_p50 = w->step_p50;
		r->time = w->end - w->begin;
	}
	for (size_t at = 0; (late = pasta_diagnosis_late(im->diagnosis, &at));) {
		struct rank *r = PASTA_ROW(im->ranks, struct rank, late->proc);

		r->rounds = late->rounds;
		r->last = late->last;
		r->late = late->late;
		r->by = late->ns;
		r->max = late->max;
		r->waited = late->waited;
	}
}

static void add_devices(struct imbalance *im)
{
	const struct pasta_usage *u;

	for (size_t at = 0; (u = pasta_diagnosis_usage(im->diagnosis, &at));) {
		struct device *d = PASTA_ROW(im->devices, struct device, u->proc, u->device);

		d->streams = u->streams;
		d->kernels = u->kernels;
		d->time = u->time;
		d->compute = u->part[PASTA_PART_COMPUTE];
		d->communication = u->part[PASTA_PART_COMMUNICATION];
		d->copy = u->part[PASTA_PART_COPY];
		d->idle = u->part[PASTA_PART_IDLE];
		d->busy = d->compute + d->communication + d->copy;
		memcpy(d->cause, u->cause, sizeof(d->cause));
	}
}

/* Returns the first bucket of the process's window. */
static enum bucket window_bucket(const struct imbalance *im, uint32_t proc)
{
	const struct pasta_window *w;

	for (size_t at = 0; (w = pasta_diagnosis_window(im->diagnosis, &at));)
		if (w->proc == proc)
			return !w->steps ? NO_STEP : w->all > w->steps ? LATER : STEP_0;
	return NO_STEP;
}

static void add_streams(struct imbalance *im)
{
	struct stream *s;
	struct device *d;

	for (size_t at = 0; (s = pasta_group_next(im->streams, &at));) {
		d = pasta_group_find(im->devices, (uint32_t[2]){s->key.proc, s->key.device});
		for (unsigned int i = window_bucket(im, s->key.proc); i < BUCKETS; i++) {
			s->sum.kernels += s->part[i].kernels;
			s->sum.copies += s->part[i].copies;
			s->sum.busy += s->part[i].busy;
		}
		if (!d)
			continue;
		s->sum.time = d->time;
		d->active += s->sum.busy;
		d->most = s->sum.busy > d->most ? s->sum.busy : d->most;
	}
	for (size_t at = 0; (s = pasta_group_next(im->streams, &at));) {
		d = pasta_group_find(im->devices, (uint32_t[2]){s->key.proc, s->key.device});
		if (d && s->sum.busy)
			d->second += pasta_percent(s->sum.busy, d->busy) >= SECOND;
	}
	for (size_t at = 0; (d = pasta_group_next(im->devices, &at));)
		d->overlap = d->active > d->busy ? d->active - d->busy : 0;
}

/* -- The verdict -- */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* Returns the median of a member over all devices of other processes than `proc`; over all devices
 * if `proc` is UINT32_MAX. Of an even number, the lower one in the middle. */
static uint64_t median_of(const struct imbalance *im, size_t offset, uint32_t proc)
{
	struct values *values = PASTA_ROW(im->values, struct values, 0);
	struct pasta_robust robust;
	const struct device *d;

	values->list.count = 0;
	for (size_t at = 0; (d = pasta_group_next(im->devices, &at));)
		if (d->key.proc != proc)
			memcpy(pasta_group_append(im->values, &values->list, sizeof(uint64_t)),
			       (const char *)d + offset, sizeof(uint64_t));
	if (pasta_robust_of(values->list.items, values->list.count, &robust))
		pasta_group_fail(im->values, -ENOMEM);
	return robust.median;
}

static uint32_t main_cause(const struct device *d)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < PASTA_CAUSE_COUNT; i++)
		most = d->cause[i] > d->cause[most] ? i : most;
	return most;
}

/* Explains why a rank is late, by comparison with the median device of the other ranks. */
static const char *explain(const struct imbalance *im, uint32_t proc, char *text, size_t size)
{
	uint64_t compute = median_of(im, offsetof(struct device, compute), proc);
	uint64_t idle = median_of(im, offsetof(struct device, idle), proc);
	uint64_t more = 0, idler = 0;
	const struct device *d, *own = NULL;

	for (size_t at = 0; (d = pasta_group_next(im->devices, &at));)
		if (d->key.proc == proc && (!own || d->busy > own->busy))
			own = d;
	text[0] = '\0';
	if (!own)
		return text;
	more = own->compute > compute ? own->compute - compute : 0;
	idler = own->idle > idle ? own->idle - idle : 0;
	if (more >= idler && pasta_percent(more, own->time) >= WORTH)
		snprintf(text, size, "; its device computes %.1f%% longer than the median device",
			 pasta_percent(more, compute));
	else if (pasta_percent(idler, own->time) >= WORTH)
		snprintf(text, size,
			 "; its device is idle for %.3f ms longer than the median device%s%s",
			 ms(idler),
			 main_cause(own) == PASTA_CAUSE_UNKNOWN ? "" : ", mostly because of: ",
			 main_cause(own) == PASTA_CAUSE_UNKNOWN
				 ? ""
				 : pasta_cause_name(main_cause(own)));
	else
		snprintf(text, size, "; its device computes no longer than the median device");
	return text;
}

/* Returns the rank that is late by the longest time, or NULL. */
static const struct rank *latest(struct imbalance *im)
{
	const struct rank *r;

	for (size_t at = 0; (r = pasta_group_next_by(im->ranks, "-late_by rank", &at));)
		if (r->rounds)
			return r;
	return NULL;
}

/* Returns the part of a time for which ranks wait that the device of another rank than `proc` may
 * be able to save: it does nothing else then. */
static uint64_t exposed_wait(const struct imbalance *im, uint32_t proc, uint64_t wait)
{
	const struct device *d;
	uint64_t most = 0;

	for (size_t at = 0; (d = pasta_group_next(im->devices, &at));)
		if (d->key.proc != proc)
			most = d->communication > most ? d->communication : most;
	return wait < most ? wait : most;
}

static bool find_straggler(struct imbalance *im, struct pasta_out *out)
{
	const struct rank *r = latest(im);
	uint64_t saving = r ? exposed_wait(im, r->key, r->by) : 0;
	char evidence[400], why[200];

	if (!r || r->rounds < ROUNDS || pasta_percent(r->late, r->rounds) < MOSTLY ||
	    pasta_percent(saving, r->time) < WORTH)
		return false;
	snprintf(evidence, sizeof(evidence),
		 "%s is late in %" PRIu64 " of %" PRIu64 " collectives, by %.3f ms in total "
		 "(%.1f%% of the window)%s",
		 pasta_process(r->key)->text, r->late, r->rounds, ms(r->by),
		 pasta_percent(r->by, r->time), explain(im, r->key, why, sizeof(why)));
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "the ranks wait for one late rank",
			 .where = pasta_process(r->key)->text, .evidence = evidence,
			 .action = "find out why this rank is slower than others: more work, "
				   "slower input, or a slower device",
			 .ref.table = "ranks", .ref.row = PASTA_NO_ROW, .saving = saving);
	return true;
}

/* Several ranks are late in turn. */
static bool find_jitter(struct imbalance *im, struct pasta_out *out)
{
	uint64_t by = 0, time = 0, late = 0, rounds = 0;
	const struct rank *r;
	char evidence[300];

	for (size_t at = 0; (r = pasta_group_next(im->ranks, &at));) {
		by = by + r->by < by ? UINT64_MAX : by + r->by;
		late += r->late;
		rounds = r->rounds > rounds ? r->rounds : rounds;
		time = r->rounds && r->time > time ? r->time : time;
	}
	by = exposed_wait(im, UINT32_MAX, by);
	if (rounds < ROUNDS || pasta_percent(by, time) < WORTH)
		return false;
	snprintf(evidence, sizeof(evidence),
		 "in %" PRIu64 " collectives, a rank is late, by %.3f ms in total (%.1f%% of the "
		 "window), but no rank is late in %d%% of its collectives",
		 late, ms(by), pasta_percent(by, time), MOSTLY);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "the ranks wait for each other in turn", .evidence = evidence,
			 .action = "distribute the work of each step evenly, for example by the "
				   "length of the inputs",
			 .ref.table = "ranks", .ref.row = PASTA_NO_ROW, .saving = by);
	return true;
}

static bool find_exposed(struct imbalance *im, struct pasta_out *out)
{
	const struct device *d, *worst = NULL;
	const struct rank *r = latest(im);
	char evidence[400], late[150] = "";
	size_t above = 0;

	for (size_t at = 0; (d = pasta_group_next_by(im->devices, "rank device", &at));) {
		double share = pasta_percent(d->communication, d->time);

		above += share > EXPOSED;
		if (share > EXPOSED &&
		    (!worst || share > pasta_percent(worst->communication, worst->time)))
			worst = d;
	}
	if (!worst)
		return false;
	if (r && r->late)
		snprintf(late, sizeof(late),
			 "; %.60s is late in %" PRIu64 " of %" PRIu64 " collectives, by %.3f ms",
			 pasta_process(r->key)->text, r->late, r->rounds, ms(r->by));
	snprintf(evidence, sizeof(evidence),
		 "for %.1f%% of the window, the device does nothing but communicate; this share "
		 "exceeds %d%% on %zu device%s%s",
		 pasta_percent(worst->communication, worst->time), EXPOSED, above,
		 above == 1 ? "" : "s", late);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "computation waits for communication",
			 .where = pasta_device(worst->key.proc, worst->key.device)->text,
			 .evidence = evidence,
			 .action = "start collectives earlier, so that they overlap other "
				   "kernels; send fewer bytes",
			 .ref.table = "devices", .ref.row = PASTA_NO_ROW,
			 .saving = worst->communication);
	return true;
}

static bool find_uneven(struct imbalance *im, struct pasta_out *out)
{
	uint64_t median = median_of(im, offsetof(struct device, compute), UINT32_MAX), more;
	const struct device *d, *most = NULL;
	char evidence[200];

	for (size_t at = 0; (d = pasta_group_next_by(im->devices, "rank device", &at));)
		most = !most || d->compute > most->compute ? d : most;
	more = most && most->compute > median ? most->compute - median : 0;
	if (!most || pasta_percent(more, most->time) <= UNEVEN)
		return false;
	snprintf(evidence, sizeof(evidence),
		 "the device computes for %.3f ms, the median device for %.3f ms",
		 ms(most->compute), ms(median));
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "one device computes longer than others",
			 .where = pasta_device(most->key.proc, most->key.device)->text,
			 .evidence = evidence, .action = "distribute the work evenly over devices",
			 .ref.table = "devices", .ref.row = PASTA_NO_ROW, .saving = more);
	return true;
}

/* Finds a device whose streams hardly run at the same time. They could, for at most as long as all
 * streams but the busiest one work. */
static bool find_serial(struct imbalance *im, struct pasta_out *out)
{
	const struct device *d;
	char evidence[200];

	for (size_t at = 0; (d = pasta_group_next_by(im->devices, "rank device", &at));)
		if (d->second > 1 && pasta_percent(d->overlap, d->active - d->most) < OVERLAP)
			break;
	if (!d)
		return false;
	snprintf(evidence, sizeof(evidence),
		 "%" PRIu64 " streams are busy for %.3f ms in total, of which they overlap for "
		 "%.3f ms",
		 d->second, ms(d->active), ms(d->overlap));
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "streams run one after another",
			 .where = pasta_device(d->key.proc, d->key.device)->text,
			 .evidence = evidence,
			 .action = "check which events the streams wait for; kernels that fill "
				   "the device cannot overlap",
			 .ref.table = "streams", .ref.row = PASTA_NO_ROW);
	return true;
}

static void find_balance(struct imbalance *im, struct pasta_out *out)
{
	double least = 100, most = 0;
	const struct device *d;
	char evidence[200];

	for (size_t at = 0; (d = pasta_group_next(im->devices, &at));) {
		double busy = pasta_percent(d->busy, d->time);

		least = busy < least ? busy : least;
		most = busy > most ? busy : most;
	}
	if (!pasta_group_count(im->devices))
		return;
	snprintf(evidence, sizeof(evidence),
		 "%zu device%s, busy for %.1f%% to %.1f%% of the window",
		 pasta_group_count(im->devices), pasta_group_count(im->devices) == 1 ? "" : "s",
		 least, most);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "no stream, device or rank makes others wait",
			 .evidence = evidence);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct imbalance *im = state;

	add_windows(im);
	add_devices(im);
	add_streams(im);
	if (!find_straggler(im, out) && !find_jitter(im, out) && !find_exposed(im, out) &&
	    !find_uneven(im, out) && !find_serial(im, out))
		find_balance(im, out);
	return pasta_out_groups(out, im, err);
}

static const struct pasta_diagnosis_def diagnosis = PASTA_DIAGNOSIS(struct imbalance, diagnosis);

PASTA_TOOL(.name = "imbalance",
	   .summary = "streams, devices and ranks: busy time, late ranks, communication",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |
		     PASTA_MASK(ITERATION),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS, .state_size = sizeof(struct imbalance),
	   .event = on_event, .report = report, .flags = PASTA_TOOL_SHARDED, .groups = groups,
	   .diagnosis = &diagnosis);
