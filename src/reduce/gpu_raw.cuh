/* gpu_raw.cuh - writes the records of raw accesses on NVIDIA devices to a ring in host memory. */
#ifndef PASTA_REDUCE_GPU_RAW_CUH
#define PASTA_REDUCE_GPU_RAW_CUH

#include "reduce/gpu_count.cuh"

#define NO_ROOM UINT64_MAX
enum { NAP_NS = 1000 };

/* Updates the device's copy of the ring's member `consumed`. Host memory is slow to access, and
 * thousands of lanes may wait, so one lane reads the value for all. The copy is never larger than
 * the original. */
INLINE void refresh_consumed(struct pasta_gpu_raw *raw)
{
	uint64_t consumed;

	if (atomicCAS(&raw->looking, 0u, 1u))
		return;
	consumed = read_host(&global(raw->ring)->consumed);
	if (read_host(&global(raw->ring)->stop))
		*(volatile uint32_t *)&raw->stopped = 1;
	__threadfence_system();
	atomicMax((unsigned long long *)&raw->seen, (unsigned long long)consumed);
	atomicExch(&raw->looking, 0u);
}

/* Returns whether the ring has room for all records before the position `end`. */
INLINE bool has_room(struct pasta_gpu_raw *raw, uint64_t end)
{
	uint64_t room = 2 * (uint64_t)raw->half;

	if (end <= PASTA_READ64(&raw->seen) + room)
		return true;
	refresh_consumed(raw);
	return end <= PASTA_READ64(&raw->seen) + room;
}

/* Reserves slots, and waits for room. Lanes with earlier slots are running and will write their
 * records, so the host can consume these records. Only the host can be stuck; in that case the host
 * sets `stop`. */
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

/* Reserves slots if there is room for the records. Records without room do not reserve slots,
 * because a half of the ring with gaps would never be full. */
INLINE uint64_t reserve_or_drop(struct pasta_gpu_raw *raw, uint32_t count)
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
	uint64_t at = raw->wait ? reserve_and_wait(raw, count) : reserve_or_drop(raw, count);

	if (at == NO_ROOM)
		add64(&raw->dropped, count);
	return at;
}

/* Adds `count` to the number of records that are written to a half of the ring. Each lane writes
 * its records before this call. The lane that completes a half reports the half to the host. */
INLINE void add_filled(struct pasta_gpu_raw *raw, uint32_t which, uint32_t count)
{
	unsigned long long *filled = (unsigned long long *)&raw->filled[which];
	uint64_t now = atomicAdd(filled, (unsigned long long)count) + count;

	if (now & (raw->half - 1))
		return;
	__threadfence_system();
	*(volatile uint64_t *)&global(raw->ring)->filled[which] = now;
}

/* Counts the records of a request as written. The records may extend into the other half of the
 * ring. */
INLINE void report_filled(struct pasta_gpu_raw *raw, uint64_t at, uint32_t count)
{
	uint32_t half = raw->half, left = half - ((uint32_t)at & (half - 1));
	uint32_t which = (at & half) != 0, here = count < left ? count : left;

	add_filled(raw, which, here);
	if (count > here)
		add_filled(raw, !which, count - here);
}

/* These functions return the two words of 16 bytes that make up a record. */
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

/* Writes the records of a full warp. Adjacent lanes write adjacent words, so that the transfers to
 * the host are long. */
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

/* Writes the records of a request together, in the order of their threads. The position of the
 * first record becomes the member `turn` of all these records. */
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
		report_filled(raw, at, count);
}

#endif
