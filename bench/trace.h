/* trace.h - accelprof-gen-trace: generates traces as PyTorch's profiler writes them, with known
 * sums. */
#ifndef PASTA_BENCH_TRACE_H
#define PASTA_BENCH_TRACE_H

#include "gen.h"

/* -- trace_model.c: a training step as a table. A row is inside the last row above it that is less
 * deep. A part continues where the last one ended, so that open rows stay open. */

enum trace_kind {
	TRACE_PART,
	TRACE_PYTHON,
	TRACE_MODULE,  /* number: which of `of` in a layer */
	TRACE_OP,      /* number: its collective, from 1; 0: none */
	TRACE_GRAD_OP, /* an operator with a sequence number */
	TRACE_REGION,
	TRACE_CALL,   /* number: enum trace_call; submits no work */
	TRACE_WAIT,   /* the same, but waits for the device */
	TRACE_KERNEL, /* number: for trace_kernel(); of: the call that launches it */
	TRACE_COPY,   /* number: enum trace_copy */
	TRACE_SET,
	TRACE_ALLOC,
	TRACE_FREE, /* number: how many, last first; 0: all */
};

enum trace_part {
	TRACE_DATA,
	TRACE_EMBED,
	TRACE_LAYER,
	TRACE_HEAD,
	TRACE_BACKWARD,
	TRACE_GRAD_HEAD,
	TRACE_GRAD_LAYER,
	TRACE_BUCKET,
	TRACE_GRAD_EMBED,
	TRACE_CLIP,
	TRACE_UPDATE,
	TRACE_GATHER,
	TRACE_LOSS,
	TRACE_SYNC,
	TRACE_STEP,
	TRACE_PARTS,
};

struct trace_node {
	uint8_t kind, depth, number, of;
	uint32_t bytes;
	const char *name;
	const char *in; /* inputs, see trace_inputs.c; NULL: none recorded */
};
extern const struct trace_node trace_nodes[];
extern const size_t trace_node_count;

enum trace_call {
	TRACE_CALL_LAUNCH,
	TRACE_CALL_LAUNCH_EX,
	TRACE_CALL_DRIVER_LAUNCH,
	TRACE_CALL_COPY,
	TRACE_CALL_SET,
	TRACE_CALL_STREAM_SYNC,
	TRACE_CALL_DEVICE_SYNC,
	TRACE_CALL_STREAM_WAIT,
	TRACE_CALL_EVENT_RECORD,
	TRACE_CALL_CAPTURING,
	TRACE_CALL_ATTRIBUTE,
	TRACE_CALLS,
};
struct trace_call_info {
	const char *name;
	uint16_t cbid;
	bool driver, flows; /* flows: a flow arrow begins here */
};
extern const struct trace_call_info trace_calls[TRACE_CALLS];

enum trace_copy { TRACE_H2D, TRACE_D2H, TRACE_D2D, TRACE_COPIES };
extern const char *const trace_copies[TRACE_COPIES];

struct trace_collective {
	const char *name, *dtype; /* as PyTorch spells them */
	uint32_t in, out;	  /* elements */
	uint32_t element;	  /* bytes */
};
enum { TRACE_COLLECTIVES = 3, TRACE_KERNELS = GEN_KERNELS_MAX + TRACE_COLLECTIVES };
extern const struct trace_collective trace_collectives[TRACE_COLLECTIVES];
/* Numbers from GEN_KERNELS_MAX on are collectives. */
const struct gen_kernel *trace_kernel(unsigned int number);

enum { TRACE_LAYERS = 12, TRACE_LENGTHS = 4, TRACE_THREADS = 2, TRACE_NODES_MAX = 1024 };
enum { TRACE_STREAMS = 3, TRACE_STREAM_COMPUTE = 0, TRACE_STREAM_COPY, TRACE_STREAM_NCCL };
extern const uint32_t trace_lengths[TRACE_LENGTHS], trace_streams[TRACE_STREAMS];
extern const char *const trace_roots[]; /* frames that last for the whole trace, ending with NULL */

/* -- trace_step.c: the events of a step, in the order in which they begin on their thread. */

enum trace_category {
	TRACE_CAT_OP,
	TRACE_CAT_REGION,
	TRACE_CAT_MEMORY,
	TRACE_CAT_PYTHON,
	TRACE_CAT_RUNTIME,
	TRACE_CAT_DRIVER,
	TRACE_CAT_KERNEL,
	TRACE_CAT_COPY,
	TRACE_CAT_SET,
	TRACE_CAT_GPU_REGION,
	TRACE_CAT_AC2G,
	TRACE_CAT_FWDBWD,
	TRACE_CAT_SPAN,
	TRACE_CAT_NONE,
	TRACE_CATS,
};
extern const char *const trace_categories[TRACE_CATS]; /* NONE: "" */

struct trace_event {
	uint64_t ts, dur; /* ns since the trace's base */
	uint64_t id;	  /* External id, Python id, correlation id, or address */
	uint64_t parent;  /* Python parent id; for calls and work, External id; 0: none */
	uint64_t seq;	  /* sequence number of operators and collectives */
	int64_t bytes;
	uint64_t total; /* allocated bytes */
	uint32_t number;
	uint16_t node;
	uint8_t cat, thread, length; /* thread: or stream; length: index in trace_lengths */
	char flow;		     /* a flow arrow begins ('s') or ends ('f') here; 0: none */
};

struct trace_truth {
	uint64_t categories[TRACE_CATS], steps, bytes, kernel_ns, launches;
	struct {
		uint64_t calls, ns, self_ns, device_ns, device_self_ns;
	} nodes[TRACE_NODES_MAX]; /* by the first node with the same name */
	struct gen_sum kernels[TRACE_KERNELS], copies[TRACE_COPIES], sets;
	struct {
		uint64_t count, ns, in, out;
	} collectives[TRACE_COLLECTIVES];
	uint64_t calls[TRACE_CALLS];
	uint64_t allocs, frees, alloc_bytes, free_bytes;
	uint64_t first, last; /* of the whole trace of one rank, ns since its base */
};

struct trace_options {
	uint64_t events, bytes, seed;
	uint32_t ranks;
	bool stacks, shapes, compact;
	const char *out, *truth;
};

struct trace_sim;
struct trace_sim *trace_sim_new(const struct trace_options *o, uint32_t rank);
void trace_sim_free(struct trace_sim *s);
/* Returns the events of the next step, valid until the next call. Adds them to truth, if not NULL.
 */
const struct trace_event *trace_sim_step(struct trace_sim *s, size_t *count,
					 struct trace_truth *truth);
uint16_t trace_first_named(uint16_t node);
uint32_t trace_world(const struct trace_options *o);

/* -- trace_inputs.c */

enum { TRACE_TEXT_MAX = 8192 };
struct trace_inputs {
	char types[TRACE_TEXT_MAX], dims[TRACE_TEXT_MAX], strides[TRACE_TEXT_MAX],
		values[TRACE_TEXT_MAX];
};
void trace_inputs(struct trace_inputs *in, const char *spec, uint32_t length);
/* Appends to the text in `to`, which has room for size bytes. */
__attribute__((format(printf, 3, 4))) void trace_add(char *to, size_t size, const char *fmt, ...);

/* -- trace_write.c, trace_text.c: writes events as text. */

/* The passes over the steps that make a file, in the order in which Kineto writes. */
enum trace_section {
	TRACE_SECTION_OPS,
	TRACE_SECTION_MEMORY,
	TRACE_SECTION_GRAD_OPS,
	TRACE_SECTION_GRAD_MEMORY,
	TRACE_SECTION_PYTHON,
	TRACE_SECTION_DEVICE,
	TRACE_SECTIONS,
};

struct trace_writer;
/* fd -1: counts events without writing. Returns NULL when out of memory. */
struct trace_writer *trace_writer_new(const struct trace_options *o, uint32_t rank, int fd);
/* Returns 0, or the negative errno of the first write that failed. Accepts NULL (-ENOMEM). */
int trace_writer_free(struct trace_writer *w);
void trace_writer_head(struct trace_writer *w);
/* Writes the frames that last from first to last, before the Python of the first step. */
void trace_writer_roots(struct trace_writer *w, uint64_t first, uint64_t last);
void trace_writer_step(struct trace_writer *w, enum trace_section section,
		       const struct trace_event *events, size_t count);
void trace_writer_tail(struct trace_writer *w, uint64_t first, uint64_t last, const char *name);
uint64_t trace_writer_bytes(const struct trace_writer *w);
uint64_t trace_writer_events(const struct trace_writer *w);
/* The number of events in the tail; all but one have no category. */
uint64_t trace_tail_events(void);

#endif
