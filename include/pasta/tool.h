/*
 * tool.h - the descriptor of a tool. Includes all headers that a tool needs.
 *
 * A tool is one file with one PASTA_TOOL descriptor. A tool receives events in order of time, and
 * reports tables, charts and findings, which accelprof writes in every output format.
 */
#ifndef PASTA_TOOL_H
#define PASTA_TOOL_H

#include <pasta/access.h>
#include <pasta/base.h>
#include <pasta/chart.h>
#include <pasta/collect.h>
#include <pasta/device.h>
#include <pasta/diagnosis.h>
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
	PASTA_OPTION_TIME,   /* a time in ns, us, ms, s, min or h, such as "10ms", "1.5s" or "0" */
	/* a size, such as "64M" or "1GiB", or a number of bytes, such as "4096" */
	PASTA_OPTION_SIZE,
};

/* An option, and its help text. `value` is the default value, in the syntax of the option's type;
 * NULL: the option has no default. */
struct pasta_option {
	const char *name, *value, *summary;
	enum pasta_option_type type;
};
struct pasta_opts;
/* Returns the value of an option of any type as text; NULL if there is no such option, or if it
 * has no value. */
PASTA_EXPORT const char *pasta_opt(const struct pasta_opts *opts, const char *name);
/* pasta_opt_u64 returns the value of an option as a number, a time in ns or a size in bytes.
 * pasta_opt_yes returns whether the value is "yes". Both return 0 if the option does not exist, has
 * no value, or has another type. */
PASTA_EXPORT uint64_t pasta_opt_u64(const struct pasta_opts *opts, const char *name);
PASTA_EXPORT int pasta_opt_yes(const struct pasta_opts *opts, const char *name);

/*
 * A scope: a path of nested regions and operators. All processes and threads share one struct for
 * each path of names, so you can compare scopes by address, and use `id` as a key. Scopes are valid
 * as long as the process runs. Any thread may use them.
 */
struct pasta_scope {
	const struct pasta_scope *up; /* the enclosing scope; NULL if this scope is outermost */
	/* the innermost region and the innermost operator of the path, each of which may be this
	 * scope, or NULL */
	const struct pasta_scope *region, *op;
	/* The scope with the same regions, but without the operators of the path; its member `up`
	 * has no operators either. NULL if the path has no regions. */
	const struct pasta_scope *path;
	/* The scope with the same operators, but without the regions of the path; NULL if the path
	 * has no operators. */
	const struct pasta_scope *ops;
	uint32_t id;   /* unique number, from 1, in no particular order */
	uint32_t name; /* interned; 0: none */
	/* nesting depth from 1 to 16384; the value 16384 also stands for greater depths */
	uint32_t depth;
	uint32_t kind; /* PASTA_KIND_REGION or PASTA_KIND_OP_BEGIN */
};

/* Returns the scope with an id, or NULL. Any thread may call this function. */
PASTA_EXPORT const struct pasta_scope *pasta_scope_find(uint32_t id);
/* Writes the names of a scope's regions, such as "train/forward", to `text`, truncated to `size`
 * bytes. If the scope is NULL, writes "". Returns `text`. Any thread may call this function. */
PASTA_EXPORT const char *pasta_scope_regions(const struct pasta_scope *scope, char *text,
					     size_t size);
/* Like pasta_scope_regions, for the names of operators: "aten::linear/aten::addmm". */
PASTA_EXPORT const char *pasta_scope_ops(const struct pasta_scope *scope, char *text, size_t size);

#define PASTA_NO_ITERATION UINT64_MAX
#define PASTA_NO_LAUNCH UINT64_MAX

enum pasta_where_flags {
	PASTA_WHERE_LAUNCH = 1, /* the event is work whose launch is known */
	/* an earlier event of work has already matched the launch, and the launch does not start a
	 * graph */
	PASTA_WHERE_REPEATED = 2,
	/* The event is in an operator of the backward pass; `python` and `module` are those of the
	 * forward operator. */
	PASTA_WHERE_BACKWARD = 4,
	/* The reader no longer has the launch of the event's work, because too many events came in
	 * between. The reader has delivered PASTA_KIND_UNMATCHED for that launch. If BACKWARD is
	 * set, too, the forward operator is unknown. */
	PASTA_WHERE_EXPIRED = 8,
};

/*
 * The scope and the launch to which an event belongs. Work on a device (kernels, copies, fills, and
 * events about them) belongs to the scope in which it was launched. Any other event belongs to the
 * current scope of its thread. The begin and end of a region or operator belong to that region or
 * operator.
 */
struct pasta_where {
	uint32_t size;
	uint32_t flags; /* of enum pasta_where_flags */
	/* the innermost region or operator; NULL if there is none or it is unknown */
	const struct pasta_scope *scope;
	/* for work of a graph: the scope in which the program captured the work into the graph, or
	 * NULL */
	const struct pasta_scope *capture;
	uint64_t iteration; /* index, or PASTA_NO_ITERATION */
	uint64_t op;	    /* id of the innermost operator, or 0 */
	/* time of the event's launch, or 0; if the event is a launch, its own time */
	uint64_t launched;
	/* The number of the launch among the launches of its process, from 0. An event without a
	 * launch has the number of the latest launch, or PASTA_NO_LAUNCH if there was none. */
	uint64_t launch;
	/* thread that launched the work; if the launch is unknown, the event's thread */
	uint32_t tid;
	uint32_t name;	/* of the launch, or 0 */
	uint32_t stack; /* of the launch, or 0 */
	/* Python call path of the launch or, if that was not recorded, of the innermost operator
	 * that has one; 0: not known */
	uint32_t python;
	uint32_t module;   /* interned path of the innermost known PyTorch module, or 0 */
	uint32_t scope_id; /* scope->id, or 0 */
	/*
	 * ns on the host, for the begin and end of regions and operators; 0 for other events. Each
	 * ns between the first and the last region or operator of a thread counts once. The end of
	 * an operator has the host self time: the ns in which the operator was the thread's
	 * innermost operator. The end of a region has the ns in which the thread was in no
	 * operator and the region was the innermost region. A begin has the ns between the thread's
	 * previous region or operator and this one, or 0 if this one begins inside another one. If
	 * the reader supplied an end, the true time is not known.
	 */
	uint64_t self;
};

/*
 * Returns the Python call path of an event, for pasta_stack_frames; 0 if it is not known. If the
 * path of the event or of its launch comes from an interpreter, that path is returned; if not, the
 * path of the operator, where->python. For an operator of the backward pass, where->python is the
 * path of the forward operator, if the forward operator is known. The reader matches backward and
 * forward operators by sequence number, among the last 2^20 operators of a process, or fewer with
 * 16 processes or more. The tool must have the needs PASTA_NEED_SCOPES and PASTA_NEED_OPS. Pass the
 * `where` that came with the event.
 */
PASTA_EXPORT uint32_t pasta_python_of(const struct pasta_event *ev,
				      const struct pasta_where *where);

/* What a tool needs, in addition to its kinds of events. */
enum pasta_need {
	PASTA_NEED_SCOPES = 1, /* pasta_where: launches, regions, iterations */
	/* operators in pasta_where; without this need, pasta_where may have no operators */
	PASTA_NEED_OPS = 2,
	/* Expensive data, which `accelprof run` records only for tools that need it. A run that was
	 * recorded for other tools may have some or none of this data. */
	/* Python functions and lines; the same as accelprof run --stacks python */
	PASTA_NEED_PYTHON = 4,
	PASTA_NEED_MODULES = 8, /* PyTorch modules; the same as accelprof run --stacks modules */
	/* Memory accesses: the tables of the reducers, in the order of enum pasta_reducer, or raw
	 * accesses (access_batch). With any of these needs, the tool also receives object, site and
	 * access_launch events. */
	PASTA_NEED_ACCESS_OBJECT = 16,
	PASTA_NEED_ACCESS_PAGE = 32,
	PASTA_NEED_ACCESS_SITE = 64,
	PASTA_NEED_ACCESS_SITE_OBJECT = 128,
	PASTA_NEED_ACCESS_COALESCE = 256,
	PASTA_NEED_ACCESS_DIVERGE = 512,
	PASTA_NEED_ACCESS_BLOCK = 1024,
	PASTA_NEED_ACCESS_TENSOR = 2048,
	/* the table of the tool's own reducer; a tool with this need cannot have the tables of
	 * other reducers */
	PASTA_NEED_ACCESS_OWN = 4096,
	PASTA_NEED_ACCESS_BARRIER = 8192,
	PASTA_NEED_ACCESS_RAW = 16384,
	/* The tool needs the accesses of every launch. Valid only with a PASTA_NEED_ACCESS_*.
	 * `accelprof run` disables the sampling of launches, and the tool cannot report a run
	 * with sampled launches. The user may still exclude accesses with run --kernel and
	 * --sample blocks=1/N. */
	PASTA_NEED_EVERY_LAUNCH = 32768,
};

enum pasta_tool_flags {
	/* The tool has one state for each shard. The framework merges groups, series, windows,
	 * ledgers and access indexes in the order of shards, and then calls the tool's `merge` for
	 * everything else in the state. A tool with `merge` is always sharded. */
	PASTA_TOOL_SHARDED = 1,
};

/*
 * The descriptor of a tool.
 *
 * `name` consists of a-z, 0-9, _ and -; `summary` is one line. `options` is NULL, or a list of at
 * most 64 options that ends with a NULL name; names of options have the same characters as `name`.
 * Summaries and defaults have no control characters. `charts` is the mask of the chart types that
 * the tool may report, such as PASTA_CHART_MASK(FLAME); the tool's help lists these types.
 *
 * `event` is required, unless the tool has a ledger, an access index or a diagnosis. `report` is
 * required, unless the tool has groups: without `report`, all groups are shown in their order.
 * `open`, `merge` and `close` may be NULL. `events` is a mask of PASTA_MASK(KIND), and must not be
 * 0 if there is an event function. The mask need not include kinds that only the ledger, the access
 * index or the diagnosis reads. These three receive an event before the event function does. ev is
 * valid only during the call, and ev->size bytes long: pasta_event_copy makes a copy.
 *
 * `state` points to state_size zeroed bytes, at most 1 GiB. A tool that is not sharded has one
 * state, which receives all events of the run in order. A sharded tool may have one state for each
 * shard, which receives the shard's events in order; the states are merged in the order of shards,
 * before `report`. `merge` must not retain pointers into the state `from`, which is closed soon
 * after. Different threads use different states at the same time: do not write to data that states
 * share. `close` is called once for each state, also after a failed `open`, but not after a crash.
 * Before `accelprof run` starts the program, it opens and closes a state in a separate process; if
 * `open` fails, accelprof does not start the program.
 *
 * A tool must not call exit, nor start threads that use the SDK. Plug-ins run in processes of their
 * own: if a tool crashes, calls exit or does not return, only that tool fails, and the report names
 * it.
 *
 * Events come in order of time, with two exceptions. An event that was written too late may have an
 * earlier time than its predecessor, even within a shard; the report counts such events as "late".
 * The ends of regions and operators that never ended come after all other events, with the last
 * time of their process. Work on a device may seem to begin before its launch, because clocks
 * differ: the reader matches the two if the launch is at most 10 ms later.
 *
 * Regions and operators come in pairs of begin and end: the reader supplies missing ends, and the
 * innermost region or operator ends first. Each end has the name, domain and depth of its begin,
 * and the flags PASTA_REGION_* of event.h. Regions nest in regions and operators in operators, but
 * a region may end before an operator that began in it, and vice versa. The reader drops the end of
 * an operator that has not begun, and the end of a region that ended earlier with an outer region.
 */
struct pasta_tool {
	/* `size`, api_major and api_minor come first in all versions of this struct. */
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
	/* The groups, series and so on that the framework creates in the tool's state. Each list
	 * ends with an entry of size 0; NULL: an empty list. */
	const struct pasta_group_def *groups;	/* rows by key (group.h) */
	const struct pasta_series_def *series;	/* time series (series.h) */
	const struct pasta_window_def *windows; /* windows (series.h) */
	const struct pasta_ledger_def *ledger;	/* one ledger: allocations (ledger.h) */
	const struct pasta_access_index_def
		*accesses; /* one access index, for memory accesses (access.h) */
	int (*open)(void *state, const struct pasta_opts *opts, struct pasta_error *err);
	void (*event)(void *state, const struct pasta_event *ev, const struct pasta_where *where);
	int (*merge)(void *into, const void *from, struct pasta_error *err);
	int (*report)(void *state, struct pasta_out *out, struct pasta_error *err);
	void (*close)(void *state);
	/* The file name of the tool's reducer, in the folder of the tool
	 * (docs/writing-a-reducer.md). If the tool has an option named `reducer`, the value of
	 * that option is the path of the reducer instead. Required with PASTA_NEED_ACCESS_OWN,
	 * else NULL. */
	const char *reducer;
	/* the diagnosis, which all tools share (diagnosis.h); NULL: the tool does not use it */
	const struct pasta_diagnosis_def *diagnosis;
};

/* Registers a descriptor while its library is loaded. The descriptor must exist until the
 * process ends. If a descriptor is not valid, accelprof prints the reason and ignores the tool.
 * A library may register several descriptors. */
PASTA_EXPORT void pasta_tool_register(const struct pasta_tool *tool);

/* Initializes the size and version members of a descriptor, for tools that call
 * pasta_tool_register. */
#define PASTA_TOOL_HEAD                                                                            \
	.size = sizeof(struct pasta_tool), .api_major = PASTA_API_MAJOR,                           \
	.api_minor = PASTA_API_MINOR, .option_size = sizeof(struct pasta_option)

/* Defines and registers a tool; end it with a semicolon. C++ needs C++20 or later, and
 * initializers in the order of the struct. Omitted members are 0; the pragma disables the
 * warning of g++ about them. */
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
