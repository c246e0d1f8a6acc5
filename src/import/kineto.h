/* kineto.h - importing traces of the PyTorch Profiler: what its files share. */
#ifndef PASTA_IMPORT_KINETO_H
#define PASTA_IMPORT_KINETO_H

#include "import/chromeevent.h"

struct pasta_kineto;

/* A category of events, and who takes its events that have a duration. */
struct pasta_kineto_category {
	const char *name;
	int (*take)(struct pasta_kineto *k, const struct pasta_chromeevent *e);
	uint64_t kinds; /* that are made of it */
	uint8_t sub;
};

struct pasta_kineto {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_chromeread read;
	const struct pasta_kineto_category *category; /* of the event at hand */
	struct pasta_trace_world world;
	uint64_t found[64];		       /* by category */
	uint32_t annotation;		       /* the domain of annotations */
	uint32_t allocated, reserved;	       /* names of counters */
	uint32_t vendor, driver;	       /* of the devices */
	uint64_t kernels, shapes, grids, host; /* seen */
	bool base;			       /* it says what its times are counted from */
	uint64_t devices;		       /* that it describes */
	struct pasta_spansort *memory;	       /* its records of memory; NULL: there are none */
};

/* Each takes an event of its category. 0; 1: it is wrong, was counted, and is passed over; or a
 * negative errno. */
/* kinetodevice.c: what devices did. */
int pasta_kineto_kernel(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_copy(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_set(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_sync(struct pasta_kineto *k, const struct pasta_chromeevent *e);
/* kinetohost.c: what the host did. */
int pasta_kineto_call(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_op(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_annotation(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_python(struct pasta_kineto *k, const struct pasta_chromeevent *e);
int pasta_kineto_flow(struct pasta_kineto *k, const struct pasta_chromeevent *e);
/* kinetomemory.c */
int pasta_kineto_memory(struct pasta_kineto *k, const struct pasta_chromeevent *e);
/* After the last event: allocations that were there before the first. 0, or a negative errno. */
int pasta_kineto_earlier(struct pasta_kineto *k);

#endif
