/* measurecuda.c - measures NVIDIA's GPUs with copies of the driver and products of cuBLAS. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure.h"

/* The constants are those of cuda.h, library_types.h and cublas_api.h. */
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_32F_PEDANTIC = 69, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77 };
enum { GEMM_DEFAULT = -1, OP_N = 0 };

/* Size of a copy; all three matrices of a product fit into one such buffer. */
#define COPY_BYTES ((size_t)512 << 20)
#define HOST_BYTES ((size_t)256 << 20)
enum { ROUNDS = 5, REPEATS = 8 };

typedef unsigned long long cudaptr;
struct cuda_api {
	int (*cuInit)(unsigned int);
	int (*cuDeviceGetCount)(int *);
	int (*cuDeviceGet)(int *, int);
	int (*cuDeviceGetName)(char *, int, int);
	int (*cuDevicePrimaryCtxRetain)(void **, int);
	int (*cuDevicePrimaryCtxRelease_v2)(int);
	int (*cuCtxSetCurrent)(void *);
	int (*cuMemAlloc_v2)(cudaptr *, size_t);
	int (*cuMemFree_v2)(cudaptr);
	int (*cuMemHostAlloc)(void **, size_t, unsigned int);
	int (*cuMemFreeHost)(void *);
	int (*cuMemcpyDtoDAsync_v2)(cudaptr, cudaptr, size_t, void *);
	int (*cuMemcpyHtoDAsync_v2)(cudaptr, const void *, size_t, void *);
	int (*cuMemcpyDtoHAsync_v2)(void *, cudaptr, size_t, void *);
	int (*cuEventCreate)(void **, unsigned int);
	int (*cuEventDestroy_v2)(void *);
	int (*cuEventRecord)(void *, void *);
	int (*cuEventSynchronize)(void *);
	int (*cuEventElapsedTime)(float *, void *, void *);
	int (*cuGetErrorName)(int, const char **);
	/* cuBLAS; NULL: cuBLAS is not installed */
	int (*cublasCreate_v2)(void **);
	int (*cublasDestroy_v2)(void *);
	int (*cublasGemmEx)(void *, int, int, int, int, int, const void *, const void *, int, int,
			    const void *, int, int, const void *, void *, int, int, int, int);
};

struct cuda_function {
	const char *name;
	size_t offset;
};
#define CUDA_FUNCTION(name)                                                                        \
	{                                                                                          \
#name, offsetof(struct cuda_api, name)                                             \
	}
static const struct cuda_function cuda_driver[] = {
	CUDA_FUNCTION(cuInit),
	CUDA_FUNCTION(cuDeviceGetCount),
	CUDA_FUNCTION(cuDeviceGet),
	CUDA_FUNCTION(cuDeviceGetName),
	CUDA_FUNCTION(cuDevicePrimaryCtxRetain),
	CUDA_FUNCTION(cuDevicePrimaryCtxRelease_v2),
	CUDA_FUNCTION(cuCtxSetCurrent),
	CUDA_FUNCTION(cuMemAlloc_v2),
	CUDA_FUNCTION(cuMemFree_v2),
	CUDA_FUNCTION(cuMemHostAlloc),
	CUDA_FUNCTION(cuMemFreeHost),
	CUDA_FUNCTION(cuMemcpyDtoDAsync_v2),
	CUDA_FUNCTION(cuMemcpyHtoDAsync_v2),
	CUDA_FUNCTION(cuMemcpyDtoHAsync_v2),
	CUDA_FUNCTION(cuEventCreate),
	CUDA_FUNCTION(cuEventDestroy_v2),
	CUDA_FUNCTION(cuEventRecord),
	CUDA_FUNCTION(cuEventSynchronize),
	CUDA_FUNCTION(cuEventElapsedTime),
	CUDA_FUNCTION(cuGetErrorName),
};
static const struct cuda_function cuda_blas[] = {
	CUDA_FUNCTION(cublasCreate_v2),
	CUDA_FUNCTION(cublasDestroy_v2),
	CUDA_FUNCTION(cublasGemmEx),
};

/* The device that is being measured. */
struct cudameasure {
	const struct cuda_api *api;
	void *begin, *end, *host, *blas;
	cudaptr from, to;
	char error[200];
};

static bool cuda_bind(void *library, const struct cuda_function *functions, size_t count,
		      struct cuda_api *api, char *why, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function) {
			snprintf(why, size, "the library has no function %s", functions[i].name);
			return false;
		}
		memcpy((char *)api + functions[i].offset, &function, sizeof(function));
	}
	return true;
}

/* Binds cuBLAS of any version from 11 on. */
static void cuda_bind_blas(struct cuda_api *api, char *why, size_t size)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					    "libcublas.so"};
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		snprintf(why, size,
			 "cannot load cuBLAS, so FLOP/s are not measured: install cuBLAS, or set "
			 "LD_LIBRARY_PATH to the folder of libcublas.so");
	else if (!cuda_bind(library, cuda_blas, sizeof(cuda_blas) / sizeof(*cuda_blas), api, why,
			    size))
		api->cublasGemmEx = NULL;
}

/* Stores the error of a call. Returns whether the call succeeded. */
static bool cuda_ok(struct cudameasure *m, int status, const char *call)
{
	const char *name = NULL;

	if (!status)
		return true;
	if (m->api->cuGetErrorName(status, &name) || !name)
		name = "unknown error";
	if (!m->error[0])
		snprintf(m->error, sizeof(m->error), "%s failed: %s (%d)", call, name, status);
	return false;
}
#define CUDA_OK(m, call) cuda_ok((m), (m)->api->call, #call)

/* -- Times -- */

typedef bool cuda_work_fn(struct cudameasure *m, const void *ctx);

/* Returns the least time in seconds of one call of `work` in several rounds; 0: a call failed. */
static double cuda_time(struct cudameasure *m, cuda_work_fn *work, const void *ctx)
{
	double best = 0;

	for (int round = 0; round <= ROUNDS; round++) {
		float ms = 0;
		bool ok = CUDA_OK(m, cuEventRecord(m->begin, NULL));

		for (int i = 0; ok && i < REPEATS; i++)
			ok = work(m, ctx);
		if (!ok || !CUDA_OK(m, cuEventRecord(m->end, NULL)) ||
		    !CUDA_OK(m, cuEventSynchronize(m->end)) ||
		    !CUDA_OK(m, cuEventElapsedTime(&ms, m->begin, m->end)))
			return 0;
		/* The first round only warms the device up. */
		if (round && ms > 0 && (best <= 0 || ms / 1e3 / REPEATS < best))
			best = ms / 1e3 / REPEATS;
	}
	return best;
}

static bool cuda_copy(struct cudameasure *m, const void *ctx)
{
	return CUDA_OK(m, cuMemcpyDtoDAsync_v2(m->to, m->from, COPY_BYTES, NULL));
}

static bool cuda_upload(struct cudameasure *m, const void *ctx)
{
	return CUDA_OK(m, cuMemcpyHtoDAsync_v2(m->from, m->host, HOST_BYTES, NULL));
}

static bool cuda_download(struct cudameasure *m, const void *ctx)
{
	return CUDA_OK(m, cuMemcpyDtoHAsync_v2(m->host, m->from, HOST_BYTES, NULL));
}

struct cuda_product {
	int type, compute, n;
	size_t element;
};

static bool cuda_multiply(struct cudameasure *m, const void *ctx)
{
	const struct cuda_product *p = ctx;
	const float one = 1, zero = 0;
	const double one64 = 1, zero64 = 0;
	bool wide = p->compute == COMPUTE_64F;
	const void *alpha = wide ? (const void *)&one64 : &one;
	const void *beta = wide ? (const void *)&zero64 : &zero;
	size_t matrix = (size_t)p->n * (size_t)p->n * p->element;
	int status = m->api->cublasGemmEx(m->blas, OP_N, OP_N, p->n, p->n, p->n, alpha,
					  (const void *)(uintptr_t)m->from, p->type, p->n,
					  (const void *)(uintptr_t)(m->from + matrix), p->type,
					  p->n, beta, (void *)(uintptr_t)m->to, p->type, p->n,
					  p->compute, GEMM_DEFAULT);

	if (status && !m->error[0])
		snprintf(m->error, sizeof(m->error), "cublasGemmEx failed: status %d", status);
	return !status;
}

/* Returns FLOP/s, or 0. */
static double cuda_product(struct cudameasure *m, int type, int compute, int n, size_t element)
{
	const struct cuda_product product = {type, compute, n, element};
	double seconds = cuda_time(m, cuda_multiply, &product);

	return seconds > 0 ? 2.0 * n * n * n / seconds : 0;
}

/* -- Devices -- */

/* Fills memory with numbers that differ, since products of equal numbers need less power and may
 * run at a higher clock. Each is between 1 and 2 as float32 and as bfloat16. */
static void cuda_fill(void *memory, size_t bytes)
{
	uint32_t *words = memory, random = 1;

	for (size_t i = 0; i < bytes / sizeof(*words); i++) {
		random = random * 1664525u + 1013904223u;
		words[i] = (random >> 8 & 0x007f007fu) | 0x3f803f80u;
	}
}

static bool cuda_open(struct cudameasure *m)
{
	if (!CUDA_OK(m, cuEventCreate(&m->begin, 0)) || !CUDA_OK(m, cuEventCreate(&m->end, 0)) ||
	    !CUDA_OK(m, cuMemHostAlloc(&m->host, HOST_BYTES, 0)) ||
	    !CUDA_OK(m, cuMemAlloc_v2(&m->from, COPY_BYTES)) ||
	    !CUDA_OK(m, cuMemAlloc_v2(&m->to, COPY_BYTES)))
		return false;
	cuda_fill(m->host, HOST_BYTES);
	for (size_t at = 0; at < COPY_BYTES; at += HOST_BYTES)
		if (!CUDA_OK(m, cuMemcpyHtoDAsync_v2(m->from + at, m->host, HOST_BYTES, NULL)))
			return false;
	return true;
}

static void cuda_close(struct cudameasure *m)
{
	if (m->blas)
		m->api->cublasDestroy_v2(m->blas);
	if (m->to)
		m->api->cuMemFree_v2(m->to);
	if (m->from)
		m->api->cuMemFree_v2(m->from);
	if (m->host)
		m->api->cuMemFreeHost(m->host);
	if (m->end)
		m->api->cuEventDestroy_v2(m->end);
	if (m->begin)
		m->api->cuEventDestroy_v2(m->begin);
}

static void cuda_products(struct cudameasure *m, struct pasta_peaks *peaks)
{
	int status = m->api->cublasCreate_v2(&m->blas);

	if (status) {
		m->blas = NULL;
		snprintf(m->error, sizeof(m->error), "cublasCreate failed: status %d", status);
		return;
	}
	peaks->half = cuda_product(m, CUDA_R_16BF, COMPUTE_32F, 8192, 2);
	peaks->tf32 = cuda_product(m, CUDA_R_32F, COMPUTE_32F_FAST_TF32, 8192, 4);
	peaks->fp32 = cuda_product(m, CUDA_R_32F, COMPUTE_32F_PEDANTIC, 4096, 4);
	peaks->fp64 = cuda_product(m, CUDA_R_64F, COMPUTE_64F, 2048, 8);
}

static void cuda_measure(struct cudameasure *m, struct pasta_peaks *peaks)
{
	double copy, up, down;

	if (!cuda_open(m))
		return;
	copy = cuda_time(m, cuda_copy, NULL);
	up = cuda_time(m, cuda_upload, NULL);
	down = cuda_time(m, cuda_download, NULL);
	/* A copy reads and writes. */
	peaks->memory = copy > 0 ? 2.0 * COPY_BYTES / copy : 0;
	peaks->h2d = up > 0 ? (double)HOST_BYTES / up : 0;
	peaks->d2h = down > 0 ? (double)HOST_BYTES / down : 0;
	if (m->api->cublasGemmEx && !m->error[0])
		cuda_products(m, peaks);
}

static void cuda_device(const struct cuda_api *api, int number, const char *missing,
			pasta_measure_fn *result, void *ctx)
{
	struct pasta_peaks peaks = {.size = sizeof(peaks), .measured = 1};
	struct cudameasure m = {.api = api};
	char name[256] = "CUDA device";
	void *context = NULL;
	int device;

	if (!CUDA_OK(&m, cuDeviceGet(&device, number)) ||
	    !CUDA_OK(&m, cuDeviceGetName(name, sizeof(name), device)) ||
	    !CUDA_OK(&m, cuDevicePrimaryCtxRetain(&context, device))) {
		result(ctx, name, NULL, m.error);
		return;
	}
	if (CUDA_OK(&m, cuCtxSetCurrent(context))) {
		cuda_measure(&m, &peaks);
		cuda_close(&m);
		api->cuCtxSetCurrent(NULL);
	}
	api->cuDevicePrimaryCtxRelease_v2(device);
	result(ctx, name, &peaks, m.error[0] ? m.error : *missing ? missing : NULL);
}

bool pasta_measure_cuda(pasta_measure_fn *result, void *ctx, char *why, size_t size)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct cuda_api api = {NULL};
	char missing[200] = "";
	int status, count = 0;

	if (!library) {
		snprintf(why, size,
			 "cannot load libcuda.so.1: there is no NVIDIA GPU, or its "
			 "driver is not installed");
		return false;
	}
	if (!cuda_bind(library, cuda_driver, sizeof(cuda_driver) / sizeof(*cuda_driver), &api, why,
		       size))
		return false;
	status = api.cuInit(0);
	if (!status)
		status = api.cuDeviceGetCount(&count);
	if (status || count <= 0) {
		snprintf(why, size, "the driver finds no device (error %d)", status);
		return false;
	}
	cuda_bind_blas(&api, missing, sizeof(missing));
	for (int i = 0; i < count; i++)
		cuda_device(&api, i, missing, result, ctx);
	return true;
}
