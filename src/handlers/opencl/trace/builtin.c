/* builtin.c - recognizes the built-in functions of OpenCL C that access memory, by mangled name. */
#include "handlers/opencl/trace/builtin.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/trace/trace.h"

enum { PARAMETERS = 6 };

/* A parameter, as its mangled type describes it. For a pointer, `bytes` is the size of the type
 * that the pointer points to. */
struct parameter {
	bool pointer;
	uint8_t space;
	uint32_t bytes, elements;
};

struct signature {
	char name[64];
	struct parameter parameter[PARAMETERS];
	int count;
};

static const char *builtin_number(const char *s, uint32_t *n)
{
	for (*n = 0; isdigit((unsigned char)*s) && *n < 100000; s++)
		*n = *n * 10 + (uint32_t)(*s - '0');
	return s;
}

static uint32_t builtin_scalar(const char *s)
{
	static const struct {
		const char *codes;
		uint32_t bytes;
	} sizes[] = {{"abch", 1}, {"st", 2}, {"ijf", 4}, {"lmxyd", 8}};

	if (!strncmp(s, "Dh", 2))
		return 2;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (*s && strchr(sizes[i].codes, *s))
			return sizes[i].bytes;
	return 0;
}

/* Skips qualifiers, and sets *space if a qualifier such as U8CLglobal names an address space. */
static const char *builtin_qualifiers(const char *s, uint8_t *space)
{
	static const char *const spaces[] = {"", "CLglobal", "CLconstant", "CLlocal", "CLprivate"};
	uint32_t n;

	for (;;) {
		if (*s == 'K' || *s == 'V' || *s == 'r') {
			s++;
			continue;
		}
		if (*s != 'U')
			return s;
		s = builtin_number(s + 1, &n);
		if (strlen(s) < n)
			return s + strlen(s);
		for (unsigned int i = 1; i < sizeof(spaces) / sizeof(spaces[0]); i++)
			if (n == strlen(spaces[i]) && !strncmp(s, spaces[i], n))
				*space = (uint8_t)i;
		s += n;
	}
}

/* Parses a type, and returns the position after the type. Returns NULL for an unknown type, because
 * the end of such a type is unknown. */
static const char *builtin_type(const char *s, struct parameter *p)
{
	uint32_t n;

	if (*s == 'P') {
		p->pointer = true;
		return builtin_type(builtin_qualifiers(s + 1, &p->space), p);
	}
	s = builtin_qualifiers(s, &p->space);
	p->elements = 1;
	if (!strncmp(s, "7_Atomic", 8)) /* vendor-qualified: U7_Atomici */
		s += 8;
	if (!strncmp(s, "Dv", 2)) {
		s = builtin_number(s + 2, &p->elements);
		if (*s++ != '_')
			return NULL;
	}
	n = builtin_scalar(s);
	p->bytes = n * p->elements;
	if (n)
		return s + (*s == 'D' ? 2 : 1);
	if (isdigit((unsigned char)*s)) { /* a named type, such as an event or an enumeration */
		s = builtin_number(s, &n);
		return strlen(s) < n ? NULL : s + n;
	}
	return NULL;
}

static bool builtin_parse(const char *mangled, struct signature *g)
{
	const char *s;
	uint32_t n;

	memset(g, 0, sizeof(*g));
	if (strncmp(mangled, "_Z", 2) != 0)
		return false;
	s = builtin_number(mangled + 2, &n);
	if (!n || n >= sizeof(g->name) || strlen(s) < n)
		return false;
	memcpy(g->name, s, n);
	s += n;
	if (!strncmp(g->name, "_cl_", 4)) /* PoCL's own */
		memmove(g->name, g->name + 4, n - 4 + 1);
	while (s && *s && g->count < PARAMETERS) {
		struct parameter *p = &g->parameter[g->count++];

		/* a reference to an earlier type, assumed to be the type of the last parameter */
		if (*s == 'S') {
			s = strchr(s, '_');
			s = s ? s + 1 : NULL;
			if (g->count > 1)
				*p = p[-1];
			continue;
		}
		s = builtin_type(s, p);
	}
	return true;
}

void trace_builtin_name(const char *mangled, char *name, uint32_t size)
{
	struct signature g;

	snprintf(name, size, "%s", builtin_parse(mangled, &g) ? g.name : mangled);
}

static bool builtin_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static int builtin_pointer(const struct signature *g, int from)
{
	for (int i = from; i < g->count; i++)
		if (g->parameter[i].pointer)
			return i;
	return -1;
}

/* vload4, vstore4, vload_half, vload_half4, vloada_half4, vstore_half4_rte. */
static int builtin_vector(const struct signature *g, struct trace_access *a)
{
	bool store = builtin_begins(g->name, "vstore"), half = strstr(g->name, "half");
	const char *digits = g->name + (store ? 6 : 5) + (g->name[store ? 6 : 5] == 'a');
	int pointer = builtin_pointer(g, 0);
	uint32_t n;

	digits += half ? strlen("_half") : 0;
	builtin_number(digits, &n);
	n = n ? n : 1;
	if (pointer < 1 || !g->parameter[pointer].bytes)
		return -1;
	*a = (struct trace_access){.does = store ? PASTA_TRACE_STORE : PASTA_TRACE_LOAD,
				   .space = g->parameter[pointer].space,
				   .pointer = (uint8_t)pointer,
				   .offset = (int8_t)(pointer - 1),
				   .count = -1,
				   .stride = -1,
				   .bytes = n * g->parameter[pointer].bytes};
	/* In memory, aligned vectors of three elements are four elements apart. */
	a->step = strstr(g->name, "a_half") && n == 3 ? 4 * g->parameter[pointer].bytes : a->bytes;
	return 1;
}

static int builtin_atomic(const struct signature *g, struct trace_access *a)
{
	uint8_t does = PASTA_TRACE_ATOMIC;
	uint32_t bytes = g->parameter[0].bytes;

	if (!strcmp(g->name, "atomic_work_item_fence"))
		return 0;
	if (builtin_begins(g->name, "atomic_load"))
		does = PASTA_TRACE_LOAD;
	if (builtin_begins(g->name, "atomic_store") || builtin_begins(g->name, "atomic_init") ||
	    builtin_begins(g->name, "atomic_flag_clear"))
		does = PASTA_TRACE_STORE;
	if (builtin_begins(g->name, "atomic_flag"))
		bytes = 4;
	if (!g->parameter[0].pointer || !bytes)
		return -1;
	*a = (struct trace_access){.does = does,
				   .space = g->parameter[0].space,
				   .offset = -1,
				   .count = -1,
				   .stride = -1,
				   .bytes = bytes};
	return 1;
}

/* In a strided copy, the stride applies to the pointer to global memory. */
static int builtin_copy(const struct signature *g, struct trace_access access[2])
{
	bool strided = builtin_begins(g->name, "async_work_group_strided_copy");

	if (!g->parameter[0].pointer || !g->parameter[1].pointer)
		return -1;
	for (uint8_t i = 0; i < 2; i++) {
		const struct parameter *p = &g->parameter[i];
		/* A mangled name abbreviates a type that it contains twice. */
		uint32_t bytes = p->bytes ? p->bytes : g->parameter[!i].bytes;
		uint32_t padded = p->elements == 3 ? bytes / 3 * 4 : bytes;

		if (!bytes)
			return -1;
		access[i] = (struct trace_access){
			.does = i ? PASTA_TRACE_LOAD : PASTA_TRACE_STORE,
			.space = p->space,
			.pointer = i,
			.offset = -1,
			.count = 2,
			.stride = strided && p->space == PASTA_TRACE_GLOBAL ? 3 : -1,
			.bytes = padded,
			.step = padded};
	}
	return 2;
}

/* modf and similar functions store a second result through their last argument. */
static int builtin_results(const struct signature *g, struct trace_access *a)
{
	int pointer = builtin_pointer(g, 1);

	if (pointer < 0 || !g->parameter[pointer].bytes)
		return -1;
	*a = (struct trace_access){.does = PASTA_TRACE_STORE,
				   .space = g->parameter[pointer].space,
				   .pointer = (uint8_t)pointer,
				   .offset = -1,
				   .count = -1,
				   .stride = -1,
				   .bytes = g->parameter[pointer].bytes};
	return 1;
}

static bool builtin_is_one_of(const char *name, const char *const *list, bool whole)
{
	for (; *list; list++)
		if (whole ? !strcmp(name, *list) : builtin_begins(name, *list))
			return true;
	return false;
}

int trace_builtin(const char *mangled, struct trace_access access[2])
{
	static const char *const uncounted[] = {
		"read_image",	"write_image",	  "read_pipe",	      "write_pipe", "__read_pipe",
		"__write_pipe", "enqueue_kernel", "__enqueue_kernel", NULL};
	static const char *const two_results[] = {"fract",  "frexp",  "lgamma_r", "modf",
						  "remquo", "sincos", NULL};
	struct signature g;

	if (!builtin_parse(mangled, &g))
		snprintf(g.name, sizeof(g.name), "%.63s", mangled);
	if (builtin_begins(g.name, "vload") || builtin_begins(g.name, "vstore"))
		return builtin_vector(&g, &access[0]);
	if (builtin_begins(g.name, "atomic_") || builtin_begins(g.name, "atom_"))
		return builtin_atomic(&g, &access[0]);
	if (!strcmp(g.name, "async_work_group_copy") ||
	    !strcmp(g.name, "async_work_group_strided_copy"))
		return builtin_copy(&g, access);
	if (builtin_is_one_of(g.name, two_results, true))
		return builtin_results(&g, &access[0]);
	return builtin_is_one_of(g.name, uncounted, false) ? -1 : 0;
}
