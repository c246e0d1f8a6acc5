/* cltrace.h - runs instrumented kernels on PoCL, and counts their accesses by line and memory. */
#ifndef PASTA_TESTS_CLTRACE_H
#define PASTA_TESTS_CLTRACE_H

#include "unit/support.h"

#include "handlers/opencl/trace/trace.h"

enum { CLT_BUFFERS = 6, CLT_LOCAL = CLT_BUFFERS, CLT_PRIVATE, CLT_CONSTANT, CLT_ELSEWHERE };
enum { CLT_WHERE = CLT_ELSEWHERE + 1, CLT_LINES = 4096 };

struct clt_counts {
	uint64_t loads, stores, load_bytes, store_bytes;
};

static cl_device_id clt_device;
static cl_context clt_context;
static cl_command_queue clt_queue;
static cl_icd_dispatch clt_cl;
static struct pasta_trace_module clt_module;
static struct {
	uint64_t base, size;
} clt_buffer[CLT_BUFFERS];
static struct clt_counts clt_seen[CLT_LINES][CLT_WHERE];
static uint64_t clt_items, clt_wrong;

/* PoCL and its compiler don't free their caches. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libstdc++\n";
}

/* -- Hooks -- */

#define CLT_ADD(where, n) __atomic_fetch_add(&(where), n, __ATOMIC_RELAXED)
#define CLT_TOKEN UINT64_C(0xfedcba9876543210)

static int clt_where(uint64_t addr, const struct pasta_trace_site *s)
{
	for (int i = 0; i < CLT_BUFFERS; i++)
		if (addr >= clt_buffer[i].base &&
		    addr + s->bytes <= clt_buffer[i].base + clt_buffer[i].size)
			return s->space == PASTA_TRACE_GLOBAL ? i : CLT_ELSEWHERE;
	if (s->space == PASTA_TRACE_LOCAL)
		return CLT_LOCAL;
	if (s->space == PASTA_TRACE_PRIVATE)
		return CLT_PRIVATE;
	return s->space == PASTA_TRACE_CONSTANT ? CLT_CONSTANT : CLT_ELSEWHERE;
}

static void clt_count(uint64_t addr, const struct pasta_trace_site *s)
{
	struct clt_counts *c = &clt_seen[s->line % CLT_LINES][clt_where(addr, s)];

	if (s->does & (PASTA_TRACE_LOAD | PASTA_TRACE_ATOMIC)) {
		CLT_ADD(c->loads, 1);
		CLT_ADD(c->load_bytes, s->bytes);
	}
	if (s->does & (PASTA_TRACE_STORE | PASTA_TRACE_ATOMIC)) {
		CLT_ADD(c->stores, 1);
		CLT_ADD(c->store_bytes, s->bytes);
	}
}

static void clt_enter(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		      uint32_t group_size)
{
	CLT_ADD(clt_items, 1);
	if (token != CLT_TOKEN || item >= group_size)
		CLT_ADD(clt_wrong, 1);
}

static void clt_argument(uint64_t token, uint32_t index, uint64_t addr)
{
	if (index < CLT_BUFFERS && clt_buffer[index].base && clt_buffer[index].base != addr)
		CLT_ADD(clt_wrong, 1);
}

static void clt_access(uint64_t addr, uint32_t site, uint32_t item)
{
	clt_count(addr, &clt_module.sites[site]);
}

static void clt_range(uint64_t addr, uint32_t site, uint32_t item, uint64_t count, uint64_t stride)
{
	for (uint64_t i = 0; !item && i < count; i++)
		clt_count(addr + i * stride, &clt_module.sites[site]);
}

/* -- Programs -- */

static cl_program clt_build(const char *source)
{
	const struct pasta_trace_subscribe subscribe = {0};
	struct pasta_trace_part part = {0};
	struct pasta_error err = {0};
	cl_program program = NULL;
	char log[4096] = "";

	pasta_trace_module_free(&clt_module);
	part.program = clCreateProgramWithSource(clt_context, 1, &source, NULL, NULL);
	if (clBuildProgram(part.program, 1, &clt_device, NULL, NULL, NULL)) {
		clGetProgramBuildInfo(part.program, clt_device, CL_PROGRAM_BUILD_LOG,
				      sizeof(log) - 1, log, NULL);
		fail_msg("%s\n%s", log, source);
	}
	if (pasta_trace_build(&clt_cl, &part, 1, clt_device, &subscribe, &clt_module, &program,
			      &err))
		fail_msg("%s\n%s", err.text, source);
	clReleaseProgram(part.program);
	return program;
}

struct clt_launch {
	const char *kernel;
	cl_uint dims;
	size_t offset[3], global[3], local[3];
	size_t bytes[CLT_BUFFERS], local_bytes;
	void *memory[CLT_BUFFERS]; /* page-aligned; the kernel works in this memory */
	int number;
};

static cl_uint clt_arguments(const struct clt_launch *l, cl_kernel k, cl_mem mem[CLT_BUFFERS])
{
	cl_uint n = 0;

	memset(clt_buffer, 0, sizeof(clt_buffer));
	for (int i = 0; i < CLT_BUFFERS && l->bytes[i]; i++) {
		mem[i] = clCreateBuffer(clt_context, CL_MEM_USE_HOST_PTR, l->bytes[i], l->memory[i],
					NULL);
		assert_int_equal(clSetKernelArg(k, n++, sizeof(mem[i]), &mem[i]), CL_SUCCESS);
		clt_buffer[i].base = (uintptr_t)l->memory[i];
		clt_buffer[i].size = l->bytes[i];
	}
	if (l->local_bytes)
		assert_int_equal(clSetKernelArg(k, n++, l->local_bytes, NULL), CL_SUCCESS);
	if (l->number)
		assert_int_equal(clSetKernelArg(k, n++, sizeof(l->number), &l->number), CL_SUCCESS);
	return n;
}

/* Runs a kernel. Its accesses are counted in clt_seen; its results are in the launch's memory. */
static void clt_run(const struct clt_launch *l, cl_program program)
{
	cl_kernel k = clCreateKernel(program, l->kernel, NULL);
	const uint64_t token = CLT_TOKEN;
	cl_mem mem[CLT_BUFFERS] = {0};

	assert_non_null(k);
	memset(clt_seen, 0, sizeof(clt_seen));
	clt_items = clt_wrong = 0;
	assert_int_equal(clSetKernelArg(k, clt_arguments(l, k, mem), sizeof(token), &token),
			 CL_SUCCESS);
	assert_int_equal(clEnqueueNDRangeKernel(clt_queue, k, l->dims, l->offset, l->global,
						l->local, 0, NULL, NULL),
			 CL_SUCCESS);
	clFinish(clt_queue);
	for (int i = 0; i < CLT_BUFFERS && mem[i]; i++) {
		void *p = clEnqueueMapBuffer(clt_queue, mem[i], CL_TRUE, CL_MAP_READ, 0,
					     l->bytes[i], 0, NULL, NULL, NULL);

		assert_ptr_equal(p, l->memory[i]);
		clEnqueueUnmapMemObject(clt_queue, mem[i], p, 0, NULL, NULL);
		clFinish(clt_queue);
		clReleaseMemObject(mem[i]);
	}
	clReleaseKernel(k);
	assert_int_equal(clt_wrong, 0);
}

/* -- The device -- */

static int clt_open(void **state)
{
	cl_int status = CL_SUCCESS;

	clt_cl.clGetDeviceInfo = clGetDeviceInfo;
	clt_cl.clGetPlatformInfo = clGetPlatformInfo;
	clt_cl.clGetProgramInfo = clGetProgramInfo;
	clt_cl.clCreateProgramWithSource = clCreateProgramWithSource;
	clt_cl.clCreateProgramWithBinary = clCreateProgramWithBinary;
	clt_cl.clCompileProgram = clCompileProgram;
	clt_cl.clBuildProgram = clBuildProgram;
	clt_cl.clReleaseProgram = clReleaseProgram;
	pasta_trace_hooks =
		(struct pasta_trace_hooks){clt_enter, clt_argument, clt_access, clt_range};
	clt_context = clCreateContext(NULL, 1, &clt_device, NULL, NULL, &status);
	clt_queue = clCreateCommandQueueWithProperties(clt_context, clt_device, NULL, &status);
	return status;
}

static int clt_close(void **state)
{
	pasta_trace_module_free(&clt_module);
	clReleaseCommandQueue(clt_queue);
	clReleaseContext(clt_context);
	return 0;
}

/* Opens PoCL's device, whichever platform it is, with a kernel cache of its own. */
static bool clt_find(void)
{
	cl_platform_id list[16];
	char name[128], *cache = NULL;
	cl_uint n = 0;

	if (getenv("BUILD") && !getenv("POCL_CACHE_DIR") &&
	    asprintf(&cache, "%s/tests/pocl-cache", getenv("BUILD")) > 0)
		setenv("POCL_CACHE_DIR", cache, 0);
	free(cache);
	if (clGetPlatformIDs(16, list, &n) != CL_SUCCESS)
		return false;
	for (cl_uint i = 0; i < n && i < 16; i++)
		if (!clGetPlatformInfo(list[i], CL_PLATFORM_NAME, sizeof(name), name, NULL) &&
		    !strcmp(name, "Portable Computing Language") &&
		    !clGetDeviceIDs(list[i], CL_DEVICE_TYPE_CPU, 1, &clt_device, NULL))
			return true;
	printf("skipped: PoCL is not here: run scripts/bootstrap\n");
	return false;
}

#endif
