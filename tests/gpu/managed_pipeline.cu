/*
 * managed_pipeline.cu - a pipeline over managed memory whose traffic has a closed form.
 *
 * The host fills N bytes, a kernel changes them, the host reads them, and so ROUNDS times; a second
 * array is prefetched to the device instead. Prints what must have happened at least.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { COUNT = 4 << 20, ROUNDS = 3 };

__global__ void change(uint32_t *values, uint32_t count, uint32_t by)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		values[i] += by;
}

int main()
{
	uint32_t *faulted, *prefetched, wrong = 0;
	const size_t bytes = COUNT * sizeof(uint32_t);
#if CUDART_VERSION >= 13000
	const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
#define PREFETCH(p) cudaMemPrefetchAsync(p, bytes, device, 0, 0)
#else
#define PREFETCH(p) cudaMemPrefetchAsync(p, bytes, 0, 0)
#endif

	CHECK(cudaMallocManaged(&faulted, bytes));
	CHECK(cudaMallocManaged(&prefetched, bytes));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < COUNT; i++)
			faulted[i] = prefetched[i] = i + round;
		change<<<128, 256>>>(faulted, COUNT, 1);
		CHECK(PREFETCH(prefetched));
		change<<<128, 256>>>(prefetched, COUNT, 2);
		CHECK(cudaDeviceSynchronize());
		for (uint32_t i = 0; i < COUNT; i++)
			wrong += faulted[i] != i + round + 1 || prefetched[i] != i + round + 2;
	}
	CHECK(cudaFree(faulted));
	CHECK(cudaFree(prefetched));
	printf("{\"kernels\": %d, \"managed_bytes\": %zu, \"to_device_least\": %zu, "
	       "\"to_host_least\": %zu}\n",
	       2 * ROUNDS, 2 * bytes, 2 * ROUNDS * bytes, 2 * ROUNDS * bytes);
	return wrong != 0;
}
