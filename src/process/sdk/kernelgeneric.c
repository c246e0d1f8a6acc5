/* kernelgeneric.c - finds the type of a kernel, and the operation of an instance of a generic
 * kernel, in the template arguments. */
#include <string.h>

#include "process/sdk/kernelname.h"
#include "process/sdk/kernelname_internal.h"

/* -- Types -- */

/* Returns the number type at *p, and advances *p after the word at *p. `unsigned` precedes other
 * words. Returns NULL if there is none. */
static const char *type_next(const char **p, const char *end, bool *is_unsigned)
{
	struct pasta_namespan word = pasta_namespan_word(*p, end);
	const char *type = pasta_kernellibrary_type(word);
	bool sign = *is_unsigned;

	*p = word.end;
	*is_unsigned = pasta_namespan_is(word, "unsigned");
	if (sign && pasta_namespan_is(word, "char"))
		return "u8";
	if (sign && type && *type == 'i')
		return type[1] == '3' ? "u32" : type[1] == '6' ? "u64" : "u16";
	return type;
}

/* The state of a search for the type of a kernel's data in the template arguments. */
struct typed {
	const char *type;
	bool is_unsigned;
	char opaque[PASTA_KERNELGENERIC_OPAQUE]; /* the text for a type of which only the size is
						    known, such as "4B" */
};

/* Examine the word at *p, and advance *p after it. Store the first type that is found. A later
 * floating-point type replaces bool, because bool may be the type of a mask. */
static void typed_word(struct typed *t, const char **p, const char *end)
{
	struct pasta_namespan word = pasta_namespan_word(*p, end);
	const char *type = type_next(p, end, &t->is_unsigned);
	bool weak = t->type && !strcmp(t->type, "bool");

	if (!t->type && pasta_namespan_is(word, "OpaqueType") && end - word.end > 2 &&
	    word.end[1] >= '1' && word.end[1] <= '9') {
		t->opaque[0] = word.end[1];
		t->opaque[1] = 'B';
		t->type = t->opaque;
		if (word.end[2] >= '0' && word.end[2] <= '9') {
			t->opaque[1] = word.end[2];
			t->opaque[2] = 'B';
		}
	} else if (type && (!t->type || (weak && strchr("fb", *type)))) {
		t->type = type;
	}
}

const char *pasta_kernelgeneric_type(struct pasta_namespan args,
				     char opaque[PASTA_KERNELGENERIC_OPAQUE])
{
	struct typed t = {0};
	const char *p = args.at;
	size_t depth = 0;

	while (p < args.end) {
		const char *first = t.type;

		if (pasta_namespan_word(p, args.end).end == p) {
			depth += *p == '<' || *p == '(';
			depth -= depth && (*p == '>' || *p == ')');
			p++;
			continue;
		}
		/* The types of an index and of a mask may precede the type of the data. */
		if (first && strcmp(first, "i32") != 0 && strcmp(first, "bool") != 0)
			break;
		t.type = depth && first ? first : NULL;
		typed_word(&t, &p, args.end);
		if (first && (!t.type || !strchr("fb", *t.type)))
			t.type = first;
	}
	memcpy(opaque, t.opaque, sizeof(t.opaque));
	return t.type == t.opaque ? opaque : t.type;
}

/* -- Generic kernels -- */

struct generic {
	bool reduce, foreach, scatter, strided, indexed;
};

static bool generic_find(struct pasta_namespan id, struct generic *g)
{
	*g = (struct generic){
		.reduce = pasta_namespan_is(id, "reduce_kernel"),
		.foreach = pasta_namespan_is(id, "multi_tensor_apply_kernel"),
		.scatter = pasta_namespan_find(id, "scatter_gather_elementwise"),
		.strided = pasta_namespan_is(id, "elementwise_kernel") ||
			   pasta_namespan_is(id, "elementwise_kernel_manual_unroll"),
		.indexed = pasta_namespan_is(id, "elementwise_kernel_with_index"),
	};
	return g->reduce || g->foreach || pasta_namespan_find(id, "elementwise_");
}

/* Returns whether an identifier in the template arguments of a generic kernel names a helper,
 * such as gpu_kernel_impl, instead of the operation. */
static bool generic_is_plumbing(struct pasta_namespan id)
{
	static const char *const names[] = {"gpu_kernel_impl",
					    "gpu_kernel_impl_nocast",
					    "gpu_index_kernel",
					    "BinaryFunctor",
					    "AUnaryFunctor",
					    "BUnaryFunctor",
					    "ReduceOp",
					    "func_wrapper_t",
					    "lambda",
					    "operator",
					    "const",
					    "anonymous",
					    "namespace",
					    "unsigned",
					    "signed",
					    "char",
					    "true",
					    "false",
					    "OpaqueType",
					    "Array",
					    "array",
					    "complex",
					    "TensorListMetadata",
					    "TensorListScalarListMetadata",
					    "FusedOptimizerTensorListMetadata",
					    "normal_and_transform",
					    "uniform_and_transform",
					    "distribution_nullary_kernel",
					    "_cuda_scatter_gather_internal_kernel",
					    "TensorIteratorBase",
					    "TensorIterator"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (pasta_namespan_is(id, names[i]))
			return true;
	return pasta_kernellibrary_type(id) != NULL;
}

struct pasta_namespan pasta_kernelgeneric_strip(struct pasta_namespan id, bool functor)
{
	static const char *const ends[] = {"_cuda_kernel",   "_kernel_cuda",
					   "CUDAKernelImpl", "CUDAKernelTemplate",
					   "CUDAKernel",     "_kernel_impl",
					   "_kernel",	     "Kernel"};
	static const char *const more[] = {"_functor", "Functor", "Ops",  "_cuda_out",
					   "_cuda",    "_gpu",	  "_impl"};
	static const char *const begins[] = {"CUDAFunctor_", "CUDAFunctorOnSelf_",
					     "CUDAFunctorOnOther_", "direct_", "launch_"};
	size_t i, n = sizeof(ends) / sizeof(*ends);

	for (i = 0; i < n + (functor ? sizeof(more) / sizeof(*more) : 0); i++) {
		const char *tail = i < n ? ends[i] : more[i - n];

		if (pasta_namespan_ends(id, tail) && pasta_namespan_size(id) > strlen(tail)) {
			id.end -= strlen(tail);
			break;
		}
	}
	for (i = 0; functor && i < sizeof(begins) / sizeof(*begins); i++)
		if (pasta_namespan_begins(id, begins[i]) &&
		    pasta_namespan_size(id) > strlen(begins[i]))
			id.at += strlen(begins[i]);
	while (functor && id.end - id.at > 1 && *id.at == '_')
		id.at++;
	return id;
}

/* Append the operation as a word in lower case: "GeluBackward" becomes "gelu_backward". */
static void generic_put(struct pasta_nametext *t, struct pasta_namespan op, bool pointwise)
{
	static const char *const plain[][2] = {
		{"multiplies", "mul"}, {"plus", "add"}, {"minus", "sub"}, {"divides", "div"}};
	char snake[2 * PASTA_KERNELNAME_WIDTH];
	size_t i, n = 0;

	for (i = 0; i < 4; i++)
		if (pasta_namespan_is(op, plain[i][0]))
			op = (struct pasta_namespan){plain[i][1], plain[i][1] + 3};
	if (pointwise)
		pasta_nametext_text(t, "addc");
	for (i = 0; op.at + i < op.end && n + 2 < sizeof(snake); i++) {
		bool upper = op.at[i] >= 'A' && op.at[i] <= 'Z';

		if (upper && i && op.at[i - 1] >= 'a' && op.at[i - 1] <= 'z')
			snake[n++] = '_';
		snake[n++] = (char)(upper ? op.at[i] - 'A' + 'a' : op.at[i]);
	}
	if (pointwise)
		pasta_nametext_add(t, (struct pasta_namespan){snake, snake + n});
	else
		pasta_nametext_word(t, (struct pasta_namespan){snake, snake + n});
}

/* The properties of a generic kernel that its template arguments contain. */
struct instance {
	struct pasta_namespan op, over; /* `over`: the functor that applies `op` to lists */
	struct typed typed;
	bool scalar;
};

/* Store the name of the operation, or of the functor that applies the operation to lists. Returns
 * the position at which to go on. This position is after the operation's parameters, because their
 * types need not be the type of the data. */
static const char *instance_op(struct instance *in, const struct generic *g,
			       struct pasta_namespan word, const char *end)
{
	bool list = g->foreach && !in->over.at &&
		    (pasta_namespan_begins(word, "BinaryOp") ||
		     pasta_namespan_begins(word, "UnaryOp") ||
		     pasta_namespan_begins(word, "PointwiseOp") ||
		     pasta_namespan_begins(word, "TernaryOp"));

	if (list)
		in->over = word;
	else
		in->op = word;
	return !list && word.end < end && *word.end == '(' ? pasta_kernelpath_skip(word.end, end)
							   : word.end;
}

static void instance_read(struct instance *in, const struct generic *g, struct pasta_namespan args)
{
	const char *p = args.at;

	while (g->indexed && p < args.end && *p != ',')
		p++; /* the first argument is the type of the index */
	while (p < args.end && (!in->op.at || !in->typed.type || !strcmp(in->typed.type, "bool"))) {
		struct pasta_namespan word = pasta_namespan_word(p, args.end);
		bool scope = args.end - word.end > 1 && word.end[0] == ':' && word.end[1] == ':';

		if (word.at == word.end) {
			p++;
			continue;
		}
		in->scalar |= pasta_namespan_is(word, "AUnaryFunctor") ||
			      pasta_namespan_is(word, "BUnaryFunctor") ||
			      pasta_namespan_begins(word, "CUDAFunctorOn");
		typed_word(&in->typed, &p, args.end);
		if (!scope && !in->op.at && pasta_namespan_is_letter(*word.at) &&
		    !generic_is_plumbing(word))
			p = instance_op(in, g, word, args.end);
	}
}

/* Append the type of the operands that a functor such as BinaryOpScalarListFunctor has. */
static void instance_operands(struct pasta_nametext *t, struct pasta_namespan over)
{
	static const char *const types[][2] = {{"ScalarList", "scalar_list"},
					       {"ScalarTensor", "scalar_tensor"},
					       {"Scalar", "scalar"},
					       {"List", "list"}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (pasta_namespan_find(over, types[i][0])) {
			pasta_nametext_text(t, types[i][1]);
			return;
		}
}

bool pasta_kernelgeneric_name(struct pasta_nametext *t, const struct pasta_kernelpath *path)
{
	struct instance in = {0};
	struct generic generic, *g = &generic;

	if (!generic_find(path->id, g))
		return false;
	instance_read(&in, g, path->args);
	if (!in.op.at)
		return false;
	if (g->reduce || g->foreach || g->scatter)
		pasta_nametext_text(t, g->reduce ? "reduce" : g->foreach ? "foreach" : "scatter");
	generic_put(t, pasta_kernelgeneric_strip(in.op, true),
		    in.over.at && pasta_namespan_begins(in.over, "Pointwise"));
	if (in.over.at)
		instance_operands(t, in.over);
	else if (in.scalar)
		pasta_nametext_text(t, "scalar");
	if (g->strided)
		pasta_nametext_text(t, "strided");
	if (pasta_namespan_find(path->args, "LoadWithCast<"))
		pasta_nametext_text(t, "cast");
	if (in.typed.type)
		pasta_nametext_text(t, in.typed.type);
	return true;
}
