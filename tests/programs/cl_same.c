/*
 * cl_same - programs whose kernels have one name and one range, and access memory differently.
 *
 *	cl_same [source|options|header|link|binary]
 *
 * Two programs are built, in a way that makes their code differ, and the first of them once more,
 * which is the same code again. Each is launched LAUNCHES times. Prints "SIZE LOADS STORES BYTES"
 * for each object, by its size, which no other has.
 */
#include <stdbool.h>

#include "cl_common.h"

enum { N = 512, STRIDE = 32, LAUNCHES = 5 };

static cl_context context;
static cl_command_queue queue;

#define BODY                                                                                       \
	"__kernel void reduce(__global int *to, __global const int *from)\n"                       \
	"{\n"                                                                                      \
	"	int i = get_global_id(0);\n"                                                             \
	"	int x = from[AT(i)];\n"                                                                  \
	"	to[i] = x + 1;\n"                                                                        \
	"}\n"

static const char *const at[] = {"#define AT(i) (i)\n", "#define AT(i) ((i) * 32)\n"};

static cl_program new_program(const char *head, const char *body)
{
	const char *parts[] = {head, body};
	cl_int status;
	cl_program p = clCreateProgramWithSource(context, 2, parts, NULL, &status);

	CHECK(status);
	return p;
}

static cl_program from_source(int which)
{
	cl_program p = new_program(at[which], BODY);

	CHECK(clBuildProgram(p, 1, &device, NULL, NULL, NULL));
	return p;
}

static cl_program with_options(int which)
{
	cl_program p = new_program("#define AT(i) ((i) * BY)\n", BODY);

	CHECK(clBuildProgram(p, 1, &device, which ? "-DBY=32" : "-DBY=1", NULL, NULL));
	return p;
}

static cl_program with_header(int which)
{
	const char *names[] = {"at.h"};
	cl_program header = new_program(at[which], "");
	cl_program p = new_program("#include \"at.h\"\n", BODY), all;
	cl_int status;

	CHECK(clCompileProgram(p, 1, &device, "", 1, &header, names, NULL, NULL));
	all = clLinkProgram(context, 1, &device, NULL, 1, &p, NULL, NULL, &status);
	CHECK(status);
	CHECK(clReleaseProgram(header));
	CHECK(clReleaseProgram(p));
	return all;
}

static cl_program linked(int which)
{
	cl_program parts[] = {new_program("int at(int i);\n#define AT(i) at(i)\n", BODY),
			      new_program(at[which], "int at(int i) { return AT(i); }\n")};
	cl_program all;
	cl_int status;

	for (int i = 0; i < 2; i++)
		CHECK(clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
	all = clLinkProgram(context, 1, &device, NULL, 2, parts, NULL, NULL, &status);
	CHECK(status);
	CHECK(clReleaseProgram(parts[0]));
	CHECK(clReleaseProgram(parts[1]));
	return all;
}

static cl_program as_binary(cl_program source)
{
	unsigned char *bytes;
	cl_int status, loaded;
	cl_program p;
	size_t size;

	CHECK(clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	bytes = malloc(size);
	CHECK(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL));
	CHECK(clReleaseProgram(source));
	p = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&bytes,
				      &loaded, &status);
	CHECK(status);
	CHECK(clBuildProgram(p, 1, &device, NULL, NULL, NULL));
	free(bytes);
	return p;
}

/* The first is one whose accesses cannot be counted. */
static cl_program some_binary(int which)
{
	cl_program p = from_source(which);

	return which ? p : as_binary(p);
}

static void run(cl_program program, cl_mem to, cl_mem from, int by)
{
	cl_kernel k = new_kernel(program, "reduce");
	size_t n = N;
	int got[N];

	CHECK(clSetKernelArg(k, 0, sizeof(to), &to));
	CHECK(clSetKernelArg(k, 1, sizeof(from), &from));
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &n, NULL, 0, NULL, NULL));
	CHECK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof(got), got, 0, NULL, NULL));
	for (int i = 0; i < N; i++)
		EXPECT(got[i] == i * by + 1);
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(program));
}

static cl_mem numbers(size_t count)
{
	int *data = malloc(count * sizeof(*data));
	cl_int status;
	cl_mem m;

	for (size_t i = 0; i < count; i++)
		data[i] = (int)i;
	m = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, count * sizeof(*data), data, &status);
	CHECK(status);
	free(data);
	return m;
}

static void touched(size_t size, int launches, int loads, int stores)
{
	printf("%zu %d %d %d\n", size, launches * loads, launches * stores,
	       4 * launches * (loads + stores));
}

static const struct {
	const char *name;
	cl_program (*make)(int which);
} ways[] = {{"source", from_source},
	    {"options", with_options},
	    {"header", with_header},
	    {"link", linked},
	    {"binary", some_binary}};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

int main(int argc, char **argv)
{
	enum { NEAR = 4 * N, FAR = 4 * N * STRIDE, TO = 8 * N };
	bool is_binary;
	cl_mem near, far, to;
	int way = 0;

	while (argc > 1 && way < WAYS && strcmp(argv[1], ways[way].name) != 0)
		way++;
	if (way == WAYS)
		return 2;
	is_binary = ways[way].make == some_binary;
	find_device();
	context = new_context();
	queue = new_queue(context, 0);
	near = numbers(NEAR / 4);
	far = numbers(FAR / 4);
	to = new_buffer(context, TO);
	run(ways[way].make(0), to, near, 1);
	run(ways[way].make(1), to, far, STRIDE);
	run(ways[way].make(0), to, near, 1);
	CHECK(clFinish(queue));
	if (!is_binary)
		touched(NEAR, 2 * LAUNCHES, N, 0);
	touched(FAR, LAUNCHES, N, 0);
	touched(TO, (is_binary ? 1 : 3) * LAUNCHES, 0, N);
	return 0;
}
