/*
 * pystack.h - the calling thread's Python stack, without Python's lock.
 *
 * A thread that is in C does not move its own frames, so it can read them whoever holds the
 * lock. What they look like is no interface of Python's, and differs between versions. So it is
 * off until the program's Python has compared: begin finds the layout, check tells what stack
 * is seen with it, and trust is told whether that is the one that Python sees.
 */
#ifndef PASTA_HANDLERS_TORCH_PYSTACK_H
#define PASTA_HANDLERS_TORCH_PYSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_PYSTACK_FRAMES 128 /* the innermost ones, of deeper stacks */

/* What is used of the interpreter. */
struct pasta_pystack_python {
	void *(*thread_state)(void);
	void *(*main_interp)(void);
	int (*line)(void *code, int at);
	const void *code_type;
	const void *runtime; /* NULL: there is none */
};

/*
 * The innermost node (core/pathnode.h) of the calling thread's Python stack, for an event's stack
 * field. 0: off; or the thread is in no Python function, is in a subinterpreter, or there is no
 * room. Nothing is allocated but by a thread's first. Any thread, with or without Python's lock; a
 * signal handler that interrupts a capture gets 0.
 */
uint32_t pasta_pystack_capture(void);
bool pasta_pystack_on(void);

/* For tests: the interpreter is this one. Must outlive all else. */
int pasta_pystack_begin_with(const struct pasta_pystack_python *python, uint32_t version, char *why,
			     size_t size);

/* -- Exported, for _stacks.py; all with Python's lock held -- */

/* version is sys.hexversion. 0, or a negative errno and one line that says why not. */
int pasta_pystack_begin(uint32_t version, char *why, size_t size);
/* What is found, innermost first, as "function\n" "file\n" "line\n" for each frame, ended by 0, cut
 * where there is no room. Reads so that a wrong layout is harmless. Returns how many frames, or
 * a negative errno. */
int pasta_pystack_check(char *text, size_t size);
/* Frames of this code object, which lives for ever, are left out: they are ours. */
void pasta_pystack_hide(const void *code);
/* Captures are on, or no more. */
void pasta_pystack_trust(int right);

#endif
