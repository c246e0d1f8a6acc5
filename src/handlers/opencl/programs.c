/* programs.c - programs: when they are made, and how, so that one can be built that tells. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/instrumented.h"
#include "core/lock.h"
#include "handlers/opencl/opencl.h"
#include "handlers/opencl/table.h"
#include "handlers/opencl/trace/trace.h"

/* What a program was built from, in programs of our own: the program may change its, or release
 * them. */
struct recipe {
	size_t count;
	struct pasta_trace_part parts[];
};

/* A program that tells of its accesses, on one device. */
struct twin {
	struct twin *next;
	cl_device_id device;
	cl_program program; /* NULL: why is why there is none */
	const char *why;
};

/* By handle. All are in one list, where a leak checker finds them. */
struct program {
	struct program *next;
	uint32_t refs; /* the program's own, and kernels; 0: it may come again, as another */
	struct recipe *recipe;
	const char *why; /* there is no recipe */
	struct twin *twins;
	uint64_t made; /* pasta_accesses_code of what it was made from; 0: that is not known */
	uint64_t code; /* the same, with the options that it was built with */
};

struct program_entry {
	uint32_t number;
	struct program *program;
};

static struct cl_table programs;
static struct program *all;
/* Held while a program is built once more: the program's own builds go on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* -- The library that instruments, loaded when it is needed -- */

static struct {
	bool tried;
	const char *why;
	__typeof__(pasta_trace_build) *build;
	__typeof__(pasta_trace_module_free) *module_free;
} trace;

static bool trace_load(void)
{
	char path[4096] = "";
	struct pasta_trace_hooks *hooks;
	const char *slash;
	Dl_info self;
	void *lib;

	if (trace.tried)
		return !trace.why;
	trace.tried = true;
	if (dladdr(&trace, &self) && (slash = strrchr(self.dli_fname, '/')))
		snprintf(path, sizeof(path), "%.*s/libpasta-opencl-trace.so",
			 (int)(slash - self.dli_fname), self.dli_fname);
	lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (lib) {
		trace.build = dlsym(lib, "pasta_trace_build");
		trace.module_free = dlsym(lib, "pasta_trace_module_free");
		hooks = dlsym(lib, "pasta_trace_hooks");
		if (trace.build && trace.module_free && hooks) {
			*hooks = cl_count_hooks;
			return true;
		}
	}
	snprintf(path, sizeof(path), "libpasta-opencl-trace.so cannot be loaded: %s", dlerror());
	trace.why = cl_table_text(path);
	pasta_agent_log("opencl", path);
	return false;
}

/* -- Recipes -- */

static void part_free(struct pasta_trace_part *p)
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

static void recipe_free(struct recipe *r)
{
	for (size_t i = 0; r && i < r->count; i++)
		part_free(&r->parts[i]);
	free(r);
}

static struct recipe *recipe_new(size_t count)
{
	struct recipe *r = calloc(1, sizeof(*r) + count * sizeof(r->parts[0]));

	if (r)
		r->count = count;
	return r;
}

/* A program's source, to be freed, and its size with the zero at its end; NULL: there is none. */
static char *source_of(cl_program program, size_t *size)
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

/* A program of the same source; NULL: there is none. */
static cl_program copy(cl_program program)
{
	cl_context context = NULL;
	cl_program own = NULL;
	size_t size;
	char *text = source_of(program, &size);

	if (text && !cl_below.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context),
					       &context, NULL))
		own = cl_below.clCreateProgramWithSource(context, 1, (const char **)&text, NULL,
							 NULL);
	free(text);
	return own;
}

/* headers are copied where they are programs of the user's, and else only retained. */
static bool part_fill(struct pasta_trace_part *to, const struct pasta_trace_part *from, bool own)
{
	bool ok = true;

	if (own)
		cl_below.clRetainProgram(from->program);
	to->program = own ? from->program : copy(from->program);
	to->options = strdup(from->options ? from->options : "");
	to->headers = calloc(from->header_count + 1, sizeof(*to->headers));
	to->header_names = calloc(from->header_count + 1, sizeof(*to->header_names));
	if (!to->program || !to->options || !to->headers || !to->header_names)
		return false;
	to->header_count = from->header_count;
	for (cl_uint i = 0; i < from->header_count; i++) {
		cl_program *header = (cl_program *)&to->headers[i];

		if (own)
			cl_below.clRetainProgram(from->headers[i]);
		*header = own ? from->headers[i] : copy(from->headers[i]);
		to->header_names[i] = strdup(from->header_names[i]);
		ok = ok && *header && to->header_names[i];
	}
	return ok;
}

static struct recipe *recipe_of_part(const struct pasta_trace_part *part)
{
	struct recipe *r = recipe_new(1);

	if (r && !part_fill(&r->parts[0], part, false)) {
		recipe_free(r);
		r = NULL;
	}
	return r;
}

/* All parts of all inputs, in order; NULL: one of them has no recipe. */
static struct recipe *recipe_of_inputs(cl_uint count, const cl_program *list)
{
	struct program_entry *e;
	struct recipe *r;
	size_t parts = 0, n = 0;

	for (cl_uint i = 0; i < count; i++) {
		e = cl_table_find(&programs, list[i]);
		if (!e || !e->program || !e->program->recipe)
			return NULL;
		parts += e->program->recipe->count;
	}
	r = recipe_new(parts);
	for (cl_uint i = 0; r && i < count; i++) {
		e = cl_table_find(&programs, list[i]);
		for (size_t k = 0; r && k < e->program->recipe->count; k++)
			if (!part_fill(&r->parts[n++], &e->program->recipe->parts[k], true)) {
				recipe_free(r);
				r = NULL;
			}
	}
	return r;
}

/* What is kept of a program. It is given back without the lock: a context may end with it, and then
 * a function of the program's is called. */
struct kept {
	struct recipe *recipe;
	struct twin *twins;
};

static struct kept take(struct program *p)
{
	struct kept k = {p->recipe, p->twins};

	p->twins = NULL;
	p->recipe = NULL;
	return k;
}

static void give_back(struct kept k)
{
	struct twin *t, *next;

	for (t = k.twins; t; t = next) {
		next = t->next;
		if (t->program)
			cl_below.clReleaseProgram(t->program);
		free(t);
	}
	recipe_free(k.recipe);
}

/* With the lock held; NULL: no memory. */
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

/* -- What code it is: the same source and options are the same code, however often it is built --
 */

static uint64_t code_of_bytes(uint64_t after, const void *bytes, size_t size)
{
	return cl_counts() ? pasta_accesses_code(after, bytes, size) : 0;
}

static uint64_t code_of_source(cl_program program)
{
	size_t size;
	char *text = cl_counts() ? source_of(program, &size) : NULL;
	uint64_t code = text ? pasta_accesses_code(0, text, size) : 0;

	free(text);
	return code;
}

static uint64_t code_with(uint64_t code, const char *text)
{
	return pasta_accesses_code(code, text ? text : "", text ? strlen(text) : 0);
}

/* With the lock held; so are those below. */
static uint64_t made_from(cl_program program)
{
	const struct program_entry *e = cl_table_find(&programs, program);

	return e && e->program ? e->program->made : 0;
}

/* Files that the source includes from folders are not read: they are taken to stay the same. */
static uint64_t code_of_part(const struct pasta_trace_part *part)
{
	uint64_t code = code_with(made_from(part->program), part->options);

	for (cl_uint i = 0; i < part->header_count; i++) {
		uint64_t header = made_from(part->headers[i]);

		code = code_with(code, part->header_names[i]);
		code = pasta_accesses_code(code, &header, sizeof(header));
	}
	return code;
}

static uint64_t code_of_inputs(cl_uint count, const cl_program *list, const char *options)
{
	uint64_t code = code_with(0, options);

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

/* The program is built so, or anew so; recipe is taken. With the lock held; what it returns is to
 * be given back without it. */
static struct kept built(cl_program program, struct recipe *recipe, uint64_t code, const char *why)
{
	struct program *p = program_of(program);
	struct kept old;

	if (!p)
		return (struct kept){recipe, NULL};
	old = take(p);
	p->recipe = recipe;
	p->code = code;
	p->why = recipe ? NULL : why;
	return old;
}

static void built_from_source(cl_program program, const struct pasta_trace_part *part)
{
	struct recipe *recipe;
	struct kept old;

	if (!cl_counts() || !program)
		return;
	recipe = recipe_of_part(part);
	pasta_lock(&lock);
	old = built(program, recipe, code_of_part(part), "its program did not come as source");
	pasta_unlock(&lock);
	give_back(old);
}

static void built_from_inputs(cl_program program, cl_uint count, const cl_program *list,
			      const char *options)
{
	struct kept old;

	if (!cl_counts() || !program)
		return;
	pasta_lock(&lock);
	old = built(program, recipe_of_inputs(count, list), code_of_inputs(count, list, options),
		    "a part of its program did not come as source");
	pasta_unlock(&lock);
	give_back(old);
}

static void refer(cl_program program, bool more)
{
	struct kept none = {0};
	struct program_entry *e;

	if (!cl_counts())
		return;
	pasta_lock(&lock);
	e = cl_table_find(&programs, program);
	if (e && e->program && e->program->refs) {
		e->program->refs += more ? 1 : -1;
		if (!e->program->refs)
			none = take(e->program);
	}
	pasta_unlock(&lock);
	give_back(none);
}

void cl_program_hold(cl_program program)
{
	refer(program, true);
}

void cl_program_let_go(cl_program program)
{
	refer(program, false);
}

/* -- Twins -- */

/* Where the source has no name, its content gives one. */
static uint32_t source_name(const struct recipe *r)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	char name[32];

	for (size_t i = 0; i < r->count; i++) {
		size_t size;
		char *text = source_of(r->parts[i].program, &size);

		for (size_t k = 0; text && k < size; k++)
			h = (h ^ (unsigned char)text[k]) * UINT64_C(0x100000001b3);
		free(text);
	}
	snprintf(name, sizeof(name), "source-%08x.cl", (unsigned int)(h ^ h >> 32));
	return pasta_intern_str(name);
}

static void tell_sites(const struct pasta_trace_module *m, uint32_t first, uint32_t source)
{
	struct pasta_event ev;

	for (size_t i = 0; i < m->site_count && pasta_agent_records(PASTA_KIND_SITE); i++) {
		const struct pasta_trace_site *s = &m->sites[i];

		pasta_event_init(&ev, PASTA_KIND_SITE, 0, PASTA_EVENT_SIZE(site));
		ev.site.id = first + i;
		ev.site.function = pasta_intern_str(s->function);
		ev.site.callee = s->callee ? pasta_intern_str(s->callee) : 0;
		ev.site.file = *s->file ? pasta_intern_str(s->file) : source;
		ev.site.line = s->line;
		ev.site.column = s->column;
		ev.site.bytes = s->bytes;
		ev.site.flags = cl_count_flags(s);
		ev.time = pasta_now();
		pasta_emit(&ev);
	}
}

static void twin_build(struct program *p, struct twin *t)
{
	struct pasta_trace_subscribe want = {.first_site = cl_count_block()};
	struct pasta_trace_module module = {0};
	struct pasta_error err = {0};
	cl_program program = NULL;

	if (!want.first_site) {
		t->why = "there are no numbers left for places that access memory";
		return;
	}
	if (trace.build(&cl_below, p->recipe->parts, p->recipe->count, t->device, &want, &module,
			&program, &err)) {
		t->why = cl_table_text(err.text);
		return;
	}
	if (module.inexact && !pasta_accesses_config.inexact)
		t->why = "its options let the compiler round as it likes, and counted it may round "
			 "otherwise: run --inexact counts it";
	else if (!cl_count_sites(&module, want.first_site))
		t->why = "it has too many places that access memory";
	if (t->why) {
		cl_below.clReleaseProgram(program);
	} else {
		tell_sites(&module, want.first_site, source_name(p->recipe));
		t->program = program;
	}
	trace.module_free(&module);
}

static struct twin *twin_make(struct program *p, cl_device_id device)
{
	struct twin *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->device = device;
	t->next = p->twins;
	p->twins = t;
	if (trace_load())
		twin_build(p, t);
	else
		t->why = trace.why;
	return t;
}

cl_program cl_clone(cl_program program, cl_device_id device, const char **why)
{
	struct program_entry *e;
	struct twin *t = NULL;
	cl_program twin = NULL;

	*why = "how its program was built is not known";
	pasta_lock(&lock);
	e = cl_table_find(&programs, program);
	if (e && e->program && e->program->recipe) {
		for (t = e->program->twins; t && t->device != device; t = t->next)
			;
		if (!t)
			t = twin_make(e->program, device);
		*why = t ? t->why : "out of memory";
		twin = t ? t->program : NULL;
	} else if (e && e->program && e->program->why) {
		*why = e->program->why;
	}
	if (twin)
		cl_below.clRetainProgram(twin);
	pasta_unlock(&lock);
	return twin;
}

/* -- The program's own -- */

static void program_new(cl_program program, uint64_t made)
{
	struct program *p;
	struct kept old;

	pasta_lock(&lock);
	old = built(program, NULL, made, "its program was not built from source");
	p = program_of(program);
	if (p) {
		p->refs = 1;
		p->made = made;
	}
	pasta_unlock(&lock);
	give_back(old);
}

static void program_made(cl_program program, const char *how, size_t bytes, uint64_t made)
{
	struct pasta_event ev;

	if (!program)
		return;
	if (cl_counts())
		program_new(program, made);
	if (!pasta_agent_records(PASTA_KIND_MODULE))
		return;
	pasta_event_init(&ev, PASTA_KIND_MODULE, PASTA_MODULE_LOAD, PASTA_EVENT_SIZE(module));
	ev.module.id = (uintptr_t)program;
	ev.module.bytes = bytes;
	ev.module.name = pasta_intern_str(how);
	ev.time = pasta_now();
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
	program_made(p, "source", bytes, p ? code_of_source(p) : 0);
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
		made = code_of_bytes(made, binaries[i], lengths[i]);
	}
	program_made(p, "binary", bytes, made);
	return p;
}

static CL_API_ENTRY cl_program CL_API_CALL wrap_clCreateProgramWithIL(cl_context context,
								      const void *il, size_t length,
								      cl_int *status)
{
	cl_program p = cl_below.clCreateProgramWithIL(context, il, length, status);

	program_made(p, "il", length, p ? code_of_bytes(0, il, length) : 0);
	return p;
}

static CL_API_ENTRY cl_program CL_API_CALL
wrap_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *list,
				       const char *names, cl_int *status)
{
	cl_program p =
		cl_below.clCreateProgramWithBuiltInKernels(context, count, list, names, status);

	program_made(p, "built-in kernels", 0, p ? code_of_bytes(0, names, strlen(names)) : 0);
	return p;
}

/* Programs spend their time here, too. */
static CL_API_ENTRY cl_int CL_API_CALL
wrap_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *list,
		    const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	uint64_t begin = pasta_now();
	cl_int r = cl_below.clBuildProgram(program, count, list, options, notify, data);

	if (r == CL_SUCCESS)
		built_from_source(program, &(struct pasta_trace_part){.program = program,
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

	if (r == CL_SUCCESS)
		built_from_source(program, &(struct pasta_trace_part){.program = program,
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

	program_made(p, "linked", 0, 0);
	built_from_inputs(p, inputs, input_list, options);
	cl_api("clLinkProgram", begin, error);
	if (status)
		*status = error;
	return p;
}

static CL_API_ENTRY cl_int CL_API_CALL wrap_clRetainProgram(cl_program program)
{
	cl_int r = cl_below.clRetainProgram(program);

	if (r == CL_SUCCESS)
		cl_program_hold(program);
	return r;
}

/* Before it is released: another thread may get the same handle at once. */
static CL_API_ENTRY cl_int CL_API_CALL wrap_clReleaseProgram(cl_program program)
{
	cl_program_let_go(program);
	return cl_below.clReleaseProgram(program);
}

/* Another thread may have held it. */
static void forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void cl_wrap_programs(cl_icd_dispatch *table)
{
	if (cl_counts())
		pthread_atfork(NULL, NULL, forked);
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
