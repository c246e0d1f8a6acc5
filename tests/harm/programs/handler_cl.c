/* handler_cl - cancellation, signals, fork and descriptors in an OpenCL program. */
#include "handler.h"

#include "../../programs/cl_common.h"

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem counter;
static _Atomic int launched;
static pthread_mutex_t enqueue = PTHREAD_MUTEX_INITIALIZER;

static void prepare(void)
{
	int zero = 0;

	find_device();
	context = new_context();
	queue = new_queue(context, 0);
	program = build(context, "__kernel void tick(__global int *x) { atomic_inc(x); }");
	counter = new_buffer(context, sizeof(zero));
	CHECK(clEnqueueWriteBuffer(queue, counter, CL_TRUE, 0, sizeof(zero), &zero, 0, NULL, NULL));
}

/* Each unit is one kernel, with memory that it allocates and frees. Only the main thread waits. */
static void unit(void)
{
	cl_kernel k = new_kernel(program, "tick");
	cl_mem more = new_buffer(context, 4096);
	size_t one = 1;

	CHECK(clSetKernelArg(k, 0, sizeof(counter), &counter));
	pthread_mutex_lock(&enqueue);
	CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, &one, 0, NULL, NULL));
	atomic_fetch_add(&launched, 1);
	pthread_mutex_unlock(&enqueue);
	CHECK(clReleaseMemObject(more));
	CHECK(clReleaseKernel(k));
}

static const char *settle(void)
{
	int ran = 0;

	CHECK(clFinish(queue));
	CHECK(clEnqueueReadBuffer(queue, counter, CL_TRUE, 0, sizeof(ran), &ran, 0, NULL, NULL));
	return ran == atomic_load(&launched) ? NULL : "kernels are missing";
}
