/* sampler.c - decides which launches to count. */
#include "collect/sampler.h"
#include "core/lock.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* A hash table stores shapes, of 24 bytes each, and is at most three quarters full. */
enum { SLOTS = 1 << 16, SHAPES_MAX = SLOTS / 4 * 3 };

struct patterns {
	regex_t *list;
	size_t count;
};

struct shape {
	uint64_t shape;
	uint32_t seen; /* number of launches so far, up to the number of launches to count */
	bool used, passes;
};

/* The lock protects the table and the patterns. A faster lock for the patterns would not help,
 * because regexec acquires a lock of its own. */
struct pasta_sampler {
	pthread_mutex_t lock;
	struct patterns kernel, exclude;
	uint32_t launches, count;
	bool full;
	struct shape shapes[SLOTS];
};

static void patterns_free(struct patterns *p)
{
	while (p->count)
		regfree(&p->list[--p->count]);
	free(p->list);
}

static int patterns_add(struct patterns *p, const char *text, struct pasta_error *err)
{
	regex_t *more = reallocarray(p->list, p->count + 1, sizeof(*more));
	char why[100];
	int error;

	if (!more)
		return pasta_fail(err, -ENOMEM, "out of memory");
	p->list = more;
	error = regcomp(&more[p->count], text, REG_EXTENDED | REG_NOSUB);
	if (error) {
		regerror(error, &more[p->count], why, sizeof(why));
		return pasta_fail(err, -EINVAL, "'%s' is not a regular expression: %s", text, why);
	}
	p->count++;
	return 0;
}

static int patterns_init(struct patterns *p, const char *lines, struct pasta_error *err)
{
	char *text = lines ? strdup(lines) : NULL, *rest = text, *line;
	int error = lines && !text ? pasta_fail(err, -ENOMEM, "out of memory") : 0;

	while (!error && (line = strsep(&rest, "\n")))
		error = *line ? patterns_add(p, line, err) : 0;
	free(text);
	return error;
}

static bool patterns_match(const struct patterns *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!regexec(&p->list[i], name, 0, NULL, 0))
			return true;
	return false;
}

struct pasta_sampler *pasta_sampler_new(const char *kernel, const char *exclude, uint32_t launches,
					struct pasta_error *err)
{
	struct pasta_sampler *s = calloc(1, sizeof(*s));

	if (!s) {
		pasta_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	s->launches = launches;
	if (pthread_mutex_init(&s->lock, NULL) || patterns_init(&s->kernel, kernel, err) ||
	    patterns_init(&s->exclude, exclude, err)) {
		pasta_sampler_free(s);
		return NULL;
	}
	return s;
}

void pasta_sampler_free(struct pasta_sampler *s)
{
	if (!s)
		return;
	patterns_free(&s->kernel);
	patterns_free(&s->exclude);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static bool sampler_passes(const struct pasta_sampler *s, const char *kernel)
{
	return (!s->kernel.count || patterns_match(&s->kernel, kernel)) &&
	       !patterns_match(&s->exclude, kernel);
}

static size_t sampler_home(uint64_t shape)
{
	return shape * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

/* Returns the entry of a shape, and adds the shape if it is new. Returns NULL if the table is
 * full. */
static struct shape *sampler_find(struct pasta_sampler *s, const char *kernel, uint64_t shape)
{
	size_t i = sampler_home(shape);
	struct shape *e = &s->shapes[i];

	while (e->used && e->shape != shape)
		e = &s->shapes[i = (i + 1) % SLOTS];
	if (e->used)
		return e;
	if (s->count == SHAPES_MAX)
		return NULL;
	s->count++;
	*e = (struct shape){.shape = shape, .used = true, .passes = sampler_passes(s, kernel)};
	return e;
}

static enum pasta_access_launch_sub sampler_without_entry(struct pasta_sampler *s,
							  const char *kernel)
{
	if (!sampler_passes(s, kernel))
		return PASTA_ACCESS_LAUNCH_FILTERED;
	if (!s->launches)
		return PASTA_ACCESS_LAUNCH_COUNTED;
	s->full = true;
	return PASTA_ACCESS_LAUNCH_SAMPLED;
}

static enum pasta_access_launch_sub sampler_choose(struct pasta_sampler *s, const char *kernel,
						   uint64_t shape)
{
	struct shape *e = sampler_find(s, kernel, shape);

	if (!e)
		return sampler_without_entry(s, kernel);
	if (!e->passes)
		return PASTA_ACCESS_LAUNCH_FILTERED;
	if (s->launches && e->seen == s->launches)
		return PASTA_ACCESS_LAUNCH_SAMPLED;
	e->seen += s->launches > 0;
	return PASTA_ACCESS_LAUNCH_COUNTED;
}

enum pasta_access_launch_sub pasta_sampler_choose(struct pasta_sampler *s, const char *kernel,
						  uint64_t shape)
{
	enum pasta_access_launch_sub what;

	if (!s->launches && !s->kernel.count && !s->exclude.count)
		return PASTA_ACCESS_LAUNCH_COUNTED;
	pasta_lock(&s->lock);
	what = sampler_choose(s, kernel, shape);
	pasta_unlock(&s->lock);
	return what;
}

void pasta_sampler_unchoose(struct pasta_sampler *s, uint64_t shape)
{
	struct shape *e;

	pasta_lock(&s->lock);
	for (size_t i = sampler_home(shape); (e = &s->shapes[i])->used; i = (i + 1) % SLOTS)
		if (e->shape == shape) {
			e->seen -= e->seen > 0;
			break;
		}
	pasta_unlock(&s->lock);
}

bool pasta_sampler_full(struct pasta_sampler *s)
{
	bool full;

	pasta_lock(&s->lock);
	full = s->full;
	pasta_unlock(&s->lock);
	return full;
}
