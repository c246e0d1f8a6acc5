/*
 * names - an OpenCL layer that gives out functions by name, as the drivers of some vendors do and
 * PoCL does not. Who looks them up passes by every layer that does not see to it.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <string.h>

static cl_icd_dispatch below, table;

static void *CL_API_CALL my_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
								     const char *name)
{
	if (!strcmp(name, "clEnqueueNDRangeKernel"))
		return (void *)below.clEnqueueNDRangeKernel;
	if (!strcmp(name, "clCreateBuffer"))
		return (void *)below.clCreateBuffer;
	if (!strcmp(name, "clCreateCommandQueueWithPropertiesKHR"))
		return (void *)below.clCreateCommandQueueWithProperties;
	return below.clGetExtensionFunctionAddressForPlatform(platform, name);
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

	if (entries < n)
		n = entries;
	memcpy(&below, target, n * sizeof(void *));
	memcpy(&table, target, n * sizeof(void *));
	table.clGetExtensionFunctionAddressForPlatform =
		my_clGetExtensionFunctionAddressForPlatform;
	*entries_ret = (cl_uint)n;
	*table_ret = &table;
	return CL_SUCCESS;
}
