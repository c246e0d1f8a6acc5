/*
 * count - an OpenCL layer that counts, and knows nothing of AccelProf: what its counts are held
 * against. At exit it writes them to $COUNT_FILE as JSON.
 *
 * A call that the driver accepted counts; what became of it later does not matter here.
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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNELS = 4096 };
enum way { H2D, D2H, D2D, SVM, MAP, UNMAP, FILL, ALLOC, SVM_ALLOC, WAYS };
static const char *const way_names[] = {"h2d",	 "d2h",	 "d2d",	  "svm",      "map",
					"unmap", "fill", "alloc", "svm_alloc"};

static cl_icd_dispatch below, table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char *name;
	unsigned long launches;
} kernels[KERNELS];
static struct {
	unsigned long count, bytes;
} ways[WAYS];
static unsigned long freed, svm_freed, queues, profiling_queues;

static void count_kernel(cl_kernel kernel)
{
	char name[4096] = "";
	int i = 0;

	below.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
	pthread_mutex_lock(&lock);
	while (i < KERNELS - 1 && kernels[i].name && strcmp(kernels[i].name, name))
		i++;
	if (!kernels[i].name)
		kernels[i].name = strdup(name);
	kernels[i].launches++;
	pthread_mutex_unlock(&lock);
}

static cl_int count(enum way way, unsigned long bytes, cl_int status)
{
	if (status == CL_SUCCESS) {
		__atomic_fetch_add(&ways[way].count, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&ways[way].bytes, bytes, __ATOMIC_RELAXED);
	}
	return status;
}

static unsigned long volume(const size_t *r)
{
	return r ? r[0] * r[1] * r[2] : 0;
}

static unsigned long texels(cl_mem image, const size_t *r)
{
	size_t element = 0;

	below.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL);
	return element * volume(r);
}

/* -- The functions that are counted. A is what they have in common at their end. -- */

#define A cl_uint n, const cl_event *l, cl_event *e
#define F(name) static cl_int CL_API_CALL my_##name

F(clEnqueueNDRangeKernel)
(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *b, A)
{
	cl_int r = below.clEnqueueNDRangeKernel(q, k, d, o, g, b, n, l, e);

	if (r == CL_SUCCESS)
		count_kernel(k);
	return r;
}

F(clEnqueueTask)(cl_command_queue q, cl_kernel k, A)
{
	cl_int r = below.clEnqueueTask(q, k, n, l, e);

	if (r == CL_SUCCESS)
		count_kernel(k);
	return r;
}

F(clEnqueueReadBuffer)
(cl_command_queue q, cl_mem m, cl_bool w, size_t o, size_t s, void *p, A)
{
	return count(D2H, s, below.clEnqueueReadBuffer(q, m, w, o, s, p, n, l, e));
}

F(clEnqueueWriteBuffer)
(cl_command_queue q, cl_mem m, cl_bool w, size_t o, size_t s, const void *p, A)
{
	return count(H2D, s, below.clEnqueueWriteBuffer(q, m, w, o, s, p, n, l, e));
}

F(clEnqueueReadBufferRect)
(cl_command_queue q, cl_mem m, cl_bool w, const size_t *o, const size_t *h, const size_t *r,
 size_t a, size_t b, size_t c, size_t d, void *p, A)
{
	return count(D2H, volume(r),
		     below.clEnqueueReadBufferRect(q, m, w, o, h, r, a, b, c, d, p, n, l, e));
}

F(clEnqueueWriteBufferRect)
(cl_command_queue q, cl_mem m, cl_bool w, const size_t *o, const size_t *h, const size_t *r,
 size_t a, size_t b, size_t c, size_t d, const void *p, A)
{
	return count(H2D, volume(r),
		     below.clEnqueueWriteBufferRect(q, m, w, o, h, r, a, b, c, d, p, n, l, e));
}

F(clEnqueueCopyBuffer)(cl_command_queue q, cl_mem x, cl_mem y, size_t i, size_t o, size_t s, A)
{
	return count(D2D, s, below.clEnqueueCopyBuffer(q, x, y, i, o, s, n, l, e));
}

F(clEnqueueCopyBufferRect)
(cl_command_queue q, cl_mem x, cl_mem y, const size_t *i, const size_t *o, const size_t *r,
 size_t a, size_t b, size_t c, size_t d, A)
{
	return count(D2D, volume(r),
		     below.clEnqueueCopyBufferRect(q, x, y, i, o, r, a, b, c, d, n, l, e));
}

F(clEnqueueReadImage)
(cl_command_queue q, cl_mem m, cl_bool w, const size_t *o, const size_t *r, size_t a, size_t b,
 void *p, A)
{
	return count(D2H, texels(m, r), below.clEnqueueReadImage(q, m, w, o, r, a, b, p, n, l, e));
}

F(clEnqueueWriteImage)
(cl_command_queue q, cl_mem m, cl_bool w, const size_t *o, const size_t *r, size_t a, size_t b,
 const void *p, A)
{
	return count(H2D, texels(m, r), below.clEnqueueWriteImage(q, m, w, o, r, a, b, p, n, l, e));
}

F(clEnqueueCopyImage)
(cl_command_queue q, cl_mem x, cl_mem y, const size_t *i, const size_t *o, const size_t *r, A)
{
	return count(D2D, texels(x, r), below.clEnqueueCopyImage(q, x, y, i, o, r, n, l, e));
}

F(clEnqueueCopyImageToBuffer)
(cl_command_queue q, cl_mem x, cl_mem y, const size_t *i, const size_t *r, size_t o, A)
{
	return count(D2D, texels(x, r),
		     below.clEnqueueCopyImageToBuffer(q, x, y, i, r, o, n, l, e));
}

F(clEnqueueCopyBufferToImage)
(cl_command_queue q, cl_mem x, cl_mem y, size_t i, const size_t *o, const size_t *r, A)
{
	return count(D2D, texels(y, r),
		     below.clEnqueueCopyBufferToImage(q, x, y, i, o, r, n, l, e));
}

F(clEnqueueFillBuffer)
(cl_command_queue q, cl_mem m, const void *p, size_t z, size_t o, size_t s, A)
{
	return count(FILL, s, below.clEnqueueFillBuffer(q, m, p, z, o, s, n, l, e));
}

F(clEnqueueFillImage)
(cl_command_queue q, cl_mem m, const void *c, const size_t *o, const size_t *r, A)
{
	return count(FILL, texels(m, r), below.clEnqueueFillImage(q, m, c, o, r, n, l, e));
}

F(clEnqueueSVMMemFill)(cl_command_queue q, void *p, const void *c, size_t z, size_t s, A)
{
	return count(FILL, s, below.clEnqueueSVMMemFill(q, p, c, z, s, n, l, e));
}

F(clEnqueueSVMMemcpy)(cl_command_queue q, cl_bool w, void *d, const void *p, size_t s, A)
{
	return count(SVM, s, below.clEnqueueSVMMemcpy(q, w, d, p, s, n, l, e));
}

F(clEnqueueSVMMap)(cl_command_queue q, cl_bool w, cl_map_flags f, void *p, size_t s, A)
{
	return count(MAP, s, below.clEnqueueSVMMap(q, w, f, p, s, n, l, e));
}

F(clEnqueueSVMUnmap)(cl_command_queue q, void *p, A)
{
	return count(UNMAP, 0, below.clEnqueueSVMUnmap(q, p, n, l, e));
}

F(clEnqueueUnmapMemObject)(cl_command_queue q, cl_mem m, void *p, A)
{
	return count(UNMAP, 0, below.clEnqueueUnmapMemObject(q, m, p, n, l, e));
}

static void *CL_API_CALL my_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool w,
					       cl_map_flags f, size_t o, size_t s, A, cl_int *x)
{
	cl_int error = CL_SUCCESS;
	void *p = below.clEnqueueMapBuffer(q, m, w, f, o, s, n, l, e, &error);

	count(MAP, s, error);
	if (x)
		*x = error;
	return p;
}

static void *CL_API_CALL my_clEnqueueMapImage(cl_command_queue q, cl_mem m, cl_bool w,
					      cl_map_flags f, const size_t *o, const size_t *r,
					      size_t *a, size_t *b, A, cl_int *x)
{
	cl_int error = CL_SUCCESS;
	void *p = below.clEnqueueMapImage(q, m, w, f, o, r, a, b, n, l, e, &error);

	count(MAP, texels(m, r), error);
	if (x)
		*x = error;
	return p;
}

/* -- Memory -- */

static void CL_CALLBACK destroyed(cl_mem m, void *arg)
{
	(void)m;
	(void)arg;
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

static cl_mem made(cl_mem m)
{
	size_t bytes = 0;

	if (!m)
		return m;
	below.clGetMemObjectInfo(m, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
	count(ALLOC, bytes, CL_SUCCESS);
	below.clSetMemObjectDestructorCallback(m, destroyed, NULL);
	return m;
}

#define M(name) static cl_mem CL_API_CALL my_##name

M(clCreateBuffer)(cl_context c, cl_mem_flags f, size_t s, void *p, cl_int *x)
{
	return made(below.clCreateBuffer(c, f, s, p, x));
}

M(clCreateBufferWithProperties)
(cl_context c, const cl_mem_properties *o, cl_mem_flags f, size_t s, void *p, cl_int *x)
{
	return made(below.clCreateBufferWithProperties(c, o, f, s, p, x));
}

M(clCreateSubBuffer)
(cl_mem b, cl_mem_flags f, cl_buffer_create_type t, const void *i, cl_int *x)
{
	return made(below.clCreateSubBuffer(b, f, t, i, x));
}

M(clCreateImage)
(cl_context c, cl_mem_flags f, const cl_image_format *t, const cl_image_desc *d, void *p, cl_int *x)
{
	return made(below.clCreateImage(c, f, t, d, p, x));
}

M(clCreateImage2D)
(cl_context c, cl_mem_flags f, const cl_image_format *t, size_t w, size_t h, size_t r, void *p,
 cl_int *x)
{
	return made(below.clCreateImage2D(c, f, t, w, h, r, p, x));
}

static void *CL_API_CALL my_clSVMAlloc(cl_context c, cl_svm_mem_flags f, size_t s, cl_uint a)
{
	void *p = below.clSVMAlloc(c, f, s, a);

	if (p)
		count(SVM_ALLOC, s, CL_SUCCESS);
	return p;
}

static void CL_API_CALL my_clSVMFree(cl_context c, void *p)
{
	if (p)
		__atomic_fetch_add(&svm_freed, 1, __ATOMIC_RELAXED);
	below.clSVMFree(c, p);
}

F(clEnqueueSVMFree)
(cl_command_queue q, cl_uint c, void *p[],
 void(CL_CALLBACK *f)(cl_command_queue, cl_uint, void *[], void *), void *d, A)
{
	cl_int r = below.clEnqueueSVMFree(q, c, p, f, d, n, l, e);

	if (r == CL_SUCCESS && !f)
		__atomic_fetch_add(&svm_freed, c, __ATOMIC_RELAXED);
	return r;
}

/* -- Queues: does what is above ask for profiling? -- */

static cl_command_queue CL_API_CALL my_clCreateCommandQueue(cl_context c, cl_device_id d,
							    cl_command_queue_properties p,
							    cl_int *x)
{
	__atomic_fetch_add(&queues, 1, __ATOMIC_RELAXED);
	if (p & CL_QUEUE_PROFILING_ENABLE)
		__atomic_fetch_add(&profiling_queues, 1, __ATOMIC_RELAXED);
	return below.clCreateCommandQueue(c, d, p, x);
}

static cl_command_queue CL_API_CALL my_clCreateCommandQueueWithProperties(
	cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *x)
{
	__atomic_fetch_add(&queues, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; p && p[i]; i += 2)
		if (p[i] == CL_QUEUE_PROPERTIES && p[i + 1] & CL_QUEUE_PROFILING_ENABLE)
			__atomic_fetch_add(&profiling_queues, 1, __ATOMIC_RELAXED);
	return below.clCreateCommandQueueWithProperties(c, d, p, x);
}

/* -- The layer -- */

/* A driver's thread may hold the program's last objects a little longer than the program, and is
 * ended wherever it is: without this, with some of them counted and others not. Other layers'
 * functions are called after ours: they have a moment for the last one. */
static void wait_for_objects(void)
{
	for (int i = 0; i < 10000; i++) {
		unsigned long made = __atomic_load_n(&ways[ALLOC].count, __ATOMIC_RELAXED);

		if (__atomic_load_n(&freed, __ATOMIC_RELAXED) == made)
			break;
		usleep(1000);
	}
	usleep(100 * 1000);
}

static void write_counts(void)
{
	const char *path = getenv("COUNT_FILE");
	char name[4096];
	FILE *f;

	if (!path)
		return;
	wait_for_objects();
	snprintf(name, sizeof(name), "%s.new", path);
	f = fopen(name, "w");
	if (!f)
		return;
	fprintf(f, "{\"kernels\": {");
	for (int i = 0; i < KERNELS && kernels[i].name; i++)
		fprintf(f, "%s\"%s\": %lu", i ? ", " : "", kernels[i].name, kernels[i].launches);
	fprintf(f, "},\n");
	for (int i = 0; i < WAYS; i++)
		fprintf(f, "\"%s\": [%lu, %lu],\n", way_names[i], ways[i].count, ways[i].bytes);
	fprintf(f, "\"freed\": %lu, \"svm_freed\": %lu, \"queues\": %lu, \"profiling\": %lu}\n",
		freed, svm_freed, queues, profiling_queues);
	fclose(f);
	rename(name, path);
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
	size_t n = sizeof(table), theirs = entries * sizeof(void *);

	if (theirs < n)
		n = theirs;
	memcpy(&below, target, n);
	memcpy(&table, target, n);
#define COUNTED(name) table.name = my_##name
	COUNTED(clEnqueueNDRangeKernel);
	COUNTED(clEnqueueTask);
	COUNTED(clEnqueueReadBuffer);
	COUNTED(clEnqueueWriteBuffer);
	COUNTED(clEnqueueReadBufferRect);
	COUNTED(clEnqueueWriteBufferRect);
	COUNTED(clEnqueueCopyBuffer);
	COUNTED(clEnqueueCopyBufferRect);
	COUNTED(clEnqueueReadImage);
	COUNTED(clEnqueueWriteImage);
	COUNTED(clEnqueueCopyImage);
	COUNTED(clEnqueueCopyImageToBuffer);
	COUNTED(clEnqueueCopyBufferToImage);
	COUNTED(clEnqueueFillBuffer);
	COUNTED(clEnqueueFillImage);
	COUNTED(clEnqueueSVMMemFill);
	COUNTED(clEnqueueSVMMemcpy);
	COUNTED(clEnqueueSVMMap);
	COUNTED(clEnqueueSVMUnmap);
	COUNTED(clEnqueueSVMFree);
	COUNTED(clEnqueueUnmapMemObject);
	COUNTED(clEnqueueMapBuffer);
	COUNTED(clEnqueueMapImage);
	COUNTED(clCreateBuffer);
	COUNTED(clCreateBufferWithProperties);
	COUNTED(clCreateSubBuffer);
	COUNTED(clCreateImage);
	COUNTED(clCreateImage2D);
	COUNTED(clSVMAlloc);
	COUNTED(clSVMFree);
	COUNTED(clCreateCommandQueue);
	COUNTED(clCreateCommandQueueWithProperties);
	*entries_ret = (cl_uint)(n / sizeof(void *));
	*table_ret = &table;
	atexit(write_counts);
	return CL_SUCCESS;
}
