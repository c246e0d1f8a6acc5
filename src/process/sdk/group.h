/*
 * group.h - groups as the framework sees them: it makes, merges, shows and frees them.
 *
 * Each group from one thread at a time.
 */
#ifndef PASTA_PROCESS_GROUP_H
#define PASTA_PROCESS_GROUP_H

#include <pasta/pasta.h>

#include "process/run/tool.h"

/* 0, or what is wrong with the declaration: -EINVAL, and in err which member and why. */
int pasta_group_check(const struct pasta_tool *tool, const struct pasta_group_def *def,
		      struct pasta_error *err);

/* def, opts and state must outlive it; opts may be NULL. NULL when out of memory. */
struct pasta_group *pasta_group_new(const struct pasta_group_def *def,
				    const struct pasta_opts *opts, const void *state);
void pasta_group_free(struct pasta_group *group);
/* All rows of from, which is of the same declaration. -ENOMEM. */
int pasta_group_merge(struct pasta_group *into, const struct pasta_group *from);

/* Where a group lies in its tool's state. */
struct pasta_group **pasta_group_in(const struct pasta_group_def *def, const void *state);

/* -- For the files group*.c -- */

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

/* What a declaration comes to. */
struct pasta_group_plan {
	struct pasta_group_column columns[PASTA_GROUP_COLUMNS];
	size_t count; /* those that are shown are not always first */
	struct {
		size_t column;
		bool down;
	} order[PASTA_GROUP_COLUMNS];
	size_t order_count;
};
int pasta_group_plan(const struct pasta_group_def *def, struct pasta_group_plan *plan,
		     struct pasta_error *err);

/* Bytes of a member in its row; 0: it is computed. */
size_t pasta_member_size(const struct pasta_member *m);
bool pasta_member_is_measure(const struct pasta_member *m);

struct pasta_group_slot {
	uint32_t hash;	 /* its lower half, which is enough for all slots that can be */
	uint32_t number; /* of its row, from 1; 0: it is empty */
};

struct pasta_group {
	const struct pasta_group_def *def;
	const struct pasta_opts *opts;
	const void *state;
	uint32_t key_words, last_pair;				  /* the last pair's first word */
	uint64_t last_factor;					  /* of the last pair in the hash */
	void *(*row)(struct pasta_group *group, const void *key); /* pasta_group_row */
	size_t stride;						  /* of a row, in bytes */
	void *spare;   /* a row that nobody sees, and its lists' items */
	void **chunks; /* of rows, each twice as big as the one before */
	size_t chunk_count;
	size_t count;
	struct pasta_group_slot *index; /* open addressing, linear probing */
	size_t mask;
	void **last;   /* rows that were there last, by hash */
	void **sorted; /* that pasta_group_next_by walks; or NULL */
	int error;
};

/* Of the row of this key, in order of adding, from 1; 0: it is not there. */
size_t pasta_group_number(const struct pasta_group *group, const void *key);
/* Two rows become one: measures alone. -ENOMEM. */
int pasta_group_merge_row(const struct pasta_group_def *def, void *into, const void *from);
/* Free what a row's measures own. */
void pasta_group_clear_row(const struct pasta_group_def *def, void *row);

#endif
