/*
 * jsontape.h - parses one JSON value into a tape of tokens.
 *
 * The parser checks and splits a value in memory in one pass; the caller then walks the tape and
 * picks the tokens that it knows. The token of an object or array precedes its contents. The
 * members of an object are stored as key, value, key, value. The parser is as strict as the JSON
 * standard, with one exception: it accepts NaN and infinities, which some writers emit, as null.
 * Only one thread at a time may use a tape.
 */
#ifndef PASTA_IMPORT_JSONTAPE_H
#define PASTA_IMPORT_JSONTAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PASTA_JSON_DEPTH 512	     /* maximum nesting depth of a value */
#define PASTA_JSON_TOKENS (1u << 22) /* maximum number of tokens of one value */

enum pasta_json_type {
	PASTA_JSON_NULL,
	PASTA_JSON_FALSE,
	PASTA_JSON_TRUE,
	PASTA_JSON_NUMBER,
	PASTA_JSON_STRING,
	PASTA_JSON_ARRAY,
	PASTA_JSON_OBJECT,
};
enum pasta_json_flags { PASTA_JSON_ESCAPED = 1 }; /* a string with escapes */

struct pasta_json_token {
	uint32_t at, size; /* the token's text; a string without its quotes */
	uint32_t next;	   /* index of the token that follows this one and its contents */
	uint8_t type, flags;
	uint16_t reserved;
};

/* Zero it before use. */
struct pasta_jsontape {
	const char *text;
	struct pasta_json_token *tokens;
	uint32_t count, capacity;
	/* limit of nesting, for callers that only try to parse a value; 0: PASTA_JSON_DEPTH */
	uint32_t limit;
	uint32_t open[PASTA_JSON_DEPTH];
};

/*
 * Parses the value at the start of `text`, after optional white space. At least 8 zero bytes must
 * follow the `size` bytes. Returns 0 and the value's length in *used; the tape is valid until the
 * next call. Returns -EAGAIN if the value is incomplete and more text follows (`last` is false);
 * -EBADMSG if it is invalid at *used, with a description in *what; or -ENOMEM.
 */
int pasta_jsontape_parse(struct pasta_jsontape *tape, const char *text, size_t size, bool last,
			 size_t *used, const char **what);
void pasta_jsontape_free(struct pasta_jsontape *tape);

/* A part of a text. The slice is valid as long as the text. */
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

/* Returns the value token of an object's member, by name. Returns 0 if the object has no such
 * member, or if the token `object` is not an object. Token 0 is the whole value, so it is never a
 * member. */
uint32_t pasta_jsontape_get(const struct pasta_jsontape *tape, uint32_t object, const char *name);

/* Iterates over the members of a JSON object, and sets the tokens of each member's name and value.
 * Does nothing if `object` is 0 or not the token of an object. */
#define PASTA_JSON_EACH(tape, object, key, value)                                                  \
	for (uint32_t key = (object) + 1, value = key + 1;                                         \
	     (object) && (tape)->tokens[object].type == PASTA_JSON_OBJECT &&                       \
	     key < (tape)->tokens[object].next;                                                    \
	     key = (tape)->tokens[value].next, value = key + 1)

/* Copies a string into the buffer "to", with its escapes resolved. The buffer must have room for
 * the token's size. Returns the number of bytes written. A lone surrogate becomes U+FFFD. */
size_t pasta_jsontape_unescape(struct pasta_slice from, char *to);

#endif
