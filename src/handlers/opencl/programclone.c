/* programclone.c - builds an instrumented clone of a program from its recipe. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/instrumented.h"
#include "handlers/opencl/recipe.h"
#include "handlers/opencl/table.h"

/* libpasta-opencl-trace.so, which is loaded when the first clone is built. */
static struct {
	bool tried;
	const char *why; /* why the library could not be loaded; NULL if it is loaded */
	__typeof__(pasta_trace_build) *build;
	__typeof__(pasta_trace_module_free) *module_free;
} trace;

static bool clone_load_library(void)
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
			*hooks = cl_instrumented_hooks;
			return true;
		}
	}
	snprintf(path, sizeof(path), "cannot load libpasta-opencl-trace.so: %s", dlerror());
	trace.why = cl_table_text(path);
	pasta_agent_log("opencl", path);
	return false;
}

/* OpenCL source has no file name, so a name is derived from the source text. */
static uint32_t clone_source_name(const struct cl_recipe *r)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	char name[32];

	for (size_t i = 0; i < r->count; i++) {
		size_t size;
		char *text = cl_program_source(r->parts[i].program, &size);

		for (size_t k = 0; text && k < size; k++)
			h = (h ^ (unsigned char)text[k]) * UINT64_C(0x100000001b3);
		free(text);
	}
	snprintf(name, sizeof(name), "source-%08x.cl", (unsigned int)(h ^ h >> 32));
	return pasta_intern_str(name);
}

static void clone_emit_sites(const struct pasta_trace_module *m, uint32_t first, uint32_t source)
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
		ev.site.flags = cl_site_flags(s);
		ev.time = pasta_now();
		pasta_emit(&ev);
	}
}

cl_program cl_clone_build(const struct cl_recipe *recipe, cl_device_id device, const char **why)
{
	struct pasta_trace_subscribe subscribe = {0};
	struct pasta_trace_module module = {0};
	struct pasta_error err = {0};
	cl_program program = NULL;

	*why = NULL;
	if (!clone_load_library()) {
		*why = trace.why;
		return NULL;
	}
	subscribe.first_site = cl_sites_reserve();
	if (!subscribe.first_site) {
		*why = "the program already has too many sites: no id is left for new sites";
		return NULL;
	}
	if (trace.build(&cl_below, recipe->parts, recipe->count, device, &subscribe, &module,
			&program, &err)) {
		*why = cl_table_text(err.text);
		return NULL;
	}
	if (module.inexact && !pasta_accesses_config.inexact)
		*why = "the kernel's compiler options allow inexact arithmetic, so counting may "
		       "change low-order digits of its results: use run --inexact to count this "
		       "kernel";
	else if (!cl_sites_add(&module, subscribe.first_site))
		*why = "the kernel's program has too many instructions that access memory";
	if (*why) {
		cl_below.clReleaseProgram(program);
		program = NULL;
	} else {
		clone_emit_sites(&module, subscribe.first_site, clone_source_name(recipe));
	}
	trace.module_free(&module);
	return program;
}
