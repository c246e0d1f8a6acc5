/* demangle.c - names of C++: libstdc++ knows how to read them, and is bound at run time. */
#include "process/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Names refer back to parts of themselves, and so may say in a line what fills a disk. Those of
 * real programs are shorter than this. */
enum { LONG = 4096 };

static char *(*demangle)(const char *name, char *to, size_t *size, int *status);

static void bind(void)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		*(void **)&demangle = dlsym(lib, "__cxa_demangle");
}

char *pasta_demangle(const char *name, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char text[LONG];
	int status;

	if (size < 3 || size >= LONG || memcmp(name, "_Z", 2) || memchr(name, '\0', size))
		return NULL;
	pthread_once(&once, bind);
	memcpy(text, name, size);
	text[size] = '\0';
	return demangle ? demangle(text, NULL, NULL, &status) : NULL;
}
