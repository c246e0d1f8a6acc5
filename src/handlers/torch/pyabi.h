/*
 * pyabi.h - the memory layout of CPython's frames, for each version.
 *
 * The offsets are copied from Python's headers, so that the build does not need these headers. The
 * offsets are used only after the program's Python has verified stacks that were read with these
 * offsets (pystack.h).
 */
#ifndef PASTA_HANDLERS_TORCH_PYABI_H
#define PASTA_HANDLERS_TORCH_PYABI_H

#include <stddef.h>
#include <stdint.h>

enum py_lasti {
	/* the instruction is stored as an int: an offset into the code, in bytes */
	PY_LASTI_BYTES,
	/* the instruction is stored as an int: an offset into the code, in units of two bytes */
	PY_LASTI_UNITS,
	PY_LASTI_ADDRESS, /* the instruction is stored as its address */
};

/* Offsets, in bytes. */
struct py_layout {
	uint32_t minor; /* of Python 3.minor */
	uint32_t interp,
		top; /* in a thread's state: its interpreter, and the pointer to its frames */
	/* offset of the frame in the structure that `top` points to; -1 if `top` points to the
	 * frame itself */
	int32_t current;
	uint32_t code, back; /* in a frame: the code object, and the caller's frame */
	/* in a frame: the current instruction, in the form that `lasti_is` states */
	uint32_t lasti;
	/* in a frame: the frame's owner (a char); -1 if this version's frames have no owner */
	int32_t owner;
	uint32_t file, name; /* in a code object: strings */
	uint32_t line, text; /* in a code object: the first line number (int), and the start of the
				instructions */
	uint32_t ascii,
		/* in a string: the offset of the characters if all are ASCII (`ascii`), and if not
		 * (`other`) */
		other;
	enum py_lasti lasti_is;
};

/* Offsets and values that are the same in all versions of Python. */
enum {
	PY_TYPE = 8, /* in an object */
	PY_LENGTH = 16,
	PY_STATE = 32, /* in a string: its state, which has the bits below */
	PY_KIND_SHIFT = 2,
	PY_KIND = 7,
	PY_COMPACT = 1 << 5,
	PY_ASCII = 1 << 6,
	PY_OWNER_C = 3, /* owner of a frame that belongs to C code */
};

/* Returns the layout of Python 3.minor, or NULL if the layout is not known. */
const struct py_layout *py_layout_of(unsigned int minor);

/* Correct a layout with the offsets that Python 3.13 publishes for debuggers. `runtime` is the
 * address of _PyRuntime, where the offsets start, or NULL if it was not found. Returns 0, or -1 if
 * this interpreter's objects cannot be read. */
int py_layout_correct(struct py_layout *layout, const void *runtime);

#endif
