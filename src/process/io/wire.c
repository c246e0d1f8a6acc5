/* wire.c - serializes numbers and strings for another process that runs the same build. */
#include "process/io/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/io/files.h"
#include "process/io/utf8.h"

#define NO_TEXT UINT64_MAX
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct head {
	char magic[8];
	uint64_t size, sum; /* size and checksum of the bytes after the head */
};
_Static_assert(sizeof(struct head) == PASTA_WIRE_HEAD,
	       "PASTA_WIRE_HEAD must be the size of struct head");

static const char magic[8] = "PASTAwir";

/* -- Writing -- */

void pasta_wire_put(struct pasta_wire *w, const void *bytes, size_t size)
{
	size_t room = w->room ? w->room : 4096;
	uint8_t *more;

	if (!w->error && size > PASTA_WIRE_MAX - w->size)
		w->error = -E2BIG;
	while (!w->error && size > room - w->size)
		room *= 2;
	if (!w->error && room != w->room) {
		more = realloc(w->data, room);
		w->error = more ? 0 : -ENOMEM;
		w->data = more ? more : w->data;
		w->room = more ? room : w->room;
	}
	if (w->error || !size)
		return;
	memcpy(w->data + w->size, bytes, size);
	w->size += size;
}

void pasta_wire_number(struct pasta_wire *w, uint64_t value)
{
	pasta_wire_put(w, &value, sizeof(value));
}

void pasta_wire_double(struct pasta_wire *w, double value)
{
	pasta_wire_put(w, &value, sizeof(value));
}

/* The message includes the NUL, so that its reader can use the text in place. */
void pasta_wire_text(struct pasta_wire *w, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	char *clean = NULL;

	if (!text) {
		pasta_wire_number(w, NO_TEXT);
		return;
	}
	if (!pasta_utf8_valid(text, size)) {
		clean = pasta_utf8_clean(text, size, &size);
		w->error = clean || w->error ? w->error : -ENOMEM;
		text = clean ? clean : "";
	}
	pasta_wire_number(w, size);
	pasta_wire_put(w, text, size + 1);
	free(clean);
}

void pasta_wire_bytes(struct pasta_wire *w, const char *bytes)
{
	pasta_wire_number(w, strlen(bytes));
	pasta_wire_put(w, bytes, strlen(bytes) + 1);
}

static uint64_t wire_sum(const uint8_t *bytes, size_t size)
{
	uint64_t sum = size, word;
	size_t i;

	for (i = 0; i < size; i += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + i, size - i < sizeof(word) ? size - i : sizeof(word));
		sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	return sum;
}

static struct head wire_head_of(const uint8_t *bytes, size_t size)
{
	struct head head = {.size = size, .sum = wire_sum(bytes, size)};

	memcpy(head.magic, magic, sizeof(magic));
	return head;
}

void pasta_wire_head(uint8_t *bytes, size_t size)
{
	struct head head;

	if (size < sizeof(head))
		return;
	head = wire_head_of(bytes + sizeof(head), size - sizeof(head));
	memcpy(bytes, &head, sizeof(head));
}

static int wire_write(int fd, const void *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		ssize_t n = write(fd, (const char *)bytes + at, size - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int pasta_wire_seal(const struct pasta_wire *w)
{
	struct head head = wire_head_of(w->data, w->size);
	int error, fd;

	if (w->error)
		return w->error;
	fd = pasta_files_sealable();
	if (fd < 0)
		return fd;
	error = wire_write(fd, &head, sizeof(head));
	error = error ? error : wire_write(fd, w->data, w->size);
	if (!error && fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL))
		error = -errno;
	if (!error)
		return fd;
	close(fd);
	return error;
}

/* -- Reading -- */

const void *pasta_wire_get(struct pasta_wire_in *in, size_t size)
{
	const uint8_t *at = in->at;

	if (in->bad || size > (size_t)(in->end - at)) {
		in->bad = true;
		return NULL;
	}
	in->at += size;
	return at;
}

uint64_t pasta_wire_get_number(struct pasta_wire_in *in)
{
	const void *bytes = pasta_wire_get(in, sizeof(uint64_t));
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

double pasta_wire_get_double(struct pasta_wire_in *in)
{
	uint64_t bits = pasta_wire_get_number(in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint64_t pasta_wire_get_below(struct pasta_wire_in *in, uint64_t most)
{
	uint64_t value = pasta_wire_get_number(in);

	in->bad = in->bad || value > most;
	return in->bad ? 0 : value;
}

const char *pasta_wire_get_text_or_null(struct pasta_wire_in *in)
{
	uint64_t size = pasta_wire_get_number(in);
	const char *text;

	if (in->bad || size == NO_TEXT)
		return NULL;
	text = size < PASTA_WIRE_MAX ? pasta_wire_get(in, (size_t)size + 1) : NULL;
	if (text && !text[size] && !memchr(text, '\0', (size_t)size) &&
	    pasta_utf8_valid(text, (size_t)size))
		return text;
	in->bad = true;
	return NULL;
}

const char *pasta_wire_get_text(struct pasta_wire_in *in)
{
	const char *text = pasta_wire_get_text_or_null(in);

	in->bad = in->bad || !text;
	return text ? text : "";
}

const char *pasta_wire_get_bytes(struct pasta_wire_in *in)
{
	size_t size = (size_t)pasta_wire_get_below(in, PASTA_WIRE_MAX);
	const char *bytes = pasta_wire_get(in, size + 1);

	if (bytes && !bytes[size] && !memchr(bytes, '\0', size))
		return bytes;
	in->bad = true;
	return "";
}

int pasta_wire_check(const uint8_t *bytes, size_t size, struct pasta_wire_in *in)
{
	struct head head, expected;

	*in = (struct pasta_wire_in){.at = bytes, .end = bytes + size};
	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	expected = wire_head_of(bytes + sizeof(head), size - sizeof(head));
	in->at += sizeof(head);
	return memcmp(&head, &expected, sizeof(head)) ? -EBADMSG : 0;
}

int pasta_wire_open(int fd, uint8_t **bytes, struct pasta_wire_in *in)
{
	int seals = fcntl(fd, F_GET_SEALS), error;
	struct stat st;
	size_t size;

	*bytes = NULL;
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st))
		return -EINVAL;
	if (st.st_size < 0 || (uint64_t)st.st_size > PASTA_WIRE_MAX + sizeof(struct head))
		return -E2BIG;
	size = (size_t)st.st_size;
	*bytes = malloc(size + 1);
	if (!*bytes)
		return -ENOMEM;
	/* Uses read rather than mmap: a page that cannot be loaded then causes an error, not a
	 * SIGBUS. */
	error = pasta_files_read_at(fd, *bytes, size, 0) == (ssize_t)size ? 0 : -EIO;
	error = error ? error : pasta_wire_check(*bytes, size, in);
	if (error) {
		free(*bytes);
		*bytes = NULL;
	}
	return error;
}
