/* utf8.h - text from anywhere, as code points: what is not UTF-8 becomes U+FFFD. Any thread. */
#ifndef PASTA_PROCESS_UTF8_H
#define PASTA_PROCESS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTA_UTF8_BAD 0xfffdu /* stands for bytes that are no UTF-8 */
#define PASTA_UTF8_MAX 4       /* bytes of a code point */

/* The code point at *p, before end, which is past *p; moves *p on, by one byte if it is bad. */
uint32_t pasta_utf8_next(const char **p, const char *end);
/* Write a code point; returns its bytes. */
size_t pasta_utf8_put(char out[PASTA_UTF8_MAX], uint32_t c);

bool pasta_utf8_valid(const char *text, size_t size);
/* A valid copy, to be freed; NULL when out of memory. */
char *pasta_utf8_clean(const char *text, size_t size, size_t *clean_size);

/* Whether there is a control character in it: a byte below 0x20, or 0x7f. */
bool pasta_utf8_control(const char *text);
/* The text with those written as \x1b, cut at size (at least 1); returns out. */
const char *pasta_utf8_plain(const char *text, char *out, size_t size);

#endif
