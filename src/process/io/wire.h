/*
 * wire.h - serializes numbers and strings for another process that runs the same build.
 *
 * Errors are sticky: after an error, functions that write do nothing, and functions that read
 * return 0 or "". Callers check for errors once, at the end. Only one thread at a time may call
 * these functions.
 */
#ifndef PASTA_PROCESS_WIRE_H
#define PASTA_PROCESS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* The largest message, in bytes. */
#define PASTA_WIRE_MAX ((size_t)1 << 30)

/* A message that is being written. Zero the struct before use; the caller frees data. */
struct pasta_wire {
	uint8_t *data;
	size_t size, room;
	int error; /* -ENOMEM, or -E2BIG if the message exceeds PASTA_WIRE_MAX */
};

void pasta_wire_put(struct pasta_wire *w, const void *bytes, size_t size);
void pasta_wire_number(struct pasta_wire *w, uint64_t value);
void pasta_wire_double(struct pasta_wire *w, double value);
/* Adds a text, or NULL. Invalid UTF-8 becomes U+FFFD. */
void pasta_wire_text(struct pasta_wire *w, const char *text);
/* Adds a NUL-terminated string that need not be UTF-8, such as a path. */
void pasta_wire_bytes(struct pasta_wire *w, const char *bytes);
/* Returns the descriptor of a sealed memory file with a head and the message, or a negative errno.
 */
int pasta_wire_seal(const struct pasta_wire *w);

/* A message that is being read. Its bytes must outlive this struct. */
struct pasta_wire_in {
	const uint8_t *at, *end;
	bool bad;
};

/* Returns a pointer to the next `size` bytes. If fewer are left, returns NULL and sets `bad`. */
const void *pasta_wire_get(struct pasta_wire_in *in, size_t size);
uint64_t pasta_wire_get_number(struct pasta_wire_in *in);
/* Returns a double, which may be NaN or infinite. */
double pasta_wire_get_double(struct pasta_wire_in *in);
/* Returns a number. If the number is greater than `most`, returns 0 and sets `bad`. */
uint64_t pasta_wire_get_below(struct pasta_wire_in *in, uint64_t most);
/* Return a pointer to a valid UTF-8 text within the message. pasta_wire_get_text never returns
 * NULL. */
const char *pasta_wire_get_text(struct pasta_wire_in *in);
const char *pasta_wire_get_text_or_null(struct pasta_wire_in *in);
/* Returns a pointer to a string that was added with pasta_wire_bytes. Never returns NULL. */
const char *pasta_wire_get_bytes(struct pasta_wire_in *in);

/* Copies the message from a descriptor that pasta_wire_seal made, and checks the head of the
 * message. The caller frees *bytes. fd need not be trusted: returns -EINVAL if the file is not
 * sealed, -EBADMSG if the message is damaged, -E2BIG or -ENOMEM. */
int pasta_wire_open(int fd, uint8_t **bytes, struct pasta_wire_in *in);
/* Like pasta_wire_open, for a message in memory. `in` points into `bytes`. */
int pasta_wire_check(const uint8_t *bytes, size_t size, struct pasta_wire_in *in);
/* Corrects the size and the checksum in the head of a message after a fuzzer has changed the
 * message. `size` includes the head. */
#define PASTA_WIRE_HEAD 24
void pasta_wire_head(uint8_t *bytes, size_t size);

#endif
