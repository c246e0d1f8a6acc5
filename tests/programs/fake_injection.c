/* fake_injection - another tool's library for CUDA_INJECTION64_PATH: it notes that it was called.
 */
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	const char *path = getenv("FAKE_INJECTION_FILE");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return 0;
	fputs("called\n", file);
	fclose(file);
	return 1;
}
