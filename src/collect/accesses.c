/* accesses.c - the reducers' driver: what a process has of it, and its launches. */
#include "collect/accesses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/accesses_internal.h"
#include "collect/agent.h"
#include "collect/rawwriter.h"
#include "collect/sampler.h"
#include "collect/state.h"
#include "collect/objregistry.h"
#include "core/lock.h"

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct driver *) driver;
static struct driver *parent;	    /* of a forked child: its parent's */
static _Atomic uint64_t last_token; /* a child's are none of its parent's */
static _Atomic uint32_t last_site;

/* -- The driver. -- */

static struct driver *driver_make(void)
{
	struct driver *d = calloc(1, sizeof(*d));
	struct pasta_error err = {0};

	if (!d)
		return NULL;
	d->parent = parent;
	d->pool.reducers = pasta_wanted.reducers;
	d->host_pool.reducers = pasta_wanted.cpu.reducers;
	d->sampler = pasta_sampler_new(pasta_wanted.kernel, pasta_wanted.exclude,
				       pasta_wanted.launches, &err);
	d->told = pasta_objreg_new();
	if (d->sampler && d->told) {
		d->raw = pasta_wanted.raw ? pasta_rawwriter_new() : NULL;
		if (pasta_wanted.raw && !d->raw)
			pasta_agent_log("accesses", "raw ones are lost: there is no memory, or no "
						    "thread can be started");
		return d;
	}
	pasta_sampler_free(d->sampler);
	pasta_objreg_free(d->told);
	free(d);
	return NULL;
}

/* NULL: accesses are not wanted, or there is no memory. */
static struct driver *driver_get(void)
{
	struct driver *d = atomic_load_explicit(&driver, memory_order_acquire);

	if (d || !pasta_wanted.on)
		return d;
	pasta_lock(&making);
	d = atomic_load(&driver);
	if (!d) {
		d = driver_make();
		atomic_store(&driver, d);
	}
	pasta_unlock(&making);
	return d;
}

bool pasta_accesses_is_here(const struct driver *d)
{
	return d == atomic_load(&driver);
}

static void forked(void)
{
	struct driver *d = atomic_load(&driver);

	if (d && d->raw)
		pasta_rawwriter_forked(d->raw);
	pthread_mutex_init(&making, NULL);
	parent = d ? d : parent;
	atomic_store(&driver, NULL);
	pasta_accesses_threads_forked();
}

void pasta_accesses_bind(void)
{
	const char *words = getenv(PASTA_ENV_ACCESSES);
	char why[200];
	struct pasta_error err = {0};

	if (!words || !*words)
		return;
	if (!pasta_accesses_read(words, &err)) {
		snprintf(why, sizeof(why), "none are counted: %.150s", err.text);
		pasta_agent_log("accesses", why);
		return;
	}
	pasta_wanted.on = pasta_accesses_threads_bind() && !pthread_atfork(NULL, NULL, forked);
}

void pasta_accesses_close(void)
{
	struct driver *d = atomic_load(&driver);

	if (d && d->raw)
		pasta_rawwriter_close(d->raw);
	if (d)
		pasta_compare_report(&d->compare);
}

static void say_once(_Atomic bool *said, const char *what)
{
	if (!atomic_exchange(said, true))
		pasta_agent_log("accesses", what);
}

/* -- What there is. -- */

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
	struct driver *d = driver_get();
	struct pasta_objreg_object o = {
		.alloc = alloc, .addr = addr, .bytes = bytes, .context = context, .device = device};
	int error = d ? pasta_objreg_add(d->told, &o, emit_object) : -ENOMEM;

	if (d && (error == -ENOSPC || error == -ENOMEM))
		say_once(&d->said_refused, "there are too many objects: accesses to some of them "
					   "are counted as outside of all");
	return error ? 0 : o.id;
}

void pasta_accesses_unregister(uint64_t addr, uint64_t object)
{
	struct driver *d = driver_get();

	if (d)
		pasta_objreg_unregister(d->told, addr, object);
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

/* -- Launches. -- */

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
	struct driver *d = driver_get();
	enum pasta_access_launch_sub what;

	if (!d)
		return PASTA_ACCESS_LAUNCH_FILTERED;
	what = pasta_sampler_choose(d->sampler, kernel, shape);
	if (what == PASTA_ACCESS_LAUNCH_SAMPLED && pasta_sampler_full(d->sampler))
		say_once(&d->said_full, "there are too many shapes of launches: those of new ones "
					"are not counted; choose kernels with --kernel, or --all");
	return what;
}

void pasta_accesses_unchoose(uint64_t shape)
{
	struct driver *d = driver_get();

	if (d)
		pasta_sampler_unchoose(d->sampler, shape);
}

uint32_t pasta_accesses_one_in(uint64_t blocks)
{
	uint64_t counted = blocks / pasta_wanted.blocks + (blocks % pasta_wanted.blocks != 0);

	return counted ? (uint32_t)((blocks + counted / 2) / counted) : pasta_wanted.blocks;
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

/* NULL: all are taken. */
static struct pasta_accesses_launch *launch_take(struct driver *d)
{
	struct pasta_accesses_launch *l = NULL;

	pasta_lock(&d->lock);
	if (d->free_launch) {
		l = &d->launches[d->free_launch - 1];
		d->free_launch = l->next_free;
	} else if (d->launch_count < SLOTS) {
		l = &d->launches[d->launch_count++];
	}
	pasta_unlock(&d->lock);
	return l;
}

struct pasta_accesses_launch *pasta_accesses_begin(uint64_t corr, uint32_t name, uint32_t tid,
						   void *data)
{
	struct driver *d = driver_get();
	struct pasta_accesses_launch *l = d ? launch_take(d) : NULL;
	uint64_t serial;

	if (!l)
		return NULL;
	l->driver = d;
	l->corr = corr;
	l->name = name;
	l->tid = tid;
	l->data = data;
	l->version = NULL;
	l->compared = false;
	atomic_store(&l->partial, false);
	atomic_store(&l->lost, 0);
	atomic_store(&l->unkept, 0);
	atomic_store(&l->handed, 0);
	serial = atomic_fetch_add(&last_token, 1) + 1;
	atomic_store_explicit(&l->token, serial << SLOT_BITS | (uint64_t)(l - d->launches),
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
		launch->version = pasta_objreg_acquire(launch->driver->told);
	return launch->version;
}

void pasta_accesses_compare(struct pasta_accesses_launch *launch, const char *kernel)
{
	if (!pasta_wanted.both || !pasta_wanted.cpu.reducers || launch->compared)
		return;
	launch->compared = true;
	launch->kernel = strdup(kernel);
	pasta_compare_begin(&launch->driver->compare);
}

void pasta_accesses_partial(struct pasta_accesses_launch *launch)
{
	atomic_store_explicit(&launch->partial, true, memory_order_relaxed);
}

struct pasta_accesses_launch *pasta_accesses_of(uint64_t token)
{
	struct driver *d = atomic_load_explicit(&driver, memory_order_acquire);
	struct pasta_accesses_launch *l = d && token ? &d->launches[token % SLOTS] : NULL;

	return l && atomic_load_explicit(&l->token, memory_order_acquire) == token ? l : NULL;
}

bool pasta_accesses_is_live(const struct pasta_accesses_launch *l)
{
	return l && atomic_load(&l->token) && l->driver == atomic_load(&driver);
}

/* -- When it is done. -- */

static void compare(struct driver *d, const struct pasta_accesses_launch *l, bool ran)
{
	if (!l->compared)
		return;
	if (!ran || atomic_load(&l->lost) || atomic_load(&l->unkept) || atomic_load(&l->partial))
		pasta_compare_drop(&d->compare, ran);
	else
		pasta_compare_end(&d->compare, pasta_wanted.cpu.reducers, l->sums, l->host,
				  l->kernel ? l->kernel : "(unknown)");
}

static void release(struct driver *d, struct pasta_accesses_launch *l)
{
	pasta_sumpool_release(&d->pool, l->sums);
	pasta_sumpool_release(&d->host_pool, l->host);
	l->sums = l->host = NULL;
	free(l->kernel);
	l->kernel = NULL;
	pasta_objects_unpin(l->version);
	l->version = NULL;
	atomic_store(&l->token, 0);
	pasta_lock(&d->lock);
	l->next_free = d->free_launch;
	d->free_launch = (uint32_t)(l - d->launches) + 1;
	pasta_unlock(&d->lock);
}

static void end(struct pasta_accesses_launch *launch, bool ran, pasta_accesses_rest each, void *arg)
{
	if (!pasta_accesses_is_live(launch))
		return;
	pasta_accesses_gather(launch->driver, launch);
	pasta_accesses_emit(launch->driver, launch, ran, each, arg);
	compare(launch->driver, launch, ran);
	release(launch->driver, launch);
}

void pasta_accesses_end(struct pasta_accesses_launch *launch, bool ran)
{
	end(launch, ran, NULL, NULL);
}

void pasta_accesses_cancel(struct pasta_accesses_launch *launch)
{
	if (!pasta_accesses_is_live(launch))
		return;
	pasta_accesses_gather(launch->driver, launch);
	compare(launch->driver, launch, false);
	release(launch->driver, launch);
}

void pasta_accesses_end_with(struct pasta_accesses_launch *launch, pasta_accesses_rest each,
			     void *arg)
{
	end(launch, true, each, arg);
}
