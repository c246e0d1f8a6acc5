/* accesses_config.c - what is wanted of accesses, as the run says it in the environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/accesses_internal.h"
#include "collect/control.h"
#include "collect/sampler.h"

enum { LAUNCHES_DEFAULT = 3, PAGE_LEAST = 5, PAGE_DEFAULT = 12, PAGE_MOST = 30 };
#define REDUCERS_ALL ((UINT32_C(1) << PASTA_REDUCER_COUNT) - 2)
#define REDUCERS_HOST                                                                              \
	(REDUCERS_ALL & ~(PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(TENSOR) |                 \
			  PASTA_REDUCER_MASK(OWN) | PASTA_REDUCER_MASK(BARRIER)))

struct pasta_wanted pasta_wanted;

static bool read_number(const char *text, uint32_t least, uint32_t most, uint32_t *value)
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

static bool read_word(const char *word)
{
	static const struct {
		const char *word;
		bool *flag;
	} flags[] = {{"raw", &pasta_wanted.raw},
		     {"inexact", &pasta_wanted.inexact},
		     {"host", &pasta_wanted.on_host},
		     {"both", &pasta_wanted.both},
		     {"lossy", &pasta_wanted.lossy}};

	if (!strncmp(word, "page=", 5))
		return read_number(word + 5, PAGE_LEAST, PAGE_MOST, &pasta_wanted.cpu.page_shift);
	if (!strncmp(word, "launches=", 9))
		return read_number(word + 9, 0, UINT32_MAX, &pasta_wanted.launches);
	if (!strncmp(word, "blocks=", 7))
		return read_number(word + 7, 1, UINT32_MAX, &pasta_wanted.blocks);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].word))
			return *flags[i].flag = true;
	return false;
}

/* "MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact][,host|,both][,lossy]" */
static bool read_words(char *text)
{
	char *word = strsep(&text, ",");

	pasta_wanted.launches = LAUNCHES_DEFAULT;
	pasta_wanted.blocks = 1;
	if (!read_number(word, 0, REDUCERS_ALL, &pasta_wanted.reducers) ||
	    pasta_wanted.reducers & 1)
		return false;
	pasta_wanted.cpu.reducers = pasta_wanted.reducers & REDUCERS_HOST;
	while ((word = strsep(&text, ",")))
		if (!read_word(word))
			return false;
	return (pasta_wanted.reducers || pasta_wanted.raw) &&
	       !(pasta_wanted.on_host && pasta_wanted.both);
}

static char *copy_of(const char *text)
{
	return text && *text ? strdup(text) : NULL;
}

/* That the patterns are good is found out by compiling them. */
bool pasta_accesses_read(const char *words, struct pasta_error *err)
{
	char *text = strdup(words);
	const char *kernel = getenv(PASTA_ENV_ACCESS_KERNEL);
	const char *exclude = getenv(PASTA_ENV_ACCESS_EXCLUDE);
	struct pasta_sampler *s;

	if (!text || !read_words(text)) {
		pasta_fail(err, -EINVAL,
			   PASTA_ENV_ACCESSES
			   " is MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact]"
			   "[,host|,both][,lossy], not '%s'",
			   words);
		free(text);
		return false;
	}
	free(text);
	pasta_wanted.kernel = copy_of(kernel);
	pasta_wanted.exclude = copy_of(exclude);
	s = pasta_sampler_new(pasta_wanted.kernel, pasta_wanted.exclude, pasta_wanted.launches,
			      err);
	pasta_sampler_free(s);
	return s;
}

bool pasta_accesses_enabled(void)
{
	return pasta_wanted.on;
}

bool pasta_accesses_host_enabled(void)
{
	return pasta_wanted.on && (pasta_wanted.cpu.reducers || pasta_wanted.raw);
}

bool pasta_accesses_inexact(void)
{
	return pasta_wanted.inexact;
}

uint32_t pasta_accesses_reducers(void)
{
	return pasta_wanted.reducers;
}

uint32_t pasta_accesses_page_shift(void)
{
	return pasta_wanted.cpu.page_shift ? pasta_wanted.cpu.page_shift : PAGE_DEFAULT;
}

uint32_t pasta_accesses_blocks(void)
{
	return pasta_wanted.blocks;
}

bool pasta_accesses_on_host(void)
{
	return pasta_wanted.on_host;
}

bool pasta_accesses_both(void)
{
	return pasta_wanted.both;
}

bool pasta_accesses_lossy(void)
{
	return pasta_wanted.lossy;
}

bool pasta_accesses_raw(void)
{
	return pasta_wanted.raw;
}
