/* utf8.c - decodes, encodes and repairs UTF-8. */
#include "process/io/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number of bytes that follow a lead byte, and sets *least to the smallest code point
 * that needs them. Returns -1 if `lead` is not a lead byte. */
static int utf8_following(unsigned char lead, uint32_t *least)
{
	if (lead >= 0xc2 && lead <= 0xdf) {
		*least = 0x80;
		return 1;
	}
	if (lead >= 0xe0 && lead <= 0xef) {
		*least = 0x800;
		return 2;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		*least = 0x10000;
		return 3;
	}
	return -1;
}

uint32_t pasta_utf8_next(const char **p, const char *end)
{
	const unsigned char *s = (const unsigned char *)*p;
	uint32_t c = s[0], least = 0;
	int i, more;

	*p += 1;
	if (c < 0x80)
		return c;
	more = utf8_following(s[0], &least);
	if (more < 0 || end - *p < more)
		return PASTA_UTF8_BAD;
	c &= 0x3fu >> more;
	for (i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return PASTA_UTF8_BAD;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return PASTA_UTF8_BAD;
	*p += more;
	return c;
}

size_t pasta_utf8_put(char out[PASTA_UTF8_MAX], uint32_t c)
{
	size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t i;

	for (i = size; i > 1; i--) {
		out[i - 1] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	out[0] = (char)(lead[size] | c);
	return size;
}

bool pasta_utf8_valid(const char *text, size_t size)
{
	const char *p = text, *end = text + size;

	while (p < end) {
		const char *at = p;

		/* A U+FFFD that advances by three bytes is valid: it was in the text itself. */
		if (pasta_utf8_next(&p, end) == PASTA_UTF8_BAD && p - at == 1)
			return false;
	}
	return true;
}

char *pasta_utf8_clean(const char *text, size_t size, size_t *clean_size)
{
	const char *p = text, *end = text + size;
	char *clean = malloc(3 * size + 1), *q = clean;

	if (!clean)
		return NULL;
	while (p < end)
		q += pasta_utf8_put(q, pasta_utf8_next(&p, end));
	*q = '\0';
	*clean_size = (size_t)(q - clean);
	return clean;
}

static bool utf8_is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

bool pasta_utf8_control(const char *text)
{
	while (*text && !utf8_is_control(*text))
		text++;
	return *text != '\0';
}

const char *pasta_utf8_plain(const char *text, char *out, size_t size)
{
	size_t at = 0;

	for (; *text; text++) {
		char piece[5] = {*text};

		if (utf8_is_control(*text))
			snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)*text);
		if (strlen(piece) >= size - at)
			break;
		memcpy(out + at, piece, strlen(piece));
		at += strlen(piece);
	}
	out[at] = '\0';
	return out;
}
