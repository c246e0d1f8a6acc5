/* kernelname.c - shortens the names of kernels: finds the function in a C++ name, and the operation
 * in the template arguments of generic kernels. */
#include "process/sdk/kernelname.h"

#include <string.h>

#include "process/io/utf8.h"
#include "process/sdk/kernelname_internal.h"

enum { WRAPPERS = 4, ELLIPSIS = 0x2026 };

/* -- Texts -- */

bool pasta_namespan_begins(struct pasta_namespan s, const char *text)
{
	size_t n = strlen(text);

	return pasta_namespan_size(s) >= n && !memcmp(s.at, text, n);
}

bool pasta_namespan_ends(struct pasta_namespan s, const char *text)
{
	size_t n = strlen(text);

	return pasta_namespan_size(s) >= n && !memcmp(s.end - n, text, n);
}

bool pasta_namespan_is(struct pasta_namespan s, const char *text)
{
	return pasta_namespan_size(s) == strlen(text) && pasta_namespan_begins(s, text);
}

const char *pasta_namespan_find(struct pasta_namespan s, const char *text)
{
	return memmem(s.at, pasta_namespan_size(s), text, strlen(text));
}

static void nametext_bytes(struct pasta_nametext *t, const char *bytes, size_t size)
{
	size_t room = sizeof(t->text) - t->size;

	size = size < room ? size : room;
	memcpy(t->text + t->size, bytes, size);
	t->size += size;
}

void pasta_nametext_add(struct pasta_nametext *t, struct pasta_namespan s)
{
	size_t size = pasta_namespan_size(s), half = 2 * PASTA_KERNELNAME_WIDTH;

	/* A short name shows at most PASTA_KERNELNAME_WIDTH code points, from the beginning and the
	 * end of the text. None of them is between the two halves. */
	if (size <= 2 * half) {
		nametext_bytes(t, s.at, size);
		return;
	}
	nametext_bytes(t, s.at, half);
	nametext_bytes(t, s.end - half, half);
}

void pasta_nametext_word(struct pasta_nametext *t, struct pasta_namespan s)
{
	if (s.at == s.end)
		return;
	if (t->size)
		nametext_bytes(t, " ", 1);
	pasta_nametext_add(t, s);
}

void pasta_nametext_text(struct pasta_nametext *t, const char *word)
{
	pasta_nametext_word(t, (struct pasta_namespan){word, word + strlen(word)});
}

/* -- The short name -- */

static void name_path(struct pasta_nametext *t, const struct pasta_kernelpath *path)
{
	struct pasta_namespan id = path->id;
	char opaque[PASTA_KERNELGENERIC_OPAQUE];
	const char *type = pasta_kernelgeneric_type(path->args, opaque);

	if (pasta_kernelpath_is_generic(id))
		id = path->parent;
	else if (path->scoped)
		id = pasta_kernelgeneric_strip(id, false);
	pasta_nametext_word(t, id);
	if (type && t->size)
		pasta_nametext_text(t, type);
}

/* Compose the name of a C++ function, with its parameters or template arguments. */
static void name_compose_cpp(struct pasta_nametext *t, struct pasta_namespan name)
{
	struct pasta_kernelpath path;

	for (int i = 0; i < WRAPPERS; i++) {
		pasta_kernelpath_parse(&path, name);
		if (!pasta_kernelpath_is_wrapper(&path))
			break;
		name = pasta_kernelpath_first(&path);
	}
	if (!pasta_kernellibrary_name(t, path.id) && !pasta_kernelgeneric_name(t, &path))
		name_path(t, &path);
}

static void name_compose(struct pasta_nametext *t, struct pasta_namespan name)
{
	struct pasta_namespan word = pasta_namespan_word(name.at, name.end);

	if (word.end < name.end && (memchr(name.at, '<', pasta_namespan_size(name)) ||
				    memchr(name.at, '(', pasta_namespan_size(name))))
		name_compose_cpp(t, name);
	else if (word.end == name.end && !pasta_kernellibrary_mangled(t, name))
		pasta_kernellibrary_name(t, name);
	if (!t->size)
		pasta_nametext_add(t, name);
}

/* Returns the number of code points. */
static size_t name_length(struct pasta_namespan s)
{
	size_t n = 0;

	while (s.at < s.end) {
		pasta_utf8_next(&s.at, s.end);
		n++;
	}
	return n;
}

/* Append a code point to a text of *n bytes. Returns false if it does not fit. */
static bool name_put(char *text, size_t *n, size_t size, uint32_t c)
{
	char bytes[PASTA_UTF8_MAX];
	size_t more = pasta_utf8_put(bytes, c);

	if (*n + more >= size)
		return false;
	memcpy(text + *n, bytes, more);
	*n += more;
	return true;
}

size_t pasta_kernelname_short(const char *full, char *text, size_t size)
{
	struct pasta_namespan s = {full, full + strlen(full)};
	struct pasta_nametext t = {.size = 0};
	size_t length, i, n = 0, left = PASTA_KERNELNAME_WIDTH / 2 - 1;
	bool fits = true;

	name_compose(&t, s);
	s = (struct pasta_namespan){t.text, t.text + t.size};
	length = name_length(s);
	for (i = 0; fits && s.at < s.end; i++) {
		uint32_t c = pasta_utf8_next(&s.at, s.end);
		bool drop = length > PASTA_KERNELNAME_WIDTH && i >= left &&
			    i + (PASTA_KERNELNAME_WIDTH - left - 1) < length;

		if (!drop || i == left)
			fits = name_put(text, &n, size, drop ? ELLIPSIS : c);
	}
	text[n] = '\0';
	return n;
}
