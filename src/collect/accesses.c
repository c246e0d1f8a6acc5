/*
 * accesses.c - the reducers' driver: launches, the threads that run them, and their rows.
 *
 * What it takes, at most: a launch that is under way 128 bytes, and there are 65,536 of them; a
 * thread 7 MiB of cells, 2 MiB for each table by site and 2 MiB for requests, and there are 1,024;
 * the sums of a launch 72 bytes a row, and 4,194,304 rows a reducer, and there are 64 that have
 * some, and 64 of the host's where both count. Memory is taken when there is something to count,
 * and used again, but for what large sums have taken: that is given back. rawwriter.h has what raw
 * accesses take.
 *
 * Locks are taken in this order: a thread's, a launch's, the driver's or a pool's. emitting is
 * never held together with them.
 */
#include "collect/accesses.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/compare.h"
#include "collect/rawwriter.h"
#include "collect/sampler.h"
#include "collect/state.h"
#include "collect/sumpool.h"
#include "collect/told.h"

enum { SLOT_BITS = 16, SLOTS = 1 << SLOT_BITS, THREADS = 1024, ROWS = 64 };
enum { LAUNCHES_DEFAULT = 3, PAGE_LEAST = 5, PAGE_DEFAULT = 12, PAGE_MOST = 30 };
#define REDUCERS_ALL ((UINT32_C(1) << PASTA_REDUCERS) - 2)
#define REDUCERS_HOST                                                                              \
	(REDUCERS_ALL & ~(PASTA_REDUCE_BIT(BLOCK) | PASTA_REDUCE_BIT(TENSOR) |                     \
			  PASTA_REDUCE_BIT(OWN) | PASTA_REDUCE_BIT(BARRIER)))
#define NO_LAUNCH 1 /* no token: those are from SLOTS on */

struct pasta_accesses_launch {
	_Atomic uint64_t token; /* 0: it has ended, or never was */
	struct driver *driver;
	uint64_t corr;
	void *data; /* the handler's */
	uint32_t name, tid;
	uint32_t next_free;   /* its index + 1 */
	_Atomic bool partial; /* it is not to be compared */
	bool compared;	      /* threads count into host */
	_Atomic uint64_t lost;
	char *kernel;			     /* where it is compared; NULL: no memory */
	const struct pasta_version *version; /* all threads' objects; NULL: each one's own */
	pthread_mutex_t lock;		     /* for what follows */
	struct pasta_sums *sums, *host;
};

/* One that runs work; it outlives its thread, and is another's then, with what it has counted. */
struct thread {
	struct driver *driver;
	struct thread *next, *next_free;
	struct pasta_cpu *cpu;
	_Atomic uint64_t token; /* of the launch that it counts for; changed under the lock */
	uint32_t group_size;
	pthread_mutex_t lock; /* taken by who drains it; not while it counts, but to spill */
	const struct pasta_version *version;
	struct pasta_filler filler; /* of raw ones; its q is NULL where there are none */
};

/* All there is of one process: a forked child makes its own. From the heap, as all that it points
 * to, and its parent's stays: so a leak checker finds none of it lost. */
struct driver {
	struct driver *parent;
	struct pasta_sampler *sampler;
	struct pasta_told *told;
	struct pasta_rawwriter *raw;	  /* NULL: they are not wanted, or cannot be written */
	_Atomic(struct thread *) threads; /* those that ever were: none is freed */
	_Atomic bool said_full, said_refused;
	pthread_mutex_t lock; /* for what follows */
	struct thread *free_threads;
	uint32_t thread_count, launch_count, free_launch;
	struct pasta_compare compare;
	struct pasta_sumpool pool, host_pool;
	pthread_mutex_t emitting; /* for the port */
	struct pasta_port *port;
	struct pasta_accesses_launch launches[SLOTS];
};

/* From the environment, once; a forked child keeps it. */
static struct {
	bool on, raw, inexact, on_host, both, lossy;
	uint32_t launches, blocks, reducers;
	struct pasta_cpu_config cpu;
	char *kernel, *exclude;
} config;

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct driver *) driver;
static struct driver *parent;	    /* of a forked child: its parent's */
static _Atomic uint64_t last_token; /* a child's are none of its parent's */
static _Atomic uint32_t last_site;
static pthread_key_t thread_end;
/* Of the initial-exec kind, as the agent's own. */
static _Thread_local struct thread *self;

/* -- What is wanted. -- */

static bool read_number(const char *text, uint32_t least, uint32_t most, uint32_t *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
		return false;
	*value = (uint32_t)n;
	return true;
}

static bool read_word(const char *word)
{
	static const struct {
		const char *word;
		bool *flag;
	} flags[] = {{"raw", &config.raw},
		     {"inexact", &config.inexact},
		     {"host", &config.on_host},
		     {"both", &config.both},
		     {"lossy", &config.lossy}};

	if (!strncmp(word, "page=", 5))
		return read_number(word + 5, PAGE_LEAST, PAGE_MOST, &config.cpu.page_shift);
	if (!strncmp(word, "launches=", 9))
		return read_number(word + 9, 0, UINT32_MAX, &config.launches);
	if (!strncmp(word, "blocks=", 7))
		return read_number(word + 7, 1, UINT32_MAX, &config.blocks);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].word))
			return *flags[i].flag = true;
	return false;
}

/* "MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact][,host|,both][,lossy]" */
static bool read_words(char *text)
{
	char *word = strsep(&text, ",");

	config.launches = LAUNCHES_DEFAULT;
	config.blocks = 1;
	if (!read_number(word, 0, REDUCERS_ALL, &config.reducers) || config.reducers & 1)
		return false;
	config.cpu.reducers = config.reducers & REDUCERS_HOST;
	while ((word = strsep(&text, ",")))
		if (!read_word(word))
			return false;
	return (config.reducers || config.raw) && !(config.on_host && config.both);
}

static void forked(void)
{
	struct driver *d = atomic_load(&driver);

	if (d && d->raw)
		pasta_rawwriter_forked(d->raw);
	pthread_mutex_init(&making, NULL);
	parent = d ? d : parent;
	atomic_store(&driver, NULL);
	self = NULL;
}

static void thread_ended(void *arg)
{
	struct thread *t = arg;
	struct driver *d = t->driver;

	self = NULL;
	if (d != atomic_load(&driver))
		return;
	pthread_mutex_lock(&d->lock);
	t->next_free = d->free_threads;
	d->free_threads = t;
	pthread_mutex_unlock(&d->lock);
}

static char *copy_of(const char *text)
{
	return text && *text ? strdup(text) : NULL;
}

/* That the patterns are good is found out by compiling them. */
static bool read_config(const char *words, struct pasta_err *err)
{
	char *text = strdup(words);
	const char *kernel = getenv(PASTA_ENV_ACCESS_KERNEL);
	const char *exclude = getenv(PASTA_ENV_ACCESS_EXCLUDE);
	struct pasta_sampler *s;

	if (!text || !read_words(text)) {
		pasta_fail(err, -EINVAL,
			   PASTA_ENV_ACCESSES
			   " is MASK[,page=SHIFT][,launches=K][,blocks=N][,raw][,inexact]"
			   "[,host|,both][,lossy], not '%s'",
			   words);
		free(text);
		return false;
	}
	free(text);
	config.kernel = copy_of(kernel);
	config.exclude = copy_of(exclude);
	s = pasta_sampler_new(config.kernel, config.exclude, config.launches, err);
	pasta_sampler_free(s);
	return s;
}

void pasta_accesses_bind(void)
{
	const char *words = getenv(PASTA_ENV_ACCESSES);
	char why[200];
	struct pasta_err err = {0};

	if (!words || !*words)
		return;
	if (!read_config(words, &err)) {
		snprintf(why, sizeof(why), "none are counted: %.150s", err.text);
		pasta_agent_say("accesses", why);
		return;
	}
	config.on = !pthread_key_create(&thread_end, thread_ended) &&
		    !pthread_atfork(NULL, NULL, forked);
}

bool pasta_accesses_wanted(void)
{
	return config.on;
}

bool pasta_accesses_host_wanted(void)
{
	return config.on && (config.cpu.reducers || config.raw);
}

bool pasta_accesses_inexact(void)
{
	return config.inexact;
}

uint32_t pasta_accesses_reducers(void)
{
	return config.reducers;
}

uint32_t pasta_accesses_page_shift(void)
{
	return config.cpu.page_shift ? config.cpu.page_shift : PAGE_DEFAULT;
}

uint32_t pasta_accesses_blocks(void)
{
	return config.blocks;
}

bool pasta_accesses_on_host(void)
{
	return config.on_host;
}

bool pasta_accesses_both(void)
{
	return config.both;
}

bool pasta_accesses_lossy(void)
{
	return config.lossy;
}

/* -- The driver. -- */

static struct driver *driver_make(void)
{
	struct driver *d = calloc(1, sizeof(*d));
	struct pasta_err err = {0};

	if (!d)
		return NULL;
	d->parent = parent;
	d->pool.reducers = config.reducers;
	d->host_pool.reducers = config.cpu.reducers;
	d->sampler = pasta_sampler_new(config.kernel, config.exclude, config.launches, &err);
	d->told = pasta_told_new();
	if (d->sampler && d->told) {
		d->raw = config.raw ? pasta_rawwriter_new() : NULL;
		if (config.raw && !d->raw)
			pasta_agent_say("accesses", "raw ones are lost: there is no memory, or no "
						    "thread can be started");
		return d;
	}
	pasta_sampler_free(d->sampler);
	pasta_told_free(d->told);
	free(d);
	return NULL;
}

/* NULL: accesses are not wanted, or there is no memory. */
static struct driver *driver_get(void)
{
	struct driver *d = atomic_load_explicit(&driver, memory_order_acquire);

	if (d || !config.on)
		return d;
	pthread_mutex_lock(&making);
	d = atomic_load(&driver);
	if (!d) {
		d = driver_make();
		atomic_store(&driver, d);
	}
	pthread_mutex_unlock(&making);
	return d;
}

static void say_once(_Atomic bool *said, const char *what)
{
	if (!atomic_exchange(said, true))
		pasta_agent_say("accesses", what);
}

/* -- What there is. -- */

static void emit_object(const struct pasta_told_object *o)
{
	struct pasta_event ev;

	if (!pasta_agent_wants(PASTA_OBJECT))
		return;
	pasta_event_init(&ev, PASTA_OBJECT, 0, PASTA_EVENT_SIZE(object));
	ev.object = (struct pasta_object){.id = o->id,
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
	struct pasta_told_object o = {
		.alloc = alloc, .addr = addr, .bytes = bytes, .context = context, .device = device};
	int error = d ? pasta_told_add(d->told, &o, emit_object) : -ENOMEM;

	if (d && (error == -ENOSPC || error == -ENOMEM))
		say_once(&d->said_refused, "there are too many objects: accesses to some of them "
					   "are counted as outside of all");
	return error ? 0 : o.id;
}

void pasta_accesses_gone(uint64_t addr, uint64_t object)
{
	struct driver *d = driver_get();

	if (d)
		pasta_told_gone(d->told, addr, object);
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

uint64_t pasta_accesses_kernel(const char *name)
{
	return XXH3_64bits(name, strlen(name));
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
		return PASTA_LAUNCH_FILTERED;
	what = pasta_sampler_choose(d->sampler, kernel, shape);
	if (what == PASTA_LAUNCH_SAMPLED && pasta_sampler_full(d->sampler))
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
	uint64_t counted = blocks / config.blocks + (blocks % config.blocks != 0);

	return counted ? (uint32_t)((blocks + counted / 2) / counted) : config.blocks;
}

void pasta_accesses_told(uint64_t corr, uint64_t time, uint64_t shape,
			 enum pasta_access_launch_sub what, uint32_t name, uint32_t detail,
			 uint32_t one_in)
{
	struct pasta_event ev;

	if (!pasta_agent_wants(PASTA_ACCESS_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_ACCESS_LAUNCH, what, PASTA_EVENT_SIZE(access_launch));
	ev.access_launch.corr = corr;
	ev.access_launch.shape = shape;
	ev.access_launch.name = name;
	ev.access_launch.detail = detail;
	ev.access_launch.blocks = what == PASTA_LAUNCH_COUNTED ? one_in : 1;
	ev.time = time;
	pasta_emit(&ev);
}

/* NULL: all are taken. */
static struct pasta_accesses_launch *launch_take(struct driver *d)
{
	struct pasta_accesses_launch *l = NULL;

	pthread_mutex_lock(&d->lock);
	if (d->free_launch) {
		l = &d->launches[d->free_launch - 1];
		d->free_launch = l->next_free;
	} else if (d->launch_count < SLOTS) {
		l = &d->launches[d->launch_count++];
	}
	pthread_mutex_unlock(&d->lock);
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
		launch->version = pasta_told_pin(launch->driver->told);
	return launch->version;
}

void pasta_accesses_compare(struct pasta_accesses_launch *launch, const char *kernel)
{
	if (!config.both || !config.cpu.reducers || launch->compared)
		return;
	launch->compared = true;
	launch->kernel = strdup(kernel);
	pasta_compare_begin(&launch->driver->compare);
}

void pasta_accesses_partial(struct pasta_accesses_launch *launch)
{
	atomic_store_explicit(&launch->partial, true, memory_order_relaxed);
}

uint64_t pasta_accesses_token(const struct pasta_accesses_launch *launch)
{
	return atomic_load_explicit(&launch->token, memory_order_relaxed);
}

struct pasta_accesses_launch *pasta_accesses_of(uint64_t token)
{
	struct driver *d = atomic_load_explicit(&driver, memory_order_acquire);
	struct pasta_accesses_launch *l = d && token ? &d->launches[token % SLOTS] : NULL;

	return l && atomic_load_explicit(&l->token, memory_order_acquire) == token ? l : NULL;
}

/* What its own process still has of it; not that of a parent. */
static bool is_live(const struct pasta_accesses_launch *l)
{
	return l && atomic_load(&l->token) && l->driver == atomic_load(&driver);
}

void pasta_accesses_lost(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (launch)
		atomic_fetch_add_explicit(&launch->lost, count, memory_order_relaxed);
}

/* Under the launch's lock: where its threads' counts go; NULL: there is no memory. */
static struct pasta_sums *threads_sums(struct pasta_accesses_launch *l)
{
	struct pasta_sums **to = l->compared ? &l->host : &l->sums;

	if (!*to)
		*to = pasta_sumpool_take(l->compared ? &l->driver->host_pool : &l->driver->pool);
	return *to;
}

/* -- Threads. -- */

/* By the thread itself, while it counts: what its tables have no more room for goes to its launch.
 * False: there is no memory. */
static bool spill(void *arg)
{
	struct thread *t = arg;
	uint64_t token = atomic_load(&t->token);
	struct pasta_accesses_launch *l = &t->driver->launches[token % SLOTS];
	struct pasta_sums *to;

	if (token == NO_LAUNCH || t->driver != atomic_load(&driver))
		return false;
	pthread_mutex_lock(&t->lock);
	pthread_mutex_lock(&l->lock);
	to = threads_sums(l);
	if (to)
		pasta_cpu_spill(t->cpu, to);
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&t->lock);
	return to;
}

static struct thread *thread_make(struct driver *d)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct pasta_cpu_config cpu = config.cpu;
	struct pasta_err err = {0};

	if (!t)
		return NULL;
	t->driver = d;
	t->token = NO_LAUNCH;
	cpu.full = spill;
	cpu.arg = t;
	t->cpu = pasta_cpu_new(&cpu, &err);
	if (d->raw)
		pasta_filler_begin(&t->filler, pasta_rawwriter_batches(d->raw));
	if (!t->cpu || pthread_mutex_init(&t->lock, NULL)) {
		pasta_cpu_free(t->cpu);
		free(t);
		return NULL;
	}
	t->next = atomic_load(&d->threads);
	while (!atomic_compare_exchange_weak(&d->threads, &t->next, t))
		;
	return t;
}

/* One that a thread left behind, or a new one. */
static struct thread *thread_take(struct driver *d)
{
	struct thread *t;
	bool more;

	pthread_mutex_lock(&d->lock);
	t = d->free_threads;
	if (t)
		d->free_threads = t->next_free;
	more = !t && d->thread_count < THREADS;
	d->thread_count += more;
	pthread_mutex_unlock(&d->lock);
	if (!more)
		return t;
	t = thread_make(d);
	if (!t) {
		pthread_mutex_lock(&d->lock);
		d->thread_count--;
		pthread_mutex_unlock(&d->lock);
	}
	return t;
}

static struct thread *thread_get(struct driver *d)
{
	if (self && self->driver == d)
		return self;
	self = thread_take(d);
	if (self)
		pthread_setspecific(thread_end, self);
	return self;
}

/* Under its lock: what it counted goes to its launch, which has not ended, or it would have been
 * drained. False: there is no memory, and it keeps its counts. */
static bool leave(struct thread *t)
{
	uint64_t token = atomic_load(&t->token);
	struct pasta_accesses_launch *l = &t->driver->launches[token % SLOTS];
	struct pasta_sums *to;

	if (token == NO_LAUNCH)
		return true;
	pthread_mutex_lock(&l->lock);
	to = threads_sums(l);
	if (to)
		pasta_cpu_drain(t->cpu, to);
	pthread_mutex_unlock(&l->lock);
	if (!to)
		return false;
	if (t->filler.q)
		pasta_filler_flush(&t->filler);
	pasta_objects_unpin(t->version);
	t->version = NULL;
	atomic_store(&t->token, NO_LAUNCH);
	return true;
}

/* Under its lock. */
static void enter(struct thread *t, const struct pasta_accesses_launch *l, uint32_t group_size)
{
	if (!t->version)
		t->version = l->version ? pasta_version_pin(l->version)
					: pasta_told_pin(t->driver->told);
	t->group_size = group_size;
	pasta_cpu_launch(t->cpu, t->version, 0, group_size);
	pasta_rawwriter_tag(t->filler.tag, l->corr, l->name, l->tid);
	atomic_store(&t->token, pasta_accesses_token(l));
}

__attribute__((noinline)) static struct pasta_cpu *
switch_to(const struct pasta_accesses_launch *launch, uint32_t group_size)
{
	uint64_t token = pasta_accesses_token(launch);
	struct thread *t = is_live(launch) ? thread_get(launch->driver) : NULL;
	bool here;

	if (!t)
		return NULL;
	pthread_mutex_lock(&t->lock);
	here = atomic_load(&t->token) == token || leave(t);
	if (here)
		enter(t, launch, group_size);
	pthread_mutex_unlock(&t->lock);
	return here ? t->cpu : NULL;
}

struct pasta_cpu *pasta_accesses_thread(struct pasta_accesses_launch *launch, uint32_t group_size)
{
	struct thread *t = self;

	if (__builtin_expect(t &&
				     atomic_load_explicit(&t->token, memory_order_relaxed) ==
					     pasta_accesses_token(launch) &&
				     t->group_size == group_size,
			     1))
		return t->cpu;
	return switch_to(launch, group_size);
}

void pasta_accesses_renew(struct pasta_accesses_launch *launch)
{
	struct thread *t = self;
	const struct pasta_version *old;

	if (!t || !is_live(launch) || atomic_load(&t->token) != pasta_accesses_token(launch))
		return;
	pthread_mutex_lock(&t->lock);
	old = t->version;
	t->version = NULL;
	enter(t, launch, t->group_size);
	pasta_objects_unpin(old);
	pthread_mutex_unlock(&t->lock);
}

bool pasta_accesses_raw(void)
{
	return config.raw;
}

/* What is lost leaves no buffer behind. */
void pasta_accesses_put(struct pasta_accesses_launch *launch, const struct pasta_access *access)
{
	struct thread *t = self;
	struct pasta_access a = *access;

	if (t && t->filler.q &&
	    atomic_load_explicit(&t->token, memory_order_relaxed) == pasta_accesses_token(launch)) {
		a.launch = (uint32_t)launch->corr;
		pasta_filler_put(&t->filler, &a);
		if (t->filler.buffer)
			return;
	}
	pasta_accesses_lost(launch, 1);
}

void pasta_accesses_batch(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
			  size_t count, uint32_t group_size, bool counts)
{
	struct pasta_cpu *cpu = pasta_accesses_thread(launch, group_size);
	size_t done = 0, bad = 0, none;

	if (!cpu) {
		pasta_accesses_lost(launch, count);
		return;
	}
	/* Whatever number they have, they are of this launch. */
	for (; counts && done < count; bad += none)
		done += pasta_cpu_batch(cpu, accesses + done, count - done, &none);
	for (size_t i = 0; config.raw && i < count; i++)
		pasta_accesses_put(launch, &accesses[i]);
	if (bad)
		pasta_accesses_lost(launch, bad);
}

void pasta_accesses_add(struct pasta_accesses_launch *launch, enum pasta_reducer reducer,
			const struct pasta_row *row)
{
	struct pasta_row *to;
	bool added = false;

	if (!is_live(launch) || !(config.reducers >> reducer & 1))
		return;
	pthread_mutex_lock(&launch->lock);
	if (!launch->sums)
		launch->sums = pasta_sumpool_take(&launch->driver->pool);
	if (launch->sums) {
		to = row->key0 == PASTA_KEY_OTHER
			     ? pasta_rows_other(&launch->sums->tables[reducer])
			     : pasta_rows_at(&launch->sums->tables[reducer], row->key0, row->key1);
		pasta_row_add(to, row->loads, row->stores, row->bytes, row->extra);
		added = true;
	}
	pthread_mutex_unlock(&launch->lock);
	if (added)
		return;
	pasta_accesses_partial(launch);
	pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
}

void pasta_accesses_close(void)
{
	struct driver *d = atomic_load(&driver);

	if (d && d->raw)
		pasta_rawwriter_close(d->raw);
	if (d)
		pasta_compare_tell(&d->compare);
}

/* -- When it is done. -- */

struct rows {
	struct pasta_port *port;
	const struct pasta_accesses_launch *launch;
	uint64_t time;
	size_t count, unsent;
	char records[ROWS * PASTA_EVENT_SIZE(access_sum)];
};

static void send(struct rows *r)
{
	if (r->port)
		pasta_port_push(r->port, r->records, r->count * PASTA_EVENT_SIZE(access_sum));
	else
		r->unsent += r->count;
	r->count = 0;
}

static int add_row(void *arg, enum pasta_reducer reducer, const struct pasta_row *row)
{
	struct rows *r = arg;
	struct pasta_event *ev = (void *)(r->records + r->count++ * PASTA_EVENT_SIZE(access_sum));

	pasta_sums_event(ev, reducer, row, r->launch->corr);
	ev->access_sum.name = r->launch->name;
	ev->tid = r->launch->tid;
	ev->time = r->time;
	if (r->count == ROWS)
		send(r);
	return 0;
}

/* The launch was told of when it was made: how much was lost is known only now. */
static void tell_lost(const struct rows *r, uint64_t lost)
{
	struct pasta_event ev;

	pasta_emit_lost(PASTA_LOSS_SOURCE, lost);
	if (!r->port || !pasta_agent_wants(PASTA_ACCESS_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_ACCESS_LAUNCH, PASTA_LAUNCH_LOST,
			 PASTA_EVENT_SIZE(access_launch));
	ev.access_launch.corr = r->launch->corr;
	ev.access_launch.name = r->launch->name;
	ev.access_launch.lost = lost;
	ev.tid = r->launch->tid;
	ev.time = r->time;
	pasta_port_push(r->port, &ev, ev.size);
}

/* One launch after the other: in the port, times do not go back. */
static void emit(struct driver *d, const struct pasta_accesses_launch *l, pasta_accesses_rest each,
		 void *arg)
{
	bool wanted = (l->sums || each) && pasta_agent_wants(PASTA_ACCESS_SUM);
	uint64_t lost = atomic_load(&l->lost);
	struct rows r = {.launch = l};
	int error = 0;

	if (!wanted && !lost)
		return;
	pthread_mutex_lock(&d->emitting);
	if (!d->port)
		d->port = pasta_port_open(PASTA_CLOCK_RAW);
	r.port = d->port;
	r.time = pasta_now();
	if (wanted && l->sums)
		error = pasta_sums_each(l->sums, add_row, &r);
	if (wanted && each && !error)
		error = each(arg, add_row, &r);
	send(&r);
	if (lost)
		tell_lost(&r, lost);
	pthread_mutex_unlock(&d->emitting);
	if (error || r.unsent)
		pasta_emit_lost(PASTA_LOSS_MEMORY, r.unsent + (error != 0));
}

/* Threads that counted for it last, and have nothing to count now. */
static void gather(struct driver *d, struct pasta_accesses_launch *l)
{
	uint64_t token = pasta_accesses_token(l);
	struct pasta_sums none = {0};

	for (struct thread *t = atomic_load(&d->threads); t; t = t->next) {
		pthread_mutex_lock(&t->lock);
		if (atomic_load(&t->token) == token && !leave(t)) {
			pasta_cpu_drain(t->cpu, &none);
			if (t->filler.q)
				pasta_filler_flush(&t->filler);
			pasta_objects_unpin(t->version);
			t->version = NULL;
			atomic_store(&t->token, NO_LAUNCH);
			pasta_accesses_partial(l);
			pasta_emit_lost(PASTA_LOSS_MEMORY, 1);
		}
		pthread_mutex_unlock(&t->lock);
	}
}

static void compare(struct driver *d, const struct pasta_accesses_launch *l, bool ran)
{
	if (!l->compared)
		return;
	if (!ran || atomic_load(&l->lost) || atomic_load(&l->partial))
		pasta_compare_drop(&d->compare, ran);
	else
		pasta_compare_end(&d->compare, config.cpu.reducers, l->sums, l->host,
				  l->kernel ? l->kernel : "(unknown)");
}

static void release(struct driver *d, struct pasta_accesses_launch *l)
{
	pasta_sumpool_give(&d->pool, l->sums);
	pasta_sumpool_give(&d->host_pool, l->host);
	l->sums = l->host = NULL;
	free(l->kernel);
	l->kernel = NULL;
	pasta_objects_unpin(l->version);
	l->version = NULL;
	atomic_store(&l->token, 0);
	pthread_mutex_lock(&d->lock);
	l->next_free = d->free_launch;
	d->free_launch = (uint32_t)(l - d->launches) + 1;
	pthread_mutex_unlock(&d->lock);
}

static void end(struct pasta_accesses_launch *launch, bool ran, pasta_accesses_rest each, void *arg)
{
	if (!is_live(launch))
		return;
	gather(launch->driver, launch);
	if (ran)
		emit(launch->driver, launch, each, arg);
	compare(launch->driver, launch, ran);
	release(launch->driver, launch);
}

void pasta_accesses_end(struct pasta_accesses_launch *launch, bool ran)
{
	end(launch, ran, NULL, NULL);
}

void pasta_accesses_end_with(struct pasta_accesses_launch *launch, pasta_accesses_rest each,
			     void *arg)
{
	end(launch, true, each, arg);
}
