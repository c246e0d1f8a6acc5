/*
 * tracefile.h - reads a trace, plain or compressed with gzip or zstd, through a window.
 *
 * Only one thread at a time may use a trace file.
 */
#ifndef PASTA_IMPORT_TRACEFILE_H
#define PASTA_IMPORT_TRACEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#define PASTA_TRACEFILE_PAD 32 /* number of zero bytes after the end of the window */
#define PASTA_TRACEFILE_WINDOW_MAX ((size_t)64 << 20) /* longest value */

struct pasta_packed;

/* Zero it before use. */
struct pasta_tracefile {
	char *path;
	char *data;	 /* contents of the window; read-only outside of tracefile.c */
	size_t size;	 /* size of the window, without the padding */
	uint64_t offset; /* offset of the window's first byte in the text */
	bool end;	 /* the window contains the end of the text */
	/* With `recover`: the text ended early, because the compressed data is damaged or
	 * incomplete. */
	bool torn;
	/* position in the file and size of the file, in bytes, to report progress; `total` is 0 if
	 * unknown */
	uint64_t done, total;

	/* private to tracefile.c */
	int fd;
	bool recover;
	size_t capacity;
	struct pasta_packed *packed; /* NULL: not compressed */
};

/* Opens a file and reads its first bytes. With `recover`, damaged compressed data ends the text and
 * is not an error. */
int pasta_tracefile_open(struct pasta_tracefile *f, const char *path, bool recover,
			 struct pasta_error *err);
void pasta_tracefile_close(struct pasta_tracefile *f);

/* Reads the first bytes again. Returns -ESPIPE for a pipe, which cannot be read twice. */
int pasta_tracefile_restart(struct pasta_tracefile *f, struct pasta_error *err);

/* Discards the window's first bytes, moves the rest, and appends more text; sets `end` at the end
 * of the text. Returns -EFBIG if the window cannot grow, or an error of reading or
 * decompression. */
int pasta_tracefile_more(struct pasta_tracefile *f, size_t discard, struct pasta_error *err);

#endif
