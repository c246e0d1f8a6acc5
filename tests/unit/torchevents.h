/* torchevents.h - sends the events of a PyTorch program. Include it after tooltest.h. */
#ifndef PASTA_TESTS_TORCHEVENTS_H
#define PASTA_TESTS_TORCHEVENTS_H

#include "core/pathnode.h"

/* A Python function and its caller; 0: it is the outermost. */
__attribute__((unused)) static uint32_t call(uint32_t parent, const char *function,
					     const char *file, uint32_t number)
{
	struct pasta_pathnode node = {parent, id(function), id(file), number};
	uint8_t bytes[PASTA_PATHNODE_SIZE];

	pasta_pathnode_encode(&node, bytes);
	return pasta_strings_add(bytes, sizeof(bytes));
}

struct op {
	const char *name, *module;
	uint32_t proc, tid, stack, flags;
	uint64_t id, seq;
};

__attribute__((unused)) static void begin_op(uint64_t time, const struct op *op)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, op->proc, op->tid, time);

	ev.op_begin = (struct pasta_op_begin_record){.id = op->id,
						     .seq = op->seq,
						     .name = id(op->name),
						     .stack = op->stack,
						     .module = id(op->module),
						     .flags = op->flags};
	send_event(&ev);
}

__attribute__((unused)) static void end_op(uint64_t time, const struct op *op)
{
	struct pasta_event ev = EVENT(op_end, OP_END, op->proc, op->tid, time);

	ev.op_end.id = op->id;
	send_event(&ev);
}

/* A thread launches a kernel, which runs at once. */
__attribute__((unused)) static void run_kernel(uint64_t time, uint32_t proc, uint32_t tid,
					       uint64_t corr, const char *name, uint64_t dur)
{
	send_launch(proc, tid, time, corr, name);
	send_kernel(proc, time, corr, name, dur);
}

__attribute__((unused)) static void iterate(uint64_t time, uint32_t proc, uint64_t index)
{
	struct pasta_event ev = EVENT(iteration, ITERATION, proc, 1, time);

	ev.iteration.index = index;
	send_event(&ev);
}

#endif
