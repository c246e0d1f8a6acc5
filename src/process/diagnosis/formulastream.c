/* formulastream.c - the formulas of operators that mainly move data: normalizations,
 *, reductions, embeddings, optimizers, copies. */
#include "process/diagnosis/formula.h"

#include <math.h>
#include <string.h>

/* -- Passes over a tensor -- */

/* Reads the input and as many more tensors of its size, and writes one. Arguments: number of
 * further tensors, FLOPs for each element. */
static bool stream_passes(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 0, 0);

	if (!x)
		return false;
	c->f->flops = c->entry->at[1] * x->elements;
	c->f->outputs = x->bytes;
	c->f->bytes = (2 + c->entry->at[0]) * x->bytes;
	return true;
}

/* Returns the number of elements that have weights of their own. Positions: weights, and the shape
 * of a row, which replaces missing weights. */
static double stream_channels(const struct pasta_formula_call *c, int weight, size_t shape)
{
	const struct pasta_optext_arg *w = pasta_optext_tensor(c->in, weight, 0);
	double numbers[PASTA_OPTEXT_DIMS], product = 1;
	size_t count;

	if (w)
		return w->elements;
	count = pasta_optext_numbers(c->scalars, shape, numbers, PASTA_OPTEXT_DIMS);
	for (size_t i = 0; i < count; i++)
		product *= numbers[i];
	return count ? product : 0;
}

/* Arguments: position of the input, number of further tensors of its size that are read, position
 * of the weights. Weight and bias, or their gradients, have the type of the input; a mean and a
 * deviation in float32 belong to each row. */
static bool stream_norm(const struct pasta_formula_call *c)
{
	const int8_t *at = c->entry->at;
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, at[0], 1);
	double channels, rows, size;

	if (!x)
		return false;
	channels = stream_channels(c, at[2], (size_t)at[0] + 1);
	/* Batch normalization computes its statistics per channel. */
	rows = strstr(c->entry->name, "batch")			   ? channels
	       : channels >= 1 && !strstr(c->entry->name, "group") ? x->elements / channels
								   : 0;
	size = x->dtype ? x->dtype->size : 0;
	c->f->flops = 5 * x->elements;
	c->f->outputs = x->bytes;
	c->f->bytes = (2 + at[1]) * x->bytes + 2 * channels * size + 8 * rows;
	return true;
}

static double stream_outputs(const struct pasta_formula_call *c)
{
	double bytes = 0;

	for (size_t i = 0; i < c->out->count; i++)
		bytes += c->out->args[i].bytes;
	return bytes;
}

static bool stream_reduce(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 0, 0);

	if (!x)
		return false;
	c->f->flops = x->elements;
	c->f->bytes = x->bytes + stream_outputs(c);
	return true;
}

/* -- Losses, embeddings -- */

/* Reads one number of each row of the input, and the targets. */
static bool stream_loss(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 0, 0);
	const struct pasta_optext_arg *target = pasta_optext_tensor(c->in, 1, 0);

	if (!x || !target || !x->dtype)
		return false;
	c->f->flops = target->elements;
	c->f->bytes = target->bytes + target->elements * x->dtype->size;
	return true;
}

static bool stream_loss_backward(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 1, 0);
	const struct pasta_optext_arg *target = pasta_optext_tensor(c->in, 2, 0);

	if (!x || !target)
		return false;
	c->f->outputs = x->bytes;
	c->f->bytes = x->bytes + target->bytes;
	return true;
}

/* Reads `count` elements by an index, and writes them. */
static bool stream_indexed(const struct pasta_formula_call *c, const struct pasta_optext_arg *from,
			   const struct pasta_optext_arg *index, double count)
{
	c->f->outputs = count * (from->dtype ? from->dtype->size : 0);
	c->f->bytes = index->bytes + 2 * c->f->outputs;
	return true;
}

/* Positions of two arguments: the table of rows, and the indices. */
static bool stream_rows(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *from = pasta_optext_tensor(c->in, c->entry->at[0], 2);
	const struct pasta_optext_arg *index = pasta_optext_tensor(c->in, c->entry->at[1], 0);

	return from && index && stream_indexed(c, from, index, index->elements * from->dims[1]);
}

static bool stream_select(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *from = pasta_optext_tensor(c->in, 0, 1);
	const struct pasta_optext_arg *index = pasta_optext_tensor(c->in, 2, 0);
	double dim = pasta_optext_number(c->scalars, 1, 0);

	if (!from || !index)
		return false;
	dim += dim < 0 ? (double)from->dims_count : 0;
	if (!(dim >= 0 && dim < (double)from->dims_count) || from->dims[(size_t)dim] < 1)
		return false;
	return stream_indexed(c, from, index,
			      from->elements / from->dims[(size_t)dim] * index->elements);
}

static bool stream_gather(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *from = pasta_optext_tensor(c->in, 0, 1);
	const struct pasta_optext_arg *index = pasta_optext_tensor(c->in, 2, 0);

	return from && index && stream_indexed(c, from, index, index->elements);
}

/* Reads the gradients of rows, and writes the dense gradient of the table. */
static bool stream_rows_backward(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *dy = pasta_optext_tensor(c->in, 0, 1);
	const struct pasta_optext_arg *index = pasta_optext_tensor(c->in, 1, 0);
	double rows = pasta_optext_number(c->scalars, 2, -1);

	if (!dy || !index || rows < 0)
		return false;
	c->f->flops = dy->elements;
	c->f->outputs = rows * dy->dims[dy->dims_count - 1] * (dy->dtype ? dy->dtype->size : 0);
	c->f->bytes = dy->bytes + index->bytes + c->f->outputs;
	return true;
}

/* -- Pooling -- */

static double stream_of(const double *numbers, size_t count, size_t at, double missing)
{
	return !count ? missing : numbers[at < count ? at : count - 1];
}

/* Arguments: whether there is a dilation, bytes of an index for each element of the output. */
static bool stream_pool(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 0, 3);
	double kernel[3], stride[3], padding[3], dilation[3], out = 1, window = 1;
	size_t dims = strchr(c->entry->name, '3') ? 3 : 2;
	size_t kernels = pasta_optext_numbers(c->scalars, 1, kernel, 3);
	size_t strides = pasta_optext_numbers(c->scalars, 2, stride, 3);
	size_t paddings = pasta_optext_numbers(c->scalars, 3, padding, 3);
	size_t dilations = c->entry->at[0] ? pasta_optext_numbers(c->scalars, 4, dilation, 3) : 0;

	if (!x || !kernels || x->dims_count <= dims)
		return false;
	for (size_t i = 0; i < x->dims_count; i++) {
		size_t at = i + dims - x->dims_count;
		double numbers[4];

		if (i + dims < x->dims_count) {
			out *= x->dims[i];
			continue;
		}
		numbers[0] = stream_of(kernel, kernels, at, 1);
		numbers[1] = stream_of(stride, strides, at, numbers[0]);
		numbers[2] = stream_of(padding, paddings, at, 0);
		numbers[3] = stream_of(dilation, dilations, at, 1);
		out *= pasta_formula_window(x->dims[i], numbers);
		window *= numbers[0];
	}
	c->f->flops = out * window;
	c->f->outputs = out * ((x->dtype ? x->dtype->size : 0) + c->entry->at[1]);
	c->f->bytes = x->bytes + c->f->outputs;
	return true;
}

/* Argument: bytes of an index for each element of the gradient. */
static bool stream_pool_backward(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *dy = pasta_optext_tensor(c->in, 0, 1);
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 1, 1);

	if (!dy || !x)
		return false;
	c->f->flops = dy->elements;
	c->f->outputs = x->bytes;
	c->f->bytes = dy->bytes + dy->elements * c->entry->at[0] + x->bytes;
	return true;
}

/* -- Optimizers -- */

/* Sums the bytes of the lists of tensors at the positions from 0 to `count` - 1. Returns 0 if the
 * type of a list is not known. */
static double stream_lists(const struct pasta_formula_call *c, size_t count)
{
	double bytes = 0;

	for (size_t i = 0; i < count && i < c->in->count; i++) {
		if (c->in->args[i].elements > 0 && !c->in->args[i].dtype)
			return 0;
		bytes += c->in->args[i].bytes;
	}
	return bytes;
}

static const struct pasta_optext_arg *stream_list(const struct pasta_formula_call *c)
{
	return c->in->count && c->in->args[0].list ? &c->in->args[0] : NULL;
}

/* Reads parameters, gradients and both moments; writes parameters and moments. */
static bool stream_adam(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *list = stream_list(c);
	double bytes = stream_lists(c, 4);

	if (!list || c->in->count < 4)
		return false;
	c->f->flops = 15 * list->elements;
	c->f->bytes = bytes > 0 ? 2 * bytes - c->in->args[1].bytes : 0;
	return true;
}

/* Reads parameters, gradients and momenta, if any; writes parameters and momenta. */
static bool stream_sgd(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *list = stream_list(c);
	double bytes = stream_lists(c, 3);

	if (!list || c->in->count < 3)
		return false;
	c->f->flops = (c->in->args[2].elements > 0 ? 4 : 2) * list->elements;
	c->f->bytes = bytes > 0 ? 2 * bytes - c->in->args[1].bytes : 0;
	return true;
}

bool pasta_formula_foreach(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *list = stream_list(c);
	double bytes = stream_lists(c, c->in->count);

	if (!list)
		return false;
	c->f->flops = list->elements;
	c->f->outputs = list->bytes;
	c->f->bytes = bytes > 0 ? bytes + c->f->outputs : 0;
	return true;
}

/* -- Copies and fills -- */

static bool stream_copy(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *to = pasta_optext_tensor(c->in, 0, 0);
	const struct pasta_optext_arg *from = pasta_optext_tensor(c->in, 1, 0);

	if (!to || !from)
		return false;
	c->f->bytes = to->bytes + from->bytes;
	return true;
}

static bool stream_join(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *list = stream_list(c);

	if (!list)
		return false;
	c->f->outputs = list->bytes > 0 ? list->bytes : stream_outputs(c);
	c->f->bytes = 2 * c->f->outputs;
	return c->f->bytes > 0;
}

static bool stream_fill(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *to = pasta_optext_tensor(c->in, 0, 0);

	if (!to)
		return false;
	c->f->bytes = to->bytes;
	return true;
}

/* -- Table -- */

#define STREAM(text, function, ...)                                                                \
	{                                                                                          \
		.name = (text), .compute = (function), .rank = PASTA_FORMULA_STREAM,               \
		.at = { __VA_ARGS__ }                                                              \
	}
#define MOVE(text, function)                                                                       \
	{                                                                                          \
		.name = (text), .compute = (function), .rank = PASTA_FORMULA_MOVE                  \
	}

const struct pasta_formula_entry pasta_formula_stream[] = {
	STREAM("_adaptive_avg_pool2d", stream_reduce),
	STREAM("_adaptive_avg_pool2d_backward", stream_pool_backward, 0),
	STREAM("_batch_norm_with_update", stream_norm, 0, 0, 1),
	STREAM("_fused_adam_", stream_adam),
	STREAM("_fused_adamw_", stream_adam),
	STREAM("_fused_rms_norm", stream_norm, 0, 0, 2),
	STREAM("_fused_rms_norm_backward", stream_norm, 1, 1, 4),
	STREAM("_fused_sgd_", stream_sgd),
	STREAM("_log_softmax", stream_passes, 0, 5),
	STREAM("_log_softmax_backward_data", stream_passes, 1, 5),
	STREAM("_native_batch_norm_legit", stream_norm, 0, 0, 1),
	STREAM("_softmax", stream_passes, 0, 5),
	STREAM("_softmax_backward_data", stream_passes, 1, 5),
	STREAM("all", stream_reduce),
	STREAM("amax", stream_reduce),
	STREAM("amin", stream_reduce),
	STREAM("any", stream_reduce),
	STREAM("argmax", stream_reduce),
	STREAM("argmin", stream_reduce),
	STREAM("avg_pool2d", stream_pool, 0, 0),
	STREAM("avg_pool2d_backward", stream_pool_backward, 0),
	STREAM("avg_pool3d", stream_pool, 0, 0),
	STREAM("avg_pool3d_backward", stream_pool_backward, 0),
	STREAM("batch_norm_backward", stream_norm, 1, 1, 2),
	MOVE("bernoulli_", stream_fill),
	MOVE("cat", stream_join),
	MOVE("copy_", stream_copy),
	STREAM("count_nonzero", stream_reduce),
	STREAM("cudnn_batch_norm", stream_norm, 0, 0, 1),
	STREAM("cudnn_batch_norm_backward", stream_norm, 0, 1, 2),
	STREAM("cumprod", stream_passes, 0, 1),
	STREAM("cumsum", stream_passes, 0, 1),
	STREAM("embedding", stream_rows, 0, 1),
	STREAM("embedding_dense_backward", stream_rows_backward),
	MOVE("exponential_", stream_fill),
	MOVE("fill_", stream_fill),
	STREAM("gather", stream_gather),
	STREAM("index_select", stream_select),
	STREAM("linalg_vector_norm", stream_reduce),
	STREAM("logsumexp", stream_reduce),
	STREAM("max", stream_reduce),
	STREAM("max_pool2d_with_indices", stream_pool, 1, 8),
	STREAM("max_pool2d_with_indices_backward", stream_pool_backward, 8),
	STREAM("max_pool3d_with_indices", stream_pool, 1, 8),
	STREAM("max_pool3d_with_indices_backward", stream_pool_backward, 8),
	STREAM("mean", stream_reduce),
	STREAM("min", stream_reduce),
	STREAM("miopen_batch_norm", stream_norm, 0, 0, 1),
	STREAM("miopen_batch_norm_backward", stream_norm, 0, 1, 2),
	STREAM("nansum", stream_reduce),
	STREAM("native_batch_norm", stream_norm, 0, 0, 1),
	STREAM("native_batch_norm_backward", stream_norm, 1, 1, 2),
	STREAM("native_group_norm", stream_norm, 0, 0, 1),
	STREAM("native_group_norm_backward", stream_norm, 1, 1, 4),
	STREAM("native_layer_norm", stream_norm, 0, 0, 2),
	STREAM("native_layer_norm_backward", stream_norm, 1, 1, 5),
	STREAM("nll_loss2d_backward", stream_loss_backward),
	STREAM("nll_loss2d_forward", stream_loss),
	STREAM("nll_loss_backward", stream_loss_backward),
	STREAM("nll_loss_forward", stream_loss),
	STREAM("norm", stream_reduce),
	MOVE("normal_", stream_fill),
	STREAM("prod", stream_reduce),
	MOVE("random_", stream_fill),
	MOVE("stack", stream_join),
	STREAM("std", stream_reduce),
	STREAM("std_mean", stream_reduce),
	STREAM("sum", stream_reduce),
	MOVE("uniform_", stream_fill),
	STREAM("var", stream_reduce),
	STREAM("var_mean", stream_reduce),
	MOVE("zero_", stream_fill),
};
const size_t pasta_formula_stream_count =
	sizeof(pasta_formula_stream) / sizeof(*pasta_formula_stream);
