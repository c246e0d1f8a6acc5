/* regions.c - manages a stack of open regions for each thread. The stack contains the regions of
 * all interfaces (owners). */
#include <string.h>

#include "collect/agent.h"
#include "collect/guard.h"
#include "collect/state.h"

enum { DEPTH = 1024 };

struct open_region {
	uint32_t owner;
	uint16_t level; /* the region's nesting level among the regions of the same interface */
	/* Whether the region's begin event is recorded, in the generation `gen` of the process. */
	uint8_t recorded;
};

/* A thread's open regions. Only a region whose begin event is recorded has an end event, and counts
 * towards the depth in events. After a loss, tools use this depth to find the open regions
 * again. */
struct open_regions {
	uint32_t depth; /* number of open regions; regions past DEPTH have no entry */
	uint32_t gen, recorded;
	struct open_region at[DEPTH];
};

static pthread_key_t thread_end;
/* Only a pointer is thread-local, because the agent is loaded late, when little room is left for
 * initial-exec variables. */
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

/* Handles a fork. A forked child has a new shard, which does not contain the begin events of the
 * regions that are open in the parent process. */
static inline void regions_check_fork(struct open_regions *o)
{
	uint32_t gen = pasta_agent_gen();

	if (__builtin_expect(o->gen == gen, 1))
		return;
	for (uint32_t i = 0; i < o->depth && i < DEPTH; i++)
		o->at[i].recorded = 0;
	o->recorded = 0;
	o->gen = gen;
}

/* Returns the position of an interface's innermost region among the first `count` open regions, or
 * 0 if there is no such region. Positions count from 1. */
static inline uint32_t region_position(const struct open_regions *o, uint32_t count, uint32_t owner)
{
	uint32_t at = count < DEPTH ? count : DEPTH;

	while (at && o->at[at - 1].owner != owner)
		at--;
	return at;
}

/* Returns the nesting level of the next region of an interface (`owner`). The owners of regions
 * past DEPTH are not stored, so all of these regions count as regions of this interface. */
static int region_level(const struct open_regions *o, uint32_t depth, uint32_t owner)
{
	uint32_t at = region_position(o, depth, owner);

	return (int)((at ? o->at[at - 1].level + 1u : 0) + (depth > DEPTH ? depth - DEPTH : 0));
}

static void region_emit(unsigned int sub, uint32_t name, uint32_t domain, uint32_t depth,
			uint64_t time, uint32_t flags)
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

int pasta_region_push(uint32_t owner, bool enabled, uint32_t name, uint32_t domain)
{
	struct open_regions *o = self ? self : regions_new();
	struct open_region *r;
	uint32_t depth;

	if (!o) {
		if (enabled)
			pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return -1;
	}
	regions_check_fork(o);
	depth = o->depth++;
	if (depth >= DEPTH) {
		if (enabled)
			pasta_emit_loss(PASTA_LOSS_DEPTH, 1);
		return region_level(o, depth, owner);
	}
	r = &o->at[depth];
	*r = (struct open_region){.owner = owner, .level = (uint16_t)region_level(o, depth, owner)};
	if (enabled) {
		region_emit(PASTA_REGION_BEGIN, name, domain, o->recorded + 1, pasta_now(), 0);
		o->recorded++;
		r->recorded = 1;
		/* The generation is read after the event is emitted, because a process's first
		 * event changes the generation. */
		o->gen = pasta_agent_gen();
	}
	return r->level;
}

static void region_end(struct open_regions *o, struct open_region r, uint64_t now, uint32_t flags)
{
	if (r.recorded)
		region_emit(PASTA_REGION_END, 0, 0, o->recorded--, now, flags);
}

/* Ends a region, and the open regions of other interfaces inside of the region. If the region
 * itself is not recorded, the inner regions stay open. */
__attribute__((noinline)) static void region_end_below(struct open_regions *o, uint32_t at,
						       uint64_t now)
{
	struct open_region r = o->at[at];

	for (uint32_t i = o->depth - 1; r.recorded && i > at; i--) {
		region_end(o, o->at[i], now, PASTA_REGION_SUPPLIED_OUTER);
		o->at[i].recorded = 0;
	}
	region_end(o, r, now, 0);
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
		return region_level(o, o->depth, owner);
	}
	regions_check_fork(o);
	at = region_position(o, o->depth, owner);
	if (!at)
		return -1;
	r = o->at[--at];
	if (at + 1 < o->depth) {
		region_end_below(o, at, now);
		return r.level;
	}
	o->depth = at;
	region_end(o, r, now, 0);
	return r.level;
}

void pasta_region_mark(uint32_t name, uint32_t domain)
{
	uint32_t depth = 0;

	if (self) {
		regions_check_fork(self);
		depth = self->recorded;
	}
	region_emit(PASTA_REGION_MARK, name, domain, depth + 1, pasta_now(), 0);
}
