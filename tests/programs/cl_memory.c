/* cl_memory - copies between all types of memory, waits and builds. Prints what a recording must
 * contain: "copy DIRECTION SOURCE TARGET", in order, and "slow NS", the least time that a build
 * took. */
#include "cl_common.h"

enum { SIZE = 4096 };
/* Numbers of enum pasta_memory and enum pasta_copy_sub */
enum { PAGEABLE = 1, PINNED, ON_DEVICE, ARRAY, MANAGED };
enum { H2D = 1, D2H, D2D, MAP = 6, UNMAP };

static cl_context context;
static cl_command_queue queue;
static _Alignas(4096) char heap[4 * SIZE];

static void expect(int direction, int source, int target)
{
	printf("copy %d %d %d\n", direction, source, target);
}

static cl_mem new_memory(cl_mem_flags flags, void *host)
{
	cl_int status;
	cl_mem m = clCreateBuffer(context, flags, SIZE, host, &status);

	CHECK(status);
	return m;
}

static char *map(cl_mem m, size_t offset, size_t size)
{
	cl_int status;
	char *p = clEnqueueMapBuffer(queue, m, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, offset, size, 0,
				     NULL, NULL, &status);

	CHECK(status);
	return p;
}

static void unmap(cl_mem m, void *p)
{
	CHECK(clEnqueueUnmapMemObject(queue, m, p, 0, NULL, NULL));
	CHECK(clFinish(queue));
}

static void write_from(cl_mem m, const void *p, int source, int target)
{
	CHECK(clEnqueueWriteBuffer(queue, m, CL_TRUE, 0, 64, p, 0, NULL, NULL));
	expect(H2D, source, target);
}

static void read_to(cl_mem m, void *p, int source, int target)
{
	CHECK(clEnqueueReadBuffer(queue, m, CL_FALSE, 0, 64, p, 0, NULL, NULL));
	CHECK(clFinish(queue));
	expect(D2H, source, target);
}

static void copy_buffers(cl_mem plain, cl_mem pinned)
{
	cl_event event;

	CHECK(clEnqueueCopyBuffer(queue, plain, pinned, 0, 0, SIZE, 0, NULL, &event));
	CHECK(clWaitForEvents(1, &event));
	CHECK(clReleaseEvent(event));
	expect(D2D, ON_DEVICE, PINNED);
}

/* Two ranges of an object are mapped at a time. Memory beside them is pageable. */
static void copy_mapped(cl_mem plain, cl_mem pinned)
{
	char *low = map(pinned, 0, 256), *high;

	expect(MAP, PINNED, PINNED);
	high = map(pinned, 1024, 256);
	expect(MAP, PINNED, PINNED);
	write_from(plain, low, PINNED, ON_DEVICE);
	write_from(plain, high + 192, PINNED, ON_DEVICE);
	write_from(plain, heap + 3 * SIZE, PAGEABLE, ON_DEVICE);
	unmap(pinned, low);
	expect(UNMAP, PINNED, PINNED);
	read_to(plain, high, ON_DEVICE, PINNED);
	unmap(pinned, high);
	expect(UNMAP, PINNED, PINNED);
}

static void copy_mapped_device(cl_mem plain)
{
	char *p = map(plain, 0, SIZE);

	expect(MAP, ON_DEVICE, PAGEABLE);
	unmap(plain, p);
	expect(UNMAP, PAGEABLE, ON_DEVICE);
}

static void copy_image(void)
{
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
	const size_t origin[3] = {0, 0, 0}, region[3] = {8, 8, 1};
	cl_bool images = CL_FALSE;
	cl_int status;
	cl_mem image;

	clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
	if (!images)
		return;
	image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
	CHECK(status);
	CHECK(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, heap, 0, NULL,
				  NULL));
	expect(H2D, PAGEABLE, ARRAY);
	CHECK(clReleaseMemObject(image));
}

static void copy_shared(void)
{
	cl_device_svm_capabilities svm = 0;
	char *p;

	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
	p = svm ? clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0) : NULL;
	if (!p)
		return;
	CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, p + 64, heap, 64, 0, NULL, NULL));
	expect(0, PAGEABLE, MANAGED);
	clSVMFree(context, p);
}

static void build_slowly(void)
{
	char source[200];
	uint64_t begin;

	/* Sources that the driver has not cached. */
	snprintf(source, sizeof(source),
		 "kernel void k(global int *a) { a[get_global_id(0)] = %d + (int)%llu; }",
		 (int)getpid(), (unsigned long long)raw_now());
	begin = raw_now();
	CHECK(clReleaseProgram(build(context, source)));
	printf("slow %llu\n", (unsigned long long)(raw_now() - begin));
}

int main(void)
{
	cl_mem plain, pinned, own;

	find_device();
	context = new_context();
	queue = new_queue(context, 0);
	plain = new_memory(CL_MEM_READ_WRITE, NULL);
	pinned = new_memory(CL_MEM_ALLOC_HOST_PTR, NULL);
	own = new_memory(CL_MEM_USE_HOST_PTR, heap + 2 * SIZE);
	write_from(plain, heap, PAGEABLE, ON_DEVICE);
	read_to(own, heap, PINNED, PAGEABLE);
	copy_buffers(plain, pinned);
	copy_mapped(plain, pinned);
	copy_mapped(plain, own);
	copy_mapped_device(plain);
	copy_image();
	copy_shared();
	build_slowly();
	CHECK(clFinish(queue));
	CHECK(clReleaseMemObject(own));
	CHECK(clReleaseMemObject(pinned));
	CHECK(clReleaseMemObject(plain));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseContext(context));
	return 0;
}
