/* utf8.h - decodes, encodes and repairs UTF-8; invalid bytes become U+FFFD. Any thread may call
 * these functions. */
#ifndef PASTA_PROCESS_UTF8_H
#define PASTA_PROCESS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_UTF8_BAD 0xfffdu /* replaces an invalid byte */
#define PASTA_UTF8_MAX 4       /* size in bytes of the longest code point */

/* Returns the code point at *p, and advances *p. *p must be before `end`. For an invalid byte,
 * returns PASTA_UTF8_BAD and advances *p by one. */
uint32_t pasta_utf8_next(const char **p, const char *end);
/* Writes a code point and returns its length in bytes. */
size_t pasta_utf8_put(char out[PASTA_UTF8_MAX], uint32_t c);

bool pasta_utf8_valid(const char *text, size_t size);
/* Returns a copy of the text as valid UTF-8, or NULL when out of memory. The caller frees the
 * copy. */
char *pasta_utf8_clean(const char *text, size_t size, size_t *clean_size);

/* Returns whether `text` contains a control character: a byte below 0x20, or 0x7f. */
bool pasta_utf8_control(const char *text);
/* Copies `text` to `out`, and replaces control characters with escapes such as \x1b. Truncates the
 * result to `size` bytes, where `size` is at least 1. Returns `out`. */
const char *pasta_utf8_plain(const char *text, char *out, size_t size);

#endif
