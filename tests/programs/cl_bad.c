/*
 * cl_bad - an OpenCL program that goes wrong, in a way of its own.
 *
 *	cl_bad build|arguments|userevent|device|leave|_exit|kill|running|fork|kernels
 *
 * Before it goes wrong it runs the kernel "good" three times.
 */
#include <signal.h>
#include <sys/wait.h>

#include "cl_common.h"

static const char *source =
	"__kernel void good(__global int *x) { x[0]++; }\n"
	"__kernel void slow(__global int *x) { int a = x[0]; for (int i = 0; i < 400000000; i++)"
	" a = a * 3 + i; x[1] = a; }\n";
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel good;
static cl_mem mem;

static void set_up(void)
{
	size_t one = 1;

	find_device();
	context = new_context();
	queue = new_queue(context, 0);
	program = build(context, source);
	good = new_kernel(program, "good");
	mem = new_buffer(context, 64);
	CHECK(clSetKernelArg(good, 0, sizeof(mem), &mem));
	for (int i = 0; i < 3; i++)
		CHECK(clEnqueueNDRangeKernel(queue, good, 1, NULL, &one, &one, 0, NULL, NULL));
	CHECK(clFinish(queue));
}

static void tear_down(void)
{
	CHECK(clReleaseMemObject(mem));
	CHECK(clReleaseKernel(good));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseContext(context));
}

static int bad_build(void)
{
	const char *text = "__kernel void broken(__global int *x) { this is no C; }";
	char log[4096] = "";
	cl_int status;
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, &status);

	CHECK(status);
	status = clBuildProgram(p, 1, &device, NULL, NULL, NULL);
	clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
	printf("build: %d, log: %s\n", status, log[0] ? "there" : "empty");
	printf("kernel: %d\n", clCreateKernel(p, "broken", &status) ? 0 : status);
	CHECK(clReleaseProgram(p));
	tear_down();
	return 3;
}

static int bad_arguments(void)
{
	size_t one = 1, odd = 3, huge = (size_t)1 << 40, region[3] = {1, 1, 1};
	cl_event e = NULL;
	cl_int status;
	char c = 0;

	setbuf(stdout, NULL);
	printf("%d", clEnqueueNDRangeKernel(queue, good, 0, NULL, &one, NULL, 0, NULL, NULL));
	printf(" %d", clEnqueueNDRangeKernel(NULL, good, 1, NULL, &one, NULL, 0, NULL, NULL));
	printf(" %d", clEnqueueNDRangeKernel(queue, good, 1, NULL, &one, &odd, 0, NULL, &e));
	printf(" %d", clEnqueueNDRangeKernel(queue, good, 1, NULL, &one, &huge, 0, NULL, NULL));
	printf(" %d", clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, huge, &c, 0, NULL, NULL));
	printf(" %d", clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 1, &c, 0, NULL, NULL));
	printf(" %d", clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, 1, NULL, 0, NULL, NULL));
	printf(" %d", clEnqueueFillBuffer(queue, mem, NULL, 4, 0, 8, 0, NULL, NULL));
	printf(" %d",
	       clEnqueueReadImage(queue, mem, CL_TRUE, region, region, 0, 0, &c, 0, NULL, NULL));
	printf(" %d",
	       clEnqueueReadImage(queue, NULL, CL_TRUE, region, region, 0, 0, &c, 0, NULL, NULL));
	printf(" %d",
	       clEnqueueMapBuffer(queue, mem, CL_TRUE, CL_MAP_READ, 0, huge, 0, NULL, NULL, &status)
		       ? 0
		       : status);
	printf(" %d", clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 8, NULL, &status) ? 0 : status);
	printf(" %d", clCreateBuffer(NULL, 0, 8, NULL, &status) ? 0 : status);
	printf(" %d", clCreateCommandQueue(NULL, device, 0, &status) ? 0 : status);
	printf(" %d", clCreateKernel(program, "nobody", &status) ? 0 : status);
	printf(" %d", clCreateKernel(NULL, "nobody", &status) ? 0 : status);
	printf(" %d", clGetCommandQueueInfo(NULL, CL_QUEUE_PROPERTIES, 0, NULL, NULL));
	printf(" %d", clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, &c, NULL));
	printf(" %d", clFinish(NULL));
	printf(" %d %s\n", clWaitForEvents(0, NULL), e ? "event" : "no event");
	tear_down();
	return 4;
}

/* What waits for an event that fails, fails. */
static int user_event(void)
{
	cl_int status, seen = 99;
	cl_event user = clCreateUserEvent(context, &status), e[2];
	size_t one = 1;
	int data[16] = {0};

	CHECK(status);
	CHECK(clEnqueueNDRangeKernel(queue, good, 1, NULL, &one, &one, 1, &user, &e[0]));
	CHECK(clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, 64, data, 1, &e[0], &e[1]));
	CHECK(clSetUserEventStatus(user, -42));
	printf("wait: %d", clWaitForEvents(1, &e[1]));
	for (int i = 0; i < 2; i++) {
		CHECK(clGetEventInfo(e[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(seen), &seen,
				     NULL));
		printf(", status: %d", seen < 0);
		CHECK(clReleaseEvent(e[i]));
	}
	CHECK(clReleaseEvent(user));
	printf("\n");
	fflush(stdout);
	_exit(5); /* PoCL 3.1 does not stand the end of a queue with failed commands */
}

static int no_device(void)
{
	cl_device_id d = NULL;
	cl_int status;
	cl_uint n = 9;

	printf("%d", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &d, &n));
	printf(" %d", clCreateContext(NULL, 1, &d, NULL, NULL, &status) ? 0 : status);
	printf(" %d", clCreateContextFromType(NULL, CL_DEVICE_TYPE_ACCELERATOR, NULL, NULL, &status)
			      ? 0
			      : status);
	printf(" %d\n", clCreateCommandQueue(context, d, 0, &status) ? 0 : status);
	tear_down();
	return 6;
}

/* It ends while its kernels run. */
static int running(void)
{
	cl_kernel slow = new_kernel(program, "slow");
	size_t one = 1;

	CHECK(clSetKernelArg(slow, 0, sizeof(mem), &mem));
	for (int i = 0; i < 4; i++)
		CHECK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &one, &one, 0, NULL, NULL));
	CHECK(clFlush(queue));
	usleep(1000);
	printf("leaving\n");
	fflush(stdout);
	return 7;
}

static int kill_(void)
{
	running();
	kill(getpid(), SIGKILL);
	return 1;
}

/* A child of a program that uses OpenCL, which does not. */
static int fork_(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		exit(8);
	EXPECT(waitpid(pid, &status, 0) == pid);
	printf("child: %d\n", WEXITSTATUS(status));
	tear_down();
	return 8;
}

/* Kernels without end, made and released: memory must not grow. */
static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int kernels(void)
{
	long before = 0;
	size_t one = 1;

	for (int i = 0; i < 60000; i++) {
		cl_kernel k = new_kernel(program, "good");

		if (i % 100 == 0) {
			CHECK(clSetKernelArg(k, 0, sizeof(mem), &mem));
			CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, &one, 0, NULL, NULL));
			CHECK(clFinish(queue));
		}
		CHECK(clReleaseKernel(k));
		if (i == 20000)
			before = resident();
	}
	fprintf(stderr, "grew by %ld KiB\n", resident() - before);
	tear_down();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} ways[] = {
		{"build", bad_build},  {"arguments", bad_arguments}, {"userevent", user_event},
		{"device", no_device}, {"running", running},	     {"kill", kill_},
		{"fork", fork_},       {"kernels", kernels},
	};
	const char *way = argc > 1 ? argv[1] : "";

	set_up();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(way, ways[i].name))
			return ways[i].run();
	if (!strcmp(way, "leave"))
		return 9;
	if (!strcmp(way, "_exit"))
		_exit(10);
	return 2;
}
