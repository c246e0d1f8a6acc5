/* cl_common.h - what the OpenCL programs under study share. */
#ifndef CL_COMMON_H
#define CL_COMMON_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static cl_platform_id platform;
static cl_device_id device;

static inline uint64_t raw_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

#define CHECK(call) check(call, #call, __LINE__)
static inline void check(cl_int status, const char *what, int line)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "line %d: %s: OpenCL error %d\n", line, what, status);
	exit(1);
}

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Exit with 77 where there is none. */
static inline void find_device(void)
{
	if (clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
		return;
	fprintf(stderr, "no OpenCL device\n");
	exit(77);
}

static inline cl_context new_context(void)
{
	cl_int status;
	cl_context c = clCreateContext(NULL, 1, &device, NULL, NULL, &status);

	CHECK(status);
	return c;
}

static inline cl_program build(cl_context context, const char *source)
{
	cl_int status;
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &status);

	CHECK(status);
	CHECK(clBuildProgram(p, 1, &device, NULL, NULL, NULL));
	return p;
}

static inline cl_kernel new_kernel(cl_program program, const char *name)
{
	cl_int status;
	cl_kernel k = clCreateKernel(program, name, &status);

	CHECK(status);
	return k;
}

static inline cl_command_queue new_queue(cl_context context, cl_command_queue_properties properties)
{
	cl_int status;
	cl_command_queue q = clCreateCommandQueue(context, device, properties, &status);

	CHECK(status);
	return q;
}

static inline cl_mem new_buffer(cl_context context, size_t size)
{
	cl_int status;
	cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);

	CHECK(status);
	return m;
}

#endif
