/*
 * stack.h - the handlers' interface for the call paths of launches and allocations.
 *
 * Call paths are disabled unless PASTA_STACKS enables them. A native path is an interned sequence
 * of return addresses, innermost first. Each address is a little-endian u64. The path does not
 * contain the agent's own frames. accelprof converts the addresses to functions and lines, with the
 * help of the MODULE events that the agent emits.
 */
#ifndef PASTA_COLLECT_STACK_H
#define PASTA_COLLECT_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct pasta_pathnode;

/* maximum number of frames of a path; of a deeper path, the innermost frames are stored */
#define PASTA_STACK_FRAMES 64

/* The types of stacks that PASTA_STACKS can enable. */
enum pasta_stack_types {
	PASTA_STACKS_NATIVE = 1,  /* native stacks, which the functions below capture */
	PASTA_STACKS_PYTHON = 2,  /* functions and lines of Python code */
	PASTA_STACKS_MODULES = 4, /* PyTorch modules, as stacks */
};
uint32_t pasta_stack_types(void);

/* Interns a frame of an interpreter. Returns the frame's id, or 0 if memory is exhausted. The id
 * can be stored in an event's stack field, or passed as the caller of another frame. */
uint32_t pasta_stack_node(const struct pasta_pathnode *node);

/* Launches and allocations are sampled separately, so that allocations are sampled even if there
 * are many more launches. */
enum pasta_stack_site { PASTA_STACK_LAUNCH, PASTA_STACK_ALLOC, PASTA_STACK_SITES };

/*
 * Captures the calling thread's path, for an event's stack field. Returns 0 if call paths are
 * disabled, the call is not sampled, or memory is exhausted. With a period of N, the function
 * samples every Nth call of each thread. Without a period, the function samples calls of each
 * thread at random, at a cost of about 2 % of the thread's time, and at least one call in 100 ms. A
 * capture may emit events, so read the event's time after the capture. Any thread may call this
 * function. In a signal handler that interrupts a capture, the function returns 0. Only a thread's
 * first capture allocates memory.
 */
uint32_t pasta_stack_capture_at(enum pasta_stack_site site);

/*
 * Captures the calling thread's Python path, for a launch's field `python`. Returns 0 if Python
 * paths are disabled or Python has not verified them yet, if the thread runs no Python function, or
 * if memory is exhausted. Any thread may call it, with or without Python's lock. Only a thread's
 * first capture allocates memory.
 */
uint32_t pasta_stack_python(void);
/* Sets the function that captures Python paths; NULL: none. Any thread may call it. */
void pasta_stack_set_python(uint32_t (*capture)(void));

/* Returns whether native call paths are enabled. */
extern bool pasta_stack_bound;

/* This is a macro, because an inline function would appear in reports as a frame of the path. */
#define pasta_stack_capture() (pasta_stack_bound ? pasta_stack_capture_at(PASTA_STACK_LAUNCH) : 0)

#endif
