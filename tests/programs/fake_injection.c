/*
 * fake_injection - another tool's library for CUDA_INJECTION64_PATH: it notes that it was called,
 * in FAKE_INJECTION_FILE, and has the CUPTI of FAKE_INJECTION_CUPTI give it records.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

static void request(unsigned char **buffer, size_t *size, size_t *records)
{
	*buffer = NULL;
	*size = *records = 0;
}

static void complete(void *context, unsigned int stream, unsigned char *buffer, size_t size,
		     size_t valid)
{
	(void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

static int use(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*begin)(void *, void *) = NULL;

	if (lib)
		*(void **)&begin = dlsym(lib, "cuptiActivityRegisterCallbacks");
	return begin ? begin((void *)request, (void *)complete) : -1;
}

int InitializeInjection(void)
{
	const char *path = getenv("FAKE_INJECTION_FILE"), *cupti = getenv("FAKE_INJECTION_CUPTI");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return 0;
	fprintf(file, cupti && use(cupti) ? "failed\n" : "called\n");
	fclose(file);
	return 1;
}
