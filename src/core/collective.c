/* collective.c - matches collective operations with their kernels, by process and correlation
 * id. */
#include <pasta/event.h>
#include <pasta/pending.h>

void *pasta_collective_wait(struct pasta_pending *waiting, const struct pasta_event *collective)
{
	uint64_t *time = pasta_pending_add(waiting, collective->proc, collective->collective.corr);

	if (time)
		*time = collective->time;
	return time;
}

void *pasta_collective_find(struct pasta_pending *waiting, const struct pasta_event *kernel)
{
	uint64_t *time = NULL;

	if (pasta_pending_count(waiting))
		time = pasta_pending_find(waiting, kernel->proc, kernel->kernel.corr);
	return time && (kernel->kernel.corr || *time == kernel->time) ? time : NULL;
}

void pasta_collective_done(struct pasta_pending *waiting, const struct pasta_event *kernel)
{
	pasta_pending_remove(waiting, kernel->proc, kernel->kernel.corr);
}
