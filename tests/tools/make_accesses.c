/*
 * make_accesses [LAUNCHES [ACCESSES [kill]]] - a program under study with the agent inside, whose
 * kernels are loops: two threads each load and store an array. It prints what it did, a line a
 * launch; and, if it is to, kills itself when the last one has ended.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/accesses.h"
#include "collect/agent.h"

enum { THREADS = 2, BLOCK = 64 };
#define BASE UINT64_C(0x7f0000001000)

struct work {
	struct pasta_accesses_launch *launch;
	uint32_t thread, count, site;
};

static void access_one(const struct work *w, struct pasta_cpu *c, struct pasta_access *a)
{
	pasta_cpu_access(c, a->addr, a->size, a->kind, a->space, a->site);
	if (pasta_accesses_config.raw)
		pasta_accesses_put(w->launch, a);
}

/* Its half of the array: a load, an atomic every tenth time, and a store, by each work-item. */
static void *run(void *arg)
{
	const struct work *w = arg;
	struct pasta_cpu *c = pasta_accesses_thread(w->launch, BLOCK);

	for (uint32_t i = 0; c && i < w->count; i++) {
		uint32_t item = w->thread * w->count + i;
		struct pasta_access a = {.addr = BASE + 4 * (uint64_t)item,
					 .size = 4,
					 .site = w->site,
					 .group = item / BLOCK,
					 .thread = (uint16_t)(item % BLOCK),
					 .kind = PASTA_ACCESS_LOAD};

		pasta_cpu_thread(c, a.group, a.thread);
		access_one(w, c, &a);
		a.kind = item % 10 ? PASTA_ACCESS_STORE : PASTA_ACCESS_ATOMIC;
		a.site = w->site + 1;
		access_one(w, c, &a);
	}
	if (!c)
		pasta_accesses_dropped(w->launch, 2 * (uint64_t)w->count);
	return NULL;
}

static void tell_sites(uint32_t first)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct pasta_event ev;

		pasta_event_init(&ev, PASTA_KIND_SITE, 0, PASTA_EVENT_SIZE(site));
		ev.site.id = first + i;
		ev.site.function = pasta_intern_str("scale");
		ev.site.file = pasta_intern_str("kernels.cl");
		ev.site.line = 7 + i;
		ev.site.bytes = 4;
		ev.site.flags = i ? PASTA_ACCESS_STORE : PASTA_ACCESS_LOAD;
		ev.time = pasta_now();
		pasta_emit(&ev);
	}
}

static void launch(uint64_t corr, uint32_t count, uint32_t site)
{
	const uint32_t grid[3] = {count * THREADS, 1, 1}, block[3] = {BLOCK, 1, 1};
	uint64_t shape = pasta_accesses_shape(pasta_accesses_kernel("scale", 0), grid, block);
	enum pasta_access_launch_sub what = pasta_accesses_choose("scale", shape);
	uint32_t name = pasta_intern_str("scale"), i;
	struct work work[THREADS] = {0};
	pthread_t threads[THREADS];

	pasta_accesses_registered(corr, pasta_now(), shape, what, name, 0, 1);
	if (what != PASTA_ACCESS_LAUNCH_COUNTED)
		return;
	work[0].launch = pasta_accesses_begin(corr, name, pasta_agent_tid(), NULL);
	for (i = 0; i < THREADS; i++) {
		work[i] = (struct work){work[0].launch, i, count, site};
		if (!work[i].launch || pthread_create(&threads[i], NULL, run, &work[i]))
			exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pasta_accesses_end(work[0].launch, true);
	printf("launch %" PRIu64 ": %" PRIu32 " accesses\n", corr, 2 * THREADS * count);
}

int main(int argc, char **argv)
{
	unsigned long launches = argc > 1 ? strtoul(argv[1], NULL, 10) : 5;
	uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000, site;

	if (!pasta_agent_attach() || !pasta_accesses_config.on) {
		printf("nothing is wanted\n");
		return 0;
	}
	site = pasta_accesses_sites(2);
	tell_sites(site);
	pasta_accesses_object(1, BASE, 4 * (uint64_t)THREADS * count, 1, 0);
	for (uint64_t corr = 1; corr <= launches; corr++)
		launch(corr, count, site);
	fflush(stdout);
	if (argc > 3)
		raise(SIGKILL);
	return 0;
}
