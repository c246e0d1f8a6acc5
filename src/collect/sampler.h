/*
 * sampler.h - decides which launches to count. The kernel's name must match a filter, and only the
 * first few launches of each shape are counted.
 */
#ifndef PASTA_COLLECT_SAMPLER_H
#define PASTA_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/event.h>

#include "core/err.h"

struct pasta_sampler;

/* Returns a sampler. On failure, returns NULL and sets err. `kernel` and `exclude` are extended
 * regular expressions, one per line, as in the filters of reports. A launch can be counted if its
 * kernel's name matches an expression in `kernel` and no expression in `exclude`. Either argument
 * may be NULL. If `kernel` has no expression, all names match. `launches` is the number of launches
 * of each shape to count, or 0 for all launches. */
struct pasta_sampler *pasta_sampler_new(const char *kernel, const char *exclude, uint32_t launches,
					struct pasta_error *err);
void pasta_sampler_free(struct pasta_sampler *s);

/* Decides whether to count a launch. Any thread may call this function. */
enum pasta_access_launch_sub pasta_sampler_choose(struct pasta_sampler *s, const char *kernel,
						  uint64_t shape);
/* Reverses the decision to count a launch that could not be counted. Another launch of the same
 * shape is counted instead. */
void pasta_sampler_unchoose(struct pasta_sampler *s, uint64_t shape);
/* Returns whether launches were not counted because the table of shapes was full. */
bool pasta_sampler_full(struct pasta_sampler *s);

#endif
