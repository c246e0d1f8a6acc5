/* sourceline.c - represents a source line by an id, which is the id of a call path with one
 * frame. */
#include "process/join/sourceline.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pathnode.h"
#include "core/strings.h"
#include "process/join/library.h"
#include "process/join/symbols.h"

enum { TEXT = 4096, FRAMES = 64, CACHE = 1024 };
/* maximum number of frames of a Python path among which the program's innermost frame is sought */
#define SOUGHT 256
#define SEVERAL UINT32_MAX /* marks a text that several lines share */

/* Returns whether a frame is in a file. Interpreters use names such as "<string>" for code that is
 * not in a file. */
static bool sourceline_in_file(const struct pasta_stack_frame *f)
{
	return *f->file && *f->file != '<' && strncmp(f->function, "<built-in", 9);
}

/* Returns pasta_library_has(file) for a string that is never freed, and caches the result. An entry
 * of the cache is the address of a string, shifted by one bit, and the result in the lowest bit. */
static bool sourceline_in_library(const char *file)
{
	static _Atomic uint64_t cache[CACHE];
	uint64_t address = (uintptr_t)file;
	_Atomic uint64_t *slot = &cache[address * UINT64_C(0x9e3779b97f4a7c15) >> 54];
	uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);

	if (known >> 1 != address) {
		known = address << 1 | pasta_library_has(file);
		atomic_store_explicit(slot, known, memory_order_relaxed);
	}
	return known & 1;
}

static bool prefer_library;

void pasta_sourceline_prefer_library(bool library)
{
	prefer_library = library;
}

bool pasta_sourceline_prefers_library(void)
{
	return prefer_library;
}

/* Finds the frame of a native path, innermost first, that is in a file. */
static bool sourceline_native(uint32_t proc, uint32_t stack, struct pasta_stack_frame *frame)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i, count = stack ? pasta_stack_frames(proc, stack, frames, FRAMES) : 0;

	for (i = 0; i < count && i < FRAMES; i++) {
		*frame = frames[i];
		if (sourceline_in_file(frame))
			return true;
	}
	return false;
}

bool pasta_python_frame(uint32_t proc, uint32_t stack, struct pasta_stack_frame *frame)
{
	struct pasta_stack_frame f;
	uint32_t at = stack;
	bool found = false;

	if (!pasta_symbols_interpreted(&at, &f))
		return sourceline_native(proc, stack, frame);
	for (size_t n = 1;; n++) {
		bool in_file = sourceline_in_file(&f);
		bool wanted = in_file && (prefer_library || !sourceline_in_library(f.file));

		/* If the path has no frame of the program, the result is the innermost frame. */
		if (wanted || (in_file && !found))
			*frame = f;
		found |= in_file;
		if (wanted || n == SOUGHT || !pasta_symbols_interpreted(&at, &f))
			return found;
	}
}

const char *pasta_stack_line(uint32_t proc, uint32_t stack, char *text, size_t size)
{
	struct pasta_stack_frame frames[FRAMES], frame;
	uint32_t at = stack;
	size_t i = 0, count;

	if (!size)
		return text;
	text[0] = '\0';
	if (pasta_symbols_interpreted(&at, &frame) && pasta_python_frame(proc, stack, &frame))
		return pasta_stack_frame_text(&frame, text, size);
	count = stack ? pasta_stack_frames(proc, stack, frames, FRAMES) : 0;
	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	return count ? pasta_stack_frame_text(&frames[i < count ? i : 0], text, size) : text;
}

uint32_t pasta_stack_frame_line(const struct pasta_stack_frame *f)
{
	uint8_t bytes[PASTA_PATHNODE_SIZE];
	struct pasta_pathnode node = {.line = f->line};

	if (!sourceline_in_file(f))
		return 0;
	node.function = pasta_strings_add(f->function, strlen(f->function));
	node.file = pasta_strings_add(f->file, strlen(f->file));
	pasta_pathnode_encode(&node, bytes);
	return pasta_strings_add(bytes, sizeof(bytes));
}

const char *pasta_sourceline_text(uint32_t line, bool whole, char *text, size_t size)
{
	struct pasta_stack_frame f;
	struct pasta_pathnode node;
	size_t length;
	const char *bytes = pasta_bytes(line, &length);

	if (!pasta_pathnode_decode(bytes, length, &node))
		return bytes;
	pasta_stack_frames(0, line, &f, 1);
	if (!whole)
		return pasta_stack_frame_text(&f, text, size);
	snprintf(text, size, "%s (%s:%u)", f.function, f.file, f.line);
	return text;
}

int pasta_sourcelines_note(struct pasta_map *texts, const char *text, uint32_t line)
{
	uint32_t id = pasta_strings_add(text, strlen(text));
	uint32_t *known = id ? pasta_map_add(texts, id) : NULL;

	if (known && line)
		*known = !*known || *known == line ? line : SEVERAL;
	return known ? 0 : -ENOMEM;
}

int pasta_sourcelines_widen(const struct pasta_map *texts, char **text, uint32_t line)
{
	const uint32_t *known = pasta_map_find(texts, pasta_strings_add(*text, strlen(*text)));
	char buffer[TEXT], *whole;

	if (!line || !known || *known != SEVERAL)
		return 0;
	whole = strdup(pasta_sourceline_text(line, true, buffer, sizeof(buffer)));
	if (!whole)
		return -ENOMEM;
	free(*text);
	*text = whole;
	return 0;
}
