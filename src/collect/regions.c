/* regions.c - the regions that are open on each thread, whoever named them. */
#include <string.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/state.h"

enum { DEPTH = 1024 };

struct open_region {
	uint32_t owner;
	uint16_t level;	 /* among the owner's */
	uint8_t is_told; /* its begin is recorded in the process of gen, and its end is not */
};

/* A thread's. Only what was recorded is ended, and counted in the events' depth, by which tools
 * find their place again after a loss. */
struct open_regions {
	uint32_t depth; /* of all; past DEPTH they are counted alone */
	uint32_t gen, told;
	struct open_region at[DEPTH];
};

static pthread_key_t thread_end;
/* Small, for the agent is loaded late. */
static _Thread_local struct open_regions *self;

static void regions_end(void *arg)
{
	self = NULL;
	pasta_memory_free(arg, sizeof(struct open_regions));
}

int pasta_regions_bind(void)
{
	return pthread_key_create(&thread_end, regions_end);
}

__attribute__((noinline)) static struct open_regions *regions_new(void)
{
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	if (!self)
		self = pasta_memory_new(sizeof(*self));
	if (self)
		pasta_thread_key_set(thread_end, self);
	pasta_guard_leave(&guard);
	return self;
}

/* A forked child has begun anew: its parent's regions are not its own. */
static inline void settle(struct open_regions *o)
{
	uint32_t gen = pasta_agent_gen();

	if (__builtin_expect(o->gen == gen, 1))
		return;
	for (uint32_t i = 0; i < o->depth && i < DEPTH; i++)
		o->at[i].is_told = 0;
	o->told = 0;
	o->gen = gen;
}

/* The place, from 1, of the owner's innermost among the first count; 0: there is none. */
static inline uint32_t place_of(const struct open_regions *o, uint32_t count, uint32_t owner)
{
	uint32_t at = count < DEPTH ? count : DEPTH;

	while (at && o->at[at - 1].owner != owner)
		at--;
	return at;
}

/* Past DEPTH nobody knows whose they are: they are taken for the owner's. */
static int level_of(const struct open_regions *o, uint32_t depth, uint32_t owner)
{
	uint32_t at = place_of(o, depth, owner);

	return (int)((at ? o->at[at - 1].level + 1u : 0) + (depth > DEPTH ? depth - DEPTH : 0));
}

static void tell(unsigned int sub, uint32_t name, uint32_t domain, uint32_t depth, uint64_t time,
		 uint32_t flags)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_REGION, sub, PASTA_EVENT_SIZE(region));
	ev.region.name = name;
	ev.region.domain = domain;
	ev.region.depth = depth;
	ev.region.flags = flags;
	ev.time = time;
	pasta_emit(&ev);
}

bool pasta_region_enabled(void)
{
	return pasta_agent_active() && pasta_agent_records(PASTA_KIND_REGION);
}

int pasta_region_push(uint32_t owner, bool wanted, uint32_t name, uint32_t domain)
{
	struct open_regions *o = self ? self : regions_new();
	struct open_region *r;
	uint32_t depth;

	if (!o) {
		if (wanted)
			pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return -1;
	}
	settle(o);
	depth = o->depth++;
	if (depth >= DEPTH) {
		if (wanted)
			pasta_emit_loss(PASTA_LOSS_DEPTH, 1);
		return level_of(o, depth, owner);
	}
	r = &o->at[depth];
	*r = (struct open_region){.owner = owner, .level = (uint16_t)level_of(o, depth, owner)};
	if (wanted) {
		tell(PASTA_REGION_BEGIN, name, domain, o->told + 1, pasta_now(), 0);
		o->told++;
		r->is_told = 1;
		o->gen = pasta_agent_gen(); /* the first event makes it */
	}
	return r->level;
}

static void end(struct open_regions *o, struct open_region r, uint64_t now, uint32_t flags)
{
	if (r.is_told)
		tell(PASTA_REGION_END, 0, 0, o->told--, now, flags);
}

/* Others' regions lie inside the one that ends: they end with it, unless it is not recorded. */
__attribute__((noinline)) static void end_below(struct open_regions *o, uint32_t at, uint64_t now)
{
	struct open_region r = o->at[at];

	for (uint32_t i = o->depth - 1; r.is_told && i > at; i--) {
		end(o, o->at[i], now, PASTA_REGION_SUPPLIED_OUTER);
		o->at[i].is_told = 0;
	}
	end(o, r, now, 0);
	memmove(&o->at[at], &o->at[at + 1], (o->depth - 1 - at) * sizeof(r));
	o->depth--;
}

int pasta_region_pop(uint32_t owner)
{
	struct open_regions *o = self;
	uint64_t now = pasta_now();
	struct open_region r;
	uint32_t at;

	if (!o || !o->depth)
		return -1;
	if (o->depth > DEPTH) {
		if (pasta_region_enabled())
			pasta_emit_loss(PASTA_LOSS_DEPTH, 1);
		o->depth--;
		return level_of(o, o->depth, owner);
	}
	settle(o);
	at = place_of(o, o->depth, owner);
	if (!at)
		return -1;
	r = o->at[--at];
	if (at + 1 < o->depth) {
		end_below(o, at, now);
		return r.level;
	}
	o->depth = at;
	end(o, r, now, 0);
	return r.level;
}

void pasta_region_mark(uint32_t name, uint32_t domain)
{
	uint32_t told = 0;

	if (self) {
		settle(self);
		told = self->told;
	}
	tell(PASTA_REGION_MARK, name, domain, told + 1, pasta_now(), 0);
}
