/* test_tensormap.c - descriptors of tensors, as the driver of CUDA 13.0 made them on an H200. */
/* labels: onethread */
#include "unit/support.h"

#include "handlers/sanitizer/tensormap.h"

#define ADDR UINT64_C(0x7f5612345600)

struct made {
	const char *what;
	uint32_t words[16];
	uint32_t rank, element;
	uint64_t bytes, last;
};

static const struct made made[] = {
	{"4096 of uint8",
	 {0x12345600, 0x7f56, 0x0, 0, 0, 0, 0, 0, 0xfff, 0, 0, 0, 0, 0x3f000000, 0, 0},
	 1,
	 1,
	 4096,
	 ADDR + 4095},
	{"4096 of int64",
	 {0x12345600, 0x7f56, 0x280, 0, 0, 0, 0, 0, 0xfff, 0, 0, 0, 0, 0x3f000000, 0, 0},
	 1,
	 8,
	 32768,
	 ADDR + 32767},
	{"4096 of tfloat32",
	 {0x12345600, 0x7f56, 0x10380, 0, 0, 0, 0, 0, 0xfff, 0, 0, 0, 0, 0x3f000000, 0, 0},
	 1,
	 4,
	 16384,
	 ADDR + 16383},
	{"4096 x 2048 of bfloat16",
	 {0x12345600, 0x7f56, 0x510, 0x200, 0, 0, 0, 0, 0xfff, 0x7ff, 0, 0, 0, 0x3f000000, 0x7f, 0},
	 2,
	 2,
	 16777216,
	 ADDR + 16777215},
	{"the same, rows twice as far apart",
	 {0x12345600, 0x7f56, 0x510, 0x400, 0, 0, 0, 0, 0xfff, 0x7ff, 0, 0, 0, 0x3f000000, 0x7f, 0},
	 2,
	 2,
	 16777216,
	 ADDR + 2047 * 16384 + 8191},
	{"1000 x 300 x 77 of float16",
	 {0x12345600, 0x7f56, 0x320, 0x7d, 0x927c, 0, 0, 0, 0x3e7, 0x12b, 0x4c, 0, 0, 0x3f000000,
	  0x7f, 0},
	 3,
	 2,
	 46200000,
	 ADDR + 299 * 2000 + 76 * 600000 + 1999},
	{"16 x 32 x 48 x 64 x 80 of uint8",
	 {0x12345600, 0x7f56, 0x40, 0x10, 0x200, 0x6000, 0x180000, 0, 0xf, 0x1f, 0x2f, 0x3f, 0x4f,
	  0xf000000, 0x4030201, 0},
	 5,
	 1,
	 125829120,
	 ADDR + 31 * 0x100 + 47 * 0x2000 + 63 * UINT64_C(0x60000) + 79 * UINT64_C(0x1800000) + 15},
	{"4096 x 4096 of bfloat16, as a matrix product was given it",
	 {0xfe000000, 0x7fa5, 0x46522, 0x200, 0, 0x10000000, 0, 0, 0xfff, 0xfff, 0, 0, 0,
	  0x3f000000, 0x1f, 0},
	 3,
	 2,
	 33554432,
	 UINT64_C(0x7fa5fe000000) + 33554431},
};
enum { MADE = sizeof(made) / sizeof(made[0]) };

static void what_the_driver_made_is_read(void **state)
{
	struct pasta_tensormap m;

	for (size_t i = 0; i < MADE; i++) {
		assert_true(pasta_tensormap_read(made[i].words, &m));
		assert_int_equal(m.rank, made[i].rank);
		assert_int_equal(m.element, made[i].element);
		assert_int_equal(m.bytes, made[i].bytes);
		assert_int_equal(m.last, made[i].last);
	}
}

static void what_is_none_is_not_taken_for_one(void **state)
{
	struct pasta_tensormap m;
	uint32_t w[16];

	memset(w, 0, sizeof(w));
	assert_false(pasta_tensormap_read(w, &m)); /* no address */
	w[0] = 0xfe000000;
	w[1] = 0x7fa5;
	assert_false(pasta_tensormap_read(w, &m)); /* an address, and nothing else */
	memset(w, 0xff, sizeof(w));
	assert_false(pasta_tensormap_read(w, &m));
	memcpy(w, made[3].words, sizeof(w));
	w[0] |= 8; /* not aligned */
	assert_false(pasta_tensormap_read(w, &m));
	memcpy(w, made[3].words, sizeof(w));
	w[10] = 5; /* a dimension beyond its rank */
	assert_false(pasta_tensormap_read(w, &m));
	memcpy(w, made[3].words, sizeof(w));
	w[3] = 0; /* rows on top of each other */
	assert_false(pasta_tensormap_read(w, &m));
	memcpy(w, made[3].words, sizeof(w));
	w[2] |= 15 << 7; /* a type that is none */
	assert_false(pasta_tensormap_read(w, &m));
	memcpy(w, made[6].words, sizeof(w));
	w[2] |= 7 << 4; /* a rank of 8 */
	assert_false(pasta_tensormap_read(w, &m));
	memcpy(w, made[6].words, sizeof(w));
	memset(w + 3, 0xff, 10 * sizeof(*w)); /* more than an address space */
	assert_false(pasta_tensormap_read(w, &m));
}

static void those_among_arguments_are_found_once_each(void **state)
{
	struct pasta_tensormap maps[PASTA_TENSORMAPS];
	unsigned char args[1024];
	size_t count;

	memset(args, 0, sizeof(args));
	memcpy(args + 0xb0, made[7].words, 64);
	memcpy(args + 0xf0, made[3].words, 64);
	memcpy(args + 0x200, made[7].words, 64);
	count = pasta_tensormap_find(args, sizeof(args), maps, 0);
	assert_int_equal(count, 2);
	assert_int_equal(maps[0].addr, UINT64_C(0x7fa5fe000000));
	assert_int_equal(maps[1].addr, ADDR);
	assert_int_equal(pasta_tensormap_find(made[3].words, 64, maps, count), 2);
	assert_int_equal(pasta_tensormap_find(args, 63, maps, 0), 0);
}

static void there_is_an_end_to_them(void **state)
{
	struct pasta_tensormap maps[PASTA_TENSORMAPS];
	uint32_t args[40][16];

	for (uint32_t i = 0; i < 40; i++) {
		memcpy(args[i], made[3].words, 64);
		args[i][0] += i * 4096;
	}
	assert_int_equal(pasta_tensormap_find(args, sizeof(args), maps, 0), PASTA_TENSORMAPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_driver_made_is_read),
		cmocka_unit_test(what_is_none_is_not_taken_for_one),
		cmocka_unit_test(those_among_arguments_are_found_once_each),
		cmocka_unit_test(there_is_an_end_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
