/* patching.c - selects the patches for a module and applies them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lock.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/patching.h"
#include "handlers/sanitizer/rings.h"

#define SITES                                                                                      \
	(PASTA_REDUCER_MASK(SITE) | PASTA_REDUCER_MASK(SITE_OBJECT) |                              \
	 PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE))
/* The reducers that work without patches of memory instructions. */
#define NO_ACCESSES                                                                                \
	(PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(TENSOR) | PASTA_REDUCER_MASK(BARRIER))

/* PASTA_GPU_LAYOUT as a string, for the names of patch functions. */
#define TEXT_OF(x) TEXT(x)
#define TEXT(x) #x
#define LAYOUT TEXT_OF(PASTA_GPU_LAYOUT)

static bool patching_busy; /* a thread is between san_patching_begin and san_patching_end */

static const char *patching_variant(void)
{
	const char *chosen = pasta_accesses_config.patches;

	if (chosen && (!strcmp(chosen, "floor") || !strcmp(chosen, "naive")))
		return chosen;
	if (pasta_accesses_config.blocks != 1)
		return "all";
	if (san_ring_enabled())
		return san.reducers ? "all" : "raw";
	if (san.reducers == PASTA_REDUCER_MASK(OBJECT))
		return "object";
	return san.reducers == (PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE)) ? "page"
										       : "all";
}

bool san_patching_spread(void)
{
	return *patching_variant() != 'n';
}

bool san_patching_spaces(void)
{
	return pasta_accesses_config.reducers & SITES || pasta_accesses_config.raw;
}

static uint32_t patching_classes(const char *which)
{
	uint32_t reducers = pasta_accesses_config.reducers, classes = 0;

	if (*which == 'f' || *which == 'n')
		return PASTA_GPU_GLOBAL;
	if (reducers & ~NO_ACCESSES || pasta_accesses_config.raw)
		classes |= PASTA_GPU_GLOBAL;
	if (san_patching_spaces())
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
} patch_calls[] = {
#define F(id, name, needs) {#name, id, needs},
	PASTA_GPU_PATCHES(F)
#undef F
};
enum { CALLS = sizeof(patch_calls) / sizeof(*patch_calls) };

static int patching_mark(void *module, const char *which, size_t i)
{
	char name[64];

	snprintf(name, sizeof(name), "pasta_%s_%s", which, patch_calls[i].name);
	return SAN_CALL(PatchInstructions, patch_calls[i].id, module, name);
}

#define UNPATCHED "some of its instructions cannot be patched: "

/* Selects the instructions for which a tool's reducer has a patch function, and counts these
 * functions in *found. Returns NULL on success, or a static string that explains the failure. */
static const char *patching_mark_found(void *module, const char *which, uint32_t *found)
{
	for (size_t i = 0; i < CALLS; i++) {
		bool is_access = !(patch_calls[i].needs & (PASTA_GPU_BLOCK | PASTA_GPU_BARRIER));
		int r = is_access ? patching_mark(module, which, i) : SAN_INVALID_PARAMETER;

		if (r != SAN_OK && r != SAN_INVALID_PARAMETER)
			return UNPATCHED "the tool's reducer was not built for this device";
		*found += r == SAN_OK;
	}
	return NULL;
}

static const char *patching_mark_own(void *module)
{
	uint32_t keys = 0, sites = 0;
	const char *why = patching_mark_found(module, "own_KEYS_" LAYOUT, &keys);

	if (!why && !keys)
		why = patching_mark_found(module, "own_SITES_" LAYOUT, &sites);
	if (!why && !keys && !sites)
		why = "the tool's reducer is not compatible with this accelprof: rebuild the "
		      "reducer with this accelprof's <pasta/reducer.cuh>";
	if (!why)
		atomic_store(&san.own_sites, sites != 0);
	return why;
}

static const char *patching_mark_ours(void *module)
{
	const char *which = patching_variant();
	uint32_t classes = patching_classes(which);

	for (size_t i = 0; i < CALLS; i++)
		if (patch_calls[i].needs & classes && patching_mark(module, which, i) != SAN_OK)
			return UNPATCHED "accelprof's patches were not built for this device, or "
					 "belong to another build of accelprof";
	return NULL;
}

static bool patching_is_own(void)
{
	return san.reducers & PASTA_REDUCER_MASK(OWN);
}

static const char *patching_apply_all(void *module)
{
	const char *why =
		patching_is_own() ? patching_mark_own(module) : patching_mark_ours(module);

	if (why || SAN_CALL(PatchModule, module) == SAN_OK)
		return why;
	return "the Compute Sanitizer cannot patch the kernel's module";
}

static const char *patching_load(struct san_context *c)
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
		 "no accesses are counted on device %u, because the patches cannot be loaded "
		 "(%s): build %s for the device's architecture",
		 c->device, san_text(r), patching_is_own() ? "the tool's reducer" : "accelprof");
	pasta_agent_log("sanitizer", why);
	return c->trouble = "cannot load the patches onto the launch's device";
}

/* Waits only for a limited time, because the thread that is patching may be blocked in the
 * library. */
bool san_patching_begin(void)
{
	struct timespec until = san_deadline(san_limits.wait_ns);
	int waited = 0;
	bool mine;

	pasta_lock(&san.lock);
	while (patching_busy && !waited)
		waited = pthread_cond_timedwait(&san.changed, &san.lock, &until);
	mine = !patching_busy;
	patching_busy = true;
	pasta_unlock(&san.lock);
	return mine;
}

void san_patching_settle(void)
{
	struct timespec until = san_deadline(san_limits.wait_ns);

	pasta_lock(&san.lock);
	while (patching_busy && !pthread_cond_timedwait(&san.changed, &san.lock, &until))
		;
	pasta_unlock(&san.lock);
}

void san_patching_end(void)
{
	pasta_lock(&san.lock);
	patching_busy = false;
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

const char *san_patching_apply(struct san_module *m)
{
	const char *why = patching_load(m->context);

	return why ? why : patching_apply_all(m->handle);
}
