/*
 * bench_opencl_accesses.c - the cost of counting every access of a kernel.
 *
 * Processes run a plain matrix product, one work-item per element. The variants alternate: native;
 * all launches counted by object and page (hotness); also by source line with coalescing and
 * divergence (access_pattern); and under Oclgrind, which interprets kernels and counts
 * instructions. One launch is timed, after one that compiles. The sizes double, so that the
 * accesses grow by eight: a constant time per access shows linear cost. Memory is the process's
 * peak resident size.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sys/resource.h>

#include "bench.h"

enum { TURNS = 5, SIZES = 3 };
static const int sizes[SIZES] = {64, 128, 256};

enum variant { NATIVE, HOTNESS, PATTERN, OCLGRIND, VARIANTS };
static const struct {
	const char *name, *tool;
	int largest; /* largest size that does not need minutes per turn */
} variants[] = {
	[NATIVE] = {"native", NULL, 256},
	[HOTNESS] = {"hotness --all", "hotness", 256},
	[PATTERN] = {"access_pattern --all", "access_pattern", 256},
	[OCLGRIND] = {"oclgrind --inst-counts", NULL, 256},
};

/* -- The program under study: prints the ns of a launch, and KiB -- */

static const char *source =
	"__kernel void matmul(__global const float *a, __global const float *b, __global float *c,\n"
	"		     int n)\n"
	"{\n"
	"	int row = get_global_id(1), column = get_global_id(0);\n"
	"	float sum = 0;\n"
	"	for (int k = 0; k < n; k++)\n"
	"		sum += a[row * n + k] * b[k * n + column];\n"
	"	c[row * n + column] = sum;\n"
	"}\n";

static void check(cl_int status, const char *what)
{
	if (status != CL_SUCCESS)
		bench_die("%s: OpenCL error %d", what, status);
}

static double launch(cl_command_queue queue, cl_kernel kernel, int n)
{
	size_t global[2] = {(size_t)n, (size_t)n}, local[2] = {16, 16};
	double begin = bench_now();

	check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	check(clFinish(queue), "clFinish");
	return (bench_now() - begin) * 1e9;
}

static void verify(const float *c, int n)
{
	for (int i = 0; i < n * n; i++)
		if (c[i] != 2.0f * (float)n)
			bench_die("the product is wrong at %d: %f", i, (double)c[i]);
}

static int child(int n)
{
	size_t bytes = (size_t)n * (size_t)n * sizeof(float);
	float *data = malloc(bytes);
	cl_platform_id platform;
	cl_device_id device;
	cl_mem mem[3];
	struct rusage use;
	cl_int status;
	double time;

	if (!data || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
		free(data);
		return 77;
	}
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
	check(status, "clCreateCommandQueue");
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
	cl_kernel kernel = clCreateKernel(program, "matmul", &status);
	check(status, "clCreateKernel");
	for (cl_uint i = 0; i < 3; i++) {
		for (int k = 0; k < n * n; k++)
			data[k] = (float)(i + 1);
		mem[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
					data, &status);
		check(status, "clCreateBuffer");
		check(clSetKernelArg(kernel, i, sizeof(mem[i]), &mem[i]), "clSetKernelArg");
	}
	check(clSetKernelArg(kernel, 3, sizeof(n), &n), "clSetKernelArg");
	launch(queue, kernel, n);
	time = launch(queue, kernel, n);
	check(clEnqueueReadBuffer(queue, mem[2], CL_TRUE, 0, bytes, data, 0, NULL, NULL), "read");
	verify(data, n);
	getrusage(RUSAGE_SELF, &use);
	printf("figures %f %ld\n", time, use.ru_maxrss);
	free(data);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	for (int i = 0; i < 3; i++)
		clReleaseMemObject(mem[i]);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}

/* -- The measurement -- */

/* Returns 77 if it cannot run here. */
static int measure(enum variant v, int n, double *time, double *kib)
{
	char command[12288], self[2048] = "", before[9000] = "", run[4200], line[256];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *out;
	int got = 0, status;

	(void)length;
	snprintf(run, sizeof(run), "%s/run", bench_temp());
	if (variants[v].tool)
		snprintf(before, sizeof(before), "'%s' run -q -t %s --all -o '%s' --",
			 bench_built("accelprof"), variants[v].tool, run);
	if (v == OCLGRIND)
		snprintf(before, sizeof(before), "oclgrind --inst-counts --log /dev/null");
	snprintf(command, sizeof(command), "%s '%s' %d 2>&1", before, self, n);
	out = popen(command, "r");
	while (out && fgets(line, sizeof(line), out))
		if (sscanf(line, "figures %lf %lf", time, kib) == 2)
			got = 1;
	status = out ? pclose(out) : -1;
	bench_remove(run);
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
		return 77;
	if (!got || status)
		bench_die("%s: failed (%d)", variants[v].name, status);
	return 0;
}

static double median(const double *x)
{
	double copy[TURNS];

	memcpy(copy, x, sizeof(copy));
	qsort(copy, TURNS, sizeof(copy[0]), bench_compare);
	return copy[TURNS / 2];
}

static void report(double time[VARIANTS][SIZES][TURNS], double kib[VARIANTS][SIZES][TURNS],
		   const bool *there)
{
	for (int s = 0; s < SIZES; s++) {
		double n = sizes[s], accesses = n * n * (2 * n + 1);

		printf("%d^3: %.1f M accesses\n", sizes[s], accesses / 1e6);
		for (int v = 0; v < VARIANTS; v++) {
			double t = median(time[v][s]), slowdown[TURNS];

			if (!there[v] || sizes[s] > variants[v].largest)
				continue;
			for (int i = 0; i < TURNS; i++)
				slowdown[i] = time[v][s][i] / time[NATIVE][s][i];
			qsort(slowdown, TURNS, sizeof(slowdown[0]), bench_compare);
			printf("  %-24s %10.2f ms %8.2f ns an access, %7.1f x native (%.1f to "
			       "%.1f), %.0f MiB\n",
			       variants[v].name, t / 1e6, t / accesses, slowdown[TURNS / 2],
			       slowdown[0], slowdown[TURNS - 1], median(kib[v][s]) / 1024);
		}
	}
}

int main(int argc, char **argv)
{
	static double time[VARIANTS][SIZES][TURNS], kib[VARIANTS][SIZES][TURNS];
	bool there[VARIANTS] = {true, true, true, true};

	if (argc > 1)
		return child(atoi(argv[1]));
	for (int s = 0; s < SIZES; s++)
		for (int i = 0; i < TURNS; i++)
			for (int v = 0; v < VARIANTS; v++)
				if (there[v] && sizes[s] <= variants[v].largest &&
				    measure(v, sizes[s], &time[v][s][i], &kib[v][s][i]))
					there[v] = false;
	if (!there[NATIVE]) {
		puts("no OpenCL device: skipped");
		return 0;
	}
	printf("a matrix product, 16x16 work-items a group, %d turns\n", TURNS);
	report(time, kib, there);
	if (!there[OCLGRIND])
		puts("oclgrind is not installed: skipped");
	return 0;
}
