/*
 * preload_evil - a library that a set-user-ID program must not load. A program that
 * loads it creates the file that EVIL_FILE names.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
	const char *path = getenv("EVIL_FILE");

	if (path)
		close(open(path, O_WRONLY | O_CREAT, 0644));
}
