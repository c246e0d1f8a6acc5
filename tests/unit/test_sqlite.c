/* test_sqlite.c - databases exported from handmade shards: exact values, open rows, interrupts. */
/* labels: onethread */
#include "unit/made.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>

#include "sink/export.h"
#include "sink/sqltable.h"

static const char *const names[] = {"outer", "inner", "op", "bad \xff\xc3( \"\\\n", "größe"};
enum { OUTER = 1, INNER, OP, BAD, GOOD, NAMES = GOOD };

static sqlite3 *db;
static int stop_after; /* calls of go_on; -1: never */

static bool go_on(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	(void)ctx;
	assert_true(done <= total);
	return stop_after < 0 || stop_after-- > 0;
}

/* Export the events added so far and open the database. Returns the export's result. */
static int export_to(const char *shard, const char *path, struct pasta_error *err)
{
	const struct pasta_export_watch watch = {.go_on = go_on};
	struct pasta_input in = {0};
	int error;

	assert_int_equal(pasta_input_add(&in, shard, err), 0);
	error = pasta_export_sqlite.write(path, "the file", &in, &watch, err);
	pasta_input_free(&in);
	return error;
}

static void export(void)
{
	const char *path = in_dir("made.db");
	struct pasta_error err = {0};
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	close(fd);
	if (export_to(made_shard(names, NAMES), path, &err))
		fail_msg("%s", err.text);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
}

static int begin(void **state)
{
	db = NULL;
	stop_after = -1;
	return make(state);
}

static int end(void **state)
{
	sqlite3_close(db);
	return remove_dir(state);
}

/* Returns the rows of a query: cells separated by commas, rows by newlines, blobs in hex. */
static const char *ask(const char *sql)
{
	static char text[8192];
	sqlite3_stmt *s;
	size_t at = 0;

	text[0] = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const char *gap = i + 1 == sqlite3_column_count(s) ? "\n" : ",";

			if (sqlite3_column_type(s, i) == SQLITE_BLOB)
				for (int k = 0; k < sqlite3_column_bytes(s, i); k++)
					at += (size_t)sprintf(
						text + at, "%02x",
						((const uint8_t *)sqlite3_column_blob(s, i))[k]);
			else if (sqlite3_column_type(s, i) != SQLITE_NULL)
				at += (size_t)sprintf(text + at, "%s", sqlite3_column_text(s, i));
			at += (size_t)sprintf(text + at, "%s", gap);
			assert_true(at < sizeof(text) - 1000);
		}
	assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
	return text;
}

static void assert_valid(void)
{
	assert_string_equal(ask("PRAGMA integrity_check"), "ok\n");
	assert_string_equal(ask("PRAGMA foreign_key_check"), "");
}

static void every_kind_of_event_has_a_table(void **state)
{
	const uint64_t elsewhere = PASTA_MASK(FREE) | PASTA_MASK(OP_END) | PASTA_MASK(PROCESS) |
				   PASTA_MASK(THREAD) | PASTA_MASK(CLOCK) | PASTA_MASK(LOSS);
	uint64_t there = elsewhere;
	struct pasta_sqlcolumn columns[2 * PASTA_SQL_COLUMNS];

	(void)state;
	for (size_t i = 0; pasta_sqltable_at(i); i++) {
		there |= UINT64_C(1) << pasta_sqltable_at(i)->kind;
		assert_true(pasta_sqltable_columns(pasta_sqltable_at(i), columns) <=
			    PASTA_SQL_COLUMNS);
	}
	for (unsigned int kind = 1; kind < PASTA_KIND_MAX; kind++)
		if (pasta_kind_name(kind) && !(there >> kind & 1))
			fail_msg("%s has no table", pasta_kind_name(kind));
}

static void every_view_can_be_read(void **state)
{
	char sql[100];

	(void)state;
	export();
	assert_valid();
	for (size_t i = 0; pasta_sqltable_at(i); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", pasta_sqltable_at(i)->view);
		assert_string_equal(ask(sql), "");
	}
	assert_string_equal(ask("SELECT * FROM scope UNION ALL SELECT 1,1,1,1,1,1,1,1 "
				"FROM thread"),
			    "");
}

static void numbers_above_2_63_have_all_their_bits(void **state)
{
	struct pasta_kernel_record *k = add_kernel(1, 5, UINT64_MAX);
	struct pasta_event *copy = add(PASTA_KIND_COPY, PASTA_COPY_P2P, 2);

	(void)state;
	k->grid_x = UINT32_MAX;
	k->node = UINT64_C(1) << 63;
	copy->copy.src = UINT64_C(0xfffffffffffff000);
	copy->copy.bytes = INT64_MAX;
	export();
	assert_valid();
	assert_string_equal(ask("SELECT printf('%llu', corr), printf('%llu', node), grid_x, "
				"end - begin FROM kernels"),
			    "18446744073709551615,9223372036854775808,4294967295,5\n");
	assert_string_equal(ask("SELECT printf('%llx', src), bytes, direction FROM copies"),
			    "fffffffffffff000,9223372036854775807,p2p\n");
}

static void names_that_are_not_utf8_are_blobs_of_their_bytes(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, GOOD, 1);
	add_region(PASTA_REGION_BEGIN, 2, BAD, 2);
	add_region(PASTA_REGION_END, 3, 0, 2);
	add_region(PASTA_REGION_END, 4, 0, 1);
	export();
	assert_valid();
	assert_string_equal(ask("SELECT typeof(name), name, path FROM region ORDER BY begin"),
			    "text,größe,größe\n"
			    "blob,62616420ffc32820225c0a,6772c3b6c39f652f62616420ffc32820225c0a\n");
}

static void times_are_as_in_the_stream(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 1);
	add_kernel(2, 5, 0);
	add_region(PASTA_REGION_END, 9, 0, 1);
	export();
	assert_string_equal(ask("SELECT begin, end, dur, thread, pid FROM region"),
			    "5000001,5000009,8,7,4711\n");
	assert_string_equal(ask("SELECT begin, end, dur, corr FROM kernel"),
			    "5000002,5000007,5,\n");
}

static void rows_that_never_end_have_no_end(void **state)
{
	(void)state;
	add(PASTA_KIND_ITERATION, 0, 1)->iteration.index = 1;
	add(PASTA_KIND_ITERATION, 0, 2)->iteration.index = 2;
	add_region(PASTA_REGION_BEGIN, 3, OUTER, 1);
	add_op(true, 4, 5, OP);
	add(PASTA_KIND_ALLOC, PASTA_ALLOC_DEVICE, 5)->alloc.bytes = 64;
	export();
	assert_valid();
	assert_string_equal(ask("SELECT number, end - begin FROM iterations ORDER BY begin"),
			    "1,1\n2,3\n");
	assert_string_equal(ask("SELECT name, end, iteration FROM region"), "outer,,2\n");
	assert_string_equal(ask("SELECT name, op, end, region FROM op"), "op,5,,outer\n");
	assert_string_equal(ask("SELECT bytes, type, end, region, op FROM allocation"),
			    "64,device,,outer,op\n");
}

static void an_operator_whose_end_is_missing_has_no_end(void **state)
{
	(void)state;
	add_op(true, 1, 5, OP);
	made[made_count - 1].op_begin.depth = 1;
	add_op(true, 20, 6, OP);
	made[made_count - 1].op_begin.depth = 1;
	add_op(false, 24, 6, 0);
	export();
	assert_valid();
	assert_string_equal(ask("SELECT op, parent, end IS NULL FROM op ORDER BY op"),
			    "5,,1\n6,,0\n");
	assert_string_equal(ask("SELECT sum(dur), count(dur) FROM op"), "4,1\n");
}

static void operators_have_their_arguments_and_results(void **state)
{
	(void)state;
	add_op(true, 1, 5, OP);
	made[made_count - 1].op_begin.inputs = OUTER;
	made[made_count - 1].op_begin.scalars = INNER;
	made[made_count - 1].op_begin.strides = GOOD;
	add_op(true, 2, 6, OP);
	add_op(true, 3, 7, OP); /* has no end */
	add_op(false, 3, 6, 0);
	made[made_count - 1].op_end.outputs = INNER;
	add_op(false, 4, 5, 0);
	made[made_count - 1].op_end.outputs = OUTER;
	export();
	assert_valid();
	assert_string_equal(ask("SELECT inputs, scalars, strides, outputs FROM op ORDER BY op"),
			    "outer,inner,größe,outer\n,,,inner\n,,,\n");
}

static void types_of_memory_have_names_and_allocations_the_time_of_their_call(void **state)
{
	struct pasta_event *copy = add(PASTA_KIND_COPY, PASTA_COPY_H2D, 1), *alloc, *module;

	(void)state;
	copy->copy.src_memory = PASTA_MEMORY_PAGEABLE;
	copy->copy.dst_memory = PASTA_MEMORY_DEVICE;
	copy = add(PASTA_KIND_COPY, PASTA_COPY_H2D, 2);
	copy->copy.dst_memory = 77;
	alloc = add(PASTA_KIND_ALLOC, PASTA_ALLOC_DEVICE, 5);
	alloc->alloc.addr = 100;
	alloc->alloc.dur = 40;
	add(PASTA_KIND_FREE, 0, 60)->free.addr = 100;
	module = add(PASTA_KIND_MODULE, PASTA_MODULE_LOAD, 70);
	module->module.dur = 11;
	export();
	assert_valid();
	assert_string_equal(ask("SELECT src_memory, dst_memory FROM copy ORDER BY begin"),
			    "pageable,device\nunspecified,77\n");
	assert_string_equal(ask("SELECT took, dur FROM allocation"), "40,55\n");
	assert_string_equal(ask("SELECT dur FROM module"), "11\n");
}

static void the_last_iteration_ends_with_the_last_event_of_its_process(void **state)
{
	(void)state;
	add(PASTA_KIND_ITERATION, 0, 1)->iteration.index = 4;
	add_launch(3, 9);
	add_kernel(6, 100, 9);
	add(PASTA_KIND_SYNC, PASTA_SYNC_STREAM, 8)->sync.dur = 98;
	export();
	assert_valid();
	assert_string_equal(ask("SELECT number, begin, end, dur FROM iteration"),
			    "4,5000001,5000008,7\n");
}

static struct pasta_collective_record *add_collective(uint64_t time, uint64_t corr)
{
	struct pasta_event *ev = add(PASTA_KIND_COLLECTIVE, 0, time);

	ev->collective.corr = corr;
	return &ev->collective;
}

static void a_collective_has_the_time_of_its_kernel(void **state)
{
	(void)state;
	add_launch(1, 9);
	add_collective(2, 9)->seq = 1;
	add_kernel(5, 7, 8); /* another one */
	add_kernel(6, 30, 9);
	add_kernel(40, 3, 9); /* one collective has one kernel */
	add_collective(50, 10)->seq = 2;
	add_collective(60, 0)->seq = 3;
	add_kernel(60, 4, 0);
	add_collective(70, 0)->seq = 4;
	add_kernel(71, 4, 0);
	export();
	assert_valid();
	assert_string_equal(ask("SELECT seq, begin, end, dur FROM collective ORDER BY seq"),
			    "1,5000002,5000036,30\n2,5000050,,\n3,5000060,5000064,4\n"
			    "4,5000070,,\n");
}

static void a_collective_without_a_rank_has_that_of_its_process(void **state)
{
	(void)state;
	add_process()->rank = 6;
	add_collective(2, 1)->rank = 1;
	add_collective(3, 2)->rank = 0;
	export();
	assert_valid();
	assert_string_equal(ask("SELECT rank FROM collective ORDER BY begin"), "0\n5\n");
	assert_string_equal(ask("SELECT rank FROM collectives ORDER BY begin"), "0\n\n");
}

static void a_collective_has_no_rank_if_none_is_known(void **state)
{
	(void)state;
	add_collective(2, 1);
	export();
	assert_string_equal(ask("SELECT rank IS NULL FROM collective"), "1\n");
}

static void rows_have_their_enclosing_rows(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 1);
	add_region(PASTA_REGION_BEGIN, 2, INNER, 2);
	add_op(true, 3, 5, OP);
	add_op(true, 4, 6, OP);
	add_launch(5, 9);
	add_op(false, 6, 6, 0);
	add_op(false, 7, 5, 0);
	add_region(PASTA_REGION_END, 8, 0, 2);
	add_region(PASTA_REGION_END, 9, 0, 1);
	add_kernel(10, 1, 9);
	export();
	assert_valid();
	assert_string_equal(ask("SELECT id, parent, depth, path FROM region ORDER BY id"),
			    "1,,1,outer\n2,1,2,outer/inner\n");
	assert_string_equal(ask("SELECT id, parent, depth, path FROM op ORDER BY id"),
			    "1,,1,op\n2,1,2,op/op\n");
	assert_string_equal(ask("SELECT region, op, scope FROM kernel"), "outer/inner,op,op/op\n");
	assert_string_equal(ask("SELECT o.id FROM kernels k JOIN ops o USING(process, op)"), "2\n");
}

static struct pasta_alloc_record *add_alloc(uint64_t time, uint64_t addr, uint64_t parent)
{
	struct pasta_event *ev = add(PASTA_KIND_ALLOC, PASTA_ALLOC_POOL, time);

	ev->alloc.addr = addr;
	ev->alloc.parent = parent;
	return &ev->alloc;
}

static void memory_that_is_allocated_again_ends_there(void **state)
{
	(void)state;
	add_alloc(1, 100, 0)->bytes = 1;
	add_alloc(2, 100, 0)->bytes = 2;
	add(PASTA_KIND_FREE, 0, 3)->free.addr = 100;
	add(PASTA_KIND_FREE, 0, 4)->free.addr = 100;
	export();
	assert_string_equal(ask("SELECT bytes, begin, end FROM allocations ORDER BY begin"),
			    "1,5000001,5000002\n2,5000002,5000003\n");
	assert_string_equal(ask("SELECT value FROM about WHERE key = 'unknown_frees'"), "1\n");
}

static void a_part_is_freed_before_the_whole(void **state)
{
	(void)state;
	add_alloc(1, 100, 0)->bytes = 64;
	add_alloc(2, 100, 100)->bytes = 8;
	add(PASTA_KIND_FREE, 0, 3)->free.addr = 100;
	add(PASTA_KIND_FREE, 0, 4)->free.addr = 100;
	export();
	assert_string_equal(ask("SELECT bytes, parent, end FROM allocations ORDER BY begin"),
			    "64,,5000004\n8,100,5000003\n");
}

static void a_value_that_is_not_a_number_is_null(void **state)
{
	(void)state;
	add(PASTA_KIND_COUNTER, 0, 1)->counter.value = NAN;
	add(PASTA_KIND_COUNTER, 0, 2)->counter.value = 0.1;
	export();
	assert_string_equal(ask("SELECT value FROM counters ORDER BY begin"), "\n0.1\n");
}

static void an_interrupt_leaves_a_valid_database(void **state)
{
	const char *path = in_dir("many.pst"), *file = in_dir("many.db");
	struct pasta_error err = {0};
	struct bytes b = {0};

	(void)state;
	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_numbered(&b, 1, 0, 0, 20000, RAW_0);
	save(&b, b.size, path);
	save(&b, 0, file);
	free(b.data);
	stop_after = 1;
	assert_int_equal(export_to(path, file, &err), -EINTR);
	assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_valid();
	assert_string_equal(ask("SELECT value FROM about WHERE key = 'complete'"), "0\n");
	assert_string_equal(ask("SELECT count(*) FROM links"), "8191\n");
}

static void a_file_that_cannot_be_opened_is_an_error_that_names_it(void **state)
{
	struct pasta_error err = {0};

	(void)state;
	assert_true(export_to(made_shard(names, NAMES), in_dir("no/such.db"), &err) < 0);
	assert_string_equal(err.text, "cannot write the file: SQLite: unable to open "
				      "database file");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_of_event_has_a_table),
		TEST(every_view_can_be_read),
		TEST(numbers_above_2_63_have_all_their_bits),
		TEST(names_that_are_not_utf8_are_blobs_of_their_bytes),
		TEST(times_are_as_in_the_stream),
		TEST(rows_that_never_end_have_no_end),
		TEST(an_operator_whose_end_is_missing_has_no_end),
		TEST(operators_have_their_arguments_and_results),
		TEST(types_of_memory_have_names_and_allocations_the_time_of_their_call),
		TEST(the_last_iteration_ends_with_the_last_event_of_its_process),
		TEST(a_collective_has_the_time_of_its_kernel),
		TEST(a_collective_without_a_rank_has_that_of_its_process),
		TEST(a_collective_has_no_rank_if_none_is_known),
		TEST(rows_have_their_enclosing_rows),
		TEST(memory_that_is_allocated_again_ends_there),
		TEST(a_part_is_freed_before_the_whole),
		TEST(a_value_that_is_not_a_number_is_null),
		TEST(an_interrupt_leaves_a_valid_database),
		TEST(a_file_that_cannot_be_opened_is_an_error_that_names_it),
	};

	return cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
}
