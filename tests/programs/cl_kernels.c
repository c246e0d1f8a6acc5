/*
 * cl_kernels [NAME...] - run kernels whose memory accesses are known, and print them.
 *
 * It prints JSON, a line each: for each kernel what it does to each of its buffers ("object": the
 * buffer's size, which no other has), to memory that is no buffer ("space"), in each line of the
 * source ("line"), both at once ("row"), and a checksum of its buffers ("sum"). The output is the
 * same under any profiler.
 */
#include "cl_common.h"
#include "cl_kernels.h"

static cl_context context;
static cl_command_queue queue;

static const char *space_of(enum where where)
{
	static const char *const names[] = {
		[LOCAL] = "local", [PRIVATE] = "private", [CONSTANT] = "constant"};

	return where < BUFFERS_MAX ? "global" : names[where];
}

static void print_counts(const struct row *r, uint64_t bytes)
{
	printf("\"loads\": %llu, \"stores\": %llu, \"bytes\": %llu}\n",
	       (unsigned long long)r->loads, (unsigned long long)r->stores,
	       (unsigned long long)bytes);
}

static void print_row(const struct known *k, const struct row *r)
{
	printf("{\"kernel\": \"%s\", \"row\": %d, \"at\": %u, \"in\": \"%s\", ", k->name,
	       (int)(r - k->rows), line_of(r->mark), space_of(r->where));
	if (r->where < BUFFERS_MAX)
		printf("\"of\": %zu, ", k->bytes[r->where]);
	printf("\"by\": \"%s\", \"size\": %u, ", r->by ? r->by : "", r->size);
	print_counts(r, bytes_of(r));
}

/* What the rows with this mark, or of this memory, come to. */
static void print_sum(const struct known *k, const char *mark, enum where where)
{
	struct row sum = {0};
	uint64_t bytes = 0;

	for (const struct row *r = k->rows; r < k->rows + ROWS && r->mark; r++) {
		if (mark ? strcmp(r->mark, mark) != 0 : r->where != where)
			continue;
		sum.loads += r->loads;
		sum.stores += r->stores;
		bytes += bytes_of(r);
	}
	if (mark)
		printf("{\"kernel\": \"%s\", \"line\": %u, ", k->name, line_of(mark));
	else if (where < BUFFERS_MAX)
		printf("{\"kernel\": \"%s\", \"object\": %zu, ", k->name, k->bytes[where]);
	else
		printf("{\"kernel\": \"%s\", \"space\": \"%s\", ", k->name, space_of(where));
	print_counts(&sum, bytes);
}

static void print_known(const struct known *k)
{
	const struct row *r, *before;

	for (r = k->rows; r < k->rows + ROWS && r->mark; r++) {
		print_row(k, r);
		for (before = k->rows; before < r && strcmp(before->mark, r->mark) != 0;)
			before++;
		if (before == r)
			print_sum(k, r->mark, A);
		for (before = k->rows; before < r && before->where != r->where;)
			before++;
		if (before == r)
			print_sum(k, NULL, r->where);
	}
}

static cl_mem filled(size_t bytes)
{
	cl_mem m = new_buffer(context, bytes);
	int *numbers = malloc(bytes);

	EXPECT(numbers && bytes % sizeof(int) == 0);
	for (size_t i = 0; i < bytes / sizeof(int); i++)
		numbers[i] = (int)(i * 7919 % 1009);
	CHECK(clEnqueueWriteBuffer(queue, m, CL_TRUE, 0, bytes, numbers, 0, NULL, NULL));
	free(numbers);
	return m;
}

static uint64_t checksum(cl_mem m, size_t bytes, uint64_t sum)
{
	unsigned char *p = malloc(bytes);

	EXPECT(p);
	CHECK(clEnqueueReadBuffer(queue, m, CL_TRUE, 0, bytes, p, 0, NULL, NULL));
	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ p[i]) * 1099511628211u;
	free(p);
	return sum;
}

static void run(const struct known *k, cl_program program)
{
	cl_kernel kernel = new_kernel(program, k->name);
	cl_mem mem[BUFFERS_MAX] = {0};
	uint64_t sum = 14695981039346656037u;
	cl_uint argument = 0;

	for (int i = 0; i < BUFFERS_MAX && k->bytes[i]; i++) {
		mem[i] = filled(k->bytes[i]);
		CHECK(clSetKernelArg(kernel, argument++, sizeof(mem[i]), &mem[i]));
	}
	if (k->local_bytes)
		CHECK(clSetKernelArg(kernel, argument++, k->local_bytes, NULL));
	if (k->number)
		CHECK(clSetKernelArg(kernel, argument++, sizeof(k->number), &k->number));
	CHECK(clEnqueueNDRangeKernel(queue, kernel, k->dims, k->offset, k->global, k->local, 0,
				     NULL, NULL));
	CHECK(clFinish(queue));
	print_known(k);
	for (int i = 0; i < BUFFERS_MAX && k->bytes[i]; i++) {
		sum = checksum(mem[i], k->bytes[i], sum);
		CHECK(clReleaseMemObject(mem[i]));
	}
	printf("{\"kernel\": \"%s\", \"sum\": \"%016llx\"}\n", k->name, (unsigned long long)sum);
	CHECK(clReleaseKernel(kernel));
}

/* Two of one size could not be distinguished. */
static void check_sizes(void)
{
	for (size_t i = 0; i < (size_t)KNOWN * BUFFERS_MAX; i++)
		for (size_t j = 0; j < i; j++) {
			size_t a = known[i / BUFFERS_MAX].bytes[i % BUFFERS_MAX];

			EXPECT(!a || a != known[j / BUFFERS_MAX].bytes[j % BUFFERS_MAX]);
		}
}

static void run_named(const char *name, cl_program program)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (!strcmp(known[i].name, name)) {
			run(&known[i], program);
			return;
		}
	fprintf(stderr, "cl_kernels: no kernel '%s'\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	cl_program program;

	check_sizes();
	find_device();
	context = new_context();
	queue = new_queue(context, 0);
	program = build(context, known_source);
	for (int i = 1; i < argc; i++)
		run_named(argv[i], program);
	for (size_t i = 0; argc == 1 && i < KNOWN; i++)
		run(&known[i], program);
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseContext(context));
	return 0;
}
