/* modules.c - code on devices: patched when it is first to be counted, and left alone again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/sanitizer/sanitizer.h"

/* A module that is patched is slow even where nothing is counted, and to unpatch it takes
 * milliseconds: it is done after so many launches that were not counted, and the next time after
 * twice as many. */
enum { PATIENCE = 64, PATIENCE_MOST = 4096 };

#define SITES                                                                                      \
	(PASTA_REDUCE_BIT(SITE) | PASTA_REDUCE_BIT(SITE_OBJECT) | PASTA_REDUCE_BIT(COALESCE) |     \
	 PASTA_REDUCE_BIT(DIVERGE))

static struct pasta_map *modules; /* pointers, by their handles */
static uint32_t module_count;
/* The library wants these calls one at a time: a thread is at it. */
static bool patching;

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
	if (at && !*at)
		*at = module_new(context, handle);
	return at ? *at : NULL;
}

struct san_module *san_module_get(struct san_context *context, void *handle)
{
	struct san_module *m;

	pthread_mutex_lock(&san.lock);
	m = find(context, handle);
	if (m)
		m->refs++;
	pthread_mutex_unlock(&san.lock);
	return m;
}

/* Under the lock. */
static void drop(struct san_module *m)
{
	if (--m->refs)
		return;
	pasta_map_free(m->sites);
	free(m);
}

void san_module_put(struct san_module *m)
{
	pthread_mutex_lock(&san.lock);
	drop(m);
	pthread_mutex_unlock(&san.lock);
}

static void emit_module(const struct san_module_data *data, const struct san_module *m, bool loaded)
{
	struct pasta_event ev;

	if (!pasta_agent_wants(PASTA_MODULE))
		return;
	pasta_event_init(&ev, PASTA_MODULE, loaded ? PASTA_MODULE_LOAD : PASTA_MODULE_UNLOAD,
			 PASTA_EVENT_SIZE(module));
	ev.module.id = m->number;
	ev.module.bytes = data->size;
	ev.module.name = pasta_intern_str("cubin");
	ev.module.context = m->context->number;
	ev.module.device = m->context->device;
	if (loaded && data->cubin && data->size)
		ev.module.path = pasta_agent_keep(data->cubin, data->size, "cubin");
	ev.time = pasta_now();
	pasta_emit(&ev);
}

void san_module_loaded(const struct san_module_data *data)
{
	struct san_context *c = san_context(data->context, -1);
	struct san_module *m = c ? san_module_get(c, data->module) : NULL;

	if (!m)
		return;
	emit_module(data, m, true);
	san_module_put(m);
}

/* Its handle may soon be another's. */
void san_module_unloaded(const struct san_module_data *data)
{
	struct san_module **at, *m = NULL;

	pthread_mutex_lock(&san.lock);
	at = modules ? pasta_map_find(modules, (uintptr_t)data->module) : NULL;
	if (at) {
		m = *at;
		m->handle = NULL;
		pasta_map_remove(modules, (uintptr_t)data->module);
	}
	pthread_mutex_unlock(&san.lock);
	if (!m)
		return;
	emit_module(data, m, false);
	san_module_put(m);
}

/* -- Patches -- */

static const char *variant(void)
{
	const char *wanted = getenv("PASTA_PATCHES");

	if (wanted && (!strcmp(wanted, "floor") || !strcmp(wanted, "naive")))
		return wanted;
	return san.reducers == PASTA_REDUCE_BIT(OBJECT) && !pasta_accesses_raw() &&
			       pasta_accesses_blocks() == 1
		       ? "object"
		       : "all";
}

static uint32_t classes(const char *which)
{
	uint32_t classes = 0;

	if (*which == 'f' || *which == 'n')
		return PASTA_GPU_GLOBAL;
	if (san.reducers & ~PASTA_REDUCE_BIT(BLOCK) || pasta_accesses_raw())
		classes |= PASTA_GPU_GLOBAL;
	if (san.reducers & SITES || pasta_accesses_raw())
		classes |= PASTA_GPU_SHARED | PASTA_GPU_LOCAL;
	return classes | (san.reducers & PASTA_REDUCE_BIT(BLOCK) ? PASTA_GPU_BLOCK : 0);
}

static const char *patch_all(void *module)
{
	static const struct {
		int id;
		const char *name;
		uint32_t needs;
	} patches[] = {
#define F(id, name, needs) {id, #name, needs},
		PASTA_GPU_PATCHES(F)
#undef F
	};
	const char *which = variant();
	uint32_t wanted = classes(which);
	char name[64];

	for (size_t i = 0; i < sizeof(patches) / sizeof(*patches); i++) {
		if (!(patches[i].needs & wanted))
			continue;
		snprintf(name, sizeof(name), "pasta_%s_%s", which, patches[i].name);
		if (SAN_CALL(PatchInstructions, patches[i].id, module, name) != SAN_OK)
			return "a class of its instructions cannot be patched: the patches beside "
			       "the agent are not for this device, or of another build";
	}
	return SAN_CALL(PatchModule, module) == SAN_OK
		       ? NULL
		       : "the Compute Sanitizer cannot patch its module";
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
		 "accelprof for its architecture",
		 c->device, san_text(r));
	pasta_agent_say("sanitizer", why);
	return c->trouble = "the patches cannot be loaded onto its device";
}

/* Another thread may be held up in it. */
static bool begin_patching(void)
{
	struct timespec until = san_deadline(SAN_WAIT);
	int waited = 0;
	bool mine;

	pthread_mutex_lock(&san.lock);
	while (patching && !waited)
		waited = pthread_cond_timedwait(&san.changed, &san.lock, &until);
	mine = !patching;
	patching = true;
	pthread_mutex_unlock(&san.lock);
	return mine;
}

static void end_patching(void)
{
	pthread_mutex_lock(&san.lock);
	patching = false;
	pthread_cond_broadcast(&san.changed);
	pthread_mutex_unlock(&san.lock);
}

const char *san_module_patch(struct san_module *m)
{
	const char *why = m->refused;

	m->idle = 0;
	if (why || m->patched)
		return why;
	if (!begin_patching())
		return "another module has been patched for too long";
	why = m->refused;
	if (!why && !m->patched) {
		why = add_patches(m->context);
		if (!why)
			why = patch_all(m->handle);
		m->patched = !why;
		m->refused = why;
	}
	end_patching();
	return why;
}

/* Code that is still to run, or runs, is left as it is. */
static bool is_quiet(const struct san_context *c)
{
	bool quiet = true;

	pthread_mutex_lock(&san.lock);
	for (uint32_t i = 0; i < c->count && quiet; i++)
		quiet = !c->slots[i]->busy || c->slots[i]->synced;
	pthread_mutex_unlock(&san.lock);
	return quiet && !c->broken;
}

static void unpatch(struct san_module *m)
{
	if (!begin_patching())
		return;
	if (m->patched && m->idle >= m->patience) {
		if (SAN_CALL(UnpatchModule, m->handle) == SAN_OK)
			m->patched = false;
		else
			m->stays = true;
		m->patience = m->patience < PATIENCE_MOST ? 2 * m->patience : PATIENCE_MOST;
		m->idle = 0;
	}
	end_patching();
}

bool san_module_pass(struct san_module *m)
{
	if (!m->patched)
		return false;
	if (++m->idle >= m->patience && !m->stays && is_quiet(m->context))
		unpatch(m);
	return m->patched;
}
