/* accesses.c - counts memory accesses. This file creates the access counter of a process, and opens
 * and ends launches. */
#include "collect/accesses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/accesses_internal.h"
#include "collect/agent.h"
#include "collect/objregistry.h"
#include "collect/rawwriter.h"
#include "collect/sampler.h"
#include "collect/state.h"
#include "core/lock.h"

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct counter *) counter;
/* the access counter of an ancestor process; NULL unless the process was forked */
static struct counter *parent;
/* The numbers of the last launch and of the last site. A forked child continues from its parent's
 * numbers. */
static _Atomic uint64_t last_token;
static _Atomic uint32_t last_site;

/* -- The counter -- */

static struct counter *counter_make(void)
{
	struct counter *c = calloc(1, sizeof(*c));
	struct pasta_error err = {0};

	if (!c)
		return NULL;
	c->parent = parent;
	c->pool.reducers = pasta_accesses_config.reducers;
	c->host_pool.reducers = pasta_accesses_config.cpu.reducers;
	c->sampler = pasta_sampler_new(pasta_accesses_config.kernel, pasta_accesses_config.exclude,
				       pasta_accesses_config.launches, &err);
	c->objects = pasta_objreg_new();
	if (c->sampler && c->objects) {
		c->raw = pasta_accesses_config.raw ? pasta_rawwriter_new() : NULL;
		if (pasta_accesses_config.raw && !c->raw)
			pasta_agent_log("accesses",
					"raw accesses are not stored, because memory or threads "
					"are exhausted: raise the limits (ulimit -v, ulimit -u)");
		return c;
	}
	pasta_sampler_free(c->sampler);
	pasta_objreg_free(c->objects);
	free(c);
	return NULL;
}

/* Returns this process's access counter, or NULL if accesses are not counted or memory is
 * exhausted. */
static struct counter *counter_get(void)
{
	struct counter *c = atomic_load_explicit(&counter, memory_order_acquire);

	if (c || !pasta_accesses_config.on)
		return c;
	pasta_lock(&making);
	c = atomic_load(&counter);
	if (!c) {
		c = counter_make();
		atomic_store(&counter, c);
	}
	pasta_unlock(&making);
	return c;
}

bool pasta_accesses_is_here(const struct counter *c)
{
	return c == atomic_load(&counter);
}

static void accesses_forked(void)
{
	struct counter *c = atomic_load(&counter);

	if (c && c->raw)
		pasta_rawwriter_forked(c->raw);
	pthread_mutex_init(&making, NULL);
	parent = c ? c : parent;
	atomic_store(&counter, NULL);
	pasta_accesses_threads_forked();
}

void pasta_accesses_bind(void)
{
	char why[200];
	struct pasta_error err = {0};
	int counted = pasta_accesses_config_read(&err);

	if (counted < 0) {
		snprintf(why, sizeof(why), "memory accesses are not counted: %.150s", err.text);
		pasta_agent_log("accesses", why);
	}
	if (counted > 0)
		pasta_accesses_config.on = pasta_accesses_threads_bind() &&
					   !pthread_atfork(NULL, NULL, accesses_forked);
}

void pasta_accesses_close(void)
{
	struct counter *c = atomic_load(&counter);

	if (c && c->raw)
		pasta_rawwriter_close(c->raw);
	if (c)
		pasta_compare_report(&c->compare);
}

static void warn_once(_Atomic bool *warned, const char *what)
{
	if (!atomic_exchange(warned, true))
		pasta_agent_log("accesses", what);
}

/* -- Objects and sites -- */

static void emit_object(const struct pasta_objreg_object *o)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_OBJECT))
		return;
	pasta_event_init(&ev, PASTA_KIND_OBJECT, 0, PASTA_EVENT_SIZE(object));
	ev.object = (struct pasta_object_record){.id = o->id,
						 .alloc = o->alloc,
						 .addr = o->addr,
						 .bytes = o->bytes,
						 .context = o->context,
						 .device = o->device};
	ev.time = pasta_now();
	pasta_emit(&ev);
}

uint64_t pasta_accesses_object(uint64_t alloc, uint64_t addr, uint64_t bytes, uint32_t context,
			       uint32_t device)
{
	struct counter *c = counter_get();
	struct pasta_objreg_object o = {
		.alloc = alloc, .addr = addr, .bytes = bytes, .context = context, .device = device};
	int error = c ? pasta_objreg_add(c->objects, &o, emit_object) : -ENOMEM;

	if (c && (error == -ENOSPC || error == -ENOMEM))
		warn_once(&c->warned_objects,
			  "the program has too many objects, so accesses to some of them "
			  "are counted as outside of all objects");
	return error ? 0 : o.id;
}

void pasta_accesses_unregister(uint64_t addr, uint64_t object)
{
	struct counter *c = counter_get();

	if (c)
		pasta_objreg_unregister(c->objects, addr, object);
}

uint32_t pasta_accesses_sites(uint32_t count)
{
	uint32_t last = atomic_load(&last_site);

	do
		if (count > UINT32_MAX - last)
			return 0;
	while (!atomic_compare_exchange_weak(&last_site, &last, last + count));
	return last + 1;
}

/* -- Launches -- */

uint64_t pasta_accesses_code(uint64_t after, const void *bytes, size_t size)
{
	return XXH3_64bits_withSeed(bytes, size, after);
}

uint64_t pasta_accesses_kernel(const char *name, uint64_t code)
{
	return pasta_accesses_code(code, name, strlen(name));
}

uint64_t pasta_accesses_shape(uint64_t kernel, const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t h = XXH3_64bits_withSeed(grid, 3 * sizeof(*grid), kernel);

	return XXH3_64bits_withSeed(block, 3 * sizeof(*block), h);
}

enum pasta_access_launch_sub pasta_accesses_choose(const char *kernel, uint64_t shape)
{
	struct counter *c = counter_get();
	enum pasta_access_launch_sub what;

	if (!c)
		return PASTA_ACCESS_LAUNCH_FILTERED;
	what = pasta_sampler_choose(c->sampler, kernel, shape);
	if (what == PASTA_ACCESS_LAUNCH_SAMPLED && pasta_sampler_full(c->sampler))
		warn_once(&c->warned_shapes,
			  "launches of some shapes are not counted, because the program has too "
			  "many launch shapes: select kernels with --kernel, or use --all");
	return what;
}

void pasta_accesses_unchoose(uint64_t shape)
{
	struct counter *c = counter_get();

	if (c)
		pasta_sampler_unchoose(c->sampler, shape);
}

uint32_t pasta_accesses_one_in(uint64_t blocks)
{
	uint64_t counted = blocks / pasta_accesses_config.blocks +
			   (blocks % pasta_accesses_config.blocks != 0);

	return counted ? (uint32_t)((blocks + counted / 2) / counted)
		       : pasta_accesses_config.blocks;
}

void pasta_accesses_registered(uint64_t corr, uint64_t time, uint64_t shape,
			       enum pasta_access_launch_sub what, uint32_t name, uint32_t detail,
			       uint32_t one_in)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_ACCESS_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_ACCESS_LAUNCH, what, PASTA_EVENT_SIZE(access_launch));
	ev.access_launch.corr = corr;
	ev.access_launch.shape = shape;
	ev.access_launch.name = name;
	ev.access_launch.detail = detail;
	ev.access_launch.blocks = what == PASTA_ACCESS_LAUNCH_COUNTED ? one_in : 1;
	ev.access_launch.flags = what == PASTA_ACCESS_LAUNCH_COUNTED ? PASTA_ACCESS_LAUNCH_ENDS : 0;
	ev.time = time;
	pasta_emit(&ev);
}

/* Returns a free slot for a launch, or NULL if all slots are in use. */
static struct pasta_accesses_launch *launch_acquire(struct counter *c)
{
	struct pasta_accesses_launch *l = NULL;

	pasta_lock(&c->lock);
	if (c->free_launch) {
		l = &c->launches[c->free_launch - 1];
		c->free_launch = l->next_free;
	} else if (c->launch_count < SLOTS) {
		l = &c->launches[c->launch_count++];
	}
	pasta_unlock(&c->lock);
	return l;
}

struct pasta_accesses_launch *pasta_accesses_begin(uint64_t corr, uint32_t name, uint32_t tid,
						   void *data)
{
	struct counter *c = counter_get();
	struct pasta_accesses_launch *l = c ? launch_acquire(c) : NULL;
	uint64_t serial;

	if (!l)
		return NULL;
	l->counter = c;
	l->corr = corr;
	l->name = name;
	l->tid = tid;
	l->data = data;
	l->version = NULL;
	l->compared = false;
	atomic_store(&l->partial, false);
	atomic_store(&l->dropped, 0);
	atomic_store(&l->raw_dropped, 0);
	atomic_store(&l->stored, 0);
	serial = atomic_fetch_add(&last_token, 1) + 1;
	atomic_store_explicit(&l->token, serial << SLOT_BITS | (uint64_t)(l - c->launches),
			      memory_order_release);
	return l;
}

void *pasta_accesses_data(const struct pasta_accesses_launch *launch)
{
	return launch->data;
}

const struct pasta_version *pasta_accesses_pin(struct pasta_accesses_launch *launch)
{
	if (!launch->version)
		launch->version = pasta_objreg_acquire(launch->counter->objects);
	return launch->version;
}

void pasta_accesses_compare(struct pasta_accesses_launch *launch, const char *kernel)
{
	if (!pasta_accesses_config.both || !pasta_accesses_config.cpu.reducers || launch->compared)
		return;
	launch->compared = true;
	launch->kernel = strdup(kernel);
	pasta_compare_begin(&launch->counter->compare);
}

void pasta_accesses_partial(struct pasta_accesses_launch *launch)
{
	atomic_store_explicit(&launch->partial, true, memory_order_relaxed);
}

struct pasta_accesses_launch *pasta_accesses_of(uint64_t token)
{
	struct counter *c = atomic_load_explicit(&counter, memory_order_acquire);
	struct pasta_accesses_launch *l = c && token ? &c->launches[token % SLOTS] : NULL;

	return l && atomic_load_explicit(&l->token, memory_order_acquire) == token ? l : NULL;
}

bool pasta_accesses_is_live(const struct pasta_accesses_launch *l)
{
	return l && atomic_load(&l->token) && l->counter == atomic_load(&counter);
}

/* -- The end of a launch -- */

static void launch_compare(struct counter *c, const struct pasta_accesses_launch *l, bool ran)
{
	if (!l->compared)
		return;
	if (!ran || atomic_load(&l->dropped) || atomic_load(&l->raw_dropped) ||
	    atomic_load(&l->partial))
		pasta_compare_drop(&c->compare, ran);
	else
		pasta_compare_end(&c->compare, pasta_accesses_config.cpu.reducers, l->sums, l->host,
				  l->kernel ? l->kernel : "(unknown)");
}

static void launch_release(struct counter *c, struct pasta_accesses_launch *l)
{
	pasta_sumpool_release(&c->pool, l->sums);
	pasta_sumpool_release(&c->host_pool, l->host);
	l->sums = l->host = NULL;
	free(l->kernel);
	l->kernel = NULL;
	pasta_objects_unpin(l->version);
	l->version = NULL;
	atomic_store(&l->token, 0);
	pasta_lock(&c->lock);
	l->next_free = c->free_launch;
	c->free_launch = (uint32_t)(l - c->launches) + 1;
	pasta_unlock(&c->lock);
}

static void launch_end(struct pasta_accesses_launch *launch, bool ran, pasta_accesses_rest each,
		       void *arg)
{
	if (!pasta_accesses_is_live(launch))
		return;
	pasta_accesses_gather(launch->counter, launch);
	pasta_accesses_emit(launch->counter, launch, ran, each, arg);
	launch_compare(launch->counter, launch, ran);
	launch_release(launch->counter, launch);
}

void pasta_accesses_end(struct pasta_accesses_launch *launch, bool ran)
{
	launch_end(launch, ran, NULL, NULL);
}

void pasta_accesses_cancel(struct pasta_accesses_launch *launch)
{
	if (!pasta_accesses_is_live(launch))
		return;
	pasta_accesses_gather(launch->counter, launch);
	launch_compare(launch->counter, launch, false);
	launch_release(launch->counter, launch);
}

void pasta_accesses_end_with(struct pasta_accesses_launch *launch, pasta_accesses_rest each,
			     void *arg)
{
	launch_end(launch, true, each, arg);
}
