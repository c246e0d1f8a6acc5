// lines.cu - code whose lines test_cubin knows: change it, and the test changes.
__device__ __forceinline__ float inlined(float x)
{
	return x * x + 1.0f; // line 4
}

__device__ __noinline__ float called(float x)
{
	return x * 3.0f; // line 9
}

extern "C" __global__ void first(float *a, int n)
{
	int i = threadIdx.x;

	if (i < n)
		a[i] = // line 17
			inlined(a[i]);
}

extern "C" __global__ void second(float *a)
{
	a[threadIdx.x] = called(a[threadIdx.x]); // line 23
}
