/*
 * bench_opencl.c - what the OpenCL handler adds to a launch.
 *
 * Processes launch an empty kernel in batches and wait for it. Three variants alternate: native;
 * below a layer that only requests what any profiler needs to know a kernel's times
 * (tests/layers/floor.c: the driver's cost); and under accelprof run. Each reports two times per
 * launch: that in the call, and the total with waiting. The result is the difference to the native
 * process of the same turn.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "bench.h"

enum { TURNS = 21, BATCH = 500, BATCHES = 60, WARM = 10, RESAMPLES = 4000 };

enum variant { NATIVE, PROFILING, EVENT, CALLBACK, TIMES, AGENT, VARIANTS };
static const struct {
	const char *name, *floor;
} variants[] = {
	[NATIVE] = {"native", NULL},
	[PROFILING] = {"floor: a queue with profiling", "profiling"},
	[EVENT] = {"floor: and an event a launch", "event"},
	[CALLBACK] = {"floor: and a callback", "callback"},
	[TIMES] = {"floor: and its times", "times"},
	[AGENT] = {"accelprof run", NULL},
};

/* -- The program under study: prints the ns in the call and the total ns of the median batch -- */

static void check(cl_int status, const char *what)
{
	if (status != CL_SUCCESS)
		bench_die("%s: OpenCL error %d", what, status);
}

static double median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), bench_compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static int child(void)
{
	static const char *source = "__kernel void empty(void) {}";
	const size_t one = 1;
	double call[BATCHES], all[BATCHES];
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
	check(status, "clCreateCommandQueue");
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
	cl_kernel kernel = clCreateKernel(program, "empty", &status);
	check(status, "clCreateKernel");
	for (int i = -WARM; i < BATCHES; i++) {
		double begin = bench_now(), called;

		for (int k = 0; k < BATCH; k++)
			clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
		called = bench_now();
		check(clFinish(queue), "clFinish");
		if (i >= 0) {
			call[i] = (called - begin) / BATCH * 1e9;
			all[i] = (bench_now() - begin) / BATCH * 1e9;
		}
	}
	printf("%f %f\n", median(call, BATCHES), median(all, BATCHES));
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}

/* -- The measurement -- */

/* Returns 77 if there is no OpenCL device. */
static int measure(enum variant v, double *call, double *all)
{
	char command[12288], self[2048] = "", layer[9000] = "", run[4200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *out;
	int got, status;

	(void)n;
	snprintf(run, sizeof(run), "%s/run", bench_temp());
	if (variants[v].floor)
		snprintf(layer, sizeof(layer), "FLOOR=%s OPENCL_LAYERS='%s'", variants[v].floor,
			 bench_built("tests/layers/floor.so"));
	if (v == AGENT)
		snprintf(layer, sizeof(layer), "'%s' run -q --record launch,kernel -o '%s' --",
			 bench_built("accelprof"), run);
	snprintf(command, sizeof(command), "%s '%s' child", layer, self);
	out = popen(command, "r");
	got = out ? fscanf(out, "%lf %lf", call, all) : 0;
	status = out ? pclose(out) : -1;
	bench_remove(run);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return 77;
	if (got != 2 || status)
		bench_die("%s: failed (%d)", variants[v].name, status);
	return 0;
}

/* The 95% interval of the median, by bootstrap. */
static void interval(const double *x, int n, double *low, double *high)
{
	static double medians[RESAMPLES];
	double sample[TURNS];

	for (int i = 0; i < RESAMPLES; i++) {
		for (int k = 0; k < n; k++)
			sample[k] = x[random() % n];
		medians[i] = median(sample, n);
	}
	qsort(medians, RESAMPLES, sizeof(double), bench_compare);
	*low = medians[RESAMPLES / 40];
	*high = medians[RESAMPLES - 1 - RESAMPLES / 40];
}

static void report(const char *what, double x[VARIANTS][TURNS])
{
	printf("%s, ns a launch: median, and added to native [95%% interval]\n", what);
	for (int v = 0; v < VARIANTS; v++) {
		double added[TURNS], copy[TURNS], low, high;

		for (int i = 0; i < TURNS; i++) {
			added[i] = x[v][i] - x[NATIVE][i];
			copy[i] = x[v][i];
		}
		interval(added, TURNS, &low, &high);
		printf("  %-32s %8.0f", variants[v].name, median(copy, TURNS));
		if (v != NATIVE)
			printf("   %+7.0f [%+.0f, %+.0f]", median(added, TURNS), low, high);
		puts("");
	}
}

int main(int argc, char **argv)
{
	static double call[VARIANTS][TURNS], all[VARIANTS][TURNS];

	if (argc > 1 && !strcmp(argv[1], "child"))
		return child();
	for (int i = 0; i < TURNS; i++)
		for (int v = 0; v < VARIANTS; v++)
			if (measure(v, &call[v][i], &all[v][i])) {
				puts("no OpenCL device: skipped");
				return 0;
			}
	printf("an empty kernel, %d batches of %d launches a process, %d turns\n", BATCHES, BATCH,
	       TURNS);
	report("in the call", call);
	report("in all", all);
	return 0;
}
