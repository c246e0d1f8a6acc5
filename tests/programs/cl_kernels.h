/*
 * cl_kernels.h - kernels whose memory accesses are known: each as a formula of its sizes.
 *
 * A row is what one line of the source does to one memory. Lines are found by their marks, a
 * comment at their end. All buffers differ in size, so that the size identifies each.
 */
#ifndef CL_KERNELS_H
#define CL_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum where { A, B, C, BUFFERS_MAX, LOCAL = BUFFERS_MAX, PRIVATE, CONSTANT };

struct row {
	const char *mark;
	enum where where;
	uint64_t loads, stores; /* an atomic is one of each */
	uint32_t size;		/* of an access */
	const char *by;		/* the function of the language that does it, or NULL */
};

struct known {
	const char *name;
	unsigned int dims;
	size_t offset[3], global[3], local[3];
	/* Arguments, in this order: buffers, a local array, a number; 0: none. */
	size_t bytes[BUFFERS_MAX], local_bytes;
	int number;
	struct row rows[8];
};

static const char known_source[] =
	"typedef struct { int a[5]; float x, y; } body;\n"
	"__constant int table[4] = {3, 1, 4, 1};\n"
	"\n"
	"__kernel void matmul(__global const int *a, __global const int *b, __global int *c, int n)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1), sum = 0;\n"
	"	for (int k = 0; k < n; k++)\n"
	"		sum += a[y * n + k] * b[k * n + x]; // mul\n"
	"	c[y * n + x] = sum; // product\n"
	"}\n"
	"\n"
	"__kernel void stencil(__global const int *a, __global int *b)\n"
	"{\n"
	"	size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
	"	size_t sx = get_global_size(0), sy = get_global_size(1);\n"
	"	size_t sz = get_global_size(2), i = (z * sy + y) * sx + x;\n"
	"	if (!x || !y || !z || x == sx - 1 || y == sy - 1 || z == sz - 1) {\n"
	"		b[i] = a[i]; // rim\n"
	"		return;\n"
	"	}\n"
	"	b[i] = a[i] + a[i - 1] + a[i + 1] // row\n"
	"		+ a[i - sx] + a[i + sx] + a[i - sx * sy] + a[i + sx * sy]; // others\n"
	"}\n"
	"\n"
	"__kernel void reduce(__global const int *a, __global int *b, __local int *part)\n"
	"{\n"
	"	size_t i = get_local_id(0);\n"
	"	part[i] = a[get_global_id(0)]; // fetch\n"
	"	for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (i < n)\n"
	"			part[i] += part[i + n]; // halve\n"
	"	}\n"
	"	if (i == 0)\n"
	"		b[get_group_id(0)] = part[0]; // result\n"
	"}\n"
	"\n"
	"__kernel void histogram(__global const uint *a, __global uint *b)\n"
	"{\n"
	"	__local uint bins[16];\n"
	"	size_t i = get_local_id(0);\n"
	"	if (i < 16)\n"
	"		bins[i] = 0; // clear\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	atomic_inc(&bins[a[get_global_id(0)] % 16]); // count\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	if (i < 16)\n"
	"		atomic_add(&b[i], bins[i]); // collect\n"
	"}\n"
	"\n"
	"__kernel void gather(__global const uint *a, __global const int *b, __global int *c, int n)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	c[i] = b[a[i] % n]; // indirect\n"
	"}\n"
	"\n"
	"__kernel void wide(__global const float *a, __global float *b)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	float8 v = vload8(i, a); // vload8\n"
	"	vstore8(v * 2, i, b); // vstore8\n"
	"}\n"
	"\n"
	"__kernel void structs(__global const body *a, __global body *b, __global body *c)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	b[i] = a[i]; // whole\n"
	"	body mine = a[i]; // keep\n"
	"	mine.a[2] += 1; // change\n"
	"	c[i] = mine; // give\n"
	"	c[i].y = 2; // member\n"
	"}\n"
	"\n"
	"__kernel void transpose(__global const int *a, __global int *b, int n)\n"
	"{\n"
	"	__local int tile[8][9];\n"
	"	size_t x = get_local_id(0), y = get_local_id(1);\n"
	"	size_t gx = get_group_id(0) * 8, gy = get_group_id(1) * 8;\n"
	"	tile[y][x] = a[(gy + y) * n + gx + x]; // into\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	b[(gx + y) * n + gy + x] = tile[x][y]; // from\n"
	"}\n"
	"\n"
	"__kernel void diverge(__global const int *a, __global int *b)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	if (i % 3 == 0)\n"
	"		b[i] = a[i]; // third\n"
	"	else if (i % 3 == 1)\n"
	"		for (size_t k = 0; k < 4; k++)\n"
	"			b[i] += a[k]; // loop\n"
	"}\n"
	"\n"
	"__kernel void shift(__global const int *a, __global int *b)\n"
	"{\n"
	"	size_t x = get_global_id(0), y = get_global_id(1);\n"
	"	b[y * 24 + x] = a[(y - 5) * 16 + x - 3] + get_global_offset(1); // plane\n"
	"}\n"
	"\n"
	"__kernel void box(__global const short *a, __global long *b)\n"
	"{\n"
	"	size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2) - 2;\n"
	"	size_t i = (z * get_global_size(1) + y) * get_global_size(0) + x;\n"
	"	b[i] = a[i] * 3L; // volume\n"
	"}\n"
	"\n"
	"__kernel void through(__global const int *a, __global int *b, __local int *t)\n"
	"{\n"
	"	size_t g = get_group_id(0) * 32, i = get_local_id(0);\n"
	"	event_t e = async_work_group_copy(t, a + g, 32, 0); // in\n"
	"	wait_group_events(1, &e);\n"
	"	t[i] = t[i] * 2; // twice\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	e = async_work_group_strided_copy(b + g * 2, t, 32, 2, 0); // out\n"
	"	wait_group_events(1, &e);\n"
	"}\n"
	"\n"
	"__kernel void lookup(__global const uint *a, __global int *b)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	b[i] = table[a[i] & 3]; // constant\n"
	"}\n";

/* Sizes, and what follows from them. */
enum {
	MATMUL = 24,
	X = 20,
	Y = 12,
	Z = 6,
	CELLS = X * Y * Z,
	INNER = (X - 2) * (Y - 2) * (Z - 2),
	REDUCED = 1024,
	SUMS = REDUCED / 64,
	COUNTED = 2048,
	HISTOGRAMS = COUNTED / 64,
	GATHERED = 512,
	WIDE = 64,
	BODIES = 160,
	BODY = 28,
	SIDE = 32,
	DIVERGED = 300,
	PLANE = 16 * 8,
	VOLUME = 8 * 6 * 4,
	COPIED = 256,
	LOOKED = 352,
};

static const struct known known[] = {
	{.name = "matmul",
	 .dims = 2,
	 .global = {MATMUL, MATMUL},
	 .local = {8, 8},
	 .bytes = {4 * MATMUL * MATMUL, 4 * MATMUL *MATMUL + 64, 4 * MATMUL *MATMUL + 128},
	 .number = MATMUL,
	 .rows = {{"mul", A, MATMUL *MATMUL *MATMUL, 0, 4, NULL},
		  {"mul", B, MATMUL *MATMUL *MATMUL, 0, 4, NULL},
		  {"product", C, 0, MATMUL *MATMUL, 4, NULL}}},
	{.name = "stencil",
	 .dims = 3,
	 .global = {X, Y, Z},
	 .local = {4, 4, 2},
	 .bytes = {4 * CELLS, 4 * CELLS + 64},
	 .rows = {{"rim", A, CELLS - INNER, 0, 4, NULL},
		  {"rim", B, 0, CELLS - INNER, 4, NULL},
		  {"row", A, 3 * INNER, 0, 4, NULL},
		  {"row", B, 0, INNER, 4, NULL},
		  {"others", A, 4 * INNER, 0, 4, NULL}}},
	{.name = "reduce",
	 .dims = 1,
	 .global = {REDUCED},
	 .local = {64},
	 .bytes = {4 * REDUCED, 4 * SUMS},
	 .local_bytes = 4 * 64,
	 .rows = {{"fetch", A, REDUCED, 0, 4, NULL},
		  {"fetch", LOCAL, 0, REDUCED, 4, NULL},
		  {"halve", LOCAL, 2 * SUMS * 63, SUMS * 63, 4, NULL},
		  {"result", LOCAL, SUMS, 0, 4, NULL},
		  {"result", B, 0, SUMS, 4, NULL}}},
	{.name = "histogram",
	 .dims = 1,
	 .global = {COUNTED},
	 .local = {64},
	 .bytes = {4 * COUNTED, 4 * 16 + 16},
	 .rows = {{"clear", LOCAL, 0, HISTOGRAMS * 16, 4, NULL},
		  {"count", A, COUNTED, 0, 4, NULL},
		  {"count", LOCAL, COUNTED, COUNTED, 4, "atomic_inc"},
		  {"collect", LOCAL, HISTOGRAMS * 16, 0, 4, NULL},
		  {"collect", B, HISTOGRAMS * 16, HISTOGRAMS * 16, 4, "atomic_add"}}},
	{.name = "gather",
	 .dims = 1,
	 .global = {GATHERED},
	 .local = {32},
	 .bytes = {4 * GATHERED, 4 * GATHERED + 64, 4 * GATHERED + 128},
	 .number = GATHERED,
	 .rows = {{"indirect", A, GATHERED, 0, 4, NULL},
		  {"indirect", B, GATHERED, 0, 4, NULL},
		  {"indirect", C, 0, GATHERED, 4, NULL}}},
	{.name = "wide",
	 .dims = 1,
	 .global = {WIDE},
	 .local = {16},
	 .bytes = {32 * WIDE + 512, 32 * WIDE + 576},
	 .rows = {{"vload8", A, WIDE, 0, 32, "vload8"}, {"vstore8", B, 0, WIDE, 32, "vstore8"}}},
	{.name = "structs",
	 .dims = 1,
	 .global = {BODIES},
	 .local = {32},
	 .bytes = {BODY * BODIES, BODY *BODIES + 64, BODY *BODIES + 128},
	 .rows = {{"whole", A, BODIES, 0, BODY, "memcpy"},
		  {"whole", B, 0, BODIES, BODY, "memcpy"},
		  {"keep", A, BODIES, 0, BODY, "memcpy"},
		  {"keep", PRIVATE, 0, BODIES, BODY, "memcpy"},
		  {"change", PRIVATE, BODIES, BODIES, 4, NULL},
		  {"give", PRIVATE, BODIES, 0, BODY, "memcpy"},
		  {"give", C, 0, BODIES, BODY, "memcpy"},
		  {"member", C, 0, BODIES, 4, NULL}}},
	{.name = "transpose",
	 .dims = 2,
	 .global = {SIDE, SIDE},
	 .local = {8, 8},
	 .bytes = {4 * SIDE * SIDE + 192, 4 * SIDE *SIDE + 256},
	 .number = SIDE,
	 .rows = {{"into", A, SIDE *SIDE, 0, 4, NULL},
		  {"into", LOCAL, 0, SIDE *SIDE, 4, NULL},
		  {"from", LOCAL, SIDE *SIDE, 0, 4, NULL},
		  {"from", B, 0, SIDE *SIDE, 4, NULL}}},
	{.name = "diverge",
	 .dims = 1,
	 .global = {DIVERGED},
	 .local = {50},
	 .bytes = {4 * DIVERGED, 4 * DIVERGED + 64},
	 .rows = {{"third", A, DIVERGED / 3, 0, 4, NULL},
		  {"third", B, 0, DIVERGED / 3, 4, NULL},
		  {"loop", A, 4 * DIVERGED / 3, 0, 4, NULL},
		  {"loop", B, 4 * DIVERGED / 3, 4 * DIVERGED / 3, 4, NULL}}},
	{.name = "shift",
	 .dims = 2,
	 .offset = {3, 5},
	 .global = {16, 8},
	 .local = {4, 4},
	 .bytes = {4 * PLANE, 4 * 24 * 13},
	 .rows = {{"plane", A, PLANE, 0, 4, NULL}, {"plane", B, 0, PLANE, 4, NULL}}},
	{.name = "box",
	 .dims = 3,
	 .offset = {0, 0, 2},
	 .global = {8, 6, 4},
	 .local = {4, 3, 2},
	 .bytes = {2 * VOLUME, 8 * VOLUME},
	 .rows = {{"volume", A, VOLUME, 0, 2, NULL}, {"volume", B, 0, VOLUME, 8, NULL}}},
	{.name = "through",
	 .dims = 1,
	 .global = {COPIED},
	 .local = {32},
	 .bytes = {4 * COPIED, 8 * COPIED + 704},
	 .local_bytes = 4 * 32,
	 .rows = {{"in", A, COPIED, 0, 4, "async_work_group_copy"},
		  {"in", LOCAL, 0, COPIED, 4, "async_work_group_copy"},
		  {"in", PRIVATE, 0, COPIED, 8, NULL}, /* e, whose address is taken */
		  {"twice", LOCAL, COPIED, COPIED, 4, NULL},
		  {"out", LOCAL, COPIED, 0, 4, "async_work_group_strided_copy"},
		  {"out", B, 0, COPIED, 4, "async_work_group_strided_copy"},
		  {"out", PRIVATE, 0, COPIED, 8, NULL}}},
	{.name = "lookup",
	 .dims = 1,
	 .global = {LOOKED},
	 .local = {32},
	 .bytes = {4 * LOOKED, 4 * LOOKED + 64},
	 .rows = {{"constant", A, LOOKED, 0, 4, NULL},
		  {"constant", CONSTANT, LOOKED, 0, 4, NULL},
		  {"constant", B, 0, LOOKED, 4, NULL}}},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]), ROWS = 8 };

/* The line that ends with the mark; 0: none does. */
static inline unsigned int line_of(const char *mark)
{
	size_t n = strlen(mark);
	unsigned int line = 1;

	for (const char *s = known_source; *s; s++) {
		if (*s == '\n')
			line++;
		if (!strncmp(s, "// ", 3) && !strncmp(s + 3, mark, n) && s[3 + n] == '\n')
			return line;
	}
	return 0;
}

static inline uint64_t bytes_of(const struct row *r)
{
	return (r->loads + r->stores) * r->size;
}

#endif
