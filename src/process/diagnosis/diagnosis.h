/*
 * diagnosis.h - the diagnosis of a run: one object that all tools of a toolset share.
 *
 * The toolset creates the diagnosis, delivers each event once, merges the diagnoses of shards, and
 * calls pasta_diagnosis_finish once before the first report. Only one thread at a time may use a
 * diagnosis.
 */
#ifndef PASTA_PROCESS_DIAGNOSIS_H
#define PASTA_PROCESS_DIAGNOSIS_H

#include <pasta/tool.h>

/* The kinds that the diagnosis reads. `accelprof run` records the kinds of PASTA_DIAGNOSIS_RECORD
 * for a tool with a diagnosis. The diagnosis also reads API calls and the tensors of operators if
 * the run has them. A report without one of the kinds of PASTA_DIAGNOSIS_MUST is incomplete. */
#define PASTA_DIAGNOSIS_MUST (PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY))
#define PASTA_DIAGNOSIS_RECORD                                                                     \
	(PASTA_DIAGNOSIS_MUST | PASTA_MASK(SET) | PASTA_MASK(SYNC) | PASTA_MASK(ALLOC) |           \
	 PASTA_MASK(FREE) | PASTA_MASK(MODULE) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) |       \
	 PASTA_MASK(REGION) | PASTA_MASK(ITERATION) | PASTA_MASK(COLLECTIVE) |                     \
	 PASTA_MASK(UNMATCHED))
#define PASTA_DIAGNOSIS_KINDS                                                                      \
	(PASTA_DIAGNOSIS_RECORD | PASTA_MASK(API) | PASTA_MASK(OP_ARG) | PASTA_MASK(TENSOR) |      \
	 PASTA_MASK(CLOCK))

/* The parts of a diagnosis. The timing and the workset receive every event. */
struct pasta_timing;	/* timing.c: steps, parts, gaps, waits, transfers */
struct pasta_workset;	/* workset.c: work by operator and kernel, layers, chains */
struct pasta_answers;	/* answers.c: the findings */
struct pasta_lateness;	/* lateness.c: late ranks */
struct pasta_anomalies; /* anomalies.c: steps that take longer than others */

struct pasta_diagnosis {
	struct pasta_timing *timing;
	struct pasta_workset *work;
	struct pasta_lateness *lateness;   /* lateness.c: late ranks */
	struct pasta_anomalies *anomalies; /* anomalies.c; NULL until a tool requests one */
	uint64_t step;			   /* of the latest event, or PASTA_NO_STEP */
	struct pasta_answers *answers;	   /* NULL until a tool requests an answer */
	int error;			   /* 0 or -ENOMEM */
	bool finished;
};

struct pasta_diagnosis *pasta_diagnosis_new(void); /* NULL when out of memory */
void pasta_diagnosis_free(struct pasta_diagnosis *d);
/* Adds an event. Ignores kinds that are not in PASTA_DIAGNOSIS_KINDS. `where` is not NULL. */
void pasta_diagnosis_event(struct pasta_diagnosis *d, const struct pasta_event *ev,
			   const struct pasta_where *where);
/* Moves the processes of `from` into another diagnosis, which must not have any of these processes.
 * Returns 0, -ENOMEM or -EEXIST. */
int pasta_diagnosis_merge(struct pasta_diagnosis *into, struct pasta_diagnosis *from);
/* Computes the results. Must be called after all events and before the functions of
 * <pasta/diagnosis.h>. Further calls do nothing. Returns 0 or -ENOMEM. */
int pasta_diagnosis_finish(struct pasta_diagnosis *d);
/* Returns 0 or -ENOMEM. */
int pasta_diagnosis_error(const struct pasta_diagnosis *d);
/* Sets the error -ENOMEM, so that all tools that share the diagnosis fail. */
void pasta_diagnosis_fail(struct pasta_diagnosis *d);

/* Checks the declaration of a tool's diagnosis. The tool must have one. Returns 0, or -EINVAL with
 * the reason in err. */
int pasta_diagnosis_check(const struct pasta_tool *tool, struct pasta_error *err);
/* Stores the diagnosis in the state of a tool that declares one. */
void pasta_diagnosis_share(struct pasta_diagnosis *d, const struct pasta_tool *tool, void *state);

/* -- workset.c -- */

struct pasta_workset *pasta_workset_new(void); /* NULL when out of memory */
void pasta_workset_free(struct pasta_workset *w);
/* Adds an event. `step` is the number of the process's step to which the event belongs, or
 * PASTA_NO_STEP: the event belongs to no step. Work belongs to the step in which it begins on the
 * device. Any other event belongs to the current step of the process. Steps are numbered from 0. */
void pasta_workset_event(struct pasta_workset *w, const struct pasta_event *ev,
			 const struct pasta_where *where, uint64_t step);
/* Called when a process reports its first iteration after steps of another source: all work of the
 * process so far belongs to no step, and the numbers of steps start again from 0. */
void pasta_workset_restart(struct pasta_workset *w, uint32_t proc);
/* Moves the processes of `from` into `w`, which has none of these processes. Returns 0 or
 * -ENOMEM. */
int pasta_workset_merge(struct pasta_workset *w, struct pasta_workset *from);
/* Called once, after all events. first_step(ctx, proc) returns the first step of the process's
 * window, which is 0 or 2, or PASTA_NO_STEP if the process has no steps and all its work counts. In
 * the latter case, work may have been added with steps 0 and 1. Returns 0 or -ENOMEM. */
int pasta_workset_finish(struct pasta_workset *w, uint64_t (*first_step)(void *ctx, uint32_t proc),
			 void *ctx);
int pasta_workset_error(const struct pasta_workset *w); /* 0 or -ENOMEM */

/* -- layer.c -- */

/* Returns the layer of a PyTorch module: its path with "*" in place of numbers, interned. */
uint32_t pasta_layer_fold(const char *path);

/* -- answers.c -- */

void pasta_answers_free(struct pasta_answers *a);

/* -- timing.c -- */

struct pasta_timing *pasta_timing_new(void); /* NULL when out of memory */
void pasta_timing_free(struct pasta_timing *t);
/* Adds an event. Returns the step to which the event belongs, or PASTA_NO_STEP. Sets *restart if
 * the event is the first iteration of a process that had steps of another source. */
uint64_t pasta_timing_event(struct pasta_timing *t, const struct pasta_event *ev,
			    const struct pasta_where *where, bool *restart);
int pasta_timing_merge(struct pasta_timing *t, struct pasta_timing *from);
int pasta_timing_finish(struct pasta_timing *t);
/* Returns the first step of a process's window, or PASTA_NO_STEP if the process has no steps. Valid
 * after pasta_timing_finish. */
uint64_t pasta_timing_first_step(const struct pasta_timing *t, uint32_t proc);
int pasta_timing_error(const struct pasta_timing *t); /* 0 or -ENOMEM */

#endif
