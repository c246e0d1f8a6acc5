/* fuzz_formula.c - any texts as an operator's name, inputs, scalars, outputs and strides:
 * the work is a
 * finite number, and is 0 without a formula. */
#include <stdlib.h>
#include <string.h>

#include "process/diagnosis/formula.h"

static bool sound(double number)
{
	return number >= 0 && number < 1e31;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pasta_formula f;
	char *text = malloc(size + 1), *parts[5], *p = text;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	/* The parts are lines; all further lines belong to the last part. */
	for (size_t i = 0; i < 5; i++) {
		parts[i] = p;
		p += strcspn(p, "\n");
		if (*p && i < 4)
			*p++ = '\0';
	}
	pasta_formula_of(&f, &(struct pasta_formula_texts){parts[0], parts[1], parts[2], parts[3],
							   parts[4]});
	if (!sound(f.flops) || !sound(f.bytes) || !sound(f.outputs) || !sound(f.working_set))
		abort();
	if (f.rank == PASTA_FORMULA_NONE && (f.flops != 0 || f.bytes != 0))
		abort();
	free(text);
	return 0;
}
