/* test_pystack.c - Python stacks of a fake interpreter, captured in a child process and read from
 * its run. */
#include "unit/agent_run.h"

#include <errno.h>
#include <pthread.h>
#include <uchar.h>

#include <pasta/tool.h>

#include "collect/stack.h"
#include "handlers/torch/module.h"
#include "handlers/torch/pyabi.h"
#include "handlers/torch/pystack.h"

enum { V38 = 0x030812f0, V312 = 0x030c01f0, V313 = 0x030d00f0, DEEP = 200 };

/* -- The fake interpreter -- */

struct string {
	char head[56];
	char32_t text[32];
};

struct code {
	uint64_t refs, type;
	char rest[256];
};

static int code_type;
static char interp[8], other_interp[8];
static char state[512], cframe[64];
static char frames[DEEP][128];
static void *now = state; /* the calling thread's state */
static struct string strings[64];
static struct code codes[16];
static size_t strings_used, codes_used;

static void *thread_state(void)
{
	return now;
}

static void *main_interp(void)
{
	return interp;
}

/* A line has ten bytes of code. */
static int line(void *code, int at)
{
	int32_t first;

	memcpy(&first, (char *)code + py_layout_of(12)->line, 4);
	return first + at / 10;
}

static const struct pasta_pystack_python python = {.thread_state = thread_state,
						   .main_interp = main_interp,
						   .line = line,
						   .code_type = &code_type};

static void put_word(void *to, uint32_t at, const void *pointer)
{
	memcpy((char *)to + at, &pointer, sizeof(pointer));
}

static struct string *string_new(void)
{
	assert_true(strings_used < sizeof(strings) / sizeof(*strings));
	return &strings[strings_used++];
}

static struct string *ascii(const char *text)
{
	struct string *s = string_new();
	uint32_t bits = 1u << PY_KIND_SHIFT | PY_COMPACT | PY_ASCII;
	uint64_t n = strlen(text);

	memcpy(s->head + PY_LENGTH, &n, 8);
	memcpy(s->head + PY_STATE, &bits, 4);
	memcpy((char *)s + py_layout_of(12)->ascii, text, n);
	return s;
}

/* A string whose characters have kind bytes each. */
static struct string *wide(const char32_t *text, uint32_t kind)
{
	struct string *s = string_new();
	uint32_t bits = kind << PY_KIND_SHIFT | PY_COMPACT;
	uint64_t n = 0;

	for (; text[n]; n++)
		memcpy((char *)s + py_layout_of(12)->other + n * kind, &text[n], kind);
	memcpy(s->head + PY_LENGTH, &n, 8);
	memcpy(s->head + PY_STATE, &bits, 4);
	return s;
}

static void fill_code(struct code *c, struct string *name, struct string *file, int32_t first)
{
	const struct py_layout *l = py_layout_of(12);

	c->type = (uintptr_t)&code_type;
	put_word(c, l->name, name);
	put_word(c, l->file, file);
	memcpy((char *)c + l->line, &first, 4);
}

static struct code *code(const char *name, const char *file, int32_t first)
{
	struct code *c = &codes[codes_used++];

	assert_true(codes_used <= sizeof(codes) / sizeof(*codes));
	fill_code(c, ascii(name), ascii(file), first);
	return c;
}

/* Frame i runs c at an offset of at bytes; its caller is frame i + 1 of n. */
static void put_frame(int i, int n, const struct code *c, int at, char owner)
{
	const struct py_layout *l = py_layout_of(12);

	put_word(frames[i], l->code, c);
	put_word(frames[i], l->back, i + 1 < n ? frames[i + 1] : NULL);
	put_word(frames[i], l->lasti, (const char *)c + l->text + at);
	frames[i][l->owner] = owner;
}

static void begin_312(void)
{
	const struct py_layout *l = py_layout_of(12);
	char why[128] = "";

	now = state;
	put_word(state, l->interp, interp);
	put_word(state, l->top, cframe);
	put_word(cframe, (uint32_t)l->current, frames[0]);
	if (pasta_pystack_begin_with(&python, V312, why, sizeof(why)))
		fail_msg("%s", why);
}

static void trust_312(void)
{
	begin_312();
	pasta_pystack_trust(1);
}

/* -- The records -- */

static void launch(uint32_t stack)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.stack = stack;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static char paths[16][16384];
static size_t path_count;

/* The paths of all launches, as text: "inner (a.py:3) < outer (b.py:4)". */
static void read_run(void)
{
	struct pasta_stream *s = open_run(NULL);
	struct pasta_stack_frame f[DEEP];
	const struct pasta_event *ev;
	char one[256];

	path_count = 0;
	while ((ev = pasta_stream_next(s))) {
		size_t n, used = 0;

		if (ev->kind != PASTA_KIND_LAUNCH)
			continue;
		assert_true(path_count < 16);
		n = pasta_stack_frames(ev->proc, ev->launch.stack, f, DEEP);
		paths[path_count][0] = '\0';
		for (size_t i = 0; i < n && i < DEEP; i++)
			used += (size_t)snprintf(paths[path_count] + used, sizeof(paths[0]) - used,
						 "%s%s", i ? " < " : "",
						 pasta_stack_frame_text(&f[i], one, sizeof(one)));
		path_count++;
	}
	pasta_stream_free(s);
}

static void ran(void (*body)(void), size_t count)
{
	int status = in_child(body);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	read_run();
	assert_int_equal(path_count, count);
}

/* -- Tests -- */

static void body_path(void)
{
	struct code *outer = code("<module>", "/home/me/train.py", 1);
	struct code *inner = code("Net.forward", "/home/me/net.py", 20);

	put_frame(0, 4, inner, 35, 0);
	put_frame(1, 4, inner, 0, PY_OWNER_C); /* a frame of C code */
	put_frame(2, 4, inner, 12, 1);
	put_frame(3, 4, outer, 90, 0);
	trust_312();
	launch(pasta_pystack_capture());
	launch(pasta_pystack_capture()); /* from the cache */
	put_frame(3, 4, outer, 100, 0);
	launch(pasta_pystack_capture());
}

static void a_stack_is_functions_files_and_the_lines_that_run(void **unused)
{
	(void)unused;
	ran(body_path, 3);
	assert_string_equal(paths[0], "Net.forward (net.py:23) < Net.forward (net.py:21) < "
				      "<module> (train.py:10)");
	assert_string_equal(paths[1], paths[0]);
	assert_string_equal(paths[2], "Net.forward (net.py:23) < Net.forward (net.py:21) < "
				      "<module> (train.py:11)");
}

static void body_shim(void)
{
	struct code *init = code("Net.__init__", "net.py", 20);
	struct code *shim = &codes[codes_used++], *outer = code("<module>", "train.py", 1);
	struct string *name = ascii("__init__");

	fill_code(shim, name, name, 0);
	put_frame(0, 3, init, 0, 0);
	put_frame(1, 3, shim, 0, 0);
	put_frame(2, 3, outer, 0, 0);
	trust_312();
	launch(pasta_pystack_capture());
}

static void frames_that_python_has_for_itself_are_left_out(void **unused)
{
	(void)unused;
	ran(body_shim, 1);
	assert_string_equal(paths[0], "Net.__init__ (net.py:20) < <module> (train.py:1)");
}

static void body_hidden(void)
{
	struct code *forward = code("Net.forward", "net.py", 30),
		    *ours = code("around", "us.py", 7);
	struct code *outer = code("<module>", "train.py", 1);

	put_frame(0, 4, ours, 0, 0);
	put_frame(1, 4, forward, 0, 0);
	put_frame(2, 4, ours, 0, 0);
	put_frame(3, 4, outer, 0, 0);
	trust_312();
	pasta_pystack_hide(ours);
	launch(pasta_pystack_capture());
}

static void frames_of_ours_are_left_out(void **unused)
{
	(void)unused;
	ran(body_hidden, 1);
	assert_string_equal(paths[0], "Net.forward (net.py:30) < <module> (train.py:1)");
}

static void body_widths(void)
{
	static const char32_t text[] = {'f', 0xe9, 0x3bb, 0x20000, 0};
	static const char32_t half[] = {'a', 0xdc80, 0};
	struct code *c = code("", "x.py", 1);
	struct string *file = ascii("x.py");

	trust_312();
	for (int i = 0; i < 4; i++) {
		static const uint32_t kinds[] = {1, 2, 4, 2};
		char32_t cut[5] = {0};

		memcpy(cut, i == 3 ? half : text, sizeof(*cut) * (i == 3 ? 2 : 2 + (size_t)i));
		fill_code(c, wide(cut, kinds[i]), file, 1);
		put_frame(0, 1, c, 0, 0);
		launch(pasta_pystack_capture());
	}
}

static void names_of_any_width_are_utf_8(void **unused)
{
	(void)unused;
	ran(body_widths, 4);
	assert_string_equal(paths[0], "f\u00e9 (x.py:1)");
	assert_string_equal(paths[1], "f\u00e9\u03bb (x.py:1)");
	assert_string_equal(paths[2], "f\u00e9\u03bb\U00020000 (x.py:1)");
	assert_string_equal(paths[3], "a\ufffd (x.py:1)");
}

static void body_reused(void)
{
	struct code *c = code("old", "old.py", 1);

	put_frame(0, 1, c, 10, 0);
	trust_312();
	launch(pasta_pystack_capture());
	fill_code(c, ascii("new"), ascii("new.py"),
		  5); /* freed, and another code object created at its address */
	launch(pasta_pystack_capture());
}

static void code_at_the_address_of_freed_code_is_not_taken_for_it(void **unused)
{
	(void)unused;
	ran(body_reused, 2);
	assert_string_equal(paths[0], "old (old.py:2)");
	assert_string_equal(paths[1], "new (new.py:6)");
}

static void body_deep(void)
{
	struct code *c = code("f", "deep.py", 0);

	for (int i = 0; i < DEEP; i++)
		put_frame(i, DEEP, c, 10 * (i + 1), 0);
	trust_312();
	launch(pasta_pystack_capture());
}

static void a_deep_stack_is_cut_to_its_innermost_frames(void **unused)
{
	char last[32];
	const char *end;

	(void)unused;
	ran(body_deep, 1);
	assert_non_null(strstr(paths[0], "f (deep.py:1) < f (deep.py:2) < "));
	snprintf(last, sizeof(last), "f (deep.py:%d)", PASTA_PYSTACK_FRAMES);
	end = strstr(paths[0], last);
	assert_non_null(end);
	assert_string_equal(end, last);
}

static void body_none(void)
{
	static char other_state[512];
	struct code *c = code("f", "x.py", 1);

	put_frame(0, 1, c, 0, 0);
	if (pasta_pystack_capture()) /* before begin */
		_exit(1);
	begin_312();
	if (pasta_pystack_on() || pasta_pystack_capture()) /* before trust */
		_exit(2);
	pasta_pystack_trust(1);
	now = NULL;
	if (pasta_pystack_capture()) /* a thread that Python does not know */
		_exit(3);
	memcpy(other_state, state, sizeof(state));
	put_word(other_state, py_layout_of(12)->interp, other_interp);
	now = other_state;
	if (pasta_pystack_capture()) /* in a subinterpreter */
		_exit(4);
	now = state;
	put_word(cframe, (uint32_t)py_layout_of(12)->current, NULL);
	if (pasta_pystack_capture()) /* without a Python frame */
		_exit(5);
	put_word(cframe, (uint32_t)py_layout_of(12)->current, frames[0]);
	if (!pasta_pystack_capture())
		_exit(6);
	pasta_pystack_trust(0);
	if (pasta_pystack_capture()) /* the interpreter has ended */
		_exit(7);
	launch(0);
}

static void where_there_is_no_stack_there_is_none(void **unused)
{
	(void)unused;
	ran(body_none, 1);
}

static void body_launch(void)
{
	struct code *c = code("f", "x.py", 1);
	uint32_t stack;

	put_frame(0, 1, c, 10, 0);
	begin_312();
	if (pasta_stack_python()) /* before trust */
		_exit(1);
	pasta_pystack_trust(1);
	stack = pasta_stack_python();
	if (!stack || stack != pasta_pystack_capture())
		_exit(2);
	launch(stack);
	now = NULL;
	if (pasta_stack_python()) /* a thread that Python does not know */
		_exit(3);
	now = state;
	pasta_pystack_trust(0);
	if (pasta_stack_python()) /* the interpreter has ended */
		_exit(4);
}

static void launches_have_the_stack_that_operators_have(void **unused)
{
	(void)unused;
	ran(body_launch, 1);
	assert_string_equal(paths[0], "f (x.py:2)");
}

static _Atomic int stage, walks;
static int walk_ms;

/* Takes a while, like a thread that the kernel suspends during a capture. */
static void *slow_state(void)
{
	walks++;
	stage = 1;
	usleep(1000 * (useconds_t)walk_ms);
	stage = 2;
	return state;
}

static void *capture_slowly(void *unused)
{
	(void)unused;
	pasta_pystack_capture();
	return NULL;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Starts a capture that takes `ms`, turns captures off, and returns the stage of the capture after
 * that. Stores the time that turning off took. */
static int turn_off_during_capture(int ms, double *took)
{
	struct pasta_pystack_python slow = python;
	pthread_t thread;
	char why[128] = "";
	int after;

	slow.thread_state = slow_state;
	begin_312();
	if (pasta_pystack_begin_with(&slow, V312, why, sizeof(why)))
		_exit(10);
	stage = 0;
	walk_ms = ms;
	pasta_pystack_trust(1);
	if (pthread_create(&thread, NULL, capture_slowly, NULL))
		_exit(11);
	while (stage < 1)
		usleep(100);
	*took = seconds();
	pasta_pystack_trust(0);
	after = stage;
	*took = seconds() - *took;
	pthread_join(thread, NULL);
	return after;
}

static void body_off(void)
{
	double took;
	int before;

	put_frame(0, 1, code("f", "x.py", 1), 10, 0);
	if (turn_off_during_capture(5, &took) != 2) /* waits for the capture */
		_exit(1);
	before = walks;
	pasta_pystack_capture();
	if (walks != before) /* no capture reads Python's data afterwards */
		_exit(2);
	if (turn_off_during_capture(1500, &took) != 1 || took > 1) /* but not for long */
		_exit(3);
	launch(0);
}

static void when_captures_are_off_no_thread_reads_frames(void **unused)
{
	(void)unused;
	ran(body_off, 1);
}

static void body_fork(void)
{
	struct code *c = code("f", "x.py", 1);
	pid_t pid;

	put_frame(0, 1, c, 10, 0);
	trust_312();
	for (int i = 0; i < 3; i++)
		pasta_intern_str(i == 0 ? "a" : i == 1 ? "b" : "c"); /* so that ids differ */
	launch(pasta_pystack_capture());
	pasta_torch_module("Net.fc");
	if (!pasta_torch_module_now())
		_exit(1);
	pid = fork();
	if (!pid) {
		if (pasta_torch_module_now()) /* the id belongs to the parent */
			_exit(1);
		put_frame(0, 1, c, 20, 0);
		launch(pasta_pystack_capture());
		put_frame(0, 1, c, 10, 0);
		launch(pasta_pystack_capture());
		pasta_agent_close();
		_exit(0);
	}
	if (waitpid(pid, &(int){0}, 0) != pid)
		_exit(2);
}

static void a_forked_child_has_ids_of_its_own(void **unused)
{
	(void)unused;
	ran(body_fork, 3);
	assert_string_equal(paths[0], "f (x.py:2)");
	assert_string_equal(paths[1], "f (x.py:3)");
	assert_string_equal(paths[2], "f (x.py:2)");
}

static void a_check_returns_the_frames_it_found(void **unused)
{
	struct code *outer = code("<module>", "/a.py", 1), *inner = code("f", "/b.py", 5);
	char text[64];

	(void)unused;
	put_frame(0, 2, inner, 10, 0);
	put_frame(1, 2, outer, 0, 0);
	begin_312();
	assert_int_equal(pasta_pystack_check(text, sizeof(text)), 2);
	assert_string_equal(text, "f\n/b.py\n6\n<module>\n/a.py\n1\n");
	assert_int_equal(pasta_pystack_check(text, 12), 1); /* only one frame fits */
}

static void a_layout_that_is_wrong_is_found_without_a_fault(void **unused)
{
	struct code *c = code("f", "/b.py", 5);
	char text[64];

	(void)unused;
	put_frame(0, 1, c, 10, 0);
	begin_312();
	put_word(frames[0], py_layout_of(12)->code, (void *)0x10); /* an unmapped address */
	assert_int_equal(pasta_pystack_check(text, sizeof(text)), -EFAULT);
	put_frame(0, 1, c, 10, 0);
	c->type++; /* not a code object */
	assert_int_equal(pasta_pystack_check(text, sizeof(text)), -EFAULT);
	c->type--;
	put_word(c, py_layout_of(12)->name, (void *)0x10);
	assert_int_equal(pasta_pystack_check(text, sizeof(text)), -EFAULT);
	put_word(cframe, (uint32_t)py_layout_of(12)->current, (void *)0x10);
	assert_int_equal(pasta_pystack_check(text, sizeof(text)), -EFAULT);
}

static void frames_in_a_circle_end(void **unused)
{
	struct code *c = code("f", "/b.py", 5);
	char text[4096];

	(void)unused;
	put_frame(0, 1, c, 10, PY_OWNER_C);
	put_word(frames[0], py_layout_of(12)->back, frames[0]);
	begin_312();
	assert_int_equal(pasta_pystack_check(text, sizeof(text)), 0);
}

static void other_pythons_are_refused_with_the_reason(void **unused)
{
	struct pasta_pystack_python none = {0}, p = python;
	uint64_t runtime[64] = {0};
	char why[160];

	(void)unused;
	assert_int_equal(pasta_pystack_begin_with(&p, 0x030e00f0, why, sizeof(why)), -ENOTSUP);
	assert_string_equal(why, "Python 3.14 is not supported: use 3.8 to 3.13");
	assert_int_equal(pasta_pystack_begin_with(&p, 0x02070cf0, why, sizeof(why)), -ENOTSUP);
	assert_int_equal(pasta_pystack_begin_with(&none, V38, why, sizeof(why)), -ENOENT);
	assert_int_equal(pasta_pystack_begin_with(&p, V313, why, sizeof(why)), -ENOTSUP);
	memcpy(runtime, "xdebugpy", 8);
	runtime[1] = V313;
	runtime[2] = 1; /* free-threaded */
	p.runtime = runtime;
	assert_int_equal(pasta_pystack_begin_with(&p, V313, why, sizeof(why)), -ENOTSUP);
	assert_non_null(strstr(why, "free-threaded"));
	runtime[2] = 0;
	assert_int_equal(pasta_pystack_begin_with(&p, V313, why, sizeof(why)), 0);
	assert_false(pasta_pystack_on());
}

#define RUN_TEST(f) cmocka_unit_test_setup_teardown(f, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_TEST(a_stack_is_functions_files_and_the_lines_that_run),
		RUN_TEST(frames_that_python_has_for_itself_are_left_out),
		RUN_TEST(frames_of_ours_are_left_out),
		RUN_TEST(names_of_any_width_are_utf_8),
		RUN_TEST(code_at_the_address_of_freed_code_is_not_taken_for_it),
		RUN_TEST(a_deep_stack_is_cut_to_its_innermost_frames),
		RUN_TEST(where_there_is_no_stack_there_is_none),
		RUN_TEST(launches_have_the_stack_that_operators_have),
		RUN_TEST(when_captures_are_off_no_thread_reads_frames),
		RUN_TEST(a_forked_child_has_ids_of_its_own),
		RUN_TEST(a_check_returns_the_frames_it_found),
		RUN_TEST(a_layout_that_is_wrong_is_found_without_a_fault),
		RUN_TEST(frames_in_a_circle_end),
		RUN_TEST(other_pythons_are_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
