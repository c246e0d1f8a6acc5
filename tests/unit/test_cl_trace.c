/* test_cl_trace.c - the accesses of instrumented OpenCL kernels equal those in their sources. */
/* timeout: 120 */
/* labels: notsan */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "handlers/opencl/trace/trace.h"

/* PoCL and its compiler don't free their caches. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libstdc++\n";
}

enum { SITES = 4096, BUFFERS = 4, GROUPS = 4096 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_icd_dispatch cl;

/* -- Hooks -- */

static uint64_t seen_count[SITES], seen_bytes[SITES], seen_items, seen_groups, seen_wrong;
static uint64_t seen_argument[BUFFERS];
static uint64_t tokens[2], token_items[2], token_accesses[2];
static uint32_t seen_group_size, seen_kernel; /* expected values */
static uint64_t seen_again; /* how often a group's first work-item continued after a barrier */
static _Thread_local uint64_t token_here;
static _Thread_local uint32_t item_here, entered_here;
static struct {
	uintptr_t base;
	size_t size;
	uint64_t loads, stores, load_bytes, store_bytes;
} buffers[BUFFERS];
static struct pasta_trace_module module;
static struct pasta_trace_subscribe subscribe;

#define ADD(where, n) __atomic_fetch_add(&(where), n, __ATOMIC_RELAXED)

static void by_buffer(uint64_t addr, const struct pasta_trace_site *s)
{
	for (int i = 0; i < BUFFERS; i++) {
		if (addr < buffers[i].base || addr + s->bytes > buffers[i].base + buffers[i].size)
			continue;
		if (s->does & (PASTA_TRACE_LOAD | PASTA_TRACE_ATOMIC)) {
			ADD(buffers[i].loads, 1);
			ADD(buffers[i].load_bytes, s->bytes);
		}
		if (s->does & (PASTA_TRACE_STORE | PASTA_TRACE_ATOMIC)) {
			ADD(buffers[i].stores, 1);
			ADD(buffers[i].store_bytes, s->bytes);
		}
		return;
	}
	if (s->space == PASTA_TRACE_GLOBAL)
		ADD(seen_wrong, 1);
}

/* Returns the launch of a token. An unknown token is counted as wrong. */
static int launch_of(uint64_t token)
{
	for (int i = 0; i < 2; i++)
		if (tokens[i] == token)
			return i;
	ADD(seen_wrong, 1);
	return 0;
}

static void on_enter(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		     uint32_t group_size)
{
	ADD(seen_items, 1);
	ADD(token_items[launch_of(token)], 1);
	if (item == 0)
		ADD(seen_groups, 1);
	if (item >= group_size || group_size != seen_group_size || kernel != seen_kernel)
		ADD(seen_wrong, 1);
	/* Work-items enter in order, and all of a group do. */
	if (item != entered_here)
		ADD(seen_wrong, 1);
	entered_here = item + 1 < group_size ? item + 1 : 0;
	item_here = item;
	token_here = token;
}

static void on_argument(uint64_t token, uint32_t index, uint64_t addr)
{
	if (token != token_here)
		ADD(seen_wrong, 1);
	if (index < BUFFERS)
		__atomic_store_n(&seen_argument[index], addr, __ATOMIC_RELAXED);
}

static void on_access(uint64_t addr, uint32_t site, uint32_t item)
{
	ADD(token_accesses[launch_of(token_here)], 1);
	if (item < item_here)
		ADD(seen_again, 1);
	item_here = item;
	ADD(seen_count[site], 1);
	ADD(seen_bytes[site], module.sites[site].bytes);
	by_buffer(addr, &module.sites[site]);
}

static void on_range(uint64_t addr, uint32_t site, uint32_t item, uint64_t count, uint64_t stride)
{
	if (item)
		return;
	ADD(seen_count[site], count);
	ADD(seen_bytes[site], count * module.sites[site].bytes);
	for (uint64_t i = 0; i < count; i++)
		by_buffer(addr + i * stride, &module.sites[site]);
}

/* Returns the number of accesses by a line of the source, of one type and address space. */
static uint64_t line_did(uint32_t line, uint8_t does, uint8_t space)
{
	uint64_t n = 0;

	for (size_t i = 0; i < module.site_count; i++) {
		const struct pasta_trace_site *s = &module.sites[i];

		if (s->line == line && s->does == does && s->space == space && !*s->file)
			n += seen_count[i];
	}
	return n;
}

static uint64_t space_did(uint8_t does, uint8_t space)
{
	uint64_t n = 0;

	for (size_t i = 0; i < module.site_count; i++)
		if (module.sites[i].does == does && module.sites[i].space == space)
			n += seen_count[i];
	return n;
}

/* -- Running a kernel, first unchanged and then instrumented -- */

struct run {
	const char *source, *kernel, *options;
	size_t dims, offset[3], global[3], local[3];
	size_t bytes[BUFFERS]; /* each an argument; 0: none */
	size_t local_bytes;    /* one more argument, if not 0 */
	int number;	       /* and one more, if not 0 */
	const void *value;     /* and one more, if not NULL */
	size_t value_bytes;
};

static void *memory_of(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	assert_non_null(p);
	return p;
}

/* Fills a buffer with numbers whose sum depends on the order of addition. */
static void fill(void *p, size_t bytes)
{
	float *f = p;

	for (size_t i = 0; i < bytes / sizeof(*f); i++)
		f[i] = (float)(i * 7919 % 1009) / 997.0f - 0.3f;
}

/* Sets an instrumented kernel's token, the argument after the original ones. */
static void set_token(cl_kernel k, const char *name, cl_uint arguments, uint64_t token)
{
	for (uint32_t i = 0; i < module.kernel_count; i++)
		if (!strcmp(module.kernels[i].name, name)) {
			assert_int_equal(module.kernels[i].arguments, arguments);
			assert_int_equal(clSetKernelArg(k, arguments, sizeof(token), &token),
					 CL_SUCCESS);
			seen_kernel = i;
		}
}

static cl_uint set_arguments(const struct run *r, cl_kernel k, void *const host[BUFFERS],
			     cl_mem mem[BUFFERS])
{
	cl_uint arg = 0;
	cl_int status;

	for (int i = 0; i < BUFFERS && r->bytes[i]; i++) {
		mem[i] =
			clCreateBuffer(context, CL_MEM_USE_HOST_PTR, r->bytes[i], host[i], &status);
		assert_int_equal(clSetKernelArg(k, arg++, sizeof(mem[i]), &mem[i]), CL_SUCCESS);
	}
	if (r->local_bytes)
		assert_int_equal(clSetKernelArg(k, arg++, r->local_bytes, NULL), CL_SUCCESS);
	if (r->number)
		assert_int_equal(clSetKernelArg(k, arg++, sizeof(int), &r->number), CL_SUCCESS);
	if (r->value)
		assert_int_equal(clSetKernelArg(k, arg++, r->value_bytes, r->value), CL_SUCCESS);
	return arg;
}

static void launch(const struct run *r, cl_program program, void *const host[BUFFERS])
{
	cl_mem mem[BUFFERS] = {0};
	cl_int status;
	cl_kernel k = clCreateKernel(program, r->kernel, &status);

	assert_int_equal(status, CL_SUCCESS);
	set_token(k, r->kernel, set_arguments(r, k, host, mem), tokens[0]);
	seen_group_size = (uint32_t)r->local[0];
	for (size_t i = 1; i < r->dims; i++)
		seen_group_size *= (uint32_t)r->local[i];
	assert_int_equal(clEnqueueNDRangeKernel(queue, k, (cl_uint)r->dims, r->offset, r->global,
						r->local, 0, NULL, NULL),
			 CL_SUCCESS);
	clFinish(queue);
	for (int i = 0; i < BUFFERS && mem[i]; i++) {
		void *p = clEnqueueMapBuffer(queue, mem[i], CL_TRUE, CL_MAP_READ, 0, r->bytes[i], 0,
					     NULL, NULL, &status);

		assert_ptr_equal(p, host[i]);
		clEnqueueUnmapMemObject(queue, mem[i], p, 0, NULL, NULL);
		clFinish(queue);
		clReleaseMemObject(mem[i]);
	}
	clReleaseKernel(k);
}

static void forget(void)
{
	pasta_trace_module_free(&module);
	memset(seen_count, 0, sizeof(seen_count));
	memset(seen_bytes, 0, sizeof(seen_bytes));
	memset(buffers, 0, sizeof(buffers));
	memset(seen_argument, 0, sizeof(seen_argument));
	memset(token_items, 0, sizeof(token_items));
	memset(token_accesses, 0, sizeof(token_accesses));
	seen_items = seen_groups = seen_wrong = seen_again = 0;
	tokens[0] = 0x123456789abcdef0;
	tokens[1] = 7;
}

static cl_program native_of(const struct run *r)
{
	cl_int status;
	cl_program p =
		clCreateProgramWithSource(context, 1, (const char **)&r->source, NULL, &status);

	assert_int_equal(status, CL_SUCCESS);
	assert_int_equal(clBuildProgram(p, 1, &device, r->options, NULL, NULL), CL_SUCCESS);
	return p;
}

/* Checks that the results are bit-identical, and that each work-item entered. */
static void trace(const struct run *r)
{
	struct pasta_trace_part part = {.program = native_of(r), .options = r->options};
	size_t items =
		r->global[0] * (r->dims > 1 ? r->global[1] : 1) * (r->dims > 2 ? r->global[2] : 1);
	void *native[BUFFERS] = {0}, *traced[BUFFERS] = {0};
	struct pasta_error err = {0};
	cl_program program = NULL;

	forget();
	for (int i = 0; i < BUFFERS && r->bytes[i]; i++) {
		fill(native[i] = memory_of(r->bytes[i]), r->bytes[i]);
		fill(traced[i] = memory_of(r->bytes[i]), r->bytes[i]);
		buffers[i].base = (uintptr_t)traced[i];
		buffers[i].size = r->bytes[i];
	}
	launch(r, part.program, native);
	if (pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, &err))
		fail_msg("%s", err.text);
	assert_in_range(module.site_count, 1, SITES - 1);
	launch(r, program, traced);
	assert_int_equal(seen_items, items);
	assert_int_equal(seen_wrong, 0);
	for (int i = 0; i < BUFFERS && r->bytes[i]; i++) {
		assert_memory_equal(native[i], traced[i], r->bytes[i]);
		assert_int_equal(seen_argument[i], buffers[i].base);
		free(native[i]);
		free(traced[i]);
	}
	clReleaseProgram(program);
	clReleaseProgram(part.program);
}

static void buffer_did(int i, uint64_t loads, uint64_t load_bytes, uint64_t stores,
		       uint64_t store_bytes)
{
	assert_int_equal(buffers[i].loads, loads);
	assert_int_equal(buffers[i].load_bytes, load_bytes);
	assert_int_equal(buffers[i].stores, stores);
	assert_int_equal(buffers[i].store_bytes, store_bytes);
}

/* -- Kernels -- */

static const char matmul[] = "float at(__global const float *p, int i)\n"
			     "{\n"
			     "	return p[i];\n"
			     "}\n"
			     "__kernel void matmul(__global const float *a,\n"
			     "	__global const float *b, __global float *c, int n)\n"
			     "{\n"
			     "	int x = get_global_id(0), y = get_global_id(1);\n"
			     "	float sum = 0;\n"
			     "	for (int k = 0; k < n; k++)\n"
			     "		sum += a[y * n + k] * at(b, k * n + x);\n"
			     "	c[y * n + x] = sum;\n"
			     "}\n";

static void matmul_reads_each_operand_n_cubed_times(void **state)
{
	enum { N = 32 };
	const struct run r = {.source = matmul,
			      .kernel = "matmul",
			      .dims = 2,
			      .global = {N, N},
			      .local = {8, 8},
			      .bytes = {4 * N * N, 4 * N * N, 4 * N * N},
			      .number = N};

	trace(&r);
	buffer_did(0, N * N * N, 4 * N * N * N, 0, 0);
	buffer_did(1, N * N * N, 4 * N * N * N, 0, 0);
	buffer_did(2, 0, 0, N * N, 4 * N * N);
	assert_int_equal(seen_groups, N * N / 64);
	assert_int_equal(line_did(11, PASTA_TRACE_LOAD, PASTA_TRACE_GLOBAL), N * N * N);
	assert_int_equal(line_did(3, PASTA_TRACE_LOAD, PASTA_TRACE_GLOBAL), N * N * N);
	assert_int_equal(line_did(12, PASTA_TRACE_STORE, PASTA_TRACE_GLOBAL), N * N);
	/* The loop counter and the sum count as registers. */
	assert_int_equal(space_did(PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), 0);
}

static void stencil_reads_its_neighbours_where_there_are_any(void **state)
{
	enum { X = 20, Y = 12, Z = 6, CELLS = X * Y * Z, INNER = (X - 2) * (Y - 2) * (Z - 2) };
	const struct run r = {
		.source =
			"__kernel void stencil(__global const float *a, __global float *b)\n"
			"{\n"
			"	size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
			"	size_t sx = get_global_size(0), sy = get_global_size(1);\n"
			"	size_t sz = get_global_size(2), i = (z * sy + y) * sx + x;\n"
			"	if (x == 0 || y == 0 || z == 0 || x == sx - 1 || y == sy - 1 ||\n"
			"	    z == sz - 1) {\n"
			"		b[i] = a[i];\n"
			"		return;\n"
			"	}\n"
			"	b[i] = (a[i] + a[i - 1] + a[i + 1] + a[i - sx] + a[i + sx] +\n"
			"		a[i - sx * sy] + a[i + sx * sy]) / 7;\n"
			"}\n",
		.kernel = "stencil",
		.dims = 3,
		.global = {X, Y, Z},
		.local = {4, 4, 2},
		.bytes = {4 * CELLS, 4 * CELLS}};

	trace(&r);
	buffer_did(0, 7 * INNER + CELLS - INNER, 4 * (7 * INNER + CELLS - INNER), 0, 0);
	buffer_did(1, 0, 0, CELLS, 4 * CELLS);
	assert_int_equal(line_did(8, PASTA_TRACE_LOAD, PASTA_TRACE_GLOBAL), CELLS - INNER);
	assert_int_equal(line_did(11, PASTA_TRACE_LOAD, PASTA_TRACE_GLOBAL), 5 * INNER);
}

static void reduction_with_barriers_halves_its_local_traffic(void **state)
{
	enum { N = 1024, G = 64 };
	const struct run r = {
		.source = "__kernel void reduce(__global const float *a, __global float *b,\n"
			  "	__local float *part)\n"
			  "{\n"
			  "	size_t i = get_local_id(0);\n"
			  "	part[i] = a[get_global_id(0)];\n"
			  "	for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {\n"
			  "		barrier(CLK_LOCAL_MEM_FENCE);\n"
			  "		if (i < n)\n"
			  "			part[i] += part[i + n];\n"
			  "	}\n"
			  "	if (i == 0)\n"
			  "		b[get_group_id(0)] = part[0];\n"
			  "}\n",
		.kernel = "reduce",
		.dims = 1,
		.global = {N},
		.local = {G},
		.bytes = {4 * N, 4 * N / G},
		.local_bytes = 4 * G};
	const uint64_t groups = N / G;

	trace(&r);
	buffer_did(0, N, 4 * N, 0, 0);
	buffer_did(1, 0, 0, groups, 4 * groups);
	assert_int_equal(line_did(5, PASTA_TRACE_STORE, PASTA_TRACE_LOCAL), N);
	assert_int_equal(line_did(9, PASTA_TRACE_LOAD, PASTA_TRACE_LOCAL), 2 * groups * (G - 1));
	assert_int_equal(line_did(9, PASTA_TRACE_STORE, PASTA_TRACE_LOCAL), groups * (G - 1));
	assert_int_equal(line_did(12, PASTA_TRACE_LOAD, PASTA_TRACE_LOCAL), groups);
	/* After each of the six barriers the first work-item continues after a later one. */
	assert_int_equal(seen_again, groups * 6);
}

static void an_atomic_is_a_load_and_a_store(void **state)
{
	enum { N = 1 << 15, G = 64, BINS = 16 };
	const struct run r = {
		.source = "__kernel void histogram(__global const uint *a, __global uint *h)\n"
			  "{\n"
			  "	__local uint bins[16];\n"
			  "	size_t i = get_local_id(0);\n"
			  "	if (i < 16)\n"
			  "		bins[i] = 0;\n"
			  "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			  "	atomic_inc(&bins[a[get_global_id(0)] % 16]);\n"
			  "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			  "	if (i < 16)\n"
			  "		atomic_add(&h[i], bins[i]);\n"
			  "}\n",
		.kernel = "histogram",
		.dims = 1,
		.global = {N},
		.local = {G},
		.bytes = {4 * N, 4 * BINS}};
	const uint64_t groups = N / G;

	trace(&r);
	buffer_did(0, N, 4 * N, 0, 0);
	buffer_did(1, groups * BINS, 4 * groups * BINS, groups * BINS, 4 * groups * BINS);
	assert_int_equal(line_did(8, PASTA_TRACE_ATOMIC, PASTA_TRACE_LOCAL), N);
	assert_int_equal(line_did(11, PASTA_TRACE_ATOMIC, PASTA_TRACE_GLOBAL), groups * BINS);
	assert_int_equal(line_did(6, PASTA_TRACE_STORE, PASTA_TRACE_LOCAL), groups * BINS);
}

static void vload8_is_one_access_of_eight_elements(void **state)
{
	enum { N = 64 };
	const struct run r = {
		.source =
			"__kernel void scale(__global const float *a, __global float *b,\n"
			"	__global const half *h)\n"
			"{\n"
			"	size_t i = get_global_id(0);\n"
			"	float8 v = vload8(i, a) * 1.1f;\n"
			"	vstore8(v, i, b);\n"
			"	vstore3(v.s012 + vload_half(i, h) + vloada_half3(i, h), i, b + 512);\n"
			"}\n",
		.kernel = "scale",
		.dims = 1,
		.global = {N},
		.local = {1},
		.bytes = {32 * N, (32 + 12) * N, 8 * N}};

	trace(&r);
	buffer_did(0, N, 32 * N, 0, 0);
	buffer_did(1, 0, 0, 2 * N, (32 + 12) * N);
	buffer_did(2, 2 * N, (2 + 6) * N, 0, 0);
}

static void a_structure_copy_is_one_load_and_one_store(void **state)
{
	enum { N = 128, SIZE = 28 };
	const struct run r = {
		.source = "typedef struct { int a[5]; float x, y; } body;\n"
			  "__kernel void move(__global const body *from, __global body *to)\n"
			  "{\n"
			  "	size_t i = get_global_id(0);\n"
			  "	body b = from[i];\n"
			  "	b.x += b.y;\n"
			  "	to[i] = b;\n"
			  "	to[i].a[2] = 3;\n"
			  "}\n",
		.kernel = "move",
		.dims = 1,
		.global = {N},
		.local = {32},
		.bytes = {SIZE * N, SIZE * N}};

	trace(&r);
	buffer_did(0, N, SIZE * N, 0, 0);
	buffer_did(1, 0, 0, 2 * N, (SIZE + 4) * N);
	assert_int_equal(line_did(5, PASTA_TRACE_STORE, PASTA_TRACE_PRIVATE), N);
	assert_int_equal(line_did(6, PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), 2 * N);
	assert_int_equal(line_did(7, PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), N);
}

static void a_copy_by_a_group_is_one_range(void **state)
{
	enum { N = 256, G = 32 };
	const struct run r = {
		.source = "__kernel void through(__global const float *a, __global float *b,\n"
			  "	__local float *t)\n"
			  "{\n"
			  "	size_t g = get_group_id(0) * 32, i = get_local_id(0);\n"
			  "	event_t e = async_work_group_copy(t, a + g, 32, 0);\n"
			  "	wait_group_events(1, &e);\n"
			  "	t[i] = t[i] * 2;\n"
			  "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			  "	e = async_work_group_strided_copy(b + g * 2, t, 32, 2, 0);\n"
			  "	wait_group_events(1, &e);\n"
			  "}\n",
		.kernel = "through",
		.dims = 1,
		.global = {N},
		.local = {G},
		.bytes = {4 * N, 8 * N},
		.local_bytes = 4 * G};

	trace(&r);
	buffer_did(0, N, 4 * N, 0, 0);
	buffer_did(1, 0, 0, N, 4 * N);
	assert_int_equal(line_did(5, PASTA_TRACE_STORE, PASTA_TRACE_LOCAL), N);
	assert_int_equal(line_did(9, PASTA_TRACE_LOAD, PASTA_TRACE_LOCAL), N);
}

static void pointers_are_followed_through_variables_and_functions(void **state)
{
	enum { N = 96 };
	const struct run r = {
		.source = "__constant float table[3] = {1, 2, 3};\n"
			  "void put(__private float *p, float v) { *p = v; }\n"
			  "__global float *later(__global float *p, size_t n) { return p + n; }\n"
			  "__kernel void follow(__global const float *a, __global float *b)\n"
			  "{\n"
			  "	size_t i = get_global_id(0);\n"
			  "	__global const float *p = i & 1 ? a : a + 1;\n"
			  "	float mine[3];\n"
			  "	for (int k = 0; k < 3; k++)\n"
			  "		put(&mine[k], *p++ * table[k]);\n"
			  "	*later(b, i) = mine[0] + mine[1] + mine[2];\n"
			  "}\n",
		.kernel = "follow",
		.dims = 1,
		.global = {N},
		.offset = {0},
		.local = {16},
		.bytes = {4 * N, 4 * N}};

	trace(&r);
	buffer_did(0, 3 * N, 12 * N, 0, 0);
	buffer_did(1, 0, 0, N, 4 * N);
	assert_int_equal(line_did(2, PASTA_TRACE_STORE, PASTA_TRACE_PRIVATE), 3 * N);
	assert_int_equal(line_did(10, PASTA_TRACE_LOAD, PASTA_TRACE_CONSTANT), 3 * N);
	assert_int_equal(line_did(10, PASTA_TRACE_LOAD, PASTA_TRACE_GLOBAL), 3 * N);
	assert_int_equal(line_did(11, PASTA_TRACE_STORE, PASTA_TRACE_GLOBAL), N);
	assert_int_equal(line_did(11, PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), 3 * N);
}

/* x86-64 passes an int2 as a double, and a large structure in memory. */
static void passing_a_value_is_not_an_access(void **state)
{
	enum { N = 64 };
	const struct run r = {
		.source = "typedef struct { float x[6]; } six;\n"
			  "int sum(int2 v) { return v.x + v.y; }\n"
			  "float last(six s) { return s.x[5]; }\n"
			  "__kernel void pass(__global const six *a, __global float *b)\n"
			  "{\n"
			  "	size_t i = get_global_id(0);\n"
			  "	b[i] = sum((int2)(i, 2)) + last(a[i]);\n"
			  "}\n",
		.kernel = "pass",
		.dims = 1,
		.global = {N},
		.local = {16},
		.bytes = {24 * N, 4 * N}};

	trace(&r);
	buffer_did(0, N, 24 * N, 0, 0);
	buffer_did(1, 0, 0, N, 4 * N);
	assert_int_equal(space_did(PASTA_TRACE_STORE, PASTA_TRACE_PRIVATE), 0);
	assert_int_equal(space_did(PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), N);
	assert_int_equal(line_did(3, PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), N);
}

static void only_selected_address_spaces_are_instrumented(void **state)
{
	enum { N = 32 };
	const struct run r = {.source = "__kernel void some(__global int *a, __local int *t)\n"
					"{\n"
					"	size_t i = get_local_id(0);\n"
					"	int mine[2] = {a[i], 3};\n"
					"	atomic_xchg(&t[i], mine[i & 1]);\n"
					"	a[i] = t[i];\n"
					"}\n",
			      .kernel = "some",
			      .dims = 1,
			      .global = {N},
			      .local = {N},
			      .bytes = {4 * N},
			      .local_bytes = 4 * N};

	subscribe.spaces = 1 << PASTA_TRACE_GLOBAL;
	trace(&r);
	buffer_did(0, N, 4 * N, N, 4 * N);
	assert_int_equal(module.site_count, 2);
	subscribe.spaces = 1 << PASTA_TRACE_LOCAL;
	trace(&r);
	assert_int_equal(module.site_count, 2);
	assert_int_equal(line_did(5, PASTA_TRACE_ATOMIC, PASTA_TRACE_LOCAL), N);
	subscribe.spaces = 0;
	trace(&r);
	assert_int_equal(line_did(4, PASTA_TRACE_STORE, PASTA_TRACE_PRIVATE), 2 * N);
	assert_int_equal(line_did(5, PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), N);
}

static void options_and_offsets_still_apply(void **state)
{
	enum { N = 40, FROM = 8 };
	const struct run r = {.source = "__kernel void gather(__global const float *a,\n"
					"	__global float *b)\n"
					"{\n"
					"	size_t i = get_global_id(0);\n"
					"	b[i] = STEP * a[i * 13 % SIZE];\n"
					"	if (i % 4 == 0)\n"
					"		b[i] += a[0];\n"
					"}\n",
			      .kernel = "gather",
			      .options = "-D STEP=0.25f -DSIZE=48 -cl-mad-enable",
			      .dims = 1,
			      .offset = {FROM},
			      .global = {N},
			      .local = {8},
			      .bytes = {4 * (N + FROM), 4 * (N + FROM)}};

	trace(&r);
	buffer_did(0, N + N / 4, 4 * (N + N / 4), 0, 0);
	buffer_did(1, N / 4, N, N + N / 4, 4 * (N + N / 4));
}

/* -- Launches -- */

static const char bump[] = "__kernel void bump(__global int *a)\n"
			   "{\n"
			   "	size_t i = get_global_id(0);\n"
			   "	for (int n = 0; n < 20; n++)\n"
			   "		a[i] += n;\n"
			   "}\n";

/* Enqueues the same kernel with different tokens; none starts before all are enqueued. */
static void race(cl_program program, cl_mem mem, size_t items, int rounds)
{
	cl_kernel k = clCreateKernel(program, "bump", NULL);
	cl_event gate = clCreateUserEvent(context, NULL);
	cl_command_queue queues[2];
	size_t global, local = 16;

	clSetKernelArg(k, 0, sizeof(mem), &mem);
	for (size_t i = 0; i < 2; i++)
		queues[i] = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
	for (int i = 0; i < rounds * 2; i++) {
		set_token(k, "bump", 1, tokens[i % 2]);
		global = items * (size_t)(1 + i % 2);
		assert_int_equal(clEnqueueNDRangeKernel(queues[i % 2], k, 1, NULL, &global, &local,
							1, &gate, NULL),
				 CL_SUCCESS);
		clFlush(queues[i % 2]);
	}
	clSetUserEventStatus(gate, CL_COMPLETE);
	for (size_t i = 0; i < 2; i++) {
		clFinish(queues[i]);
		clReleaseCommandQueue(queues[i]);
	}
	clReleaseEvent(gate);
	clReleaseKernel(k);
}

static void concurrent_launches_differ_by_their_tokens(void **state)
{
	enum { ITEMS = 256, ROUNDS = 20, EACH = 2 * 20 };
	const struct run r = {.source = bump};
	struct pasta_trace_part part = {.program = native_of(&r)};
	struct pasta_error err = {0};
	cl_program program = NULL;
	cl_mem mem;

	forget();
	if (pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, &err))
		fail_msg("%s", err.text);
	mem = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * 2 * ITEMS, NULL, NULL);
	seen_group_size = 16;
	race(program, mem, ITEMS, ROUNDS);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(token_items[i], (1 + i) * ROUNDS * ITEMS);
		assert_int_equal(token_accesses[i], (1 + i) * ROUNDS * ITEMS * EACH);
	}
	clReleaseMemObject(mem);
	clReleaseProgram(program);
	clReleaseProgram(part.program);
}

static void a_kernel_called_by_a_kernel_acts_as_a_function(void **state)
{
	enum { N = 64, G = 16 };
	struct run r = {.source = "__kernel void inner(__global float *a, __local float *t)\n"
				  "{\n"
				  "	size_t i = get_local_id(0);\n"
				  "	t[i] = a[get_global_id(0)];\n"
				  "	barrier(CLK_LOCAL_MEM_FENCE);\n"
				  "	a[get_global_id(0)] = t[15 - i];\n"
				  "}\n"
				  "__kernel void outer(__global float *a, __local float *t)\n"
				  "{\n"
				  "	inner(a, t);\n"
				  "	barrier(CLK_LOCAL_MEM_FENCE);\n"
				  "	t[0] = 0;\n"
				  "	inner(a, t);\n"
				  "}\n",
			.kernel = "outer",
			.dims = 1,
			.global = {N},
			.local = {G},
			.bytes = {4 * N},
			.local_bytes = 4 * G};

	trace(&r);
	assert_int_equal(module.kernel_count, 2);
	buffer_did(0, 2 * N, 8 * N, 2 * N, 8 * N);
	assert_int_equal(line_did(4, PASTA_TRACE_STORE, PASTA_TRACE_LOCAL), 2 * N);
	assert_int_equal(line_did(12, PASTA_TRACE_STORE, PASTA_TRACE_LOCAL), N);
	r.kernel = "inner";
	trace(&r);
	buffer_did(0, N, 4 * N, N, 4 * N);
}

struct by_value {
	int n[9];
	double scale;
	char last;
};

static void a_structure_passed_by_value_arrives_intact(void **state)
{
	enum { N = 48 };
	static const struct by_value value = {
		.n = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .scale = 0.125, .last = 11};
	const struct run r = {
		.source = "typedef struct { int n[9]; double scale; char last; } by_value;\n"
			  "__kernel void with(__global float *a, by_value v)\n"
			  "{\n"
			  "	size_t i = get_global_id(0);\n"
			  "	a[i] = v.n[i % 9] * v.scale + v.last;\n"
			  "}\n",
		.kernel = "with",
		.dims = 1,
		.global = {N},
		.local = {16},
		.bytes = {4 * N},
		.value = &value,
		.value_bytes = sizeof(value)};

	trace(&r);
	buffer_did(0, 0, 0, N, 4 * N);
	assert_int_equal(line_did(5, PASTA_TRACE_LOAD, PASTA_TRACE_PRIVATE), 3 * N);
	assert_int_equal(seen_argument[1], 0);
}

static const char kinds[] =
	"__kernel void kinds(read_only image2d_t i, sampler_t s, __global float4 *b, float3 f,\n"
	"	char2 c, __constant float *t, __local float *l, double d)\n"
	"{\n"
	"	__local float own[4];\n"
	"	int x = get_global_id(0);\n"
	"	l[get_local_id(0)] = f.z * c.y;\n"
	"	own[get_local_id(0)] = d;\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	b[x] = read_imagef(i, s, (int2)(x, 0)) + t[x] + l[x & 1] + own[x & 3];\n"
	"}\n";

static void run_kinds(cl_program program, float result[16])
{
	static const float pixels[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	const cl_image_format format = {CL_RGBA, CL_FLOAT};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 1};
	const cl_float3 f = {{1, 2, 3}};
	const cl_char2 c = {{4, 5}};
	const double d = 0.5;
	const cl_sampler_properties unscaled[] = {CL_SAMPLER_NORMALIZED_COORDS,
						  CL_FALSE,
						  CL_SAMPLER_ADDRESSING_MODE,
						  CL_ADDRESS_CLAMP,
						  CL_SAMPLER_FILTER_MODE,
						  CL_FILTER_NEAREST,
						  0};
	const size_t items = 4;
	cl_kernel k = clCreateKernel(program, "kinds", NULL);
	cl_sampler s = clCreateSamplerWithProperties(context, unscaled, NULL);
	cl_mem_flags copy = CL_MEM_COPY_HOST_PTR;
	cl_mem i = clCreateImage(context, copy, &format, &desc, (void *)pixels, NULL);
	cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
	cl_mem t = clCreateBuffer(context, copy, 64, (void *)pixels, NULL);
	const struct {
		size_t size;
		const void *value;
	} list[] = {{sizeof(i), &i}, {sizeof(s), &s}, {sizeof(b), &b}, {sizeof(f), &f},
		    {sizeof(c), &c}, {sizeof(t), &t}, {16, NULL},      {sizeof(d), &d}};

	assert_non_null(s);
	for (cl_uint a = 0; a < 8; a++)
		assert_int_equal(clSetKernelArg(k, a, list[a].size, list[a].value), CL_SUCCESS);
	seen_group_size = 4;
	set_token(k, "kinds", 8, tokens[0]);
	assert_int_equal(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, &items, 0, NULL, NULL),
			 CL_SUCCESS);
	clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 64, result, 0, NULL, NULL);
	clReleaseMemObject(i);
	clReleaseMemObject(b);
	clReleaseMemObject(t);
	clReleaseSampler(s);
	clReleaseKernel(k);
}

static void arguments_of_all_kinds_arrive(void **state)
{
	const struct run r = {.source = kinds};
	struct pasta_trace_part part = {.program = native_of(&r)};
	struct pasta_error err = {0};
	cl_program program = NULL;
	float native[16], traced[16];

	forget();
	run_kinds(part.program, native);
	assert_float_equal(native[0], 1 + 1 + 15 + 0.5f, 0);
	if (pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, &err))
		fail_msg("%s", err.text);
	run_kinds(program, traced);
	assert_memory_equal(native, traced, sizeof(native));
	assert_int_equal(token_items[0], 4);
	assert_int_equal(line_did(9, PASTA_TRACE_LOAD, PASTA_TRACE_CONSTANT), 4);
	assert_int_equal(line_did(9, PASTA_TRACE_LOAD, PASTA_TRACE_LOCAL), 8);
	clReleaseProgram(program);
	clReleaseProgram(part.program);
}

static void a_kernel_without_arguments_has_a_token(void **state)
{
	const struct run r = {.source = "__kernel void alone(void)\n"
					"{\n"
					"	__local int t[64];\n"
					"	t[get_local_id(0)] = 1;\n"
					"}\n",
			      .kernel = "alone",
			      .dims = 1,
			      .global = {640},
			      .local = {64}};

	trace(&r);
	assert_int_equal(token_items[0], 640);
	assert_int_equal(token_accesses[0], 640);
	assert_int_equal(seen_groups, 10);
}

static void three_dimensions_and_offsets_still_apply(void **state)
{
	enum { X = 12, Y = 6, Z = 4, N = X * Y * Z };
	const struct run r = {
		.source = "__kernel void box(__global int *a, __global int *b)\n"
			  "{\n"
			  "	size_t x = get_global_id(0) - 3, y = get_global_id(1) - 5;\n"
			  "	size_t z = get_global_id(2) - 7, i = (z * 6 + y) * 12 + x;\n"
			  "	b[i] = a[i] + get_global_offset(2) + get_group_id(1);\n"
			  "}\n",
		.kernel = "box",
		.dims = 3,
		.offset = {3, 5, 7},
		.global = {X, Y, Z},
		.local = {4, 3, 2},
		.bytes = {4 * N, 4 * N}};

	trace(&r);
	buffer_did(0, N, 4 * N, 0, 0);
	buffer_did(1, 0, 0, N, 4 * N);
	assert_int_equal(seen_groups, N / 24);
}

static void kernel_attributes_still_apply(void **state)
{
	const struct run r = {
		.source = "__kernel __attribute__((reqd_work_group_size(8, 2, 1)))\n"
			  "	__attribute__((vec_type_hint(float4)))\n"
			  "	void fixed(__global float *a, const int n) { a[n] = 1; }\n"};
	struct pasta_trace_part part = {.program = native_of(&r)};
	size_t size[3] = {0};
	cl_program program = NULL;
	cl_uint arguments = 0;
	char text[64] = "";
	cl_kernel k;

	forget();
	assert_int_equal(
		pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, NULL), 0);
	k = clCreateKernel(program, "fixed", NULL);
	assert_non_null(k);
	clGetKernelWorkGroupInfo(k, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(size), size,
				 NULL);
	assert_int_equal(size[0], 8);
	assert_int_equal(size[1], 2);
	clGetKernelInfo(k, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL);
	assert_int_equal(arguments, 3);
	assert_int_equal(module.kernels[0].arguments, 2);
	clGetKernelArgInfo(k, 2, CL_KERNEL_ARG_TYPE_NAME, sizeof(text), text, NULL);
	assert_string_equal(text, "ulong");
	clGetKernelArgInfo(k, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof(text), text, NULL);
	assert_string_equal(text, "float*");
	clReleaseKernel(k);
	clReleaseProgram(program);
	clReleaseProgram(part.program);
}

/* -- Programs -- */

static void parts_of_a_program_are_linked(void **state)
{
	enum { N = 64 };
	const struct run user = {.source = "#include \"twice.h\"\n"
					   "__kernel void user(__global float *a)\n"
					   "{\n"
					   "	twice(a + get_global_id(0));\n"
					   "}\n",
				 .kernel = "user",
				 .dims = 1,
				 .global = {N},
				 .local = {16},
				 .bytes = {4 * N}};
	static const char *texts[] = {"void twice(__global float *p);\n",
				      "void twice(__global float *p)\n"
				      "{\n"
				      "	*p *= 2;\n"
				      "}\n"};
	const char *name = "twice.h";
	cl_program header = clCreateProgramWithSource(context, 1, &texts[0], NULL, NULL), program;
	struct pasta_trace_part parts[] = {
		{.program = clCreateProgramWithSource(context, 1, (const char **)&user.source, NULL,
						      NULL),
		 .header_count = 1,
		 .headers = &header,
		 .header_names = &name},
		{.program = clCreateProgramWithSource(context, 1, &texts[1], NULL, NULL)}};
	struct pasta_error err = {0};
	float *memory = memory_of(4 * N);

	forget();
	fill(memory, 4 * N);
	buffers[0].base = (uintptr_t)memory;
	buffers[0].size = 4 * N;
	if (pasta_trace_build(&cl, parts, 2, device, &subscribe, &module, &program, &err))
		fail_msg("%s", err.text);
	launch(&user, program, (void *[BUFFERS]){memory});
	buffer_did(0, N, 4 * N, N, 4 * N);
	assert_int_equal(line_did(3, PASTA_TRACE_LOAD, PASTA_TRACE_GLOBAL), N);
	assert_float_equal(memory[0], 2 * -0.3f, 0);
	clReleaseProgram(program);
	clReleaseProgram(parts[0].program);
	clReleaseProgram(parts[1].program);
	clReleaseProgram(header);
	free(memory);
}

static void options_that_allow_inexact_arithmetic_are_reported(void **state)
{
	struct run r = {.source = "__kernel void none(void) {}\n", .options = "-DX=1"};
	struct pasta_trace_part part = {.program = native_of(&r), .options = r.options};
	cl_program program = NULL;

	forget();
	assert_int_equal(
		pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, NULL), 0);
	assert_false(module.inexact);
	clReleaseProgram(program);
	pasta_trace_module_free(&module);
	part.options = "-DX=1 -cl-fast-relaxed-math";
	assert_int_equal(
		pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, NULL), 0);
	assert_true(module.inexact);
	clReleaseProgram(program);
	clReleaseProgram(part.program);
}

/* -- Unsupported programs -- */

static void sites_that_cannot_be_counted_are_listed(void **state)
{
	const struct run r = {.source = "__kernel void show(read_only image2d_t i,\n"
					"	__global float4 *b)\n"
					"{\n"
					"	int x = get_global_id(0);\n"
					"	b[x] = read_imagef(i, (int2)(x, 0));\n"
					"}\n"};
	struct pasta_trace_part part = {.program = native_of(&r)};
	struct pasta_error err = {0};
	cl_program program = NULL;
	size_t missed = 0;

	forget();
	if (pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < module.site_count; i++)
		if (module.sites[i].does == PASTA_TRACE_MISSED) {
			assert_string_equal(module.sites[i].function, "show");
			assert_string_equal(module.sites[i].callee, "read_imagef");
			assert_int_equal(module.sites[i].line, 5);
			missed++;
		}
	assert_int_equal(missed, 1);
	clReleaseProgram(program);
	clReleaseProgram(part.program);
}

static void a_program_without_source_is_refused(void **state)
{
	const struct run r = {.source = "__kernel void none(void) {}\n"};
	cl_program source = native_of(&r);
	struct pasta_trace_part part = {0};
	struct pasta_error err = {0};
	cl_program program = NULL;
	unsigned char *binary;
	size_t size = 0;
	cl_int status;

	forget();
	clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	binary = malloc(size);
	clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
	part.program = clCreateProgramWithBinary(context, 1, &device, &size,
						 (const unsigned char **)&binary, NULL, &status);
	assert_int_equal(status, CL_SUCCESS);
	assert_int_equal(pasta_trace_build(&cl, &part, 1, device, &subscribe, &module, &program,
					   &err),
			 -ENOTSUP);
	assert_null(program);
	assert_non_null(strstr(err.text, "source"));
	clReleaseProgram(part.program);
	clReleaseProgram(source);
	free(binary);
}

static void invalid_bitcode_is_an_error(void **state)
{
	static const char bad[] = "BC\xc0\xde and then nothing that means anything";
	const void *bitcode = bad, *inside;
	size_t size = sizeof(bad);
	struct pasta_error err = {0};

	assert_int_equal(pasta_trace_instrument(&bitcode, &size, 1, &subscribe, &module, &err),
			 -EINVAL);
	assert_null(module.bitcode);
	assert_int_equal(pasta_trace_unpack(bad, size, &inside, &size, &err), -ENOTSUP);
	assert_int_equal(pasta_trace_unpack("poclbin\0/program.bc\xff\xff\xff\xff BC", 24, &inside,
					    &size, &err),
			 -ENOTSUP);
}

/* Opens PoCL's device, whichever platform it is. */
static bool find_device(void)
{
	cl_platform_id list[16];
	cl_uint n = 0;
	char name[128];

	if (clGetPlatformIDs(16, list, &n) != CL_SUCCESS)
		return false;
	for (cl_uint i = 0; i < n && i < 16; i++)
		if (!clGetPlatformInfo(list[i], CL_PLATFORM_NAME, sizeof(name), name, NULL) &&
		    !strcmp(name, "Portable Computing Language") &&
		    !clGetDeviceIDs(list[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL))
			return true;
	return false;
}

static int open_device(void **state)
{
	cl_int status = CL_SUCCESS;

	cl.clGetDeviceInfo = clGetDeviceInfo;
	cl.clGetPlatformInfo = clGetPlatformInfo;
	cl.clGetProgramInfo = clGetProgramInfo;
	cl.clCreateProgramWithSource = clCreateProgramWithSource;
	cl.clCreateProgramWithBinary = clCreateProgramWithBinary;
	cl.clCompileProgram = clCompileProgram;
	cl.clBuildProgram = clBuildProgram;
	cl.clReleaseProgram = clReleaseProgram;
	pasta_trace_hooks = (struct pasta_trace_hooks){on_enter, on_argument, on_access, on_range};
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
	return status;
}

static int close_device(void **state)
{
	pasta_trace_module_free(&module);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}

int main(void)
{
	char *cache = NULL;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matmul_reads_each_operand_n_cubed_times),
		cmocka_unit_test(stencil_reads_its_neighbours_where_there_are_any),
		cmocka_unit_test(reduction_with_barriers_halves_its_local_traffic),
		cmocka_unit_test(an_atomic_is_a_load_and_a_store),
		cmocka_unit_test(vload8_is_one_access_of_eight_elements),
		cmocka_unit_test(a_structure_copy_is_one_load_and_one_store),
		cmocka_unit_test(a_copy_by_a_group_is_one_range),
		cmocka_unit_test(pointers_are_followed_through_variables_and_functions),
		cmocka_unit_test(passing_a_value_is_not_an_access),
		cmocka_unit_test(only_selected_address_spaces_are_instrumented),
		cmocka_unit_test(options_and_offsets_still_apply),
		cmocka_unit_test(concurrent_launches_differ_by_their_tokens),
		cmocka_unit_test(a_kernel_called_by_a_kernel_acts_as_a_function),
		cmocka_unit_test(a_structure_passed_by_value_arrives_intact),
		cmocka_unit_test(arguments_of_all_kinds_arrive),
		cmocka_unit_test(a_kernel_without_arguments_has_a_token),
		cmocka_unit_test(three_dimensions_and_offsets_still_apply),
		cmocka_unit_test(kernel_attributes_still_apply),
		cmocka_unit_test(parts_of_a_program_are_linked),
		cmocka_unit_test(options_that_allow_inexact_arithmetic_are_reported),
		cmocka_unit_test(sites_that_cannot_be_counted_are_listed),
		cmocka_unit_test(a_program_without_source_is_refused),
		cmocka_unit_test(invalid_bitcode_is_an_error),
	};

	/* Not the user's kernel cache: PoCL doesn't build kernels that it finds there. */
	if (getenv("BUILD") && !getenv("POCL_CACHE_DIR") &&
	    asprintf(&cache, "%s/tests/pocl-cache", getenv("BUILD")) > 0)
		setenv("POCL_CACHE_DIR", cache, 0);
	free(cache);
	if (!find_device()) {
		printf("skipped: PoCL is not here: run scripts/bootstrap\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, open_device, close_device);
}
