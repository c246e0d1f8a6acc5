/*
 * floor - an OpenCL layer that does, for each kernel, the least that anybody must do who wants to
 * know its times, and records nothing. What the driver charges for that is not our cost. $FLOOR:
 *   profiling   queues are made with profiling
 *   event       and every launch has an event
 *   callback    and a callback when it is done (the default)
 *   times       which asks for its times
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch below, table;
static enum { PROFILING, EVENT, CALLBACK, TIMES } floor_ = CALLBACK;

static cl_command_queue CL_API_CALL my_clCreateCommandQueue(cl_context c, cl_device_id d,
							    cl_command_queue_properties p,
							    cl_int *x)
{
	return below.clCreateCommandQueue(c, d, p | CL_QUEUE_PROFILING_ENABLE, x);
}

static void CL_CALLBACK done(cl_event event, cl_int status, void *arg)
{
	cl_ulong t;

	(void)status;
	(void)arg;
	if (floor_ == TIMES) {
		below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(t), &t,
					      NULL);
		below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(t), &t, NULL);
	}
	below.clReleaseEvent(event);
}

static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint d,
						    const size_t *o, const size_t *g,
						    const size_t *b, cl_uint n, const cl_event *l,
						    cl_event *e)
{
	cl_event own = NULL;
	cl_int r = below.clEnqueueNDRangeKernel(q, k, d, o, g, b, n, l,
						e || floor_ == PROFILING ? e : &own);

	if (r == CL_SUCCESS && own && floor_ == EVENT)
		below.clReleaseEvent(own);
	else if (r == CL_SUCCESS && own)
		below.clSetEventCallback(own, CL_COMPLETE, done, NULL);
	return r;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
					       size_t *size_ret)
{
	cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (name != CL_LAYER_API_VERSION || (value && size < sizeof(version)))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, &version, sizeof(version));
	if (size_ret)
		*size_ret = sizeof(version);
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
					    cl_uint *entries_ret, const cl_icd_dispatch **table_ret)
{
	size_t n = sizeof(table) / sizeof(void *);
	const char *what = getenv("FLOOR");

	if (what)
		floor_ = *what == 'p'	? PROFILING
			 : *what == 'e' ? EVENT
			 : *what == 't' ? TIMES
					: CALLBACK;
	if (entries < n)
		n = entries;
	memcpy(&below, target, n * sizeof(void *));
	memcpy(&table, target, n * sizeof(void *));
	table.clCreateCommandQueue = my_clCreateCommandQueue;
	table.clEnqueueNDRangeKernel = my_clEnqueueNDRangeKernel;
	*entries_ret = (cl_uint)n;
	*table_ret = &table;
	return CL_SUCCESS;
}
