// params.cu - kernels whose parameters test_cubin knows.
#include <cuda.h>

struct odd {
	char bytes[3];
};

struct large {
	char bytes[4100];
};

extern "C" __global__ void few(float *a, int n, double d, char c, odd o)
{
	a[n] = d + c + o.bytes[1];
}

extern "C" __global__ void map(const __grid_constant__ CUtensorMap m, float *out)
{
	out[0] = ((const float *)&m)[3];
}

extern "C" __global__ void many(const __grid_constant__ large l, int *out)
{
	out[0] = l.bytes[blockIdx.x];
}

extern "C" __global__ void none() {}
