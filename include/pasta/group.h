/*
 * group.h - rows by key: what a tool counts, and the table that shows it.
 *
 * A tool declares its rows and names its groups in the descriptor. The framework makes a group
 * before open, merges those of shards, shows them as tables, and frees them after close:
 *
 *	struct kernel {
 *		struct { uint32_t name; } key;
 *		struct pasta_stat time;
 *	};
 *	struct state { struct pasta_group *kernels; };
 *
 *	static const struct pasta_member members[] = {
 *		PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel"),
 *		PASTA_MEMBER(STAT, struct kernel, time, .unit = "ns",
 *			     .column = "count=launches,total,mean"), {0}};
 *	static const struct pasta_group_def groups[] = {
 *		PASTA_GROUP(struct state, kernels, struct kernel, members, .table = "kernels",
 *			    .order = "-total kernel"), {0}};
 *
 * A row begins with a member named key, of a multiple of 4 bytes and without padding; the rest of a
 * new row is zero. Bytes that are in no member are not merged. Only pasta_group_rekey moves rows.
 * Keys hold ids, never pointers. Each group from one thread at a time.
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

/* Of numbers; all zero: none. A sum past UINT64_MAX stays there. */
struct pasta_stat {
	uint64_t count, sum, min, max;
};
/* Items of one size, in the order in which they were appended. */
struct pasta_list {
	void *items;
	uint32_t count, room;
};
/* A call path, which is of one process. */
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
	/* Shown, not merged: members of keys, and what is equal in all rows of a key. */
	/* uint32_t, interned. For 0: the ADDRESS at offset of, if that is not 0; or none; or
	 * "(unnamed)". */
	PASTA_MEMBER_NAME = 1,
	PASTA_MEMBER_DIM3,  /* uint32_t[3]: "8,1,1"; "auto" where the first is 0 */
	PASTA_MEMBER_SCOPE, /* uint32_t, id of a scope: the regions of it, "train/forward" */
	/* struct pasta_stack_ref: pasta_stack_line. Without one: the NAME at offset of, if that is
	 * not 0; or none; or "". */
	PASTA_MEMBER_STACK,
	PASTA_MEMBER_LINE,    /* uint32_t, of pasta_stack_frame_line: "forward (linear.py:125)" */
	PASTA_MEMBER_PROCESS, /* uint32_t, number of a process: its name; in the directory's order
			       */
	PASTA_MEMBER_DEVICE,  /* uint32_t: "device 0"; "host" for UINT32_MAX, the last in order */
	PASTA_MEMBER_LEVEL,   /* uint32_t, enum pasta_level: pasta_level_text; HELD comes first */
	PASTA_MEMBER_SUBTYPE, /* uint32_t, of the kind of: pasta_subtype_name, "unspecified" */
	PASTA_MEMBER_ENUM,    /* uint32_t: the text in .names at this index; ordered by index */
	PASTA_MEMBER_ADDRESS, /* uint64_t: "0x7f00" */
	PASTA_MEMBER_U32,
	PASTA_MEMBER_U64,
	PASTA_MEMBER_I64,   /* int64_t, or PASTA_NO_VALUE */
	PASTA_MEMBER_BYTES, /* item_size bytes without a column: PASTA_KEY */
	/* Measures: how two rows of one key become one. */
	PASTA_MEMBER_SUM,  /* uint64_t; item_size bytes of them, without a column: PASTA_SUMS */
	PASTA_MEMBER_MIN,  /* uint64_t; 0: none */
	PASTA_MEMBER_MAX,  /* uint64_t */
	PASTA_MEMBER_STAT, /* struct pasta_stat */
	PASTA_MEMBER_HIST, /* struct pasta_hist *, NULL at first: pasta_group_hist */
	PASTA_MEMBER_LIST, /* struct pasta_list of items of item_size: pasta_group_append */
	/* struct pasta_cover, without a column. Times of two rows add up: intervals that different
	 * shards have are of different lines of time. */
	PASTA_MEMBER_COVER,
	/* Computed when the row is shown; offset has no meaning. */
	PASTA_MEMBER_CALL,  /* an integer */
	PASTA_MEMBER_RATIO, /* a number with a fraction */
	PASTA_MEMBER_TEXT,
	/* A share of the sum over all rows that are shown, of the SUM member at this offset. */
	PASTA_MEMBER_SHARE,
	/* The uint64_t at this offset, in percent of the one at offset of; 0 where that is 0, or no
	 * value with BLANK_ZERO. */
	PASTA_MEMBER_PERCENT,
};

enum pasta_member_flags {
	PASTA_MEMBER_HIDDEN = 1,     /* its columns only order the rows */
	PASTA_MEMBER_BLANK_ZERO = 2, /* 0 is shown as no value; so is a NAME or LINE of 0 */
	PASTA_MEMBER_MORE = 4,	     /* more columns of a member before it, which is merged once */
	PASTA_MEMBER_REST = 8,	    /* CALL, RATIO, PERCENT: also for the row of REST, which has the
				     * sums of the rows that are left out */
	PASTA_MEMBER_OPTIONAL = 16, /* left out if no row has a value other than 0 */
};

/* What call returns for no value; ratio returns NaN, text NULL. */
#define PASTA_NO_VALUE INT64_MIN
/* For ratio: of nothing there is none. */
static inline double pasta_ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : __builtin_nan("");
}
/* For findings: as a PERCENT is shown. */
static inline double pasta_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* Macros set the members up to item_size. In C++ initializers follow the order of the struct. */
struct pasta_member {
	uint32_t type, offset; /* of enum pasta_member_type; in the row */
	uint32_t of, item_size;
	/* The column's name; NULL: the member is not shown. Of STAT and HIST any of count, total,
	 * mean, min, max, share and, of HIST, p50, p95, p99, in the order of the columns; "="
	 * renames: "count=launches,total,mean". */
	const char *column;
	const char *unit; /* as a column has it; not that of count and share */
	uint32_t flags;	  /* of enum pasta_member_flags */
	/* Of enum pasta_role. 0: by its type and unit: SHARE, PERCENT and any other "%" are shares,
	 * ADDRESS an address, STACK a line, "ns" a time. */
	uint32_t role;
	const char *none; /* the text of a NAME or LINE of 0 */
	/* Of an ENUM; ends with NULL. An index past the end is shown as "(unknown)". */
	const char *const *names;
	/* Of a number: whether it has a value in this row; NULL: yes. */
	bool (*has)(const void *row, const void *state);
	int64_t (*call)(const void *row, const void *state);
	double (*ratio)(const void *row, const void *state);
	/* A text that fills the buffer may be truncated: text is then called again with a larger
	 * buffer, of up to 16 MiB. */
	const char *(*text)(const void *row, const void *state, char *buffer, size_t size);
};

enum pasta_group_flags {
	PASTA_GROUP_FOLD = 1,	  /* rows whose texts are all equal are shown as one */
	PASTA_GROUP_OPTIONAL = 2, /* no rows: no table */
	PASTA_GROUP_REST = 4,	  /* what the limit leaves out is one row: "(17 others)" */
};

/* PASTA_GROUP sets the members up to members. */
struct pasta_group_def {
	uint32_t size, state_offset, row_size, key_size;
	uint32_t member_size; /* of struct pasta_member */
	uint32_t reserved;
	const struct pasta_member *members; /* ends with type 0 */
	const char *table;		    /* NULL: it is never shown */
	/* Columns, the most important first; "-": the greatest first. Ties: by all columns, from
	 * the first on. */
	const char *order;
	uint32_t flags;	    /* of enum pasta_group_flags */
	uint32_t limit;	    /* of rows that are shown; 0: none */
	uint32_t limit_per; /* the limit holds for each value of this many columns of order */
	uint32_t reserved2;
	const char *limit_option; /* an option of the tool that is the limit, or NULL */
	const char *rest;	  /* what the row of REST is called; NULL: "others" */
	bool (*keep)(const void *row, const void *state); /* NULL: all rows are shown */
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
/* A key that is not shown, or not as a whole: what is shown of it are members of their own. It must
 * have no padding. */
#define PASTA_KEY(row)                                                                             \
	{.type = PASTA_MEMBER_BYTES, .offset = offsetof(row, key),                                 \
	 .item_size = sizeof(((row *)0)->key)}
/* All uint64_t from first to last are sums that are not shown. */
#define PASTA_SUMS(row, first, last)                                                               \
	{.type = PASTA_MEMBER_SUM, .offset = offsetof(row, first),                                 \
	 .item_size = offsetof(row, last) + sizeof(uint64_t) - offsetof(row, first)}
/* A group that is never shown, with its members but for the key; {0}: none. In C only. */
#define PASTA_GROUP_HIDDEN(state_type, member, row, ...)                                           \
	PASTA_GROUP(state_type, member, row,                                                       \
		    ((const struct pasta_member[]){PASTA_KEY(row), __VA_ARGS__, {0}}))
/* One that is a part of another. */
#define PASTA_MEMBER_OF(TYPE, row, member, whole, ...)                                             \
	{.type = PASTA_MEMBER_##TYPE, .offset = offsetof(row, member),                             \
	 .of = offsetof(row, whole), __VA_ARGS__}
/* One that is computed. */
#define PASTA_MEMBER_BY(TYPE, function, ...)                                                       \
	{.type = PASTA_MEMBER_##TYPE, function, __VA_ARGS__}
/* clang-format on */
/* The row of a key that is given as an initializer list. */
#define PASTA_ROW(group, row, ...)                                                                 \
	((row *)pasta_group_row((group), &(const __typeof__(((row *)0)->key)){__VA_ARGS__}))
/* The sum of a uint64_t member over all rows. */
#define PASTA_SUM(group, row, member) pasta_group_sum((group), offsetof(row, member))
/* A kernel's grid and block, in such a list. */
#define PASTA_GRID(kernel)                                                                         \
	{                                                                                          \
		(kernel)->grid_x, (kernel)->grid_y, (kernel)->grid_z                               \
	}
#define PASTA_BLOCK(kernel)                                                                        \
	{                                                                                          \
		(kernel)->block_x, (kernel)->block_y, (kernel)->block_z                            \
	}

/* Added if it is not there. Never NULL: where memory runs out, a row that nobody sees is returned,
 * and the tool's result is that it ran out. */
PASTA_EXPORT void *pasta_group_row(struct pasta_group *group, const void *key);
/* NULL if it is not there. */
PASTA_EXPORT void *pasta_group_find(const struct pasta_group *group, const void *key);
/* Add a number to a HIST member of a row. */
PASTA_EXPORT void pasta_group_hist(struct pasta_group *group, struct pasta_hist **hist,
				   uint64_t value);
/* A new item, zeroed, of a LIST member of a row; never NULL. It may move with the next one. */
PASTA_EXPORT void *pasta_group_append(struct pasta_group *group, struct pasta_list *list,
				      size_t item_size);
/* The id of such bytes, as pasta_strings_add. 0 when out of memory, which is the group's error. */
PASTA_EXPORT uint32_t pasta_group_intern(struct pasta_group *group, const void *bytes, size_t size);
/* The tool cannot go on: this is the group's error if it has none, and the report fails. */
PASTA_EXPORT void pasta_group_fail(struct pasta_group *group, int error);
/* Walk the rows in order of adding: start with *at 0; NULL at the end. */
PASTA_EXPORT void *pasta_group_next(const struct pasta_group *group, size_t *at);
/* Walk the rows that pasta_group_sorted returns: start with *at 0; NULL at the end, and where that
 * fails. One such walk at a time in a group; add no rows on the way. */
PASTA_EXPORT void *pasta_group_next_by(struct pasta_group *group, const char *order, size_t *at);
/* Returns an array of all rows, hidden ones included, sorted by order, which has the syntax of
 * .order; NULL: by the declared order. The array has count entries and a NULL behind them. Free it,
 * but not the rows. Returns NULL with a count of 0 if the group has an error, or gets one here:
 * -ENOMEM, or -EINVAL for an unknown column. The report then fails. */
PASTA_EXPORT void *pasta_group_sorted(struct pasta_group *group, const char *order, size_t *count);
/*
 * Walk the rows as a tree. up returns the row that a row is below, or NULL for an outermost one.
 * Rows below the same one come in order (the syntax of .order; NULL: the declared one). enter is
 * called before all that is below a row, leave after it; either may be NULL, and gets what up
 * returned. They must not add rows to this group. 0, or the group has an error: -ENOMEM, -EINVAL
 * for an unknown column, -ELOOP if a row is below itself.
 */
struct pasta_walk {
	const char *order;
	void *(*up)(const void *row, const void *ctx);
	void (*enter)(void *row, void *up, void *ctx);
	void (*leave)(void *row, void *up, void *ctx);
	void *ctx;
};
PASTA_EXPORT int pasta_group_walk(struct pasta_group *group, const struct pasta_walk *walk);
/* Change all keys: rows whose keys become equal become one, as when groups are merged. */
PASTA_EXPORT void pasta_group_rekey(struct pasta_group *group,
				    void (*change)(void *key, const void *ctx), const void *ctx);
PASTA_EXPORT size_t pasta_group_count(const struct pasta_group *group);
PASTA_EXPORT uint64_t pasta_group_sum(const struct pasta_group *group, size_t offset);
/* -ENOMEM if a row, a histogram or an item found no memory, or the first other error. */
PASTA_EXPORT int pasta_group_error(const struct pasta_group *group);

/* Show a group as its table; 0, or the report has failed. */
PASTA_EXPORT int pasta_out_group(struct pasta_out *out, const struct pasta_group *group);
/* All groups of the tool that reports, in their order, but for those without a table and those that
 * are shown already. */
PASTA_EXPORT int pasta_out_groups(struct pasta_out *out, const void *state,
				  struct pasta_error *err);

#ifdef __cplusplus
}
#endif
#endif
