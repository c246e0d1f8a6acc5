/*
 * group.h - the framework's functions for groups. They check, create, merge, show and free groups.
 *
 * Only one thread at a time may use a group.
 */
#ifndef PASTA_PROCESS_GROUP_H
#define PASTA_PROCESS_GROUP_H

#include <pasta/pasta.h>

#include "process/run/tool.h"

/* Checks the declaration of a group. Returns 0, or -EINVAL with the name of the member and the
 * reason in err. */
int pasta_group_check(const struct pasta_tool *tool, const struct pasta_group_def *def,
		      struct pasta_error *err);

/* Creates a group. `def`, `opts` and `state` must outlive it; `opts` may be NULL. Returns NULL when
 * out of memory. */
struct pasta_group *pasta_group_new(const struct pasta_group_def *def,
				    const struct pasta_opts *opts, const void *state);
void pasta_group_free(struct pasta_group *group);
/* Merges all rows of the group `from` into another group with the same declaration. Returns 0,
 * -ENOMEM, or the error of `from`. */
int pasta_group_merge(struct pasta_group *into, const struct pasta_group *from);

/* Returns the address of the pointer in the tool's state that points to the group. */
struct pasta_group **pasta_group_in(const struct pasta_group_def *def, const void *state);

/* -- For the files group*.c only -- */

/* The contents of a column: the member itself, or one figure of the member. */
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

/* Returns the size of a member in its row, or 0 if the member is computed and not stored. */
size_t pasta_member_size(const struct pasta_member *m);
bool pasta_member_is_measure(const struct pasta_member *m);

struct pasta_group_slot {
	/* lower half of the hash; 32 bits are enough, because an index has at most 2^32 slots */
	uint32_t hash;
	uint32_t number; /* number of the row, plus 1; 0 if the slot is empty */
};

struct pasta_group {
	const struct pasta_group_def *def;
	const struct pasta_opts *opts;
	const void *state;
	/* last_pair is the index of the key's second to last word. */
	uint32_t key_words, last_pair;
	uint64_t last_factor; /* the hash multiplies the last two words of the key by this factor */
	void *(*row)(struct pasta_group *group, const void *key); /* pasta_group_row */
	size_t stride;						  /* size of a row in bytes */
	/* The row that tools write to when memory has run out; reports never show it. */
	void *spare;
	/* Array of chunks of rows; each chunk is twice as large as the previous one. */
	void **chunks;
	size_t chunk_count;
	size_t count;
	struct pasta_group_slot *index; /* hash index with open addressing and linear probing */
	size_t mask;
	void **last; /* cache of recently used rows, indexed by hash */
	/* The rows in the order of pasta_group_next_by; NULL if they were not sorted. */
	void **sorted;
	int error;
};

/* Returns the number of the row with this key, or 0 if there is none. Row numbers start at 1, in
 * the order in which the rows were added. */
size_t pasta_group_number(const struct pasta_group *group, const void *key);
/* Merges the measures of `from` into another row. Returns 0 or -ENOMEM. */
int pasta_group_merge_row(const struct pasta_group_def *def, void *into, const void *from);
/* Frees the memory of a row's measures. */
void pasta_group_clear_row(const struct pasta_group_def *def, void *row);

#endif
