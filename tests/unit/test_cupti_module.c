/* test_cupti_module.c - module records and saved copies of modules, on a fake CUPTI. */
#include "programs/fake_cupti.c"

#include <sys/resource.h>

#include "handlers/cupti/cupti.h"
#include "unit/agent_run.h"

enum { SIZE = 3 << 20, READ_MAX = 64, THREADS = 4 };

static unsigned char cubin[SIZE];

static void bind_fake(void)
{
#define F(name, args) cupti.name = cupti##name;
	CUPTI_FUNCTIONS(F)
#undef F
	cupti.GetContextId = cuptiGetContextId;
	cupti.GetDeviceId = cuptiGetDeviceId;
	cupti.GetCubinCrc = cuptiGetCubinCrc;
	if (cupti_callbacks_start() != CUPTI_OK)
		_exit(90);
}

static void make_cubin(void)
{
	for (size_t i = 0; i < SIZE; i++)
		cubin[i] = (unsigned char)((i * i) >> 5);
}

static void load(uint32_t id, size_t size)
{
	fake_module(2, &(struct cupti_module){.id = id, .bytes = size, .cubin = cubin}, 1);
}

/* -- The records, and the saved copies -- */

static struct {
	struct pasta_event ev[READ_MAX];
	char name[READ_MAX][32], path[READ_MAX][80];
	size_t count;
} got;

static void read_back(void)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;

	memset(&got, 0, sizeof(got));
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_MODULE || got.count == READ_MAX)
			continue;
		memcpy(&got.ev[got.count], ev, ev->size);
		snprintf(got.name[got.count], 32, "%s", pasta_str(ev->module.name));
		if (ev->module.path)
			snprintf(got.path[got.count], 80, "%s", pasta_str(ev->module.path));
		got.count++;
	}
	pasta_stream_free(s);
}

static size_t files(void)
{
	char path[160];
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/modules", run_dir);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* Check that the copy that an event names has these bytes. */
static void assert_saved(size_t event, size_t size)
{
	static unsigned char copy[SIZE + 1];
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", run_dir, got.path[event]);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(copy, 1, sizeof(copy), f), size);
	fclose(f);
	assert_memory_equal(copy, cubin, size);
}

static int save_modules(void **state)
{
	make_cubin();
	setenv(PASTA_ENV_KEEP, "1", 1);
	return make_run(state);
}

static int do_not_save(void **state)
{
	make_cubin();
	unsetenv(PASTA_ENV_KEEP);
	return make_run(state);
}

/* -- The time of loading -- */

enum { LOAD_NS = 2000000 };

static void call_site(const char *function, uint32_t site, uint32_t correlation)
{
	struct cupti_call call = {.site = site, .function = function, .correlation = correlation};

	call_back(CUPTI_DRIVER_API, id_of(function), &call);
}

static void wait_a_little(void)
{
	const struct timespec t = {.tv_nsec = LOAD_NS};

	nanosleep(&t, NULL);
}

static void load_in_calls(void)
{
	static const char *const functions[] = {"cuModuleLoadData", "cuLaunchKernel"};

	bind_fake();
	for (uint32_t i = 0; i < 2; i++) {
		call_site(functions[i], 0, i + 1);
		wait_a_little();
		load(10 * i + 1, 16);
		wait_a_little();
		load(10 * i + 2, 16);
		call_site(functions[i], 1, i + 1);
		load(10 * i + 3, 16); /* in no call that is known */
	}
	pasta_agent_close();
}

static void modules_take_the_time_since_their_call_began(void **state)
{
	(void)state;
	assert_int_equal(in_child(load_in_calls), 0);
	read_back();
	assert_int_equal(got.count, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct pasta_event *ev = &got.ev[i];

		assert_int_equal(ev->module.id, i / 3 * 10 + i % 3 + 1);
		if (i % 3 == 2)
			assert_int_equal(ev->module.dur, 0);
		else
			assert_in_range(ev->module.dur, LOAD_NS, LOAD_NS * UINT64_C(1000));
		if (i % 3 == 1) /* begins when the first is loaded */
			assert_int_equal(ev->time, ev[-1].time + ev[-1].module.dur);
	}
}

/* -- Events -- */

static void load_and_unload(void)
{
	struct cupti_module m = {.id = 7, .bytes = SIZE, .cubin = cubin};

	bind_fake();
	fake_module(2, &m, 1);
	fake_module(1, &(struct cupti_module){.id = 8}, 1); /* without a cubin */
	fake_module(0, &(struct cupti_module){.id = 9, .bytes = 10, .cubin = cubin}, 1);
	fake_module(2, &m, 0);
	call_back(CUPTI_RESOURCE, CUPTI_MODULE_LOADED, NULL);
	call_back(CUPTI_RESOURCE, CUPTI_MODULE_LOADED, &(struct cupti_resource_data){0});
	pasta_agent_close();
}

static void loads_and_unloads_have_their_fields(void **state)
{
	struct cupti_crc crc = {.size = sizeof(crc), .cubin_size = SIZE, .cubin = cubin};
	const struct pasta_module_record *m = &got.ev[0].module;

	(void)state;
	assert_int_equal(in_child(load_and_unload), 0);
	read_back();
	assert_int_equal(got.count, 4);
	assert_int_equal(cuptiGetCubinCrc(&crc), CUPTI_OK);
	assert_int_equal(got.ev[0].sub, PASTA_MODULE_LOAD);
	assert_int_equal(m->id, 7);
	assert_int_equal(m->bytes, SIZE);
	assert_int_equal(m->crc, crc.crc);
	assert_int_equal(m->context * 10 + m->device, 21);
	assert_string_equal(got.name[0], "cubin");
	assert_int_equal(got.ev[1].module.id, 8);
	assert_int_equal(got.ev[1].module.bytes + got.ev[1].module.crc, 0);
	assert_int_equal(got.ev[2].module.context + got.ev[2].module.device, 0);
	assert_int_equal(got.ev[3].sub, PASTA_MODULE_UNLOAD);
	assert_int_equal(got.ev[3].module.id, 7);
	assert_int_equal(got.ev[3].module.context * 10 + got.ev[3].module.device, 21);
	for (size_t i = 0; i < got.count; i++)
		assert_string_equal(got.path[i], "");
	assert_int_equal(files(), 0);
}

static void load_without_a_crc(void)
{
	bind_fake();
	cupti.GetCubinCrc = NULL; /* as in an older CUPTI */
	load(1, 100);
	cupti.GetCubinCrc = cuptiGetCubinCrc;
	setenv("FAKE_CUPTI_FAIL", "GetCubinCrc=999", 1);
	load(2, 100);
	pasta_agent_close();
}

static void without_a_crc_of_cupti_the_field_is_0(void **state)
{
	(void)state;
	assert_int_equal(in_child(load_without_a_crc), 0);
	read_back();
	assert_int_equal(got.count, 2);
	assert_int_equal(got.ev[0].module.crc, 0);
	assert_int_equal(got.ev[1].module.crc, 0);
}

static void look_at_what_is_enabled(void)
{
	bind_fake();
	_exit(fake_subscriber.on[CUPTI_RESOURCE][CUPTI_MODULE_LOADED] * 2 +
	      fake_subscriber.on[CUPTI_RESOURCE][CUPTI_MODULE_UNLOADING]);
}

static void module_callbacks_are_enabled_only_if_modules_are_recorded(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(in_child(look_at_what_is_enabled)), 3);
	setenv(PASTA_ENV_KINDS, "6", 1); /* launches and kernels */
	assert_int_equal(WEXITSTATUS(in_child(look_at_what_is_enabled)), 0);
	unsetenv(PASTA_ENV_KINDS);
}

/* -- Copies -- */

static void load_twice(void)
{
	bind_fake();
	errno = 77;
	load(1, SIZE);
	load(2, SIZE);
	cubin[SIZE - 1] ^= 1; /* same size and crc, different content */
	load(3, SIZE);
	load(4, 1);
	if (errno != 77)
		_exit(91);
	pasta_agent_close();
}

static void equal_content_is_one_file_and_other_content_another(void **state)
{
	(void)state;
	assert_int_equal(in_child(load_twice), 0);
	read_back();
	assert_int_equal(got.count, 4);
	assert_string_equal(got.path[0], got.path[1]);
	assert_string_not_equal(got.path[0], got.path[2]);
	assert_int_equal(got.ev[0].module.crc, got.ev[2].module.crc);
	assert_saved(0, SIZE);
	assert_saved(3, 1);
	cubin[SIZE - 1] ^= 1;
	assert_saved(2, SIZE);
	assert_int_equal(files(), 3);
}

static void *load_all(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < 10; i++)
		load((uint32_t)i, SIZE - i);
	return NULL;
}

static void load_in_threads(void)
{
	pthread_t threads[THREADS];

	bind_fake();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, load_all, NULL))
			_exit(92);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pasta_agent_close();
}

static void threads_and_processes_share_their_copies(void **state)
{
	pid_t other = fork();
	int status;

	(void)state;
	if (!other)
		_exit(in_child(load_in_threads) != 0);
	assert_int_equal(in_child(load_in_threads), 0);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	assert_int_equal(files(), 10);
	read_back();
	assert_int_equal(got.count, READ_MAX);
	for (size_t i = 0; i < got.count; i++)
		assert_saved(i, SIZE - got.ev[i].module.id);
}

static void load_past_a_limit(void)
{
	struct rlimit limit = {SIZE / 2, SIZE / 2};

	bind_fake();
	load(1, 1000);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		_exit(93);
	load(2, SIZE);
	load(3, 2000);
	pasta_agent_close();
}

static void a_copy_that_cannot_be_written_does_not_affect_the_others(void **state)
{
	(void)state;
	assert_int_equal(in_child(load_past_a_limit), 0);
	read_back();
	assert_int_equal(got.count, 3);
	assert_saved(0, 1000);
	assert_string_equal(got.path[1], "");
	assert_saved(2, 2000);
	assert_int_equal(files(), 2); /* the incomplete copy was removed */
}

static void load_without_a_folder(void)
{
	char path[160];

	bind_fake();
	snprintf(path, sizeof(path), "%s/modules", run_dir);
	if (symlink("/dev/null/none", path))
		_exit(94);
	load(1, 1000);
	pasta_agent_close();
}

static void without_a_folder_events_have_no_path(void **state)
{
	(void)state;
	assert_int_equal(in_child(load_without_a_folder), 0);
	read_back();
	assert_int_equal(got.count, 1);
	assert_string_equal(got.path[0], "");
}

#define PLAIN(name) cmocka_unit_test_setup_teardown(name, do_not_save, remove_run)
#define SAVING(name) cmocka_unit_test_setup_teardown(name, save_modules, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN(loads_and_unloads_have_their_fields),
		PLAIN(modules_take_the_time_since_their_call_began),
		PLAIN(without_a_crc_of_cupti_the_field_is_0),
		PLAIN(module_callbacks_are_enabled_only_if_modules_are_recorded),
		SAVING(equal_content_is_one_file_and_other_content_another),
		SAVING(threads_and_processes_share_their_copies),
		SAVING(a_copy_that_cannot_be_written_does_not_affect_the_others),
		SAVING(without_a_folder_events_have_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
