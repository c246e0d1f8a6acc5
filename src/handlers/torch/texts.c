/*
 * texts.c - describes the arguments and results of operators as text. A thread formats a
 * description only once: a set-associative cache finds it by the hash of the values, which the shim
 * computes.
 */
#include "handlers/torch/torch.h"

#include "collect/state.h"

enum { TEXT = 16 << 10 }; /* longer descriptions are cut */

static uint32_t texts_intern(const struct pasta_torch_op *op, enum pasta_torch_description what)
{
	char text[TEXT];
	size_t size = torch_shim->describe(op, what, text, sizeof(text));

	return size ? pasta_intern_text(text, size) : 0;
}

__attribute__((noinline)) static void texts_fill(struct torch_texts *x,
						 const struct pasta_torch_op *op, bool results)
{
	int last = results ? PASTA_TORCH_SHAPES : PASTA_TORCH_DESCRIPTIONS - 1;

	for (int i = 0; i < PASTA_TORCH_DESCRIPTIONS; i++)
		x->ids[i] = i <= last ? texts_intern(op, (enum pasta_torch_description)i) : 0;
}

const struct torch_texts *torch_texts_get(struct torch_thread *t, const struct pasta_torch_op *op,
					  bool results)
{
	static const struct torch_texts none;
	uint64_t hash = op->values_hash ^ (uint64_t)results << 63;
	struct torch_texts *set = t->texts[(hash >> 32) % TORCH_TEXT_SETS];
	uint32_t i;

	if (!op->values_hash)
		return &none;
	for (i = 0; i < TORCH_TEXT_WAYS; i++)
		if (set[i].hash == hash)
			return &set[i];
	i = set[0].next++ % TORCH_TEXT_WAYS;
	set[i].hash = hash;
	texts_fill(&set[i], op, results);
	return &set[i];
}
