/* fuzz_cubin.c - any bytes as a CUDA binary: its functions' data lie within its bytes. */
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/cubin.h"

static void check(struct pasta_cubin *c, const struct pasta_cubin_function *f, size_t size)
{
	struct pasta_cubin_line line;

	if (pasta_cubin_find(c, f->name) != f || f->code > size || f->size > size - f->code ||
	    (f->mix_known && f->mix.all != f->size / 16))
		abort();
	for (unsigned int i = 0; i < f->params_count; i++)
		if (f->params[i].offset + f->params[i].size > f->params_size)
			abort();
	for (uint64_t at = 0; at < f->size && at < 1024; at += 16)
		if (pasta_cubin_line(c, f, at, &line) && (!line.line || !strlen(line.file)))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pasta_error err = {0};
	struct pasta_cubin *c = pasta_cubin_new(data, size, &err);

	if (!c && (!err.code || !err.text[0]))
		abort();
	for (size_t i = 0; c && i < pasta_cubin_count(c); i++)
		check(c, pasta_cubin_at(c, i), size);
	pasta_cubin_free(c);
	return 0;
}
