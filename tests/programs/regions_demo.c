/* regions_demo - a small annotated training loop: regions, iterations, two threads. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <pasta/annotate.h>

#define STEPS 5

static void work(const char *name, useconds_t us)
{
	pasta_region_begin(name);
	usleep(us);
	pasta_region_end();
}

static void *loader(void *unused)
{
	int step;

	(void)unused;
	pasta_thread_name("loader");
	for (step = 0; step < STEPS; step++)
		work("load", 1500);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int step;

	if (pthread_create(&thread, NULL, loader, NULL))
		return 1;
	pasta_region_begin("train");
	for (step = 0; step < STEPS; step++) {
		pasta_iteration((uint64_t)step);
		pasta_region_begin("step");
		work("forward", 1000);
		work("backward", 2000);
		work("optimizer", 500);
		pasta_region_end();
	}
	pasta_mark("trained");
	pasta_region_end();
	pthread_join(thread, NULL);
	printf("%d steps\n", STEPS);
	return 0;
}
