/*
 * cl_count - kernels launched in the ways that programs have, to have their accesses counted.
 *
 *	cl_count link|binary|loose|svm|parts|once|together|clone|image|wrong|free|ended|large
 *
 * Each way checks its own results, and prints what was accessed: "SIZE LOADS STORES BYTES" for each
 * object, by its size, which no other has.
 */
#include "cl_common.h"

enum { N = 512 };

static cl_context context;
static cl_command_queue queue;
static int data[16 * N];

static const char add[] = "__kernel void add(__global int *to, __global const int *from, int n)\n"
			  "{\n"
			  "	int i = get_global_id(0);\n"
			  "	to[i] = from[i] + n;\n"
			  "}\n";

static void touched(size_t size, unsigned int loads, unsigned int stores)
{
	printf("%zu %u %u %u\n", size, loads, stores, 4 * (loads + stores));
}

static cl_mem filled(size_t size)
{
	cl_int status;
	cl_mem m;

	for (int i = 0; i < 16 * N; i++)
		data[i] = i;
	m = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, size, data, &status);
	CHECK(status);
	return m;
}

static void set(cl_kernel k, cl_mem to, cl_mem from, int n)
{
	CHECK(clSetKernelArg(k, 0, sizeof(to), &to));
	CHECK(clSetKernelArg(k, 1, sizeof(from), &from));
	CHECK(clSetKernelArg(k, 2, sizeof(n), &n));
}

static void start(cl_command_queue q, cl_kernel k, size_t n)
{
	CHECK(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL));
}

static void expect(cl_mem mem, size_t offset, int count, int first)
{
	CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, offset, (size_t)count * 4, data, 0, NULL,
				  NULL));
	for (int i = 0; i < count; i++)
		EXPECT(data[i] == first + i);
}

static void run(cl_program program)
{
	cl_kernel k = new_kernel(program, "add");
	cl_mem from = filled(4096), to = new_buffer(context, 2048);

	set(k, to, from, 7);
	start(queue, k, N);
	expect(to, 0, N, 7);
	CHECK(clReleaseMemObject(from));
	CHECK(clReleaseMemObject(to));
	CHECK(clReleaseKernel(k));
}

static cl_program from_source(const char *source)
{
	cl_int status;
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &status);

	CHECK(status);
	return p;
}

/* Compiled with a header, and linked with another part; what it is made from is then released. */
static void linked(void)
{
	const char *names[] = {"number.h"};
	cl_program header = from_source("int more(int x);\n#define SUM(a, b) ((a) + (b))\n");
	cl_program body = from_source("int more(int x) { return x + 1; }\n");
	cl_program top = from_source("#include \"number.h\"\n"
				     "__kernel void add(__global int *to, __global const int *from,"
				     " int n)\n"
				     "{\n"
				     "	int i = get_global_id(0);\n"
				     "	to[i] = more(SUM(from[i], n - 1));\n"
				     "}\n");
	cl_program parts[] = {top, body}, all;
	cl_int status;

	CHECK(clCompileProgram(top, 1, &device, "", 1, &header, names, NULL, NULL));
	CHECK(clCompileProgram(body, 1, &device, "-DUNUSED=1", 0, NULL, NULL, NULL, NULL));
	all = clLinkProgram(context, 1, &device, NULL, 2, parts, NULL, NULL, &status);
	CHECK(status);
	CHECK(clReleaseProgram(header));
	CHECK(clReleaseProgram(body));
	CHECK(clReleaseProgram(top));
	run(all);
	CHECK(clReleaseProgram(all));
	touched(4096, N, 0);
	touched(2048, 0, N);
}

static void binary(void)
{
	cl_program source = build(context, add), p;
	unsigned char *bytes;
	size_t size;
	cl_int status, loaded;

	CHECK(clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	bytes = malloc(size);
	CHECK(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL));
	CHECK(clReleaseProgram(source));
	p = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&bytes,
				      &loaded, &status);
	CHECK(status);
	CHECK(clBuildProgram(p, 1, &device, NULL, NULL, NULL));
	run(p);
	CHECK(clReleaseProgram(p));
	free(bytes);
}

static void loose(void)
{
	cl_program p = from_source(add);

	CHECK(clBuildProgram(p, 1, &device, "-cl-fast-relaxed-math", NULL, NULL));
	run(p);
	CHECK(clReleaseProgram(p));
}

/* Memory that has one address for all, reached through a pointer in other memory, too. */
static void svm(void)
{
	cl_program p = build(context, "__kernel void add(__global int *to, __global long *where)\n"
				      "{\n"
				      "	int i = get_global_id(0);\n"
				      "	__global int *from = (__global int *)where[0];\n"
				      "	to[i] = from[i] + 7;\n"
				      "}\n");
	cl_kernel k = new_kernel(p, "add");
	int *from = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
	int *to = clSVMAlloc(context, CL_MEM_READ_WRITE, 2048, 0);
	long *where = clSVMAlloc(context, CL_MEM_READ_WRITE, 128, 0);
	void *indirect[] = {from};

	EXPECT(from && to && where);
	CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, from, 4096, 0, NULL, NULL));
	CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, where, 128, 0, NULL, NULL));
	for (int i = 0; i < N; i++)
		from[i] = i;
	where[0] = (long)from;
	CHECK(clEnqueueSVMUnmap(queue, where, 0, NULL, NULL));
	CHECK(clEnqueueSVMUnmap(queue, from, 0, NULL, NULL));
	CHECK(clSetKernelArgSVMPointer(k, 0, to));
	CHECK(clSetKernelArgSVMPointer(k, 1, where));
	CHECK(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(indirect), indirect));
	start(queue, k, N);
	CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, to, 2048, 0, NULL, NULL));
	for (int i = 0; i < N; i++)
		EXPECT(to[i] == i + 7);
	CHECK(clEnqueueSVMUnmap(queue, to, 0, NULL, NULL));
	CHECK(clFinish(queue));
	clSVMFree(context, from);
	clSVMFree(context, to);
	clSVMFree(context, where);
	touched(4096, N, 0);
	touched(2048, 0, N);
	printf("128 %d 0 %d\n", N, 8 * N);
}

/* Two parts of one buffer: what is done to them is done to it. */
static void parts(void)
{
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add");
	cl_mem all = filled(8192), half[2];
	cl_int status;

	for (int i = 0; i < 2; i++) {
		cl_buffer_region region = {(size_t)i * 4096, 4096};

		half[i] = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
		CHECK(status);
	}
	set(k, half[1], half[0], 7);
	start(queue, k, N);
	expect(all, 4096, N, 7);
	CHECK(clReleaseMemObject(half[0]));
	CHECK(clReleaseMemObject(half[1]));
	CHECK(clReleaseMemObject(all));
	touched(8192, N, N);
}

/* As one work-item. */
static void once(void)
{
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add");
	cl_mem from = filled(4096), to = new_buffer(context, 2048);

	set(k, to, from, 7);
	CHECK(clEnqueueTask(queue, k, 0, NULL, NULL));
	expect(to, 0, 1, 7);
	touched(4096, 1, 0);
	touched(2048, 0, 1);
}

/* The same kernel in two queues at once, its arguments changed as soon as it is enqueued. */
static void together(void)
{
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add");
	cl_mem from[2] = {filled(4096), filled(8192)};
	cl_mem to[2] = {new_buffer(context, 2048), new_buffer(context, 3072)};
	cl_command_queue queues[2] = {queue, new_queue(context, 0)};
	cl_int status;
	cl_event go = clCreateUserEvent(context, &status);
	size_t n = N;

	CHECK(status);
	for (int i = 0; i < 32; i++) {
		set(k, to[i % 2], from[i % 2], 7 + i % 2);
		CHECK(clEnqueueNDRangeKernel(queues[i % 2], k, 1, NULL, &n, NULL, i < 2,
					     i < 2 ? &go : NULL, NULL));
	}
	CHECK(clSetUserEventStatus(go, CL_COMPLETE));
	CHECK(clFinish(queues[1]));
	CHECK(clFinish(queues[0]));
	expect(to[0], 0, N, 7);
	expect(to[1], 0, N, 8);
	for (int i = 0; i < 2; i++) {
		touched(i ? 8192 : 4096, 16 * N, 0);
		touched(i ? 3072 : 2048, 0, 16 * N);
	}
	CHECK(clReleaseEvent(go));
	CHECK(clReleaseCommandQueue(queues[1]));
}

/* A clone has the arguments; the original is released. */
static void clone(void)
{
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add"), c;
	cl_mem from = filled(4096), to = new_buffer(context, 2048);
	cl_int status;

	set(k, to, from, 7);
	c = clCloneKernel(k, &status);
	if (status == CL_SUCCESS)
		CHECK(clReleaseKernel(k));
	else
		c = k; /* PoCL 3.1 has none */
	start(queue, c, N);
	expect(to, 0, N, 7);
	touched(4096, N, 0);
	touched(2048, 0, N);
}

/* What an image holds is not counted; the buffer beside it is. */
static void image(void)
{
	cl_program p =
		build(context, "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE |"
			       " CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
			       "__kernel void look(__read_only image2d_t in, __global int *to)\n"
			       "{\n"
			       "	int i = get_global_id(0);\n"
			       "	to[i] = read_imagei(in, s, (int2)(i, 0)).x;\n"
			       "}\n");
	cl_kernel k = new_kernel(p, "look");
	cl_image_format format = {CL_RGBA, CL_SIGNED_INT32};
	cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = N, .image_height = 1};
	cl_mem to = new_buffer(context, 2048), in;
	cl_int status;

	for (int i = 0; i < 4 * N; i++)
		data[i] = i / 4;
	in = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc, data,
			   &status);
	CHECK(status);
	CHECK(clSetKernelArg(k, 0, sizeof(in), &in));
	CHECK(clSetKernelArg(k, 1, sizeof(to), &to));
	start(queue, k, N);
	expect(to, 0, N, 0);
	touched(2048, 0, N);
}

/* Errors are the program's own. */
static void wrong(void)
{
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add");
	cl_mem from = filled(4096), to = new_buffer(context, 2048);
	size_t n = N, none = 7;

	EXPECT(clEnqueueNDRangeKernel(queue, k, 1, NULL, &n, NULL, 0, NULL, NULL) ==
	       CL_INVALID_KERNEL_ARGS);
	EXPECT(clSetKernelArg(k, 3, sizeof(n), &n) == CL_INVALID_ARG_INDEX);
	set(k, to, from, 7);
	EXPECT(clEnqueueNDRangeKernel(queue, k, 1, NULL, &n, &none, 0, NULL, NULL) ==
	       CL_INVALID_WORK_GROUP_SIZE);
	start(queue, k, N);
	expect(to, 0, N, 7);
	touched(4096, N, 0);
	touched(2048, 0, N);
}

/* Buffers that come and go at the same addresses: each launch has those of its time. */
static void free_(void)
{
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add");

	for (int i = 0; i < 8; i++) {
		cl_mem from = filled(4096 + 64 * (size_t)i);
		cl_mem to = new_buffer(context, 2048 + 32 * (size_t)i);

		set(k, to, from, 7);
		start(queue, k, N);
		expect(to, 0, N, 7);
		CHECK(clReleaseMemObject(from));
		CHECK(clReleaseMemObject(to));
		touched(4096 + 64 * (size_t)i, N, 0);
		touched(2048 + 32 * (size_t)i, 0, N);
	}
}

static _Atomic int ends;

static void CL_CALLBACK ended(cl_context c, void *arg)
{
	(void)c;
	(void)arg;
	ends++;
}

/* Contexts that end when all that is in them is released: they have no other owner. */
static void contexts(void)
{
	enum { CONTEXTS = 8 };
	cl_context mine = context;
	cl_command_queue my_queue = queue;

	for (int i = 0; i < CONTEXTS; i++) {
		cl_program p;

		context = new_context();
		CHECK(clSetContextDestructorCallback(context, ended, NULL));
		queue = new_queue(context, 0);
		p = build(context, add);
		CHECK(clRetainProgram(p));
		CHECK(clReleaseProgram(p));
		run(p);
		run(p);
		CHECK(clReleaseProgram(p));
		CHECK(clReleaseCommandQueue(queue));
		CHECK(clReleaseContext(context));
	}
	/* PoCL's threads may be late to let go. */
	for (int i = 0; i < 5000 && ends < CONTEXTS; i++)
		usleep(1000);
	EXPECT(ends == CONTEXTS);
	context = mine;
	queue = my_queue;
	touched(4096, 2 * CONTEXTS * N, 0);
	touched(2048, 0, 2 * CONTEXTS * N);
}

/* More pages of 32 bytes than a thread has cells for. */
static void large(void)
{
	enum { MANY = 1 << 19 };
	static int back[MANY];
	const int five = 5;
	cl_program p = build(context, add);
	cl_kernel k = new_kernel(p, "add");
	size_t size = sizeof(back);
	cl_mem from = new_buffer(context, size + 64), to = new_buffer(context, size);

	CHECK(clEnqueueFillBuffer(queue, from, &five, sizeof(five), 0, size, 0, NULL, NULL));
	set(k, to, from, 7);
	start(queue, k, MANY);
	CHECK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, size, back, 0, NULL, NULL));
	for (int i = 0; i < MANY; i++)
		EXPECT(back[i] == 12);
	CHECK(clReleaseMemObject(from));
	CHECK(clReleaseMemObject(to));
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(p));
	touched(size + 64, MANY, 0);
	touched(size, 0, MANY);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{"link", linked},	{"binary", binary}, {"loose", loose}, {"svm", svm},
		{"parts", parts},	{"once", once},	    {"clone", clone}, {"image", image},
		{"together", together}, {"wrong", wrong},   {"free", free_},  {"ended", contexts},
		{"large", large},
	};

	find_device();
	context = new_context();
	queue = new_queue(context, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name)) {
			ways[i].run();
			CHECK(clReleaseCommandQueue(queue));
			CHECK(clReleaseContext(context));
			return 0;
		}
	return 2;
}
