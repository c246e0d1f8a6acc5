/*
 * gpu_host.h - emulates CUDA threads on the host, to test reducers and patches.
 *
 * Include this file before gpu_device.cuh, which it replaces. Each lane has its own stack. A lane
 * runs until a warp-level operation or an atomic operation; then a random lane continues, so that
 * warps interfere as they do on a device. Blocks run one after the other, and all warps of a block
 * run concurrently. A program has one such device, which only one thread may use. The program ends
 * with a message if lanes deadlock, or if a lane uses a mask that does not include the lane.
 */
#ifndef PASTA_REDUCE_GPU_HOST_H
#define PASTA_REDUCE_GPU_HOST_H

#ifdef __CUDACC__
#error "gpu_host.h is for the host's C++ compiler, not for nvcc"
#endif
#ifdef PASTA_REDUCE_GPU_DEVICE_CUH
#error "include gpu_host.h, or <pasta/reducer_host.h>, before the reducer"
#endif
#define PASTA_REDUCE_GPU_DEVICE_CUH

#include <stdint.h>
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

#define __CUDA_ARCH__ 900
#define __device__
/* The macro __noinline__ is empty, because GCC's headers use this name as an attribute. */
#define __noinline__
#define __forceinline__ inline __attribute__((always_inline))

typedef unsigned long long warp_word;

/* AddressSanitizer makes programs about four times slower, so tests run a third of the steps. */
#ifdef __SANITIZE_ADDRESS__
#define WARP_STEPS(n) ((n) / 3)
#else
#define WARP_STEPS(n) (n)
#endif

struct dim3 {
	uint32_t x, y, z;
};
struct uint4 {
	uint32_t x, y, z, w;
};

/* The position of the current lane in its thread block and grid. */
inline struct dim3 threadIdx, blockIdx, blockDim, gridDim;
/* The function that a lane calls when it sleeps, so that a test can act as the host. The pointer
 * may be NULL. */
inline void (*warp_nap)(void);

/* -- Scheduling -- */

namespace pasta_warp
{
enum { LANES = 32, THREADS_MAX = 1024, STACK = 64 << 10, GLANCE = 1 << 12, PATIENCE = 1 << 24 };
enum { IN_CODE, AFTER_CODE };

struct lane {
	ucontext_t context;
	char *stack;
	void *fake; /* state of AddressSanitizer for the lane's stack */
	bool over;
	uint32_t number, active;
	uint32_t waits; /* mask of the lanes for which this lane waits; 0 if the lane is running */
	uint32_t where; /* operation for which the lane waits, IN_CODE or AFTER_CODE */
	warp_word word, words[LANES];
};

inline struct lane *lanes[THREADS_MAX], *now;
inline uint32_t count;
inline ucontext_t home;
inline const void *home_stack;
inline size_t home_size;
inline void *home_fake;
inline void (*kernel)(void *);
inline void *argument;
inline uint64_t dice = 1, idle;

inline void set_thread(const struct lane *l)
{
	threadIdx.x = l->number % blockDim.x;
	threadIdx.y = l->number / blockDim.x % blockDim.y;
	threadIdx.z = l->number / blockDim.x / blockDim.y;
}

/* Notifies AddressSanitizer of each change of stacks. */
inline void leave(void **fake)
{
	__sanitizer_start_switch_fiber(fake, home_stack, home_size);
}

inline void arrive(void *fake)
{
	__sanitizer_finish_switch_fiber(fake, &home_stack, &home_size);
}

inline void begin(void)
{
	arrive(NULL);
	kernel(argument);
	now->over = true;
	leave(NULL);
	setcontext(&home);
}

inline void step(struct lane *l)
{
	now = l;
	set_thread(l);
	__sanitizer_start_switch_fiber(&home_fake, l->stack, STACK);
	swapcontext(&home, &l->context);
	__sanitizer_finish_switch_fiber(home_fake, NULL, NULL);
}

inline uint32_t roll(uint32_t n)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(dice >> 33) % n;
}

inline void make_lane(uint32_t i)
{
	struct lane *l = (struct lane *)calloc(1, sizeof(*l));
	char *stack = (char *)malloc(STACK);

	if (!l || !stack) {
		fprintf(stderr, "cannot allocate the lanes of a warp: out of memory\n");
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

inline bool all_wait(uint32_t left)
{
	for (uint32_t i = 0; i < left; i++)
		if (!lanes[i]->waits)
			return false;
	return true;
}

inline void run_block(void)
{
	uint32_t left;

	count = blockDim.x * blockDim.y * blockDim.z;
	for (uint32_t i = 0; i < count; i++)
		make_lane(i);
	left = count;
	while (left) {
		struct lane *l = lanes[roll(left)];

		if (++idle % GLANCE == 0 && (idle > PATIENCE || all_wait(left))) {
			fprintf(stderr, "deadlock: lanes wait for each other, because a mask "
					"names lanes that do not reach the operation\n");
			exit(1);
		}
		/* The last lane that arrives at an operation resumes the other lanes. */
		if (l->waits)
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

inline struct lane *lane_of(uint32_t warp, uint32_t lane)
{
	for (uint32_t i = 0; i < count; i++)
		if (lanes[i] && lanes[i]->number == warp * LANES + lane)
			return lanes[i];
	return NULL;
}

/* Lets other lanes run. */
inline void warp_yield(void)
{
	struct lane *l = now;

	leave(&l->fake);
	swapcontext(&l->context, &home);
	arrive(l->fake);
}

/* Runs the kernel with all blocks. A block has at most 1,024 threads. */
inline void warp_run(struct dim3 grid, struct dim3 block, void (*fn)(void *), void *arg)
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

/* -- Warp-level operations -- */

inline uint32_t lane_id(void)
{
	return now->number % LANES;
}

/* Waits until all lanes of the mask have called the same operation (`where`). Returns the words
 * that the lanes pass. */
inline const warp_word *meet(uint32_t mask, warp_word word, uint32_t where)
{
	uint32_t warp = now->number / LANES, here = 0;
	struct lane *all[LANES] = {};

	if (!(mask >> lane_id() & 1)) {
		fprintf(stderr, "a lane passed a mask that does not include the lane itself\n");
		exit(1);
	}
	now->word = word;
	now->waits = mask;
	now->where = where;
	for (uint32_t i = 0; i < LANES; i++) {
		all[i] = mask >> i & 1 ? lane_of(warp, i) : NULL;
		here += all[i] && all[i]->waits == mask && all[i]->where == where;
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
	/* Without this call of warp_yield, a lane that is alone in its mask would never let other
	 * warps run. */
	warp_yield();
	return now->words;
}
} // namespace pasta_warp

using pasta_warp::lane_id;
using pasta_warp::warp_run;
using pasta_warp::warp_yield;

/* Sets the mask of the lanes that execute the next instruction together. */
static inline void warp_together(uint32_t mask)
{
	pasta_warp::now->active = mask;
}

static inline uint32_t __activemask(void)
{
	return pasta_warp::now->active;
}

static inline uint32_t processor_id(void)
{
	return blockIdx.x;
}

static inline uint64_t device_time(void)
{
	static uint64_t time = 1000;

	return time++;
}

static inline const warp_word *warp_meet(uint32_t mask, warp_word word)
{
	return pasta_warp::meet(mask, word, pasta_warp::IN_CODE);
}

static inline uint32_t __ballot_sync(uint32_t mask, int what)
{
	const warp_word *words = warp_meet(mask, what != 0);
	uint32_t result = 0;

	for (uint32_t i = 0; i < pasta_warp::LANES; i++)
		if (mask >> i & 1 && words[i])
			result |= 1u << i;
	return result;
}

static inline uint32_t __match_any_sync(uint32_t mask, warp_word key)
{
	const warp_word *words = warp_meet(mask, key);
	uint32_t result = 0;

	for (uint32_t i = 0; i < pasta_warp::LANES; i++)
		if (mask >> i & 1 && words[i] == key)
			result |= 1u << i;
	return result;
}

static inline warp_word __shfl_sync(uint32_t mask, warp_word word, int lane)
{
	return warp_meet(mask, word)[lane];
}

static inline int __all_sync(uint32_t mask, int what)
{
	return __ballot_sync(mask, what) == mask;
}

static inline int __any_sync(uint32_t mask, int what)
{
	return __ballot_sync(mask, what) != 0;
}

static inline void __syncwarp(uint32_t mask)
{
	warp_meet(mask, 0);
}

static inline uint32_t __popc(uint32_t n)
{
	return (uint32_t)__builtin_popcount(n);
}

static inline int __ffs(int n)
{
	return __builtin_ffs(n);
}

static inline void __threadfence(void)
{
	warp_yield();
}

static inline void __threadfence_system(void)
{
	warp_yield();
}

static inline void __nanosleep(uint32_t ns)
{
	if (warp_nap)
		warp_nap();
	warp_yield();
}

template <typename T> static inline T *global(T *p)
{
	return p;
}

template <typename T> static inline T afresh(T x)
{
	return x;
}

template <typename T> static inline T read_whole(const T *p)
{
	T whole;

	memcpy(&whole, p, sizeof(whole));
	return whole;
}

static inline uint64_t read_host(const uint64_t *p)
{
	return *(const volatile uint64_t *)p;
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
	return {x, y, z, w};
}

/* Stores the new value of an atomic operation, and returns the old value. All atomic operations of
 * CUDA use this function. The types may differ if their sizes are equal. */
template <typename T> static inline T warp_replace(T *p, T value)
{
	T was = read_whole(p);

	memcpy(p, &value, sizeof(value));
	warp_yield();
	return was;
}

template <typename T, typename U> static inline T atomicAdd(T *p, U n)
{
	return warp_replace(p, (T)(read_whole(p) + n));
}

static inline void add64(uint64_t *p, uint64_t n)
{
	warp_replace(p, read_whole(p) + n);
}

template <typename T, typename U> static inline T atomicMax(T *p, U n)
{
	return warp_replace(p, read_whole(p) > n ? read_whole(p) : (T)n);
}

template <typename T, typename U> static inline T atomicMin(T *p, U n)
{
	return warp_replace(p, read_whole(p) < n ? read_whole(p) : (T)n);
}

template <typename T, typename U> static inline T atomicExch(T *p, U n)
{
	return warp_replace(p, (T)n);
}

template <typename T, typename U> static inline T atomicCAS(T *p, U was, U is)
{
	return warp_replace(p, read_whole(p) == (T)was ? (T)is : read_whole(p));
}

#endif
