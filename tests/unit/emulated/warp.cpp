/* warp.cpp - CUDA's threads on the host: who runs, and where they meet. */
#include "unit/emulated/warp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(fake, stack, size)                                          \
	((void)(fake), (void)(stack), (void)(size))
#define __sanitizer_finish_switch_fiber(fake, stack, size) ((void)(fake))
#endif

enum { LANES = 32, THREADS_MAX = 1024, STACK = 64 << 10, PATIENCE = 1 << 24 };

struct lane {
	ucontext_t context;
	char *stack;
	void *fake; /* AddressSanitizer's */
	bool over;
	uint32_t number, active;
	uint32_t waits; /* the mask of those it waits for; 0: it does not */
	warp_word word, words[LANES];
};

struct dim3 threadIdx, blockIdx, blockDim, gridDim;
void (*warp_nap)(void);

static struct lane *lanes[THREADS_MAX], *now;
static uint32_t count;
static ucontext_t home;
static const void *home_stack;
static size_t home_size;
static void *home_fake;
static void (*kernel)(void *);
static void *argument;
static uint64_t dice = 1, idle;

static void set_thread(const struct lane *l)
{
	threadIdx.x = l->number % blockDim.x;
	threadIdx.y = l->number / blockDim.x % blockDim.y;
	threadIdx.z = l->number / blockDim.x / blockDim.y;
}

/* AddressSanitizer is told of each change of stacks. */
static void leave(void **fake)
{
	__sanitizer_start_switch_fiber(fake, home_stack, home_size);
}

static void arrive(void *fake)
{
	__sanitizer_finish_switch_fiber(fake, &home_stack, &home_size);
}

void warp_yield(void)
{
	struct lane *l = now;

	leave(&l->fake);
	swapcontext(&l->context, &home);
	arrive(l->fake);
}

static void begin(void)
{
	arrive(NULL);
	kernel(argument);
	now->over = true;
	leave(NULL);
	setcontext(&home);
}

static void step(struct lane *l)
{
	now = l;
	set_thread(l);
	__sanitizer_start_switch_fiber(&home_fake, l->stack, STACK);
	swapcontext(&home, &l->context);
	__sanitizer_finish_switch_fiber(home_fake, NULL, NULL);
}

static uint32_t roll(uint32_t n)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(dice >> 33) % n;
}

static void make_lane(uint32_t i)
{
	struct lane *l = (struct lane *)calloc(1, sizeof(*l));
	char *stack = (char *)malloc(STACK);

	if (!l || !stack) {
		fprintf(stderr, "no memory for lanes\n");
		exit(1);
	}
	l->number = i;
	l->stack = stack;
	getcontext(&l->context);
	l->context.uc_stack.ss_sp = l->stack;
	l->context.uc_stack.ss_size = STACK;
	makecontext(&l->context, begin, 0);
	lanes[i] = l;
}

static void run_block(void)
{
	uint32_t left;

	count = blockDim.x * blockDim.y * blockDim.z;
	for (uint32_t i = 0; i < count; i++)
		make_lane(i);
	left = count;
	while (left) {
		struct lane *l = lanes[roll(left)];

		if (++idle > PATIENCE) {
			fprintf(stderr, "lanes wait for each other\n");
			exit(1);
		}
		if (l->waits) /* the last one to come wakes it */
			continue;
		step(l);
		if (!l->over)
			continue;
		for (uint32_t i = 0; i < left; i++)
			if (lanes[i] == l)
				lanes[i] = lanes[--left];
		count = left;
		free(l->stack);
		free(l);
	}
}

void warp_run(struct dim3 grid, struct dim3 block, void (*fn)(void *), void *arg)
{
	kernel = fn;
	argument = arg;
	gridDim = grid;
	blockDim = block;
	for (uint32_t i = 0; i < grid.x * grid.y * grid.z; i++) {
		blockIdx.x = i % grid.x;
		blockIdx.y = i / grid.x % grid.y;
		blockIdx.z = i / grid.x / grid.y;
		run_block();
	}
}

/* -- Meeting -- */

static struct lane *lane_of(uint32_t warp, uint32_t lane)
{
	for (uint32_t i = 0; i < count; i++)
		if (lanes[i] && lanes[i]->number == warp * LANES + lane)
			return lanes[i];
	return NULL;
}

const warp_word *warp_meet(uint32_t mask, warp_word word)
{
	uint32_t warp = now->number / LANES, here = 0;
	struct lane *all[LANES] = {};

	if (!(mask >> lane_id() & 1)) {
		fprintf(stderr, "a lane is not of those it meets\n");
		exit(1);
	}
	now->word = word;
	now->waits = mask;
	for (uint32_t i = 0; i < LANES; i++) {
		all[i] = mask >> i & 1 ? lane_of(warp, i) : NULL;
		here += all[i] && all[i]->waits == mask;
	}
	if (here < (uint32_t)__builtin_popcount(mask)) {
		warp_yield();
		return now->words;
	}
	idle = 0;
	for (uint32_t i = 0; i < LANES; i++) {
		for (uint32_t j = 0; all[i] && j < LANES; j++)
			all[i]->words[j] = all[j] ? all[j]->word : 0;
		if (all[i])
			all[i]->waits = 0;
	}
	/* A lane by itself would meet nobody, and keep waiting for a warp that never runs. */
	warp_yield();
	return now->words;
}

void warp_together(uint32_t mask)
{
	now->active = mask;
}

uint32_t __activemask(void)
{
	return now->active;
}

uint32_t lane_id(void)
{
	return now->number % LANES;
}

uint32_t processor_id(void)
{
	return blockIdx.x;
}

uint64_t device_time(void)
{
	static uint64_t time = 1000;

	return time++;
}

uint32_t __ballot_sync(uint32_t mask, int what)
{
	const warp_word *words = warp_meet(mask, what != 0);
	uint32_t result = 0;

	for (uint32_t i = 0; i < LANES; i++)
		if (mask >> i & 1 && words[i])
			result |= 1u << i;
	return result;
}

uint32_t __match_any_sync(uint32_t mask, warp_word key)
{
	const warp_word *words = warp_meet(mask, key);
	uint32_t result = 0;

	for (uint32_t i = 0; i < LANES; i++)
		if (mask >> i & 1 && words[i] == key)
			result |= 1u << i;
	return result;
}

warp_word __shfl_sync(uint32_t mask, warp_word word, int lane)
{
	return warp_meet(mask, word)[lane];
}
