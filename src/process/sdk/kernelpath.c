/* kernelpath.c - parses the C++ name of a kernel: finds the function and its template arguments. */
#include <stdint.h>
#include <string.h>

#include "process/sdk/kernelname_internal.h"

enum { DEPTH = 64 };

/* -- Words -- */

bool pasta_namespan_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool path_is_word(char c)
{
	return pasta_namespan_is_letter(c) || (c >= '0' && c <= '9') || c == '$';
}

struct pasta_namespan pasta_namespan_word(const char *at, const char *end)
{
	struct pasta_namespan word = {at, at};

	while (word.end < end && path_is_word(*word.end))
		word.end++;
	return word;
}

/* -- The function in a C++ name -- */

/* The open brackets, the innermost in the lowest bit; a set bit is an angle bracket. */
struct brackets {
	uint64_t angles;
	size_t depth;
};

static void brackets_close(struct brackets *b, char c)
{
	bool angle = c == '>';

	/* In an expression such as (a > b), the character '>' is not a bracket. */
	if (!b->depth || (angle && !(b->angles & 1)))
		return;
	while (!angle && b->depth && b->angles & 1) {
		b->angles >>= 1;
		b->depth--;
	}
	if (b->depth) {
		b->angles >>= 1;
		b->depth--;
	}
}

const char *pasta_kernelpath_skip(const char *p, const char *end)
{
	struct brackets b = {0};

	for (; p < end; p++) {
		switch (*p) {
		case '<':
		case '(':
		case '{':
		case '[':
			if (b.depth == DEPTH)
				return end;
			b.angles = b.angles << 1 | (*p == '<');
			b.depth++;
			break;
		case '-':
			p += p + 1 < end && p[1] == '>';
			break;
		case '>':
		case ')':
		case '}':
		case ']':
			brackets_close(&b, *p);
			break;
		default:
			break;
		}
		if (!b.depth)
			return p + 1 < end ? p + 1 : end;
	}
	return end;
}

bool pasta_kernelpath_is_generic(struct pasta_namespan id)
{
	static const char *const names[] = {"",	       "kernel",  "Kernel",	 "_kernel",
					    "global",  "impl",	  "detail",	 "internal",
					    "kernels", "Kernel2", "globalKernel"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (pasta_namespan_is(id, names[i]))
			return true;
	return false;
}

/* Add a component of the path. Operators and lambda expressions are parts of the function around
 * them. */
static void path_add(struct pasta_kernelpath *path, struct pasta_namespan id,
		     struct pasta_namespan args)
{
	if (id.at == id.end || !pasta_namespan_is_letter(*id.at) ||
	    pasta_namespan_begins(id, "operator"))
		return;
	if (!pasta_kernelpath_is_generic(path->id))
		path->parent = path->id;
	path->id = id;
	path->args = args;
}

static bool path_continues(const char *p, const char *end)
{
	struct pasta_namespan rest = {p, end};

	return pasta_namespan_begins(rest, "::") || pasta_namespan_begins(rest, " const::");
}

/* Returns the end of the parameters, anonymous namespace or other brackets at p, and sets *done if
 * the parameters are those of the kernel. */
static const char *path_brackets(const char *p, const char *end, bool *done)
{
	struct pasta_namespan rest = {p, end};
	bool anonymous = pasta_namespan_begins(rest, "(anonymous");
	const char *next = pasta_kernelpath_skip(p, end);

	if (*p != '(' || anonymous)
		return next;
	if (!path_continues(next, end))
		*done = next == end || *next != ' ' || next + 1 == end ||
			!pasta_namespan_is_letter(next[1]);
	else if (*next == ' ')
		next += strlen(" const");
	return next;
}

void pasta_kernelpath_parse(struct pasta_kernelpath *path, struct pasta_namespan name)
{
	struct pasta_namespan id = {name.at, name.at}, args = {0};
	const char *p = name.at;
	bool done = false;

	*path = (struct pasta_kernelpath){0};
	path->id = path->parent = path->args = (struct pasta_namespan){name.at, name.at};
	while (p < name.end && !done) {
		struct pasta_namespan word = pasta_namespan_word(p, name.end);

		if (word.at < word.end) {
			if (id.at == id.end)
				id = word;
			p = word.end;
		} else if (*p == '<') {
			p = pasta_kernelpath_skip(p, name.end);
			args = (struct pasta_namespan){word.at + 1, p};
		} else if (*p == '(' || *p == '{' || *p == '[') {
			p = path_brackets(p, name.end, &done);
		} else if (*p == ':' || *p == ' ') {
			if (*p == ' ')
				*path = (struct pasta_kernelpath){.id = {p, p}, .parent = {p, p}};
			else
				path_add(path, id, args);
			path->scoped = *p == ':';
			id = args = (struct pasta_namespan){p, p};
			p++;
		} else {
			p++;
		}
	}
	path_add(path, id, args);
}

bool pasta_kernelpath_is_wrapper(const struct pasta_kernelpath *path)
{
	static const char *const names[] = {"Kernel", "Kernel2", "device_kernel", "_kernel_agent"};
	bool is = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is = is || pasta_namespan_is(path->id, names[i]);
	return is && path->args.at < path->args.end;
}

struct pasta_namespan pasta_kernelpath_first(const struct pasta_kernelpath *path)
{
	struct pasta_namespan first = {path->args.at, path->args.at};

	while (first.end < path->args.end && *first.end != ',' && *first.end != '>')
		first.end = *first.end == '<' || *first.end == '('
				    ? pasta_kernelpath_skip(first.end, path->args.end)
				    : first.end + 1;
	while (first.end > first.at && first.end[-1] == ' ')
		first.end--;
	return first;
}
