/* modules.c - tracks the program's modules of device code, and patches them while their launches
 * are counted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/calls.h"
#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/idle.h"
#include "handlers/sanitizer/modules.h"
#include "handlers/sanitizer/patching.h"
#include "handlers/sanitizer/sites.h"
#include "handlers/sanitizer/slots.h"
#include "core/lock.h"

/* Patches slow a module down even if no launch is counted. But a module can be unpatched only while
 * no kernel runs. A module is therefore unpatched after PATIENCE successive launches that were not
 * counted, or after ALL_FACTOR times as many uncounted launches of all modules. Each attempt to
 * unpatch doubles these two numbers. */
enum { PATIENCE = 64, PATIENCE_MOST = 4096, ALL_FACTOR = 4 };

enum { UPDATES = 64 }; /* maximum number of modules that one call patches or unpatches */

static struct pasta_map *module_map; /* maps module handles to struct san_module pointers */
/* Maps the program's function handles to module handles. */
static struct pasta_map *module_by_function;
static struct san_module *module_list; /* the loaded modules */
static uint32_t module_count;
static _Atomic uint32_t all_idle; /* number of successive uncounted launches, of all modules */

/* -- Registry -- */

static struct san_module *module_new(struct san_context *context, void *handle)
{
	struct san_module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->context = context;
	m->handle = handle;
	m->refs = 1;
	m->number = ++module_count;
	m->identity = pasta_accesses_code(0, &m->number, sizeof(m->number));
	m->patience = PATIENCE;
	return m;
}

/* Returns the module with this handle, and adds the module if it is new. Returns NULL if out of
 * memory. The caller holds san.lock. */
static struct san_module *module_find(struct san_context *context, void *handle)
{
	struct san_module **at;

	if (!module_map)
		module_map = pasta_map_new(sizeof(struct san_module *));
	at = module_map ? pasta_map_add(module_map, (uintptr_t)handle) : NULL;
	if (at && !*at) {
		*at = module_new(context, handle);
		if (*at) {
			(*at)->next = module_list;
			module_list = *at;
		}
	}
	return at ? *at : NULL;
}

struct san_module *san_module_get(struct san_context *context, void *handle, const void *function,
				  struct san_function *known)
{
	const struct san_function *f;
	struct san_module *m;

	pasta_lock(&san.lock);
	m = module_find(context, handle);
	if (m)
		m->refs++;
	f = m && m->functions && function ? pasta_map_find(m->functions, (uintptr_t)function)
					  : NULL;
	if (f)
		*known = *f;
	pasta_unlock(&san.lock);
	return m;
}

/* Returns the entry of a launched function, and adds an entry if the function is new. Returns NULL
 * if out of memory. The caller holds san.lock. */
static struct san_function *module_function(struct san_module *m, const void *function)
{
	if (!m->functions)
		m->functions = pasta_map_new(sizeof(struct san_function));
	return m->functions ? pasta_map_add(m->functions, (uintptr_t)function) : NULL;
}

void san_module_named(struct san_module *m, const void *function, uint32_t name, uint64_t kernel)
{
	struct san_function *f;

	pasta_lock(&san.lock);
	f = module_function(m, function);
	if (f) {
		f->name = name;
		f->kernel = kernel;
	}
	pasta_unlock(&san.lock);
}

bool san_module_emits(struct san_module *m, const void *function)
{
	struct san_function *f;
	bool emits;

	pasta_lock(&san.lock);
	f = module_function(m, function);
	emits = f && !f->coverage_emitted;
	if (f)
		f->coverage_emitted = true;
	pasta_unlock(&san.lock);
	return emits;
}

/* The caller holds san.lock. */
static void module_unref(struct san_module *m)
{
	if (--m->refs)
		return;
	pasta_map_free(m->sites);
	for (uint32_t i = 0; i < m->code_count; i++)
		free(m->code[i].name);
	free(m->code);
	pasta_map_free(m->functions);
	pasta_cubin_free(m->cubin);
	free(m);
}

void san_module_put(struct san_module *m)
{
	pasta_lock(&san.lock);
	module_unref(m);
	pasta_unlock(&san.lock);
}

static void module_emit(const struct san_module_data *data, const struct san_module *m, bool loaded)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_MODULE))
		return;
	pasta_event_init(&ev, PASTA_KIND_MODULE, loaded ? PASTA_MODULE_LOAD : PASTA_MODULE_UNLOAD,
			 PASTA_EVENT_SIZE(module));
	ev.module.id = m->number;
	ev.module.bytes = data->size;
	ev.module.name = pasta_intern_str("cubin");
	ev.module.context = m->context->number;
	ev.module.device = m->context->device;
	if (loaded && data->cubin && data->size)
		ev.module.path = pasta_agent_save_code(data->cubin, data->size, "cubin");
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* -- Patched and unpatched -- */

/* Updates san.unpatched, the number of modules that can be patched and are not patched. */
static void module_note_unpatched(struct san_module *m)
{
	bool is;

	pasta_lock(&san.lock);
	is = m->handle && !m->patched && !m->refused;
	if (is != m->is_unpatched)
		atomic_fetch_add(&san.unpatched, is ? 1 : UINT32_MAX);
	m->is_unpatched = is;
	pasta_unlock(&san.lock);
}

/* Patches a module if possible. Callers of this function and of module_unpatch must be between
 * san_patching_begin and san_patching_end. */
static void module_patch(struct san_module *m)
{
	const char *why;

	if (m->refused || m->patched || !m->handle || m->context->broken)
		return;
	why = san_patching_apply(m);
	m->refused = why;
	m->idle = 0;
	m->patched = !why;
}

/* Ends the counting of the module's launches. Returns false, and does nothing, while a launch of
 * the module's context is being counted. */
static bool module_stop_counting(struct san_module *m)
{
	const struct san_context *c = m->context;
	bool idle = m->patched && m->handle && !c->broken;

	pasta_lock(&san.lock);
	for (uint32_t i = 0; i < c->count && idle; i++)
		idle = c->slots[i]->state == SAN_SLOT_FREE || san_slot_done(c->slots[i]);
	if (idle)
		m->patched = false;
	pasta_unlock(&san.lock);
	return idle;
}

static void module_double_patience(struct san_module *m)
{
	m->patience = m->patience < PATIENCE_MOST ? 2 * m->patience : PATIENCE_MOST;
}

static void module_unpatch(struct san_module *m)
{
	m->idle = 0;
	if (!module_stop_counting(m))
		return;
	if (SAN_CALL(UnpatchModule, m->handle) != SAN_OK)
		m->patched = m->stays = true;
	module_double_patience(m);
}

/* Postpones the patching or unpatching of a module because kernels are running. Unpatching is
 * postponed until more launches were not counted. Patching is postponed until the module's next
 * launch requests patching. */
static void module_postpone(struct san_module *m, bool patches)
{
	if (patches)
		return;
	m->idle = all_idle = 0;
	module_double_patience(m);
}

/* -- Calls and launches -- */

/* The caller holds san.lock. */
static void module_set_requests(struct san_module *m, bool patch, bool unpatch)
{
	bool was = m->patch_requested || m->unpatch_requested, is = patch || unpatch;

	m->patch_requested = patch;
	m->unpatch_requested = unpatch;
	if (is && !was)
		atomic_fetch_add(&san.requests, 1);
	else if (was && !is)
		atomic_fetch_sub(&san.requests, 1);
}

static void module_request(struct san_module *m, bool patch)
{
	pasta_lock(&san.lock);
	if (m->handle)
		module_set_requests(m, patch, !patch);
	pasta_unlock(&san.lock);
}

/* Returns whether the module may contain the function with this name. */
static bool module_may_have(const struct san_module *m, const char *name)
{
	return !name || !m->cubin || pasta_cubin_find(m->cubin, name);
}

static bool module_is_idle(const struct san_module *m)
{
	return m->idle && !m->stays &&
	       (m->idle >= m->patience || all_idle >= ALL_FACTOR * m->patience);
}

/* Stores in `updates` the modules to be patched or unpatched, and in `patches` whether each module
 * is to be patched. Returns the number of these modules. If the launched function is unknown,
 * includes all modules that may contain it. The caller holds san.lock. */
static uint32_t modules_to_update(bool unknown, const char *name, struct san_module **updates,
				  bool *patches)
{
	uint32_t count = 0;

	for (struct san_module *m = module_list; m && count < UPDATES; m = m->next) {
		bool is_patched = m->patched;

		if (m->loading)
			continue;
		/* the context has failed, so a wait for its kernels would fail */
		if (m->context->broken) {
			module_set_requests(m, false, false);
			continue;
		}
		if (is_patched ? !m->unpatch_requested && !module_is_idle(m)
			       : m->refused || !(m->patch_requested ||
						 (unknown && module_may_have(m, name))))
			continue;
		module_set_requests(m, false, false);
		m->refs++;
		patches[count] = !is_patched;
		updates[count++] = m;
	}
	return count;
}

void san_modules_update(const void *function, const char *name)
{
	uint32_t requests = atomic_load_explicit(&san.requests, memory_order_relaxed), count;
	uint32_t unpatched = atomic_load_explicit(&san.unpatched, memory_order_relaxed);
	struct san_module *updates[UPDATES];
	bool patches[UPDATES], unknown, idle, mine, trim = false;

	if (atomic_load_explicit(&san.trim_requested, memory_order_relaxed))
		trim = atomic_exchange(&san.trim_requested, false); /* only one thread frees */
	if (!requests && !unpatched && !trim)
		return;
	pasta_lock(&san.lock);
	unknown = function &&
		  !(module_by_function && pasta_map_find(module_by_function, (uintptr_t)function));
	san_entered.known = function && !unknown;
	count = requests || unknown ? modules_to_update(unknown, name, updates, patches) : 0;
	pasta_unlock(&san.lock);
	idle = (count || trim) && san_idle_begin();
	mine = idle && san_patching_begin();
	if (trim && mine)
		san_contexts_tidy();
	else if (trim)
		atomic_store(&san.trim_requested, true);
	for (uint32_t i = 0; i < count; i++) {
		if (!mine || san_idle_breached())
			module_postpone(updates[i], patches[i]);
		else if (patches[i])
			module_patch(updates[i]);
		else
			module_unpatch(updates[i]);
		module_note_unpatched(updates[i]);
		san_module_put(updates[i]);
	}
	if (mine)
		san_patching_end();
	if (idle)
		san_idle_end();
}

void san_module_learn(const struct san_module *m, const void *function)
{
	void **at;

	if (!function)
		return;
	pasta_lock(&san.lock);
	if (!module_by_function)
		module_by_function = pasta_map_new(sizeof(void *));
	at = module_by_function ? pasta_map_add(module_by_function, (uintptr_t)function) : NULL;
	if (at)
		*at = m->handle;
	pasta_unlock(&san.lock);
}

const char *san_module_count(struct san_module *m)
{
	const char *why = m->refused;

	m->idle = 0;
	all_idle = 0;
	if (why || m->patched)
		return why;
	module_request(m, true);
	return "the kernel's module was not yet patched at this launch; later launches are counted";
}

bool san_module_skip(struct san_module *m)
{
	if (!m->patched)
		return false;
	m->idle++;
	all_idle++;
	if (module_is_idle(m))
		module_request(m, false);
	return true;
}

/* -- Loading and unloading -- */

/* Returns whether kernels of the module launch other kernels. The library does not report such
 * launches, so they would run without a slot. */
static bool module_launches_kernels(const struct san_module_data *data)
{
	static const char *const names[] = {"cudaLaunchDevice", "cudaCDP2Launch",
					    "cudaGraphLaunch"};

	for (size_t i = 0; data->cubin && i < sizeof(names) / sizeof(*names); i++)
		if (memmem(data->cubin, data->size, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Adds a module that the program loads. Other threads can then find the module, but do not patch
 * the module while m->loading is set. */
static struct san_module *module_begin_loading(struct san_context *c,
					       const struct san_module_data *data)
{
	bool refused = module_launches_kernels(data), known = data->cubin && data->size;
	uint64_t identity = known ? pasta_accesses_code(0, data->cubin, data->size) : 0;
	struct san_module *m;

	pasta_lock(&san.lock);
	m = module_find(c, data->module);
	if (m) {
		m->refs++;
		m->loading = true;
	}
	if (m && known)
		m->identity = identity;
	if (m && refused)
		m->refused = "the kernel's module contains code that launches kernels from the "
			     "device";
	pasta_unlock(&san.lock);
	return m;
}

static void module_end_loading(struct san_module *m)
{
	pasta_lock(&san.lock);
	m->loading = false;
	pasta_unlock(&san.lock);
	module_note_unpatched(m);
	san_module_put(m);
}

void san_module_loaded(const struct san_module_data *data)
{
	struct san_context *c = san_context(data->context, -1);
	struct san_module *m = c ? module_begin_loading(c, data) : NULL;
	struct pasta_error err = {0};

	if (!m)
		return;
	module_emit(data, m, true);
	if (data->cubin && data->size && !m->cubin)
		m->cubin = pasta_cubin_new(data->cubin, data->size, &err);
	if (san_patching_begin()) {
		module_patch(m);
		san_patching_end();
	}
	module_end_loading(m);
}

/* Removes a module from the registry. The caller holds san.lock. */
static void module_unlist(struct san_module *m)
{
	struct san_module **at = &module_list;

	module_set_requests(m, false, false);
	pasta_map_remove(module_map, (uintptr_t)m->handle);
	m->handle = NULL;
	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
	for (struct san_module *o = module_list; o; o = o->next)
		if (o->foreign && o->context == m->context)
			san_code_remove(o, m);
}

/* Removes the module with this handle from the registry, because the handle may soon denote another
 * module. Returns the module, or NULL if the handle is unknown. */
static struct san_module *module_remove(const void *handle)
{
	struct san_module **at, *m = NULL;

	pasta_lock(&san.lock);
	at = module_map ? pasta_map_find(module_map, (uintptr_t)handle) : NULL;
	if (at) {
		m = *at;
		module_unlist(m);
	}
	pasta_unlock(&san.lock);
	if (m)
		module_note_unpatched(m);
	return m;
}

/* Called before a module is unloaded. Waits for graphs whose kernels belong to several modules,
 * because the sites of such a graph can be found only while all these modules are loaded. */
static void module_wait_for_graphs(const struct san_context *context)
{
	bool waits = false;

	pasta_lock(&san.lock);
	for (const struct san_module *m = module_list; m && !waits; m = m->next)
		waits = m->foreign && m->context == context;
	pasta_unlock(&san.lock);
	if (waits)
		san_completion_wait_emitted(context);
}

/* No thread may patch a module while the program unloads it. */
void san_module_unloaded(const struct san_module_data *data)
{
	const struct san_context *c = san_context_find(data->context);
	struct san_module *m;
	bool mine;

	if (c)
		module_wait_for_graphs(c);
	mine = san_patching_begin();
	m = module_remove(data->module);
	if (mine)
		san_patching_end();
	if (!m)
		return;
	module_emit(data, m, false);
	san_module_put(m);
}

void san_modules_end(const struct san_context *context)
{
	bool mine = san_patching_begin();
	struct san_module *m;
	void *handle;

	do {
		pasta_lock(&san.lock);
		for (m = module_list; m && m->context != context; m = m->next)
			;
		handle = m ? m->handle : NULL;
		pasta_unlock(&san.lock);
		m = handle ? module_remove(handle) : NULL;
		if (m)
			san_module_put(m);
	} while (m);
	if (mine)
		san_patching_end();
}
