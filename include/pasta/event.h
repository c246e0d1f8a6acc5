/* event.h - defines the events that handlers emit, shards store and tools receive. */
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
	 * A launch whose work has no record. The reader creates this event for tools; it is never
	 * stored. The event has the time and the record of the launch (ev->launch). The event
	 * follows the launch directly if the process does not record that kind of work. If the
	 * process does, the event comes when the process ends, or when the reader drops the launch,
	 * because too many later launches lack the record of their work. The reader never creates
	 * this event for the launch of a graph.
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
 * An event. `size` is the size of the whole record, a multiple of 8. `time` is the start of the
 * event: in the clock of its source when a handler emits the event, and in ns of CLOCK_REALTIME
 * when a tool receives it. The reader sets `proc`, the number of the shard in the run, and
 * `source`, the number of the ring in the shard. An event that a tool receives is `size` bytes
 * long, which may be less than sizeof(struct pasta_event), and is valid only during the call;
 * pasta_event_copy makes a copy.
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
/* The size in bytes of a whole record of a kind. Write the kind's name in lower case:
 * PASTA_EVENT_SIZE(region). */
#define PASTA_EVENT_SIZE(name)                                                                     \
	((PASTA_EVENT_HEAD + sizeof(struct pasta_##name##_record) + 7) & ~(size_t)7)

/* Copies the ev->size bytes of an event, and zeroes the rest of *to. The copy, and the ids in it,
 * stay valid after the tool's callback returns. Any thread may call this function. */
static inline void pasta_event_copy(struct pasta_event *to, const struct pasta_event *ev)
{
	size_t size = ev->size < sizeof(*to) ? ev->size : sizeof(*to);

	memcpy(to, ev, size);
	memset((char *)to + size, 0, sizeof(*to) - size);
}

/* Returns the duration of a kernel, a copy or a fill. Returns 0 for other kinds. */
static inline uint64_t pasta_work_ns(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL ? ev->kernel.dur
	       : ev->kind == PASTA_KIND_COPY ? ev->copy.dur
	       : ev->kind == PASTA_KIND_SET  ? ev->set.dur
					     : 0;
}

/* Returns the name of a kind, such as "kernel", or NULL for an unknown number. */
PASTA_EXPORT const char *pasta_kind_name(unsigned int kind);

/* The type of work that a launch starts. */
enum pasta_launch_work {
	/* the source does not report what type of work the launch starts */
	PASTA_LAUNCH_WORK_UNKNOWN,
	PASTA_LAUNCH_WORK_KERNEL,
	PASTA_LAUNCH_WORK_COPY, /* includes maps of buffers */
	PASTA_LAUNCH_WORK_FILL,
	PASTA_LAUNCH_WORK_GRAPH, /* an executable graph: any number of kernels, copies and fills */
	/* a host function, which a stream calls in order with its other work */
	PASTA_LAUNCH_WORK_HOST,
};

/* Subtypes. In every kind, 0 is the unspecified subtype. */
enum pasta_region_sub {
	PASTA_REGION_BEGIN = 1,
	PASTA_REGION_END,
	PASTA_REGION_MARK,
	PASTA_REGION_UNMATCHED_END, /* for tools only: the end of a region whose begin was not
				       recorded */
};
/* Why the reader added the begin or end of a region that was not recorded. Events in shards do not
 * have these flags, with one exception: a source that adds an end itself sets SUPPLIED_OUTER. */
enum pasta_region_flags {
	/* the record of the region's begin or end was dropped */
	PASTA_REGION_SUPPLIED_LOSS = 1 << 16,
	PASTA_REGION_SUPPLIED_OUTER =
		1 << 17, /* the region ended because an enclosing region ended */
	/* the end of the region was not recorded; the event has the time of the last region,
	 * iteration or launch of its process */
	PASTA_REGION_SUPPLIED_OPEN = 1 << 18,
};
enum pasta_op_flags {
	/* an operator of the backward pass; its `seq` equals the `seq` of the forward
	 * operator */
	PASTA_OP_BACKWARD = 1,
	/* the operator has the same stack as the previous operator of its thread */
	PASTA_OP_STACK_SAME = 2,
};
/* For tools only: the operator's end was not recorded, so the reader added it. The event's time is
 * not the time at which the operator ended, so do not add the duration to sums. */
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
/* The type of memory at the source or destination of a copy. */
enum pasta_memory {
	PASTA_MEMORY_UNKNOWN,
	PASTA_MEMORY_PAGEABLE, /* ordinary memory of the host */
	PASTA_MEMORY_PINNED,   /* memory of the host that the device can access directly */
	PASTA_MEMORY_DEVICE,
	PASTA_MEMORY_ARRAY, /* an image or array of a device */
	PASTA_MEMORY_MANAGED,
};
enum pasta_alloc_sub {
	PASTA_ALLOC_DEVICE = 1,
	PASTA_ALLOC_HOST,
	PASTA_ALLOC_MANAGED,
	PASTA_ALLOC_POOL,
	PASTA_ALLOC_SEGMENT,
	PASTA_ALLOC_IMAGE,
	PASTA_ALLOC_PHYSICAL, /* memory that has no address; `addr` is a handle of the memory */
	PASTA_ALLOC_MAPPED,   /* an address range mapped to physical memory, which is its parent */
};
#define PASTA_ALLOC_TYPES (PASTA_ALLOC_MAPPED + 1)
enum pasta_alloc_flags {
	/* memory that was allocated before the recording; the time of the event is the start of the
	 * recording */
	PASTA_ALLOC_EARLIER = 1,
	PASTA_ALLOC_BY_DRIVER =
		2, /* in an imported trace: memory that a driver, not a framework, handed out */
};
/* The value of the field `pool` in allocations of type PASTA_ALLOC_PHYSICAL, and in the frees of
 * these allocations. Their field addr is a handle, not an address. */
#define PASTA_ALLOC_HANDLES UINT32_MAX
enum pasta_sync_sub {
	PASTA_SYNC_EVENT = 1,	/* the host waits for an event */
	PASTA_SYNC_STREAM_WAIT, /* a stream waits for an event; the host does not */
	PASTA_SYNC_STREAM,	/* the host waits for a stream */
	PASTA_SYNC_CONTEXT,	/* the host waits for all work of a context or device */
};
enum pasta_uvm_sub {
	PASTA_UVM_TO_DEVICE = 1, /* memory moved from the host to a device */
	PASTA_UVM_TO_HOST,
	PASTA_UVM_BETWEEN,   /* memory moved from one device to another */
	PASTA_UVM_GPU_FAULT, /* a device accessed pages that were not in its memory; `count` is the
			      * number of faults */
	PASTA_UVM_CPU_FAULT, /* the host accessed a page that was not in its memory */
	PASTA_UVM_THRASHING, /* memory moves back and forth between processors; `src` is a mask of
			      * these processors */
	/* the driver delays the accesses of the processor `src`, to prevent thrashing */
	PASTA_UVM_THROTTLING,
	/* the processor `dst` accesses the memory remotely, without moving it */
	PASTA_UVM_REMOTE_MAP,
};
/* The value of src or dst that stands for the host. Other values are numbers of devices. In events
 * about faults, thrashing and throttling, dst equals src. */
#define PASTA_UVM_HOST UINT32_MAX
enum pasta_api_sub {
	PASTA_API_RUNTIME = 1, /* the vendor's runtime API, such as the CUDA runtime */
	PASTA_API_DRIVER,      /* the vendor's driver API, below the runtime */
	/* other libraries, such as those for communication and for decoding */
	PASTA_API_LIBRARY,
};
enum pasta_link_sub {
	/* the record maps the id of an operator to the id of its backward operator */
	PASTA_LINK_BACKWARD = 1,
	/* the record maps an id that the program defines to a correlation id */
	PASTA_LINK_EXTERNAL,
};
enum pasta_tensor_sub {
	PASTA_TENSOR_NEW = 1, /* a tensor created after the recording started */
	/* a tensor whose creation was not recorded, so its age is not known */
	PASTA_TENSOR_FOUND,
};
enum pasta_op_arg_sub { PASTA_OP_ARG_IN = 1, PASTA_OP_ARG_OUT };
enum pasta_module_sub { PASTA_MODULE_LOAD = 1, PASTA_MODULE_UNLOAD };
/* The value of the field `device` for modules of the host: the program and its libraries. In
 * records of such modules, addr is the load bias, which the loader added to the file's addresses;
 * `bytes` is the size up to the end of the last segment; `crc` is the first eight bytes of the GNU
 * build id, as a big-endian number, or 0. */
#define PASTA_MODULE_HOST UINT32_MAX
enum pasta_access_launch_sub {
	PASTA_ACCESS_LAUNCH_COUNTED = 1,
	/* the launch was not counted: counted launches of the same shape represent it */
	PASTA_ACCESS_LAUNCH_SAMPLED,
	PASTA_ACCESS_LAUNCH_FILTERED, /* the launch was not counted: a filter excludes its kernel */
	/* the launch could not be counted; the field `detail` has the reason */
	PASTA_ACCESS_LAUNCH_REFUSED,
	PASTA_ACCESS_LAUNCH_LOST, /* accesses of a launch that was counted earlier were dropped */
	/* all sums of a launch that was counted earlier have been recorded; its raw accesses may
	 * follow */
	PASTA_ACCESS_LAUNCH_ENDED,
};
/* Flags of access_launch records. ENDS, in a COUNTED record: an ENDED record will follow.
 * RAW_DROPPED, in a LOST record: the accesses that the record counts are missing from the file of
 * raw accesses, but are included in the sums. */
#define PASTA_ACCESS_LAUNCH_ENDS 1u
#define PASTA_ACCESS_LAUNCH_RAW_DROPPED 2u
enum pasta_loss_sub {
	/* no event was dropped; the record only reports the number of stored events */
	PASTA_LOSS_ACCOUNT = 0,
	PASTA_LOSS_FULL, /* the ring was full */
	/* a signal handler emitted an event while its thread was emitting another event */
	PASTA_LOSS_NESTED,
	PASTA_LOSS_MEMORY, /* there was no memory for the thread's ring */
	PASTA_LOSS_CLOSED, /* the agent had already failed or ended */
	PASTA_LOSS_SOURCE, /* the vendor's library dropped records, or memory accesses were dropped
			    */
	PASTA_LOSS_DEPTH,  /* regions were nested too deep */
	PASTA_LOSS_RAW,	   /* raw accesses were dropped, but the sums include them */
	PASTA_LOSS_COUNT,
};

/* Returns the name of a subtype, such as "h2d" for copies or "managed" for allocations and frees.
 * Returns "unspecified" for 0, and NULL for an unknown number. Any thread may call this
 * function. */
PASTA_EXPORT const char *pasta_subtype_name(unsigned int kind, unsigned int sub);
/* Returns the name of a type of memory (enum pasta_memory), such as "pageable". Returns
 * "unspecified" for 0, and NULL for an unknown number. Any thread may call this function. */
PASTA_EXPORT const char *pasta_memory_name(unsigned int memory);

#ifdef __cplusplus
}
#endif
#endif
