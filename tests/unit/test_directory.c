/* test_directory.c - names of processes, devices and threads, and when they are known. */
/* labels: onethread */
#include "unit/support.h"

#include "core/shardwriter.h"
#include "process/join/directory.h"
#include "process/join/reader.h"

enum { SOURCE = 1, TID = 78 };

/* -- A run of two processes, each with a device and a thread that has had two names -- */

static const char *shard_path(uint32_t proc)
{
	static char paths[2][300];

	snprintf(paths[proc], sizeof(paths[proc]), "%s", in_dir(proc ? "b.pst" : "a.pst"));
	return paths[proc];
}

static void put_event(struct pasta_shardwriter *w, uint32_t source, struct pasta_event ev)
{
	ev.size = pasta_kinds[ev.kind].size;
	assert_int_equal(source ? pasta_shardwriter_event(w, source, &ev)
				: pasta_shardwriter_state(w, &ev),
			 0);
}

static void put_thread(struct pasta_shardwriter *w, uint32_t source, uint64_t time,
		       const char *name)
{
	put_event(w, source,
		  (struct pasta_event){.kind = PASTA_KIND_THREAD,
				       .tid = TID,
				       .time = time,
				       .thread = {.name = pasta_shardwriter_str(w, name)}});
}

static void write_shard(uint32_t proc)
{
	struct pasta_shard_head head = {
		.raw = 1, .real = 1, .pid = 100 + proc, .guid = {1 + (uint8_t)proc}};
	struct pasta_shardwriter *w;
	struct pasta_error err = {0};

	unlink(shard_path(proc));
	w = pasta_shardwriter_new(shard_path(proc), &head, &err);
	assert_non_null(w);
	put_event(w, 0,
		  (struct pasta_event){.kind = PASTA_KIND_PROCESS,
				       .time = 1,
				       .process = {.kinds = ~UINT64_C(0),
						   .pid = 100 + proc,
						   .parent = 99,
						   .rank = proc + 1,
						   .world = 4,
						   .source = pasta_shardwriter_str(w, "kineto")}});
	put_thread(w, 0, 20, "python3");
	put_thread(w, SOURCE, 10, "unnamed yet");
	put_thread(w, SOURCE, 30, "loader");
	put_event(w, SOURCE,
		  (struct pasta_event){.kind = PASTA_KIND_DEVICE,
				       .tid = TID,
				       .time = 40,
				       .device = {.id = 1,
						  .units = 132,
						  .memory = 1 << 20,
						  .name = pasta_shardwriter_str(w, "H200"),
						  .vendor = pasta_shardwriter_str(w, "NVIDIA"),
						  .arch = pasta_shardwriter_str(w, "sm_90")}});
	assert_int_equal(pasta_shardwriter_close(w, NULL), 0);
}

/* Removes the marks of frames, which older shards don't have. */
static void age_shard(uint32_t proc)
{
	struct pasta_shard_head head;
	struct pasta_frame f;
	uint64_t at = sizeof(head);
	FILE *file = fopen(shard_path(proc), "r+");
	size_t aged = 0;

	assert_non_null(file);
	assert_int_equal(fread(&head, sizeof(head), 1, file), 1);
	head.flags &= ~(uint32_t)PASTA_SHARD_NAMES;
	pasta_shard_head_seal(&head);
	rewind(file);
	assert_int_equal(fwrite(&head, sizeof(head), 1, file), 1);
	while (!fseek(file, (long)at, SEEK_SET) && fread(&f, sizeof(f), 1, file) == 1) {
		assert_true(pasta_frame_head_ok(&f));
		aged += (f.flags & PASTA_FRAME_NAMES) != 0;
		f.flags &= (uint8_t)~PASTA_FRAME_NAMES;
		f.head_sum = XXH3_64bits(&f, offsetof(struct pasta_frame, head_sum));
		fseek(file, (long)at, SEEK_SET);
		assert_int_equal(fwrite(&f, sizeof(f), 1, file), 1);
		at += sizeof(f) + ((f.size + UINT64_C(7)) & ~UINT64_C(7));
	}
	assert_true(aged > 0);
	fclose(file);
}

static struct pasta_stream *open_run_of(uint32_t procs)
{
	struct pasta_stream *s = pasta_stream_new(0);

	assert_non_null(s);
	for (uint32_t i = 0; i < procs; i++)
		assert_int_equal(pasta_stream_add(s, shard_path(i), NULL), 0);
	assert_int_equal(pasta_directory_fill(s), 0);
	return s;
}

static void close_run(struct pasta_stream *s)
{
	pasta_stream_free(s);
	assert_int_equal(pasta_directory_fill(NULL), 0);
}

/* Names are read even if no tool subscribes to any kind. */
static void read_all(struct pasta_stream *s)
{
	struct pasta_reader *f = pasta_reader_new(s, PASTA_MASK(KERNEL), 0, NULL);
	const struct pasta_where *where;

	assert_non_null(f);
	while (pasta_reader_next(f, &where))
		;
	assert_int_equal(pasta_reader_error(f), 0);
	pasta_reader_free(f);
}

/* -- Claims -- */

static void devices_and_threads_are_known_before_the_first_event(void **state)
{
	const struct pasta_device_info *d;
	struct pasta_stream *s;

	(void)state;
	write_shard(0);
	s = open_run_of(1);
	d = pasta_device(0, 1);
	assert_int_equal(d->size, sizeof(*d));
	assert_int_equal(d->units, 132);
	assert_int_equal(d->memory, 1 << 20);
	assert_string_equal(d->name, "H200");
	assert_string_equal(d->vendor, "NVIDIA");
	assert_string_equal(d->arch, "sm_90");
	assert_string_equal(d->text, "device 1");
	assert_string_equal(pasta_thread(0, TID)->name, "loader");
	assert_string_equal(pasta_thread(0, TID)->text, "loader (78)");
	read_all(s);
	assert_string_equal(pasta_thread(0, TID)->name, "loader");
	assert_ptr_equal(pasta_device(0, 1), d);
	close_run(s);
}

static void names_in_older_shards_are_known_once_they_are_read(void **state)
{
	const struct pasta_thread_info *before;
	struct pasta_stream *s;

	(void)state;
	write_shard(0);
	age_shard(0);
	s = open_run_of(1);
	before = pasta_thread(0, TID);
	assert_string_equal(before->name, "python3"); /* from a state frame */
	assert_string_equal(pasta_device(0, 1)->name, "");
	assert_string_equal(pasta_device(0, 1)->text, "device 1");
	read_all(s);
	assert_string_equal(pasta_device(0, 1)->name, "H200");
	assert_string_equal(pasta_thread(0, TID)->name, "loader");
	assert_string_equal(before->name, "python3"); /* a pointer to it stays valid */
	close_run(s);
}

static void unknown_devices_and_threads_are_named_by_number(void **state)
{
	(void)state;
	assert_int_equal(pasta_directory_fill(NULL), 0);
	assert_string_equal(pasta_device(3, 2)->text, "device 2");
	assert_int_equal(pasta_device(3, 2)->proc, 3);
	assert_string_equal(pasta_device(3, PASTA_HOST)->text, "host");
	assert_string_equal(pasta_thread(3, 12)->text, "thread 12");
	assert_int_equal(pasta_thread(3, 12)->tid, 12);
	assert_string_equal(pasta_thread(3, 12)->name, "");
	assert_int_equal(pasta_directory_fill(NULL), 0);
}

static void each_process_has_its_own_devices_and_threads(void **state)
{
	struct pasta_stream *s;

	(void)state;
	write_shard(0);
	write_shard(1);
	s = open_run_of(2);
	assert_string_equal(pasta_device(0, 1)->text, "rank 0, device 1");
	assert_string_equal(pasta_device(1, 1)->text, "rank 1, device 1");
	assert_string_equal(pasta_device(1, PASTA_HOST)->text, "rank 1, host");
	assert_string_equal(pasta_thread(1, TID)->text, "rank 1, loader (78)");
	assert_string_equal(pasta_thread(1, 5)->text, "rank 1, thread 5");
	close_run(s);
}

static void a_process_has_its_parent_its_world_and_its_source(void **state)
{
	struct pasta_stream *s;

	(void)state;
	write_shard(0);
	s = open_run_of(1);
	assert_int_equal(pasta_process(0)->parent, 99);
	assert_int_equal(pasta_process(0)->world, 4);
	assert_string_equal(pasta_process(0)->source, "kineto");
	assert_string_equal(pasta_process(7)->source, "");
	close_run(s);
}

static void a_damaged_record_of_a_device_is_not_known_and_counts_as_damage(void **state)
{
	struct pasta_loss_summary loss;
	struct pasta_stream *s;
	struct pasta_frame f;
	uint64_t at = sizeof(struct pasta_shard_head);
	FILE *file;

	(void)state;
	write_shard(0);
	file = fopen(shard_path(0), "r+");
	assert_non_null(file);
	while (!fseek(file, (long)at, SEEK_SET) && fread(&f, sizeof(f), 1, file) == 1 &&
	       f.source != SOURCE)
		at += sizeof(f) + ((f.size + UINT64_C(7)) & ~UINT64_C(7));
	fseek(file, (long)(at + sizeof(f)), SEEK_SET);
	assert_int_equal(fputc(0x55, file), 0x55);
	fclose(file);
	s = open_run_of(1);
	assert_string_equal(pasta_device(0, 1)->name, "");
	read_all(s);
	pasta_stream_loss(s, &loss);
	assert_int_equal(loss.damaged, 3);
	close_run(s);
}

static void a_process_is_named_by_what_is_known_of_it(void **state)
{
	(void)state;
	assert_int_equal(pasta_directory_fill(NULL), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pasta_directory_add(&(struct pasta_process_info){
					 .proc = i,
					 .pid = i < 2 ? 19392 : 0,
					 .rank = PASTA_NO_RANK,
					 .host = i % 2 ? NULL : "node7"}),
				 0);
	assert_string_equal(pasta_process(0)->text, "node7-19392");
	assert_string_equal(pasta_process(1)->text, "pid 19392");
	assert_string_equal(pasta_process(2)->text, "#2");
	assert_string_equal(pasta_process(3)->text, "#3");
	pasta_directory_fill(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_named_by_what_is_known_of_it),
		cmocka_unit_test(devices_and_threads_are_known_before_the_first_event),
		cmocka_unit_test(names_in_older_shards_are_known_once_they_are_read),
		cmocka_unit_test(unknown_devices_and_threads_are_named_by_number),
		cmocka_unit_test(each_process_has_its_own_devices_and_threads),
		cmocka_unit_test(a_process_has_its_parent_its_world_and_its_source),
		cmocka_unit_test(a_damaged_record_of_a_device_is_not_known_and_counts_as_damage),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
