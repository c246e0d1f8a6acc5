/* kinetoargs.c - converts the arguments of the PyTorch Profiler's operators to text. */
#include <string.h>

#include "import/kineto.h"

/* An array with an element for each input. */
struct args_list {
	uint32_t at, end; /* token of the next element; at the end, both are equal */
};

static struct args_list args_open(const struct pasta_jsontape *tape, uint32_t array)
{
	if (!array || tape->tokens[array].type != PASTA_JSON_ARRAY)
		return (struct args_list){0};
	return (struct args_list){array + 1, tape->tokens[array].next};
}

static bool args_more(const struct args_list *list)
{
	return list->at < list->end;
}

/* Moves to the next element. Returns the token of the current one; 0 if there is none. */
static uint32_t args_next(const struct pasta_jsontape *tape, struct args_list *list)
{
	uint32_t token = list->at;

	if (!args_more(list))
		return 0;
	list->at = tape->tokens[token].next;
	return token;
}

/* Returns the size of an array's text, or 0 for token 0. */
static size_t args_size(const struct pasta_jsontape *tape, uint32_t array)
{
	return array ? tape->tokens[array].size : 0;
}

/* Appends the text of a token without white space. Returns the end of the appended text. */
static char *args_append(char *p, const struct pasta_jsontape *tape, uint32_t token)
{
	struct pasta_slice s = pasta_jsontape_text(tape, token);

	for (size_t i = 0; i < s.size; i++)
		if ((uint8_t)s.at[i] > ' ')
			*p++ = s.at[i];
	return p;
}

static bool args_is_empty(const struct pasta_jsontape *tape, uint32_t token)
{
	return !token || tape->tokens[token].next == token + 1;
}

/* -- Types and dimensions -- */

static char *args_append_type(char *p, const struct pasta_jsontape *tape, uint32_t token)
{
	struct pasta_slice s = pasta_jsontape_text(tape, token);

	if (tape->tokens[token].type != PASTA_JSON_STRING || !s.size) {
		*p++ = '-';
		return p;
	}
	memcpy(p, s.at, s.size);
	return p + s.size;
}

uint32_t pasta_kineto_inputs(struct pasta_kineto *k, const struct pasta_jsontape *tape,
			     const struct pasta_kineto_args *args)
{
	struct args_list types = args_open(tape, args->types), dims = args_open(tape, args->dims);
	char *start, *p;

	if (!args_more(&types) && !args_more(&dims))
		return 0;
	/* One character and its comma may become three characters, so reserve twice the size. */
	start = p = pasta_trace_scratch(
		k->t, 2 * (args_size(tape, args->types) + args_size(tape, args->dims)) + 8);
	if (!p)
		return 0;
	while (args_more(&types) || args_more(&dims)) {
		uint32_t type = args_next(tape, &types), dim = args_next(tape, &dims);

		if (p > start) {
			*p++ = ',';
			*p++ = ' ';
		}
		if (type)
			p = args_append_type(p, tape, type);
		if (!args_is_empty(tape, dim))
			p = args_append(p, tape, dim);
	}
	return pasta_trace_str(k->t, start, (size_t)(p - start));
}

/* -- Values -- */

/* Appends a value. Semicolons separate values, so a semicolon in a value becomes a comma. */
static char *args_append_value(char *p, const struct pasta_jsontape *tape, uint32_t token)
{
	const struct pasta_json_token *t = &tape->tokens[token];
	struct pasta_slice s = pasta_jsontape_text(tape, token);
	char *end = p + s.size;

	if (t->type == PASTA_JSON_TRUE || t->type == PASTA_JSON_FALSE)
		return stpcpy(p, t->type == PASTA_JSON_TRUE ? "True" : "False");
	if (t->type == PASTA_JSON_NULL)
		return p;
	if (t->type == PASTA_JSON_STRING && t->flags & PASTA_JSON_ESCAPED)
		end = p + pasta_jsontape_unescape(s, p);
	else
		memcpy(p, s.at, s.size);
	for (char *semicolon = p; (semicolon = memchr(semicolon, ';', (size_t)(end - semicolon)));)
		*semicolon = ',';
	return end;
}

uint32_t pasta_kineto_scalars(struct pasta_kineto *k, const struct pasta_jsontape *tape,
			      const struct pasta_kineto_args *args)
{
	struct args_list values = args_open(tape, args->values);
	bool any = false;
	char *start, *p;

	if (!args_more(&values))
		return 0;
	start = p = pasta_trace_scratch(k->t, 2 * args_size(tape, args->values) + 8);
	if (!p)
		return 0;
	for (uint32_t token, first = values.at; (token = args_next(tape, &values));) {
		char *end;

		if (token != first)
			*p++ = ';';
		end = args_append_value(p, tape, token);
		any = any || end > p;
		p = end;
	}
	return any ? pasta_trace_str(k->t, start, (size_t)(p - start)) : 0;
}

/* -- Strides -- */

/* The number of elements of the dimensions that are contiguous so far. Becomes 0 if the tensor has
 * no elements or too many to count; its strides are not compared then. */
struct args_span {
	uint64_t elements;
	bool contiguous;
};

/* Checks the dimensions of a tensor from the last to the first. The stride of a dimension with one
 * element has no effect. Arrays can only be read forwards, so this function calls itself for the
 * dimensions that follow; the tape limits the depth by the length of a dimension's text. */
static struct args_span args_check(const struct pasta_jsontape *tape, struct args_list dims,
				   struct args_list strides, int depth)
{
	struct args_span s = {1, true};
	uint32_t dim = args_next(tape, &dims), stride = args_next(tape, &strides);
	uint64_t n, step;

	if (!dim || !stride || depth == 64)
		return s;
	s = args_check(tape, dims, strides, depth + 1);
	if (pasta_chromeevent_uint(tape, dim, &n) || pasta_chromeevent_uint(tape, stride, &step))
		return s;
	if (n != 1 && s.elements && step != s.elements)
		s.contiguous = false;
	if (__builtin_mul_overflow(s.elements, n, &s.elements))
		s.elements = 0;
	if (!n)
		s.contiguous = true;
	return s;
}

static bool args_is_contiguous(const struct pasta_jsontape *tape, uint32_t dims, uint32_t strides)
{
	struct args_list d = args_open(tape, dims), s = args_open(tape, strides);

	if (!args_more(&d) || !args_more(&s))
		return true;
	if (tape->tokens[d.at].type != PASTA_JSON_ARRAY)
		return args_check(tape, d, s, 0).contiguous;
	while (args_more(&d) && args_more(&s)) { /* a list of tensors */
		struct args_list one = args_open(tape, args_next(tape, &d)),
				 of = args_open(tape, args_next(tape, &s));

		if (!args_check(tape, one, of, 0).contiguous)
			return false;
	}
	return true;
}

uint32_t pasta_kineto_strides(struct pasta_kineto *k, const struct pasta_jsontape *tape,
			      const struct pasta_kineto_args *args)
{
	struct args_list dims = args_open(tape, args->dims);
	struct args_list strides = args_open(tape, args->strides);
	bool any = false;
	char *start, *p;

	if (!args_more(&strides))
		return 0;
	start = p = pasta_trace_scratch(k->t, 2 * args_size(tape, args->strides) + 8);
	if (!p)
		return 0;
	for (uint32_t token, first = strides.at; (token = args_next(tape, &strides));) {
		if (token != first)
			*p++ = ';';
		if (!args_is_contiguous(tape, args_next(tape, &dims), token)) {
			p = args_append(p, tape, token);
			any = true;
		}
	}
	return any ? pasta_trace_str(k->t, start, (size_t)(p - start)) : 0;
}
