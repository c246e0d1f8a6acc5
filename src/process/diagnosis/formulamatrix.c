/* formulamatrix.c - the formulas of matrix products, convolutions and attention. */
#include "process/diagnosis/formula.h"

#include <math.h>

/* -- Matrix products -- */

/* Sums the bytes that a product reads and writes. `scale` is the number of products. The output has
 * the type of the product's first factor. */
static bool matrix_count(const struct pasta_formula_call *c, const struct pasta_optext_arg *a,
			 const struct pasta_optext_arg *b, double m, double k, double n,
			 double scale)
{
	c->f->flops = 2 * m * k * n * scale;
	c->f->outputs = m * n * scale * (a->dtype ? a->dtype->size : 0);
	c->f->bytes = a->bytes + b->bytes + c->f->outputs;
	return true;
}

/* Adds the input that a product is added to, unless the product replaces that input: beta is 0. The
 * arguments are the position of the input and that of beta, or -1. */
static void matrix_add(const struct pasta_formula_call *c, int at, int beta)
{
	const struct pasta_optext_arg *bias = at < 0 ? NULL : pasta_optext_tensor(c->in, at, 0);

	if (bias && (beta < 0 || pasta_optext_number(c->scalars, beta, 1) != 0))
		c->f->bytes += bias->bytes;
}

/* [m, k] x [k, n]. Positions: first factor, second factor, bias, beta. */
static bool matrix_mm(const struct pasta_formula_call *c)
{
	const int8_t *at = c->entry->at;
	const struct pasta_optext_arg *a = pasta_optext_tensor(c->in, at[0], 2);
	const struct pasta_optext_arg *b = pasta_optext_tensor(c->in, at[1], 2);

	if (!a || !b || a->dims[1] != b->dims[0])
		return false;
	matrix_count(c, a, b, a->dims[0], a->dims[1], b->dims[1], 1);
	matrix_add(c, at[2], at[3]);
	return true;
}

/* [b, m, k] x [b, k, n], with the same positions. */
static bool matrix_bmm(const struct pasta_formula_call *c)
{
	const int8_t *at = c->entry->at;
	const struct pasta_optext_arg *a = pasta_optext_tensor(c->in, at[0], 3);
	const struct pasta_optext_arg *b = pasta_optext_tensor(c->in, at[1], 3);
	const struct pasta_optext_arg *bias;

	if (!a || !b || a->dims[2] != b->dims[1] || a->dims[0] != b->dims[0])
		return false;
	matrix_count(c, a, b, a->dims[1], a->dims[2], b->dims[2], a->dims[0]);
	bias = at[2] < 0 ? NULL : pasta_optext_tensor(c->in, at[2], 0);
	if (bias && (at[3] < 0 || pasta_optext_number(c->scalars, at[3], 1) != 0))
		c->f->bytes += c->f->outputs;
	return true;
}

/* [..., k] x [n, k]: a linear layer whose operator calls no other. */
static bool matrix_linear(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 0, 1);
	const struct pasta_optext_arg *w = pasta_optext_tensor(c->in, 1, 2);

	if (!x || !w || x->dims[x->dims_count - 1] != w->dims[1] || w->dims[1] == 0)
		return false;
	matrix_count(c, x, w, x->elements / w->dims[1], w->dims[1], w->dims[0], 1);
	matrix_add(c, 2, -1);
	return true;
}

/* [m, k] x [k], or [k] x [k] */
static bool matrix_vector(const struct pasta_formula_call *c)
{
	const int8_t *at = c->entry->at;
	const struct pasta_optext_arg *a = pasta_optext_tensor(c->in, at[0], 1);
	const struct pasta_optext_arg *b = pasta_optext_tensor(c->in, at[1], 1);

	if (!a || !b || a->dims[a->dims_count - 1] != b->dims[0] || b->dims[0] == 0)
		return false;
	matrix_count(c, a, b, a->elements / b->dims[0], b->dims[0], 1, 1);
	matrix_add(c, at[2], at[3]);
	return true;
}

/* -- Convolutions -- */

/* Positions in the entries of convolutions. The factor 2 of a transposed convolution's positions
 * comes from its two paddings. A position of -1 stands for a missing argument. */
enum {
	CONV_BIAS,
	CONV_STRIDE,
	CONV_PADDING,
	CONV_DILATION,
	CONV_TRANSPOSED,
	CONV_EXTRA,
	CONV_GROUPS
};
/* In place of CONV_TRANSPOSED: the operator is always transposed. */
enum { CONV_ALWAYS = -2 };

/* Reads the number of a list for one dimension. A list of one number applies to all dimensions. */
static bool conv_number(const struct pasta_formula_call *c, int at, size_t dim, double missing,
			double *number)
{
	double numbers[PASTA_OPTEXT_DIMS];
	size_t count =
		at < 0 ? 0 : pasta_optext_numbers(c->scalars, at, numbers, PASTA_OPTEXT_DIMS);

	*number = !count ? missing : numbers[dim < count ? dim : count - 1];
	return at < 0 || count > 0;
}

/* Computes the number of elements of the output. Returns 0 if an argument is missing. */
static double conv_output(const struct pasta_formula_call *c, const struct pasta_optext_arg *x,
			  const struct pasta_optext_arg *w, bool transposed)
{
	const int8_t *at = c->entry->at;
	double groups = 1, product;

	if (c->out->count && c->out->args[0].tensor)
		return c->out->args[0].elements;
	conv_number(c, at[CONV_GROUPS], 0, 1, &groups);
	product = x->dims[0] * (transposed ? w->dims[1] * groups : w->dims[0]);
	for (size_t i = 2; i < w->dims_count; i++) {
		double numbers[4] = {w->dims[i]}, extra;

		if (!conv_number(c, at[CONV_STRIDE], i - 2, 1, &numbers[1]) ||
		    !conv_number(c, at[CONV_PADDING], i - 2, 0, &numbers[2]) ||
		    !conv_number(c, at[CONV_DILATION], i - 2, 1, &numbers[3]))
			return 0;
		conv_number(c, at[CONV_EXTRA], i - 2, 0, &extra);
		if (transposed)
			product *= fmax(0, (x->dims[i] - 1) * numbers[1] - 2 * numbers[2] +
						   numbers[3] * (numbers[0] - 1) + extra + 1);
		else
			product *= pasta_formula_window(x->dims[i], numbers);
	}
	return product;
}

/* Returns the number of weights that contribute to one element: of the output, or of the input of a
 * transposed convolution. */
static double conv_weights(const struct pasta_optext_arg *w)
{
	double product = 1;

	for (size_t i = 1; i < w->dims_count; i++)
		product *= w->dims[i];
	return product;
}

static bool conv_transposed(const struct pasta_formula_call *c, int at)
{
	return at == CONV_ALWAYS || (at >= 0 && pasta_optext_number(c->scalars, at, 0) != 0);
}

static bool conv_forward(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 0, 3);
	const struct pasta_optext_arg *w = pasta_optext_tensor(c->in, 1, 3);
	bool transposed = conv_transposed(c, c->entry->at[CONV_TRANSPOSED]);
	double out;

	if (!x || !w || x->dims_count != w->dims_count)
		return false;
	out = conv_output(c, x, w, transposed);
	c->f->flops = 2 * conv_weights(w) * (transposed ? x->elements : out);
	c->f->outputs = out * (x->dtype ? x->dtype->size : 0);
	c->f->bytes = x->bytes + w->bytes + c->f->outputs;
	matrix_add(c, c->entry->at[CONV_BIAS], -1);
	return out > 0;
}

/* Positions: transposed, mask of the gradients. */
static bool conv_backward(const struct pasta_formula_call *c)
{
	const struct pasta_optext_arg *dy = pasta_optext_tensor(c->in, 0, 3);
	const struct pasta_optext_arg *x = pasta_optext_tensor(c->in, 1, 3);
	const struct pasta_optext_arg *w = pasta_optext_tensor(c->in, 2, 3);
	double mask[3] = {1, 1, 1};
	double one;

	if (!dy || !x || !w)
		return false;
	pasta_optext_numbers(c->scalars, c->entry->at[1], mask, 3);
	one = 2 * conv_weights(w) *
	      (conv_transposed(c, c->entry->at[0]) ? x->elements : dy->elements);
	c->f->flops = ((mask[0] != 0) + (mask[1] != 0)) * one;
	c->f->outputs = (mask[0] != 0 ? x->bytes : 0) + (mask[1] != 0 ? w->bytes : 0);
	c->f->bytes = dy->bytes + c->f->outputs + (mask[0] != 0 ? w->bytes : 0) +
		      (mask[1] != 0 ? x->bytes : 0);
	return true;
}

/* -- Attention -- */

/* Positions in the entries of attention: of the query, which precedes key and value, and of the
 * flag or number that makes the mask causal. */
enum { ATTENTION_QUERY, ATTENTION_CAUSAL, ATTENTION_LAYOUT, ATTENTION_MASK };
enum { HEADS_FIRST, LENGTH_FIRST }; /* [batch, heads, length, size], [batch, length, heads, size] */
/* How a causal mask is aligned. BY_NUMBER: the argument is 0 for no mask, 1 for top-left, 2 for
 * bottom-right. */
enum { TOP_LEFT, BOTTOM_RIGHT, BY_NUMBER };

/* Returns the number of pairs of a query and a key that attend to each other. */
static double attention_pairs(double q, double k, int mask)
{
	if (mask == TOP_LEFT)
		return q <= k ? q * (q + 1) / 2 : k * (k + 1) / 2 + (q - k) * k;
	if (mask == BOTTOM_RIGHT)
		return q <= k ? q * k - q * (q - 1) / 2 : k * (k + 1) / 2;
	return q * k;
}

struct attention_sizes {
	double batch, heads, length, pairs, size, value_size;
	const struct pasta_optext_arg *q, *k, *v;
};

static bool attention_read(const struct pasta_formula_call *c, struct attention_sizes *s)
{
	const int8_t *at = c->entry->at;
	int heads = at[ATTENTION_LAYOUT] == HEADS_FIRST ? 1 : 2, length = 3 - heads;
	double causal = pasta_optext_number(c->scalars, at[ATTENTION_CAUSAL], 0);
	int8_t mask = at[ATTENTION_MASK];

	s->q = pasta_optext_tensor(c->in, at[ATTENTION_QUERY], 4);
	s->k = pasta_optext_tensor(c->in, at[ATTENTION_QUERY] + 1, 4);
	s->v = pasta_optext_tensor(c->in, at[ATTENTION_QUERY] + 2, 4);
	if (!s->q || !s->k || !s->v)
		return false;
	if (mask == BY_NUMBER)
		mask = causal == 2 ? BOTTOM_RIGHT : TOP_LEFT;
	s->batch = s->q->dims[0];
	s->heads = s->q->dims[heads];
	s->length = s->q->dims[length];
	s->pairs = attention_pairs(s->length, s->k->dims[length], causal != 0 ? mask : -1);
	s->size = s->q->dims[3];
	s->value_size = s->v->dims[3];
	return true;
}

/* Returns the bytes of the output, and of the logarithms of sums, which are in float32. */
static double attention_output(const struct attention_sizes *s, double *sums)
{
	*sums = 4 * s->batch * s->heads * s->length;
	return s->batch * s->heads * s->length * s->value_size *
	       (s->q->dtype ? s->q->dtype->size : 0);
}

static bool attention_forward(const struct pasta_formula_call *c)
{
	struct attention_sizes s;
	double sums;

	if (!attention_read(c, &s))
		return false;
	c->f->flops = 2 * s.batch * s.heads * s.pairs * (s.size + s.value_size);
	c->f->outputs = attention_output(&s, &sums);
	c->f->outputs += sums;
	c->f->bytes = s.q->bytes + s.k->bytes + s.v->bytes + c->f->outputs;
	return true;
}

static bool attention_backward(const struct pasta_formula_call *c)
{
	struct attention_sizes s;
	double sums, out;

	if (!attention_read(c, &s))
		return false;
	out = attention_output(&s, &sums);
	c->f->flops = 2 * s.batch * s.heads * s.pairs * (3 * s.size + 2 * s.value_size);
	c->f->outputs = s.q->bytes + s.k->bytes + s.v->bytes;
	c->f->bytes = 2 * c->f->outputs + 2 * out + sums;
	return true;
}

/* -- Table -- */

#define MATRIX(text, function, ...)                                                                \
	{                                                                                          \
		.name = (text), .compute = (function), .rank = PASTA_FORMULA_MATRIX,               \
		.at = { __VA_ARGS__ }                                                              \
	}

const struct pasta_formula_entry pasta_formula_matrix[] = {
	MATRIX("_addmm_activation", matrix_mm, 1, 2, 0, 3),
	MATRIX("_conv_depthwise2d", conv_forward, 3, 4, 5, 6, -1, -1, -1),
	MATRIX("_convolution", conv_forward, 2, 3, 4, 5, 6, 7, 8),
	MATRIX("_cudnn_attention_backward", attention_backward, 1, 14, HEADS_FIRST, TOP_LEFT),
	MATRIX("_cudnn_attention_forward", attention_forward, 0, 10, HEADS_FIRST, TOP_LEFT),
	MATRIX("_efficient_attention_backward", attention_backward, 1, 14, LENGTH_FIRST, BY_NUMBER),
	MATRIX("_efficient_attention_forward", attention_forward, 0, 9, LENGTH_FIRST, BY_NUMBER),
	MATRIX("_flash_attention_backward", attention_backward, 1, 11, LENGTH_FIRST, BOTTOM_RIGHT),
	MATRIX("_flash_attention_forward", attention_forward, 0, 8, LENGTH_FIRST, BOTTOM_RIGHT),
	MATRIX("_int_mm", matrix_mm, 0, 1, -1, -1),
	MATRIX("_scaled_dot_product_cudnn_attention", attention_forward, 0, 6, HEADS_FIRST,
	       TOP_LEFT),
	MATRIX("_scaled_dot_product_cudnn_attention_backward", attention_backward, 1, 14,
	       HEADS_FIRST, TOP_LEFT),
	MATRIX("_scaled_dot_product_efficient_attention", attention_forward, 0, 6, HEADS_FIRST,
	       TOP_LEFT),
	MATRIX("_scaled_dot_product_efficient_attention_backward", attention_backward, 1, 11,
	       HEADS_FIRST, TOP_LEFT),
	MATRIX("_scaled_dot_product_flash_attention", attention_forward, 0, 4, HEADS_FIRST,
	       TOP_LEFT),
	MATRIX("_scaled_dot_product_flash_attention_backward", attention_backward, 1, 11,
	       HEADS_FIRST, TOP_LEFT),
	MATRIX("_scaled_dot_product_flash_attention_for_cpu", attention_forward, 0, 4, HEADS_FIRST,
	       TOP_LEFT),
	MATRIX("_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward, 1, 7,
	       HEADS_FIRST, TOP_LEFT),
	MATRIX("_scaled_dot_product_fused_attention_overrideable", attention_forward, 0, 5,
	       HEADS_FIRST, TOP_LEFT),
	MATRIX("_scaled_dot_product_fused_attention_overrideable_backward", attention_backward, 1,
	       13, HEADS_FIRST, TOP_LEFT),
	MATRIX("_scaled_mm", matrix_mm, 0, 1, -1, -1),
	MATRIX("_slow_conv2d_backward", conv_backward, -1, 6),
	MATRIX("_slow_conv2d_forward", conv_forward, 3, 4, 5, -1, -1, -1, -1),
	MATRIX("addmm", matrix_mm, 1, 2, 0, 3),
	MATRIX("addmm_", matrix_mm, 1, 2, 0, 3),
	MATRIX("addmv", matrix_vector, 1, 2, 0, 3),
	MATRIX("baddbmm", matrix_bmm, 1, 2, 0, 3),
	MATRIX("baddbmm_", matrix_bmm, 1, 2, 0, 3),
	MATRIX("bmm", matrix_bmm, 0, 1, -1, -1),
	MATRIX("conv_depthwise3d", conv_forward, 3, 4, 5, 6, -1, -1, -1),
	MATRIX("convolution", conv_forward, 2, 3, 4, 5, 6, 7, 8),
	MATRIX("convolution_backward", conv_backward, 7, 10),
	MATRIX("convolution_overrideable", conv_forward, 2, 3, 4, 5, 6, 7, 8),
	MATRIX("cudnn_convolution", conv_forward, -1, 3, 2, 4, -1, -1, -1),
	MATRIX("cudnn_convolution_add_relu", conv_forward, 4, 5, 6, 7, -1, -1, -1),
	MATRIX("cudnn_convolution_relu", conv_forward, 2, 3, 4, 5, -1, -1, -1),
	MATRIX("cudnn_convolution_transpose", conv_forward, -1, 4, 2, 5, CONV_ALWAYS, 3, 6),
	MATRIX("dot", matrix_vector, 0, 1, -1, -1),
	MATRIX("flash_attn::_flash_attn_backward", attention_backward, 1, 11, LENGTH_FIRST,
	       BOTTOM_RIGHT),
	MATRIX("flash_attn::_flash_attn_forward", attention_forward, 0, 5, LENGTH_FIRST,
	       BOTTOM_RIGHT),
	MATRIX("linear", matrix_linear, 0),
	MATRIX("miopen_convolution", conv_forward, 2, 4, 3, 5, -1, -1, -1),
	MATRIX("miopen_convolution_transpose", conv_forward, 2, 5, 3, 6, CONV_ALWAYS, 4, 7),
	MATRIX("miopen_depthwise_convolution", conv_forward, 2, 4, 3, 5, -1, -1, -1),
	MATRIX("mkldnn_convolution", conv_forward, 2, 4, 3, 5, -1, -1, -1),
	MATRIX("mkldnn_linear", matrix_linear, 0),
	MATRIX("mm", matrix_mm, 0, 1, -1, -1),
	MATRIX("mv", matrix_vector, 0, 1, -1, -1),
	MATRIX("slow_conv3d_forward", conv_forward, 3, 4, 5, -1, -1, -1, -1),
	MATRIX("slow_conv_dilated2d", conv_forward, 3, 4, 5, 6, -1, -1, -1),
	MATRIX("slow_conv_transpose2d", conv_forward, 3, 4, 5, 7, CONV_ALWAYS, 6, -1),
	MATRIX("vdot", matrix_vector, 0, 1, -1, -1),
};
const size_t pasta_formula_matrix_count =
	sizeof(pasta_formula_matrix) / sizeof(*pasta_formula_matrix);
