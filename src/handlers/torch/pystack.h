/*
 * pystack.h - captures the calling thread's Python stack without Python's lock (the GIL).
 *
 * While a thread runs C code, its Python frames do not change, so the thread can read its frames no
 * matter which thread holds the lock. The layout of frames is internal to Python and differs
 * between versions. So captures are off until the program's Python has verified a captured stack.
 * pasta_pystack_begin finds the layout, pasta_pystack_check returns a stack that was read with this
 * layout, and pasta_pystack_trust turns captures on if Python sees the same stack.
 */
#ifndef PASTA_HANDLERS_TORCH_PYSTACK_H
#define PASTA_HANDLERS_TORCH_PYSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* maximum number of stored frames; of a deeper stack, the innermost frames are stored */
#define PASTA_PYSTACK_FRAMES 128

/* The functions and data of the Python interpreter that captures use. */
struct pasta_pystack_python {
	void *(*thread_state)(void);
	void *(*main_interp)(void);
	int (*line)(void *code, int at);
	const void *code_type;
	const void *runtime; /* may be NULL */
};

/*
 * Returns the innermost node (core/pathnode.h) of the calling thread's Python stack, for an event's
 * stack field. Returns 0 if captures are off, if the thread runs no Python function or runs a
 * subinterpreter, or if memory is exhausted. Only a thread's first capture allocates memory. Any
 * thread may call this function, with or without Python's lock. In a signal handler that interrupts
 * a capture, the function returns 0.
 */
uint32_t pasta_pystack_capture(void);
/* Returns whether captures are on. */
bool pasta_pystack_on(void);

/* For tests: does the same as pasta_pystack_begin, with the given functions and data of an
 * interpreter, which must stay valid. */
int pasta_pystack_begin_with(const struct pasta_pystack_python *python, uint32_t version, char *why,
			     size_t size);

/* -- Exported for _stacks.py. The caller must hold Python's lock (the GIL) -- */

/* Find the memory layout of Python's frames. `version` is Python's sys.hexversion. Returns 0, or a
 * negative errno with the reason in `why`. */
int pasta_pystack_begin(uint32_t version, char *why, size_t size);
/* Store the calling thread's stack, innermost frame first, as "function\n" "file\n" "line\n" for
 * each frame; frames that do not fit are left out. A wrong layout does not crash the program.
 * Returns the number of frames, or a negative errno. */
int pasta_pystack_check(char *text, size_t size);
/* Leave frames of this code object, which belongs to AccelProf, out of stacks. The object must
 * never be freed. */
void pasta_pystack_hide(const void *code);
/* Turn captures on (1) or off (0). When captures are off, the call also waits until no other thread
 * reads frames, but for at most 20 ms; call it before Python frees its data. */
void pasta_pystack_trust(int right);

#endif
