/*
 * shift - an OpenCL layer that gives devices a clock of their own: it began $SHIFT_NS ago and runs
 * $SHIFT_PPM faster than the host's. For it has to lie below what it is to deceive.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch below, table;
static cl_ulong first;
static double rate;
static long long shift;

static cl_int CL_API_CALL my_clGetEventProfilingInfo(cl_event event, cl_profiling_info what,
						     size_t size, void *value, size_t *size_ret)
{
	cl_int r = below.clGetEventProfilingInfo(event, what, size, value, size_ret);
	cl_ulong zero = 0, t;

	if (r != CL_SUCCESS || !value || size < sizeof(t))
		return r;
	memcpy(&t, value, sizeof(t));
	__atomic_compare_exchange_n(&first, &zero, t, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	t = (cl_ulong)((double)(long long)(t - first) * rate) + first - (cl_ulong)shift;
	memcpy(value, &t, sizeof(t));
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
	const char *ns = getenv("SHIFT_NS"), *ppm = getenv("SHIFT_PPM");

	if (entries < n)
		n = entries;
	shift = ns ? atoll(ns) : 0;
	rate = 1 + (ppm ? atof(ppm) : 0) / 1e6;
	memcpy(&below, target, n * sizeof(void *));
	memcpy(&table, target, n * sizeof(void *));
	table.clGetEventProfilingInfo = my_clGetEventProfilingInfo;
	*entries_ret = (cl_uint)n;
	*table_ret = &table;
	return CL_SUCCESS;
}
