/* unpack.h - bytes of a compressed file, as they were before. */
#ifndef PASTA_IMPORT_UNPACK_H
#define PASTA_IMPORT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <pasta/pasta.h>

/* From in to out; *in_used and *out_used say how far it came. 0, -EBADMSG (damaged), -ENOMEM. */
struct pasta_unpacker {
	const char *name;
	int (*unpack)(struct pasta_unpacker *u, const void *in, size_t in_size, size_t *in_used,
		      void *out, size_t out_size, size_t *out_used);
	void (*free)(struct pasta_unpacker *u);
	bool between; /* all that began has ended: the file may end here */
};

/* By the file's first bytes; NULL with *known false: they are of no compressed file. */
struct pasta_unpacker *pasta_unpacker_new(const void *bytes, size_t size, bool *known);

#endif
