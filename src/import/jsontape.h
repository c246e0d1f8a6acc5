/*
 * jsontape.h - one JSON value, as a tape of tokens.
 *
 * A value that is whole in memory is checked and split up in one pass; who reads it walks the tape
 * and takes what it knows. Objects and arrays come before what is in them, an object's members as
 * key, value, key, value. As strict as the standard, but that NaN and infinities, which some
 * writers write, are taken for null. One thread at a time.
 */
#ifndef PASTA_IMPORT_JSONTAPE_H
#define PASTA_IMPORT_JSONTAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PASTA_JSON_DEPTH 512	     /* deeper nesting is an error */
#define PASTA_JSON_TOKENS (1u << 22) /* of one value; more are an error */

enum pasta_json_type {
	PASTA_JSON_NULL,
	PASTA_JSON_FALSE,
	PASTA_JSON_TRUE,
	PASTA_JSON_NUMBER,
	PASTA_JSON_STRING,
	PASTA_JSON_ARRAY,
	PASTA_JSON_OBJECT,
};
enum pasta_json_flags { PASTA_JSON_ESCAPED = 1 }; /* a string with \ in it */

struct pasta_json_token {
	uint32_t at, size; /* its text: a string without its quotes, a number as it is written */
	uint32_t next;	   /* number of the token after it and all that is in it */
	uint8_t type, flags;
	uint16_t reserved;
};

/* Zero it before use. */
struct pasta_jsontape {
	const char *text;
	struct pasta_json_token *tokens;
	uint32_t count, capacity;
	uint32_t limit; /* of nesting, for who tries many places; 0: PASTA_JSON_DEPTH */
	uint32_t open[PASTA_JSON_DEPTH];
};

/*
 * Parse the value that text begins with, white space before it included. At least 8 zero bytes must
 * follow the size bytes. 0: *used bytes were its; the tape holds until the next call. -EAGAIN: it
 * is not whole, where more follows (not last). -EBADMSG: it is wrong at *used, and *what says how.
 * -ENOMEM.
 */
int pasta_jsontape_parse(struct pasta_jsontape *tape, const char *text, size_t size, bool last,
			 size_t *used, const char **what);
void pasta_jsontape_free(struct pasta_jsontape *tape);

/* A part of a text, which belongs to whoever has that. */
struct pasta_slice {
	const char *at;
	size_t size;
};

static inline struct pasta_slice pasta_jsontape_text(const struct pasta_jsontape *tape, uint32_t i)
{
	const struct pasta_json_token *t = &tape->tokens[i];

	return (struct pasta_slice){tape->text + t->at, t->size};
}

static inline bool pasta_slice_is(struct pasta_slice s, const char *text)
{
	size_t size = strlen(text);

	return s.size == size && !memcmp(s.at, text, size);
}

/* The value of an object's member, by name; 0 (the tape's first token is nobody's member) if it is
 * not there, or object is none. */
uint32_t pasta_jsontape_get(const struct pasta_jsontape *tape, uint32_t object, const char *name);

/* Members of an object that is a member itself, or of none (0), in turn: numbers of the tokens of
 * their names and values. */
#define PASTA_JSON_EACH(tape, object, key, value)                                                  \
	for (uint32_t key = (object) + 1, value = key + 1;                                         \
	     (object) && (tape)->tokens[object].type == PASTA_JSON_OBJECT &&                       \
	     key < (tape)->tokens[object].next;                                                    \
	     key = (tape)->tokens[value].next, value = key + 1)

/* A string's text with its escapes resolved, into to, which has room for size bytes of its token;
 * returns the bytes written. A lone surrogate becomes U+FFFD. */
size_t pasta_jsontape_unescape(struct pasta_slice from, char *to);

#endif
