/*
 * group.h - lets a tool count by key, in rows of a group, and shows each group as a table.
 *
 * A tool declares its rows, and names its groups in the descriptor. The framework creates the
 * groups before the tool's `open`, merges the groups of shards, shows them as tables, and frees
 * them after the tool's `close`:
 *
 * 	struct kernel {
 * 		struct { uint32_t name; } key;
 * 		struct pasta_stat time;
 * 	};
 * 	struct state { struct pasta_group *kernels; };
 *
 * 	static const struct pasta_member members[] = {
 * 		PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel"),
 * 		PASTA_MEMBER(STAT, struct kernel, time, .unit = "ns",
 * 			     .column = "count=launches,total,mean"), {0}};
 * 	static const struct pasta_group_def groups[] = {
 * 		PASTA_GROUP(struct state, kernels, struct kernel, members, .table = "kernels",
 * 			    .order = "-total kernel"), {0}};
 *
 * A row begins with a member named `key`, of a multiple of 4 bytes and without padding; the rest of
 * a new row is zero. The framework does not merge bytes that belong to no declared member. Rows
 * move only during pasta_group_rekey. Keys hold ids, never pointers. Only one thread at a time may
 * use a group.
 */
#ifndef PASTA_GROUP_H
#define PASTA_GROUP_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_hist;
struct pasta_out;
struct pasta_group;

/* Statistics of a set of numbers; all members are 0 if the set is empty. The sum is capped at
 * UINT64_MAX. */
struct pasta_stat {
	uint64_t count, sum, min, max;
};
/* A list of items of the same size, in the order in which they were appended. */
struct pasta_list {
	void *items;
	uint32_t count, room;
};
/* A call path of a process. */
struct pasta_stack_ref {
	uint32_t proc, stack;
};

static inline void pasta_stat_add(struct pasta_stat *stat, uint64_t value)
{
	stat->min = !stat->count || value < stat->min ? value : stat->min;
	stat->max = value > stat->max ? value : stat->max;
	stat->sum = stat->sum + value < value ? UINT64_MAX : stat->sum + value;
	stat->count++;
}

enum pasta_member_type {
	/* Members that are shown but not merged: parts of the key, and values that depend only on
	 * the key. */
	/* uint32_t, an interned string. If it is 0, the column shows the ADDRESS at offset .of. If
	 * .of is not set, it shows the text .none, or "(unnamed)" if there is no such text. */
	PASTA_MEMBER_NAME = 1,
	/* uint32_t[3], shown as "8,1,1", or as "auto" if the first number is 0 */
	PASTA_MEMBER_DIM3,
	PASTA_MEMBER_SCOPE, /* uint32_t, the id of a scope, shown as "train/forward" */
	/* struct pasta_stack_ref, shown as the text of pasta_stack_line. If that text is empty, the
	 * column shows the NAME at offset .of. If that NAME is 0, the column shows the text .none,
	 * or "" if there is none. */
	PASTA_MEMBER_STACK,
	PASTA_MEMBER_LINE, /* uint32_t of pasta_stack_frame_line: "forward (linear.py:125)" */
	/* uint32_t, the number of a process, shown as its display name and ordered as processes
	 * are in outputs */
	PASTA_MEMBER_PROCESS,
	PASTA_MEMBER_DEVICE,  /* uint32_t, shown as "device 0"; UINT32_MAX is "host" and comes last
			       */
	PASTA_MEMBER_LEVEL,   /* uint32_t, enum pasta_level: pasta_level_text; HELD comes first */
	PASTA_MEMBER_SUBTYPE, /* uint32_t, a subtype of the kind .of, shown as the subtype's name */
	PASTA_MEMBER_ENUM, /* uint32_t, an index in .names, shown as that text and ordered by index
			    */
	PASTA_MEMBER_ADDRESS, /* uint64_t: "0x7f00" */
	PASTA_MEMBER_U32,
	PASTA_MEMBER_U64,
	PASTA_MEMBER_I64,   /* int64_t, or PASTA_NO_VALUE */
	PASTA_MEMBER_BYTES, /* item_size bytes without a column: PASTA_KEY */
	/* Measures: members that are merged when two rows with the same key are merged. */
	/* uint64_t; or, with PASTA_SUMS, an array of item_size bytes, which is not shown */
	PASTA_MEMBER_SUM,
	PASTA_MEMBER_MIN,  /* uint64_t; 0: none */
	PASTA_MEMBER_MAX,  /* uint64_t */
	PASTA_MEMBER_STAT, /* struct pasta_stat */
	PASTA_MEMBER_HIST, /* struct pasta_hist *, initially NULL: pasta_group_hist */
	PASTA_MEMBER_LIST, /* struct pasta_list of items of item_size: pasta_group_append */
	/* struct pasta_cover, which is not shown. When rows are merged, their times are added,
	 * because the intervals of different shards belong to different processes. */
	PASTA_MEMBER_COVER,
	/* Members that are computed when the row is shown. CALL, RATIO and TEXT have no offset. */
	PASTA_MEMBER_CALL,  /* an integer */
	PASTA_MEMBER_RATIO, /* a number with a fraction */
	PASTA_MEMBER_TEXT,
	/* The SUM member at the offset, in percent of its total over all shown rows. */
	PASTA_MEMBER_SHARE,
	/* The uint64_t at the offset, in percent of the uint64_t at offset .of. If the latter is 0,
	 * the column shows 0; with the flag BLANK_ZERO, it shows no value. */
	PASTA_MEMBER_PERCENT,
};

enum pasta_member_flags {
	PASTA_MEMBER_HIDDEN = 1, /* the member is not shown, but .order can name its columns */
	/* a 0 is shown as a missing value, also in a NAME or LINE member */
	PASTA_MEMBER_BLANK_ZERO = 2,
	PASTA_MEMBER_MORE = 4, /* this entry shows more columns of a member that an earlier entry
				* declares; the member is merged only once */
	PASTA_MEMBER_REST = 8, /* for CALL, RATIO and PERCENT: the row that PASTA_GROUP_REST adds
				* has a value, too, computed from the sums of the omitted rows */
	PASTA_MEMBER_OPTIONAL = 16, /* the column is omitted if all rows have 0 or no value */
};

/* The function .call of a member returns this value if the row has no value. In that case .ratio
 * returns NaN, and .text returns NULL. */
#define PASTA_NO_VALUE INT64_MIN
/* Returns `part` / `whole`, for use in the function .ratio of a member. If `whole` is 0, returns
 * NaN, which means no value. */
static inline double pasta_ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : __builtin_nan("");
}
/* Returns the number that a PERCENT member shows. Findings use it as evidence. */
static inline double pasta_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* A member of a row. The macros below set the first four members of this struct. In C++,
 * initializers must be in the order of the struct. */
struct pasta_member {
	uint32_t type, offset; /* type (enum pasta_member_type) and offset of the member */
	uint32_t of, item_size;
	/* The name of the column; NULL: the member is not shown. For STAT and HIST, this is a list
	 * of columns in their order. The columns are count, total, mean, min, max and share; HIST
	 * also has p50, p95 and p99. "=" renames a column, as in "count=launches,total,mean". */
	const char *column;
	const char *
		/* unit of the column, as in struct pasta_column; the columns count and share have
		 * no unit */
		unit;
	uint32_t flags; /* of enum pasta_member_flags */
	/* enum pasta_role. If it is 0, the type and unit determine the role: SHARE, PERCENT and the
	 * unit "%" mean a share, ADDRESS an address, STACK a line, and the unit "ns" a time. */
	uint32_t role;
	const char *none; /* the text that is shown for a NAME, LINE or STACK without a value */
	/* The texts of an ENUM member, ending with NULL. An index past the end is shown as
	 * "(unknown)". */
	const char *const *names;
	/* Returns whether the row has a value. Only members that are numbers can have this
	 * function. NULL: all rows have a value. */
	bool (*has)(const void *row, const void *state);
	int64_t (*call)(const void *row, const void *state);
	double (*ratio)(const void *row, const void *state);
	/* Returns the text that the column shows. If the text fills the buffer, the framework calls
	 * the function again with a larger buffer, of up to 16 MiB. */
	const char *(*text)(const void *row, const void *state, char *buffer, size_t size);
};

enum pasta_group_flags {
	PASTA_GROUP_FOLD = 1,	  /* rows with equal texts in all columns are shown as one row */
	PASTA_GROUP_OPTIONAL = 2, /* if the group has no rows, its table is not shown */
	PASTA_GROUP_REST = 4,	  /* the rows past the limit are shown as one row, "(17 others)" */
};

/* A group that a tool declares. The macro PASTA_GROUP fills in `size` through `members`. */
struct pasta_group_def {
	uint32_t size, state_offset, row_size, key_size;
	uint32_t member_size; /* of struct pasta_member */
	uint32_t reserved;
	const struct pasta_member *members; /* ends with type 0 */
	const char *table;		    /* NULL: never shown */
	/* Column names, the most important first; "-" sorts in descending order. Ties are ordered
	 * by all columns, from the first on. */
	const char *order;
	uint32_t flags; /* of enum pasta_group_flags */
	uint32_t limit; /* maximum number of rows to show; 0: no limit */
	/* if not 0, the limit applies separately to each value of the first limit_per columns */
	uint32_t limit_per;
	uint32_t reserved2;
	const char *limit_option; /* the tool's option that sets the limit, or NULL */
	/* noun for the omitted rows, as in "(17 others)"; NULL: "others" */
	const char *rest;
	/* returns whether to show a row; if this function is NULL, all rows are shown */
	bool (*keep)(const void *row, const void *state);
};

/* clang-format off */
#define PASTA_GROUP(state_type, member, row, ...)                                                  \
	PASTA_GROUP_(state_type, member, row, __VA_ARGS__, )
#define PASTA_GROUP_(state_type, member, row, list, ...)                                           \
	{.size = sizeof(struct pasta_group_def), .state_offset = offsetof(state_type, member),     \
	 .row_size = sizeof(row), .key_size = sizeof(((row *)0)->key),                             \
	 .member_size = sizeof(struct pasta_member), .members = (list), __VA_ARGS__}
#define PASTA_MEMBER(TYPE, row, ...) PASTA_MEMBER_(TYPE, row, __VA_ARGS__, )
#define PASTA_MEMBER_(TYPE, row, member, ...)                                                      \
	{.type = PASTA_MEMBER_##TYPE, .offset = offsetof(row, member), __VA_ARGS__}
/* Declares a key of which no column, or only a part, is shown. The key must not have padding. */
#define PASTA_KEY(row)                                                                             \
	{.type = PASTA_MEMBER_BYTES, .offset = offsetof(row, key),                                 \
	 .item_size = sizeof(((row *)0)->key)}
/* Declares all uint64_t members from `first` to `last` as sums that are not shown. */
#define PASTA_SUMS(row, first, last)                                                               \
	{.type = PASTA_MEMBER_SUM, .offset = offsetof(row, first),                                 \
	 .item_size = offsetof(row, last) + sizeof(uint64_t) - offsetof(row, first)}
/* Declares a group that is never shown. Pass its members without the key, or {0} if it has no
 * others. For C only. */
#define PASTA_GROUP_HIDDEN(state_type, member, row, ...)                                           \
	PASTA_GROUP(state_type, member, row,                                                       \
		    ((const struct pasta_member[]){PASTA_KEY(row), __VA_ARGS__, {0}}))
/* Declares a member that refers to another member of the row, as a PERCENT does. */
#define PASTA_MEMBER_OF(TYPE, row, member, whole, ...)                                             \
	{.type = PASTA_MEMBER_##TYPE, .offset = offsetof(row, member),                             \
	 .of = offsetof(row, whole), __VA_ARGS__}
/* A member that a function computes. */
#define PASTA_MEMBER_BY(TYPE, function, ...)                                                       \
	{.type = PASTA_MEMBER_##TYPE, function, __VA_ARGS__}
/* clang-format on */
/* Returns the row of a key. Write the key as an initializer list. */
#define PASTA_ROW(group, row, ...)                                                                 \
	((row *)pasta_group_row((group), &(const __typeof__(((row *)0)->key)){__VA_ARGS__}))
/* Returns the sum of a uint64_t member over all rows. */
#define PASTA_SUM(group, row, member) pasta_group_sum((group), offsetof(row, member))
/* The three numbers of a kernel's grid or block size, for the initializer list of a key. */
#define PASTA_GRID(kernel)                                                                         \
	{                                                                                          \
		(kernel)->grid_x, (kernel)->grid_y, (kernel)->grid_z                               \
	}
#define PASTA_BLOCK(kernel)                                                                        \
	{                                                                                          \
		(kernel)->block_x, (kernel)->block_y, (kernel)->block_z                            \
	}

/* Returns the row of a key, and adds the row if the key is new. Never NULL: when memory runs out,
 * the function returns a spare row that is never shown, and the tool fails. */
PASTA_EXPORT void *pasta_group_row(struct pasta_group *group, const void *key);
/* Returns the row of a key, or NULL. */
PASTA_EXPORT void *pasta_group_find(const struct pasta_group *group, const void *key);
/* Adds a number to a HIST member of a row. */
PASTA_EXPORT void pasta_group_hist(struct pasta_group *group, struct pasta_hist **hist,
				   uint64_t value);
/* Appends a zeroed item to a LIST member of a row. Returns the item, never NULL; it is valid until
 * the next item is appended. */
PASTA_EXPORT void *pasta_group_append(struct pasta_group *group, struct pasta_list *list,
				      size_t item_size);
/* Interns bytes, like pasta_strings_add. When out of memory, returns 0 and sets the group's
 * error. */
PASTA_EXPORT uint32_t pasta_group_intern(struct pasta_group *group, const void *bytes, size_t size);
/* Sets the group's error, unless the group has an error already. The report then fails. */
PASTA_EXPORT void pasta_group_fail(struct pasta_group *group, int error);
/* Returns the next row, in the order in which rows were added, or NULL at the end. Set *at to 0
 * before the first call. */
PASTA_EXPORT void *pasta_group_next(const struct pasta_group *group, size_t *at);
/* Returns the next row in the order of pasta_group_sorted, or NULL at the end or after an error.
 * Set *at to 0 before the first call. A group allows one such walk at a time; do not add rows
 * during the walk. */
PASTA_EXPORT void *pasta_group_next_by(struct pasta_group *group, const char *order, size_t *at);
/* Returns an array of all rows, including hidden rows, sorted by `order`, which has the syntax of
 * .order. If `order` is NULL, the declared order applies. The array has *count entries, and a NULL
 * after them. Free the array, but not the rows. If the group has an error, the function returns
 * NULL with a count of 0, and the report fails. The function itself sets the error -ENOMEM, or
 * -EINVAL for an unknown column. */
PASTA_EXPORT void *pasta_group_sorted(struct pasta_group *group, const char *order, size_t *count);
/*
 * Walks the rows as a tree. `up` returns the parent of a row, or NULL for an outermost row.
 * Siblings are sorted by `order`, which has the syntax of .order; if `order` is NULL, the declared
 * order applies. The function calls `enter` before the children of a row, and `leave` after them,
 * both with the row's parent. `enter` and `leave` may be NULL, and must not add rows to this group.
 * Returns 0, or the group's error: -ENOMEM, -EINVAL for an unknown column, -ELOOP if a row is its
 * own ancestor.
 */
struct pasta_walk {
	const char *order;
	void *(*up)(const void *row, const void *ctx);
	void (*enter)(void *row, void *up, void *ctx);
	void (*leave)(void *row, void *up, void *ctx);
	void *ctx;
};
PASTA_EXPORT int pasta_group_walk(struct pasta_group *group, const struct pasta_walk *walk);
/* Calls `change` for the key of each row, and then merges the rows whose keys have become equal. */
PASTA_EXPORT void pasta_group_rekey(struct pasta_group *group,
				    void (*change)(void *key, const void *ctx), const void *ctx);
PASTA_EXPORT size_t pasta_group_count(const struct pasta_group *group);
PASTA_EXPORT uint64_t pasta_group_sum(const struct pasta_group *group, size_t offset);
/* Returns 0, -ENOMEM if memory ran out, or the first other error. */
PASTA_EXPORT int pasta_group_error(const struct pasta_group *group);

/* Adds a group's table to the report. Returns 0, or a negative errno if the report has failed. */
PASTA_EXPORT int pasta_out_group(struct pasta_out *out, const struct pasta_group *group);
/* Shows all groups of the reporting tool, in the order in which they are declared, except groups
 * without a table and groups that were shown before. */
PASTA_EXPORT int pasta_out_groups(struct pasta_out *out, const void *state,
				  struct pasta_error *err);

#ifdef __cplusplus
}
#endif
#endif
