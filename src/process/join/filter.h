/*
 * filter.h - which events a report is of.
 *
 * What a filter does not apply to passes: a copy is of no kernel, an allocation lasts beyond any
 * window. Filters of different types must all let an event pass; of the same type, one must.
 *
 *   kernel, exclude    names, by extended regular expressions: kernels, samples, accesses, and
 *                      launches that have a name and are not of a graph
 *   device, stream     what has the field, but modules; and objects. Accesses do not have it, and
 *                      tools that need them are not to be given such a filter
 *   rank               whole shards
 *   region, iteration  where it belongs (struct pasta_where): all that is done, not what is there
 *                      (allocations and their ends, tensors, modules, graphs, links, devices,
 *                      processes, threads, clocks, losses, objects and sites of accesses)
 *   time               when it began, from the run's start, up to but not at the end of the span:
 *                      likewise. The end of a region or operator passes if its begin did
 */
#ifndef PASTA_PROCESS_FILTER_H
#define PASTA_PROCESS_FILTER_H

#include <stdbool.h>

#include <pasta/pasta.h>

enum pasta_filter_type {
	PASTA_FILTER_KERNEL,
	PASTA_FILTER_EXCLUDE,
	PASTA_FILTER_DEVICE,
	PASTA_FILTER_STREAM,
	PASTA_FILTER_RANK,
	PASTA_FILTER_REGION,
	PASTA_FILTER_ITERATION,
	PASTA_FILTER_TIME,
	PASTA_FILTER_TYPES,
};

/* Made by one thread, then read by any. */
struct pasta_filter;
struct pasta_filter *pasta_filter_new(void); /* NULL when out of memory */
void pasta_filter_free(struct pasta_filter *f);

/* "gemm|conv"; "0,2-3"; "1.5s-2s", "-200ms", "3s-". May be said again. -EINVAL, with *err. */
int pasta_filter_add(struct pasta_filter *f, enum pasta_filter_type type, const char *text,
		     struct pasta_error *err);
/* When the run started: what times are from. */
void pasta_filter_start(struct pasta_filter *f, uint64_t start);

/* What was said, from 0 on; NULL past the last. For another process that filters likewise. */
const char *pasta_filter_term(const struct pasta_filter *f, size_t i, enum pasta_filter_type *type);
uint64_t pasta_filter_started(const struct pasta_filter *f);

/* Of NULL: nothing is filtered. */
bool pasta_filter_any(const struct pasta_filter *f);
/* Whether it chooses by device or stream, which memory accesses do not tell. */
bool pasta_filter_by_device(const struct pasta_filter *f);
/* What must be known of events: of enum pasta_need. */
uint64_t pasta_filter_needs(const struct pasta_filter *f);
/* Whether shards of this rank are read; rank as in process events: plus 1, 0 if it has none. */
bool pasta_filter_rank(const struct pasta_filter *f, uint32_t rank);
/* What was said of a type that is of patterns, one a line, to be freed; *lines is NULL if nothing
 * was. -ENOMEM. */
int pasta_filter_patterns(const struct pasta_filter *f, enum pasta_filter_type type, char **lines);
/* The kinds that it must be given to find out whether it matches anything, whoever wants them. */
uint64_t pasta_filter_kinds(const struct pasta_filter *f);
/* When all sieves are gone: -ENOENT, with what there is in *err, if a --kernel, --region or
 * --device matched nothing of all that they were given. 0 if each did, or if they were given
 * nothing. */
int pasta_filter_missed(const struct pasta_filter *f, struct pasta_error *err);
/* All of it as it was said, "--kernel gemm --device 0"; cut at size, and returned. */
const char *pasta_filter_text(const struct pasta_filter *f, char *text, size_t size);

/* A filter at work, with what it has found out about names: one a thread. */
struct pasta_sieve;
struct pasta_sieve *pasta_sieve_new(const struct pasta_filter *f); /* NULL when out of memory */
/* What it has matched is then known to the filter, which must be there still. */
void pasta_sieve_free(struct pasta_sieve *s);
bool pasta_sieve_pass(struct pasta_sieve *s, const struct pasta_event *ev,
		      const struct pasta_where *where);

#endif
