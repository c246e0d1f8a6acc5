/* ringhead.c - opens a ring file and checks whether its head is intact. */
#include "process/read/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/io/files.h"

#define PAGE 4096

bool pasta_rings_is_zero(const void *p, size_t size)
{
	const unsigned char *bytes = p;

	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

/* Returns whether the process has only begun to create the ring file. The process writes the magic
 * last. Before that, it counts no drops and creates no segments. */
static bool ringhead_is_half(const struct pasta_ringfile *f, uint64_t size)
{
	if (size > PASTA_RINGFILE_HEAD || !pasta_rings_is_zero(f->magic, sizeof(f->magic)))
		return false;
	uint64_t own = atomic_load(&f->own);

	for (uint32_t i = 0; i < PASTA_LOSS_COUNT; i++) {
		uint64_t dropped = atomic_load(&f->lost[i]);

		if (dropped && dropped != pasta_seal(0, i))
			return false;
	}
	if (own && own != pasta_seal(0, PASTA_OWN_SALT))
		return false;
	return pasta_rings_is_zero((const char *)f + offsetof(struct pasta_ringfile, segments),
				   PASTA_RINGFILE_HEAD - offsetof(struct pasta_ringfile, segments));
}

static enum pasta_rings_head ringhead_check(struct pasta_ringfile *f, uint64_t size)
{
	bool magic = !memcmp(f->magic, PASTA_RINGFILE_MAGIC, sizeof(f->magic));
	uint32_t version = f->version;
	size_t n;
	const char *schema = pasta_schema_text(&n);

	if (ringhead_is_half(f, size))
		return PASTA_RINGS_HALF;
	f->version = PASTA_RINGFILE_VERSION;
	if (f->sum == pasta_ringfile_sum(f)) {
		if (f->schema != pasta_schema_hash(schema, n))
			return PASTA_RINGS_OTHER;
		return magic && version == PASTA_RINGFILE_VERSION ? PASTA_RINGS_WHOLE
								  : PASTA_RINGS_REPAIRED;
	}
	return magic && version != PASTA_RINGFILE_VERSION ? PASTA_RINGS_OTHER : PASTA_RINGS_DAMAGED;
}

int pasta_rings_open(struct pasta_rings *r, int fd, uint64_t size)
{
	ssize_t n;

	*r = (struct pasta_rings){.fd = fd, .size = size};
	/* The head contains atomics, so its memory is page-aligned. */
	r->file = aligned_alloc(PAGE, PASTA_RINGFILE_HEAD);
	if (!r->file)
		return -ENOMEM;
	memset(r->file, 0, PASTA_RINGFILE_HEAD);
	n = pasta_files_read_at(fd, r->file, PASTA_RINGFILE_HEAD, 0);
	if (n < 0)
		return (int)n;
	r->head = ringhead_check(r->file, size);
	return 0;
}

void pasta_rings_close(struct pasta_rings *r)
{
	free(r->file);
	r->file = NULL;
}
