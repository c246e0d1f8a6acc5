/* sampler.c - which launches have their accesses counted. */
#include "collect/sampler.h"
#include "core/lock.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* Shapes that are kept: 24 bytes each, in a table that is three quarters full at most. */
enum { SLOTS = 1 << 16, SHAPES_MAX = SLOTS / 4 * 3 };

struct patterns {
	regex_t *list;
	size_t count;
};

struct shape {
	uint64_t shape;
	uint32_t seen; /* launches, up to as many as are counted */
	bool used, passes;
};

/* The lock is for the table, and for the patterns: to match takes a lock of theirs, all the same.
 */
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

static int add_pattern(struct patterns *p, const char *text, struct pasta_error *err)
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
		return pasta_fail(err, -EINVAL, "'%s' is no regular expression: %s", text, why);
	}
	p->count++;
	return 0;
}

static int patterns_init(struct patterns *p, const char *lines, struct pasta_error *err)
{
	char *text = lines ? strdup(lines) : NULL, *rest = text, *line;
	int error = lines && !text ? pasta_fail(err, -ENOMEM, "out of memory") : 0;

	while (!error && (line = strsep(&rest, "\n")))
		error = *line ? add_pattern(p, line, err) : 0;
	free(text);
	return error;
}

static bool matches(const struct patterns *p, const char *name)
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

static bool passes(const struct pasta_sampler *s, const char *kernel)
{
	return (!s->kernel.count || matches(&s->kernel, kernel)) && !matches(&s->exclude, kernel);
}

static size_t home(uint64_t shape)
{
	return shape * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

/* The entry of a shape, made if there is none; NULL: there is no room. */
static struct shape *find(struct pasta_sampler *s, const char *kernel, uint64_t shape)
{
	size_t i = home(shape);
	struct shape *e = &s->shapes[i];

	while (e->used && e->shape != shape)
		e = &s->shapes[i = (i + 1) % SLOTS];
	if (e->used)
		return e;
	if (s->count == SHAPES_MAX)
		return NULL;
	s->count++;
	*e = (struct shape){.shape = shape, .used = true, .passes = passes(s, kernel)};
	return e;
}

static enum pasta_access_launch_sub without_entry(struct pasta_sampler *s, const char *kernel)
{
	if (!passes(s, kernel))
		return PASTA_ACCESS_LAUNCH_FILTERED;
	if (!s->launches)
		return PASTA_ACCESS_LAUNCH_COUNTED;
	s->full = true;
	return PASTA_ACCESS_LAUNCH_SAMPLED;
}

static enum pasta_access_launch_sub choose(struct pasta_sampler *s, const char *kernel,
					   uint64_t shape)
{
	struct shape *e = find(s, kernel, shape);

	if (!e)
		return without_entry(s, kernel);
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
	what = choose(s, kernel, shape);
	pasta_unlock(&s->lock);
	return what;
}

void pasta_sampler_unchoose(struct pasta_sampler *s, uint64_t shape)
{
	struct shape *e;

	pasta_lock(&s->lock);
	for (size_t i = home(shape); (e = &s->shapes[i])->used; i = (i + 1) % SLOTS)
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
