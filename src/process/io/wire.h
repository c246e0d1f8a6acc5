/*
 * wire.h - serializes numbers and texts for another process of the same build.
 *
 * Errors are sticky: after one, the writer ignores further values, and the reader returns 0 and "".
 * Callers check once, at the end. One thread at a time.
 */
#ifndef PASTA_PROCESS_WIRE_H
#define PASTA_PROCESS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* The largest message, in bytes. */
#define PASTA_WIRE_MAX ((size_t)1 << 30)

/* A message being written. Zero it before use; the caller frees data. */
struct pasta_wire {
	uint8_t *data;
	size_t size, room;
	int error; /* -ENOMEM, or -E2BIG past PASTA_WIRE_MAX */
};

void pasta_wire_put(struct pasta_wire *w, const void *bytes, size_t size);
void pasta_wire_number(struct pasta_wire *w, uint64_t value);
void pasta_wire_double(struct pasta_wire *w, double value);
/* Invalid UTF-8 becomes U+FFFD. The reader gets NULL for NULL. */
void pasta_wire_text(struct pasta_wire *w, const char *text);
/* A NUL-terminated string that need not be UTF-8, such as a path. */
void pasta_wire_bytes(struct pasta_wire *w, const char *bytes);
/* Returns a sealed memory file with a head and the message, or a negative errno. */
int pasta_wire_seal(const struct pasta_wire *w);

/* A message being read. The bytes must outlive it. */
struct pasta_wire_in {
	const uint8_t *at, *end;
	bool bad;
};

/* Returns the next size bytes in place, or NULL, and sets bad, if fewer are left. */
const void *pasta_wire_get(struct pasta_wire_in *in, size_t size);
uint64_t pasta_wire_get_number(struct pasta_wire_in *in);
/* May be NaN or infinite. */
double pasta_wire_get_double(struct pasta_wire_in *in);
/* Returns a number up to most. Returns 0 and sets bad if it is larger. */
uint64_t pasta_wire_get_below(struct pasta_wire_in *in, uint64_t most);
/* Return a valid UTF-8 text in place. pasta_wire_get_text never returns NULL. */
const char *pasta_wire_get_text(struct pasta_wire_in *in);
const char *pasta_wire_get_text_or_null(struct pasta_wire_in *in);
/* Returns the string of a pasta_wire_bytes call in place; never NULL. */
const char *pasta_wire_get_bytes(struct pasta_wire_in *in);

/* Copies the message of a pasta_wire_seal descriptor and checks its head. The caller frees *bytes.
 * fd may be any file: -EINVAL if it is not sealed, -EBADMSG if it is damaged, -E2BIG, -ENOMEM. */
int pasta_wire_open(int fd, uint8_t **bytes, struct pasta_wire_in *in);
/* The same for a message that is in memory already. in points into bytes. */
int pasta_wire_check(const uint8_t *bytes, size_t size, struct pasta_wire_in *in);
/* Updates the head of a message, for fuzz seeds that were changed. size includes the head. */
#define PASTA_WIRE_HEAD 24
void pasta_wire_head(uint8_t *bytes, size_t size);

#endif
