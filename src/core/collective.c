/* collective.c - which kernel a collective is, by process and correlation. */
#include <pasta/pasta.h>

void *pasta_collective_wait(struct pasta_pending *waiting, const struct pasta_event *collective)
{
	uint64_t *said = pasta_pending_add(waiting, collective->proc, collective->collective.corr);

	if (said)
		*said = collective->time;
	return said;
}

void *pasta_collective_find(struct pasta_pending *waiting, const struct pasta_event *kernel)
{
	uint64_t *said = NULL;

	if (pasta_pending_count(waiting))
		said = pasta_pending_find(waiting, kernel->proc, kernel->kernel.corr);
	return said && (kernel->kernel.corr || *said == kernel->time) ? said : NULL;
}

void pasta_collective_done(struct pasta_pending *waiting, const struct pasta_event *kernel)
{
	pasta_pending_remove(waiting, kernel->proc, kernel->kernel.corr);
}
