/* fuzz_kernelname.c - any bytes as the name of a kernel: its short name is valid and short. */
#include <stdlib.h>
#include <string.h>

#include "process/io/utf8.h"
#include "process/sdk/kernelname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), *text;
	size_t room = size ? 1 + data[0] : 1, n, length = 0;

	text = malloc(room);
	if (!name || !text)
		abort();
	memcpy(name, data, size);
	name[size] = '\0';
	n = pasta_kernelname_short(name, text, room);
	if (n >= room || text[n] || !pasta_utf8_valid(text, n))
		abort();
	for (const char *p = text; p < text + n; length++)
		pasta_utf8_next(&p, text + n);
	if (length > PASTA_KERNELNAME_WIDTH)
		abort();
	free(text);
	free(name);
	return 0;
}
