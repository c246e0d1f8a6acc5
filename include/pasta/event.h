/* event.h - the event record: what handlers emit, shards store and tools see. */
#ifndef PASTA_EVENT_H
#define PASTA_EVENT_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PASTA_EXPORT
#define PASTA_EXPORT __attribute__((visibility("default")))
#endif

typedef uint32_t pasta_type_u32;
typedef uint64_t pasta_type_u64;
typedef int64_t pasta_type_i64;
typedef double pasta_type_f64;
typedef uint32_t pasta_type_str;
typedef uint32_t pasta_type_ref;

/* The kinds: PASTA_KIND_LAUNCH, PASTA_KIND_KERNEL, ... */
enum pasta_kind {
	PASTA_KIND_NONE = 0,
#define KIND(number, NAME, name, summary, ...) PASTA_KIND_##NAME = number,
#define FIELD(...)
#include <pasta/events.def>
#undef KIND
#undef FIELD
	/*
	 * For tools only, never on disk: a launch whose work has no record. The record is that of
	 * the launch (ev->launch), and so is its time. It comes directly after the launch if the
	 * process does not record that kind of work, and otherwise when the process ends, or when
	 * too many launches wait for their work. Launches of a graph never have one.
	 */
	PASTA_KIND_UNMATCHED = 34,
	PASTA_KIND_MAX = 64,
};

#define PASTA_MASK(NAME) (UINT64_C(1) << PASTA_KIND_##NAME)

/* A record a kind: struct pasta_launch_record, struct pasta_kernel_record, ... */
#define KIND(number, NAME, name, summary, ...)                                                     \
	struct pasta_##name##_record {                                                             \
		__VA_ARGS__                                                                        \
	};
#define FIELD(kind, type, name, summary) pasta_type_##type name;
#include <pasta/events.def>
#undef KIND
#undef FIELD

/*
 * An event. size is that of the whole record, a multiple of 8. time is when it began, in the
 * clock of its source while it is collected and in ns of CLOCK_REALTIME where tools see it.
 * proc and source are filled in by the reader: the number of the shard in the run, and of the
 * ring in the shard. Where a tool is given one it is size bytes long, not
 * sizeof(struct pasta_event), and valid only during the call: pasta_event_copy makes a copy that
 * lasts.
 */
struct pasta_event {
	uint16_t size;
	uint8_t kind;
	uint8_t sub;
	uint32_t tid;
	uint64_t time;
	uint32_t proc;
	uint32_t source;
	union {
#define KIND(number, NAME, name, summary, ...) struct pasta_##name##_record name;
#define FIELD(...)
#include <pasta/events.def>
#undef KIND
#undef FIELD
	};
};

#define PASTA_EVENT_HEAD 24
/* Bytes of a whole record, from its kind's name in lower case: PASTA_EVENT_SIZE(region). */
#define PASTA_EVENT_SIZE(name)                                                                     \
	((PASTA_EVENT_HEAD + sizeof(struct pasta_##name##_record) + 7) & ~(size_t)7)

/* Copy an event, which is ev->size bytes long and gone after the call; the rest of *to is zeroed.
 * Its ids stay valid. Any thread. */
static inline void pasta_event_copy(struct pasta_event *to, const struct pasta_event *ev)
{
	size_t size = ev->size < sizeof(*to) ? ev->size : sizeof(*to);

	memcpy(to, ev, size);
	memset((char *)to + size, 0, sizeof(*to) - size);
}

/* How long work on a device took: a kernel, a copy or a fill; 0 for other kinds. */
static inline uint64_t pasta_work_ns(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL ? ev->kernel.dur
	       : ev->kind == PASTA_KIND_COPY ? ev->copy.dur
	       : ev->kind == PASTA_KIND_SET  ? ev->set.dur
					     : 0;
}

/* A kind's name ("kernel"), or NULL for a number that no record has. */
PASTA_EXPORT const char *pasta_kind_name(unsigned int kind);

/* What a launch starts. */
enum pasta_launch_work {
	PASTA_LAUNCH_WORK_UNKNOWN, /* the source does not record it */
	PASTA_LAUNCH_WORK_KERNEL,
	PASTA_LAUNCH_WORK_COPY, /* maps of buffers, too */
	PASTA_LAUNCH_WORK_FILL,
	PASTA_LAUNCH_WORK_GRAPH, /* an executable graph: any number of kernels, copies and fills */
	PASTA_LAUNCH_WORK_HOST,	 /* a function of the host's, called in order of the stream */
};

/* Subtypes. 0 is the kind's unspecified subtype everywhere. */
enum pasta_region_sub {
	PASTA_REGION_BEGIN = 1,
	PASTA_REGION_END,
	PASTA_REGION_MARK,
	PASTA_REGION_UNMATCHED_END, /* for tools only: an end that ends nothing */
};
/* Flags of regions, set for tools only; but a source may supply an end itself, and say OUTER. */
enum pasta_region_flags {
	PASTA_REGION_SUPPLIED_LOSS = 1 << 16,  /* supplied: this begin, or this end, was dropped */
	PASTA_REGION_SUPPLIED_OUTER = 1 << 17, /* supplied: the end of an outer one ended it */
	/* supplied: it never ended; the time is the last of its process's regions, iterations and
	 * launches */
	PASTA_REGION_SUPPLIED_OPEN = 1 << 18,
};
enum pasta_op_flags {
	PASTA_OP_BACKWARD = 1,	 /* of the backward pass: its seq is its forward operator's */
	PASTA_OP_STACK_SAME = 2, /* its stack is that of the thread's operator before it */
};
/* For tools only: its end is missing, and its time is not the operator's. Sums leave it out. */
enum pasta_op_end_sub { PASTA_OP_END_SUPPLIED = 1 };
enum pasta_copy_sub {
	PASTA_COPY_H2D = 1,
	PASTA_COPY_D2H,
	PASTA_COPY_D2D,
	PASTA_COPY_H2H,
	PASTA_COPY_P2P,
	PASTA_COPY_MAP,
	PASTA_COPY_UNMAP,
};
enum pasta_alloc_sub {
	PASTA_ALLOC_DEVICE = 1,
	PASTA_ALLOC_HOST,
	PASTA_ALLOC_MANAGED,
	PASTA_ALLOC_POOL,
	PASTA_ALLOC_SEGMENT,
	PASTA_ALLOC_IMAGE,
	PASTA_ALLOC_PHYSICAL, /* memory without an address: addr is its handle */
	PASTA_ALLOC_MAPPED,   /* an address of such memory, which is its parent */
};
#define PASTA_ALLOC_TYPES (PASTA_ALLOC_MAPPED + 1)
enum pasta_alloc_flags {
	PASTA_ALLOC_EARLIER = 1,   /* before recording began, which is the event's time */
	PASTA_ALLOC_BY_DRIVER = 2, /* in an imported trace: a driver's, not a framework's */
};
/* The pool of PASTA_ALLOC_PHYSICAL, and of its end: handles are no addresses. */
#define PASTA_ALLOC_HANDLES UINT32_MAX
enum pasta_sync_sub {
	PASTA_SYNC_EVENT = 1,	/* the host waits for an event */
	PASTA_SYNC_STREAM_WAIT, /* a stream waits for an event: the host does not */
	PASTA_SYNC_STREAM,	/* the host waits for a stream */
	PASTA_SYNC_CONTEXT,	/* the host waits for all of a context or device */
};
enum pasta_uvm_sub {
	PASTA_UVM_TO_DEVICE = 1, /* memory moved from the host to a device */
	PASTA_UVM_TO_HOST,
	PASTA_UVM_BETWEEN,    /* from one device to another */
	PASTA_UVM_GPU_FAULT,  /* a device touched a page that it had not; count of them together */
	PASTA_UVM_CPU_FAULT,  /* the host did */
	PASTA_UVM_THRASHING,  /* memory moves to and fro; src is a mask of who wants it */
	PASTA_UVM_THROTTLING, /* src is made to wait, lest it should */
	PASTA_UVM_REMOTE_MAP, /* dst is to use the memory where it is */
};
/* In place of a device. Of faults, thrashing and throttling dst is the same as src. */
#define PASTA_UVM_HOST UINT32_MAX
enum pasta_api_sub {
	PASTA_API_RUNTIME = 1, /* what programs mostly call */
	PASTA_API_DRIVER,      /* what lies below it */
	PASTA_API_LIBRARY,     /* of communication, of decoders and so on */
};
enum pasta_link_sub {
	PASTA_LINK_BACKWARD = 1, /* from an operator's id to its backward's */
	PASTA_LINK_EXTERNAL,	 /* from an id of the program's own to a correlation */
};
enum pasta_tensor_sub {
	PASTA_TENSOR_NEW = 1, /* made since recording began */
	PASTA_TENSOR_FOUND,   /* nobody saw it made: nothing is said of its age */
};
enum pasta_op_arg_sub { PASTA_OP_ARG_IN = 1, PASTA_OP_ARG_OUT };
enum pasta_module_sub { PASTA_MODULE_LOAD = 1, PASTA_MODULE_UNLOAD };
/* The device of modules that are the host's: the program and its libraries. Their addr is what the
 * loader added to the file's addresses, their bytes reach to the end of the last segment, and their
 * crc is the first eight bytes of the GNU build id, the first one highest; 0 if there is none. */
#define PASTA_MODULE_HOST UINT32_MAX
enum pasta_access_launch_sub {
	PASTA_ACCESS_LAUNCH_COUNTED = 1,
	PASTA_ACCESS_LAUNCH_SAMPLED,  /* not counted: enough others of its shape are */
	PASTA_ACCESS_LAUNCH_FILTERED, /* not counted: the user did not ask for this kernel */
	PASTA_ACCESS_LAUNCH_REFUSED,  /* could not be counted: detail says why */
	PASTA_ACCESS_LAUNCH_LOST,     /* a counted launch again: accesses were dropped */
	/* A counted launch again: all its sums have been recorded; single accesses may follow. */
	PASTA_ACCESS_LAUNCH_ENDED,
};
/* Flags: an ENDED record follows a COUNTED one; LOST accesses are in the sums, but not in the file.
 */
#define PASTA_ACCESS_LAUNCH_ENDS 1u
#define PASTA_ACCESS_LAUNCH_RAW_DROPPED 2u
enum pasta_loss_sub {
	PASTA_LOSS_ACCOUNT = 0, /* nothing was dropped: an account of what was pushed */
	PASTA_LOSS_FULL,	/* the ring was full */
	PASTA_LOSS_NESTED,	/* a signal handler emitted while its thread was emitting */
	PASTA_LOSS_MEMORY,	/* no memory for the thread's ring */
	PASTA_LOSS_CLOSED,	/* the agent was failing or gone */
	PASTA_LOSS_SOURCE,	/* the vendor's library dropped it; accesses: they were lost */
	PASTA_LOSS_DEPTH,	/* regions nested too deep */
	PASTA_LOSS_RAW,		/* accesses that sums have: as single ones they were lost */
	PASTA_LOSS_COUNT,
};

/* A subtype's name ("h2d" of copies, "managed" of allocations and their frees); "unspecified" for
 * 0; NULL for a number that no subtype of the kind has. Any thread. */
PASTA_EXPORT const char *pasta_subtype_name(unsigned int kind, unsigned int sub);

#ifdef __cplusplus
}
#endif
#endif
