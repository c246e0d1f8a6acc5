/*
 * tool.h - the descriptor of a tool. Includes all headers that a tool needs.
 *
 * A tool is one file with one PASTA_TOOL descriptor. It receives events in order of time, and
 * reports tables, charts and findings, which accelprof writes in every output format.
 */
#ifndef PASTA_TOOL_H
#define PASTA_TOOL_H

#include <pasta/access.h>
#include <pasta/base.h>
#include <pasta/chart.h>
#include <pasta/collect.h>
#include <pasta/device.h>
#include <pasta/directory.h>
#include <pasta/event.h>
#include <pasta/group.h>
#include <pasta/ledger.h>
#include <pasta/out.h>
#include <pasta/series.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The syntax of an option's value. accelprof checks values before it opens the tool. */
enum pasta_option_type {
	PASTA_OPTION_TEXT = 0,
	PASTA_OPTION_NUMBER, /* "20" */
	PASTA_OPTION_YES_NO, /* "yes", "no" */
	PASTA_OPTION_TIME,   /* a time in ns, us, ms, s, min or h: "10ms", "1.5s", "0" */
	PASTA_OPTION_SIZE,   /* a size: "64M", "1GiB", or a number of bytes, "4096" */
};

/* An option, and its help text. value is the default, of the option's type; NULL: none. */
struct pasta_option {
	const char *name, *value, *summary;
	enum pasta_option_type type;
};
struct pasta_opts;
/* Returns a value as text, for any type; NULL: no such option, or no value. */
PASTA_EXPORT const char *pasta_opt(const struct pasta_opts *opts, const char *name);
/* pasta_opt_u64 returns the value of an option as a number, a time in ns or a size in bytes.
 * pasta_opt_yes returns whether the value is "yes". Both return 0 if there is no such option, or if
 * it has no value or another type. */
PASTA_EXPORT uint64_t pasta_opt_u64(const struct pasta_opts *opts, const char *name);
PASTA_EXPORT int pasta_opt_yes(const struct pasta_opts *opts, const char *name);

/*
 * A scope: a path of nested regions and operators. All processes and threads share one object for
 * each path of names, so you can compare scopes by address, and use id as a key. Scopes live as
 * long as the process. Any thread.
 */
struct pasta_scope {
	const struct pasta_scope *up; /* the enclosing scope; NULL: outermost */
	const struct pasta_scope *region,
		*op; /* innermost region and innermost operator, including this scope; or NULL */
	/* The path of this scope's regions without its operators, also along up; NULL if there are
	 * no regions. */
	const struct pasta_scope *path;
	/* The path of this scope's operators without its regions; NULL if there are no
	 * operators. */
	const struct pasta_scope *ops;
	uint32_t id;	/* unique number, from 1, in no particular order */
	uint32_t name;	/* interned; 0: none */
	uint32_t depth; /* nesting depth from 1 to 16384; deeper scopes have 16384 */
	uint32_t kind;	/* PASTA_KIND_REGION or PASTA_KIND_OP_BEGIN */
};

/* Returns the scope of an id, or NULL. Any thread. */
PASTA_EXPORT const struct pasta_scope *pasta_scope_find(uint32_t id);
/* Writes the names of a scope's regions, "train/forward"; "" for NULL. Truncates them to size.
 * Returns text. Any thread. */
PASTA_EXPORT const char *pasta_scope_regions(const struct pasta_scope *scope, char *text,
					     size_t size);
/* Like pasta_scope_regions, for the names of operators: "aten::linear/aten::addmm". */
PASTA_EXPORT const char *pasta_scope_ops(const struct pasta_scope *scope, char *text, size_t size);

#define PASTA_NO_ITERATION UINT64_MAX
#define PASTA_NO_LAUNCH UINT64_MAX

enum pasta_where_flags {
	PASTA_WHERE_LAUNCH = 1, /* the launch of this work is known */
	PASTA_WHERE_REPEATED =
		2, /* the launch already has other work, although it is not the launch of a graph */
	/* The event is in an operator of the backward pass; python and module are those of the
	 * forward operator. */
	PASTA_WHERE_BACKWARD = 4,
	/* The reader no longer knows the launch of this work, because too many events came in
	 * between, and has delivered PASTA_KIND_UNMATCHED for the launch. With BACKWARD, the
	 * forward operator is unknown instead. */
	PASTA_WHERE_EXPIRED = 8,
};

/*
 * Where an event belongs. Work on a device (kernels, copies, fills, and events about them) belongs
 * to the position of its launch, any other event to the position of its thread. Begin and end of a
 * region or an operator belong to that region or operator.
 */
struct pasta_where {
	uint32_t size;
	uint32_t flags;			 /* of enum pasta_where_flags */
	const struct pasta_scope *scope; /* innermost region or operator; NULL: none, or unknown */
	const struct pasta_scope *capture; /* for work of a graph: the scope in which its node was
					      captured, or NULL */
	uint64_t iteration;		   /* index, or PASTA_NO_ITERATION */
	uint64_t op;			   /* id of the innermost operator, or 0 */
	uint64_t launched; /* time of the launch, or 0; for a launch event, its own time */
	/* The number of the launch among the launches of its process, from 0. For an event without
	 * a launch, the number of the latest launch; or PASTA_NO_LAUNCH. */
	uint64_t launch;
	uint32_t tid;	   /* thread of the launch; if the launch is unknown, thread of the event */
	uint32_t name;	   /* of the launch, or 0 */
	uint32_t stack;	   /* of the launch, or 0 */
	uint32_t python;   /* call path of the innermost operator that has one, or 0 */
	uint32_t module;   /* interned path of the innermost known PyTorch module, or 0 */
	uint32_t scope_id; /* scope->id, or 0 */
};

/*
 * Returns the Python call path of an event, for pasta_stack_frames; 0: not known. The path is that
 * of the event or of its launch, if it comes from an interpreter, or else that of the operator,
 * where->python. In the backward pass it is the path of the forward operator, if that is known.
 * Operators are joined by their sequence number: the last 2^20 of a process, or fewer with 16
 * processes or more. The tool must need PASTA_NEED_SCOPES and PASTA_NEED_OPS. Pass the where that
 * came with the event.
 */
PASTA_EXPORT uint32_t pasta_python_of(const struct pasta_event *ev,
				      const struct pasta_where *where);

/* What a tool needs, in addition to its kinds of events. */
enum pasta_need {
	PASTA_NEED_SCOPES = 1, /* pasta_where: launches, regions, iterations */
	PASTA_NEED_OPS = 2, /* pasta_where with operators, which may be missing without this need */
	/* Expensive data, which `accelprof run` records only for tools that need it. A run that was
	 * recorded for other tools may have some or none of this data. */
	PASTA_NEED_PYTHON = 4,	/* Python functions and lines, as run --stacks python */
	PASTA_NEED_MODULES = 8, /* PyTorch modules, as run --stacks modules */
	/* Memory accesses: the tables of enum pasta_reducer, in its order; or raw accesses
	 * (access_batch). Each of these includes object, site and access_launch events. */
	PASTA_NEED_ACCESS_OBJECT = 16,
	PASTA_NEED_ACCESS_PAGE = 32,
	PASTA_NEED_ACCESS_SITE = 64,
	PASTA_NEED_ACCESS_SITE_OBJECT = 128,
	PASTA_NEED_ACCESS_COALESCE = 256,
	PASTA_NEED_ACCESS_DIVERGE = 512,
	PASTA_NEED_ACCESS_BLOCK = 1024,
	PASTA_NEED_ACCESS_TENSOR = 2048,
	PASTA_NEED_ACCESS_OWN =
		4096, /* the table of the tool's own reducer; not with another reducer's table */
	PASTA_NEED_ACCESS_BARRIER = 8192,
	PASTA_NEED_ACCESS_RAW = 16384,
	/* Count the accesses of every launch; only with a PASTA_NEED_ACCESS_*. `accelprof run`
	 * turns the sampling of launches off, and accelprof refuses a run with sampled launches.
	 * The user may still exclude accesses with run --kernel and --sample blocks=1/N. */
	PASTA_NEED_EVERY_LAUNCH = 32768,
};

enum pasta_tool_flags {
	/* The tool has one state for each shard. The framework merges groups, series, windows,
	 * ledgers and access indexes in the order of shards, and then calls the tool's merge for
	 * everything else in the state. A tool with merge is always sharded. */
	PASTA_TOOL_SHARDED = 1,
};

/*
 * The descriptor of a tool.
 *
 * name consists of a-z, 0-9, _ and -; summary is one line. options ends with a NULL name, or is
 * NULL; a tool has at most 64 options, with names like its own. Summaries and defaults have no
 * control characters. charts is the mask of the chart types that the tool may report, such as
 * PASTA_CHART_MASK(FLAME); the help shows it.
 *
 * event is required, unless the tool has a ledger or an access index. report is required, unless
 * the tool has groups: without report, all groups are shown in their order. open, merge and close
 * may be NULL. events is a mask of PASTA_MASK(KIND), not 0 if there is an event function. Kinds
 * that only a ledger or access index reads need not be in it; these two receive an event before the
 * tool does. ev is valid only during the call, and ev->size bytes long: pasta_event_copy makes a
 * copy.
 *
 * state points to state_size zeroed bytes, at most 1 GiB. A tool that is not sharded has one state,
 * which receives the whole run in order. A sharded tool may have one state for each shard, in that
 * shard's order; they are merged in the order of shards, before report. merge must not retain
 * pointers into from, which is closed soon after. Different threads use different states at the
 * same time: do not write to data that states share. close is called once for each state, also
 * after a failed open, but not after a crash. `accelprof run` opens and closes a state in a
 * separate process before it starts the program: if open fails, the program is not started.
 *
 * A tool must not call exit, nor start threads that use the SDK. Plug-ins run in processes of their
 * own: a tool that crashes, calls exit or does not return fails, and the report names it; all other
 * tools continue.
 *
 * Events come in order of time, with two exceptions. Events that were written too late go back in
 * time a little, even within a shard; the report counts them as "late". The ends of regions and
 * operators that never ended come last of all, with the last time of their process. Work on a
 * device may seem to begin before its launch, because clocks differ: it is matched if the launch is
 * at most 10 ms later.
 *
 * Regions and operators come in pairs: the reader supplies missing ends, ends come from the inside
 * out, and each end has the name, domain and depth of its begin, and the flags PASTA_REGION_* of
 * event.h. Regions nest in regions and operators in operators, but a region may end before an
 * operator that began in it, and vice versa. The reader drops the end of an operator that has not
 * begun, and the named end of a region that the end of an outer one has ended.
 */
struct pasta_tool {
	/* size, api_major and api_minor come first in all versions of this struct. */
	uint32_t size;		       /* size of this struct; set by PASTA_TOOL */
	uint16_t api_major, api_minor; /* set by PASTA_TOOL */
	uint32_t option_size;	       /* of struct pasta_option; set by PASTA_TOOL */
	uint32_t reserved;
	const char *name, *summary;
	uint64_t events;     /* mask of PASTA_MASK(KIND) */
	uint64_t needs;	     /* mask of enum pasta_need */
	uint64_t flags;	     /* of enum pasta_tool_flags */
	uint64_t charts;     /* mask of PASTA_CHART_MASK(TYPE) */
	uint64_t state_size; /* bytes */
	const struct pasta_option *options;
	/* The objects that the framework creates in the tool's state. Each list ends with an entry
	 * of size 0; NULL: no objects. */
	const struct pasta_group_def *groups;	/* rows by key (group.h) */
	const struct pasta_series_def *series;	/* time series (series.h) */
	const struct pasta_window_def *windows; /* windows (series.h) */
	const struct pasta_ledger_def *ledger;	/* one ledger: allocations (ledger.h) */
	const struct pasta_access_index_def
		*accesses; /* one access index: memory accesses (access.h) */
	int (*open)(void *state, const struct pasta_opts *opts, struct pasta_error *err);
	void (*event)(void *state, const struct pasta_event *ev, const struct pasta_where *where);
	int (*merge)(void *into, const void *from, struct pasta_error *err);
	int (*report)(void *state, struct pasta_out *out, struct pasta_error *err);
	void (*close)(void *state);
	/* The file name of the tool's reducer, in the folder of the tool
	 * (docs/writing-a-reducer.md). If the tool has an option named reducer, the value of that
	 * option is a path that is used instead. Required with PASTA_NEED_ACCESS_OWN, else NULL. */
	const char *reducer;
};

/* Registers a descriptor, which must live forever, while its library is loaded. accelprof reports
 * what is wrong with a descriptor, and leaves the tool out. A library may register many. */
PASTA_EXPORT void pasta_tool_register(const struct pasta_tool *tool);

/* Initializes the size and version members of a descriptor, for tools that call
 * pasta_tool_register. */
#define PASTA_TOOL_HEAD                                                                            \
	.size = sizeof(struct pasta_tool), .api_major = PASTA_API_MAJOR,                           \
	.api_minor = PASTA_API_MINOR, .option_size = sizeof(struct pasta_option)

/* Defines and registers a tool; end it with a semicolon. In C++, which must be C++20 or later,
 * write the members in the order of the struct. Omitted members are 0; only g++ would warn about
 * them. */
/* clang-format off */
#define PASTA_TOOL(...)                                                                            \
	_Pragma("GCC diagnostic push")                                                             \
	_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                         \
	static const struct pasta_tool pasta_tool_ = {                                             \
		PASTA_TOOL_HEAD, __VA_ARGS__};                                                     \
	_Pragma("GCC diagnostic pop")                                                              \
	__attribute__((constructor)) static void pasta_tool_register_(void)                        \
	{                                                                                          \
		pasta_tool_register(&pasta_tool_);                                                 \
	}                                                                                          \
	struct pasta_tool
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
