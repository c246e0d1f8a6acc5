/* one_thread.c - preloaded into tests that must start no thread: aborts those that do. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static const char text[] = "a thread begins: take the label onethread off this test\n";

	(void)thread, (void)attr, (void)run, (void)arg;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(98);
	abort();
}
