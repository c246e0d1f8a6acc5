/*
 * import.h - other profilers' files, made into shards.
 *
 * A file becomes one shard: a rank of the run. What it is, its content says. One thread at a time.
 */
#ifndef PASTA_IMPORT_IMPORT_H
#define PASTA_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_import_options {
	uint64_t kinds; /* mask of those to keep; 0: all */
	bool no_stacks; /* call paths are left out */
	bool recover;	/* what is damaged is passed over and counted, instead of an error */
	/* Asked now and then, with how far it is; total 0: not known. True ends it, with -EINTR.
	 * May be NULL. */
	bool (*go_on)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

/* Things of one sort in the file, and how many. */
struct pasta_import_count {
	const char *name; /* lives as long as the process */
	uint64_t count;
};
enum pasta_import_list {
	PASTA_IMPORT_FOUND,    /* all that is there, by the source's own categories */
	PASTA_IMPORT_LEFT_OUT, /* of those, known and not kept */
	PASTA_IMPORT_UNKNOWN,  /* of those, new to us: kept as regions where they have a time */
	PASTA_IMPORT_LISTS,
};
enum { PASTA_IMPORT_LACKS = 12 };

/* What is to be told of a file. */
struct pasta_import_info {
	const char *format; /* its name in the table; NULL: none */
	struct pasta_import_count *lists[PASTA_IMPORT_LISTS];
	size_t counts[PASTA_IMPORT_LISTS];
	const char *lacks[PASTA_IMPORT_LACKS]; /* what the source does not say; ended by NULL */
	uint64_t kinds;			       /* that it has recorded, and are kept */
	uint64_t events;		       /* that the shard has */
	uint64_t damaged, damaged_bytes;       /* places that were passed over */
	uint64_t invalid;    /* records that were whole, but make no sense, and were passed over */
	uint64_t crossed;    /* spans that crossed the end of one around them, and were cut there */
	uint64_t begin, end; /* the time of day of the first and the last event, ns */
	bool dated;	     /* that is known; else they are in a clock of its own */
	uint32_t pid, rank, world;  /* rank plus 1; 0: none */
	const char *command, *host; /* "" where they are not known */
};

/* Make the shard, which must not exist, of a file. On failure there is none. -EMEDIUMTYPE: of no
 * format that is known; -EBADMSG: damaged; -EINTR. *info is to be freed in any case. */
int pasta_import(const char *path, const char *shard, const struct pasta_import_options *options,
		 struct pasta_import_info *info, struct pasta_error *err);
/* The same into a file that is open and empty, such as one without a name. */
struct pasta_import_to {
	int fd;		    /* the caller's */
	const char *name;   /* in messages */
	const char *folder; /* for temporary files; NULL: where TMPDIR says */
};
int pasta_import_into(const char *path, const struct pasta_import_to *to,
		      const struct pasta_import_options *options, struct pasta_import_info *info,
		      struct pasta_error *err);
void pasta_import_info_free(struct pasta_import_info *info);

/* Whether a file's first bytes are those of something that can be imported. */
bool pasta_import_knows(const char *path);

#endif
