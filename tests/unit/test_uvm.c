/* test_uvm.c - tests tool uvm with made-up events. */
/* labels: onethread */
#include "../../tools/uvm.c"

#include "unit/tooltest.h"

static void managed(uint32_t proc, uint64_t time, uint64_t addr, uint64_t bytes, const char *name)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, proc, 1, time);

	ev.sub = PASTA_ALLOC_MANAGED;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.name = id(name);
	send_event(&ev);
}

static void gone(uint32_t proc, uint64_t time, uint64_t addr)
{
	struct pasta_event ev = EVENT(free, FREE, proc, 1, time);

	ev.free.addr = addr;
	send_event(&ev);
}

static void move(uint32_t proc, unsigned int sub, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = EVENT(uvm, UVM, proc, 1, 100);

	ev.sub = (uint8_t)sub;
	ev.uvm.dur = 10;
	ev.uvm.addr = addr;
	ev.uvm.bytes = bytes;
	send_event(&ev);
}

static void fault(uint32_t proc, unsigned int sub, uint64_t addr, uint64_t count, uint32_t device)
{
	struct pasta_event ev = EVENT(uvm, UVM, proc, 1, 100);

	ev.sub = (uint8_t)sub;
	ev.uvm.dur = sub == PASTA_UVM_GPU_FAULT ? 7 : 0;
	ev.uvm.addr = addr;
	ev.uvm.count = count;
	ev.uvm.src = ev.uvm.dst = device;
	send_event(&ev);
}

static void migrations_are_added_up_by_direction(void **state)
{
	(void)state;
	move(0, PASTA_UVM_TO_DEVICE, 1, 1000);
	move(1, PASTA_UVM_TO_DEVICE, 2, 3000);
	move(0, PASTA_UVM_TO_HOST, 3, 50);
	move(0, PASTA_UVM_BETWEEN, 3, 70);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("migrations"), "to_device 2 4000 20 200000000000.00 2000\n"
						 "to_host 1 50 10 5000000000.00 50\n"
						 "between 1 70 10 7000000000.00 70\n");
	assert_string_equal(table("faults"), "");
	assert_string_equal(finding(0), "");
}

static void faults_are_those_of_a_device_or_of_the_host(void **state)
{
	(void)state;
	fault(0, PASTA_UVM_CPU_FAULT, 1, 1, PASTA_UVM_HOST);
	fault(0, PASTA_UVM_GPU_FAULT, 1, 5, 1);
	fault(0, PASTA_UVM_GPU_FAULT, 1, 6, 0);
	fault(1, PASTA_UVM_GPU_FAULT, 1, 7, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("faults"), "device 0 1 6 7\n"
					     "device 1 2 12 14\n"
					     "host 1 1 0\n");
	assert_string_equal(table("migrations"), "");
}

static void what_moves_belongs_to_the_allocation_that_was_there(void **state)
{
	struct pasta_event known = EVENT(process, PROCESS, 1, 1, 1);

	(void)state;
	known.process.host = id("host");
	known.process.pid = 7;
	send_event(&known);
	managed(0, 1, 0x1000, 0x1000, NULL);
	managed(1, 1, 0x1000, 0x1000, "table");
	managed(0, 2, 0x8000, 0x1000, NULL); /* without events */
	move(0, PASTA_UVM_TO_DEVICE, 0x1fff, 10);
	move(0, PASTA_UVM_TO_HOST, 0x1000, 20);
	move(0, PASTA_UVM_TO_HOST, 0x2000, 5); /* after its end */
	move(1, PASTA_UVM_BETWEEN, 0x1800, 100);
	fault(1, PASTA_UVM_GPU_FAULT, 0x1800, 3, 0);
	gone(0, 100, 0x1000);
	managed(0, 100, 0x1000, 0x800, NULL);
	fault(0, PASTA_UVM_CPU_FAULT, 0x1400, 1, PASTA_UVM_HOST);
	fault(0, PASTA_UVM_CPU_FAULT, 0x1800, 1, PASTA_UVM_HOST); /* after its end */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("allocations"), "table 4096 0 0 100 3 0 host-7\n"
						  "0x1000 4096 10 20 0 0 0 #0\n"
						  "(unknown) 0 0 5 0 0 1 #0\n"
						  "0x1000 2048 0 0 0 0 1 #0\n");
}

static void rows_are_as_many_as_were_asked_for(void **state)
{
	(void)state;
	start_over("uvm.rows=2");
	for (uint64_t i = 1; i <= 5; i++) {
		managed(0, i, i << 12, 4096, NULL);
		move(0, PASTA_UVM_TO_DEVICE, i << 12, i);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("allocations"), "0x5000 4096 5 0 0 0 0 #0\n"
						  "0x4000 4096 4 0 0 0 0 #0\n");
}

static void memory_that_is_not_managed_has_no_row(void **state)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, 0, 1, 1);

	(void)state;
	ev.sub = PASTA_ALLOC_DEVICE;
	ev.alloc.addr = 0x1000;
	ev.alloc.bytes = 0x1000;
	send_event(&ev);
	managed(0, 2, UINT64_MAX - 1, 16, NULL); /* its end overflows */
	managed(0, 3, 0x5000, 0, NULL);
	move(0, PASTA_UVM_TO_DEVICE, 0x1000, 8);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("allocations"), "(unknown) 0 8 0 0 0 0 #0\n");
}

static void thrashing_is_found_and_what_is_new_is_unspecified(void **state)
{
	(void)state;
	move(0, PASTA_UVM_THRASHING, 1, 64);
	move(0, PASTA_UVM_THROTTLING, 1, 0);
	move(0, PASTA_UVM_REMOTE_MAP, 1, 32);
	move(0, PASTA_UVM_REMOTE_MAP + 1, 1, 16);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "thrashing 1 64 10\n"
					    "throttling 1 0 10\n"
					    "remote_map 1 32 10\n"
					    "unspecified 1 16 10\n");
	assert_string_equal(finding(0), "times that memory thrashed: 1");
}

/* Returns all tables as text, which the caller frees. */
static char *all_tables(void)
{
	static const char *const names_[] = {"migrations", "faults", "other", "allocations"};
	char *text = calloc(4, 1 << 16);

	assert_non_null(text);
	for (size_t i = 0; i < 4; i++)
		strcat(text, table(names_[i]));
	return text;
}

static void merged_shards_are_as_one(void **state)
{
	struct pasta_toolset *parts[3];
	struct pasta_result own = {0};
	char *want, *got;

	(void)state;
	for (int i = 0; i < 3; i++)
		parts[i] = another_toolset(&own);
	for (int i = 0; i < 3000; i++) {
		uint32_t proc = (uint32_t)random_below(3);
		struct pasta_event ev = EVENT(uvm, UVM, proc, 1, (uint64_t)i);

		ev.sub = (uint8_t)random_below(10);
		ev.uvm.addr = random_below(100) << 12;
		ev.uvm.bytes = random_below(1000);
		ev.uvm.count = random_below(5);
		ev.uvm.src = (uint32_t)random_below(2);
		ev.uvm.dur = random_below(100);
		if (!random_below(8)) {
			ev = (struct pasta_event)EVENT(alloc, ALLOC, proc, 1, (uint64_t)i);
			ev.sub = PASTA_ALLOC_MANAGED;
			ev.alloc.addr = random_below(100) << 12;
			ev.alloc.bytes = 4096;
		}
		pasta_toolset_event(parts[proc], &ev, NULL);
		send_event(&ev);
	}
	pasta_toolset_merge(parts[0], parts[1]);
	pasta_toolset_merge(parts[0], parts[2]);
	assert_int_equal(finish(), 0);
	want = all_tables();
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts[0]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	got = all_tables();
	assert_string_equal(got, want);
	assert_true(strlen(want) > 500);
	free(want);
	free(got);
	for (int i = 0; i < 3; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(migrations_are_added_up_by_direction),
		TEST(faults_are_those_of_a_device_or_of_the_host),
		TEST(what_moves_belongs_to_the_allocation_that_was_there),
		TEST(rows_are_as_many_as_were_asked_for),
		TEST(memory_that_is_not_managed_has_no_row),
		TEST(thrashing_is_found_and_what_is_new_is_unspecified),
		TEST(merged_shards_are_as_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
