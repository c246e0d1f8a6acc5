/*
 * pyabi.h - where CPython keeps a thread's frames, version by version.
 *
 * Our own declarations: the build needs no header of Python's. Nothing here is trusted until
 * the program's own Python has found the same stack (pystack.h).
 */
#ifndef PASTA_HANDLERS_TORCH_PYABI_H
#define PASTA_HANDLERS_TORCH_PYABI_H

#include <stddef.h>
#include <stdint.h>

enum py_lasti {
	PY_LASTI_BYTES, /* an int, of bytes into the code */
	PY_LASTI_UNITS, /* an int, of instructions of two bytes */
	PY_LASTI_PLACE, /* the instruction's address */
};

/* Offsets, in bytes. */
struct py_layout {
	uint32_t minor;	       /* of Python 3 */
	uint32_t interp, top;  /* in a thread's state: its interpreter; its frames */
	int32_t current;       /* in what top points to: the frame; -1: top is the frame */
	uint32_t code, back;   /* in a frame; back is the caller's */
	uint32_t lasti;	       /* likewise; lasti_is says what it holds */
	int32_t owner;	       /* likewise, a char; -1: there is none */
	uint32_t file, name;   /* in a code object: strings */
	uint32_t line, text;   /* likewise: the first line, an int; the instructions */
	uint32_t ascii, other; /* in a string: its characters, by what they are */
	enum py_lasti lasti_is;
};

/* The same in all of them. */
enum {
	PY_TYPE = 8, /* in an object */
	PY_LENGTH = 16,
	PY_STATE = 32, /* in a string; its bits: */
	PY_KIND_SHIFT = 2,
	PY_KIND = 7,
	PY_COMPACT = 1 << 5,
	PY_ASCII = 1 << 6,
	PY_OWNER_C = 3, /* a frame that is C's, not of a function */
};

/* The layout of Python 3.minor, or NULL: it is not known. */
const struct py_layout *py_layout_of(unsigned int minor);

/* Correct it with what the interpreter itself tells: Python 3.13 has its offsets at the
 * beginning of _PyRuntime, for debuggers. runtime may be NULL. -1: this interpreter's objects are
 * not as we read them. */
int py_layout_report(struct py_layout *layout, const void *runtime);

#endif
