/* sourceline.c - represents a source line by an id, which is the id of a call path with one
 * frame. */
#include "process/join/sourceline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pathnode.h"
#include "core/strings.h"

enum { TEXT = 4096 };
#define SEVERAL UINT32_MAX /* marks a text that several lines share */

/* Returns whether a frame is in a file. Interpreters use names such as "<string>" for code that is
 * not in a file. */
static bool sourceline_in_file(const struct pasta_stack_frame *f)
{
	return *f->file && *f->file != '<' && strncmp(f->function, "<built-in", 9);
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
