/* pyabi.c - finds the memory layout of CPython's frames, in a table and in the offsets that Python
 * 3.13 publishes. */
#include "handlers/torch/pyabi.h"

#include <string.h>

/* Offsets from the headers of Python 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0, for 64-bit
 * machines. The field `name` has the offset of co_qualname in versions that have co_qualname, and
 * the offset of co_name in older versions. */
static const struct py_layout layouts[] = {
	{8, 16, 24, -1, 32, 24, 104, -1, 104, 112, 40, 0, 48, 72, PY_LASTI_BYTES},
	{9, 16, 24, -1, 32, 24, 104, -1, 104, 112, 40, 0, 48, 72, PY_LASTI_BYTES},
	{10, 16, 24, -1, 32, 24, 96, -1, 104, 112, 40, 0, 48, 72, PY_LASTI_UNITS},
	{11, 16, 56, 8, 32, 48, 56, 69, 112, 128, 72, 184, 48, 72, PY_LASTI_ADDRESS},
	{12, 16, 56, 0, 0, 8, 56, 70, 112, 128, 68, 192, 40, 56, PY_LASTI_ADDRESS},
	{13, 16, 72, -1, 0, 8, 56, 70, 112, 128, 68, 200, 40, 56, PY_LASTI_ADDRESS},
};

const struct py_layout *py_layout_of(unsigned int minor)
{
	if (sizeof(void *) != 8)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* The start of _Py_DebugOffsets of 3.13. */
struct py_debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	uint64_t runtime[3];
	uint64_t interpreter[13];
	struct {
		uint64_t size, prev, next, interp, current_frame, ids[2], chunk, status;
	} thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount;
		uint64_t localsplusnames, localspluskinds, code_adaptive;
	} code;
};

int py_layout_correct(struct py_layout *layout, const void *runtime)
{
	struct py_debug_offsets t;

	if (layout->minor != 13)
		return 0;
	if (!runtime)
		return -1;
	memcpy(&t, runtime, sizeof(t));
	if (memcmp(t.cookie, "xdebugpy", 8) || t.version >> 16 != 0x030d || t.free_threaded)
		return -1;
	layout->interp = (uint32_t)t.thread.interp;
	layout->top = (uint32_t)t.thread.current_frame;
	layout->code = (uint32_t)t.frame.executable;
	layout->back = (uint32_t)t.frame.previous;
	layout->lasti = (uint32_t)t.frame.instr_ptr;
	layout->owner = (int32_t)t.frame.owner;
	layout->file = (uint32_t)t.code.filename;
	layout->name = (uint32_t)t.code.qualname;
	layout->line = (uint32_t)t.code.firstlineno;
	layout->text = (uint32_t)t.code.code_adaptive;
	return 0;
}
