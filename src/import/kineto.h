/* kineto.h - imports traces of the PyTorch Profiler: declarations shared by kineto*.c. */
#ifndef PASTA_IMPORT_KINETO_H
#define PASTA_IMPORT_KINETO_H

#include "import/chromeevent.h"

struct pasta_kineto;

/* A category of events, and the function that imports the events of this category that have a
 * duration. */
struct pasta_kineto_category {
	const char *name;
	int (*take)(struct pasta_kineto *k, const struct pasta_chromeevent *e);
	uint64_t kinds; /* kinds of records that the category's events become */
	uint8_t sub;
};

struct pasta_kineto {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_chromeread read;
	const struct pasta_kineto_category *category; /* of the current event */
	struct pasta_trace_world world;
	uint64_t found[64];	      /* number of events by category */
	uint32_t annotation;	      /* domain of annotations */
	uint32_t allocated, reserved; /* string ids of the counters' names */
	uint32_t vendor, driver;      /* string ids of the devices' vendor and of the driver */
	/* numbers of kernels, of operators with shapes, of kernels with a grid, and of events on
	 * the host */
	uint64_t kernels, shapes, grids, host;
	bool base;	  /* the file has a base time, to which event times are relative */
	uint64_t devices; /* number of described devices */
	struct pasta_spansort *memory; /* memory records, stored until all are read; NULL: none */
};

/* Each of these functions imports an event of its category. Returns 0; 1 if the event is invalid
 * and was counted and skipped; or a negative errno. */
/* kinetodevice.c: work on devices. */
int pasta_kineto_kernel(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_copy(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_set(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_sync(struct pasta_kineto *k, const struct pasta_chromeevent *e);
/* kinetohost.c: events on the host. */
int pasta_kineto_call(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_op(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_annotation(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_python(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_flow(struct pasta_kineto *k, const struct pasta_chromeevent *e);
/* kinetoargs.c: the arguments of operators. */
/* Tokens of an operator's arrays, which have an element for each input; 0: none. */
struct pasta_kineto_args {
	uint32_t types, dims, strides, values;
};
/* Returns the string id of the inputs' types and dimensions, such as "float[16,559], long int[16],
 * Scalar"; 0 if there are neither. */
uint32_t pasta_kineto_inputs(struct pasta_kineto *k, const struct pasta_jsontape *tape,
			     const struct pasta_kineto_args *args);
/* Returns the string id of the inputs' values, such as ";;[1, 1];False"; 0 if there are none. */
uint32_t pasta_kineto_scalars(struct pasta_kineto *k, const struct pasta_jsontape *tape,
			      const struct pasta_kineto_args *args);
/* Returns the string id of the strides of inputs that are not contiguous, such as ";[1,512];";
 * 0 if there are none. */
uint32_t pasta_kineto_strides(struct pasta_kineto *k, const struct pasta_jsontape *tape,
			      const struct pasta_kineto_args *args);
/* kinetomemory.c */
int pasta_kineto_memory(struct pasta_kineto *k, const struct pasta_chromeevent *e);
/* Adds the allocations from before the trace. Call after the last event. Returns 0 or a negative
 * errno. */
int pasta_kineto_earlier(struct pasta_kineto *k);

#endif
