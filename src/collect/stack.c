/* stack.c - selects the calls whose call paths are captured, and interns the paths. */
#include "collect/stack.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collect/agent.h"
#include "collect/state.h"
#include "core/pathnode.h"

enum {
	CACHE = 1024, /* number of call paths whose ids a thread caches */
	/* After a capture that takes the time t, a thread captures nothing for 49 t on average. */
	IDLE_PARTS = 49,
	PERIOD_MAX = 1 << 16,
};
/* The first call after a pause of this length is always captured. */
#define QUIET_NS UINT64_C(100000000)

/* The state that determines when to capture the next call path. The distance between captures is a
 * number of calls, not a time. If the distance were a time, the call after a long pause would be
 * captured more often than others. */
struct sampler {
	uint32_t left;	/* number of calls until the next capture */
	uint32_t drawn; /* initial value of the member `left` */
	uint64_t end;	/* time at the end of the last capture; 0 before the first capture */
	uint64_t seen;	/* time of the coarse clock at the end of the last capture */
};

/* The capture state of a thread of the program. A forked child inherits the state, in which `gen`
 * is the parent process's generation. */
struct thread {
	uint32_t gen;
	bool busy;
	uint64_t random;
	struct sampler samplers[PASTA_STACK_SITES];
	struct {
		uint64_t hash;
		uint32_t id; /* id of the call path; 0 if the entry is empty */
	} cache[CACHE];
};

static pthread_key_t thread_end;
static uint32_t (*_Atomic python)(void);
bool pasta_stack_bound;
static _Thread_local struct thread *self;

static void thread_free(void *arg)
{
	self = NULL;
	pasta_memory_free(arg, sizeof(struct thread));
}

__attribute__((noinline)) static struct thread *thread_new(void)
{
	int saved = errno;
	struct thread *t = pasta_memory_new(sizeof(*t));

	errno = saved;
	if (!t)
		return NULL;
	t->random = (uint64_t)(uintptr_t)t ^ pasta_now();
	pthread_setspecific(thread_end, t);
	self = t;
	return t;
}

void pasta_stack_bind(void)
{
	if (pthread_key_create(&thread_end, thread_free))
		return;
	pasta_unwind_bind();
	pasta_stack_bound = true;
}

void pasta_stack_set_python(uint32_t (*capture)(void))
{
	atomic_store_explicit(&python, capture, memory_order_release);
}

uint32_t pasta_stack_python(void)
{
	uint32_t (*capture)(void) = atomic_load_explicit(&python, memory_order_acquire);

	return capture ? capture() : 0;
}

uint32_t pasta_stack_types(void)
{
	return pasta_config.stacks;
}

uint32_t pasta_stack_node(const struct pasta_pathnode *node)
{
	uint8_t bytes[PASTA_PATHNODE_SIZE];

	pasta_pathnode_encode(node, bytes);
	return pasta_intern_stack(bytes, sizeof(bytes));
}

static uint64_t coarse_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns whether to capture the path of the current call. */
static bool sampler_is_due(struct sampler *s)
{
	if (s->left <= 1)
		return true;
	s->left--;
	return !pasta_config.stack_period && coarse_now() - s->seen > QUIET_NS;
}

static uint64_t next_random(struct thread *t)
{
	uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ z >> 27;
}

/* Chooses at random the number of calls until the next capture. The average follows from the rate
 * of calls since the last capture and from the duration of this capture, which began at `begin`. */
static void sampler_plan(struct thread *t, struct sampler *s, uint64_t begin)
{
	uint64_t now = pasta_now(), calls = s->drawn - s->left + 1;
	uint64_t elapsed = begin > s->end ? begin - s->end : 1, period = 1;

	if (s->end)
		period = calls * (now - begin) * IDLE_PARTS / elapsed;
	period = period < 1 ? 1 : period > PERIOD_MAX ? PERIOD_MAX : period;
	/* The distance varies at random around the period, so that sampling is not in step with a
	 * loop of the program. */
	s->drawn = s->left = 1 + (uint32_t)(next_random(t) % (2 * period - 1));
	s->end = now;
	s->seen = coarse_now();
}

/* Returns the id of a call path. Paths with equal 64-bit hashes count as equal. */
static uint32_t stack_path_id(struct thread *t, const uint64_t *pcs, size_t n)
{
	uint64_t hash = XXH3_64bits(pcs, n * sizeof(*pcs));
	size_t slot = hash % CACHE;

	if (t->gen != pasta_agent_gen()) {
		memset(t->cache, 0, sizeof(t->cache));
		t->gen = pasta_agent_gen();
	}
	if (t->cache[slot].id && t->cache[slot].hash == hash)
		return t->cache[slot].id;
	t->cache[slot].hash = hash;
	t->cache[slot].id = pasta_intern_stack(pcs, n * sizeof(*pcs));
	return t->cache[slot].id;
}

__attribute__((noinline)) static uint32_t stack_capture(struct thread *t, struct sampler *s,
							const void *caller)
{
	uint64_t pcs[PASTA_STACK_FRAMES], begin = pasta_now();
	size_t n = pasta_unwind(pcs, PASTA_STACK_FRAMES, caller, pasta_modules_update());
	uint32_t id = n ? stack_path_id(t, pcs, n) : 0;

	if (pasta_config.stack_period)
		s->left = pasta_config.stack_period;
	else
		sampler_plan(t, s, begin);
	return id;
}

uint32_t pasta_stack_capture_at(enum pasta_stack_site site)
{
	struct thread *t = self;
	uint32_t id;
	int saved;

	if (!pasta_stack_bound)
		return 0;
	if (!t)
		t = thread_new();
	/* A signal handler that interrupts a capture receives no path. */
	if (!t || t->busy || !sampler_is_due(&t->samplers[site]))
		return 0;
	saved = errno;
	t->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	id = stack_capture(t, &t->samplers[site], __builtin_return_address(0));
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
	errno = saved;
	return id;
}
