/* optext.c - parses the types, dimensions and values of an operator's inputs. */
#include "process/diagnosis/optext.h"

#include <stdlib.h>
#include <string.h>

/* Each type with its name in PyTorch, and its names in traces, which are those of C++. */
static const struct optext_type {
	struct pasta_dtype dtype;
	const char *other, *another;
} optext_types[] = {
	{{"float32", 4, PASTA_DTYPE_FLOAT}, "float", NULL},
	{{"float64", 8, PASTA_DTYPE_FLOAT}, "double", NULL},
	{{"float16", 2, PASTA_DTYPE_FLOAT}, "c10::Half", "Half"},
	{{"bfloat16", 2, PASTA_DTYPE_FLOAT}, "c10::BFloat16", "BFloat16"},
	{{"float8_e4m3fn", 1, PASTA_DTYPE_FLOAT}, "c10::Float8_e4m3fn", "Float8_e4m3fn"},
	{{"float8_e5m2", 1, PASTA_DTYPE_FLOAT}, "c10::Float8_e5m2", "Float8_e5m2"},
	{{"float8_e4m3fnuz", 1, PASTA_DTYPE_FLOAT}, "c10::Float8_e4m3fnuz", "Float8_e4m3fnuz"},
	{{"float8_e5m2fnuz", 1, PASTA_DTYPE_FLOAT}, "c10::Float8_e5m2fnuz", "Float8_e5m2fnuz"},
	{{"int64", 8, PASTA_DTYPE_INTEGER}, "long int", "long"},
	{{"int32", 4, PASTA_DTYPE_INTEGER}, "int", NULL},
	{{"int16", 2, PASTA_DTYPE_INTEGER}, "short int", "short"},
	{{"int8", 1, PASTA_DTYPE_INTEGER}, "signed char", "char"},
	{{"uint8", 1, PASTA_DTYPE_INTEGER}, "unsigned char", "byte"},
	{{"uint16", 2, PASTA_DTYPE_INTEGER}, "unsigned short", "short unsigned int"},
	{{"uint32", 4, PASTA_DTYPE_INTEGER}, "unsigned int", NULL},
	{{"uint64", 8, PASTA_DTYPE_INTEGER}, "unsigned long", "long unsigned int"},
	{{"bool", 1, PASTA_DTYPE_BOOL}, "bool", NULL},
	{{"complex32", 4, PASTA_DTYPE_COMPLEX}, "c10::complex<c10::Half>", NULL},
	{{"complex64", 8, PASTA_DTYPE_COMPLEX}, "c10::complex<float>", NULL},
	{{"complex128", 16, PASTA_DTYPE_COMPLEX}, "c10::complex<double>", NULL},
};

static bool optext_is(const char *text, size_t size, const char *name)
{
	return name && strlen(name) == size && !memcmp(text, name, size);
}

static const struct pasta_dtype *optext_dtype(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(optext_types) / sizeof(*optext_types); i++)
		if (optext_is(text, size, optext_types[i].dtype.name) ||
		    optext_is(text, size, optext_types[i].other) ||
		    optext_is(text, size, optext_types[i].another))
			return &optext_types[i].dtype;
	return NULL;
}

/* Returns the end of the item that begins at `p`: the first `separator` outside of brackets, or the
 * end of the text. */
static const char *optext_end(const char *p, const char *end, char separator)
{
	size_t depth = 0;

	for (; p < end && (depth || *p != separator); p++) {
		if (*p == '[' || *p == '(')
			depth++;
		else if ((*p == ']' || *p == ')') && depth)
			depth--;
	}
	return p;
}

static void optext_trim(const char **p, const char **end)
{
	while (*p < *end && (**p == ' ' || **p == '\t'))
		++*p;
	while (*end > *p && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
		--*end;
}

/* Reads dimensions such as "8,64", which end at `end`. Returns false if an item is not a number. */
static bool optext_dims(struct pasta_optext_arg *arg, const char *p, const char *end)
{
	arg->dims_count = 0;
	arg->elements = 1;
	while (p < end) {
		const char *stop = optext_end(p, end, ','), *last = stop;
		double dim = 0;

		optext_trim(&p, &last);
		if (p == last || last - p > 18 || arg->dims_count == PASTA_OPTEXT_DIMS)
			return false;
		for (; p < last; p++) {
			if (*p < '0' || *p > '9')
				return false;
			dim = dim * 10 + (*p - '0');
		}
		arg->dims[arg->dims_count++] = dim;
		arg->elements *= dim;
		p = stop + (stop < end);
	}
	return true;
}

/* Reads a tensor such as "float32[8,64]", or only the dimensions of a tensor of a list: "[8,64]".
 */
static bool optext_one(struct pasta_optext_arg *arg, const char *p, const char *end)
{
	const char *open = memchr(p, '[', (size_t)(end - p)), *type_end = open ? open : end;
	const char *type = p;

	optext_trim(&type, &type_end);
	*arg = (struct pasta_optext_arg){.dtype = optext_dtype(type, (size_t)(type_end - type))};
	if ((type_end > type && !arg->dtype) || (!open && !arg->dtype))
		return false;
	arg->elements = 1;
	if (open && (end[-1] != ']' || !optext_dims(arg, open + 1, end - 1)))
		return false;
	arg->bytes = arg->dtype ? arg->elements * arg->dtype->size : 0;
	return arg->tensor = true;
}

/* Reads the tensors of a list, whose text between the brackets is given. */
static void optext_list(struct pasta_optext_arg *arg, const char *p, const char *end)
{
	bool typed = true;

	*arg = (struct pasta_optext_arg){.list = true};
	while (p < end) {
		const char *stop = optext_end(p, end, ','), *from = p, *to = stop;
		struct pasta_optext_arg one;

		optext_trim(&from, &to);
		if (from < to && optext_one(&one, from, to)) {
			arg->elements += one.elements;
			arg->bytes += one.bytes;
			typed = typed && one.dtype;
			arg->dtype = arg->dtype ? arg->dtype : one.dtype;
		}
		p = stop + (stop < end);
	}
	if (!typed) {
		arg->bytes = 0;
		arg->dtype = NULL;
	}
}

static void optext_arg(struct pasta_optext_arg *arg, const char *p, const char *end)
{
	static const char list[] = "TensorList";

	optext_trim(&p, &end);
	*arg = (struct pasta_optext_arg){0};
	if (p == end)
		return;
	if ((size_t)(end - p) >= sizeof(list) - 1 && !memcmp(p, list, sizeof(list) - 1))
		p += sizeof(list) - 1;
	else if (*p != '[') {
		if (!optext_one(arg, p, end))
			*arg = (struct pasta_optext_arg){0};
		return;
	}
	arg->list = true;
	if (end - p >= 2 && *p == '[' && end[-1] == ']')
		optext_list(arg, p + 1, end - 1);
}

void pasta_optext_parse(struct pasta_optext *to, const char *text)
{
	const char *p = text, *end = text + strlen(text);

	to->count = 0;
	while (p < end && to->count < PASTA_OPTEXT_ARGS) {
		const char *stop = optext_end(p, end, ',');

		optext_arg(&to->args[to->count++], p, stop);
		p = stop + (stop < end);
	}
}

const struct pasta_optext_arg *pasta_optext_tensor(const struct pasta_optext *t, size_t at,
						   size_t dims)
{
	const struct pasta_optext_arg *arg = at < t->count ? &t->args[at] : NULL;

	return arg && arg->tensor && arg->dims_count >= dims ? arg : NULL;
}

/* -- Values -- */

/* Reads a number, "True" or "False", which must end at `end`. */
static bool optext_value(const char *p, const char *end, double *value)
{
	char text[32], *stop;

	optext_trim(&p, &end);
	if (p == end || (size_t)(end - p) >= sizeof(text))
		return false;
	memcpy(text, p, (size_t)(end - p));
	text[end - p] = '\0';
	if (!strcmp(text, "True") || !strcmp(text, "False") || !strcmp(text, "true") ||
	    !strcmp(text, "false")) {
		*value = text[0] == 'T' || text[0] == 't';
		return true;
	}
	*value = strtod(text, &stop);
	return !*stop && *value - *value == 0;
}

size_t pasta_optext_numbers(const char *scalars, size_t at, double *numbers, size_t max)
{
	const char *p = scalars, *end = scalars + strlen(scalars), *stop = strchrnul(p, ';');
	size_t count = 0;

	for (; at && stop < end; at--) {
		p = stop + 1;
		stop = strchrnul(p, ';');
	}
	if (at)
		return 0;
	optext_trim(&p, &stop);
	if (stop - p < 2 || *p != '[' || stop[-1] != ']')
		return max && optext_value(p, stop, numbers);
	for (p++, end = stop - 1; p < end && count < max; count++) {
		stop = optext_end(p, end, ',');
		if (!optext_value(p, stop, &numbers[count]))
			return 0;
		p = stop + (stop < end);
	}
	return count;
}

double pasta_optext_number(const char *scalars, size_t at, double missing)
{
	double number;

	return pasta_optext_numbers(scalars, at, &number, 1) ? number : missing;
}

/* -- Strides -- */

void pasta_optext_strides(struct pasta_optext *t, const char *strides)
{
	const char *p = strides;

	for (size_t i = 0; i < t->count && *p; i++) {
		struct pasta_optext_arg *arg = &t->args[i];
		double steps[PASTA_OPTEXT_DIMS];
		size_t count = *p == ';' ? 0 : pasta_optext_numbers(p, 0, steps, PASTA_OPTEXT_DIMS);

		for (size_t dim = 0; arg->tensor && count == arg->dims_count && dim < count; dim++)
			if (steps[dim] == 0 && arg->dims[dim] > 1)
				arg->bytes /= arg->dims[dim];
		p = strchrnul(p, ';');
		p += *p == ';';
	}
}
