/* gpu_raw.cuh - raw accesses from NVIDIA's devices: records into a ring of the host's memory. */
#ifndef PASTA_REDUCE_GPU_RAW_CUH
#define PASTA_REDUCE_GPU_RAW_CUH

#include "reduce/gpu_count.cuh"

#define NO_ROOM UINT64_MAX
enum { NAP_NS = 1000 };

/* The host's memory is far, and thousands may wait for it: one looks there, for all. What was last
 * seen is kept near, and is never too much. */
INLINE void look(struct pasta_gpu_raw *raw)
{
	uint64_t taken;

	if (atomicCAS(&raw->looking, 0u, 1u))
		return;
	taken = read_host(&global(raw->ring)->taken);
	if (read_host(&global(raw->ring)->stop))
		*(volatile uint32_t *)&raw->stopped = 1;
	__threadfence_system();
	atomicMax((unsigned long long *)&raw->seen, (unsigned long long)taken);
	atomicExch(&raw->looking, 0u);
}

/* Whether records before end have room. */
INLINE bool has_room(struct pasta_gpu_raw *raw, uint64_t end)
{
	uint64_t room = 2 * (uint64_t)raw->half;

	if (end <= PASTA_READ64(&raw->seen) + room)
		return true;
	look(raw);
	return end <= PASTA_READ64(&raw->seen) + room;
}

/* Those who come first are in the kernel as well and will write, so that the host can take: only
 * the host may be waited for in vain, and then it says stop. */
INLINE uint64_t reserve_and_wait(struct pasta_gpu_raw *raw, uint32_t count)
{
	uint64_t at = atomicAdd((unsigned long long *)&raw->head, (unsigned long long)count);

	while (!has_room(raw, at + count)) {
		if (PASTA_READ32(&raw->stopped))
			return NO_ROOM;
		__nanosleep(NAP_NS);
	}
	return at;
}

/* What has no room takes no number either: a half with holes would never be full. */
INLINE uint64_t reserve_or_lose(struct pasta_gpu_raw *raw, uint32_t count)
{
	unsigned long long *head = (unsigned long long *)&raw->head, at = PASTA_READ64(&raw->head);

	while (has_room(raw, at + count)) {
		unsigned long long was = atomicCAS(head, at, at + count);

		if (was == at)
			return at;
		at = was;
	}
	return NO_ROOM;
}

INLINE uint64_t reserve(struct pasta_gpu_raw *raw, uint32_t count)
{
	uint64_t at = raw->wait ? reserve_and_wait(raw, count) : reserve_or_lose(raw, count);

	if (at == NO_ROOM)
		add64(&raw->lost, count);
	return at;
}

/* Who fills it up tells the host. All that was written to it was so before it was added here. */
INLINE void add_filled(struct pasta_gpu_raw *raw, uint32_t which, uint32_t count)
{
	unsigned long long *filled = (unsigned long long *)&raw->filled[which];
	uint64_t now = atomicAdd(filled, (unsigned long long)count) + count;

	if (now & (raw->half - 1))
		return;
	__threadfence_system();
	*(volatile uint64_t *)&global(raw->ring)->filled[which] = now;
}

/* A request may end in the other half. */
INLINE void tell_filled(struct pasta_gpu_raw *raw, uint64_t at, uint32_t count)
{
	uint32_t half = raw->half, left = half - ((uint32_t)at & (half - 1));
	uint32_t which = (at & half) != 0, here = count < left ? count : left;

	add_filled(raw, which, here);
	if (count > here)
		add_filled(raw, !which, count - here);
}

/* A record is two words of 16 bytes. */
INLINE uint4 first_word(const struct access *a, uint64_t addr)
{
	return make_uint4((uint32_t)addr, (uint32_t)(addr >> 32), a->size,
			  (uint32_t)(a->pc - a->launch->base));
}

INLINE uint4 second_word(const struct access *a, uint32_t thread, uint32_t turn)
{
	return make_uint4(a->launch->number, (uint32_t)block_number(), turn,
			  thread | a->kind << 16 | a->space << 24);
}

/* A whole warp's: neighbours write what lies side by side, so that the way to the host has long
 * pieces to carry. */
INLINE void write_warp(const struct access *a, uint4 *words, uint64_t at, uint64_t all)
{
	uint32_t thread = thread_number() - a->lane;

#pragma unroll
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t record = (i * PASTA_WARP + a->lane) / 2;
		uint64_t addr = __shfl_sync(~0u, (unsigned long long)a->addr, (int)record);
		uint64_t to = 2 * ((at + record) & all) + (a->lane & 1);

		words[to] = a->lane & 1 ? second_word(a, thread + record, (uint32_t)at)
					: first_word(a, addr);
	}
}

INLINE void write_records(const struct access *a, struct pasta_gpu_raw *raw, uint64_t at)
{
	uint64_t all = 2 * (uint64_t)raw->half - 1;
	uint4 *words = (uint4 *)global(raw->records);

	if (a->mask == ~0u) {
		write_warp(a, words, at, all);
	} else {
		words += 2 * ((at + __popc(a->mask & lanes_below(a->lane))) & all);
		words[0] = first_word(a, a->addr);
		words[1] = second_word(a, thread_number(), (uint32_t)at);
	}
}

/* The records of a request lie together, by their threads; where the first one lies is the turn. */
INLINE void put_raw(const struct access *a, struct pasta_gpu_raw *raw)
{
	uint32_t count = __popc(a->mask), leader = leader_of(a->mask);
	uint64_t at = 0;

	if (a->lane == leader)
		at = reserve(raw, count);
	at = __shfl_sync(a->mask, (unsigned long long)at, (int)leader);
	if (at == NO_ROOM)
		return;
	write_records(a, raw, at);
	__threadfence_system();
	__syncwarp(a->mask);
	if (a->lane == leader)
		tell_filled(raw, at, count);
}

#endif
