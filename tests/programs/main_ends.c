/*
 * main_ends - its main thread ends, and another goes on emitting a mark every 20 ms until it is
 * killed, which it is after so many.
 *
 *	main_ends MARKS
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <pasta/annotate.h>

static void *emit(void *arg)
{
	for (long i = strtol(arg, NULL, 10); i; i--) {
		pasta_mark("mark");
		usleep(20000);
	}
	kill(getpid(), SIGKILL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2 || pthread_create(&thread, NULL, emit, argv[1]))
		return 2;
	pasta_mark("main");
	usleep(200000); /* the writer has written once */
	pthread_exit(NULL);
}
