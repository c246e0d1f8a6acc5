/* diagnosistest.h - a tool that shows its diagnosis to a test, and events for it. */
#ifndef PASTA_TESTS_DIAGNOSISTEST_H
#define PASTA_TESTS_DIAGNOSISTEST_H

#include <pasta/tool.h>

#include "unit/tooltest.h"

struct probe {
	struct pasta_diagnosis *diagnosis;
};

static struct pasta_diagnosis *diagnosis; /* of the latest report */

static int probe_report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	diagnosis = ((struct probe *)state)->diagnosis;
	return 0;
}

static const struct pasta_diagnosis_def probe_diagnosis = PASTA_DIAGNOSIS(struct probe, diagnosis);

PASTA_TOOL(.name = "probe", .summary = "a test", .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS,
	   .flags = PASTA_TOOL_SHARDED, .state_size = sizeof(struct probe), .report = probe_report,
	   .diagnosis = &probe_diagnosis);

/* -- Events. All are of process 0 unless stated. -- */

__attribute__((unused)) static void send_copy(uint64_t time, uint64_t corr, uint64_t dur,
					      uint8_t direction, uint64_t bytes)
{
	struct pasta_event ev = EVENT(copy, COPY, 0, 0, time);

	ev.sub = direction;
	ev.copy.corr = corr;
	ev.copy.dur = dur;
	ev.copy.bytes = bytes;
	send_event(&ev);
}

__attribute__((unused)) static void send_iteration(uint32_t tid, uint64_t time, uint64_t index,
						   const char *name)
{
	struct pasta_event ev = EVENT(iteration, ITERATION, 0, tid, time);

	ev.iteration.index = index;
	ev.iteration.name = id(name);
	send_event(&ev);
}

__attribute__((unused)) static void send_region(uint32_t tid, uint64_t time, const char *name)
{
	struct pasta_event ev = EVENT(region, REGION, 0, tid, time);

	ev.sub = name ? PASTA_REGION_BEGIN : PASTA_REGION_END;
	ev.region.name = id(name);
	send_event(&ev);
}

__attribute__((unused)) static void send_op(uint32_t tid, uint64_t time, uint64_t number,
					    const char *name)
{
	struct pasta_event begin = EVENT(op_begin, OP_BEGIN, 0, tid, time);
	struct pasta_event end = EVENT(op_end, OP_END, 0, tid, time);

	begin.op_begin.id = end.op_end.id = number;
	begin.op_begin.name = id(name);
	send_event(name ? &begin : &end);
}

__attribute__((unused)) static void send_api(uint32_t tid, uint64_t time, uint64_t dur,
					     const char *name)
{
	struct pasta_event ev = EVENT(api, API, 0, tid, time);

	ev.api.dur = dur;
	ev.api.name = id(name);
	send_event(&ev);
}

__attribute__((unused)) static void send_sync(uint32_t tid, uint64_t time, uint64_t dur,
					      uint8_t sub, uint32_t stream)
{
	struct pasta_event ev = EVENT(sync, SYNC, 0, tid, time);

	ev.sub = sub;
	ev.sync.dur = dur;
	ev.sync.stream = stream;
	send_event(&ev);
}

__attribute__((unused)) static void send_alloc(uint32_t tid, uint64_t time, uint64_t dur)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, 0, tid, time);

	ev.sub = PASTA_ALLOC_DEVICE;
	ev.alloc.addr = time;
	ev.alloc.bytes = 8;
	ev.alloc.dur = dur;
	send_event(&ev);
}

__attribute__((unused)) static void send_module(uint32_t tid, uint64_t time, uint64_t dur)
{
	struct pasta_event ev = EVENT(module, MODULE, 0, tid, time);

	ev.sub = PASTA_MODULE_LOAD;
	ev.module.dur = dur;
	send_event(&ev);
}

/* -- Results -- */

__attribute__((unused)) static const struct pasta_usage *usage(uint32_t proc, uint32_t device)
{
	const struct pasta_usage *u;

	for (size_t at = 0; (u = pasta_diagnosis_usage(diagnosis, &at));)
		if (u->proc == proc && u->device == device)
			return u;
	return NULL;
}

__attribute__((unused)) static const struct pasta_window *window(uint32_t proc)
{
	const struct pasta_window *w;

	for (size_t at = 0; (w = pasta_diagnosis_window(diagnosis, &at));)
		if (w->proc == proc)
			return w;
	return NULL;
}

/* Asserts that each number is the sum of what it consists of. */
__attribute__((unused)) static void check_sums(void)
{
	const struct pasta_usage *u;
	const struct pasta_step *s;
	const struct pasta_wait *w;
	const struct pasta_busy *b;

	for (size_t at = 0; (u = pasta_diagnosis_usage(diagnosis, &at));) {
		uint64_t idle = 0, steps[PASTA_PARTS] = {0}, waits[PASTA_CAUSES] = {0};
		uint64_t gaps[PASTA_CAUSES] = {0}, busy[PASTA_PARTS] = {0};

		assert_int_equal(u->time, window(u->proc)->end - window(u->proc)->begin);
		assert_int_equal(u->time, u->part[0] + u->part[1] + u->part[2] + u->part[3]);
		for (size_t i = 0; i < PASTA_CAUSES; i++)
			idle += u->cause[i];
		assert_int_equal(idle, u->part[PASTA_PART_IDLE]);
		for (size_t i = 0; (w = pasta_diagnosis_wait(diagnosis, &i));) {
			if (w->proc != u->proc || w->device != u->device)
				continue;
			waits[w->cause] += w->ns;
			gaps[w->cause] += w->gaps;
		}
		assert_memory_equal(waits, u->cause, sizeof(waits));
		for (size_t i = 0; (b = pasta_diagnosis_busy(diagnosis, &i));)
			if (b->proc == u->proc && b->device == u->device)
				busy[b->part] += b->ns;
		busy[PASTA_PART_IDLE] = idle;
		assert_memory_equal(busy, u->part, sizeof(busy));
		assert_memory_equal(gaps, u->gaps, sizeof(gaps));
		for (size_t i = 0; (s = pasta_diagnosis_step(diagnosis, &i));) {
			if (s->proc != u->proc || s->device != u->device)
				continue;
			idle = 0;
			for (size_t c = 0; c < PASTA_CAUSES; c++)
				idle += s->cause[c];
			assert_int_equal(idle, s->part[PASTA_PART_IDLE]);
			assert_int_equal(s->end - s->begin,
					 s->part[0] + s->part[1] + s->part[2] + s->part[3]);
			for (size_t c = 0; s->in_window && c < PASTA_PARTS; c++)
				steps[c] += s->part[c];
		}
		if (window(u->proc)->steps)
			assert_memory_equal(steps, u->part, sizeof(steps));
	}
}

#endif
