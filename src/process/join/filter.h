/*
 * filter.h - selects the events of a report.
 *
 * An event passes the filter if no exclude term matches the event and, for each filter type that
 * applies to the event, at least one term matches. A type that does not apply lets the event pass:
 * for example, a copy has no kernel, and an allocation outlasts any time span.
 *
 *   - The types kernel and exclude are extended regular expressions. They apply to the names of
 *     kernels, samples, accesses, and launches that have a name and are not graph launches.
 *   - The types device and stream apply to events that have the field, except modules and objects.
 *     Accesses don't have these fields, so tools that need accesses cannot be used with these
 *     types.
 *   - The type rank applies to whole shards.
 *   - The types region and iteration apply to activity. Events that describe what exists always
 *     pass: allocations and frees, tensors, modules, graphs, links, devices, processes, threads,
 *     clocks, losses, objects and sites of accesses.
 *   - The type time applies to the time when activity started, relative to the start of the run.
 *     The end of the time span is excluded. The end of a region or an operator passes if its start
 *     passed.
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

/* A filter. One thread builds it; after that, any thread may read it. */
struct pasta_filter;
struct pasta_filter *pasta_filter_new(void); /* returns NULL when out of memory */
void pasta_filter_free(struct pasta_filter *f);

/* Adds a term: a regular expression ("gemm|conv"), a list of numbers ("0,2-3") or a time span
 * ("1.5s-2s", "-200ms", "3s-"). A type may have several terms. Returns 0, or -EINVAL and sets *err.
 */
int pasta_filter_add(struct pasta_filter *f, enum pasta_filter_type type, const char *text,
		     struct pasta_error *err);
/* Sets the start of the run, to which times in the filter's terms are relative. */
void pasta_filter_start(struct pasta_filter *f, uint64_t start);

/* Returns the text of term i and sets its type, or returns NULL past the last term. Used to pass
 * the filter to another process. */
const char *pasta_filter_term(const struct pasta_filter *f, size_t i, enum pasta_filter_type *type);
/* Returns the start time that pasta_filter_start has set, or 0 if f is NULL. */
uint64_t pasta_filter_started(const struct pasta_filter *f);

/* Returns whether the filter has any term; false if f is NULL. */
bool pasta_filter_any(const struct pasta_filter *f);
/* Returns whether the filter selects by device or stream. Records of memory accesses contain
 * neither a device nor a stream. */
bool pasta_filter_by_device(const struct pasta_filter *f);
/* Returns what the filter needs from the reader, as a mask of enum pasta_need. */
uint64_t pasta_filter_needs(const struct pasta_filter *f);
/* Returns whether the filter selects the shards of a rank. `rank` is the rank plus 1, as in process
 * records, or 0 for no rank. */
bool pasta_filter_rank(const struct pasta_filter *f, uint32_t rank);
/* Sets *lines to a text with the patterns of a filter type, one on each line, or to NULL if there
 * are none. The caller frees the text. Returns 0 or -ENOMEM. */
int pasta_filter_patterns(const struct pasta_filter *f, enum pasta_filter_type type, char **lines);
/* Returns the kinds of events that show whether the filter's terms match anything. */
uint64_t pasta_filter_kinds(const struct pasta_filter *f);
/* Returns -ENOENT if no event matched a --kernel, --region or --device option; *err then lists
 * values that the run has. Returns 0 if each option matched an event, or if there were no events.
 * Call this function after all sieves are freed. */
int pasta_filter_missed(const struct pasta_filter *f, struct pasta_error *err);
/* Writes all terms to `text`, such as "--kernel gemm --device 0", truncated to `size` bytes.
 * Returns `text`. */
const char *pasta_filter_text(const struct pasta_filter *f, char *text, size_t size);

/* A sieve applies a filter to events, with a cache of the names that match. Each thread needs its
 * own sieve. */
struct pasta_sieve;
/* Returns NULL when out of memory. */
struct pasta_sieve *pasta_sieve_new(const struct pasta_filter *f);
/* Frees a sieve, after recording in the filter which terms have matched. The filter must outlive
 * the sieve. */
void pasta_sieve_free(struct pasta_sieve *s);
/* Returns whether the event passes the filter. */
bool pasta_sieve_pass(struct pasta_sieve *s, const struct pasta_event *ev,
		      const struct pasta_where *where);

#endif
