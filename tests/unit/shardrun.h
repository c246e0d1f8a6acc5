/*
 * shardrun.h - writes random runs as shards, one per process. The threads and the device are
 * sources; the device's clock has an offset and a drift of its own.
 */
#ifndef PASTA_TESTS_SHARDRUN_H
#define PASTA_TESTS_SHARDRUN_H

#include "unit/randomrun.h"

#include "core/pathnode.h"
#include "core/shardwriter.h"

enum { DEVICE_SOURCE = RUN_THREADS + 1, DEVICE_CLOCK = 7, CLOCK_PAIRS = 5 };

/* Both host clocks are equal, so that times don't change when they are read. */
static inline struct pasta_shardwriter *shardrun_new(const char *path, uint32_t proc)
{
	struct pasta_shard_head head = {.raw = 1, .real = 1, .pid = 100 + proc};
	struct pasta_error err = {0};
	struct pasta_shardwriter *w;

	memset(head.boot, 1, sizeof(head.boot));
	memcpy(head.guid, &head.pid, sizeof(head.pid));
	w = pasta_shardwriter_new(path, &head, &err);
	if (!w)
		fail_msg("%s", err.text);
	return w;
}

/* Converts a time to the device's clock. Its drift depends on the process. */
static inline uint64_t device_time(uint32_t proc, uint64_t raw)
{
	return UINT64_C(1) << 50 | (raw + raw / 10000 * (proc % 21) + 7919 * proc);
}

static inline void shardrun_clocks(struct pasta_shardwriter *w, uint32_t proc,
				   const struct random_run *r)
{
	uint64_t first = r->count ? r->events[0].time : 0;
	uint64_t span = r->count ? r->events[r->count - 1].time - first : 0;
	struct pasta_event ev = run_event(PASTA_KIND_CLOCK, proc, 0);

	for (uint64_t i = 0; i < CLOCK_PAIRS; i++) {
		ev.time = ev.clock.raw = ev.clock.real =
			(first + span * i / (CLOCK_PAIRS - 1)) / 10000 * 10000;
		ev.clock.value = device_time(proc, ev.clock.raw);
		ev.clock.id = DEVICE_CLOCK;
		assert_int_equal(pasta_shardwriter_state(w, &ev), 0);
	}
}

static inline void shardrun_process(struct pasta_shardwriter *w, uint32_t proc, uint64_t kinds)
{
	struct pasta_event ev = run_event(PASTA_KIND_PROCESS, proc, 0);

	ev.time = 1;
	ev.process.kinds = kinds;
	ev.process.pid = 100 + proc;
	ev.process.rank = proc + 1;
	assert_int_equal(pasta_shardwriter_state(w, &ev), 0);
}

static inline bool on_device(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL || ev->kind == PASTA_KIND_COPY ||
	       ev->kind == PASTA_KIND_SET || ev->kind == PASTA_KIND_PC_SAMPLE;
}

static inline const char *shardrun_path(uint32_t proc)
{
	char name[32];

	snprintf(name, sizeof(name), "%u.pst", proc);
	return in_dir(name);
}

/* Interns a tree of call paths. Its ids differ between shards. */
static inline void shardrun_paths(struct pasta_shardwriter *w, uint32_t proc, const uint32_t *names,
				  uint32_t ids[RUN_PATHS + 1])
{
	uint8_t bytes[PASTA_PATHNODE_SIZE];
	char text[16];

	for (uint32_t i = 0; i < proc % 4; i++) {
		snprintf(text, sizeof(text), "other %u", i);
		pasta_shardwriter_str(w, text);
	}
	ids[0] = 0;
	for (uint32_t i = 1; i <= RUN_PATHS; i++) {
		struct pasta_pathnode node = {ids[i / 2], names[1 + i % 3], names[i % 4], i % 2};

		pasta_pathnode_encode(&node, bytes);
		ids[i] = pasta_shardwriter_intern(w, bytes, sizeof(bytes));
	}
}

/* Writes the shard of a process that recorded these kinds. */
static inline void shardrun_write(const struct random_run *r, uint32_t proc, uint64_t kinds)
{
	const char *path = shardrun_path(proc);
	struct pasta_shardwriter *w;
	uint32_t ids[RUN_NAMES + 1] = {0}, paths[RUN_PATHS + 1];
	char text[16];

	unlink(path);
	w = shardrun_new(path, proc);
	for (uint32_t i = RUN_NAMES; i; i--) {
		snprintf(text, sizeof(text), "n%u", i);
		ids[i] = pasta_shardwriter_str(w, text);
	}
	shardrun_paths(w, proc, ids, paths);
	shardrun_process(w, proc, kinds);
	shardrun_clocks(w, proc, r);
	assert_int_equal(pasta_shardwriter_clock(w, DEVICE_SOURCE, DEVICE_CLOCK), 0);
	for (size_t i = 0; i < r->count; i++) {
		struct pasta_event ev = r->events[i];
		uint32_t source = ev.tid < RUN_THREADS ? ev.tid + 1 : 1;

		if (ev.proc != proc || !(kinds >> ev.kind & 1))
			continue;
		run_strings(&ev, ids);
		if (ev.kind == PASTA_KIND_OP_BEGIN)
			ev.op_begin.stack = paths[ev.op_begin.stack];
		if (on_device(&ev)) {
			source = DEVICE_SOURCE;
			ev.time = device_time(proc, ev.time);
		}
		assert_int_equal(pasta_shardwriter_event(w, source, &ev), 0);
	}
	assert_int_equal(pasta_shardwriter_close(w, NULL), 0);
}

static inline struct pasta_stream *shardrun_open(uint32_t procs)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_error err = {0};

	assert_non_null(s);
	for (uint32_t i = 0; i < procs; i++)
		if (pasta_stream_add(s, shardrun_path(i), &err))
			fail_msg("%s", err.text);
	return s;
}

#endif
