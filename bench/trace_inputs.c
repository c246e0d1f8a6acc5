/* trace_inputs.c - the inputs of an operator, as PyTorch records them. A specification has items
 * separated by '|', each a letter and a value: b, f and l are tensors of bfloat16, float and long
 * with their dimensions ("b:8*$,768": '$' is the length of the step's sequences); T is a list of
 * tensors ("T:768,768*12": twelve); s is a scalar, L a list of scalars, n nothing. */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trace_add(char *to, size_t size, const char *fmt, ...)
{
	size_t used = strlen(to);
	va_list args;

	va_start(args, fmt);
	vsnprintf(to + used, size - used, fmt, args);
	va_end(args);
}

/* Appends the dimensions of a tensor, and the strides if it is contiguous. */
static void add_shape(char *dims, char *strides, size_t size, const char *spec, size_t n,
		      uint32_t length)
{
	uint64_t d[8], stride = 1;
	size_t count = 0;
	char *end;

	for (const char *p = spec; p < spec + n; p += *p == ',') {
		d[count] = *p == '$' ? length : strtoull(p, &end, 10);
		p = *p == '$' ? p + 1 : end;
		if (p < spec + n && *p == '*') {
			d[count] *= length;
			p += 2;
		}
		count++;
	}
	trace_add(dims, size, "[");
	trace_add(strides, size, "[");
	for (size_t i = 0; i < count; i++) {
		for (size_t k = i + 1; k < count; k++)
			stride *= d[k];
		trace_add(dims, size, "%s%llu", i ? ", " : "", (unsigned long long)d[i]);
		trace_add(strides, size, "%s%llu", i ? ", " : "", (unsigned long long)stride);
		stride = 1;
	}
	trace_add(dims, size, "]");
	trace_add(strides, size, "]");
}

static void add_tensors(struct trace_inputs *in, const char *spec, size_t n, uint32_t length)
{
	const char *star = spec + n;
	unsigned long many;

	while (*star != '*')
		star--;
	many = strtoul(star + 1, NULL, 10);
	trace_add(in->dims, TRACE_TEXT_MAX, "[");
	trace_add(in->strides, TRACE_TEXT_MAX, "[");
	for (unsigned long i = 0; i < many; i++) {
		trace_add(in->dims, TRACE_TEXT_MAX, "%s", i ? ", " : "");
		trace_add(in->strides, TRACE_TEXT_MAX, "%s", i ? ", " : "");
		add_shape(in->dims, in->strides, TRACE_TEXT_MAX, spec, (size_t)(star - spec),
			  length);
	}
	trace_add(in->dims, TRACE_TEXT_MAX, "]");
	trace_add(in->strides, TRACE_TEXT_MAX, "]");
}

static void add_input(struct trace_inputs *in, const char *spec, size_t n, uint32_t length)
{
	static const char letters[] = "bflTsLn";
	static const char *const types[] = {"c10::BFloat16", "float",	   "long int", "TensorList",
					    "Scalar",	     "ScalarList", ""};
	const char *comma = in->types[0] ? ", " : "";
	bool tensor = strchr("bfl", *spec), value = strchr("sL", *spec);

	trace_add(in->types, TRACE_TEXT_MAX, "%s\"%s\"", comma,
		  types[strchr(letters, *spec) - letters]);
	trace_add(in->dims, TRACE_TEXT_MAX, "%s", comma);
	trace_add(in->strides, TRACE_TEXT_MAX, "%s", comma);
	if (*spec == 'T')
		add_tensors(in, spec + 2, n - 2, length);
	else
		add_shape(in->dims, in->strides, TRACE_TEXT_MAX, spec + 2, tensor ? n - 2 : 0,
			  length);
	trace_add(in->values, TRACE_TEXT_MAX, "%s\"%.*s\"", comma, value ? (int)(n - 2) : 0,
		  spec + 2);
}

void trace_inputs(struct trace_inputs *in, const char *spec, uint32_t length)
{
	memset(in, 0, sizeof(*in));
	for (size_t n; *spec; spec += n + (spec[n] == '|')) {
		n = strcspn(spec, "|");
		add_input(in, spec, n, length);
	}
}
