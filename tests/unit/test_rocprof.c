/* test_rocprof.c - imports of rocprofv3 traces: in any order, damaged, and invalid. */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>
#include <sys/wait.h>
#include <zlib.h>

#include "import/import.h"

enum { EVENTS = 512, TEXT = 1 << 17 };
#define T UINT64_C(10000000000000) /* base of the traces' times */

/* -- A file, imported and read back -- */

struct imported {
	struct pasta_event events[EVENTS]; /* in order of time */
	size_t count;
	struct pasta_import_info info;
	struct pasta_error err;
	int r;
};

static struct imported *import_with(const char *path, struct pasta_import_options options)
{
	static struct imported im;
	const char *shard = in_dir("shard.pst");
	const struct pasta_event *ev;
	struct pasta_stream *s;

	pasta_import_info_free(&im.info);
	memset(&im, 0, sizeof(im));
	unlink(shard);
	im.r = pasta_import(path, shard, &options, &im.info, &im.err);
	if (im.r) {
		assert_int_equal(im.r, im.err.code);
		assert_int_equal(access(shard, F_OK), -1);
		return &im;
	}
	s = open_stream(shard);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_CLOCK || ev->kind == PASTA_KIND_LOSS)
			continue;
		assert_true(im.count < EVENTS);
		pasta_event_copy(&im.events[im.count++], ev);
	}
	pasta_stream_free(s);
	return &im;
}

static struct imported *import_file(const char *path)
{
	struct imported *im = import_with(path, (struct pasta_import_options){0});

	if (im->r)
		fail_msg("%s", im->err.text);
	return im;
}

static const char *data(const char *name)
{
	static char path[512];
	const char *src = getenv("SRC");

	snprintf(path, sizeof(path), "%s/tests/data/import/%s", src ? src : ".", name);
	return path;
}

static size_t slurp(const char *path, char *text)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f)
		fail_msg("%s: set SRC to the source tree", path);
	n = fread(text, 1, TEXT - 1, f);
	assert_true(n < TEXT - 1);
	text[n] = 0;
	fclose(f);
	return n;
}

static const char *spill(const char *text, size_t size)
{
	const char *path = in_dir("trace.json");
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* Returns the n-th event of a kind (from 0), or NULL. */
static const struct pasta_event *find(const struct imported *im, unsigned int kind, size_t n)
{
	for (size_t i = 0; i < im->count; i++)
		if (im->events[i].kind == kind && !n--)
			return &im->events[i];
	return NULL;
}

static const struct pasta_event *nth(const struct imported *im, unsigned int kind, size_t n)
{
	const struct pasta_event *ev = find(im, kind, n);

	if (!ev)
		fail_msg("no event number %zu of kind %s", n, pasta_kind_name(kind));
	return ev;
}

static size_t count_of(const struct imported *im, unsigned int kind)
{
	size_t n = 0;

	while (find(im, kind, n))
		n++;
	return n;
}

static uint64_t counted_in(const struct imported *im, enum pasta_import_list list, const char *name)
{
	for (size_t i = 0; i < im->info.counts[list]; i++)
		if (!strcmp(im->info.lists[list][i].name, name))
			return im->info.lists[list][i].count;
	return 0;
}

static bool lacks(const struct imported *im, const char *what)
{
	for (size_t i = 0; i < PASTA_IMPORT_LACKS && im->info.lacks[i]; i++)
		if (strstr(im->info.lacks[i], what))
			return true;
	return false;
}

#define assert_text(id, text) assert_string_equal(pasta_str(id), text)

/* -- Records -- */

static void dispatches_are_kernels_with_grids_in_groups(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	const struct pasta_event *k = nth(im, PASTA_KIND_KERNEL, 0);

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_KERNEL), 7);
	assert_int_equal(k->time, T + 20000);
	assert_int_equal(k->tid, 700);
	assert_int_equal(k->kernel.dur, 2000);
	assert_int_equal(k->kernel.corr, 12);
	assert_int_equal(k->kernel.device, 0);
	assert_int_equal(k->kernel.stream, 1);
	assert_int_equal(k->kernel.registers, 24);
	assert_int_equal(k->kernel.shared_static, 512);
	assert_int_equal(k->kernel.local_bytes, 16);
	/* 640 x 7 x 3 work-items in groups of 64 x 2 x 1 */
	assert_int_equal(k->kernel.block_x, 64);
	assert_int_equal(k->kernel.block_y, 2);
	assert_int_equal(k->kernel.grid_x, 10);
	assert_int_equal(k->kernel.grid_y, 4);
	assert_int_equal(k->kernel.grid_z, 3);
	/* The queue, if the stream is unknown. */
	assert_int_equal(nth(im, PASTA_KIND_KERNEL, 2)->kernel.stream, 4);
	assert_int_equal(nth(im, PASTA_KIND_KERNEL, 2)->kernel.device, 1);
	/* A group without work-items: the number of groups is unknown. */
	assert_int_equal(nth(im, PASTA_KIND_KERNEL, 6)->kernel.grid_x, 0);
}

static void kernels_have_the_best_name_that_the_file_has(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));

	(void)state;
	assert_text(nth(im, PASTA_KIND_KERNEL, 0)->kernel.name, "add(float*, float*)");
	assert_text(nth(im, PASTA_KIND_KERNEL, 1)->kernel.name, "scale(float*, float)");
	assert_text(nth(im, PASTA_KIND_KERNEL, 2)->kernel.name, "plain");
	assert_text(nth(im, PASTA_KIND_KERNEL, 6)->kernel.name, "kernel_id 77");
	assert_true(lacks(im, "names of some kernels"));
}

static void copies_have_directions_and_devices(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	static const struct {
		uint8_t sub;
		uint64_t bytes;
		uint32_t device, peer;
	} expected[] = {{PASTA_COPY_H2D, 4096, 0, 0},
			{PASTA_COPY_D2H, 1024, 1, 0},
			{PASTA_COPY_P2P, 2048, 0, 1},
			{PASTA_COPY_D2D, 512, 0, 0},
			{PASTA_COPY_H2H, 64, 0, 0}};

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_COPY), 5);
	for (size_t i = 0; i < 5; i++) {
		const struct pasta_event *ev = nth(im, PASTA_KIND_COPY, i);

		assert_int_equal(ev->sub, expected[i].sub);
		assert_int_equal(ev->copy.bytes, expected[i].bytes);
		assert_int_equal(ev->copy.device, expected[i].device);
		assert_int_equal(ev->copy.peer, expected[i].peer);
		assert_int_equal(ev->copy.dur, 1000);
	}
	assert_int_equal(nth(im, PASTA_KIND_COPY, 0)->copy.corr, 8);
}

static void memory_is_in_use_from_the_end_of_its_allocation(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	const struct pasta_event *first = nth(im, PASTA_KIND_ALLOC, 0),
				 *freed = nth(im, PASTA_KIND_FREE, 0);

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_ALLOC), 3);
	assert_int_equal(first->sub, PASTA_ALLOC_DEVICE);
	assert_int_equal(first->time, T + 2400);
	assert_int_equal(first->alloc.addr, UINT64_C(0x7f1000000000));
	assert_int_equal(first->alloc.bytes, 4096);
	assert_int_equal(nth(im, PASTA_KIND_ALLOC, 1)->alloc.pool, 1);
	assert_int_equal(nth(im, PASTA_KIND_ALLOC, 1)->alloc.device, 1);
	assert_int_equal(nth(im, PASTA_KIND_ALLOC, 2)->sub, PASTA_ALLOC_HOST);
	assert_int_equal(freed->time, T + 122000);
	assert_int_equal(freed->free.addr, first->alloc.addr);
	assert_int_equal(nth(im, PASTA_KIND_FREE, 1)->free.pool, 1);
	/* The third free is of address 0. */
	assert_int_equal(count_of(im, PASTA_KIND_FREE), 2);
	assert_int_equal(counted_in(im, PASTA_IMPORT_LEFT_OUT, "memory_allocation"), 1);
}

static void scratch_memory_is_a_counter(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_COUNTER), 2);
	assert_text(nth(im, PASTA_KIND_COUNTER, 0)->counter.name, "scratch");
	assert_true(nth(im, PASTA_KIND_COUNTER, 0)->counter.value == 65536);
	assert_true(nth(im, PASTA_KIND_COUNTER, 1)->counter.value == 0);
}

static void calls_belong_to_their_library_and_launches_are_emitted(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	static const uint64_t launches[] = {7, 8, 12, 14, 20, 31, 41};
	static const uint32_t works[] = {PASTA_LAUNCH_WORK_COPY,   PASTA_LAUNCH_WORK_COPY,
					 PASTA_LAUNCH_WORK_KERNEL, PASTA_LAUNCH_WORK_KERNEL,
					 PASTA_LAUNCH_WORK_GRAPH,  PASTA_LAUNCH_WORK_KERNEL,
					 PASTA_LAUNCH_WORK_KERNEL};
	size_t subs[4] = {0};

	(void)state;
	for (size_t i = 0; i < count_of(im, PASTA_KIND_API); i++)
		subs[nth(im, PASTA_KIND_API, i)->sub]++;
	assert_int_equal(subs[PASTA_API_RUNTIME], 9);
	assert_int_equal(subs[PASTA_API_DRIVER], 2);
	assert_int_equal(subs[PASTA_API_LIBRARY], 6 + 2 + 1);
	assert_int_equal(count_of(im, PASTA_KIND_LAUNCH), 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(nth(im, PASTA_KIND_LAUNCH, i)->launch.corr, launches[i]);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(nth(im, PASTA_KIND_LAUNCH, i)->launch.work, works[i]);
	assert_int_equal(nth(im, PASTA_KIND_LAUNCH, 2)->time, T + 19000);
	assert_int_equal(nth(im, PASTA_KIND_LAUNCH, 6)->tid, 701);
	for (size_t i = 0; i < count_of(im, PASTA_KIND_API); i++) {
		const struct pasta_event *ev = nth(im, PASTA_KIND_API, i);
		bool failed = !strcmp(pasta_str(ev->api.name), "hipDeviceSynchronize");

		assert_int_equal(ev->api.status, failed);
		assert_int_equal(!failed || ev->api.dur == 5600, 1);
	}
}

static void markers_are_regions_with_their_messages(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	static const struct {
		uint8_t sub;
		uint64_t time;
		const char *name;
	} expected[] = {{PASTA_REGION_BEGIN, 1000, "step \xc3\xa9"},
			{PASTA_REGION_BEGIN, 10000, "forward"},
			{PASTA_REGION_END, 30000, "forward"},
			{PASTA_REGION_MARK, 31000, "saved"},
			{PASTA_REGION_BEGIN, 50000, "load data"},
			{PASTA_REGION_END, 100000, "load data"},
			{PASTA_REGION_END, 100000, "step \xc3\xa9"}};

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_REGION), 7);
	for (size_t i = 0; i < 7; i++) {
		const struct pasta_event *ev = nth(im, PASTA_KIND_REGION, i);

		assert_int_equal(ev->sub, expected[i].sub);
		assert_int_equal(ev->time, T + expected[i].time);
		assert_text(ev->region.name, expected[i].name);
		assert_text(ev->region.domain, "roctx");
	}
	/* A range of the process may end after the enclosing range of its thread. */
	assert_int_equal(im->info.crossed, 1);
}

static void samples_lie_in_the_function_that_begins_before_them(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	static const struct {
		uint64_t pc;
		const char *function, *stall;
	} expected[] = {{0x10, "add(float*, float*)", ""},
			{0x100, "", ""}, /* before the first symbol */
			{UINT64_C(0x7f0000200040), "", ""},
			{0x10, "add(float*, float*)", "waitcnt"},
			{0x3f0, "add(float*, float*)", ""},
			{0x20, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
			 "barrier_wait"}};
	const struct pasta_event *ev;

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_PC_SAMPLE), 6);
	for (size_t i = 0; i < 6; i++) {
		ev = nth(im, PASTA_KIND_PC_SAMPLE, i);
		assert_int_equal(ev->pc_sample.pc, expected[i].pc);
		assert_int_equal(ev->pc_sample.samples, 1);
		assert_text(ev->pc_sample.function, expected[i].function);
		assert_text(ev->pc_sample.stall, expected[i].stall);
	}
	assert_int_equal(ev->pc_sample.device, 1);
	assert_int_equal(ev->pc_sample.corr, 31);
	assert_int_equal(ev->pc_sample.crc, nth(im, PASTA_KIND_MODULE, 1)->module.crc);
}

static void the_process_and_its_devices_are_described(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));
	const struct pasta_event *p = nth(im, PASTA_KIND_PROCESS, 0),
				 *d = nth(im, PASTA_KIND_DEVICE, 0);

	(void)state;
	assert_int_equal(p->process.pid, 700);
	assert_int_equal(p->process.rank, 0);
	assert_text(p->process.command, "./train --name a b");
	assert_text(p->process.host, "node-a");
	assert_int_equal(count_of(im, PASTA_KIND_DEVICE), 2); /* the CPU is not a device */
	assert_text(d->device.name, "AMD Instinct MI300X");
	assert_text(d->device.vendor, "AMD");
	assert_text(d->device.arch, "gfx942");
	assert_int_equal(d->device.memory, UINT64_C(206141652992));
	assert_int_equal(d->device.units, 304);
	assert_int_equal(d->device.clock_mhz, 2100);
	assert_int_equal(d->device.uuid_hi, UINT64_C(0x0102030405060708));
	assert_int_equal(nth(im, PASTA_KIND_DEVICE, 1)->device.id, 1);
	assert_int_equal(count_of(im, PASTA_KIND_MODULE), 2);
	assert_int_equal(nth(im, PASTA_KIND_MODULE, 0)->module.addr, UINT64_C(0x7f0000000000));
	assert_false(im->info.dated);
	assert_int_equal(im->info.begin, T + 1000);
}

static void what_is_not_known_is_counted_by_name(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));

	(void)state;
	assert_string_equal(im->info.format, "rocprofv3");
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "kernel_dispatch"), 7);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "hip_api"), 9);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "hip_graph_nodes"), 2);
	assert_int_equal(counted_in(im, PASTA_IMPORT_UNKNOWN, "hip_graph_nodes"), 2);
	assert_int_equal(im->info.counts[PASTA_IMPORT_UNKNOWN], 1);
	assert_int_equal(counted_in(im, PASTA_IMPORT_LEFT_OUT, "counter_collection"), 1);
	assert_false(lacks(im, "launches"));
	assert_true(lacks(im, "operators"));
}

static void only_the_selected_kinds_are_imported(void **state)
{
	struct imported *im = import_with(
		data("rocprof-all.json"),
		(struct pasta_import_options){.kinds = PASTA_MASK(KERNEL) | PASTA_MASK(LAUNCH)});

	(void)state;
	assert_int_equal(im->r, 0);
	assert_int_equal(count_of(im, PASTA_KIND_KERNEL), 7);
	assert_int_equal(count_of(im, PASTA_KIND_LAUNCH), 7);
	for (size_t i = 0; i < im->count; i++)
		assert_true(im->events[i].kind == PASTA_KIND_KERNEL ||
			    im->events[i].kind == PASTA_KIND_LAUNCH ||
			    im->events[i].kind == PASTA_KIND_PROCESS);
}

/* -- Collectives -- */

/* Returns the event just before a collective's kernel, with the same correlation id. */
static const char *collective_of(const struct imported *im, uint64_t corr)
{
	for (size_t i = 0; i + 1 < im->count; i++) {
		const struct pasta_event *ev = &im->events[i], *next = ev + 1;

		if (ev->kind != PASTA_KIND_COLLECTIVE || ev->collective.corr != corr)
			continue;
		assert_int_equal(next->kind, PASTA_KIND_KERNEL);
		assert_int_equal(next->kernel.corr, corr);
		assert_int_equal(next->time, ev->time);
		return pasta_str(ev->collective.name);
	}
	fail_msg("no collective of correlation %llu", (unsigned long long)corr);
	return NULL;
}

static void the_call_around_a_launch_names_the_collective(void **state)
{
	struct imported *im = import_file(data("rocprof-all.json"));

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_COLLECTIVE), 2);
	assert_string_equal(collective_of(im, 31), "all_reduce");
	/* The end of a group of ncclSend and ncclRecv launched it. */
	assert_string_equal(collective_of(im, 41), "send_recv");
}

/* Replaces all occurrences of a text. Returns the new size. */
static size_t replace(char *text, const char *from, const char *to)
{
	size_t a = strlen(from), b = strlen(to), n = 0;

	for (char *p = text; (p = strstr(p, from)); p += b, n++) {
		assert_true(strlen(text) + b < TEXT);
		memmove(p + b, p + a, strlen(p + a) + 1);
		memcpy(p, to, b);
	}
	assert_true(n > 0);
	return strlen(text);
}

static struct imported *import_changed(const char *name, const char *from, const char *to)
{
	static char text[TEXT];

	slurp(data(name), text);
	return import_file(spill(text, replace(text, from, to)));
}

static void a_group_of_different_collectives_has_no_name(void **state)
{
	struct imported *im = import_changed("rocprof-all.json", "\"ncclSend\"", "\"ncclReduce\"");

	(void)state;
	assert_string_equal(collective_of(im, 41), "generic");
	assert_string_equal(collective_of(im, 31), "all_reduce");
}

static void without_calls_of_hip_the_correlation_names_the_collective(void **state)
{
	static char text[TEXT];
	struct imported *im;
	size_t n;

	(void)state;
	slurp(data("rocprof-all.json"), text);
	replace(text, "\"hip_api\"", "\"hip_other\"");
	replace(text, "{\"internal\": 31, \"external\": 0}", "{\"internal\": 30, \"external\": 0}");
	n = replace(text, "{\"internal\": 41, \"external\": 0}",
		    "{\"internal\": 40, \"external\": 0}");
	im = import_file(spill(text, n));
	assert_string_equal(collective_of(im, 30), "all_reduce");
	assert_string_equal(collective_of(im, 40), "send_recv");
}

static void a_kernel_named_after_its_collective_needs_no_call(void **state)
{
	struct imported *im = import_changed("rocprof-all.json", "ncclDevKernel_Generic_1(",
					     "ncclDevKernel_AllGather_RING_LL(");

	(void)state;
	assert_string_equal(collective_of(im, 31), "all_gather");
	assert_string_equal(collective_of(im, 41), "all_gather");
}

static void without_calls_the_collective_of_a_generic_kernel_is_unknown(void **state)
{
	struct imported *im = import_changed("rocprof-all.json", "\"rccl_api\"", "\"rccl_other\"");

	(void)state;
	assert_string_equal(collective_of(im, 31), "generic");
	assert_string_equal(collective_of(im, 41), "generic");
}

/* -- Orders and versions -- */

/* A text has the same id in all shards that a process reads. */
static void assert_same(const struct imported *a, const struct imported *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		struct pasta_event x = a->events[i], y = b->events[i];

		x.proc = y.proc = x.source = y.source = 0;
		assert_memory_equal(&x, &y, x.size);
	}
}

static void records_before_their_tables_are_read_in_a_second_pass(void **state)
{
	static struct imported first;

	(void)state;
	first = *import_file(data("rocprof-all.json"));
	memset(&first.info, 0, sizeof(first.info)); /* the next import frees it */
	assert_same(&first, import_file(data("rocprof-sorted.json")));
}

static void a_second_pass_reads_what_is_compressed_once_more(void **state)
{
	static struct imported first;
	static char text[TEXT];
	size_t n = slurp(data("rocprof-sorted.json"), text);
	const char *path = in_dir("trace.json.gz");
	gzFile gz = gzopen(path, "wb");

	(void)state;
	assert_non_null(gz);
	assert_int_equal(gzwrite(gz, text, (unsigned int)n), n);
	assert_int_equal(gzclose(gz), Z_OK);
	first = *import_file(data("rocprof-all.json"));
	memset(&first.info, 0, sizeof(first.info));
	assert_same(&first, import_file(path));
}

/* Imports from a pipe. */
static struct imported *import_piped(const char *name)
{
	static char text[TEXT];
	const char *path = in_dir("pipe");
	size_t n = slurp(data(name), text);
	struct imported *im;
	pid_t child;

	assert_int_equal(mkfifo(path, 0600), 0);
	child = fork();
	if (!child) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		_exit(fd < 0 || write(fd, text, n) != (ssize_t)n);
	}
	assert_true(child > 0);
	im = import_with(path, (struct pasta_import_options){0});
	assert_int_equal(waitpid(child, NULL, 0), child);
	unlink(path);
	return im;
}

static void a_pipe_is_read_once(void **state)
{
	struct imported *im = import_piped("rocprof-all.json");

	(void)state;
	assert_int_equal(im->r, 0);
	assert_int_equal(count_of(im, PASTA_KIND_KERNEL), 7);
	im = import_piped("rocprof-sorted.json");
	assert_int_equal(im->r, -ESPIPE);
	assert_non_null(strstr(im->err.text, "store the trace in a file first"));
}

static void the_first_versions_are_read_as_well(void **state)
{
	struct imported *im = import_file(data("rocprof-old.json"));
	const struct pasta_event *k = nth(im, PASTA_KIND_KERNEL, 0),
				 *c = nth(im, PASTA_KIND_COPY, 0);

	(void)state;
	assert_text(k->kernel.name, "old");
	assert_int_equal(k->kernel.device, 1); /* the second GPU of the table */
	assert_int_equal(k->kernel.stream, 9);
	assert_int_equal(k->kernel.grid_x, 2);
	assert_int_equal(k->kernel.corr, 3);
	assert_int_equal(c->sub, PASTA_COPY_H2D);
	assert_int_equal(c->copy.corr, 4);
	assert_int_equal(count_of(im, PASTA_KIND_LAUNCH), 2);
	assert_text(nth(im, PASTA_KIND_DEVICE, 0)->device.name, "gfx90a");
	assert_text(nth(im, PASTA_KIND_REGION, 0)->region.name, "main");
	/* A mark without a message. */
	assert_int_equal(nth(im, PASTA_KIND_REGION, 2)->sub, PASTA_REGION_MARK);
	assert_text(nth(im, PASTA_KIND_REGION, 2)->region.name, "roctxMarkA");
	assert_text(nth(im, PASTA_KIND_PROCESS, 0)->process.command, "./old");
}

static void a_trace_without_calls_lacks_launches_and_no_more(void **state)
{
	static const char text[] =
		"{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{\"kernel_dispatch\":["
		"{\"start_timestamp\":5,\"end_timestamp\":9,\"dispatch_info\":"
		"{\"agent_id\":{\"handle\":7},\"kernel_id\":3}}]}}]}";
	struct imported *im = import_file(spill(text, strlen(text)));

	(void)state;
	assert_int_equal(count_of(im, PASTA_KIND_KERNEL), 1);
	assert_int_equal(nth(im, PASTA_KIND_KERNEL, 0)->kernel.dur, 4);
	assert_true(lacks(im, "--hip-trace"));
	assert_false(nth(im, PASTA_KIND_PROCESS, 0)->process.kinds & PASTA_MASK(LAUNCH));
}

/* -- Errors -- */

static void assert_refused(const char *from, const char *to, const char *why)
{
	static char text[TEXT];
	struct imported *im;
	const char *path;

	slurp(data("rocprof-all.json"), text);
	path = spill(text, replace(text, from, to));
	im = import_with(path, (struct pasta_import_options){0});
	assert_int_equal(im->r, -EBADMSG);
	if (!strstr(im->err.text, why) || !strstr(im->err.text, "byte "))
		fail_msg("\"%s\" does not say \"%s\"", im->err.text, why);
	im = import_with(path, (struct pasta_import_options){.recover = true});
	assert_int_equal(im->r, 0);
	assert_int_equal(im->info.invalid, 1);
	assert_int_equal(im->info.damaged, 0);
}

static void an_invalid_record_is_rejected_and_recover_skips_it(void **state)
{
	(void)state;
	assert_refused("\"end_timestamp\": 10000000022000", "\"end_timestamp\": 5",
		       "a record ends before it begins");
	assert_refused("\"end_timestamp\": 10000000022000", "\"end_timestamp\": \"x\"",
		       "a record has no begin or end time");
	assert_refused("\"kernel_id\": 77", "\"kernel\": 77",
		       "a dispatch has no agent_id or no kernel_id");
	assert_refused("\"bytes\": 512", "\"bytes\": -1", "a copy has no src_agent_id");
	assert_refused("\"0x0000000000000000\"", "\"nil\"", "an allocation has no address");
	assert_refused("{\"key\": 3,", "{\"kei\": 3,", "the message of a marker has no key");
	assert_refused("{\"a\": 1}", "7", "is not a JSON object");
}

static void a_file_of_two_processes_is_refused(void **state)
{
	static const char text[] = "{\"rocprofiler-sdk-tool\":[{},{}]}";
	struct imported *im =
		import_with(spill(text, strlen(text)), (struct pasta_import_options){0});

	(void)state;
	assert_int_equal(im->r, -EBADMSG);
	assert_non_null(strstr(im->err.text, "more than one process"));
}

static void recover_imports_what_follows_damage_even_in_another_array(void **state)
{
	static char text[TEXT];
	size_t n = slurp(data("rocprof-all.json"), text);
	const struct pasta_import_options recover = {.recover = true};
	struct imported *im;
	char *at;

	(void)state;
	/* The last row of hip_api: the next intact row belongs to hsa_api. */
	at = strstr(text, "10000000094000");
	assert_non_null(at);
	memset(at, '#', 14);
	im = import_with(spill(text, n), (struct pasta_import_options){0});
	assert_int_equal(im->r, -EBADMSG);
	im = import_with(spill(text, n), recover);
	assert_int_equal(im->r, 0);
	assert_int_equal(im->info.damaged, 1);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "hip_api"), 8);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "hsa_api"), 2);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "marker_api"), 5);
	assert_int_equal(count_of(im, PASTA_KIND_KERNEL), 7);
	/* The last kernel symbol, and the text up to the records. */
	slurp(data("rocprof-all.json"), text);
	at = strstr(text, "\"kernel_id\": 4,");
	assert_non_null(at);
	memset(at, '#', (size_t)(strstr(at, "\"kernel_dispatch\"") - at));
	im = import_with(spill(text, n), recover);
	assert_int_equal(im->r, 0);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "kernel_dispatch"), 7);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "memory_copy"), 5);
	assert_int_equal(counted_in(im, PASTA_IMPORT_FOUND, "hip_api"), 9);
}

/* -- Random damage -- */

static void every_prefix_is_refused_and_can_be_recovered(void **state)
{
	static char text[TEXT];
	const char *const names[] = {"rocprof-sorted.json", "rocprof-all.json"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		size_t n = slurp(data(names[i]), text) - 2; /* without the end of line */

		for (size_t size = 32; size < n; size += support_slow ? 61 : 31) {
			const char *path = spill(text, size);
			struct imported *im = import_with(path, (struct pasta_import_options){0});

			assert_int_equal(im->r, -EBADMSG);
			im = import_with(path, (struct pasta_import_options){.recover = true});
			assert_int_equal(im->r, 0);
		}
	}
}

static void random_damage_is_an_error_or_passed_over(void **state)
{
	static char text[TEXT];
	static const char bytes[] = "\"\\{}[],:0-e.\x01\xff"
				    "a ";

	(void)state;
	random_begin();
	for (int i = 0; i < (support_slow ? 300 : 1000); i++) {
		size_t n = slurp(data(i % 2 ? "rocprof-all.json" : "rocprof-sorted.json"), text);
		struct imported *im;

		for (uint64_t k = 1 + random_below(4); k; k--)
			text[random_below(n)] = bytes[random_below(sizeof(bytes) - 1)];
		im = import_with(spill(text, n),
				 (struct pasta_import_options){.recover = i % 4 < 2});
		assert_property(im->r == 0 || im->err.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dispatches_are_kernels_with_grids_in_groups),
		cmocka_unit_test(kernels_have_the_best_name_that_the_file_has),
		cmocka_unit_test(copies_have_directions_and_devices),
		cmocka_unit_test(memory_is_in_use_from_the_end_of_its_allocation),
		cmocka_unit_test(scratch_memory_is_a_counter),
		cmocka_unit_test(calls_belong_to_their_library_and_launches_are_emitted),
		cmocka_unit_test(markers_are_regions_with_their_messages),
		cmocka_unit_test(samples_lie_in_the_function_that_begins_before_them),
		cmocka_unit_test(the_process_and_its_devices_are_described),
		cmocka_unit_test(what_is_not_known_is_counted_by_name),
		cmocka_unit_test(only_the_selected_kinds_are_imported),
		cmocka_unit_test(the_call_around_a_launch_names_the_collective),
		cmocka_unit_test(a_group_of_different_collectives_has_no_name),
		cmocka_unit_test(without_calls_of_hip_the_correlation_names_the_collective),
		cmocka_unit_test(a_kernel_named_after_its_collective_needs_no_call),
		cmocka_unit_test(without_calls_the_collective_of_a_generic_kernel_is_unknown),
		cmocka_unit_test(records_before_their_tables_are_read_in_a_second_pass),
		cmocka_unit_test(a_second_pass_reads_what_is_compressed_once_more),
		cmocka_unit_test(a_pipe_is_read_once),
		cmocka_unit_test(the_first_versions_are_read_as_well),
		cmocka_unit_test(a_trace_without_calls_lacks_launches_and_no_more),
		cmocka_unit_test(an_invalid_record_is_rejected_and_recover_skips_it),
		cmocka_unit_test(a_file_of_two_processes_is_refused),
		cmocka_unit_test(recover_imports_what_follows_damage_even_in_another_array),
		cmocka_unit_test(every_prefix_is_refused_and_can_be_recovered),
		cmocka_unit_test(random_damage_is_an_error_or_passed_over),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
