/*
 * texts.c - describes the arguments and results of operators as text. A thread formats a
 * description only once: a set-associative cache finds it by the hash of the values, which the shim
 * computes.
 */
#include "handlers/torch/torch.h"

#include "collect/state.h"

enum { TEXT = 16 << 10 }; /* longer descriptions are cut */
/* When there is no memory for new descriptions, only one in so many unknown operators is described,
 * because describing is slow. */
enum { RETRY = 64 };

/* Sets *refused if there is no memory for the text. */
static uint32_t texts_intern(const struct pasta_torch_op *op, enum pasta_torch_description what,
			     bool *refused)
{
	char text[TEXT];
	size_t size = torch_shim->describe(op, what, text, sizeof(text));
	uint32_t id = size ? pasta_intern_text(text, size) : 0;

	*refused = *refused || (size && !id);
	return id;
}

/* Returns false if there is no memory for some of the texts. */
__attribute__((noinline)) static bool texts_fill(struct torch_texts *x,
						 const struct pasta_torch_op *op, bool results)
{
	int last = results ? PASTA_TORCH_SHAPES : PASTA_TORCH_DESCRIPTIONS - 1;
	bool refused = false;

	for (int i = 0; i < PASTA_TORCH_DESCRIPTIONS; i++)
		x->ids[i] =
			i <= last ? texts_intern(op, (enum pasta_torch_description)i, &refused) : 0;
	return !refused;
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
	if (t->texts_full && ++t->texts_skipped % RETRY)
		return &none;
	i = set[0].next++ % TORCH_TEXT_WAYS;
	t->texts_full = !texts_fill(&set[i], op, results);
	set[i].hash = t->texts_full ? 0 : hash;
	return &set[i];
}
