/*
 * diagnosis.h - where the time of each device went, and what would save some of it.
 *
 * All tools that show steps, idle time, layers or savings read one diagnosis, so that they agree.
 * A tool declares its diagnosis in the descriptor. The framework creates it before the tool's
 * `open`, delivers events to it before the tool's event function, merges the diagnoses of shards,
 * and frees them after the tool's `close`. The tool must need PASTA_NEED_SCOPES and
 * PASTA_NEED_OPS:
 *
 *	struct state { struct pasta_diagnosis *diagnosis; };
 *
 *	static const struct pasta_diagnosis_def diagnosis =
 *		PASTA_DIAGNOSIS(struct state, diagnosis);
 *
 *	PASTA_TOOL(..., .diagnosis = &diagnosis);
 *
 * Steps. If a process reports iterations, each iteration is a step; iterations of another name or
 * thread than the first one do not count. A last iteration without a launch belongs to its
 * predecessor. If a process reports no iterations, but calls the `step` function of a PyTorch
 * optimizer, a step lasts from the end of one call to the end of the next. In both cases the last
 * step lasts until the last work on a device has ended, and includes the last launch.
 *
 * Window. With five or more steps, the diagnosis covers all steps but the first two; with fewer
 * steps it covers all of them. Without steps it covers the time from the first work on a device to
 * the end of the last. Every sum below covers only the window. Work belongs to the step in which it
 * begins on the device.
 *
 * Parts. Each ns of the window of a device belongs to exactly one part, so the parts add up to the
 * window. Collectives, copies and kernels may overlap: computing kernels have precedence over
 * collectives, and collectives over copies and fills.
 *
 * Gaps. A gap is a time in which a device is idle: from the end of its latest work to the beginning
 * of its next, or to the beginning or end of the window. Each gap has one cause, so the causes add
 * up to the idle time. docs/diagnosis.md has all rules.
 */
#ifndef PASTA_DIAGNOSIS_H
#define PASTA_DIAGNOSIS_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_diagnosis;
struct pasta_event;
struct pasta_where;

enum pasta_part {
	PASTA_PART_COMPUTE, /* kernels that are not part of a collective */
	PASTA_PART_COMMUNICATION,
	PASTA_PART_COPY, /* copies and fills */
	PASTA_PART_IDLE,
	PASTA_PART_COUNT,
};
#define PASTA_PARTS 4

/* Why a device was idle. docs/diagnosis.md has the order in which causes are tested. */
enum pasta_cause {
	/* The next work was launched after the previous work had ended, and at that end the
	 * launching thread waited for a device. If the thread then spent most of the gap in one of
	 * the next three activities, that activity is the cause instead. */
	PASTA_CAUSE_SYNC,
	/* The next work was launched after the previous work had ended. The cause is what the
	 * launching thread did for most of the time in between: */
	PASTA_CAUSE_DATA,      /* wait for input, in a data loader */
	PASTA_CAUSE_ALLOCATOR, /* allocate or free memory through the vendor's API */
	PASTA_CAUSE_LOADING,   /* load or compile code */
	PASTA_CAUSE_DISPATCH,  /* run a framework's operator, or the vendor's API */
	PASTA_CAUSE_HOST,      /* run other code of the program */
	/* The next work was launched in time, but its stream waited for an event of another stream.
	 */
	PASTA_CAUSE_DEPENDENCY,
	/* The gap is shorter than twice the usual gap between two kernels that were both launched
	 * in time, or shorter than 4 us. */
	PASTA_CAUSE_KERNELS,
	PASTA_CAUSE_UNKNOWN,
	PASTA_CAUSE_COUNT,
};
/* Number of entries in arrays that have one entry for each cause. The entries from
 * PASTA_CAUSE_COUNT on are 0. */
#define PASTA_CAUSES 12
/* Returns the name of a part or cause, such as "idle" or "sync", or NULL for an unknown number. */
PASTA_EXPORT const char *pasta_part_name(uint32_t part);
PASTA_EXPORT const char *pasta_cause_name(uint32_t cause);

#define PASTA_NO_STEP UINT64_MAX

/* A gap. The names are interned; 0: not known. The line is that of pasta_stack_frame_line. In the
 * idle time after the last work of a device, `kind` is 0. */
struct pasta_gap {
	uint32_t size, proc, device, cause;
	uint64_t begin, end;
	uint64_t step; /* number of the process's step in which the gap ends, from 0 */
	uint32_t tid;  /* the thread that launched the next work */
	uint32_t work; /* name of the next kernel; 0 if the next work is a copy or fill */
	/* What the launching thread did: the innermost operator and region, the module and the
	 * line of the operator, and the call of the vendor's API. For SYNC, DATA, ALLOCATOR and
	 * LOADING, they are those of the wait or of the longest activity; else those of the launch.
	 * For HOST, there is no operator and no module, and the line is that of the launch. */
	uint32_t op, region, module, line, api;
	uint32_t kind; /* kind of the next work */
};

struct pasta_diagnosis_def {
	uint32_t size, state_offset;
};

/* clang-format off */
#define PASTA_DIAGNOSIS(state_type, member)                                                        \
	{.size = sizeof(struct pasta_diagnosis_def), .state_offset = offsetof(state_type, member)}
/* clang-format on */

/* Returns the number of the step to which the event belongs that the tool is receiving, or
 * PASTA_NO_STEP. Call this function from the tool's event function, and only for kinds of events
 * that the diagnosis reads. Work belongs to the step in which it begins on the device, and any
 * other event to the current step of its process. The numbers of a process grow, with one
 * exception: if a process that calls optimizers reports its first iteration, all earlier events
 * belong to no step, and the iteration begins step 0. */
PASTA_EXPORT uint64_t pasta_diagnosis_current(const struct pasta_diagnosis *d);

/*
 * The functions below are for the tool's report. Each "next" function returns the next row, or NULL
 * at the end; set *at to 0 before the first call. Rows live as long as the diagnosis. New versions
 * add members at the end of a struct.
 */

/* How a process's steps were found. */
enum pasta_steps {
	PASTA_STEPS_NONE,
	PASTA_STEPS_ITERATIONS, /* iterations that the program or its profiler reports */
	PASTA_STEPS_OPTIMIZER,	/* calls of an optimizer's step function */
};

/* A process, and its window. */
struct pasta_window {
	uint32_t size, proc;
	uint32_t source; /* enum pasta_steps */
	uint32_t devices;
	uint64_t steps; /* number of steps in the window; 0: none */
	uint64_t all;	/* number of steps in the run */
	uint64_t begin, end;
	uint64_t launches;		       /* in the window */
	uint64_t step_p50, step_p95, step_max; /* durations of steps in ns; 0: no steps */
	/* 1: the host runs ahead of the devices by several steps, so that most work does not run in
	 * the step that launched it. The window and its sums are right; durations of single steps
	 * are those of the host. */
	uint32_t ahead, reserved;
};
PASTA_EXPORT const struct pasta_window *pasta_diagnosis_window(struct pasta_diagnosis *d,
							       size_t *at);

/* A device of a process in the window. */
struct pasta_usage {
	uint32_t size, proc, device, streams;
	uint64_t time; /* the length of the window: the sum of all parts */
	uint64_t part[PASTA_PARTS];
	uint64_t cause[PASTA_CAUSES];	 /* their sum is part[PASTA_PART_IDLE] */
	uint64_t gaps[PASTA_CAUSES];	 /* number of gaps */
	uint64_t kernels, copies, fills; /* counts */
	uint64_t kernel_ns;		 /* sum of the kernels' durations, which may overlap */
	/* The median duration of a kernel, and the median time between two launches of a thread of
	 * the process, which are exact to 1/64. */
	uint64_t kernel_p50, launch_p50;
};
PASTA_EXPORT const struct pasta_usage *pasta_diagnosis_usage(struct pasta_diagnosis *d, size_t *at);

/* A step of the whole run (not only of the window) on one device. All devices of a process have at
 * most 2^18 rows together; the sums of the window also include steps without a row. */
struct pasta_step {
	uint32_t size, proc, device;
	uint32_t in_window; /* 1: the step is in the window */
	uint64_t number;    /* from 0 */
	uint64_t iteration; /* the index that the program reports, or PASTA_NO_ITERATION */
	uint64_t begin, end;
	uint64_t part[PASTA_PARTS];
	uint64_t cause[PASTA_CAUSES];
	uint64_t kernels;  /* on the device */
	uint64_t launches; /* of the process */
};
PASTA_EXPORT const struct pasta_step *pasta_diagnosis_step(struct pasta_diagnosis *d, size_t *at);

/* The longest gaps of the window, the longest first: at most 100 of each device. */
PASTA_EXPORT const struct pasta_gap *pasta_diagnosis_gap(struct pasta_diagnosis *d, size_t *at);

/* The gaps of a device with one cause and origin. All fields that are not sums identify the row. In
 * `module`, "*" stands for each number of the module's path, such as "h.*.attn". */
struct pasta_wait {
	uint32_t size, proc, device, cause;
	uint32_t line, op, region, api, module; /* as in struct pasta_gap */
	uint32_t reserved;
	uint64_t ns, gaps;
	uint64_t steps; /* number of steps of the window in which gaps of the row end */
	uint64_t max;	/* the longest gap */
};
PASTA_EXPORT const struct pasta_wait *pasta_diagnosis_wait(struct pasta_diagnosis *d, size_t *at);

/* The copies between two types of memory that one line starts. */
struct pasta_transfer {
	uint32_t size, proc, device;
	uint32_t direction;	 /* subtype of the copies */
	uint32_t source, target; /* enum pasta_memory */
	uint32_t line, op, api;
	uint32_t reserved;
	uint64_t copies, bytes, ns;
	/* ns in which the device did nothing but copy; if several copies run, the time counts
	 * for the one that began first */
	uint64_t exposed;
	uint64_t small;		/* number of copies of less than 64 KiB */
	uint64_t small_exposed; /* the part of `exposed` for copies of less than 64 KiB */
	uint64_t steps;		/* number of steps of the window in which the row has copies */
};
PASTA_EXPORT const struct pasta_transfer *pasta_diagnosis_transfer(struct pasta_diagnosis *d,
								   size_t *at);

/*
 * What a device ran in the time in which it was busy. At each time, only the work of the part with
 * precedence counts, and only the work that began first. So the rows of a part add up to the part,
 * and all rows together with those of pasta_diagnosis_wait add up to the window: they are the
 * critical path of the device.
 */
struct pasta_busy {
	uint32_t size, proc, device;
	uint32_t part;	    /* enum pasta_part */
	uint32_t kind;	    /* of the work: PASTA_KIND_KERNEL, _COPY or _SET */
	uint32_t kernel;    /* name of the kernel, interned; 0: a copy or fill */
	uint32_t direction; /* subtype of the copies */
	uint32_t reserved;
	uint64_t ns;
	uint64_t count; /* number of kernels, copies or fills that began in the window */
	uint64_t steps; /* number of steps of the window in which such work began */
};
PASTA_EXPORT const struct pasta_busy *pasta_diagnosis_busy(struct pasta_diagnosis *d, size_t *at);

/* -- Work -- */

enum pasta_train {
	PASTA_TRAIN_FORWARD,
	PASTA_TRAIN_BACKWARD,
	PASTA_TRAIN_OPTIMIZER,
	PASTA_TRAIN_COUNT,
};

/* What limits a layer or kernel. */
enum pasta_bound {
	PASTA_BOUND_UNKNOWN,
	PASTA_BOUND_MEMORY,
	PASTA_BOUND_COMPUTE,
	PASTA_BOUND_LAUNCH,
	PASTA_BOUND_COMMUNICATION,
	PASTA_BOUND_LATENCY, /* neither the memory nor the arithmetic units are busy */
	PASTA_BOUND_COUNT,
};
PASTA_EXPORT const char *pasta_bound_name(uint32_t bound);

/*
 * The work that one kernel does for operators with the same name, inputs and scalars, in one layer
 * and phase. All fields that are not sums identify the row. `flops` and `bytes` are the least that
 * the operators need; the framework divides those of an operator with several kernels in proportion
 * to the kernels' time.
 */
struct pasta_work {
	uint32_t size, proc, device;
	uint32_t kernel; /* name of the kernel; 0: work that is not a kernel */
	uint32_t op; /* name of the innermost operator for whose flops and bytes there is a formula,
			or else of the innermost operator; 0: none */
	uint32_t inputs, scalars;
	uint32_t layer; /* interned: "h.*.attn"; 0: the operator is in no module */
	uint32_t phase; /* enum pasta_train */
	uint32_t dtype; /* interned: "bfloat16", the type of the operator's first tensor; 0: none */
	uint32_t grid[3], block[3]; /* of the first kernel that the row counts */
	uint32_t flags;		    /* enum pasta_work_flags */
	uint64_t calls;		    /* of the operator */
	uint64_t launches, ns;
	uint64_t steps;	     /* number of steps of the window in which the row has launches */
	double flops, bytes; /* 0: no formula */
	/* ns in which the last wave of blocks leaves multiprocessors without work, summed over the
	 * row's launches of at most five waves */
	double tail;
	/* The least ns that a device with the measured peaks would need: the greater of
	 * flops / peak and bytes / bandwidth; 0: not known. */
	double roof;
};
enum pasta_work_flags {
	PASTA_WORK_MATRIX = 1,	    /* a matrix product, convolution or attention */
	PASTA_WORK_TENSOR_CORE = 2, /* the kernel's name shows that it uses tensor cores */
	PASTA_WORK_COLLECTIVE = 4,
	PASTA_WORK_LAYOUT = 8, /* the kernel converts between nchw and nhwc */
	PASTA_WORK_ELEMENTWISE = 16,
};
PASTA_EXPORT const struct pasta_work *pasta_diagnosis_work(struct pasta_diagnosis *d, size_t *at);

/* A layer: operators of modules whose paths differ only in numbers, in one phase. */
struct pasta_layer {
	uint32_t size, proc, device;
	uint32_t layer, phase, count; /* number of modules that this layer stands for */
	uint32_t bound;		      /* enum pasta_bound */
	uint32_t reserved;
	uint64_t ns, launches, working_set; /* bytes: greatest inputs and outputs of an operator */
	double flops, bytes, roof;
	/* ns for which the device was idle before the layer's work, because the work was launched
	 * after the device had become idle */
	uint64_t wait;
	/* the least ns that the peaks allow for the bytes alone, and for the FLOPs alone */
	double memory, compute;
};
PASTA_EXPORT const struct pasta_layer *pasta_diagnosis_layer(struct pasta_diagnosis *d, size_t *at);

/*
 * A chain of at least three elementwise operators of one layer and phase, in which each operator
 * but the first reads the output of its predecessor, and nothing else reads that output. One fused
 * kernel would read the chain's inputs and write its last output. A row stands for all chains with
 * the same operators and inputs.
 */
struct pasta_chain {
	uint32_t size, proc, device;
	uint32_t layer, phase;
	uint32_t ops;	  /* interned names of the operators: "mul, add, tanh" */
	uint32_t inputs;  /* of the first operator */
	uint32_t length;  /* number of operators */
	uint64_t chains;  /* number of chains */
	uint64_t kernels; /* kernels of all chains */
	uint64_t ns;	  /* device time of the kernels */
	uint64_t steps;
	double bytes; /* the least that fused kernels would read and write */
	double roof;  /* the least ns for `bytes`; 0: not known */
};
PASTA_EXPORT const struct pasta_chain *pasta_diagnosis_chain(struct pasta_diagnosis *d, size_t *at);

/* The peaks of a device, in FLOP/s and bytes/s; 0: not known. */
struct pasta_peaks {
	uint32_t size;
	uint32_t measured; /* 1: measured by `accelprof doctor --measure`; 0: from a table */
	double memory;	   /* bandwidth of the device's memory */
	double fp32, tf32, half, fp64; /* half: float16 and bfloat16 on tensor cores */
	double h2d, d2h;	       /* copies of pinned memory */
};
PASTA_EXPORT const struct pasta_peaks *pasta_device_peaks(uint32_t proc, uint32_t device);

/* -- Ranks -- */

/*
 * A process in the rounds (rounds.h) of its window, which are collectives of several ranks. A rank
 * is late in a round if it arrives last, and the median rank waits for longer than the ranks'
 * clocks may differ. Several ranks that arrive last at the same time are all late.
 */
struct pasta_late {
	uint32_t size, proc;
	uint64_t rounds; /* number of rounds of the process */
	uint64_t last;	 /* number of rounds in which it arrives last, and others arrive earlier */
	uint64_t late;	 /* number of rounds in which it is late */
	uint64_t steps;	 /* number of steps of the window with such rounds */
	/* By how much it is late: the sum over these rounds of the time for which the median rank
	 * waits, and the greatest such time. The time that another device can save is at most the
	 * part COMMUNICATION of its window. */
	uint64_t ns, max;
	uint64_t waited; /* ns for which the process waits for late ranks, summed over its rounds */
};
PASTA_EXPORT const struct pasta_late *pasta_diagnosis_late(struct pasta_diagnosis *d, size_t *at);

/* -- Anomalies -- */

/* A step of the window that takes longer than the other steps of its process: its score
 * (robust.h) exceeds PASTA_ROBUST_ODD. There is one row for each device of the process. Windows of
 * fewer than five steps have no anomalies, nor have windows in which the host runs ahead. */
struct pasta_anomaly {
	uint32_t size, proc, device;
	/* What takes longer than in the median step, by the longest time: a part and, if the part
	 * is IDLE, the cause. The cause of other parts is PASTA_CAUSE_COUNT. */
	uint32_t part, cause;
	uint32_t reserved;
	uint64_t grew; /* by how much it takes longer, in ns */
	uint64_t number, iteration, begin, end;
	uint64_t median; /* duration of the median step */
	uint64_t excess; /* duration of this step, minus the median */
	double score;
};
PASTA_EXPORT const struct pasta_anomaly *pasta_diagnosis_anomaly(struct pasta_diagnosis *d,
								 size_t *at);

/* -- Findings -- */

/* The rules. A rule's number never changes. */
enum pasta_rule {
	PASTA_RULE_NONE,
	PASTA_RULE_LAUNCH_BOUND, /* the device waits for launches */
	PASTA_RULE_HOST,	 /* the device waits for other code of the program, by line */
	PASTA_RULE_SYNC,	 /* a synchronization leaves the device idle, by line */
	PASTA_RULE_DATA,	 /* the device waits for input */
	PASTA_RULE_SMALL_COPIES,
	PASTA_RULE_PAGEABLE, /* copies of pageable memory */
	PASTA_RULE_ALLOCATOR,
	PASTA_RULE_RECOMPILATION,
	PASTA_RULE_MEMORY_BOUND,
	PASTA_RULE_UNFUSED,
	PASTA_RULE_TENSOR_CORES,
	PASTA_RULE_LAYOUT,
	PASTA_RULE_COMMUNICATION,
	PASTA_RULE_STRAGGLER,
	PASTA_RULE_TAIL, /* grids that leave multiprocessors without work */
	PASTA_RULE_ANOMALY,
	PASTA_RULE_COUNT,
};
/* Returns the name of a rule, such as "launch-bound", or NULL for an unknown number. */
PASTA_EXPORT const char *pasta_rule_name(uint32_t rule);

/* A conclusion. Texts live as long as the diagnosis. */
struct pasta_answer {
	uint32_t size;
	uint32_t rule; /* enum pasta_rule */
	const char *what, *where, *evidence, *action;
	uint64_t saving; /* at most this many ns of the window can be saved; no ns counts for two
			    answers */
	double share;	 /* `saving` in percent of the window */
	uint32_t proc, device;
	uint32_t steps; /* number of steps of the window in which the cause occurred; 0: no steps */
	uint32_t untested; /* 1: too few steps to test whether the finding is stable */
};
/* Answers come in order of saving, the greatest first. */
PASTA_EXPORT const struct pasta_answer *pasta_diagnosis_answer(struct pasta_diagnosis *d,
							       size_t *at);

#ifdef __cplusplus
}
#endif
#endif
