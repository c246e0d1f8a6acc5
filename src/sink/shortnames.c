/* shortnames.c - chooses the short names of kernels in a report. */
#include "sink/shortnames.h"

#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/kernelname.h"

/* The short name of a kernel. */
struct name {
	const char *full; /* the key; a copy */
	char text[PASTA_KERNELNAME_SIZE + 24];
};

/* The number of kernels with the same short name. */
struct shared {
	const char *text; /* the key; the text of the first of these kernels */
	size_t count;
};

struct pasta_shortnames {
	void *names;  /* tree of struct name */
	void *shared; /* tree of struct shared */
};

/* Both structures begin with a pointer to the text that is their key. */
static int shortnames_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void shortnames_free_name(void *node)
{
	struct name *name = node;

	free((char *)name->full);
	free(name);
}

struct pasta_shortnames *pasta_shortnames_new(void)
{
	return calloc(1, sizeof(struct pasta_shortnames));
}

void pasta_shortnames_free(struct pasta_shortnames *s)
{
	if (!s)
		return;
	tdestroy(s->shared, free);
	tdestroy(s->names, shortnames_free_name);
	free(s);
}

/* Append a number to the text of a new name if other kernels have the same text. Returns false when
 * out of memory. */
static bool shortnames_number(struct pasta_shortnames *s, struct name *name)
{
	struct shared *own = calloc(1, sizeof(*own));
	struct shared **found;

	if (!own)
		return false;
	own->text = name->text;
	found = tsearch(own, &s->shared, shortnames_compare);
	if (!found || *found != own)
		free(own);
	if (found && (*found)->count++)
		snprintf(name->text + strlen(name->text), 24, "~%zu", (*found)->count);
	return found;
}

const char *pasta_shortnames_add(struct pasta_shortnames *s, const char *full)
{
	struct name *name, **found = tfind(&full, &s->names, shortnames_compare);

	if (found)
		return (*found)->text;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->full = strdup(full);
	pasta_kernelname_short(full, name->text, PASTA_KERNELNAME_SIZE);
	if (!name->full || !tsearch(name, &s->names, shortnames_compare)) {
		shortnames_free_name(name);
		return NULL;
	}
	return shortnames_number(s, name) ? name->text : NULL;
}

const char *pasta_shortnames_find(const struct pasta_shortnames *s, const char *full)
{
	struct name **found = tfind(&full, &s->names, shortnames_compare);

	return found ? (*found)->text : full;
}
