/*
 * sampler.h - which launches have their accesses counted: by the kernel's name, and the first few
 * of each shape.
 */
#ifndef PASTA_COLLECT_SAMPLER_H
#define PASTA_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/event.h>

#include "core/err.h"

struct pasta_sampler;

/* kernel and exclude: extended regular expressions, one a line, with the meaning of the filters of
 * reports: one of the first must match, if there are some, and none of the second. Either may be
 * NULL. launches: the first so many of each shape; 0: all. NULL: err says why. */
struct pasta_sampler *pasta_sampler_new(const char *kernel, const char *exclude, uint32_t launches,
					struct pasta_error *err);
void pasta_sampler_free(struct pasta_sampler *s);

/* One launch more. Any thread. */
enum pasta_access_launch_sub pasta_sampler_choose(struct pasta_sampler *s, const char *kernel,
						  uint64_t shape);
/* A launch that was to be counted could not be: another one of its shape may be, in its place. */
void pasta_sampler_unchoose(struct pasta_sampler *s, uint64_t shape);
/* Whether launches were left out since there were more shapes than it can keep. */
bool pasta_sampler_full(struct pasta_sampler *s);

#endif
