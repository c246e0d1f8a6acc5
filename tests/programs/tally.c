/*
 * tally - emits events and keeps its own count of them, in a file that outlives it.
 *
 *	tally FILE THREADS [EVENTS]
 *
 * FILE holds a 64-bit count a thread, each raised after the emit has returned. Without EVENTS it
 * goes on until it is killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pasta/annotate.h>

static uint64_t *counts;
static uint64_t limit;

static void *emit(void *arg)
{
	uint64_t *count = arg;

	while (!limit || *count < limit) {
		pasta_mark("tick");
		__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int n = argc > 2 ? atoi(argv[2]) : 1;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;

	if (fd < 0 || n < 1 || n > 64 || ftruncate(fd, 4096))
		return 2;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return 2;
	limit = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, emit, &counts[i]))
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
