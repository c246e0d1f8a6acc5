/* programs.c - tracks OpenCL programs, what the programs were built from, and instrumented clones
 * of programs. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/lock.h"
#include "handlers/opencl/instrumented.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/recipe.h"
#include "handlers/opencl/table.h"

/* An instrumented clone of a program, for one device. */
struct program_clone {
	struct program_clone *next;
	cl_device_id device;
	cl_program program; /* NULL if the build failed */
	const char *why;    /* why the build failed */
};

/* A program of the application. All such structs are in one list, so that leak checkers find
 * them. */
struct program {
	struct program *next;
	/* Number of references from the application and from kernels. If the number is 0, the
	 * driver may reuse the handle. */
	uint32_t refs;
	struct cl_recipe *recipe;
	const char *why; /* the reason why `recipe` is NULL */
	struct program_clone *clones;
	uint64_t made; /* hash of the source, binary or IL; 0 if unknown */
	uint64_t code; /* hash of `made` and the build options */
};

/* An entry of the table that maps a cl_program to its struct. */
struct program_entry {
	uint32_t number;
	struct program *program;
};

static struct cl_table programs;
static struct program *all;
/* A thread holds this lock while it builds a clone. The application's own builds don't need it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns a recipe with the parts of all programs that are linked, in order. Returns NULL if one of
 * these programs has no recipe. The caller holds `lock`. */
static struct cl_recipe *program_recipe_of_inputs(cl_uint count, const cl_program *list)
{
	struct program_entry *e;
	struct cl_recipe *r;
	size_t parts = 0, n = 0;

	for (cl_uint i = 0; i < count; i++) {
		e = cl_table_find(&programs, list[i]);
		if (!e || !e->program || !e->program->recipe)
			return NULL;
		parts += e->program->recipe->count;
	}
	r = cl_recipe_new(parts);
	for (cl_uint i = 0; r && i < count; i++) {
		e = cl_table_find(&programs, list[i]);
		for (size_t k = 0; r && k < e->program->recipe->count; k++)
			if (!cl_recipe_part_fill(&r->parts[n++], &e->program->recipe->parts[k],
						 true)) {
				cl_recipe_free(r);
				r = NULL;
			}
	}
	return r;
}

/* The recipe and the clones of a program. They must be freed without holding `lock`, because the
 * last reference to a context may be released, and the driver then calls a function of the
 * application. */
struct detached {
	struct cl_recipe *recipe;
	struct program_clone *clones;
};

static struct detached program_detach(struct program *p)
{
	struct detached d = {p->recipe, p->clones};

	p->clones = NULL;
	p->recipe = NULL;
	return d;
}

static void detached_free(struct detached d)
{
	struct program_clone *t, *next;

	for (t = d.clones; t; t = next) {
		next = t->next;
		if (t->program)
			cl_below.clReleaseProgram(t->program);
		free(t);
	}
	cl_recipe_free(d.recipe);
}

/* Returns the data of a program, and adds the program if it is new. Returns NULL when out of
 * memory. The caller holds `lock`. */
static struct program *program_of(cl_program program)
{
	bool added;
	struct program_entry *e = cl_table_get(&programs, program, sizeof(*e), &added);

	if (e && !e->program) {
		e->program = calloc(1, sizeof(*e->program));
		if (e->program) {
			e->program->next = all;
			all = e->program;
		}
	}
	return e ? e->program : NULL;
}

/* -- Code hashes. Programs with the same source and options have the same hash, even if the
 * application builds them several times -- */

static uint64_t program_code_of_bytes(uint64_t after, const void *bytes, size_t size)
{
	return cl_counts_accesses() ? pasta_accesses_code(after, bytes, size) : 0;
}

static uint64_t program_code_of_source(cl_program program)
{
	size_t size;
	char *text = cl_counts_accesses() ? cl_program_source(program, &size) : NULL;
	uint64_t code = text ? pasta_accesses_code(0, text, size) : 0;

	free(text);
	return code;
}

static uint64_t program_code_of_text(uint64_t code, const char *text)
{
	return pasta_accesses_code(code, text ? text : "", text ? strlen(text) : 0);
}

/* Returns the hash of the source, binary or IL that a program was created from. The caller holds
 * `lock`. */
static uint64_t program_made_from(cl_program program)
{
	const struct program_entry *e = cl_table_find(&programs, program);

	return e && e->program ? e->program->made : 0;
}

/* Files that the source includes from the file system are not read; the hash assumes that these
 * files don't change. The caller holds `lock`. */
static uint64_t program_code_of_part(const struct pasta_trace_part *part)
{
	uint64_t code = program_code_of_text(program_made_from(part->program), part->options);

	for (cl_uint i = 0; i < part->header_count; i++) {
		uint64_t header = program_made_from(part->headers[i]);

		code = program_code_of_text(code, part->header_names[i]);
		code = pasta_accesses_code(code, &header, sizeof(header));
	}
	return code;
}

/* The caller of this function holds `lock`. */
static uint64_t program_code_of_inputs(cl_uint count, const cl_program *list, const char *options)
{
	uint64_t code = program_code_of_text(0, options);

	for (cl_uint i = 0; i < count; i++) {
		const struct program_entry *e = cl_table_find(&programs, list[i]);
		uint64_t input = e && e->program ? e->program->code : 0;

		code = pasta_accesses_code(code, &input, sizeof(input));
	}
	return code;
}

uint64_t cl_program_code(cl_program program)
{
	const struct program_entry *e;
	uint64_t code;

	pasta_lock(&lock);
	e = cl_table_find(&programs, program);
	code = e && e->program ? e->program->code : 0;
	pasta_unlock(&lock);
	return code;
}

/* Sets the recipe and the code hash of a program that was built. The program then owns `recipe`. If
 * `recipe` is NULL, `why` is the reason. The caller holds `lock`, releases `lock`, and then frees
 * the result. */
static struct detached program_built(cl_program program, struct cl_recipe *recipe, uint64_t code,
				     const char *why)
{
	struct program *p = program_of(program);
	struct detached old;

	if (!p)
		return (struct detached){recipe, NULL};
	old = program_detach(p);
	p->recipe = recipe;
	p->code = code;
	p->why = recipe ? NULL : why;
	return old;
}

static void program_built_from_source(cl_program program, const struct pasta_trace_part *part)
{
	struct cl_recipe *recipe;
	struct detached old;

	if (!cl_counts_accesses() || !program)
		return;
	recipe = cl_recipe_of_part(part);
	pasta_lock(&lock);
	old = program_built(program, recipe, program_code_of_part(part),
			    "the kernel's program was not created from source");
	pasta_unlock(&lock);
	detached_free(old);
}

static void program_built_from_inputs(cl_program program, cl_uint count, const cl_program *list,
				      const char *options)
{
	struct detached old;

	if (!cl_counts_accesses() || !program)
		return;
	pasta_lock(&lock);
	old = program_built(program, program_recipe_of_inputs(count, list),
			    program_code_of_inputs(count, list, options),
			    "a part of the kernel's program was not created from source");
	pasta_unlock(&lock);
	detached_free(old);
}

static void program_refer(cl_program program, bool more)
{
	struct detached none = {0};
	struct program_entry *e;

	if (!cl_counts_accesses())
		return;
	pasta_lock(&lock);
	e = cl_table_find(&programs, program);
	if (e && e->program && e->program->refs) {
		e->program->refs += more ? 1 : -1;
		if (!e->program->refs)
			none = program_detach(e->program);
	}
	pasta_unlock(&lock);
	detached_free(none);
}

void cl_program_ref(cl_program program)
{
	program_refer(program, true);
}

void cl_program_unref(cl_program program)
{
	program_refer(program, false);
}

/* -- Clones -- */

/* The caller of this function holds `lock`. */
static struct program_clone *program_clone_new(struct program *p, cl_device_id device)
{
	struct program_clone *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->device = device;
	t->next = p->clones;
	p->clones = t;
	t->program = cl_clone_build(p->recipe, device, &t->why);
	return t;
}

cl_program cl_program_clone(cl_program program, cl_device_id device, const char **why)
{
	struct program_entry *e;
	struct program_clone *t = NULL;
	cl_program clone = NULL;

	*why = "its program is unknown";
	pasta_lock(&lock);
	e = cl_table_find(&programs, program);
	if (e && e->program && e->program->recipe) {
		for (t = e->program->clones; t && t->device != device; t = t->next)
			;
		if (!t)
			t = program_clone_new(e->program, device);
		*why = t ? t->why : "out of memory";
		clone = t ? t->program : NULL;
	} else if (e && e->program && e->program->why) {
		*why = e->program->why;
	}
	if (clone)
		cl_below.clRetainProgram(clone);
	pasta_unlock(&lock);
	return clone;
}

/* -- Wrappers -- */

static void program_new(cl_program program, uint64_t made)
{
	struct program *p;
	struct detached old;

	pasta_lock(&lock);
	old = program_built(program, NULL, made, "the kernel's program was not built from source");
	p = program_of(program);
	if (p) {
		p->refs = 1;
		p->made = made;
	}
	pasta_unlock(&lock);
	detached_free(old);
}

/* `dur` is the time that linking took; 0 if the program was not linked. */
static void program_created(cl_program program, const char *how, size_t bytes, uint64_t made,
			    uint64_t dur)
{
	struct pasta_event ev;

	if (!program)
		return;
	if (cl_counts_accesses())
		program_new(program, made);
	if (!pasta_agent_records(PASTA_KIND_MODULE))
		return;
	pasta_event_init(&ev, PASTA_KIND_MODULE, PASTA_MODULE_LOAD, PASTA_EVENT_SIZE(module));
	ev.module.id = (uintptr_t)program;
	ev.module.bytes = bytes;
	ev.module.name = pasta_intern_str(how);
	ev.module.dur = dur;
	ev.time = pasta_now() - dur;
	pasta_emit(&ev);
}

/* Emits the time that a build of a program took. A build with a callback may go on after the call
 * has returned. */
static void program_emit_build(cl_program program, const char *how, uint64_t begin)
{
	struct pasta_event ev;

	if (!program || !pasta_agent_records(PASTA_KIND_MODULE))
		return;
	pasta_event_init(&ev, PASTA_KIND_MODULE, PASTA_MODULE_LOAD, PASTA_EVENT_SIZE(module));
	ev.module.id = (uintptr_t)program;
	ev.module.name = pasta_intern_str(how);
	ev.module.dur = pasta_now() - begin;
	ev.time = begin;
	pasta_emit(&ev);
}

static CL_API_ENTRY cl_program CL_API_CALL wrap_clCreateProgramWithSource(cl_context context,
									  cl_uint count,
									  const char **strings,
									  const size_t *lengths,
									  cl_int *status)
{
	cl_program p = cl_below.clCreateProgramWithSource(context, count, strings, lengths, status);
	size_t bytes = 0;

	for (cl_uint i = 0; p && i < count; i++)
		bytes += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	program_created(p, "source", bytes, p ? program_code_of_source(p) : 0, 0);
	return p;
}

static CL_API_ENTRY cl_program CL_API_CALL wrap_clCreateProgramWithBinary(
	cl_context context, cl_uint count, const cl_device_id *list, const size_t *lengths,
	const unsigned char **binaries, cl_int *binary_status, cl_int *status)
{
	cl_program p = cl_below.clCreateProgramWithBinary(context, count, list, lengths, binaries,
							  binary_status, status);
	uint64_t made = 0;
	size_t bytes = 0;

	for (cl_uint i = 0; p && i < count; i++) {
		bytes += lengths[i];
		made = program_code_of_bytes(made, binaries[i], lengths[i]);
	}
	program_created(p, "binary", bytes, made, 0);
	return p;
}

static CL_API_ENTRY cl_program CL_API_CALL wrap_clCreateProgramWithIL(cl_context context,
								      const void *il, size_t length,
								      cl_int *status)
{
	cl_program p = cl_below.clCreateProgramWithIL(context, il, length, status);

	program_created(p, "il", length, p ? program_code_of_bytes(0, il, length) : 0, 0);
	return p;
}

static CL_API_ENTRY cl_program CL_API_CALL
wrap_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *list,
				       const char *names, cl_int *status)
{
	cl_program p =
		cl_below.clCreateProgramWithBuiltInKernels(context, count, list, names, status);

	program_created(p, "built-in kernels", 0,
			p ? program_code_of_bytes(0, names, strlen(names)) : 0, 0);
	return p;
}

/* Builds of programs may take long, so they are recorded as API calls. */
static CL_API_ENTRY cl_int CL_API_CALL
wrap_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *list,
		    const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clBuildProgram(program, count, list, options, notify, data);

	program_emit_build(program, "build", begin);
	if (r == CL_SUCCESS)
		program_built_from_source(program, &(struct pasta_trace_part){.program = program,
									      .options = options});
	cl_api("clBuildProgram", begin, r);
	return r;
}

static CL_API_ENTRY cl_int CL_API_CALL
wrap_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *list,
		      const char *options, cl_uint headers, const cl_program *header_list,
		      const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clCompileProgram(program, count, list, options, headers, header_list,
					     names, notify, data);

	program_emit_build(program, "compile", begin);
	if (r == CL_SUCCESS)
		program_built_from_source(program,
					  &(struct pasta_trace_part){.program = program,
								     .options = options,
								     .header_count = headers,
								     .headers = header_list,
								     .header_names = names});
	cl_api("clCompileProgram", begin, r);
	return r;
}

static CL_API_ENTRY cl_program CL_API_CALL
wrap_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *list, const char *options,
		   cl_uint inputs, const cl_program *input_list,
		   void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *status)
{
	uint64_t begin = pasta_now();
	cl_int error = CL_SUCCESS;
	cl_program p = cl_below.clLinkProgram(context, count, list, options, inputs, input_list,
					      notify, data, &error);

	program_created(p, "linked", 0, 0, pasta_now() - begin);
	program_built_from_inputs(p, inputs, input_list, options);
	cl_api("clLinkProgram", begin, error);
	if (status)
		*status = error;
	return p;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clRetainProgram(cl_program program)
{
	cl_int r = cl_below.clRetainProgram(program);

	if (r == CL_SUCCESS)
		cl_program_ref(program);
	return r;
}

/* The reference is removed before the driver removes its reference, because another thread may get
 * the same handle afterwards. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clReleaseProgram(cl_program program)
{
	cl_program_unref(program);
	return cl_below.clReleaseProgram(program);
}

/* Runs in a forked child. Initializes the lock again, because another thread of the parent may have
 * held it. */
static void programs_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void cl_wrap_programs(cl_icd_dispatch *table)
{
	if (cl_counts_accesses())
		pthread_atfork(NULL, NULL, programs_forked);
	CL_WRAP(table, clRetainProgram);
	CL_WRAP(table, clReleaseProgram);
	CL_WRAP(table, clCreateProgramWithSource);
	CL_WRAP(table, clCreateProgramWithBinary);
	CL_WRAP(table, clCreateProgramWithIL);
	CL_WRAP(table, clCreateProgramWithBuiltInKernels);
	CL_WRAP(table, clBuildProgram);
	CL_WRAP(table, clCompileProgram);
	CL_WRAP(table, clLinkProgram);
}
