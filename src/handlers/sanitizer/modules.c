/* modules.c - code on devices: patched when it is loaded, and not where nothing is counted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/sanitizer.h"
#include "core/lock.h"

/* A module that is patched is slow even where nothing is counted, and to unpatch it everything has
 * to stand still: it is done after so many launches of it that were not counted, or four times as
 * many of all modules, and the next time after twice as many. */
enum { PATIENCE = 64, PATIENCE_MOST = 4096, ALL = 4 };

#define SITES                                                                                      \
	(PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(SITE_OBJECT) |                              \
	 PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE))
/* What no instruction that accesses memory is patched for. */
#define NO_ACCESSES                                                                                \
	(PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(TENSOR) | PASTA_REDUCER_MASK(BARRIER))

/* As a text. */
#define TEXT_OF(x) TEXT(x)
#define TEXT(x) #x
#define LAYOUT TEXT_OF(PASTA_GPU_LAYOUT)

enum { TURNS = 64 }; /* modules that are patched or unpatched in one call */

static struct pasta_map *modules;   /* pointers, by their handles */
static struct pasta_map *functions; /* modules' handles, by what the program calls functions by */
static struct san_module *all;	    /* those that are loaded */
static uint32_t module_count;
/* The library wants these calls one at a time: a thread is at it. */
static bool patching;
static _Atomic uint32_t calm; /* launches in a row that were not counted, of all modules */

/* -- What there is -- */

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

/* Under the lock. */
static struct san_module *find(struct san_context *context, void *handle)
{
	struct san_module **at;

	if (!modules)
		modules = pasta_map_new(sizeof(struct san_module *));
	at = modules ? pasta_map_add(modules, (uintptr_t)handle) : NULL;
	if (at && !*at) {
		*at = module_new(context, handle);
		if (*at) {
			(*at)->next = all;
			all = *at;
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
	m = find(context, handle);
	if (m)
		m->refs++;
	f = m && m->functions && function ? pasta_map_find(m->functions, (uintptr_t)function)
					  : NULL;
	if (f)
		*known = *f;
	pasta_unlock(&san.lock);
	return m;
}

/* Under the lock. NULL: no memory. */
static struct san_function *function_of(struct san_module *m, const void *function)
{
	if (!m->functions)
		m->functions = pasta_map_new(sizeof(struct san_function));
	return m->functions ? pasta_map_add(m->functions, (uintptr_t)function) : NULL;
}

void san_module_named(struct san_module *m, const void *function, uint32_t name, uint64_t kernel)
{
	struct san_function *f;

	pasta_lock(&san.lock);
	f = function_of(m, function);
	if (f) {
		f->name = name;
		f->kernel = kernel;
	}
	pasta_unlock(&san.lock);
}

bool san_module_emits(struct san_module *m, const void *function)
{
	struct san_function *f;
	bool tells;

	pasta_lock(&san.lock);
	f = function_of(m, function);
	tells = f && !f->told;
	if (f)
		f->told = true;
	pasta_unlock(&san.lock);
	return tells;
}

/* Under the lock. */
static void drop(struct san_module *m)
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
	drop(m);
	pasta_unlock(&san.lock);
}

static void emit_module(const struct san_module_data *data, const struct san_module *m, bool loaded)
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

/* -- Patches -- */

static const char *variant(void)
{
	const char *patches = pasta_accesses_config.patches;

	if (patches && (!strcmp(patches, "floor") || !strcmp(patches, "naive")))
		return patches;
	if (pasta_accesses_config.blocks != 1)
		return "all";
	if (san_ring_enabled())
		return san.reducers ? "all" : "raw";
	if (san.reducers == PASTA_REDUCER_MASK(OBJECT))
		return "object";
	return san.reducers == (PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE)) ? "page"
										       : "all";
}

bool san_modules_spread(void)
{
	return *variant() != 'n';
}

bool san_modules_spaces(void)
{
	return pasta_accesses_config.reducers & SITES || pasta_accesses_config.raw;
}

static uint32_t classes(const char *which)
{
	uint32_t reducers = pasta_accesses_config.reducers, classes = 0;

	if (*which == 'f' || *which == 'n')
		return PASTA_GPU_GLOBAL;
	if (reducers & ~NO_ACCESSES || pasta_accesses_config.raw)
		classes |= PASTA_GPU_GLOBAL;
	if (san_modules_spaces())
		classes |= PASTA_GPU_SHARED | PASTA_GPU_LOCAL;
	if (reducers & PASTA_REDUCER_MASK(BLOCK))
		classes |= PASTA_GPU_BLOCK;
	if (reducers & PASTA_REDUCER_MASK(BARRIER))
		classes |= PASTA_GPU_BARRIER;
	return classes;
}

static const struct {
	const char *name;
	int id;
	uint32_t needs;
} calls[] = {
#define F(id, name, needs) {#name, id, needs},
	PASTA_GPU_PATCHES(F)
#undef F
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static int mark(void *module, const char *which, size_t i)
{
	char name[64];

	snprintf(name, sizeof(name), "pasta_%s_%s", which, calls[i].name);
	return SAN_CALL(PatchInstructions, calls[i].id, module, name);
}

#define UNPATCHED "a class of its instructions cannot be patched: "

/* How many of a variant there are: a tool's reducer has those that its author wants. */
static const char *mark_there(void *module, const char *which, uint32_t *found)
{
	for (size_t i = 0; i < CALLS; i++) {
		bool is_access = !(calls[i].needs & (PASTA_GPU_BLOCK | PASTA_GPU_BARRIER));
		int r = is_access ? mark(module, which, i) : SAN_INVALID_PARAMETER;

		if (r != SAN_OK && r != SAN_INVALID_PARAMETER)
			return UNPATCHED "the tool's reducer is not for this device";
		*found += r == SAN_OK;
	}
	return NULL;
}

static const char *mark_own(void *module)
{
	uint32_t keys = 0, sites = 0;
	const char *why = mark_there(module, "own_KEYS_" LAYOUT, &keys);

	if (!why && !keys)
		why = mark_there(module, "own_SITES_" LAYOUT, &sites);
	if (!why && !keys && !sites)
		why = "the tool's reducer has no function for this accelprof: build it again with "
		      "its <pasta/reducer.cuh>";
	if (!why)
		atomic_store(&san.own_sites, sites != 0);
	return why;
}

static const char *mark_ours(void *module)
{
	const char *which = variant();
	uint32_t wanted = classes(which);

	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].needs & wanted && mark(module, which, i) != SAN_OK)
			return UNPATCHED "the patches beside the agent are not for this device, or "
					 "of another build";
	return NULL;
}

static bool is_own(void)
{
	return san.reducers & PASTA_REDUCER_MASK(OWN);
}

static const char *patch_all(void *module)
{
	const char *why = is_own() ? mark_own(module) : mark_ours(module);

	if (why || SAN_CALL(PatchModule, module) == SAN_OK)
		return why;
	return "the Compute Sanitizer cannot patch its module";
}

static const char *add_patches(struct san_context *c)
{
	char why[300];
	int r;

	if (c->added || c->trouble)
		return c->trouble;
	r = SAN_CALL(AddPatchesFromFile, san_patches_path(), c->handle);
	if (r == SAN_OK) {
		c->added = true;
		return NULL;
	}
	snprintf(why, sizeof(why),
		 "no accesses are counted on device %u: its patches cannot be loaded (%s): build "
		 "%s for its architecture",
		 c->device, san_text(r), is_own() ? "the tool's reducer" : "accelprof");
	pasta_agent_log("sanitizer", why);
	return c->trouble = "the patches cannot be loaded onto its device";
}

/* Another thread may be held up in it. */
static bool begin_patching(void)
{
	struct timespec until = san_deadline(SAN_WAIT);
	int waited = 0;
	bool mine;

	pasta_lock(&san.lock);
	while (patching && !waited)
		waited = pthread_cond_timedwait(&san.changed, &san.lock, &until);
	mine = !patching;
	patching = true;
	pasta_unlock(&san.lock);
	return mine;
}

void san_modules_settle(void)
{
	struct timespec until = san_deadline(SAN_WAIT);

	pasta_lock(&san.lock);
	while (patching && !pthread_cond_timedwait(&san.changed, &san.lock, &until))
		;
	pasta_unlock(&san.lock);
}

static void end_patching(void)
{
	pasta_lock(&san.lock);
	patching = false;
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

/* Those that san.unpatched counts. */
static void note(struct san_module *m)
{
	bool is;

	pasta_lock(&san.lock);
	is = m->handle && !m->patched && !m->refused;
	if (is != m->lies_bare)
		atomic_fetch_add(&san.unpatched, is ? 1 : UINT32_MAX);
	m->lies_bare = is;
	pasta_unlock(&san.lock);
}

/* While it is ours to patch; so is unpatch. */
static void patch(struct san_module *m)
{
	const char *why;

	if (m->refused || m->patched || !m->handle || m->context->broken)
		return;
	why = add_patches(m->context);
	if (!why)
		why = patch_all(m->handle);
	m->refused = why;
	m->idle = 0;
	m->patched = !why;
}

/* Whether no launch of its context is counted just now; then none of its own is from here on. */
static bool stop_counting(struct san_module *m)
{
	const struct san_context *c = m->context;
	bool quiet = m->patched && m->handle && !c->broken;

	pasta_lock(&san.lock);
	for (uint32_t i = 0; i < c->count && quiet; i++)
		quiet = !c->slots[i]->busy || c->slots[i]->done;
	if (quiet)
		m->patched = false;
	pasta_unlock(&san.lock);
	return quiet;
}

static void be_patient(struct san_module *m)
{
	m->patience = m->patience < PATIENCE_MOST ? 2 * m->patience : PATIENCE_MOST;
}

static void unpatch(struct san_module *m)
{
	m->idle = 0;
	if (!stop_counting(m))
		return;
	if (SAN_CALL(UnpatchModule, m->handle) != SAN_OK)
		m->patched = m->stays = true;
	be_patient(m);
}

/* Something of the program's runs. One that is to be patched is asked for again by its next
 * launch. */
static void put_off(struct san_module *m, bool patches)
{
	if (patches)
		return;
	m->idle = calm = 0;
	be_patient(m);
}

/* -- Calls and launches -- */

/* Under the lock. */
static void ask(struct san_module *m, bool wanted, bool unwanted)
{
	bool was = m->wanted || m->unwanted, is = wanted || unwanted;

	m->wanted = wanted;
	m->unwanted = unwanted;
	if (is && !was)
		atomic_fetch_add(&san.asked, 1);
	else if (was && !is)
		atomic_fetch_sub(&san.asked, 1);
}

static void ask_for(struct san_module *m, bool wanted)
{
	pasta_lock(&san.lock);
	if (m->handle)
		ask(m, wanted, !wanted);
	pasta_unlock(&san.lock);
}

/* Whether a function that is not known may be in it. */
static bool may_have(const struct san_module *m, const char *name)
{
	return !name || !m->cubin || pasta_cubin_find(m->cubin, name);
}

static bool is_idle(const struct san_module *m)
{
	return m->idle && !m->stays && (m->idle >= m->patience || calm >= ALL * m->patience);
}

/* Under the lock: those that are to be patched, or not any longer. A function that is not known is
 * one to be counted. Where one goes, all go that may. */
static uint32_t to_turn(bool unknown, const char *name, struct san_module **turns, bool *patches)
{
	uint32_t count = 0;

	for (struct san_module *m = all; m && count < TURNS; m = m->next) {
		bool is_patched = m->patched;

		if (m->loading)
			continue;
		if (m->context->broken) { /* it was not waited for */
			ask(m, false, false);
			continue;
		}
		if (is_patched ? !m->unwanted && !is_idle(m)
			       : m->refused || !(m->wanted || (unknown && may_have(m, name))))
			continue;
		ask(m, false, false);
		m->refs++;
		patches[count] = !is_patched;
		turns[count++] = m;
	}
	return count;
}

void san_modules_turn(const void *function, const char *name)
{
	uint32_t asked = atomic_load_explicit(&san.asked, memory_order_relaxed), count;
	uint32_t unpatched = atomic_load_explicit(&san.unpatched, memory_order_relaxed);
	struct san_module *turns[TURNS];
	bool patches[TURNS], unknown, quiet, mine, cramped = false;

	if (atomic_load_explicit(&san.cramped, memory_order_relaxed))
		cramped = atomic_exchange(&san.cramped, false); /* one thread sees to it */
	if (!asked && !unpatched && !cramped)
		return;
	pasta_lock(&san.lock);
	unknown = function && !(functions && pasta_map_find(functions, (uintptr_t)function));
	san_entered.known = function && !unknown;
	count = asked || unknown ? to_turn(unknown, name, turns, patches) : 0;
	pasta_unlock(&san.lock);
	quiet = (count || cramped) && san_quiet_begin();
	mine = quiet && begin_patching();
	if (cramped && mine)
		san_contexts_tidy();
	else if (cramped)
		atomic_store(&san.cramped, true);
	for (uint32_t i = 0; i < count; i++) {
		if (!mine || san_quiet_breached())
			put_off(turns[i], patches[i]);
		else if (patches[i])
			patch(turns[i]);
		else
			unpatch(turns[i]);
		note(turns[i]);
		san_module_put(turns[i]);
	}
	if (mine)
		end_patching();
	if (quiet)
		san_quiet_end();
}

void san_module_learn(const struct san_module *m, const void *function)
{
	void **at;

	if (!function)
		return;
	pasta_lock(&san.lock);
	if (!functions)
		functions = pasta_map_new(sizeof(void *));
	at = functions ? pasta_map_add(functions, (uintptr_t)function) : NULL;
	if (at)
		*at = m->handle;
	pasta_unlock(&san.lock);
}

const char *san_module_count(struct san_module *m)
{
	const char *why = m->refused;

	m->idle = 0;
	calm = 0;
	if (why || m->patched)
		return why;
	ask_for(m, true);
	return "its module was not patched when it was launched: a later launch is counted";
}

bool san_module_pass(struct san_module *m)
{
	if (!m->patched)
		return false;
	m->idle++;
	calm++;
	if (is_idle(m))
		ask_for(m, false);
	return true;
}

/* -- Coming and going -- */

/* What is launched by a kernel is told to nobody, and would be given nothing to count in. */
static bool launches_itself(const struct san_module_data *data)
{
	static const char *const names[] = {"cudaLaunchDevice", "cudaCDP2Launch",
					    "cudaGraphLaunch"};

	for (size_t i = 0; data->cubin && i < sizeof(names) / sizeof(*names); i++)
		if (memmem(data->cubin, data->size, names[i], strlen(names[i])))
			return true;
	return false;
}

/* From when on other threads may find it: they leave it alone. */
static struct san_module *begin_loading(struct san_context *c, const struct san_module_data *data)
{
	bool refused = launches_itself(data), known = data->cubin && data->size;
	uint64_t identity = known ? pasta_accesses_code(0, data->cubin, data->size) : 0;
	struct san_module *m;

	pasta_lock(&san.lock);
	m = find(c, data->module);
	if (m) {
		m->refs++;
		m->loading = true;
	}
	if (m && known)
		m->identity = identity;
	if (m && refused)
		m->refused = "its kernels launch others themselves, and those cannot be counted";
	pasta_unlock(&san.lock);
	return m;
}

static void end_loading(struct san_module *m)
{
	pasta_lock(&san.lock);
	m->loading = false;
	pasta_unlock(&san.lock);
	note(m);
	san_module_put(m);
}

void san_module_loaded(const struct san_module_data *data)
{
	struct san_context *c = san_context(data->context, -1);
	struct san_module *m = c ? begin_loading(c, data) : NULL;
	struct pasta_error err = {0};

	if (!m)
		return;
	emit_module(data, m, true);
	if (data->cubin && data->size && !m->cubin)
		m->cubin = pasta_cubin_new(data->cubin, data->size, &err);
	if (begin_patching()) {
		patch(m);
		end_patching();
	}
	end_loading(m);
}

/* Under the lock. */
static void forget(struct san_module *m)
{
	struct san_module **at = &all;

	ask(m, false, false);
	pasta_map_remove(modules, (uintptr_t)m->handle);
	m->handle = NULL;
	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
	for (struct san_module *o = all; o; o = o->next)
		if (o->foreign && o->context == m->context)
			san_code_forget(o, m);
}

/* Its handle may soon be another's. */
static struct san_module *take_away(const void *handle)
{
	struct san_module **at, *m = NULL;

	pasta_lock(&san.lock);
	at = modules ? pasta_map_find(modules, (uintptr_t)handle) : NULL;
	if (at) {
		m = *at;
		forget(m);
	}
	pasta_unlock(&san.lock);
	if (m)
		note(m);
	return m;
}

/* Graphs whose kernels are of several modules are told by what these have of each other. */
static void wait_for_graphs(const struct san_context *context)
{
	bool waits = false;

	pasta_lock(&san.lock);
	for (const struct san_module *m = all; m && !waits; m = m->next)
		waits = m->foreign && m->context == context;
	pasta_unlock(&san.lock);
	if (waits)
		san_completion_wait_emitted(context);
}

/* Nobody may be patching it when it goes. */
void san_module_unloaded(const struct san_module_data *data)
{
	const struct san_context *c = san_context_find(data->context);
	struct san_module *m;
	bool mine;

	if (c)
		wait_for_graphs(c);
	mine = begin_patching();
	m = take_away(data->module);
	if (mine)
		end_patching();
	if (!m)
		return;
	emit_module(data, m, false);
	san_module_put(m);
}

void san_modules_end(const struct san_context *context)
{
	bool mine = begin_patching();
	struct san_module *m;
	void *handle;

	do {
		pasta_lock(&san.lock);
		for (m = all; m && m->context != context; m = m->next)
			;
		handle = m ? m->handle : NULL;
		pasta_unlock(&san.lock);
		m = handle ? take_away(handle) : NULL;
		if (m)
			san_module_put(m);
	} while (m);
	if (mine)
		end_patching();
}
