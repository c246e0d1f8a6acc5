/*
 * recipe.h - what an OpenCL program was built from: sources, headers and options.
 *
 * A recipe refers to program objects of its own. The application may rebuild or release its
 * programs while an instrumented clone is still to be built from the recipe.
 */
#ifndef PASTA_HANDLERS_OPENCL_RECIPE_H
#define PASTA_HANDLERS_OPENCL_RECIPE_H

#include "handlers/opencl/opencl.h"
#include "handlers/opencl/trace/trace.h"

struct cl_recipe {
	size_t count;
	struct pasta_trace_part parts[];
};

/* Returns a recipe with count empty parts, or NULL without memory. */
struct cl_recipe *cl_recipe_new(size_t count);
/* Returns a recipe with a copy of one part, or NULL if a program of it has no source. */
struct cl_recipe *cl_recipe_of_part(const struct pasta_trace_part *part);
/* Frees a recipe; NULL is allowed. Call it without a lock: the last reference to a context may end
 * here, and the driver then calls a function of the application. */
void cl_recipe_free(struct cl_recipe *recipe);
/* Fills an empty part. With share, both parts refer to the same programs, which must belong to a
 * recipe; without it, the new part gets copies. Returns false without memory or source. */
bool cl_recipe_part_fill(struct pasta_trace_part *to, const struct pasta_trace_part *from,
			 bool share);

/* Returns a program's source and its size with the terminating zero. The caller frees it. NULL: the
 * program was not created from source, or out of memory. */
char *cl_program_source(cl_program program, size_t *size);

#endif
