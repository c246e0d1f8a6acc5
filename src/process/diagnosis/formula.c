/* formula.c - finds the formula of an operator by its name, and applies it. */
#include "process/diagnosis/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A longer name is not in the tables. */
enum { NAME_MAX_SIZE = 96 };

static int formula_compare(const void *key, const void *entry)
{
	return strcmp(key, ((const struct pasta_formula_entry *)entry)->name);
}

static const struct pasta_formula_entry *formula_find(const char *name)
{
	static const struct pasta_formula_entry foreach = {.name = "_foreach_",
							   .compute = pasta_formula_foreach,
							   .rank = PASTA_FORMULA_STREAM};
	const struct {
		const struct pasta_formula_entry *entries;
		size_t count;
	} tables[] = {
		{pasta_formula_matrix, pasta_formula_matrix_count},
		{pasta_formula_element, pasta_formula_element_count},
		{pasta_formula_stream, pasta_formula_stream_count},
	};
	const struct pasta_formula_entry *e = NULL;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !e; i++)
		e = bsearch(name, tables[i].entries, tables[i].count, sizeof(*e), formula_compare);
	if (!e && !strncmp(name, foreach.name, strlen(foreach.name)))
		e = &foreach;
	return e;
}

/* Finds the entry of an operator. The name of an operator that works in place has "_" at its end:
 * if the table lacks that name, the entry without "_" applies. */
static const struct pasta_formula_entry *formula_entry(const char *name, bool *in_place)
{
	const struct pasta_formula_entry *e;
	char text[NAME_MAX_SIZE];
	size_t size;

	if (!strncmp(name, "aten::", 6))
		name += 6;
	size = strlen(name);
	*in_place = size > 1 && name[size - 1] == '_';
	e = formula_find(name);
	if (e || !*in_place || size >= sizeof(text))
		return e;
	memcpy(text, name, size);
	text[size - 1] = '\0';
	e = formula_find(text);
	return e && e->rank == PASTA_FORMULA_STREAM ? e : NULL;
}

double pasta_formula_window(double size, const double numbers[4])
{
	double kernel = numbers[0], stride = numbers[1], padding = numbers[2];
	double room = size + 2 * padding - numbers[3] * (kernel - 1) - 1;

	return stride >= 1 && room >= 0 ? floor(room / stride) + 1 : 0;
}

/* Numbers that are not finite come only from texts that make no sense. */
static bool formula_sound(const struct pasta_formula *f)
{
	return f->flops >= 0 && f->flops < 1e30 && f->bytes >= 0 && f->bytes < 1e30 &&
	       f->outputs >= 0 && f->outputs < 1e30;
}

static void formula_apply(const struct pasta_formula_call *call)
{
	struct pasta_formula *f = call->f;

	if (call->entry->compute(call) && formula_sound(f)) {
		f->rank = call->entry->rank;
		f->elementwise = call->entry->elementwise;
		return;
	}
	f->flops = f->bytes = f->outputs = 0;
}

/* Sets the first tensor's type and the sum of all inputs and outputs. */
static void formula_sizes(const struct pasta_formula_call *call)
{
	struct pasta_formula *f = call->f;
	double known = 0;

	for (size_t i = 0; i < call->in->count; i++) {
		f->working_set += call->in->args[i].bytes;
		if (!f->dtype)
			f->dtype = call->in->args[i].dtype;
	}
	for (size_t i = 0; i < call->out->count; i++)
		known += call->out->args[i].bytes;
	if (f->in_place)
		f->outputs = 0;
	else if (known > 0 && known < 1e30)
		f->outputs = known;
	f->working_set += f->outputs;
	if (!(f->working_set < 1e30))
		f->working_set = 0;
}

void pasta_formula_of(struct pasta_formula *f, const struct pasta_formula_texts *texts)
{
	struct pasta_optext in, out;
	struct pasta_formula_call call = {
		.f = f, .in = &in, .out = &out, .scalars = texts->scalars};

	*f = (struct pasta_formula){0};
	pasta_optext_parse(&in, texts->inputs);
	pasta_optext_strides(&in, texts->strides);
	pasta_optext_parse(&out, texts->outputs);
	call.entry = formula_entry(texts->name, &f->in_place);
	if (call.entry)
		formula_apply(&call);
	formula_sizes(&call);
}
