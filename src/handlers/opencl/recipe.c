/* recipe.c - stores what an OpenCL program was built from: sources, headers and options. */
#include "handlers/opencl/recipe.h"

#include <stdlib.h>
#include <string.h>

static void recipe_part_free(struct pasta_trace_part *p)
{
	if (p->program)
		cl_below.clReleaseProgram(p->program);
	for (cl_uint i = 0; i < p->header_count; i++) {
		if (p->headers && p->headers[i])
			cl_below.clReleaseProgram(p->headers[i]);
		if (p->header_names)
			free((void *)p->header_names[i]);
	}
	free((void *)p->headers);
	free((void *)p->header_names);
	free((void *)p->options);
}

void cl_recipe_free(struct cl_recipe *r)
{
	for (size_t i = 0; r && i < r->count; i++)
		recipe_part_free(&r->parts[i]);
	free(r);
}

struct cl_recipe *cl_recipe_new(size_t count)
{
	struct cl_recipe *r = calloc(1, sizeof(*r) + count * sizeof(r->parts[0]));

	if (r)
		r->count = count;
	return r;
}

char *cl_program_source(cl_program program, size_t *size)
{
	char *text = NULL;

	*size = 0;
	if (!cl_below.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, size) && *size > 1)
		text = malloc(*size);
	if (text && cl_below.clGetProgramInfo(program, CL_PROGRAM_SOURCE, *size, text, NULL)) {
		free(text);
		text = NULL;
	}
	return text;
}

/* Returns a new program with the same source, or NULL if the program has no source. */
static cl_program recipe_copy_program(cl_program program)
{
	cl_context context = NULL;
	cl_program own = NULL;
	size_t size;
	char *text = cl_program_source(program, &size);

	if (text && !cl_below.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context),
					       &context, NULL))
		own = cl_below.clCreateProgramWithSource(context, 1, (const char **)&text, NULL,
							 NULL);
	free(text);
	return own;
}

static cl_program recipe_program(cl_program program, bool share)
{
	if (!share)
		return recipe_copy_program(program);
	cl_below.clRetainProgram(program);
	return program;
}

bool cl_recipe_part_fill(struct pasta_trace_part *to, const struct pasta_trace_part *from,
			 bool share)
{
	bool ok = true;

	to->program = recipe_program(from->program, share);
	to->options = strdup(from->options ? from->options : "");
	to->headers = calloc(from->header_count + 1, sizeof(*to->headers));
	to->header_names = calloc(from->header_count + 1, sizeof(*to->header_names));
	if (!to->program || !to->options || !to->headers || !to->header_names)
		return false;
	to->header_count = from->header_count;
	for (cl_uint i = 0; i < from->header_count; i++) {
		cl_program *header = (cl_program *)&to->headers[i];

		*header = recipe_program(from->headers[i], share);
		to->header_names[i] = strdup(from->header_names[i]);
		ok = ok && *header && to->header_names[i];
	}
	return ok;
}

struct cl_recipe *cl_recipe_of_part(const struct pasta_trace_part *part)
{
	struct cl_recipe *r = cl_recipe_new(1);

	if (r && !cl_recipe_part_fill(&r->parts[0], part, false)) {
		cl_recipe_free(r);
		r = NULL;
	}
	return r;
}
