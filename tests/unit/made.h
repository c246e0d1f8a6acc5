/* made.h - makes events one by one, and one shard of them, to test readers of whole streams. */
#ifndef PASTA_TESTS_MADE_H
#define PASTA_TESTS_MADE_H

#include "unit/support.h"

enum { MADE_EVENTS = 128 };

static struct pasta_event made[MADE_EVENTS];
static size_t made_count;
static struct pasta_event made_process; /* the shard's process record; size 0: none */

__attribute__((unused)) static int make(void **state)
{
	made_count = 0;
	made_process.size = 0;
	return make_dir(state);
}

/* Adds an event of thread 7. The reader converts its time, RAW_0 + time, to REAL_0 + time. */
__attribute__((unused)) static struct pasta_event *add(enum pasta_kind kind, unsigned int sub,
						       uint64_t time)
{
	struct pasta_event *ev = &made[made_count++];

	assert_true(made_count <= MADE_EVENTS);
	memset(ev, 0, sizeof(*ev));
	ev->size = pasta_kinds[kind].size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
	ev->tid = 7;
	ev->time = RAW_0 + time;
	return ev;
}

__attribute__((unused)) static void add_region(unsigned int sub, uint64_t time, uint32_t name,
					       uint32_t depth)
{
	struct pasta_event *ev = add(PASTA_KIND_REGION, sub, time);

	ev->region.name = name;
	ev->region.depth = depth;
}

__attribute__((unused)) static void add_op(bool begin, uint64_t time, uint64_t id, uint32_t name)
{
	struct pasta_event *ev = add(begin ? PASTA_KIND_OP_BEGIN : PASTA_KIND_OP_END, 0, time);

	if (begin)
		ev->op_begin.id = id;
	else
		ev->op_end.id = id;
	if (begin)
		ev->op_begin.name = name;
}

__attribute__((unused)) static void add_launch(uint64_t time, uint64_t corr)
{
	add(PASTA_KIND_LAUNCH, 0, time)->launch.corr = corr;
}

__attribute__((unused)) static struct pasta_kernel_record *add_kernel(uint64_t time, uint64_t dur,
								      uint64_t corr)
{
	struct pasta_event *ev = add(PASTA_KIND_KERNEL, 0, time);

	ev->kernel.dur = dur;
	ev->kernel.corr = corr;
	return &ev->kernel;
}

/* Returns the shard's process record, which the caller fills in. */
__attribute__((unused)) static struct pasta_process_record *add_process(void)
{
	memset(&made_process, 0, sizeof(made_process));
	made_process.size = PASTA_EVENT_SIZE(process);
	made_process.kind = PASTA_KIND_PROCESS;
	made_process.time = RAW_0;
	return &made_process.process;
}

/* Writes the added events as a shard in the test's folder. Strings are numbered from 1. */
__attribute__((unused)) static const char *made_shard(const char *const *strings, uint32_t count)
{
	const char *path = in_dir("made.pst");
	struct bytes b = {0};

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_strings(&b, 1, count, strings);
	if (made_process.size)
		put_state(&b, 0, &made_process);
	if (made_count)
		put_frame(&b, made, made_count, (struct pasta_frame_meta){.source = 1});
	save(&b, b.size, path);
	free(b.data);
	return path;
}

#endif
