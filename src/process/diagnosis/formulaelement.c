/* formulaelement.c - the formulas of operators that compute each element of the output from the
 * same element of the inputs. */
#include "process/diagnosis/formula.h"

/* -- Elementwise operators -- */

enum { OUT_SAME, OUT_BOOL, OUT_MASK }; /* OUT_MASK: a bool for each element, too */

/* Returns the type to which PyTorch promotes both types. */
static const struct pasta_dtype *element_promote(const struct pasta_dtype *a,
						 const struct pasta_dtype *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->class != b->class)
		return a->class > b->class ? a : b;
	return b->size > a->size ? b : a;
}

/* The greatest size of each dimension of the inputs, counted from the last dimension. */
struct element_shape {
	double dims[PASTA_OPTEXT_DIMS];
	const struct pasta_dtype *dtype, *single; /* of tensors with and without dimensions */
	bool found;
};

static void element_broadcast(struct element_shape *s, const struct pasta_optext_arg *arg)
{
	for (size_t i = 0; i < arg->dims_count; i++) {
		double dim = arg->dims[arg->dims_count - 1 - i];

		/* A dimension of size 1 adapts to any size, also to 0. */
		if (s->dims[i] == 1 || dim == 0)
			s->dims[i] = dim;
		else if (dim > s->dims[i] && s->dims[i] != 0)
			s->dims[i] = dim;
	}
	if (arg->dims_count)
		s->dtype = element_promote(s->dtype, arg->dtype);
	else
		s->single = element_promote(s->single, arg->dtype);
	s->found = true;
}

/* Arguments: number of tensors, FLOPs for each element, type of the output. */
static bool element_count(const struct pasta_formula_call *c)
{
	struct element_shape s = {.found = false};
	double elements = 1, size, out = c->entry->at[2];

	for (size_t i = 0; i < PASTA_OPTEXT_DIMS; i++)
		s.dims[i] = 1;
	for (size_t i = 0; i < (size_t)c->entry->at[0]; i++) {
		const struct pasta_optext_arg *arg = pasta_optext_tensor(c->in, i, 0);

		if (!arg)
			continue;
		element_broadcast(&s, arg);
		c->f->bytes += arg->bytes;
	}
	for (size_t i = 0; i < PASTA_OPTEXT_DIMS; i++)
		elements *= s.dims[i];
	/* A tensor without dimensions changes the type only if its class is higher. */
	if (!s.dtype || (s.single && s.single->class > s.dtype->class))
		s.dtype = s.single;
	if (c->f->in_place && pasta_optext_tensor(c->in, 0, 0))
		s.dtype = c->in->args[0].dtype;
	size = out == OUT_BOOL ? 1 : s.dtype ? s.dtype->size : 0;
	c->f->flops = elements * c->entry->at[1];
	c->f->outputs = elements * (size + (out == OUT_MASK));
	c->f->bytes += c->f->outputs;
	return s.found;
}

/* -- Table -- */

/* clang-format off */
#define ELEMENTWISE(text, tensors, flops, out)                                                     \
	{                                                                                          \
		.name = (text), .compute = element_count, .rank = PASTA_FORMULA_STREAM,       \
		.elementwise = true,                                                               \
		.at = { tensors,                                                                   \
			flops,                                                                     \
			out }                                                                      \
	}
/* clang-format on */

const struct pasta_formula_entry pasta_formula_element[] = {
	ELEMENTWISE("abs", 1, 1, OUT_SAME),
	ELEMENTWISE("acos", 1, 1, OUT_SAME),
	ELEMENTWISE("acosh", 1, 1, OUT_SAME),
	ELEMENTWISE("add", 2, 1, OUT_SAME),
	ELEMENTWISE("addcdiv", 3, 1, OUT_SAME),
	ELEMENTWISE("addcmul", 3, 1, OUT_SAME),
	ELEMENTWISE("asin", 1, 1, OUT_SAME),
	ELEMENTWISE("asinh", 1, 1, OUT_SAME),
	ELEMENTWISE("atan", 1, 1, OUT_SAME),
	ELEMENTWISE("atan2", 2, 1, OUT_SAME),
	ELEMENTWISE("atanh", 1, 1, OUT_SAME),
	ELEMENTWISE("bitwise_and", 2, 1, OUT_SAME),
	ELEMENTWISE("bitwise_left_shift", 2, 1, OUT_SAME),
	ELEMENTWISE("bitwise_not", 1, 1, OUT_SAME),
	ELEMENTWISE("bitwise_or", 2, 1, OUT_SAME),
	ELEMENTWISE("bitwise_right_shift", 2, 1, OUT_SAME),
	ELEMENTWISE("bitwise_xor", 2, 1, OUT_SAME),
	ELEMENTWISE("ceil", 1, 1, OUT_SAME),
	ELEMENTWISE("clamp", 1, 1, OUT_SAME),
	ELEMENTWISE("clamp_max", 1, 1, OUT_SAME),
	ELEMENTWISE("clamp_min", 1, 1, OUT_SAME),
	ELEMENTWISE("copysign", 2, 1, OUT_SAME),
	ELEMENTWISE("cos", 1, 1, OUT_SAME),
	ELEMENTWISE("cosh", 1, 1, OUT_SAME),
	ELEMENTWISE("deg2rad", 1, 1, OUT_SAME),
	ELEMENTWISE("digamma", 1, 1, OUT_SAME),
	ELEMENTWISE("div", 2, 1, OUT_SAME),
	ELEMENTWISE("elu", 1, 1, OUT_SAME),
	ELEMENTWISE("elu_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("eq", 2, 1, OUT_BOOL),
	ELEMENTWISE("erf", 1, 1, OUT_SAME),
	ELEMENTWISE("erfc", 1, 1, OUT_SAME),
	ELEMENTWISE("erfinv", 1, 1, OUT_SAME),
	ELEMENTWISE("exp", 1, 1, OUT_SAME),
	ELEMENTWISE("exp2", 1, 1, OUT_SAME),
	ELEMENTWISE("expm1", 1, 1, OUT_SAME),
	ELEMENTWISE("floor", 1, 1, OUT_SAME),
	ELEMENTWISE("floor_divide", 2, 1, OUT_SAME),
	ELEMENTWISE("fmax", 2, 1, OUT_SAME),
	ELEMENTWISE("fmin", 2, 1, OUT_SAME),
	ELEMENTWISE("fmod", 2, 1, OUT_SAME),
	ELEMENTWISE("frac", 1, 1, OUT_SAME),
	ELEMENTWISE("ge", 2, 1, OUT_BOOL),
	ELEMENTWISE("gelu", 1, 8, OUT_SAME),
	ELEMENTWISE("gelu_backward", 2, 8, OUT_SAME),
	ELEMENTWISE("gt", 2, 1, OUT_BOOL),
	ELEMENTWISE("hardshrink", 1, 1, OUT_SAME),
	ELEMENTWISE("hardsigmoid", 1, 1, OUT_SAME),
	ELEMENTWISE("hardsigmoid_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("hardswish", 1, 1, OUT_SAME),
	ELEMENTWISE("hardswish_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("hardtanh", 1, 1, OUT_SAME),
	ELEMENTWISE("hardtanh_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("heaviside", 2, 1, OUT_SAME),
	ELEMENTWISE("hypot", 2, 1, OUT_SAME),
	ELEMENTWISE("isfinite", 1, 1, OUT_BOOL),
	ELEMENTWISE("isinf", 1, 1, OUT_BOOL),
	ELEMENTWISE("isnan", 1, 1, OUT_BOOL),
	ELEMENTWISE("isneginf", 1, 1, OUT_BOOL),
	ELEMENTWISE("isposinf", 1, 1, OUT_BOOL),
	ELEMENTWISE("le", 2, 1, OUT_BOOL),
	ELEMENTWISE("leaky_relu", 1, 1, OUT_SAME),
	ELEMENTWISE("leaky_relu_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("lerp", 3, 1, OUT_SAME),
	ELEMENTWISE("lgamma", 1, 1, OUT_SAME),
	ELEMENTWISE("log", 1, 1, OUT_SAME),
	ELEMENTWISE("log10", 1, 1, OUT_SAME),
	ELEMENTWISE("log1p", 1, 1, OUT_SAME),
	ELEMENTWISE("log2", 1, 1, OUT_SAME),
	ELEMENTWISE("log_sigmoid_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("log_sigmoid_forward", 1, 1, OUT_SAME),
	ELEMENTWISE("logaddexp", 2, 1, OUT_SAME),
	ELEMENTWISE("logical_and", 2, 1, OUT_BOOL),
	ELEMENTWISE("logical_not", 1, 1, OUT_BOOL),
	ELEMENTWISE("logical_or", 2, 1, OUT_BOOL),
	ELEMENTWISE("logical_xor", 2, 1, OUT_BOOL),
	ELEMENTWISE("logit", 1, 1, OUT_SAME),
	ELEMENTWISE("lt", 2, 1, OUT_BOOL),
	ELEMENTWISE("masked_fill", 2, 1, OUT_SAME),
	ELEMENTWISE("maximum", 2, 1, OUT_SAME),
	ELEMENTWISE("minimum", 2, 1, OUT_SAME),
	ELEMENTWISE("mish", 1, 1, OUT_SAME),
	ELEMENTWISE("mish_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("mul", 2, 1, OUT_SAME),
	ELEMENTWISE("nan_to_num", 1, 1, OUT_SAME),
	ELEMENTWISE("native_dropout", 1, 1, OUT_MASK),
	ELEMENTWISE("native_dropout_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("ne", 2, 1, OUT_BOOL),
	ELEMENTWISE("neg", 1, 1, OUT_SAME),
	ELEMENTWISE("nextafter", 2, 1, OUT_SAME),
	ELEMENTWISE("positive", 1, 1, OUT_SAME),
	ELEMENTWISE("pow", 2, 1, OUT_SAME),
	ELEMENTWISE("prelu", 2, 1, OUT_SAME),
	ELEMENTWISE("reciprocal", 1, 1, OUT_SAME),
	ELEMENTWISE("relu", 1, 1, OUT_SAME),
	ELEMENTWISE("relu6", 1, 1, OUT_SAME),
	ELEMENTWISE("remainder", 2, 1, OUT_SAME),
	ELEMENTWISE("round", 1, 1, OUT_SAME),
	ELEMENTWISE("rsqrt", 1, 1, OUT_SAME),
	ELEMENTWISE("rsub", 2, 1, OUT_SAME),
	ELEMENTWISE("sgn", 1, 1, OUT_SAME),
	ELEMENTWISE("sigmoid", 1, 1, OUT_SAME),
	ELEMENTWISE("sigmoid_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("sign", 1, 1, OUT_SAME),
	ELEMENTWISE("signbit", 1, 1, OUT_BOOL),
	ELEMENTWISE("silu", 1, 1, OUT_SAME),
	ELEMENTWISE("silu_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("sin", 1, 1, OUT_SAME),
	ELEMENTWISE("sinc", 1, 1, OUT_SAME),
	ELEMENTWISE("sinh", 1, 1, OUT_SAME),
	ELEMENTWISE("softplus", 1, 1, OUT_SAME),
	ELEMENTWISE("softplus_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("softshrink", 1, 1, OUT_SAME),
	ELEMENTWISE("sqrt", 1, 1, OUT_SAME),
	ELEMENTWISE("square", 1, 1, OUT_SAME),
	ELEMENTWISE("sub", 2, 1, OUT_SAME),
	ELEMENTWISE("tan", 1, 1, OUT_SAME),
	ELEMENTWISE("tanh", 1, 1, OUT_SAME),
	ELEMENTWISE("tanh_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("threshold", 1, 1, OUT_SAME),
	ELEMENTWISE("threshold_backward", 2, 1, OUT_SAME),
	ELEMENTWISE("true_divide", 2, 1, OUT_SAME),
	ELEMENTWISE("trunc", 1, 1, OUT_SAME),
	ELEMENTWISE("where", 3, 1, OUT_SAME),
	ELEMENTWISE("xlogy", 2, 1, OUT_SAME),
};
const size_t pasta_formula_element_count =
	sizeof(pasta_formula_element) / sizeof(*pasta_formula_element);
