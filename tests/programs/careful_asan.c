/* careful_asan - built with AddressSanitizer: it finds no fault with the agent, leaks included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pasta/annotate.h>

int main(int argc, char **argv)
{
	char *p = malloc(100);

	for (int i = 0; i < 1000; i++) {
		pasta_region_begin("careful");
		memset(p, i, 100);
		pasta_region_end();
	}
	usleep(150000); /* past the writer's first round */
	if (argc > 1)
		((volatile char *)p)[strlen(argv[1]) + 95] = 1; /* "fault" */
	free(p);
	puts("done");
	return 0;
}
