/*
 * cl_exact - an OpenCL program that knows exactly what it did.
 *
 * It prints JSON: its counts and bytes, for each kernel the interval of CLOCK_MONOTONIC_RAW in
 * which it was enqueued and finished and the thread that did it, and what it saw of OpenCL's
 * objects ("seen"), which must be the same under any profiler. Its results are checked by itself.
 */
#include <pthread.h>

#include "cl_common.h"

enum { N = 1024, THREADS = 3, LAUNCHES = 50, NAMES = 4, RUNS_MAX = 4096 };
enum way { H2D, D2H, D2D, SVM, MAP, UNMAP, FILL, ALLOC, SVM_ALLOC, WAYS };
static const char *const way_names[] = {"h2d",	 "d2h",	 "d2d",	  "svm",      "map",
					"unmap", "fill", "alloc", "svm_alloc"};

static const char *source =
	"__kernel void add1(__global int *x) { x[get_global_id(0)] += 1; }\n"
	"__kernel void spin(__global int *x) { int a = x[0]; for (int i = 0; i < 20000; i++)"
	" a = a * 3 + i; x[1] = a; }\n"
	"__kernel void name0(__global int *x) { x[0] = 0; }\n"
	"__kernel void name1(__global int *x) { x[0] = 1; }\n"
	"__kernel void name2(__global int *x) { x[0] = 2; }\n"
	"__kernel void name3(__global int *x) { x[0] = 3; }\n";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	unsigned long count, bytes;
} ways[WAYS];
static unsigned long freed, svm_freed;
static struct run {
	char name[16];
	int tid;
	uint64_t begin, end;
} runs[RUNS_MAX];
static int run_count;

static void count(enum way way, unsigned long bytes)
{
	pthread_mutex_lock(&lock);
	ways[way].count++;
	ways[way].bytes += bytes;
	pthread_mutex_unlock(&lock);
}

static struct run *new_run(const char *name)
{
	struct run *r;

	pthread_mutex_lock(&lock);
	EXPECT(run_count < RUNS_MAX);
	r = &runs[run_count++];
	pthread_mutex_unlock(&lock);
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->tid = thread_id();
	r->begin = raw_now();
	return r;
}

static __typeof__(&clEnqueueNDRangeKernel) enqueue_kernel = clEnqueueNDRangeKernel;
static __typeof__(&clCreateBuffer) create_buffer = clCreateBuffer;

static void launch(cl_command_queue q, cl_kernel k, const char *name, size_t size)
{
	struct run *r = new_run(name);

	CHECK(enqueue_kernel(q, k, 1, NULL, &size, NULL, 0, NULL, NULL));
	CHECK(clFinish(q));
	r->end = raw_now();
}

static cl_mem buffer(cl_context c, size_t size)
{
	cl_int status;
	cl_mem m = create_buffer(c, CL_MEM_READ_WRITE, size, NULL, &status);

	CHECK(status);
	count(ALLOC, size);
	return m;
}

static void release(cl_mem m)
{
	CHECK(clReleaseMemObject(m));
	freed++; /* the main thread's alone */
}

/* -- What is seen of a queue and an event -- */

static void see_queue(const char *name, cl_command_queue q, cl_kernel k)
{
	cl_command_queue_properties properties = 99;
	cl_queue_properties list[16] = {0};
	size_t size = 99, one = 1;
	cl_uint references = 0;
	cl_context context;
	cl_event user, e;
	cl_int status, asked;
	cl_ulong t = 0;
	struct run *r = new_run("spin");

	CHECK(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL));
	printf("\"%s\": {\"properties\": %lu", name, (unsigned long)properties);
	status = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &size);
	printf(", \"list\": [%d, %zu", status, size);
	for (size_t i = 0; i < size / sizeof(list[0]) && i < 16; i++)
		printf(", %lu", (unsigned long)list[i]);
	status = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, 0, NULL, &size);
	printf(", %d, %zu]", status, size);
	/* Held back, so that it is seen before it runs. */
	CHECK(clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL));
	user = clCreateUserEvent(context, &status);
	CHECK(status);
	CHECK(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, &one, 1, &user, &e));
	CHECK(clGetEventInfo(e, CL_EVENT_REFERENCE_COUNT, sizeof(references), &references, NULL));
	asked = clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof(t), &t, NULL);
	printf(", \"held references\": %u, \"held profiling\": %d", references, asked);
	CHECK(clSetUserEventStatus(user, CL_COMPLETE));
	CHECK(clWaitForEvents(1, &e));
	CHECK(clFinish(q));
	r->end = raw_now();
	asked = clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof(t), &t, &size);
	printf(", \"profiling\": [%d, %s]", asked,
	       asked == CL_SUCCESS && (t < r->begin || t > r->end) ? "false" : "true");
	asked = clGetEventProfilingInfo(user, CL_PROFILING_COMMAND_END, sizeof(t), &t, NULL);
	printf(", \"user event\": %d},\n", asked);
	CHECK(clReleaseEvent(e));
	CHECK(clReleaseEvent(user));
}

static void see_queues(cl_context c, cl_kernel spin)
{
	const cl_queue_properties none[] = {0}, plain[] = {CL_QUEUE_PROPERTIES, 0, 0};
	const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
	const cl_queue_properties anyhow[] = {CL_QUEUE_PROPERTIES,
					      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
	const cl_queue_properties *const lists[] = {NULL, none, plain, profiling, anyhow};
	const cl_command_queue_properties bits[] = {0, CL_QUEUE_PROFILING_ENABLE,
						    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
	const cl_queue_properties bad[] = {4711, 1, 0};
	cl_command_queue q;
	char name[32];
	cl_int status;

	printf("\"seen\": {\n");
	for (int i = 0; i < 5; i++) {
		q = clCreateCommandQueueWithProperties(c, device, lists[i], &status);
		CHECK(status);
		snprintf(name, sizeof(name), "list %d", i);
		see_queue(name, q, spin);
		CHECK(clReleaseCommandQueue(q));
	}
	for (int i = 0; i < 3; i++) {
		q = new_queue(c, bits[i]);
		snprintf(name, sizeof(name), "bits %d", i);
		see_queue(name, q, spin);
		CHECK(clReleaseCommandQueue(q));
	}
	q = clCreateCommandQueueWithProperties(c, device, bad, &status);
	printf("\"bad list\": [%d, %d]", status, q != NULL);
	q = clCreateCommandQueue(c, device, 4711, &status);
	printf(", \"bad bits\": [%d, %d]},\n", status, q != NULL);
}

/* -- Buffers, on a queue without profiling -- */

static void buffers(cl_context c, cl_kernel add1)
{
	cl_command_queue q = new_queue(c, 0);
	cl_mem m = buffer(c, N * 4), m2 = buffer(c, N * 4), sub;
	cl_buffer_region part = {1024, 512};
	size_t from[3] = {0, 0, 0}, to[3] = {16, 2, 0}, region[3] = {16, 4, 2};
	int data[N] = {0}, pattern = 41, *p;
	cl_int status;

	CHECK(clEnqueueWriteBuffer(q, m, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
	count(H2D, sizeof(data));
	CHECK(clSetKernelArg(add1, 0, sizeof(m), &m));
	for (int i = 0; i < 10; i++)
		launch(q, add1, "add1", N);
	CHECK(clEnqueueReadBuffer(q, m, CL_FALSE, 0, sizeof(data), data, 0, NULL, NULL));
	count(D2H, sizeof(data));
	CHECK(clFinish(q));
	EXPECT(data[0] == 10 && data[N - 1] == 10);
	CHECK(clEnqueueCopyBuffer(q, m, m2, 4, 8, 100, 0, NULL, NULL));
	count(D2D, 100);
	CHECK(clEnqueueFillBuffer(q, m2, &pattern, sizeof(pattern), 256, 512, 0, NULL, NULL));
	count(FILL, 512);
	CHECK(clEnqueueWriteBufferRect(q, m, CL_FALSE, to, from, region, 64, 512, 64, 512, data, 0,
				       NULL, NULL));
	count(H2D, 128);
	CHECK(clEnqueueReadBufferRect(q, m, CL_TRUE, to, from, region, 64, 512, 64, 512, data, 0,
				      NULL, NULL));
	count(D2H, 128);
	CHECK(clEnqueueCopyBufferRect(q, m, m2, from, to, region, 64, 512, 64, 512, 0, NULL, NULL));
	count(D2D, 128);
	p = clEnqueueMapBuffer(q, m2, CL_TRUE, CL_MAP_READ, 0, 768, 0, NULL, NULL, &status);
	CHECK(status);
	count(MAP, 768);
	CHECK(clEnqueueUnmapMemObject(q, m2, p, 0, NULL, NULL));
	count(UNMAP, 0);
	sub = clCreateSubBuffer(m, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part, &status);
	CHECK(status);
	count(ALLOC, part.size);
	CHECK(clSetKernelArg(add1, 0, sizeof(sub), &sub));
	launch(q, add1, "add1", part.size / 4);
	/* What fails is not counted, and its error is seen. */
	status = clEnqueueReadBuffer(q, m, CL_TRUE, 0, N * 400, data, 0, NULL, NULL);
	EXPECT(status == CL_INVALID_VALUE);
	status = clEnqueueNDRangeKernel(q, add1, 7, NULL, region, NULL, 0, NULL, NULL);
	EXPECT(status == CL_INVALID_WORK_DIMENSION);
	EXPECT(!create_buffer(c, CL_MEM_READ_WRITE, 0, NULL, &status));
	EXPECT(status == CL_INVALID_BUFFER_SIZE);
	CHECK(clFinish(q));
	release(m); /* its part holds it */
	release(sub);
	release(m2);
	CHECK(clReleaseCommandQueue(q));
}

/* -- Images, on a queue with profiling -- */

static void images(cl_context c)
{
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 16};
	const size_t origin[3] = {0}, region[3] = {8, 4, 1};
	const cl_uint color[4] = {1, 2, 3, 4};
	cl_command_queue q = new_queue(c, CL_QUEUE_PROFILING_ENABLE);
	unsigned char texels[8 * 4 * 4];
	cl_bool supported = CL_FALSE;
	size_t bytes = 0, row;
	cl_mem a, b, m;
	cl_int status;
	void *p;

	clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(supported), &supported, NULL);
	if (!supported)
		goto out;
	a = clCreateImage(c, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
	CHECK(status);
	CHECK(clGetMemObjectInfo(a, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL));
	count(ALLOC, bytes);
	b = clCreateImage2D(c, CL_MEM_READ_WRITE, &format, 32, 16, 0, NULL, &status);
	CHECK(status);
	count(ALLOC, bytes);
	m = buffer(c, 4096);
	CHECK(clEnqueueFillImage(q, a, color, origin, region, 0, NULL, NULL));
	count(FILL, sizeof(texels));
	CHECK(clEnqueueCopyImage(q, a, b, origin, origin, region, 0, NULL, NULL));
	count(D2D, sizeof(texels));
	CHECK(clEnqueueCopyImageToBuffer(q, b, m, origin, region, 64, 0, NULL, NULL));
	count(D2D, sizeof(texels));
	CHECK(clEnqueueCopyBufferToImage(q, m, a, 64, origin, region, 0, NULL, NULL));
	count(D2D, sizeof(texels));
	CHECK(clEnqueueReadImage(q, a, CL_TRUE, origin, region, 0, 0, texels, 0, NULL, NULL));
	count(D2H, sizeof(texels));
	EXPECT(texels[0] == 1 && texels[sizeof(texels) - 1] == 4);
	CHECK(clEnqueueWriteImage(q, b, CL_FALSE, origin, region, 0, 0, texels, 0, NULL, NULL));
	count(H2D, sizeof(texels));
	p = clEnqueueMapImage(q, b, CL_TRUE, CL_MAP_READ, origin, region, &row, NULL, 0, NULL, NULL,
			      &status);
	CHECK(status);
	count(MAP, sizeof(texels));
	CHECK(clEnqueueUnmapMemObject(q, b, p, 0, NULL, NULL));
	count(UNMAP, 0);
	CHECK(clFinish(q));
	release(a);
	release(b);
	release(m);
out:
	CHECK(clReleaseCommandQueue(q));
}

/* -- Shared virtual memory -- */

static void svm(cl_context c, cl_kernel add1)
{
	cl_device_svm_capabilities can = 0;
	cl_command_queue q = new_queue(c, 0);
	int pattern = 5;
	void *a, *b;

	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
	if (!can)
		goto out;
	a = clSVMAlloc(c, CL_MEM_READ_WRITE, N * 4, 0);
	b = clSVMAlloc(c, CL_MEM_READ_WRITE, N * 8, 0);
	EXPECT(a && b);
	count(SVM_ALLOC, N * 4);
	count(SVM_ALLOC, N * 8);
	CHECK(clEnqueueSVMMemFill(q, a, &pattern, sizeof(pattern), N * 4, 0, NULL, NULL));
	count(FILL, N * 4);
	CHECK(clSetKernelArgSVMPointer(add1, 0, a));
	launch(q, add1, "add1", N);
	CHECK(clEnqueueSVMMemcpy(q, CL_TRUE, b, a, N * 4, 0, NULL, NULL));
	count(SVM, N * 4);
	CHECK(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_READ, b, N * 4, 0, NULL, NULL));
	count(MAP, N * 4);
	EXPECT(((int *)b)[N - 1] == 6);
	CHECK(clEnqueueSVMUnmap(q, b, 0, NULL, NULL));
	count(UNMAP, 0);
	CHECK(clEnqueueSVMFree(q, 1, &b, NULL, NULL, 0, NULL, NULL));
	EXPECT(clEnqueueSVMFree(NULL, 1, &a, NULL, NULL, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clFinish(q));
	clSVMFree(c, a);
	clSVMFree(c, NULL);
	svm_freed = 2;
out:
	CHECK(clReleaseCommandQueue(q));
}

/* -- Out of order: a diamond of kernels, a marker and a barrier -- */

static void diamond(cl_context c, cl_kernel spin)
{
	cl_command_queue q = new_queue(c, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	struct run *r[4];
	size_t one = 1;
	cl_event e[4], marker;

	for (int i = 0; i < 4; i++) {
		r[i] = new_run("spin");
		CHECK(clEnqueueNDRangeKernel(q, spin, 1, NULL, &one, &one,
					     i == 0   ? 0
					     : i == 3 ? 2
						      : 1,
					     i == 0 ? NULL : &e[i == 3 ? 1 : 0], &e[i]));
	}
	CHECK(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
	CHECK(clEnqueueMarkerWithWaitList(q, 0, NULL, &marker));
	CHECK(clWaitForEvents(1, &marker));
	CHECK(clFinish(q));
	for (int i = 0; i < 4; i++) {
		r[i]->end = raw_now();
		CHECK(clReleaseEvent(e[i]));
	}
	CHECK(clReleaseEvent(marker));
	CHECK(clReleaseCommandQueue(q));
}

/* -- Handles that are used again, for kernels of other names -- */

static void again(cl_context c, cl_program program)
{
	const cl_queue_properties none[] = {0};
	void *khr = clGetExtensionFunctionAddressForPlatform(
		platform, "clCreateCommandQueueWithPropertiesKHR");
	__typeof__(&clCreateCommandQueueWithProperties) make = clCreateCommandQueueWithProperties;
	cl_mem m = buffer(c, 64);
	cl_command_queue q;
	cl_int status;

	if (khr)
		make = (__typeof__(make))khr;
	for (int i = 0; i < LAUNCHES; i++) {
		char name[8];
		cl_kernel k;

		q = make(c, device, none, &status);
		CHECK(status);
		snprintf(name, sizeof(name), "name%d", i * 7 % NAMES);
		k = new_kernel(program, name);
		CHECK(clSetKernelArg(k, 0, sizeof(m), &m));
		launch(q, k, name, 1);
		CHECK(clReleaseKernel(k));
		CHECK(clReleaseCommandQueue(q));
	}
	release(m);
}

/* -- Threads, each with a context -- */

static void *thread(void *arg)
{
	cl_context c = new_context();
	cl_program program = build(c, source);
	cl_kernel k = new_kernel(program, arg);
	cl_command_queue q = new_queue(c, 0);
	cl_mem m = buffer(c, 64);

	CHECK(clSetKernelArg(k, 0, sizeof(m), &m));
	for (int i = 0; i < LAUNCHES; i++)
		launch(q, k, arg, 1);
	CHECK(clReleaseMemObject(m));
	CHECK(clReleaseCommandQueue(q));
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseContext(c));
	return NULL;
}

static void threads(void)
{
	static char names[THREADS][8];
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++) {
		snprintf(names[i], sizeof(names[i]), "name%d", i);
		EXPECT(!pthread_create(&t[i], NULL, thread, names[i]));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	freed += THREADS;
}

static void print(void)
{
	for (int i = 0; i < WAYS; i++)
		printf("\"%s\": [%lu, %lu],\n", way_names[i], ways[i].count, ways[i].bytes);
	printf("\"freed\": %lu, \"svm_freed\": %lu,\n\"runs\": [", freed, svm_freed);
	for (int i = 0; i < run_count; i++)
		printf("%s\n[\"%s\", %d, %lu, %lu]", i ? "," : "", runs[i].name, runs[i].tid,
		       (unsigned long)runs[i].begin, (unsigned long)runs[i].end);
	printf("]}\n");
}

int main(void)
{
	cl_context c;
	cl_program program;
	cl_kernel add1, spin;
	cl_mem m;
	void *p;

	find_device();
	p = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueNDRangeKernel");
	if (p)
		enqueue_kernel = (__typeof__(enqueue_kernel))p;
	p = clGetExtensionFunctionAddressForPlatform(platform, "clCreateBuffer");
	if (p)
		create_buffer = (__typeof__(create_buffer))p;
	c = new_context();
	program = build(c, source);
	add1 = new_kernel(program, "add1");
	spin = new_kernel(program, "spin");
	m = buffer(c, 64);
	CHECK(clSetKernelArg(spin, 0, sizeof(m), &m));
	printf("{\n");
	see_queues(c, spin);
	buffers(c, add1);
	images(c);
	svm(c, add1);
	diamond(c, spin);
	again(c, program);
	threads();
	release(m);
	print();
	CHECK(clReleaseKernel(add1));
	CHECK(clReleaseKernel(spin));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseContext(c));
	return 0;
}
