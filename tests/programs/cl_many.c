/*
 * cl_many - many launches: N over Q queues and T threads, waiting after each BATCH.
 *
 *	cl_many N QUEUES THREADS [BATCH]
 *
 * Prints how many the kernels themselves counted, and the seconds that it took.
 */
#include <pthread.h>

#include "cl_common.h"

enum { MAX = 64 };

static const char *source = "__kernel void tick(__global int *x) { atomic_inc(x); }";
static long launches, batch = 1000;
static int queue_count, thread_count;
static cl_context context;
static cl_program program;
static cl_command_queue queues[MAX];
static cl_mem counter;

static void *thread(void *arg)
{
	long me = (long)(intptr_t)arg, mine = launches / thread_count;
	cl_command_queue q = queues[me % queue_count];
	cl_kernel k = new_kernel(program, "tick");
	size_t one = 1;

	if (me < launches % thread_count)
		mine++;
	CHECK(clSetKernelArg(k, 0, sizeof(counter), &counter));
	for (long i = 1; i <= mine; i++) {
		CHECK(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, &one, 0, NULL, NULL));
		if (i % batch == 0)
			CHECK(clFinish(q));
	}
	CHECK(clFinish(q));
	CHECK(clReleaseKernel(k));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX];
	int ticks = 0;
	uint64_t begin;

	if (argc < 4)
		return 2;
	launches = atol(argv[1]);
	queue_count = atoi(argv[2]);
	thread_count = atoi(argv[3]);
	if (argc > 4)
		batch = atol(argv[4]);
	EXPECT(queue_count > 0 && queue_count <= MAX && thread_count > 0 && thread_count <= MAX);
	find_device();
	context = new_context();
	program = build(context, source);
	counter = new_buffer(context, sizeof(ticks));
	for (int i = 0; i < queue_count; i++)
		queues[i] = new_queue(context, 0);
	CHECK(clEnqueueWriteBuffer(queues[0], counter, CL_TRUE, 0, sizeof(ticks), &ticks, 0, NULL,
				   NULL));
	begin = raw_now();
	for (int i = 0; i < thread_count; i++)
		EXPECT(!pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i));
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	fprintf(stderr, "%.3f s\n", (double)(raw_now() - begin) / 1e9);
	CHECK(clEnqueueReadBuffer(queues[0], counter, CL_TRUE, 0, sizeof(ticks), &ticks, 0, NULL,
				  NULL));
	printf("%d\n", ticks);
	for (int i = 0; i < queue_count; i++)
		CHECK(clReleaseCommandQueue(queues[i]));
	CHECK(clReleaseMemObject(counter));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseContext(context));
	return 0;
}
