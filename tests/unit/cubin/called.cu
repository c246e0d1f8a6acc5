// A function of -rdc, which is in no kernel: it copies by a tensor's descriptor.
#include <cstdint>

struct alignas(64) descriptor {
	char bytes[128];
};

__device__ __noinline__ void load(const descriptor *d, uint32_t to, uint32_t barrier)
{
	asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile"
		     ".mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(to),
		     "l"(d), "r"(0), "r"(barrier)
		     : "memory");
}

extern "C" __global__ void calls(const __grid_constant__ descriptor d)
{
	__shared__ alignas(128) char tile[4096];
	__shared__ uint64_t barrier;

	load(&d, (uint32_t)__cvta_generic_to_shared(tile),
	     (uint32_t)__cvta_generic_to_shared(&barrier));
}
