/*
 * pyabi.h - the memory layout of CPython's frames, for each version.
 *
 * The declarations are repeated here, so that the build does not need Python's headers. They are
 * used only after the program's own Python has found the same stacks (pystack.h).
 */
#ifndef PASTA_HANDLERS_TORCH_PYABI_H
#define PASTA_HANDLERS_TORCH_PYABI_H

#include <stddef.h>
#include <stdint.h>

enum py_lasti {
	PY_LASTI_BYTES,	  /* an int: an offset into the code, in bytes */
	PY_LASTI_UNITS,	  /* an int: an offset in instructions of two bytes */
	PY_LASTI_ADDRESS, /* the address of the instruction */
};

/* Offsets, in bytes. */
struct py_layout {
	uint32_t minor;	       /* of Python 3.minor */
	uint32_t interp, top;  /* in a thread's state: its interpreter, its frames */
	int32_t current;       /* the frame, in the structure at top; -1: top is the frame */
	uint32_t code, back;   /* in a frame: the code object, the caller's frame */
	uint32_t lasti;	       /* in a frame: the instruction, as lasti_is describes */
	int32_t owner;	       /* in a frame, a char; -1: absent in this version */
	uint32_t file, name;   /* in a code object: strings */
	uint32_t line, text;   /* in a code object: the first line, an int; the instructions */
	uint32_t ascii, other; /* in a string: its characters, if all are ASCII; if not */
	enum py_lasti lasti_is;
};

/* The same in all versions. */
enum {
	PY_TYPE = 8, /* in an object */
	PY_LENGTH = 16,
	PY_STATE = 32, /* in a string; the values below are its bits */
	PY_KIND_SHIFT = 2,
	PY_KIND = 7,
	PY_COMPACT = 1 << 5,
	PY_ASCII = 1 << 6,
	PY_OWNER_C = 3, /* a frame of C code, not of a Python function */
};

/* Returns the layout of Python 3.minor; NULL if it is not known. */
const struct py_layout *py_layout_of(unsigned int minor);

/* Correct a layout with the offsets that Python 3.13 publishes for debuggers, at the start of
 * _PyRuntime. runtime may be NULL. Returns -1 if this interpreter's objects cannot be read. */
int py_layout_correct(struct py_layout *layout, const void *runtime);

#endif
