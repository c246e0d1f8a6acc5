/*
 * recipe.h - stores what an OpenCL program was built from: sources, headers and options.
 *
 * A recipe has its own copies of cl_program objects, because the application may rebuild or release
 * its own programs before an instrumented clone is built from the recipe.
 */
#ifndef PASTA_HANDLERS_OPENCL_RECIPE_H
#define PASTA_HANDLERS_OPENCL_RECIPE_H

#include "handlers/opencl/opencl.h"
#include "handlers/opencl/trace/trace.h"

struct cl_recipe {
	size_t count;
	struct pasta_trace_part parts[];
};

/* Returns a recipe with `count` empty parts, or NULL when out of memory. */
struct cl_recipe *cl_recipe_new(size_t count);
/* Returns a recipe with a copy of one part, or NULL if one of the part's programs has no source. */
struct cl_recipe *cl_recipe_of_part(const struct pasta_trace_part *part);
/* Frees a recipe, which may be NULL. Call this function without holding a lock, because the
 * function may release the last reference to a context, and the driver then calls a function of the
 * application. */
void cl_recipe_free(struct cl_recipe *recipe);
/* Fills the empty part `to` from the part `from`. If `share` is true, both parts refer to the same
 * programs, which must belong to a recipe. If not, the part `to` gets copies of the programs.
 * Returns false if a program has no source, or when out of memory. */
bool cl_recipe_part_fill(struct pasta_trace_part *to, const struct pasta_trace_part *from,
			 bool share);

/* Returns a program's source, and sets *size to its size including the terminating NUL. The caller
 * frees the text. Returns NULL if the program was not created from source, or when out of
 * memory. */
char *cl_program_source(cl_program program, size_t *size);

#endif
