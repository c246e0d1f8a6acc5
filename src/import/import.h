/*
 * import.h - converts files of other profilers into shards. A file becomes one shard, and one rank
 * of the run. The importer detects the format by the file's content. Only one thread at a time may
 * call these functions.
 */
#ifndef PASTA_IMPORT_IMPORT_H
#define PASTA_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_import_options {
	uint64_t kinds; /* mask of kinds to import; 0: all */
	bool no_stacks; /* do not import call paths */
	bool recover;	/* skip and count damaged parts, instead of returning an error */
	/* Called from time to time with the progress in bytes; `total` is 0 if unknown. Returns
	 * false to cancel the import, with -EINTR. May be NULL. */
	bool (*go_on)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

/* The number of entries of one category in the file. */
struct pasta_import_count {
	const char *name; /* valid until the process ends */
	uint64_t count;
};
enum pasta_import_list {
	PASTA_IMPORT_FOUND,    /* lists the number of entries of each category of the source */
	PASTA_IMPORT_LEFT_OUT, /* known, but not imported */
	/* lists unknown categories; their events are imported as regions if they have a time */
	PASTA_IMPORT_UNKNOWN,
	PASTA_IMPORT_LISTS,
};
enum { PASTA_IMPORT_LACKS = 12 };

/* What the importer found out about a file. */
struct pasta_import_info {
	const char *format; /* name of the format; NULL: the format is unknown */
	struct pasta_import_count *lists[PASTA_IMPORT_LISTS];
	size_t counts[PASTA_IMPORT_LISTS];
	/* NULL-terminated list of data that the source does not record */
	const char *lacks[PASTA_IMPORT_LACKS];
	uint64_t kinds;	 /* kinds of records that the source recorded and that the shard contains */
	uint64_t events; /* in the shard */
	/* number of damaged parts that were skipped, and their size in bytes */
	uint64_t damaged, damaged_bytes;
	/* number of well-formed records with invalid contents, which were skipped */
	uint64_t invalid;
	/* number of spans that were shortened, because they extended past the end of the enclosing
	 * span */
	uint64_t crossed;
	/* times of the first and the last event; the member `dated` states their clock */
	uint64_t begin, end;
	/* true if `begin` and `end` are ns since 1970; false if they are ns of the trace's own
	 * clock */
	bool dated;
	uint32_t pid, rank, world;  /* rank plus 1; 0: unknown */
	const char *command, *host; /* "" if unknown */
};

/* Converts a file into a new shard file; on failure, removes the shard. Returns 0, -EMEDIUMTYPE for
 * an unknown format, -EBADMSG for damage, or -EINTR if cancelled. The caller frees *info in any
 * case. */
int pasta_import(const char *path, const char *shard, const struct pasta_import_options *options,
		 struct pasta_import_info *info, struct pasta_error *err);
/* An open, empty file to write the shard into, such as an unnamed file. */
struct pasta_import_to {
	int fd;		    /* owned by the caller */
	const char *name;   /* in messages */
	const char *folder; /* folder for temporary files; NULL: TMPDIR */
};
int pasta_import_into(const char *path, const struct pasta_import_to *to,
		      const struct pasta_import_options *options, struct pasta_import_info *info,
		      struct pasta_error *err);
void pasta_import_info_free(struct pasta_import_info *info);

/* Returns whether the file's first bytes are those of an importable format. */
bool pasta_import_knows(const char *path);

#endif
