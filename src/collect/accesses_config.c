/* accesses_config.c - reads environment variables that configure which memory accesses to count. */
#include "collect/accesses_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/control.h"
#include "collect/sampler.h"

enum { LAUNCHES_DEFAULT = 3, PAGE_MIN = 5, PAGE_DEFAULT = 12, PAGE_MAX = 30 };
#define REDUCERS_ALL ((UINT32_C(1) << PASTA_REDUCER_COUNT) - 2)
#define REDUCERS_HOST                                                                              \
	(REDUCERS_ALL & ~(PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(TENSOR) |                 \
			  PASTA_REDUCER_MASK(OWN) | PASTA_REDUCER_MASK(BARRIER)))
/* The environment variable for the variant of the device code, which is `floor` or `naive`.
 * Benchmarks set the variable; accelprof run does not. */
#define ENV_PATCHES "PASTA_PATCHES"
#define FORMAT "MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact][,host|,both][,lossy]"

struct pasta_accesses_config pasta_accesses_config;

static bool config_number(const char *text, uint32_t least, uint32_t most, uint32_t *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
		return false;
	*value = (uint32_t)n;
	return true;
}

static bool config_word(struct pasta_accesses_config *c, const char *word)
{
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {{"raw", &c->raw},
		     {"inexact", &c->inexact},
		     {"host", &c->on_host},
		     {"both", &c->both},
		     {"lossy", &c->lossy}};

	if (!strncmp(word, "page=", 5))
		return config_number(word + 5, PAGE_MIN, PAGE_MAX, &c->page_shift);
	if (!strncmp(word, "launches=", 9))
		return config_number(word + 9, 0, UINT32_MAX, &c->launches);
	if (!strncmp(word, "blocks=", 7))
		return config_number(word + 7, 1, UINT32_MAX, &c->blocks);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].word))
			return *flags[i].flag = true;
	return false;
}

/* Parses a text of the form FORMAT, and modifies the text while doing so. Returns false if the text
 * is invalid. */
static bool config_words(struct pasta_accesses_config *c, char *text)
{
	char *word = strsep(&text, ",");

	c->launches = LAUNCHES_DEFAULT;
	c->blocks = 1;
	c->page_shift = PAGE_DEFAULT;
	if (!config_number(word, 0, REDUCERS_ALL, &c->reducers) || c->reducers & 1)
		return false;
	while ((word = strsep(&text, ",")))
		if (!config_word(c, word))
			return false;
	c->cpu.reducers = c->reducers & REDUCERS_HOST;
	c->cpu.page_shift = c->page_shift;
	return (c->reducers || c->raw) && !(c->on_host && c->both);
}

static int config_parse(struct pasta_accesses_config *c, const char *words, struct pasta_error *err)
{
	char *text = strdup(words);
	int error = 0;

	if (!text || !config_words(c, text))
		error = pasta_fail(err, -EINVAL, PASTA_ENV_ACCESSES " must be " FORMAT ", not '%s'",
				   words);
	free(text);
	return error;
}

static char *config_text(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? strdup(text) : NULL;
}

/* Checks that the regular expressions are valid. Returns 1 if they are. */
static int config_patterns(const struct pasta_accesses_config *c, struct pasta_error *err)
{
	struct pasta_sampler *s = pasta_sampler_new(c->kernel, c->exclude, c->launches, err);
	bool valid = s;

	pasta_sampler_free(s);
	return valid ? 1 : -EINVAL;
}

int pasta_accesses_config_read(struct pasta_error *err)
{
	struct pasta_accesses_config *c = &pasta_accesses_config;
	const char *words = getenv(PASTA_ENV_ACCESSES);
	int error;

	if (!words || !*words)
		return 0;
	error = config_parse(c, words, err);
	if (error)
		return error;
	c->kernel = config_text(PASTA_ENV_ACCESS_KERNEL);
	c->exclude = config_text(PASTA_ENV_ACCESS_EXCLUDE);
	c->patches = config_text(ENV_PATCHES);
	return config_patterns(c, err);
}

const char *pasta_accesses_config_reducer(void)
{
	const char *path = getenv(PASTA_ENV_REDUCER);

	return path && *path ? path : NULL;
}
