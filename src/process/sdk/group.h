/*
 * group.h - the framework's functions for groups: checks, creates, merges, shows and frees them.
 *
 * Only one thread at a time may use a group.
 */
#ifndef PASTA_PROCESS_GROUP_H
#define PASTA_PROCESS_GROUP_H

#include <pasta/pasta.h>

#include "process/run/tool.h"

/* Checks a declaration. Returns 0, or -EINVAL with the member and the reason in err. */
int pasta_group_check(const struct pasta_tool *tool, const struct pasta_group_def *def,
		      struct pasta_error *err);

/* Creates a group. `def`, `opts` and `state` must outlive it; `opts` may be NULL. Returns NULL when
 * out of memory. */
struct pasta_group *pasta_group_new(const struct pasta_group_def *def,
				    const struct pasta_opts *opts, const void *state);
void pasta_group_free(struct pasta_group *group);
/* Merges all rows of `from`, which has the same declaration. Returns 0, -ENOMEM, or the error of
 * `from`. */
int pasta_group_merge(struct pasta_group *into, const struct pasta_group *from);

/* Returns the address of the pointer to a group in its tool's state. */
struct pasta_group **pasta_group_in(const struct pasta_group_def *def, const void *state);

/* -- For the files group*.c only -- */

/* A column of the table: a member, or one figure of it. */
enum pasta_figure {
	PASTA_FIGURE_ITSELF,
	PASTA_FIGURE_COUNT,
	PASTA_FIGURE_TOTAL,
	PASTA_FIGURE_MEAN,
	PASTA_FIGURE_MIN,
	PASTA_FIGURE_MAX,
	PASTA_FIGURE_P50,
	PASTA_FIGURE_P95,
	PASTA_FIGURE_P99,
	PASTA_FIGURE_SHARE,
};
enum { PASTA_GROUP_COLUMNS = 32, PASTA_GROUP_NAME = 40 };

struct pasta_group_column {
	const struct pasta_member *member;
	enum pasta_figure figure;
	enum pasta_column_type type;
	char name[PASTA_GROUP_NAME];
	const char *unit;
	uint32_t role;
};

/* The columns of a group's table, and the order of its rows. */
struct pasta_group_plan {
	struct pasta_group_column columns[PASTA_GROUP_COLUMNS];
	size_t count; /* number of columns, including hidden ones */
	struct {
		size_t column;
		bool down;
	} order[PASTA_GROUP_COLUMNS];
	size_t order_count;
};
int pasta_group_plan(const struct pasta_group_def *def, struct pasta_group_plan *plan,
		     struct pasta_error *err);

/* Returns the size of a member in its row; 0 if the member is computed instead of stored. */
size_t pasta_member_size(const struct pasta_member *m);
bool pasta_member_is_measure(const struct pasta_member *m);

struct pasta_group_slot {
	/* lower half of the hash, which is enough, because an index has at most 2^32 slots */
	uint32_t hash;
	uint32_t number; /* number of the row, from 1; 0 if the slot is empty */
};

struct pasta_group {
	const struct pasta_group_def *def;
	const struct pasta_opts *opts;
	const void *state;
	/* last_pair: index of the first word of the key's last pair of words. */
	uint32_t key_words, last_pair;
	uint64_t last_factor; /* factor for the key's last pair of words in the hash */
	void *(*row)(struct pasta_group *group, const void *key); /* pasta_group_row */
	size_t stride;						  /* size of a row in bytes */
	void *spare;   /* the row that tools write to when memory has run out; never shown */
	void **chunks; /* chunks of rows; each chunk is twice as big as the previous one */
	size_t chunk_count;
	size_t count;
	struct pasta_group_slot *index; /* hash index with open addressing and linear probing */
	size_t mask;
	void **last;   /* cache of recently used rows, indexed by hash */
	void **sorted; /* the rows in the order of pasta_group_next_by, or NULL */
	int error;
};

/* Returns the number of the row with this key, or 0 if there is none. Rows are numbered from 1, in
 * the order in which they were added. */
size_t pasta_group_number(const struct pasta_group *group, const void *key);
/* Merges the measures of `from` into another row. Returns 0 or -ENOMEM. */
int pasta_group_merge_row(const struct pasta_group_def *def, void *into, const void *from);
/* Frees the memory of a row's measures. */
void pasta_group_clear_row(const struct pasta_group_def *def, void *row);

#endif
