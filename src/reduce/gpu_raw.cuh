/* gpu_raw.cuh - raw accesses from NVIDIA's devices: records into a ring of the host's memory. */
#ifndef PASTA_REDUCE_GPU_RAW_CUH
#define PASTA_REDUCE_GPU_RAW_CUH

#include "reduce/gpu_count.cuh"

#define NO_ROOM UINT64_MAX
enum { NAP_NS = 1000 };

/* Whether records before end have room. The host's memory is far: what was last seen of it is kept
 * near, and is never too much. */
INLINE bool has_room(struct pasta_gpu_raw *raw, uint64_t end)
{
	uint64_t room = 2 * (uint64_t)raw->half, taken;

	if (end <= PASTA_READ64(&raw->seen) + room)
		return true;
	taken = read_host(&raw->ring->taken);
	atomicMax((unsigned long long *)&raw->seen, (unsigned long long)taken);
	return end <= taken + room;
}

/* Those who come first are in the kernel as well and will write, so that the host can take: only
 * the host may be waited for in vain, and then it says stop. */
INLINE uint64_t reserve_and_wait(struct pasta_gpu_raw *raw, uint32_t count)
{
	uint64_t at = atomicAdd((unsigned long long *)&raw->head, (unsigned long long)count);

	while (!has_room(raw, at + count)) {
		if (read_host(&raw->ring->stop))
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
		PASTA_ADD64(&raw->lost, count);
	return at;
}

/* A request may end in the other half. */
INLINE void tell_filled(struct pasta_gpu_raw *raw, uint64_t at, uint32_t count)
{
	uint32_t half = raw->half, left = half - ((uint32_t)at & (half - 1));
	uint32_t which = (at & half) != 0, here = count < left ? count : left;
	unsigned long long *filled = (unsigned long long *)raw->ring->filled;

	atomicAdd_system(&filled[which], (unsigned long long)here);
	if (count > here)
		atomicAdd_system(&filled[!which], (unsigned long long)(count - here));
}

/* In two stores of 16 bytes each. */
INLINE void write_record(const struct access *a, struct pasta_access *to, uint32_t turn)
{
	uint32_t site = (uint32_t)(a->pc - a->launch->base), group = (uint32_t)block_number();
	uint4 *words = (uint4 *)to;

	words[0] = make_uint4((uint32_t)a->addr, (uint32_t)(a->addr >> 32), a->size, site);
	words[1] = make_uint4(a->launch->number, group, turn,
			      thread_number() | a->kind << 16 | a->space << 24);
}

/* The records of a request lie together, by their threads; where the first one lies is the turn. */
INLINE void put_raw(const struct access *a, struct pasta_gpu_raw *raw)
{
	uint32_t count = __popc(a->mask), leader = leader_of(a->mask);
	uint32_t rank = __popc(a->mask & lanes_below(a->lane));
	uint64_t at = 0, all = 2 * (uint64_t)raw->half - 1;

	if (a->lane == leader)
		at = reserve(raw, count);
	at = __shfl_sync(a->mask, (unsigned long long)at, (int)leader);
	if (at == NO_ROOM)
		return;
	write_record(a, &raw->records[(at + rank) & all], (uint32_t)at);
	__threadfence_system();
	__syncwarp(a->mask);
	if (a->lane == leader)
		tell_filled(raw, at, count);
}

#endif
