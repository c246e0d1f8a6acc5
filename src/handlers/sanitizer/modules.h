/* modules.h - modules: device code, patched while launches of it are counted. */
#ifndef PASTA_HANDLERS_SANITIZER_MODULES_H
#define PASTA_HANDLERS_SANITIZER_MODULES_H

#include "handlers/sanitizer/cubin.h"
#include "handlers/sanitizer/sanitizer.h"

struct san_context;

/* A function of a module that was launched. */
struct san_function {
	uint64_t kernel;       /* pasta_accesses_kernel of its name and its module's code */
	uint32_t name;	       /* 0: name and kernel are not known yet */
	bool coverage_emitted; /* san_coverage has run */
};

/* The address range of a function on its device. */
struct san_code {
	char *name;
	uint64_t pc, size;
};

/* Exists until the program has unloaded the module and no slot refers to it. */
struct san_module {
	struct san_context *context;
	void *handle; /* NULL: unloaded */
	uint32_t number, refs;
	uint64_t identity; /* pasta_accesses_code of its cubin; unique if the cubin is unknown */
	struct san_module *next;
	atomic_bool patched;
	atomic_bool stays;			 /* the library could not unpatch it */
	bool patch_requested, unpatch_requested; /* for the next call that launches */
	bool loading;				 /* a thread is in san_module_loaded */
	bool is_unpatched;			 /* counted in san.unpatched */
	_Atomic(const char *) refused;		 /* why it cannot be patched; static. Final */
	_Atomic uint32_t idle;			 /* successive launches that were not counted */
	_Atomic uint32_t patience;		 /* value of idle at which it is unpatched */
	struct pasta_map *sites;		 /* numbers, by the instruction's address */
	struct san_code *code;			 /* functions that ran, code_count of them */
	uint32_t code_count;
	bool foreign; /* code and sites include functions of other modules (graphs) */
	struct pasta_map *functions; /* launched functions, by their handles */
	struct pasta_cubin *cubin;   /* NULL: the cubin cannot be read */
};

/* The program loads or unloads a module. */
void san_module_loaded(const struct san_module_data *m);
void san_module_unloaded(const struct san_module_data *m);
/* Returns a reference to a module, and in *known what is known of a function of it. The caller
 * returns the reference with san_module_put. Returns NULL without memory. */
struct san_module *san_module_get(struct san_context *context, void *handle, const void *function,
				  struct san_function *known);
void san_module_put(struct san_module *m);
/* A launch of the module is to be counted. Returns NULL, or a static text that explains why this is
 * impossible; the module may be patched for a later launch. */
const char *san_module_count(struct san_module *m);
/* A launch of the module is not counted. Returns whether the module is patched nevertheless. */
bool san_module_skip(struct san_module *m);
/* Stores the name of a function: names are long, and each launch would hash them again. */
void san_module_named(struct san_module *m, const void *function, uint32_t name, uint64_t kernel);
/* Returns true once for each function: the caller then emits its coverage. */
bool san_module_emits(struct san_module *m, const void *function);
/* Records that the function that the program denotes by this handle belongs to the module. */
void san_module_learn(const struct san_module *m, const void *function);
/* Patches and unpatches modules before a call that launches; the driver holds no lock there. Either
 * argument may be NULL: unknown. */
void san_modules_update(const void *function, const char *name);
/* The program destroys a context: removes its modules. */
void san_modules_end(const struct san_context *context);

#endif
