/*
 * warp.h - CUDA's threads on the host, as far as the patches use them.
 *
 * Each lane has a stack of its own and runs until it meets the others, or does something atomic:
 * then it is another's turn, anyone's, so that warps get into each other's way as they do on a
 * device. One block runs after the other, all its warps at once.
 */
#ifndef PASTA_TESTS_WARP_H
#define PASTA_TESTS_WARP_H

#include <stdint.h>

#define __CUDA_ARCH__ 900
#define __device__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))

typedef unsigned long long warp_word;

/* Where AddressSanitizer looks on it takes four times as long: a third of the steps do there. */
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

/* Of the lane that runs. */
extern struct dim3 threadIdx, blockIdx, blockDim, gridDim;
extern void (*warp_nap)(void); /* someone sleeps: the host's turn */

/* The kernel, by all blocks. */
void warp_run(struct dim3 grid, struct dim3 block, void (*kernel)(void *), void *arg);
/* Until it is this lane's turn again. */
void warp_yield(void);
/* The words of all lanes of the mask, when they are all here. */
const warp_word *warp_meet(uint32_t mask, warp_word word);
/* The lanes that are at the next instruction together. */
void warp_together(uint32_t mask);

uint32_t lane_id(void);
uint64_t device_time(void);
uint32_t processor_id(void);
uint32_t __activemask(void);
uint32_t __ballot_sync(uint32_t mask, int what);
uint32_t __match_any_sync(uint32_t mask, warp_word key);
warp_word __shfl_sync(uint32_t mask, warp_word word, int lane);

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
	return *p;
}

static inline uint64_t read_host(const uint64_t *p)
{
	return *(const volatile uint64_t *)p;
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
	return {x, y, z, w};
}

/* What all of CUDA's atomics do: the new value is put there, the old one is returned. */
template <typename T> static inline T warp_replace(T *p, T value)
{
	T was = *p;

	*p = value;
	warp_yield();
	return was;
}

template <typename T, typename U> static inline T atomicAdd(T *p, U n)
{
	return warp_replace(p, (T)(*p + n));
}

static inline void add64(uint64_t *p, uint64_t n)
{
	warp_replace(p, *p + n);
}

template <typename T, typename U> static inline T atomicMax(T *p, U n)
{
	return warp_replace(p, *p > n ? *p : (T)n);
}

template <typename T, typename U> static inline T atomicMin(T *p, U n)
{
	return warp_replace(p, *p < n ? *p : (T)n);
}

template <typename T, typename U> static inline T atomicExch(T *p, U n)
{
	return warp_replace(p, (T)n);
}

template <typename T, typename U> static inline T atomicCAS(T *p, U was, U is)
{
	return warp_replace(p, *p == (T)was ? (T)is : *p);
}

#endif
