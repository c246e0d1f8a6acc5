/* modules.h - tracks the program's modules of device code, and patches them while their launches
 * are counted. */
#ifndef PASTA_HANDLERS_SANITIZER_MODULES_H
#define PASTA_HANDLERS_SANITIZER_MODULES_H

#include "handlers/sanitizer/cubin.h"
#include "handlers/sanitizer/sanitizer.h"

struct san_context;

/* A function that the program has launched. */
struct san_function {
	uint64_t kernel;       /* hash of the function's name and its module's code */
	uint32_t name;	       /* 0 if `name` and `kernel` are not known yet */
	bool coverage_emitted; /* san_coverage has run */
};

/* The addresses of a function's code on its device. */
struct san_code {
	char *name;
	uint64_t pc, size;
};

/* A module of device code. The struct exists until the program has unloaded the module and no slot
 * refers to it. */
struct san_module {
	struct san_context *context;
	void *handle; /* NULL: unloaded */
	uint32_t number, refs;
	uint64_t identity; /* hash of the cubin; a unique number if the cubin is unknown */
	struct san_module *next;
	atomic_bool patched;
	atomic_bool stays; /* whether unpatching has failed, so that the module stays patched */
	/* requests to patch or unpatch the module in the next launch function */
	bool patch_requested, unpatch_requested;
	bool loading;		       /* a thread is in san_module_loaded */
	bool is_unpatched;	       /* counted in san.unpatched */
	_Atomic(const char *) refused; /* why patching is impossible; a static string */
	_Atomic uint32_t idle;	       /* successive uncounted launches */
	_Atomic uint32_t patience;     /* number of uncounted launches before unpatching */
	struct pasta_map *sites;       /* numbers of sites by instruction address */
	struct san_code *code;	       /* functions that ran; code_count entries */
	uint32_t code_count;
	/* whether `code` and `sites` include functions of other modules, because the kernels of a
	 * graph belong to several modules */
	bool foreign;
	struct pasta_map *functions; /* struct san_function by function handle */
	struct pasta_cubin *cubin;   /* NULL if the cubin cannot be read */
};

/* Called when the program loads or unloads a module. */
void san_module_loaded(const struct san_module_data *m);
void san_module_unloaded(const struct san_module_data *m);
/* Returns a reference to a module, and stores in *known the data about one of the module's
 * functions. The caller drops the reference with san_module_put. Returns NULL if out of memory. */
struct san_module *san_module_get(struct san_context *context, void *handle, const void *function,
				  struct san_function *known);
void san_module_put(struct san_module *m);
/* Called before a launch of one of the module's kernels is counted. Returns NULL, or a static
 * string that explains why the launch cannot be counted; the module may then be patched for a later
 * launch. */
const char *san_module_count(struct san_module *m);
/* Called for each uncounted launch of the module. Returns whether the module is patched. */
bool san_module_skip(struct san_module *m);
/* Stores the name of a function, so that each launch does not have to hash the long name again. */
void san_module_named(struct san_module *m, const void *function, uint32_t name, uint64_t kernel);
/* Returns true in the first call for each function. In that case the caller emits SITE events for
 * the operations of the function that cannot be counted. */
bool san_module_emits(struct san_module *m, const void *function);
/* Records which module the function with this handle belongs to. */
void san_module_learn(const struct san_module *m, const void *function);
/* Patches and unpatches modules before the driver executes a launch function, because the driver
 * holds no lock at that point. An argument is NULL if it is unknown. */
void san_modules_update(const void *function, const char *name);
/* Removes the modules of a context that the program destroys. */
void san_modules_end(const struct san_context *context);

#endif
