/* test_object_traffic.c - tests tool object_traffic with made-up events, and against a recount. */
/* labels: onethread */
#include "../../tools/object_traffic.c"

#include "unit/accesstest.h"

static void lines_are_by_kernel_and_object_and_the_most_bytes_come_first(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 3 * PAGE);
	send_buffer(17, 0xb, 0x20000, 100);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 100, 0, 400, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 17, 0, 25, 100, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_OBJECT_NONE, 1, 2, 3000, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_SPACE_LOCAL, 9, 9, 72, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "m", 5, NULL);
	send_row(2, "m", PASTA_REDUCER_OBJECT, 17, 200, 0, 800, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 3, "k", 6,
			   NULL); /* another shape of the kernel */
	send_row(3, "k", PASTA_REDUCER_OBJECT, 16, 1, 1, 8, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("traffic"), "buffer 2 100 m 200 0 800 0 0 100.00 #0\n"
					      "buffer 1 12288 k 101 1 408 0 0 100.00 #0\n"
					      "buffer 2 100 k 0 25 100 0 0 100.00 #0\n"
					      "(outside of objects) - k 1 2 3000 0 0 100.00 \n"
					      "(local) - k 9 9 72 0 0 100.00 \n");
	assert_string_equal(finding(0), "");
}

static void send_split(uint64_t corr, uint64_t object, uint64_t bytes, uint64_t written)
{
	struct pasta_event ev = row_event(corr, "k", PASTA_REDUCER_OBJECT, object, 1, 1, bytes, 0);

	ev.access_sum.written = written;
	ev.access_sum.flags = PASTA_SUM_SPLIT;
	deliver(&ev);
}

static void bytes_read_and_written_are_the_last_columns_where_they_are_known(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, PAGE);
	send_buffer(17, 0xb, 0x20000, PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_split(1, 16, 100, 30);
	send_split(1, 17, 50, 50);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_SPACE_LOCAL, 1, 1, 8, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("traffic"), "buffer 1 4096 k 1 1 100 0 0 100.00 #0 70 30\n"
					      "buffer 2 4096 k 1 1 50 0 0 100.00 #0 0 50\n"
					      "(local) - k 1 1 8 0 0 100.00  - -\n");
}

static void described_bytes_are_shown_beside_counted_bytes(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 3 * PAGE);
	send_buffer(17, 0xb, 0x20000, PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "gemm", 5, NULL);
	send_row(1, "gemm", PASTA_REDUCER_TENSOR, 16, 1, 0, 8192, 0);
	send_row(1, "gemm", PASTA_REDUCER_OBJECT, 17, 0, 64, 1024, 0);
	send_row(1, "gemm", PASTA_REDUCER_TENSOR, 17, 2, 0, 4096, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("traffic"), "buffer 1 12288 gemm 0 0 0 1 8192 100.00 #0\n"
					      "buffer 2 4096 gemm 0 64 1024 2 4096 100.00 #0\n");
}

static void sampled_launches_are_scaled_and_reported(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 10, 0, 40, 0);
	send_row(1, "k", PASTA_REDUCER_TENSOR, 16, 1, 0, 100, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 3, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 4, "k", 5, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("traffic"), "buffer 1 4096 k 40 0 160 4 400 25.00 #0\n");
	assert_string_equal(
		finding(0),
		"counted 1 of 4 launches; numbers are scaled to all launches, by kernel and shape");
}

static void an_unknown_object_has_its_number(void **state)
{
	(void)state;
	send_row(9, "k", PASTA_REDUCER_OBJECT, 77, 5, 0, 20, 0);
	send_row(9, "k", PASTA_REDUCER_OBJECT, PASTA_KEY_OTHER, 3, 1, 4, 0);
	send_row(9, "k", 0, 1, 1, 1, 1, 1);
	send_row(9, "k", 99, 1, 1, 1, 1, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("traffic"), "object 77 (unknown) - k 5 0 20 0 0 - #0\n"
					      "(no room in tables) - k 3 1 4 0 0 - \n");
	assert_non_null(find("unknown objects: 1"));
}

/* Returns the sum of the table's bytes. */
static uint64_t column_sum(unsigned int column)
{
	const struct pasta_table *t = table_of("traffic");
	uint64_t sum = 0;

	for (size_t i = 0; i < pasta_table_rows(t); i++)
		sum += (uint64_t)pasta_table_cell(t, i, column)->i;
	return sum;
}

static void random_runs_add_up_to_a_plain_recount(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		uint64_t loads = 0, bytes = 0;

		r_make(true);
		for (int p = 0; p < R_PROCS; p++)
			for (int k = 0; k < R_KERNELS; k++)
				for (int n = 0; n < R_SHAPES; n++)
					for (int o = 0; o < R_OBJECTS; o++) {
						loads += r_procs[p].shapes[k][n].loads[o];
						bytes += r_procs[p].shapes[k][n].bytes[o];
					}
		merged(2, 0, 1);
		assert_int_equal(column_sum(3), loads);
		assert_int_equal(column_sum(5), bytes);
		start_over(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_by_kernel_and_object_and_the_most_bytes_come_first),
		TEST(bytes_read_and_written_are_the_last_columns_where_they_are_known),
		TEST(described_bytes_are_shown_beside_counted_bytes),
		TEST(sampled_launches_are_scaled_and_reported),
		TEST(an_unknown_object_has_its_number),
		TEST(random_runs_add_up_to_a_plain_recount),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
