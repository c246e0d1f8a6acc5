/*
 * rings - emits events of all kinds of annotate.h, counts them, and ends in a given way.
 *
 *	rings COUNTS THREADS BEFORE AFTER exit|abandon|fork|endless
 *
 * COUNTS holds a 64-bit count for each thread, incremented after each call has returned, and
 * survives the process; word 400 is the process's id. Each thread emits BEFORE rounds, sleeps until
 * the writer has drained its ring, emits AFTER more rounds (0: no sleep), and ends:
 *
 *   exit     normally
 *   abandon  kills its parent, accelprof, and then itself: its rings are not recovered
 *   fork     the same, and so does a child that it forked before
 *   endless  emits until it is killed; AFTER is not used
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pasta/annotate.h>

enum { THREADS_MAX = 64, NAMES = 7, CHILD = 256, PID = 400 };

static uint64_t *counts;
static unsigned long before, after;
static int thread_count, endless;
static pthread_barrier_t emitted;

static void count_one(uint64_t *count)
{
	__atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
}

/* Emits seven events. */
static void emit_round(uint64_t *count, unsigned long i)
{
	char name[32];

	snprintf(name, sizeof(name), "kernel of layer %lu", i % NAMES);
	pasta_iteration(i);
	count_one(count);
	pasta_region_begin("step");
	count_one(count);
	pasta_region_begin(name);
	count_one(count);
	pasta_counter("queue", (double)(i % 13));
	count_one(count);
	pasta_mark(i % 5 ? "sent" : "received");
	count_one(count);
	pasta_region_end();
	count_one(count);
	pasta_region_end();
	count_one(count);
}

static void *emit(void *arg)
{
	uint64_t *count = arg;
	unsigned long i = 0;
	char name[32];

	snprintf(name, sizeof(name), "worker %d", (int)(count - counts) % CHILD);
	pasta_thread_name(name);
	count_one(count);
	for (; i < before; i++)
		emit_round(count, i);
	while (endless)
		emit_round(count, i++);
	if (after)
		usleep(250000);
	for (; i < before + after; i++)
		emit_round(count, i);
	pthread_barrier_wait(&emitted);
	return NULL;
}

static int emit_all(uint64_t *first)
{
	pthread_t threads[THREADS_MAX];

	if (pthread_barrier_init(&emitted, NULL, (unsigned int)thread_count + 1))
		return 2;
	for (int i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, emit, &first[i]))
			return 2;
	pthread_barrier_wait(&emitted);
	return 0;
}

/* The child emits and waits to be killed: if it were dead already, accelprof would recover its
 * rings. */
static pid_t emit_in_child(void)
{
	volatile uint64_t *done = &counts[CHILD + THREADS_MAX];
	pid_t child = fork();

	if (!child) {
		*done = emit_all(&counts[CHILD]) ? 2 : 1;
		for (;;)
			pause();
	}
	while (child > 0 && !*done)
		usleep(1000);
	return child > 0 && *done == 1 ? child : -1;
}

/* accelprof first, so that it recovers nothing. */
static int abandon(pid_t child)
{
	kill(getppid(), SIGKILL);
	if (child)
		kill(child, SIGKILL);
	kill(getpid(), SIGKILL);
	return 2;
}

int main(int argc, char **argv)
{
	int fd = argc == 6 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	const char *how = argc == 6 ? argv[5] : "";
	pid_t child = 0;

	thread_count = argc == 6 ? atoi(argv[2]) : 0;
	if (fd < 0 || thread_count < 1 || thread_count > THREADS_MAX || ftruncate(fd, 4096)) {
		fprintf(stderr, "rings COUNTS THREADS BEFORE AFTER exit|abandon|fork|endless\n");
		return 2;
	}
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	before = strtoul(argv[3], NULL, 10);
	after = strtoul(argv[4], NULL, 10);
	endless = !strcmp(how, "endless");
	if (counts == MAP_FAILED)
		return 2;
	counts[PID] = (uint64_t)getpid();
	if (!strcmp(how, "fork"))
		child = emit_in_child();
	if (child < 0 || emit_all(counts))
		return 2;
	return !strcmp(how, "exit") ? 0 : abandon(child);
}
