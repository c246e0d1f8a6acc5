/* lateness.h - which ranks start their collectives late, and how long others wait for them. */
#ifndef PASTA_PROCESS_LATENESS_H
#define PASTA_PROCESS_LATENESS_H

#include <pasta/tool.h>

struct pasta_lateness;

/* The kinds that the lateness reads. */
#define PASTA_LATENESS_KINDS (PASTA_MASK(COLLECTIVE) | PASTA_MASK(KERNEL) | PASTA_MASK(CLOCK))

struct pasta_lateness *pasta_lateness_new(void); /* NULL when out of memory */
void pasta_lateness_free(struct pasta_lateness *l);
/* Adds an event of PASTA_LATENESS_KINDS. */
void pasta_lateness_event(struct pasta_lateness *l, const struct pasta_event *ev);
/* Moves the processes of `from` into `l`, which has none of these processes. Returns 0 or
 * -ENOMEM. */
int pasta_lateness_merge(struct pasta_lateness *l, const struct pasta_lateness *from);
int pasta_lateness_error(const struct pasta_lateness *l); /* 0 or -ENOMEM */
/* Computes the rows. Call this function once, after all events and after the timing is finished.
 * Returns 0 or -ENOMEM. */
int pasta_lateness_finish(struct pasta_lateness *l, struct pasta_diagnosis *d);
const struct pasta_late *pasta_lateness_next(const struct pasta_lateness *l, size_t *at);

#endif
