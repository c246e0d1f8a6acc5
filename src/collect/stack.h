/*
 * stack.h - call paths of launches and allocations: the interface for handlers. Call paths are off
 * unless PASTA_STACKS enables them. A native path is an interned sequence of return addresses,
 * innermost first, each a little-endian u64, without the agent's own frames. accelprof turns the
 * addresses into functions and lines with the help of MODULE events, which the agent emits, too.
 */
#ifndef PASTA_COLLECT_STACK_H
#define PASTA_COLLECT_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct pasta_pathnode;

#define PASTA_STACK_FRAMES 64 /* maximum number of frames, of which the innermost are stored */

/* The parts of PASTA_STACKS. */
enum pasta_stack_types {
	PASTA_STACKS_NATIVE = 1,  /* return addresses that the functions below have captured */
	PASTA_STACKS_PYTHON = 2,  /* Python's functions and lines */
	PASTA_STACKS_MODULES = 4, /* PyTorch modules */
};
uint32_t pasta_stack_types(void);

/* Interns a frame of an interpreter. Returns its id, which can be stored in an event's stack
 * field, or passed as the caller of another frame; 0 if memory is exhausted. */
uint32_t pasta_stack_node(const struct pasta_pathnode *node);

/* Launches and allocations are sampled separately, so that many launches do not hide few
 * allocations. */
enum pasta_stack_site { PASTA_STACK_LAUNCH, PASTA_STACK_ALLOC, PASTA_STACK_SITES };

/*
 * Captures the calling thread's path, for an event's stack field. Returns 0 if call paths are off,
 * the call is not sampled, or memory is exhausted. With a period of N, samples every Nth call of
 * each thread. Without a period, each thread samples calls at random, at a cost of about 2 % of its
 * time, and at least one call in 100 ms. The capture may emit events itself, so read the event's
 * time after the capture. Any thread may call it; a signal handler that interrupts a capture gets
 * 0. Only a thread's first capture allocates memory.
 */
uint32_t pasta_stack_capture_at(enum pasta_stack_site site);

/* Returns whether native call paths are enabled. */
extern bool pasta_stack_bound;

/* This is a macro, because an inline function would appear in reports as a frame of the path. */
#define pasta_stack_capture() (pasta_stack_bound ? pasta_stack_capture_at(PASTA_STACK_LAUNCH) : 0)

#endif
