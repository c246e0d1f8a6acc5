/*
 * tool.h - a tool's descriptor, and all that a tool sees.
 *
 * A tool is one file with one PASTA_TOOL descriptor. It gets events, in order of time, and reports
 * tables, charts and findings; every output format is made from those.
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

/* What an option's value looks like. It is checked before the tool is opened. */
enum pasta_option_type {
	PASTA_OPTION_TEXT = 0,
	PASTA_OPTION_NUMBER, /* "20" */
	PASTA_OPTION_YES_NO, /* "yes", "no" */
	PASTA_OPTION_TIME,   /* "10ms", "1.5s", "1h", "0": in ns, us, ms, s, min or h */
	PASTA_OPTION_SIZE,   /* "64M", "1GiB", "4096": in bytes, or 1024, 1024^2, ... of them */
};

/* A tool's options, and its help. value is the default, of the option's type; NULL: none. */
struct pasta_option {
	const char *name, *value, *summary;
	enum pasta_option_type type;
};
struct pasta_opts;
/* The value as text, for every type; NULL if there is no such option, or no value. */
PASTA_EXPORT const char *pasta_opt(const struct pasta_opts *opts, const char *name);
/* A number, a time in ns, a size in bytes; whether it is "yes". 0 if there is no such option, no
 * value, or it is of another type. */
PASTA_EXPORT uint64_t pasta_opt_u64(const struct pasta_opts *opts, const char *name);
PASTA_EXPORT int pasta_opt_yes(const struct pasta_opts *opts, const char *name);

/*
 * A place in the nesting of a thread's regions and operators. There is one object for each path of
 * names, whatever the process and thread, so that places are compared by their address, and id is
 * a key for maps. They live as long as the process; any thread.
 */
struct pasta_scope {
	const struct pasta_scope *up;	       /* around it; NULL: it is the outermost */
	const struct pasta_scope *region, *op; /* the innermost, itself included; or NULL */
	/* The same regions without the operators between them, which is one place whatever those
	 * are; or NULL. What is up of it is a path, too. */
	const struct pasta_scope *path;
	/* The same operators without the regions between them; or NULL. */
	const struct pasta_scope *ops;
	uint32_t id;	/* from 1; in no order */
	uint32_t name;	/* interned; 0: it has none */
	uint32_t depth; /* from 1, up to 16384: what is deeper is there */
	uint32_t kind;	/* PASTA_KIND_REGION or PASTA_KIND_OP_BEGIN */
};

/* By its id; NULL if there is none. Any thread. */
PASTA_EXPORT const struct pasta_scope *pasta_scope_find(uint32_t id);
/* The names of the regions around and at a place, "train/forward"; "" for NULL. Cut at size, and
 * returned. Any thread. */
PASTA_EXPORT const char *pasta_scope_regions(const struct pasta_scope *scope, char *text,
					     size_t size);
/* Likewise the names of the operators, "aten::linear/aten::addmm". */
PASTA_EXPORT const char *pasta_scope_ops(const struct pasta_scope *scope, char *text, size_t size);

#define PASTA_NO_ITERATION UINT64_MAX
#define PASTA_NO_LAUNCH UINT64_MAX

enum pasta_where_flags {
	PASTA_WHERE_LAUNCH = 1,	  /* the launch of this work is known */
	PASTA_WHERE_REPEATED = 2, /* the launch has other work already, and is not of a graph */
	/* An operator of the backward pass: python and module are its forward operator's. */
	PASTA_WHERE_BACKWARD = 4,
	/* Too many came since: with BACKWARD, the forward operator is no longer known; without it,
	 * the launch of this work is not, and PASTA_KIND_UNMATCHED was delivered for it. */
	PASTA_WHERE_EXPIRED = 8,
};

/*
 * Where an event belongs: work on a device (kernels, copies, fills, and what is said of them) to
 * where it was launched, all else to where its thread was. The end of a region or an operator
 * belongs to what it ends, as did its begin.
 */
struct pasta_where {
	uint32_t size;
	uint32_t flags;			   /* of enum pasta_where_flags */
	const struct pasta_scope *scope;   /* NULL: in no region or operator, or not known */
	const struct pasta_scope *capture; /* graph work: where its node was captured, or NULL */
	uint64_t iteration;		   /* its index, or PASTA_NO_ITERATION */
	uint64_t op;			   /* id of the innermost operator, or 0 */
	uint64_t launched;		   /* time of its launch, or 0; of a launch, its own time */
	/* The number of its launch among those of its process, from 0; for events that are no work
	 * of a launch, that of the latest one; or PASTA_NO_LAUNCH. */
	uint64_t launch;
	uint32_t tid;	   /* its thread: the launch's, or the event's where no launch is known */
	uint32_t name;	   /* of the launch, or 0 */
	uint32_t stack;	   /* of the launch, or 0 */
	uint32_t python;   /* call path of the innermost operator that has one, or 0 */
	uint32_t module;   /* interned path of the innermost operator's known module, or 0 */
	uint32_t scope_id; /* scope->id, or 0 */
};

/*
 * The call path in Python that an event comes from, for pasta_stack_frames; 0: not known. It is the
 * event's own or its launch's, if that is an interpreter's, or else its operator's, where->python.
 * In the backward pass it is where the forward operator was called, if that is known, whatever the
 * thread was doing: operators are joined by their sequence number, the last 2^20 of a process, or
 * fewer where there are 16 processes or more. The tool's needs must have PASTA_NEED_SCOPES and
 * PASTA_NEED_OPS. where is the one that came with the event.
 */
PASTA_EXPORT uint32_t pasta_python_of(const struct pasta_event *ev,
				      const struct pasta_where *where);

/* What a tool needs, beside its kinds of events. */
enum pasta_need {
	PASTA_NEED_SCOPES = 1, /* pasta_where: launches, regions, iterations */
	PASTA_NEED_OPS = 2,    /* and operators in it; without it, there may be some or none */
	/* What run is to record that costs more; in a run without it there may be some or none. */
	PASTA_NEED_PYTHON = 4,	/* Python's functions and lines, as run --stacks python */
	PASTA_NEED_MODULES = 8, /* modules of models, as run --stacks modules */
	/* Memory accesses: a table of enum pasta_reducer each, in the order of that; or each access
	 * by itself (access_batch). With any of them come object, site and access_launch. */
	PASTA_NEED_ACCESS_OBJECT = 16,
	PASTA_NEED_ACCESS_PAGE = 32,
	PASTA_NEED_ACCESS_SITE = 64,
	PASTA_NEED_ACCESS_SITE_OBJECT = 128,
	PASTA_NEED_ACCESS_COALESCE = 256,
	PASTA_NEED_ACCESS_DIVERGE = 512,
	PASTA_NEED_ACCESS_BLOCK = 1024,
	PASTA_NEED_ACCESS_TENSOR = 2048,
	PASTA_NEED_ACCESS_OWN = 4096, /* by the tool's own reducer; none but it */
	PASTA_NEED_ACCESS_BARRIER = 8192,
	PASTA_NEED_ACCESS_RAW = 16384,
	/* Accesses of every launch are counted, not sampled; only with a PASTA_NEED_ACCESS_*. run
	 * turns sampling of launches off; a run that sampled them is refused. What run --kernel
	 * and --sample blocks=1/N leave out is the user's choice. */
	PASTA_NEED_EVERY_LAUNCH = 32768,
};

enum pasta_tool_flags {
	/* A state a shard, merged in the order of shards. What is in no group has to be merged by
	 * the tool's merge, which is called when the groups have been. A tool with merge need not
	 * say so. */
	PASTA_TOOL_SHARDED = 1,
};

/*
 * A tool. Its name is of a-z, 0-9, _ and -, its summary one line. state is state_size zeroed bytes,
 * 1 GiB at most. event is a must, but with a ledger or a book alone; and report, where there are no
 * groups: without it all groups are shown, in their order. open, merge and close may be NULL.
 * events is a mask of PASTA_MASK(KIND), of one at least where there is event; what a ledger or a
 * book takes need not be in it, and comes to them first. ev is valid only during the call, and
 * ev->size bytes long: pasta_event_copy keeps it. Without merge one state gets the whole run in
 * order; with it, there may be a state a shard, each in that shard's order, merged before report,
 * in the order of shards. merge must keep nothing that is from's: it is closed soon after.
 * Different states are used by different threads at the same time: what they share must not be
 * written. close is called once for each state that was made, also after open failed, but not after
 * a crash. accelprof run opens and closes a state before the program starts, in a process of its
 * own: if open fails there, the program is not started. A tool must not call exit, nor start
 * threads that use the SDK. options ends with a NULL name, or is NULL; there are 64 at most, with
 * names like the tool's. Summaries and defaults have no control characters. charts is a mask, such
 * as PASTA_CHART_MASK(FLAME), of the types that it may report: help says so. Plug-ins run in
 * processes of their own: one that crashes, calls exit or does not return is left out and named;
 * the others go on.
 *
 * Events come in order of time; but where some were written too late to be put in order, time goes
 * back a little, within a shard too: the account says how many ("late"). And the ends of what never
 * ended come last of all, with the last time of their process. Work on a device that seems to begin
 * before its launch, for clocks differ, knows it all the same, if the launch is at most 10 ms
 * later. Regions and operators come as pairs: an end that is missing is supplied, ends come from
 * the inside out, and each end has the name, the domain, the depth and the flags of PASTA_REGION_*
 * in event.h. Regions nest in regions and operators in operators, but a region may end before an
 * operator that began in it, or the other way round. Two kinds of ends do not come: that of an
 * operator which has not begun; and, by name, that of a region which the end of an outer one has
 * ended.
 */
struct pasta_tool {
	/* These three are first in every version. */
	uint32_t size;		       /* of this struct; set by PASTA_TOOL */
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
	/* What the framework owns in the tool's state. Lists end with size 0; NULL: none. */
	const struct pasta_group_def *groups;	       /* rows by key (group.h) */
	const struct pasta_series_def *series;	       /* time series (series.h) */
	const struct pasta_window_def *windows;	       /* windows (series.h) */
	const struct pasta_ledger_def *ledger;	       /* one: what is allocated (ledger.h) */
	const struct pasta_access_index_def *accesses; /* one: memory accesses (access.h) */
	int (*open)(void *state, const struct pasta_opts *opts, struct pasta_error *err);
	void (*event)(void *state, const struct pasta_event *ev, const struct pasta_where *where);
	int (*merge)(void *into, const void *from, struct pasta_error *err);
	int (*report)(void *state, struct pasta_out *out, struct pasta_error *err);
	void (*close)(void *state);
	/* The file of its reducer, beside the tool's own (docs/writing-a-reducer.md); a value of
	 * its option reducer, if it has one, is a path instead. Required with
	 * PASTA_NEED_ACCESS_OWN, else NULL. */
	const char *reducer;
};

/* Make the descriptor known, when the file is loaded. It must live for ever. What is wrong with it
 * is told by accelprof, and the tool is left out. Any number of them in a library. */
PASTA_EXPORT void pasta_tool_register(const struct pasta_tool *tool);

/* The members that describe the descriptor itself, for one that is registered by hand. */
#define PASTA_TOOL_HEAD                                                                            \
	.size = sizeof(struct pasta_tool), .api_major = PASTA_API_MAJOR,                           \
	.api_minor = PASTA_API_MINOR, .option_size = sizeof(struct pasta_option)

/* In C++, from C++20 on, fields are given in the order of the struct; those that are left out are
 * 0 in both languages, which g++ alone finds worth a warning. Ends with a semicolon. */
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
