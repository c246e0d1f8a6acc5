/* unpack.h - decompresses gzip and zstd files. */
#ifndef PASTA_IMPORT_UNPACK_H
#define PASTA_IMPORT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <pasta/pasta.h>

/* `unpack` decompresses from `in` to `out`; *in_used and *out_used are the bytes consumed and
 * produced. Returns 0, -EBADMSG (damaged) or -ENOMEM. */
struct pasta_unpacker {
	const char *name;
	int (*unpack)(struct pasta_unpacker *u, const void *in, size_t in_size, size_t *in_used,
		      void *out, size_t out_size, size_t *out_used);
	void (*free)(struct pasta_unpacker *u);
	bool between; /* whether a member or frame has ended, and the file may end here */
};

/* Returns an unpacker, chosen by the file's first bytes. NULL with *known false: the file is not
 * compressed. */
struct pasta_unpacker *pasta_unpacker_new(const void *bytes, size_t size, bool *known);

#endif
