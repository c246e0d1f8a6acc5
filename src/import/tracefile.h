/*
 * tracefile.h - a trace's text, plain or compressed with gzip or zstd, through a window.
 *
 * One thread at a time.
 */
#ifndef PASTA_IMPORT_TRACEFILE_H
#define PASTA_IMPORT_TRACEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#define PASTA_TRACEFILE_PAD 32			      /* zero bytes after the window's end */
#define PASTA_TRACEFILE_WINDOW_MAX ((size_t)64 << 20) /* what must be seen at once is no longer */

struct pasta_packed;

/* Zero it before use. */
struct pasta_tracefile {
	char *path;
	char *data;	      /* the window, of which nobody writes but tracefile.c */
	size_t size;	      /* of it, without the pad */
	uint64_t offset;      /* of its first byte in the text */
	bool end;	      /* nothing comes after it */
	bool torn;	      /* it was recovered: compressed, and damaged or cut where it ends */
	uint64_t done, total; /* bytes as they are stored, for progress; total 0: not known */

	/* tracefile.c's own */
	int fd;
	bool recover;
	size_t capacity;
	struct pasta_packed *packed; /* NULL: it is plain */
};

/* Open it, and see its first bytes. With recover, what is torn ends the text and is no error. */
int pasta_tracefile_open(struct pasta_tracefile *f, const char *path, bool recover,
			 struct pasta_error *err);
void pasta_tracefile_close(struct pasta_tracefile *f);

/* Its first bytes once more. -ESPIPE: what it is cannot be read twice. */
int pasta_tracefile_restart(struct pasta_tracefile *f, struct pasta_error *err);

/* Forget the window's first bytes, and add some at its end; where there are none, end is set. What
 * is kept moves. -EFBIG: the window cannot grow. Or what reading and unpacking say. */
int pasta_tracefile_more(struct pasta_tracefile *f, size_t forget, struct pasta_error *err);

#endif
