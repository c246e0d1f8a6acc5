/*
 * wire.h - numbers and texts in one piece of memory, for another process of the same build.
 *
 * The writer remembers that memory ran out; the reader remembers that something was not there, and
 * gives zeros and "" from then on. So both are asked once, at the end. One thread at a time.
 */
#ifndef PASTA_PROCESS_WIRE_H
#define PASTA_PROCESS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* The most bytes that one process takes from another. */
#define PASTA_WIRE_MAX ((size_t)1 << 30)

/* Zero it before use; free data. */
struct pasta_wire {
	uint8_t *data;
	size_t size, room;
	int error; /* -ENOMEM, or -E2BIG past PASTA_WIRE_MAX */
};

void pasta_wire_put(struct pasta_wire *w, const void *bytes, size_t size);
void pasta_wire_number(struct pasta_wire *w, uint64_t value);
void pasta_wire_double(struct pasta_wire *w, double value);
/* What is not UTF-8 becomes U+FFFD. NULL stays NULL. */
void pasta_wire_text(struct pasta_wire *w, const char *text);
/* Any bytes that end with a NUL, such as a path. */
void pasta_wire_bytes(struct pasta_wire *w, const char *bytes);
/* What is in it, with a head, in a memory file that nobody can change: its descriptor, or a
 * negative errno. */
int pasta_wire_seal(const struct pasta_wire *w);

/* The bytes must outlive it. */
struct pasta_wire_in {
	const uint8_t *at, *end;
	bool bad;
};

/* The next bytes where they lie; NULL, and bad, if there are fewer. */
const void *pasta_wire_get(struct pasta_wire_in *in, size_t size);
uint64_t pasta_wire_get_number(struct pasta_wire_in *in);
/* Any bits: NaN and infinity, too. */
double pasta_wire_get_double(struct pasta_wire_in *in);
/* A number that is at most this; else 0, and bad. */
uint64_t pasta_wire_get_below(struct pasta_wire_in *in, uint64_t most);
/* A text, which is UTF-8, where it lies; never NULL. The second may be NULL. */
const char *pasta_wire_get_text(struct pasta_wire_in *in);
const char *pasta_wire_get_text_or_null(struct pasta_wire_in *in);
/* Of pasta_wire_bytes, where they lie; never NULL. */
const char *pasta_wire_get_bytes(struct pasta_wire_in *in);

/* Copy what a descriptor of pasta_wire_seal has, and check its head: *bytes is to be freed. The
 * file may be any: -EINVAL if it is none of ours, -EBADMSG if it is damaged, -E2BIG, -ENOMEM. */
int pasta_wire_open(int fd, uint8_t **bytes, struct pasta_wire_in *in);
/* The same of bytes that are there already, which are not copied. */
int pasta_wire_check(const uint8_t *bytes, size_t size, struct pasta_wire_in *in);
/* Make the head right, for who makes seeds and damages them. size includes it. */
#define PASTA_WIRE_HEAD 24
void pasta_wire_head(uint8_t *bytes, size_t size);

#endif
