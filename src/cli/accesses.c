/* accesses.c - run: whether memory accesses are counted, and of which launches. */
#include "cli/accesses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/device.h>

enum { LAUNCHES = 3 }; /* of each kernel and shape, unless told */
#define TABLES                                                                                     \
	(PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE | PASTA_NEED_ACCESS_SITE |              \
	 PASTA_NEED_ACCESS_SITE_OBJECT | PASTA_NEED_ACCESS_COALESCE | PASTA_NEED_ACCESS_DIVERGE |  \
	 PASTA_NEED_ACCESS_BLOCK | PASTA_NEED_ACCESS_TENSOR)
/* Needs are in the order of reducers: one shift makes a mask of the other. */
#define SHIFT 3
_Static_assert(PASTA_NEED_ACCESS_OBJECT >> SHIFT == 1 << PASTA_REDUCE_OBJECT &&
		       PASTA_NEED_ACCESS_TENSOR >> SHIFT == 1 << PASTA_REDUCE_TENSOR,
	       "needs and reducers are in the same order");

int pasta_cli_accesses_sample(struct pasta_cli_accesses *a, const char *arg, struct pasta_err *err)
{
	if (strncmp(arg, "launches=", 9) != 0 || pasta_cli_count(arg + 9, &a->launches) ||
	    !a->launches || a->launches > UINT32_MAX)
		return pasta_fail(err, -EINVAL, "--sample is launches=K, from 1 on, not '%s'", arg);
	return 0;
}

int pasta_cli_accesses_choose(struct pasta_cli_accesses *a, const struct pasta_show *show,
			      struct pasta_err *err)
{
	a->needs = pasta_choice_needs(&show->choice) & (TABLES | PASTA_NEED_ACCESS_RAW);
	if (a->all && a->launches)
		return pasta_fail(err, -EINVAL,
				  "--all counts every launch, --sample some: choose one");
	if (!a->needs && (a->all || a->launches || a->inexact))
		return pasta_fail(err, -EINVAL,
				  "%s is for tools that count memory accesses, and none is chosen",
				  a->all	? "--all"
				  : a->launches ? "--sample"
						: "--inexact");
	if (!a->needs)
		return 0;
	if (pasta_filter_patterns(show->filter, PASTA_FILTER_KERNEL, &a->kernel) ||
	    pasta_filter_patterns(show->filter, PASTA_FILTER_EXCLUDE, &a->exclude))
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

void pasta_cli_accesses_free(struct pasta_cli_accesses *a)
{
	free(a->kernel);
	free(a->exclude);
}

uint64_t pasta_cli_accesses_kinds(const struct pasta_cli_accesses *a)
{
	uint64_t kinds = 0;

	if (a->needs)
		kinds = PASTA_BIT(OBJECT) | PASTA_BIT(SITE) | PASTA_BIT(ACCESS_LAUNCH);
	if (a->needs & TABLES)
		kinds |= PASTA_BIT(ACCESS_SUM);
	if (a->needs & PASTA_NEED_ACCESS_RAW)
		kinds |= PASTA_BIT(ACCESS_BATCH);
	return kinds;
}

static size_t launches(const struct pasta_cli_accesses *a)
{
	return a->all ? 0 : a->launches ? a->launches : LAUNCHES;
}

const char *pasta_cli_accesses_words(struct pasta_cli_accesses *a)
{
	if (!a->needs)
		return NULL;
	snprintf(a->words, sizeof(a->words), "%#" PRIx64 ",launches=%zu%s%s",
		 (a->needs & TABLES) >> SHIFT, launches(a),
		 a->needs & PASTA_NEED_ACCESS_RAW ? ",raw" : "", a->inexact ? ",inexact" : "");
	return a->words;
}

void pasta_cli_accesses_json(struct pasta_json *j, const void *ctx)
{
	const struct pasta_cli_accesses *a = ctx;

	if (!a->needs)
		return;
	pasta_json_key(j, "accesses");
	pasta_json_map(j);
	pasta_json_key(j, "launches");
	if (a->all)
		pasta_json_null(j);
	else
		pasta_json_uint(j, launches(a));
	pasta_json_key(j, "inexact");
	pasta_json_bool(j, a->inexact);
	pasta_json_map_end(j);
}

void pasta_cli_accesses_check(const struct pasta_cli_accesses *a,
			      const struct pasta_handler *const *handlers)
{
	char why[300], all[700] = "";

	for (; a->needs && handlers && *handlers; handlers++) {
		if (!(*handlers)->accesses)
			continue;
		if (!(*handlers)->accesses(why, sizeof(why)))
			return;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", *all ? "; " : "",
			 why);
	}
	if (a->needs)
		pasta_cli_say("no memory accesses are counted: %s",
			      *all ? all : "no handler tells of them");
}
