/* stubs.c - replaced by workset.c. */
#include <stdlib.h>

#include "process/diagnosis/diagnosis.h"

struct pasta_workset {
	int error;
};

struct pasta_workset *pasta_workset_new(void)
{
	return calloc(1, sizeof(struct pasta_workset));
}

void pasta_workset_free(struct pasta_workset *w)
{
	free(w);
}

void pasta_workset_event(struct pasta_workset *w, const struct pasta_event *ev,
			 const struct pasta_where *where, uint64_t step)
{
}

void pasta_workset_restart(struct pasta_workset *w, uint32_t proc)
{
}

int pasta_workset_merge(struct pasta_workset *w, struct pasta_workset *from)
{
	return 0;
}

int pasta_workset_finish(struct pasta_workset *w, uint64_t (*first_step)(void *ctx, uint32_t proc),
			 void *ctx)
{
	return 0;
}

int pasta_workset_error(const struct pasta_workset *w)
{
	return w->error;
}

const struct pasta_work *pasta_diagnosis_work(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_layer *pasta_diagnosis_layer(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_chain *pasta_diagnosis_chain(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_peaks *pasta_device_peaks(uint32_t proc, uint32_t device)
{
	return NULL;
}

const char *pasta_bound_name(uint32_t bound)
{
	return NULL;
}

uint32_t pasta_layer_fold(const char *path)
{
	char text[4096];
	size_t size = 0;

	for (const char *p = path; *p && size < sizeof(text) - 1; size++) {
		if (*p < '0' || *p > '9') {
			text[size] = *p++;
			continue;
		}
		text[size] = '*';
		while (*p >= '0' && *p <= '9')
			p++;
	}
	return pasta_strings_add(text, size);
}
