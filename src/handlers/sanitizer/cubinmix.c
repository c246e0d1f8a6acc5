/*
 * cubinmix.c - classifies instructions of CUDA devices by their effect on memory.
 *
 * From sm_70 on an instruction has 16 bytes. The lowest nine bits are the operation; the next three
 * bits are the form of its operands (register, immediate, constant, uniform register). NVIDIA
 * documents neither. The operations below were determined with ptxas 13.0 for sm_75, 80, 90a, 100a
 * and 120a: a kernel was compiled with and without one PTX instruction, and the results were
 * compared (tests/unit/cubinops.h contains them). nvdisasm prints the same names. Operations that
 * did not occur are counted only in "all".
 */
#include <string.h>

#include "handlers/sanitizer/cubin.h"

#define OPERATION 0x1ff
#define INSTRUCTION 16

enum { SM_FIRST = 75, SM_ALIKE = 90, SM_LAST = 121 };

#define AT(field) (offsetof(struct pasta_cubin_mix, field) / sizeof(uint32_t))

/* For each operation, the member of struct pasta_cubin_mix that counts it. Other operations have 0,
 * the member `all`. */
static const uint8_t classes[OPERATION + 1] = {
	/* ldmatrix, stmatrix */
	[0x03b] = AT(matrix),
	[0x044] = AT(matrix),
	/* PTX: bar.sync, bar.arrive and bar.red; barrier.cluster.arrive and .wait */
	[0x11d] = AT(barriers),
	[0x1c7] = AT(barriers),
	/* PTX: tex, tld4, tex of integers, tex.grad; suld, sust.p, sust, sured */
	[0x160] = AT(textures),
	[0x163] = AT(textures),
	[0x166] = AT(textures),
	[0x16c] = AT(textures),
	[0x199] = AT(textures),
	[0x19b] = AT(textures),
	[0x19d] = AT(textures),
	[0x19f] = AT(textures),
	/* PTX: ld.global.v8 and st.global.v8 of sm_100, then the others; multimem.ld_reduce */
	[0x17e] = AT(global_loads),
	[0x17f] = AT(global_stores),
	[0x181] = AT(global_loads),
	[0x186] = AT(global_stores),
	[0x1a4] = AT(global_loads),
	/* PTX: ld and st, also ld.shared::cluster and st.shared::cluster */
	[0x180] = AT(generic_loads),
	[0x185] = AT(generic_stores),
	/* ld.local, st.local */
	[0x183] = AT(local),
	[0x187] = AT(local),
	/* PTX: ld.shared, st.shared, atom.shared, atom.shared.cas */
	[0x184] = AT(shared),
	[0x188] = AT(shared),
	[0x18c] = AT(shared),
	[0x18d] = AT(shared),
	/* PTX: atom and atom.cas, generic; red.global, for floats from sm_90 on; atom.global and
	 * atom.global.cas */
	[0x18a] = AT(atomics),
	[0x18b] = AT(atomics),
	[0x18e] = AT(atomics),
	[0x1a3] = AT(atomics),
	[0x1a6] = AT(atomics),
	[0x1a8] = AT(atomics),
	[0x1a9] = AT(atomics),
	/* PTX: mbarrier.arrive and .try_wait; cp.async.mbarrier.arrive; mbarrier.inval and .init */
	[0x1a7] = AT(mbarriers),
	[0x1b0] = AT(mbarriers),
	[0x1b1] = AT(mbarriers),
	[0x1b2] = AT(mbarriers),
	/* cp.async */
	[0x1ae] = AT(async_copies),
	/* PTX: cp.async.bulk.tensor from and to global memory, cp.reduce.async.bulk.tensor */
	[0x1b4] = AT(tensor_copies),
	[0x1b5] = AT(tensor_copies),
	[0x1b6] = AT(tensor_copies),
	/* cp.async.bulk, cp.reduce.async.bulk */
	[0x1ba] = AT(bulk_copies),
	[0x1bb] = AT(bulk_copies),
	/* cp.async.bulk.prefetch.tensor, cp.async.bulk.prefetch */
	[0x1b8] = AT(prefetches),
	[0x1bc] = AT(prefetches),
	/* st.async, red.async */
	[0x1bd] = AT(remote),
	[0x1be] = AT(remote),
	/* PTX: st.bulk; tcgen05.cp, tcgen05.mma; wgmma for floats, integers, bits and 8-bit
	 * floats */
	[0x1cb] = AT(bulk_sets),
	[0x1e7] = AT(tensor_cores),
	[0x1ea] = AT(tensor_cores),
	[0x1f0] = AT(tensor_cores),
	[0x1f1] = AT(tensor_cores),
	[0x1f2] = AT(tensor_cores),
	[0x1f3] = AT(tensor_cores),
};

/* Operations on textures and surfaces before sm_90, for handles that are neither a parameter nor
 * a constant. */
static const uint8_t older[OPERATION + 1] = {
	[0x161] = AT(textures), [0x164] = AT(textures), [0x167] = AT(textures),
	[0x16d] = AT(textures), [0x19a] = AT(textures), [0x19c] = AT(textures),
	[0x19e] = AT(textures), [0x1a0] = AT(textures),
};

bool pasta_cubin_classify(unsigned int sm, const uint8_t *code, size_t size,
			  struct pasta_cubin_mix *mix)
{
	uint32_t counts[sizeof(*mix) / sizeof(uint32_t)] = {0};

	if (sm < SM_FIRST || sm > SM_LAST)
		return false;
	for (size_t at = 0; size - at >= INSTRUCTION; at += INSTRUCTION) {
		unsigned int operation = (code[at] | code[at + 1] << 8) & OPERATION;

		counts[sm < SM_ALIKE && older[operation] ? older[operation] : classes[operation]]++;
	}
	/* The count "all" includes the instructions of the other classes. */
	for (size_t i = 1; i < sizeof(counts) / sizeof(counts[0]); i++)
		counts[0] += counts[i];
	memcpy(mix, counts, sizeof(*mix));
	return true;
}

_Static_assert(offsetof(struct pasta_cubin_mix, all) == 0,
	       "'all' must be the first member of struct pasta_cubin_mix");
