/* unpack.h - decompresses gzip and zstd files. */
#ifndef PASTA_IMPORT_UNPACK_H
#define PASTA_IMPORT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <pasta/pasta.h>

/* `unpack` decompresses from `in` to `out`, and sets *in_used and *out_used to the numbers of bytes
 * consumed and produced. Returns 0, -EBADMSG (damaged) or -ENOMEM. */
struct pasta_unpacker {
	const char *name;
	int (*unpack)(struct pasta_unpacker *u, const void *in, size_t in_size, size_t *in_used,
		      void *out, size_t out_size, size_t *out_used);
	void (*free)(struct pasta_unpacker *u);
	/* Whether a gzip member or a zstd frame has just ended, so that the file may end here. */
	bool between;
};

/* Detects the compression from the file's first bytes, and returns an unpacker. If the file is not
 * compressed, returns NULL and sets *known to false. */
struct pasta_unpacker *pasta_unpacker_new(const void *bytes, size_t size, bool *known);

#endif
