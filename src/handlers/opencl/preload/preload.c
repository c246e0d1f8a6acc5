/*
 * preload.c - libpasta-opencl.so: wraps the OpenCL functions of a loader without layers.
 *
 * accelprof run preloads this library if the loader doesn't support layers. The library defines the
 * loader's functions; each one jumps to the address in its slot. The first call of any function
 * finds the loader and the agent, and fills all slots with the agent's wrappers, or with the
 * loader's own functions if there is no agent.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* The functions that the agent wraps, and further functions that its wrappers may call. */
/* clang-format off */
#define WRAPPED \
	X(clCreateContext) X(clCreateContextFromType) X(clCreateCommandQueue) \
	X(clCreateCommandQueueWithProperties) X(clGetCommandQueueInfo) \
	X(clSetCommandQueueProperty) X(clGetEventProfilingInfo) X(clCreateKernel) \
	X(clCreateKernelsInProgram) X(clCloneKernel) X(clCreateProgramWithSource) \
	X(clCreateProgramWithBinary) X(clCreateProgramWithIL) \
	X(clCreateProgramWithBuiltInKernels) X(clBuildProgram) X(clCompileProgram) \
	X(clLinkProgram) X(clCreateBuffer) X(clCreateBufferWithProperties) X(clCreateSubBuffer) \
	X(clCreateImage) X(clCreateImageWithProperties) X(clCreateImage2D) X(clCreateImage3D) \
	X(clCreatePipe) X(clSVMAlloc) X(clSVMFree) X(clEnqueueSVMFree) \
	X(clEnqueueNDRangeKernel) X(clEnqueueTask) X(clEnqueueReadBuffer) \
	X(clEnqueueWriteBuffer) X(clEnqueueReadBufferRect) X(clEnqueueWriteBufferRect) \
	X(clEnqueueCopyBuffer) X(clEnqueueCopyBufferRect) X(clEnqueueReadImage) \
	X(clEnqueueWriteImage) X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) \
	X(clEnqueueCopyBufferToImage) X(clEnqueueFillBuffer) X(clEnqueueFillImage) \
	X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clEnqueueUnmapMemObject) \
	X(clEnqueueSVMMemcpy) X(clEnqueueSVMMemFill) X(clEnqueueSVMMap) X(clEnqueueSVMUnmap) \
	X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clFlush) X(clFinish) \
	X(clWaitForEvents) X(clGetExtensionFunctionAddressForPlatform) \
	X(clGetExtensionFunctionAddress)
#define OTHERS \
	X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) \
	X(clRetainContext) X(clReleaseContext) X(clGetContextInfo) X(clRetainCommandQueue) \
	X(clReleaseCommandQueue) X(clRetainMemObject) X(clReleaseMemObject) \
	X(clGetSupportedImageFormats) X(clGetMemObjectInfo) X(clGetImageInfo) \
	X(clCreateSampler) X(clRetainSampler) X(clReleaseSampler) X(clGetSamplerInfo) \
	X(clRetainProgram) X(clReleaseProgram) X(clUnloadCompiler) X(clGetProgramInfo) \
	X(clGetProgramBuildInfo) X(clRetainKernel) X(clReleaseKernel) X(clSetKernelArg) \
	X(clGetKernelInfo) X(clGetKernelWorkGroupInfo) X(clGetEventInfo) X(clRetainEvent) \
	X(clReleaseEvent) X(clEnqueueNativeKernel) X(clEnqueueMarker) X(clEnqueueWaitForEvents) \
	X(clEnqueueBarrier) X(clCreateFromGLBuffer) X(clCreateFromGLTexture2D) \
	X(clCreateFromGLTexture3D) X(clCreateFromGLRenderbuffer) X(clGetGLObjectInfo) \
	X(clGetGLTextureInfo) X(clEnqueueAcquireGLObjects) X(clEnqueueReleaseGLObjects) \
	X(clGetGLContextInfoKHR) X(clSetEventCallback) X(clSetMemObjectDestructorCallback) \
	X(clCreateUserEvent) X(clSetUserEventStatus) X(clCreateSubDevicesEXT) \
	X(clRetainDeviceEXT) X(clReleaseDeviceEXT) X(clCreateEventFromGLsyncKHR) \
	X(clCreateSubDevices) X(clRetainDevice) X(clReleaseDevice) X(clUnloadPlatformCompiler) \
	X(clGetKernelArgInfo) X(clEnqueueMigrateMemObjects) X(clCreateFromGLTexture) \
	X(clCreateFromEGLImageKHR) X(clEnqueueAcquireEGLObjectsKHR) \
	X(clEnqueueReleaseEGLObjectsKHR) X(clCreateEventFromEGLSyncKHR) X(clGetPipeInfo) \
	X(clCreateSamplerWithProperties) X(clSetKernelArgSVMPointer) X(clSetKernelExecInfo) \
	X(clGetKernelSubGroupInfoKHR) X(clEnqueueSVMMigrateMem) X(clGetDeviceAndHostTimer) \
	X(clGetHostTimer) X(clGetKernelSubGroupInfo) X(clSetDefaultDeviceCommandQueue) \
	X(clSetProgramReleaseCallback) X(clSetProgramSpecializationConstant) \
	X(clSetContextDestructorCallback)
/* clang-format on */

#define X(function) {#function, offsetof(cl_icd_dispatch, function)},
static const struct {
	const char *name;
	size_t offset;
} wrapped[] = {WRAPPED}, others[] = {OTHERS};
#undef X

enum {
	COUNT = sizeof(wrapped) / sizeof(wrapped[0]),
	ALL = COUNT + sizeof(others) / sizeof(others[0])
};

/* The target of each function in WRAPPED, in the same order. The assembly code below uses these
 * names. */
extern void *pasta_opencl_slots[];
void *pasta_opencl_slots[COUNT] __attribute__((visibility("hidden"), used));
void pasta_opencl_find(void) __attribute__((visibility("hidden"), used));

/* This function is called instead of a function that the loader doesn't have. */
static long preload_missing(void)
{
	return CL_INVALID_OPERATION;
}

static void *loader_symbol(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name), *loader;

	if (p)
		return p;
	/* If the application has opened the loader with dlopen, the search above doesn't find the
	 * loader. */
	loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	return loader ? dlsym(loader, name) : NULL;
}

static void **preload_entry(cl_icd_dispatch *table, size_t i)
{
	size_t offset = i < COUNT ? wrapped[i].offset : others[i - COUNT].offset;

	return (void **)((char *)table + offset);
}

static void preload_fill(void)
{
	static cl_icd_dispatch below;
	const char *path = getenv("PASTA_AGENT");
	void *agent = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	pfn_clInitLayer init = agent ? (pfn_clInitLayer)dlsym(agent, "clInitLayer") : NULL;
	const cl_icd_dispatch *table = &below;
	cl_uint n = sizeof(below) / sizeof(void *);

	for (size_t i = 0; i < ALL; i++)
		*preload_entry(&below, i) =
			loader_symbol(i < COUNT ? wrapped[i].name : others[i - COUNT].name);
	if (!init || init(n, &below, &n, &table) != CL_SUCCESS)
		table = &below;
	for (size_t i = 0; i < COUNT; i++) {
		void *to = *preload_entry((cl_icd_dispatch *)table, i);

		__atomic_store_n(&pasta_opencl_slots[i], to ? to : (void *)preload_missing,
				 __ATOMIC_RELEASE);
	}
}

void pasta_opencl_find(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, preload_fill);
}

/* This is a single asm statement, because its parts must stay in order. The first call of any
 * function fills all slots. Meanwhile, the code preserves the argument registers. */
#define X(function)                                                                                \
	".globl " #function "\n.type " #function ", @function\n" #function ":\n"                   \
	"	mov pasta_opencl_slots+pasta_opencl_at(%rip), %r11\n"                                    \
	"	test %r11, %r11\n	jnz 1f\n"                                                              \
	"	lea 2f(%rip), %r11\n	jmp pasta_opencl_first\n"                                           \
	"2:	mov pasta_opencl_slots+pasta_opencl_at(%rip), %r11\n"                                  \
	"1:	jmp *%r11\n"                                                                           \
	".size " #function ", . - " #function "\n"                                                 \
	".set pasta_opencl_at, pasta_opencl_at + 8\n"
__asm__(".text\n"
	"pasta_opencl_first:\n"
	"	push %rbp\n	mov %rsp, %rbp\n	and $-16, %rsp\n"
	"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n	push %r8\n	push %r9\n"
	"	push %rax\n	push %r11\n"
	"	call pasta_opencl_find\n"
	"	pop %r11\n	pop %rax\n"
	"	pop %r9\n	pop %r8\n	pop %rcx\n	pop %rdx\n	pop %rsi\n	pop %rdi\n"
	"	mov %rbp, %rsp\n	pop %rbp\n"
	"	jmp *%r11\n"
	".set pasta_opencl_at, 0\n" WRAPPED);
