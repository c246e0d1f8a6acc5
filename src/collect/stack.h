/*
 * stack.h - call paths, as handlers see them: where a launch or an allocation came from.
 *
 * Off unless PASTA_STACKS says so. A native path is interned: return addresses, innermost first, a
 * little-endian u64 each, without the agent's own frames. accelprof turns them into functions and
 * lines; MODULE events, which are emitted here as well, say which file was where.
 */
#ifndef PASTA_COLLECT_STACK_H
#define PASTA_COLLECT_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct pasta_pathnode;

#define PASTA_STACK_FRAMES 64 /* the innermost ones, of deeper stacks */

/* What PASTA_STACKS asks for. */
enum pasta_stack_types {
	PASTA_STACKS_NATIVE = 1,  /* what is below */
	PASTA_STACKS_PYTHON = 2,  /* Python's functions and lines */
	PASTA_STACKS_MODULES = 4, /* modules of models */
};
uint32_t pasta_stack_types(void);

/* The id of an interpreter's node, for a stack field or its callee's node. 0: no room. */
uint32_t pasta_stack_node(const struct pasta_pathnode *node);

/* Each is sampled on its own, so that many launches do not hide few allocations. */
enum pasta_stack_site { PASTA_STACK_LAUNCH, PASTA_STACK_ALLOC, PASTA_STACK_SITES };

/*
 * The calling thread's path, for an event's stack field; 0: off, not sampled, or no room. With a
 * period, every so manieth call of a thread is sampled. Without one, each thread samples as many of
 * its calls as cost it about 2 % of its time, at random, and at least one call in 100 ms.
 *
 * It may emit events itself: read the event's time after it. Any thread; a signal handler that
 * interrupts a capture gets 0. Nothing is allocated but by a thread's first.
 */
uint32_t pasta_stack_capture_at(enum pasta_stack_site site);

/* Whether any path is wanted. */
extern bool pasta_stack_bound;

/* A macro: an inlined function would be a place of the path. */
#define pasta_stack_capture() (pasta_stack_bound ? pasta_stack_capture_at(PASTA_STACK_LAUNCH) : 0)

#endif
