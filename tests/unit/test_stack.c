/* test_stack.c - call paths: captured in a child by the agent, and named here from its shard. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "unit/agent_run.h"

#include "collect/stack.h"
#include "process/join/dwarf.h"
#include "process/join/symbols.h"

enum { THREADS = 8, PER_THREAD = 300, MAX = 256 };

/* The lines on which capture_here is called. */
static int line_capture, line_middle, line_outer;

static int make_run_native(void **state)
{
	setenv(PASTA_ENV_STACKS, "native=1", 1);
	return make_run(state);
}

static void launch(uint32_t stack)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.stack = stack;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* The barriers prevent tail calls, which would leave no frame. */
__attribute__((noinline)) static int capture_here(void)
{
	uint32_t stack = pasta_stack_capture();

	launch(stack);
	__asm__ volatile("" ::: "memory");
	return stack != 0;
}

__attribute__((always_inline)) static inline int inlined_middle(void)
{
	int r = capture_here(); /* line_middle */

	__asm__ volatile("" ::: "memory");
	return r;
}

__attribute__((noinline)) static int outer(void)
{
	int r = inlined_middle(); /* line_outer */

	__asm__ volatile("" ::: "memory");
	return r;
}

/* Returns the number of the first line of this file that contains these words. */
static void find_lines(void)
{
	char path[4096], text[256];
	const char *src = getenv("SRC");
	FILE *f;

	if (line_outer || !src)
		return;
	snprintf(path, sizeof(path), "%s/tests/unit/test_stack.c", src);
	f = fopen(path, "r");
	assert_non_null(f);
	for (int n = 1; fgets(text, sizeof(text), f); n++) {
		if (!line_capture && strstr(text, "stack = pasta_stack_capture();"))
			line_capture = n;
		if (!line_middle && strstr(text, "/* line_middle */"))
			line_middle = n;
		if (!line_outer && strstr(text, "/* line_outer */"))
			line_outer = n;
	}
	fclose(f);
}

/* -- The recorded run -- */

struct launched {
	uint32_t proc, stack, tid;
};
static struct launched launched[1 << 16];
static size_t launched_count, module_count;

static struct pasta_stream *read_launches(void)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;

	pasta_symbols_reset();
	launched_count = module_count = 0;
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_MODULE) {
			pasta_symbols_module(ev);
			module_count++;
		}
		if (ev->kind != PASTA_KIND_LAUNCH)
			continue;
		assert_true(launched_count < sizeof(launched) / sizeof(*launched));
		launched[launched_count++] = (struct launched){ev->proc, ev->launch.stack, ev->tid};
	}
	return s;
}

static size_t frames_of(const struct launched *l, struct pasta_stack_frame *frames)
{
	size_t n = pasta_stack_frames(l->proc, l->stack, frames, MAX);

	assert_true(n <= MAX);
	return n;
}

static void assert_frame(const struct pasta_stack_frame *f, const char *function, int line)
{
	const char *slash = strrchr(f->file, '/');

	assert_string_equal(f->function, function);
	if (!line)
		return;
	assert_string_equal(slash ? slash + 1 : f->file, "test_stack.c");
	assert_int_equal(f->line, line);
}

static bool calls(const struct pasta_stack_frame *frames, size_t n, const char *function)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(frames[i].function, function))
			return true;
	return false;
}

static void need_libdw(void)
{
	if (!pasta_dwarf_version())
		skip();
	find_lines();
}

/* -- Tests -- */

static void capture_once(void)
{
	outer();
}

static void a_path_names_functions_files_and_lines_inlined_ones_too(void **state)
{
	struct pasta_stack_frame f[MAX];
	char text[200];
	size_t n;

	(void)state;
	need_libdw();
	assert_int_equal(in_child(capture_once), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 1);
	n = frames_of(&launched[0], f);
	assert_true(n >= 5);
	assert_frame(&f[0], "capture_here", line_capture);
	assert_frame(&f[1], "inlined_middle", line_middle);
	assert_true(f[1].inlined);
	assert_frame(&f[2], "outer", line_outer);
	assert_false(f[2].inlined);
	assert_frame(&f[3], "capture_once", 0);
	assert_true(calls(f, n, "main"));
	if (line_outer) {
		char expected[64];

		snprintf(expected, sizeof(expected), "outer (test_stack.c:%d)", line_outer);
		assert_string_equal(pasta_stack_frame_text(&f[2], text, sizeof(text)), expected);
	}
	/* Less than the real size. */
	assert_int_equal(pasta_stack_frames(launched[0].proc, launched[0].stack, f, 2), n);
	assert_string_equal(f[1].function, "inlined_middle");
}

static void nothing(void)
{
	capture_here();
}

static void without_the_option_there_are_no_paths(void **state)
{
	(void)state;
	unsetenv(PASTA_ENV_STACKS);
	assert_int_equal(in_child(nothing), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 1);
	assert_int_equal(launched[0].stack, 0);
	assert_int_equal(module_count, 0);
}

static const char *plugin_path(const char *name)
{
	static char path[4096];
	const char *build = getenv("BUILD");

	if (!build)
		skip();
	snprintf(path, sizeof(path), "%s/tests/programs/%s.so", build, name);
	if (access(path, F_OK))
		skip();
	return path;
}

static int through_plugin(const char *name)
{
	void *lib = dlopen(plugin_path(name), RTLD_NOW | RTLD_LOCAL);
	union {
		void *symbol;
		int (*call)(int (*)(void));
	} plugin;
	int r;

	plugin.symbol = lib ? dlsym(lib, "plugin_call") : NULL;
	if (!plugin.symbol)
		_exit(97);
	r = plugin.call(capture_here);
	dlclose(lib);
	return r;
}

/* The second and third time the library was unloaded before, so the other unwinder is used. */
static void load_thrice(void)
{
	for (int i = 0; i < 3; i++)
		if (through_plugin("plugin_calls") != 3)
			_exit(96);
}

static void load_cplusplus(void)
{
	through_plugin("plugin_cplusplus");
}

static void names_of_cplusplus_are_readable(void **state)
{
	struct pasta_stack_frame f[MAX];

	(void)state;
	need_libdw();
	plugin_path("plugin_cplusplus");
	assert_int_equal(in_child(load_cplusplus), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 1);
	assert_true(frames_of(&launched[0], f) > 3);
	assert_string_equal(f[1].function, "shapes::visitor<int>::visit(int (*)())");
	assert_string_equal(f[2].function, "plugin_call");
}

static void a_path_passes_through_libraries_that_are_loaded_and_unloaded(void **state)
{
	struct pasta_stack_frame f[MAX];

	(void)state;
	need_libdw();
	plugin_path("plugin_calls");
	assert_int_equal(in_child(load_thrice), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 3);
	for (size_t i = 0; i < launched_count; i++) {
		size_t n = frames_of(&launched[i], f);

		assert_frame(&f[0], "capture_here", line_capture);
		assert_string_equal(f[1].function, "plugin_inner");
		assert_non_null(strstr(f[1].module, "plugin_calls.so"));
		assert_string_equal(f[2].function, "plugin_call");
		assert_string_equal(f[3].function, "through_plugin");
		assert_true(calls(f, n, "main"));
	}
}

static void capture_and_fork(void)
{
	int status;
	pid_t pid;

	outer();
	pid = fork();
	if (!pid) {
		outer();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(95);
	outer();
}

static void a_forked_child_has_paths_and_modules_of_its_own(void **state)
{
	struct pasta_stack_frame f[MAX];
	struct pasta_stream *s;

	(void)state;
	need_libdw();
	assert_int_equal(in_child(capture_and_fork), 0);
	s = read_launches();
	assert_int_equal(pasta_stream_shards(s), 2);
	assert_int_equal(launched_count, 3);
	for (size_t i = 0; i < launched_count; i++) {
		assert_true(frames_of(&launched[i], f) > 3);
		assert_frame(&f[2], "outer", line_outer);
	}
	pasta_stream_free(s);
}

static void *thread_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < PER_THREAD; i++)
		if (!outer())
			_exit(94);
	return NULL;
}

static void capture_in_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, NULL))
			_exit(98);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void threads_capture_at_once(void **state)
{
	struct pasta_stack_frame f[MAX];

	(void)state;
	need_libdw();
	assert_int_equal(in_child(capture_in_threads), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, THREADS * PER_THREAD);
	for (size_t i = 0; i < launched_count; i++) {
		assert_true(frames_of(&launched[i], f) > 3);
		assert_frame(&f[2], "outer", line_outer);
		assert_string_equal(f[3].function, "thread_main");
	}
}

__attribute__((noinline)) static int recurse(int depth)
{
	int r = depth ? recurse(depth - 1) : capture_here();

	__asm__ volatile("" ::: "memory");
	return r;
}

static void capture_deep(void)
{
	recurse(10000);
	recurse(200);
}

static void a_deep_path_has_its_innermost_frames(void **state)
{
	struct pasta_stack_frame f[MAX];
	size_t size;

	(void)state;
	need_libdw();
	assert_int_equal(in_child(capture_deep), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 2);
	for (size_t i = 0; i < launched_count; i++) {
		pasta_bytes(launched[i].stack, &size);
		assert_int_equal(size, PASTA_STACK_FRAMES * 8);
		assert_true(frames_of(&launched[i], f) >= PASTA_STACK_FRAMES);
		assert_frame(&f[0], "capture_here", line_capture);
		assert_string_equal(f[1].function, "recurse");
		assert_string_equal(f[PASTA_STACK_FRAMES - 1].function, "recurse");
	}
}

static void capture_hundred(void)
{
	for (int i = 0; i < 100; i++)
		capture_here();
}

static void a_period_of_n_samples_every_nth_call(void **state)
{
	(void)state;
	setenv(PASTA_ENV_STACKS, "native=7", 1);
	assert_int_equal(in_child(capture_hundred), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 100);
	for (size_t i = 0; i < launched_count; i++)
		assert_int_equal(launched[i].stack != 0, i % 7 == 0);
}

/* Some of 200000 consecutive calls are captured, and the first one after a pause, although the
 * period is long then. */
static void capture_many(void)
{
	const struct timespec pause = {.tv_nsec = 150000000};
	int sampled = 0;

	for (int i = 0; i < 200000; i++)
		sampled += pasta_stack_capture() != 0;
	nanosleep(&pause, NULL);
	launch(pasta_stack_capture());
	if (sampled < 10 || sampled > 100000)
		_exit(93);
}

static void without_a_period_some_calls_are_sampled_and_one_after_a_pause(void **state)
{
	(void)state;
	setenv(PASTA_ENV_STACKS, "native", 1);
	assert_int_equal(in_child(capture_many), 0);
	pasta_stream_free(read_launches());
	assert_int_equal(launched_count, 1);
	assert_int_not_equal(launched[0].stack, 0);
}

static volatile sig_atomic_t handled;

static void on_alarm(int sig)
{
	(void)sig;
	pasta_stack_capture();
	handled++;
}

static void capture_interrupted(void)
{
	const struct itimerval often = {.it_interval = {.tv_usec = 50},
					.it_value = {.tv_usec = 50}};

	capture_here(); /* the thread's state is allocated now */
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 2000)
		recurse(20);
}

static void a_signal_handler_may_capture_during_a_capture(void **state)
{
	(void)state;
	assert_int_equal(in_child(capture_interrupted), 0);
}

/* Returns this program's name in the shard. */
static uint32_t name_in_run(const char *self)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	uint32_t name = 0;

	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_MODULE && !strcmp(pasta_str(ev->module.name), self))
			name = ev->module.name;
	pasta_stream_free(s);
	return name;
}

static void a_file_that_changed_yields_offsets_and_is_reported(void **state)
{
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(module),
		.kind = PASTA_KIND_MODULE,
		.sub = PASTA_MODULE_LOAD,
		.module = {.bytes = UINT64_MAX, .crc = 0x1234, .device = PASTA_MODULE_HOST}};
	struct pasta_stack_frame f[MAX];
	char self[4096] = "", text[4200];
	const char *first;

	(void)state;
	need_libdw();
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_equal(in_child(capture_once), 0);
	pasta_stream_free(read_launches());
	pasta_symbols_reset();
	assert_int_equal(pasta_symbols_changed(&first), 0);
	ev.module.name = name_in_run(self);
	assert_int_not_equal(ev.module.name, 0);
	pasta_symbols_module(&ev);
	assert_true(frames_of(&launched[0], f) > 0);
	assert_string_equal(f[0].function, "");
	assert_string_equal(f[0].module, self);
	pasta_stack_frame_text(&f[0], text, sizeof(text));
	assert_non_null(strstr(text, "test_stack+0x"));
	assert_int_equal(pasta_symbols_changed(&first), 1);
	assert_string_equal(first, self);
}

static void invalid_paths_have_no_frames(void **state)
{
	struct pasta_stack_frame f[4];
	struct pasta_stream *s;

	(void)state;
	setenv(PASTA_ENV_STACKS, "native=1", 1);
	assert_int_equal(in_child(capture_once), 0);
	s = read_launches();
	assert_int_equal(pasta_stack_frames(0, 0, f, 4), 0);
	assert_int_equal(pasta_stack_frames(0, UINT32_MAX, f, 4), 0);
	/* A process without MODULE events: addresses stay numbers. */
	assert_true(pasta_stack_frames(99, launched[0].stack, f, 4) > 0);
	assert_string_equal(f[0].module, "");
	assert_int_not_equal(f[0].offset, 0);
	pasta_stream_free(s);
}

#define IN_RUN(test) cmocka_unit_test_setup_teardown(test, make_run_native, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_RUN(a_path_names_functions_files_and_lines_inlined_ones_too),
		IN_RUN(without_the_option_there_are_no_paths),
		IN_RUN(a_path_passes_through_libraries_that_are_loaded_and_unloaded),
		IN_RUN(names_of_cplusplus_are_readable),
		IN_RUN(a_forked_child_has_paths_and_modules_of_its_own),
		IN_RUN(threads_capture_at_once),
		IN_RUN(a_deep_path_has_its_innermost_frames),
		IN_RUN(a_period_of_n_samples_every_nth_call),
		IN_RUN(without_a_period_some_calls_are_sampled_and_one_after_a_pause),
		IN_RUN(a_signal_handler_may_capture_during_a_capture),
		IN_RUN(a_file_that_changed_yields_offsets_and_is_reported),
		IN_RUN(invalid_paths_have_no_frames),
	};

	return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
