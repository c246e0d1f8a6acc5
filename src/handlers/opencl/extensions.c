/* extensions.c - returns wrappers for functions that the application looks up by name. */
#include <string.h>

#include "handlers/opencl/opencl.h"

/* The table of wrappers that the loader uses, and the names of the functions in it. */
static const cl_icd_dispatch *ours;

#define ENTRY(function)                                                                            \
	{                                                                                          \
#function, offsetof(cl_icd_dispatch, function)                                     \
	}
static const struct {
	const char *name;
	size_t offset;
} entries[] = {
	ENTRY(clCreateContext),
	ENTRY(clCreateContextFromType),
	ENTRY(clCreateCommandQueue),
	ENTRY(clCreateCommandQueueWithProperties),
	ENTRY(clGetCommandQueueInfo),
	ENTRY(clSetCommandQueueProperty),
	ENTRY(clGetEventProfilingInfo),
	ENTRY(clCreateKernel),
	ENTRY(clCreateKernelsInProgram),
	ENTRY(clCloneKernel),
	ENTRY(clSetKernelArg),
	ENTRY(clSetKernelArgSVMPointer),
	ENTRY(clSetKernelExecInfo),
	ENTRY(clCreateProgramWithSource),
	ENTRY(clCreateProgramWithBinary),
	ENTRY(clCreateProgramWithIL),
	ENTRY(clCreateProgramWithBuiltInKernels),
	ENTRY(clBuildProgram),
	ENTRY(clCompileProgram),
	ENTRY(clLinkProgram),
	ENTRY(clCreateBuffer),
	ENTRY(clCreateBufferWithProperties),
	ENTRY(clCreateSubBuffer),
	ENTRY(clCreateImage),
	ENTRY(clCreateImageWithProperties),
	ENTRY(clCreateImage2D),
	ENTRY(clCreateImage3D),
	ENTRY(clCreatePipe),
	ENTRY(clSVMAlloc),
	ENTRY(clSVMFree),
	ENTRY(clEnqueueSVMFree),
	ENTRY(clEnqueueNDRangeKernel),
	ENTRY(clEnqueueTask),
	ENTRY(clEnqueueReadBuffer),
	ENTRY(clEnqueueWriteBuffer),
	ENTRY(clEnqueueReadBufferRect),
	ENTRY(clEnqueueWriteBufferRect),
	ENTRY(clEnqueueCopyBuffer),
	ENTRY(clEnqueueCopyBufferRect),
	ENTRY(clEnqueueReadImage),
	ENTRY(clEnqueueWriteImage),
	ENTRY(clEnqueueCopyImage),
	ENTRY(clEnqueueCopyImageToBuffer),
	ENTRY(clEnqueueCopyBufferToImage),
	ENTRY(clEnqueueFillBuffer),
	ENTRY(clEnqueueFillImage),
	ENTRY(clEnqueueMapBuffer),
	ENTRY(clEnqueueMapImage),
	ENTRY(clEnqueueUnmapMemObject),
	ENTRY(clEnqueueSVMMemcpy),
	ENTRY(clEnqueueSVMMemFill),
	ENTRY(clEnqueueSVMMap),
	ENTRY(clEnqueueSVMUnmap),
	ENTRY(clEnqueueMarkerWithWaitList),
	ENTRY(clEnqueueBarrierWithWaitList),
	ENTRY(clFlush),
	ENTRY(clFinish),
	ENTRY(clWaitForEvents),
};

/* -- cl_khr_create_command_queue -- */

#define QUEUE_KHR "clCreateCommandQueueWithPropertiesKHR"

/* Each platform has its own implementation of an extension function. */
static CL_API_ENTRY cl_command_queue CL_API_CALL
wrap_create_queue_khr(cl_context context, cl_device_id device,
		      const cl_queue_properties *properties, cl_int *status)
{
	cl_platform_id platform = NULL;
	void *make = NULL;

	if (cl_below.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				     NULL) == CL_SUCCESS)
		make = cl_below.clGetExtensionFunctionAddressForPlatform(platform, QUEUE_KHR);
	if (make)
		return cl_queue_make((cl_api_clCreateCommandQueueWithProperties)make, context,
				     device, properties, status);
	if (status)
		*status = CL_INVALID_DEVICE;
	return NULL;
}

/* Returns the wrapper of the function `found`, which the driver has returned. If there is no
 * wrapper, returns `found` itself. */
static void *extension_wrapper(const char *name, void *found)
{
	if (!found || !name)
		return found;
	if (!strcmp(name, QUEUE_KHR))
		return (void *)wrap_create_queue_khr;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strcmp(name, entries[i].name))
			return *(void *const *)((const char *)ours + entries[i].offset);
	return found;
}

static CL_API_ENTRY void *CL_API_CALL
wrap_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	return extension_wrapper(name,
				 cl_below.clGetExtensionFunctionAddressForPlatform(platform, name));
}

static CL_API_ENTRY void *CL_API_CALL wrap_clGetExtensionFunctionAddress(const char *name)
{
	return extension_wrapper(name, cl_below.clGetExtensionFunctionAddress(name));
}

void cl_wrap_extensions(cl_icd_dispatch *table)
{
	ours = table;
	CL_WRAP(table, clGetExtensionFunctionAddressForPlatform);
	CL_WRAP(table, clGetExtensionFunctionAddress);
}
