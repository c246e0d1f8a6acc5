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
	 * For tools only, never on disk: a launch whose work has no record. The record and the time
	 * are the launch's (ev->launch). The event follows the launch directly if the process does
	 * not record that kind of work; otherwise it comes when the process ends, or when too many
	 * launches wait for their work. Launches of graphs never have one.
	 */
	PASTA_KIND_UNMATCHED = 34,
	PASTA_KIND_MAX = 64,
};

#define PASTA_MASK(NAME) (UINT64_C(1) << PASTA_KIND_##NAME)

/* The record of each kind: struct pasta_launch_record, struct pasta_kernel_record, ... */
#define KIND(number, NAME, name, summary, ...)                                                     \
	struct pasta_##name##_record {                                                             \
		__VA_ARGS__                                                                        \
	};
#define FIELD(kind, type, name, summary) pasta_type_##type name;
#include <pasta/events.def>
#undef KIND
#undef FIELD

/*
 * An event. size is the size of the whole record, a multiple of 8. time is its begin: in the clock
 * of its source while it is collected, and in ns of CLOCK_REALTIME for tools. The reader fills in
 * proc, the number of the shard in the run, and source, the number of the ring in the shard. A tool
 * receives an event of size bytes, not sizeof(struct pasta_event), which is valid only during the
 * call: pasta_event_copy makes a copy.
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
/* The bytes of a whole record of a kind, named in lower case: PASTA_EVENT_SIZE(region). */
#define PASTA_EVENT_SIZE(name)                                                                     \
	((PASTA_EVENT_HEAD + sizeof(struct pasta_##name##_record) + 7) & ~(size_t)7)

/* Copies an event of ev->size bytes, which is valid only during the call, and zeroes the rest of
 * *to. Its ids stay valid. Any thread. */
static inline void pasta_event_copy(struct pasta_event *to, const struct pasta_event *ev)
{
	size_t size = ev->size < sizeof(*to) ? ev->size : sizeof(*to);

	memcpy(to, ev, size);
	memset((char *)to + size, 0, sizeof(*to) - size);
}

/* Returns the duration of work on a device: a kernel, a copy or a fill; 0 for other kinds. */
static inline uint64_t pasta_work_ns(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL ? ev->kernel.dur
	       : ev->kind == PASTA_KIND_COPY ? ev->copy.dur
	       : ev->kind == PASTA_KIND_SET  ? ev->set.dur
					     : 0;
}

/* Returns a kind's name ("kernel"), or NULL for an unknown number. */
PASTA_EXPORT const char *pasta_kind_name(unsigned int kind);

/* The work that a launch starts. */
enum pasta_launch_work {
	PASTA_LAUNCH_WORK_UNKNOWN, /* the source does not record it */
	PASTA_LAUNCH_WORK_KERNEL,
	PASTA_LAUNCH_WORK_COPY, /* includes maps of buffers */
	PASTA_LAUNCH_WORK_FILL,
	PASTA_LAUNCH_WORK_GRAPH, /* an executable graph: any number of kernels, copies and fills */
	PASTA_LAUNCH_WORK_HOST,	 /* a host function, called in stream order */
};

/* Subtypes. In every kind, 0 is the unspecified subtype. */
enum pasta_region_sub {
	PASTA_REGION_BEGIN = 1,
	PASTA_REGION_END,
	PASTA_REGION_MARK,
	PASTA_REGION_UNMATCHED_END, /* for tools only: an end without a begin */
};
/* Flags of regions that the reader supplied, for tools only. A source may supply an end itself,
 * with SUPPLIED_OUTER. */
enum pasta_region_flags {
	PASTA_REGION_SUPPLIED_LOSS = 1 << 16,  /* this begin or end was dropped */
	PASTA_REGION_SUPPLIED_OUTER = 1 << 17, /* the end of an outer region ended it */
	/* it never ended; the time is the last of its process's regions, iterations and launches */
	PASTA_REGION_SUPPLIED_OPEN = 1 << 18,
};
enum pasta_op_flags {
	PASTA_OP_BACKWARD = 1,	 /* in the backward pass: seq is the forward operator's */
	PASTA_OP_STACK_SAME = 2, /* has the stack of the thread's previous operator */
};
/* For tools only: the end is missing, and its time is not the operator's. Leave it out of sums. */
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
	PASTA_ALLOC_MAPPED,   /* an address of physical memory, which is its parent */
};
#define PASTA_ALLOC_TYPES (PASTA_ALLOC_MAPPED + 1)
enum pasta_alloc_flags {
	PASTA_ALLOC_EARLIER = 1,   /* allocated before the recording, whose begin is its time */
	PASTA_ALLOC_BY_DRIVER = 2, /* in an imported trace: by a driver, not by a framework */
};
/* The pool of PASTA_ALLOC_PHYSICAL and of its frees, whose handles are not addresses. */
#define PASTA_ALLOC_HANDLES UINT32_MAX
enum pasta_sync_sub {
	PASTA_SYNC_EVENT = 1,	/* the host waits for an event */
	PASTA_SYNC_STREAM_WAIT, /* a stream waits for an event; the host does not */
	PASTA_SYNC_STREAM,	/* the host waits for a stream */
	PASTA_SYNC_CONTEXT,	/* the host waits for all of a context or device */
};
enum pasta_uvm_sub {
	PASTA_UVM_TO_DEVICE = 1, /* memory moved from the host to a device */
	PASTA_UVM_TO_HOST,
	PASTA_UVM_BETWEEN,    /* from one device to another */
	PASTA_UVM_GPU_FAULT,  /* a device accessed pages that it did not have: count faults */
	PASTA_UVM_CPU_FAULT,  /* the host accessed pages that it did not have */
	PASTA_UVM_THRASHING,  /* memory moves back and forth; src is a mask of the processors */
	PASTA_UVM_THROTTLING, /* the driver delays src, to prevent thrashing */
	PASTA_UVM_REMOTE_MAP, /* dst accesses the memory remotely */
};
/* The host, in place of a device. For faults, thrashing and throttling, dst equals src. */
#define PASTA_UVM_HOST UINT32_MAX
enum pasta_api_sub {
	PASTA_API_RUNTIME = 1, /* such as the CUDA runtime */
	PASTA_API_DRIVER,      /* the layer below the runtime */
	PASTA_API_LIBRARY,     /* other libraries: communication, decoders and so on */
};
enum pasta_link_sub {
	PASTA_LINK_BACKWARD = 1, /* from an operator's id to its backward operator's */
	PASTA_LINK_EXTERNAL,	 /* from an id of the program to a correlation id */
};
enum pasta_tensor_sub {
	PASTA_TENSOR_NEW = 1, /* created since the recording began */
	PASTA_TENSOR_FOUND,   /* its creation was not recorded: its age is unknown */
};
enum pasta_op_arg_sub { PASTA_OP_ARG_IN = 1, PASTA_OP_ARG_OUT };
enum pasta_module_sub { PASTA_MODULE_LOAD = 1, PASTA_MODULE_UNLOAD };
/* The device of host modules: the program and its libraries. addr is the load bias, which the
 * loader added to the file's addresses; bytes reaches to the end of the last segment; crc is the
 * first eight bytes of the GNU build id, as a big-endian number, or 0. */
#define PASTA_MODULE_HOST UINT32_MAX
enum pasta_access_launch_sub {
	PASTA_ACCESS_LAUNCH_COUNTED = 1,
	PASTA_ACCESS_LAUNCH_SAMPLED,  /* not counted: other launches of its shape stand for it */
	PASTA_ACCESS_LAUNCH_FILTERED, /* not counted: a filter excludes this kernel */
	PASTA_ACCESS_LAUNCH_REFUSED,  /* could not be counted: detail has the reason */
	PASTA_ACCESS_LAUNCH_LOST,     /* of an earlier counted launch: accesses were dropped */
	/* Of an earlier counted launch: all its sums are recorded; raw accesses may follow. */
	PASTA_ACCESS_LAUNCH_ENDED,
};
/* Flags: an ENDED record will follow this COUNTED one; the LOST accesses are in the sums, but not
 * in the file of raw accesses. */
#define PASTA_ACCESS_LAUNCH_ENDS 1u
#define PASTA_ACCESS_LAUNCH_RAW_DROPPED 2u
enum pasta_loss_sub {
	PASTA_LOSS_ACCOUNT = 0, /* nothing was dropped: the record only counts what was pushed */
	PASTA_LOSS_FULL,	/* the ring was full */
	PASTA_LOSS_NESTED,	/* a signal handler emitted while its thread was emitting */
	PASTA_LOSS_MEMORY,	/* no memory for the thread's ring */
	PASTA_LOSS_CLOSED,	/* the agent had failed or ended */
	PASTA_LOSS_SOURCE,	/* the vendor's library dropped records, or accesses were dropped */
	PASTA_LOSS_DEPTH,	/* regions nested too deep */
	PASTA_LOSS_RAW,		/* raw accesses were dropped; the sums include them */
	PASTA_LOSS_COUNT,
};

/* Returns a subtype's name ("h2d" for copies, "managed" for allocations and frees); "unspecified"
 * for 0; NULL for an unknown number. Any thread. */
PASTA_EXPORT const char *pasta_subtype_name(unsigned int kind, unsigned int sub);

#ifdef __cplusplus
}
#endif
#endif
