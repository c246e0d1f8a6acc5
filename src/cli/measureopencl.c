/* measureopencl.c - measures OpenCL devices with kernels that copy and multiply. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "cli/measure.h"

enum { PLATFORMS = 16, DEVICES = 16, ROUNDS = 5 };
#define COPY_BYTES ((size_t)256 << 20)
/* Each work-item has eight chains of four numbers, so that multiplications do not wait for each
 * other. */
enum { ITEMS = 1 << 16, TURNS = 1 << 9, CHAINS = 8, WIDTH = 4 };

static const char opencl_source[] =
	"__kernel void pasta_copy(__global const float4 *from, __global float4 *to)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	to[i] = from[i];\n"
	"}\n"
	"__kernel void pasta_multiply(__global REAL *to, REAL by, int turns)\n"
	"{\n"
	"	REAL4 a = (REAL4)get_global_id(0), b = a + 1, c = a + 2, d = a + 3;\n"
	"	REAL4 e = a + 4, f = a + 5, g = a + 6, h = a + 7, x = (REAL4)by;\n"
	"	for (int i = 0; i < turns; i++) {\n"
	"		a = a * x + x; b = b * x + x; c = c * x + x; d = d * x + x;\n"
	"		e = e * x + x; f = f * x + x; g = g * x + x; h = h * x + x;\n"
	"	}\n"
	"	a += b + c + d + e + f + g + h;\n"
	"	to[get_global_id(0)] = a.x + a.y + a.z + a.w;\n"
	"}\n";

#define OPENCL_FUNCTIONS(X)                                                                        \
	X(clGetPlatformIDs)                                                                        \
	X(clGetDeviceIDs)                                                                          \
	X(clGetDeviceInfo)                                                                         \
	X(clCreateContext)                                                                         \
	X(clReleaseContext)                                                                        \
	X(clCreateCommandQueue)                                                                    \
	X(clReleaseCommandQueue)                                                                   \
	X(clCreateProgramWithSource)                                                               \
	X(clBuildProgram)                                                                          \
	X(clReleaseProgram)                                                                        \
	X(clCreateKernel)                                                                          \
	X(clReleaseKernel)                                                                         \
	X(clSetKernelArg)                                                                          \
	X(clCreateBuffer)                                                                          \
	X(clReleaseMemObject)                                                                      \
	X(clEnqueueNDRangeKernel)                                                                  \
	X(clEnqueueFillBuffer)                                                                     \
	X(clFinish)                                                                                \
	X(clWaitForEvents)                                                                         \
	X(clReleaseEvent)                                                                          \
	X(clGetEventProfilingInfo)

struct opencl_api {
#define X(name) __typeof__(&(name)) name;
	OPENCL_FUNCTIONS(X)
#undef X
};

struct openclmeasure {
	const struct opencl_api *api;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_mem from, to;
	char error[200];
};

static bool opencl_bind(struct opencl_api *api, char *why, size_t size)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!library) {
		snprintf(why, size, "cannot load libOpenCL.so.1: install ocl-icd-libopencl1");
		return false;
	}
#define X(name)                                                                                    \
	*(void **)&api->name = dlsym(library, #name);                                              \
	if (!api->name) {                                                                          \
		snprintf(why, size, "libOpenCL.so.1 has no function " #name);                      \
		return false;                                                                      \
	}
	OPENCL_FUNCTIONS(X)
#undef X
	return true;
}

static bool opencl_ok(struct openclmeasure *m, cl_int status, const char *call)
{
	if (status == CL_SUCCESS)
		return true;
	if (!m->error[0])
		snprintf(m->error, sizeof(m->error), "%s failed: error %d", call, status);
	return false;
}

/* Returns the least time in seconds of a kernel in several rounds; 0: a call failed. */
static double opencl_time(struct openclmeasure *m, cl_kernel kernel, size_t items)
{
	const struct opencl_api *api = m->api;
	double best = 0;

	for (int round = 0; round <= ROUNDS; round++) {
		cl_ulong begin = 0, end = 0;
		cl_event event = NULL;
		bool ok;

		if (!opencl_ok(m,
			       api->clEnqueueNDRangeKernel(m->queue, kernel, 1, NULL, &items, NULL,
							   0, NULL, &event),
			       "clEnqueueNDRangeKernel"))
			return 0;
		ok = opencl_ok(m, api->clWaitForEvents(1, &event), "clWaitForEvents") &&
		     opencl_ok(m,
			       api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
							    sizeof(begin), &begin, NULL),
			       "clGetEventProfilingInfo") &&
		     opencl_ok(m,
			       api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
							    sizeof(end), &end, NULL),
			       "clGetEventProfilingInfo");
		api->clReleaseEvent(event);
		if (!ok)
			return 0;
		/* The first round only warms the device up. */
		if (round && end > begin && (best <= 0 || (double)(end - begin) / 1e9 < best))
			best = (double)(end - begin) / 1e9;
	}
	return best;
}

static cl_program opencl_build(struct openclmeasure *m, const char *options)
{
	const char *source = opencl_source;
	cl_int status = CL_SUCCESS;
	cl_program program =
		m->api->clCreateProgramWithSource(m->context, 1, &source, NULL, &status);

	if (!opencl_ok(m, status, "clCreateProgramWithSource"))
		return NULL;
	status = m->api->clBuildProgram(program, 1, &m->device, options, NULL, NULL);
	if (opencl_ok(m, status, "clBuildProgram"))
		return program;
	m->api->clReleaseProgram(program);
	return NULL;
}

static double opencl_copy(struct openclmeasure *m, cl_program program, size_t bytes)
{
	const struct opencl_api *api = m->api;
	cl_int status = CL_SUCCESS;
	cl_kernel kernel = api->clCreateKernel(program, "pasta_copy", &status);
	double seconds = 0;

	if (!opencl_ok(m, status, "clCreateKernel"))
		return 0;
	if (opencl_ok(m, api->clSetKernelArg(kernel, 0, sizeof(m->from), &m->from),
		      "clSetKernelArg") &&
	    opencl_ok(m, api->clSetKernelArg(kernel, 1, sizeof(m->to), &m->to), "clSetKernelArg"))
		seconds = opencl_time(m, kernel, bytes / sizeof(cl_float4));
	api->clReleaseKernel(kernel);
	return seconds > 0 ? 2.0 * (double)bytes / seconds : 0;
}

/* Returns FLOP/s, or 0. */
static double opencl_multiply(struct openclmeasure *m, cl_program program, bool wide)
{
	const struct opencl_api *api = m->api;
	cl_int status = CL_SUCCESS, turns = TURNS;
	cl_kernel kernel = api->clCreateKernel(program, "pasta_multiply", &status);
	const cl_float by = 0.5f;
	const cl_double by64 = 0.5;
	double seconds = 0;

	if (!opencl_ok(m, status, "clCreateKernel"))
		return 0;
	if (opencl_ok(m, api->clSetKernelArg(kernel, 0, sizeof(m->to), &m->to), "clSetKernelArg") &&
	    opencl_ok(m,
		      api->clSetKernelArg(kernel, 1, wide ? sizeof(by64) : sizeof(by),
					  wide ? (const void *)&by64 : &by),
		      "clSetKernelArg") &&
	    opencl_ok(m, api->clSetKernelArg(kernel, 2, sizeof(turns), &turns), "clSetKernelArg"))
		seconds = opencl_time(m, kernel, ITEMS);
	api->clReleaseKernel(kernel);
	return seconds > 0 ? 2.0 * ITEMS * TURNS * CHAINS * WIDTH / seconds : 0;
}

static bool opencl_open(struct openclmeasure *m, size_t bytes)
{
	const struct opencl_api *api = m->api;
	cl_int status = CL_SUCCESS;
	cl_float zero = 0;

	m->context = api->clCreateContext(NULL, 1, &m->device, NULL, NULL, &status);
	if (!opencl_ok(m, status, "clCreateContext"))
		return false;
	m->queue = api->clCreateCommandQueue(m->context, m->device, CL_QUEUE_PROFILING_ENABLE,
					     &status);
	if (!opencl_ok(m, status, "clCreateCommandQueue"))
		return false;
	m->from = api->clCreateBuffer(m->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
	if (!opencl_ok(m, status, "clCreateBuffer"))
		return false;
	m->to = api->clCreateBuffer(m->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
	return opencl_ok(m, status, "clCreateBuffer") &&
	       opencl_ok(m,
			 api->clEnqueueFillBuffer(m->queue, m->from, &zero, sizeof(zero), 0, bytes,
						  0, NULL, NULL),
			 "clEnqueueFillBuffer") &&
	       opencl_ok(m, api->clFinish(m->queue), "clFinish");
}

static void opencl_close(struct openclmeasure *m)
{
	if (m->to)
		m->api->clReleaseMemObject(m->to);
	if (m->from)
		m->api->clReleaseMemObject(m->from);
	if (m->queue)
		m->api->clReleaseCommandQueue(m->queue);
	if (m->context)
		m->api->clReleaseContext(m->context);
}

static void opencl_rates(struct openclmeasure *m, struct pasta_peaks *peaks, size_t bytes,
			 bool wide)
{
	cl_program program = opencl_build(m, "-cl-mad-enable -DREAL=float -DREAL4=float4");

	if (!program)
		return;
	peaks->memory = opencl_copy(m, program, bytes);
	peaks->fp32 = opencl_multiply(m, program, false);
	m->api->clReleaseProgram(program);
	program = wide ? opencl_build(m, "-cl-mad-enable -DREAL=double -DREAL4=double4") : NULL;
	if (!program)
		return;
	peaks->fp64 = opencl_multiply(m, program, true);
	m->api->clReleaseProgram(program);
}

static void opencl_measure(const struct opencl_api *api, cl_device_id device,
			   pasta_measure_fn *result, void *ctx)
{
	struct pasta_peaks peaks = {.size = sizeof(peaks), .measured = 1};
	struct openclmeasure m = {.api = api, .device = device};
	cl_ulong most = 0;
	cl_device_fp_config wide = 0;
	size_t bytes = COPY_BYTES;
	char name[256] = "";

	if (!opencl_ok(&m, api->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL),
		       "clGetDeviceInfo")) {
		result(ctx, "OpenCL device", NULL, m.error);
		return;
	}
	if (api->clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL) ==
		    CL_SUCCESS &&
	    most / 2 < bytes)
		bytes = (size_t)(most / 2) & ~(size_t)0xfffff;
	if (api->clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(wide), &wide, NULL) !=
	    CL_SUCCESS)
		wide = 0;
	if (bytes < ITEMS * sizeof(cl_double))
		snprintf(m.error, sizeof(m.error), "the device has too little memory");
	else if (opencl_open(&m, bytes))
		opencl_rates(&m, &peaks, bytes, wide != 0);
	opencl_close(&m);
	result(ctx, name, &peaks, m.error[0] ? m.error : NULL);
}

bool pasta_measure_opencl(pasta_measure_fn *result, void *ctx, char *why, size_t size)
{
	struct opencl_api api;
	cl_platform_id platforms[PLATFORMS];
	cl_device_id devices[DEVICES];
	cl_uint platform_count = 0, count = 0, found = 0;

	if (!opencl_bind(&api, why, size))
		return false;
	if (api.clGetPlatformIDs(PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
		platform_count = 0;
	for (cl_uint i = 0; i < platform_count && i < PLATFORMS; i++) {
		if (api.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES, devices,
				       &count) != CL_SUCCESS)
			continue;
		for (cl_uint j = 0; j < count && j < DEVICES; j++, found++)
			opencl_measure(&api, devices[j], result, ctx);
	}
	if (!found)
		snprintf(why, size, "OpenCL finds no device");
	return found > 0;
}
