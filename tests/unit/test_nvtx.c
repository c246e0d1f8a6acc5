/* test_nvtx.c - the records and return values of NVTX calls, and the layout of NVTX's tables. */
#include "unit/agent_run.h"

#include <pthread.h>
#include <wchar.h>

#include <pasta/annotate.h>

#include "handlers/nvtx/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#else
#define HAVE_NVTX 0
#endif

int InitializeInjectionNvtx2(nvtx_get_table get_table);
const struct pasta_annotate_ops *pasta_annotate_attach(void);

/* -- A program's copy of NVTX -- */

static nvtx_function core[NVTX_ABI_CORE_COUNT], core2[NVTX_ABI_CORE2_COUNT];
static nvtx_function *core_slots[NVTX_ABI_CORE_COUNT + 1];
static nvtx_function *core2_slots[NVTX_ABI_CORE2_COUNT + 1];
static unsigned int core_count = NVTX_ABI_CORE_COUNT;
static uint32_t tool_version;

static int get_functions(int module, nvtx_function ***functions, unsigned int *count)
{
	for (int i = 1; i < NVTX_ABI_CORE_COUNT; i++) {
		core_slots[i] = &core[i];
		core2_slots[i] = &core2[i];
	}
	*functions = module == NVTX_ABI_CORE ? core_slots : core2_slots;
	*count = module == NVTX_ABI_CORE ? core_count : NVTX_ABI_CORE2_COUNT;
	return module == NVTX_ABI_CORE || module == NVTX_ABI_CORE2;
}

static void set_tool_version(uint32_t version)
{
	tool_version = version;
}

static struct nvtx_callbacks callbacks = {sizeof(callbacks), get_functions};

static const void *get_table(uint32_t table)
{
	static const struct nvtx_version_info info = {sizeof(info), 3, 0, set_tool_version};

	if (table == NVTX_ABI_CALLBACKS)
		return &callbacks;
	return table == NVTX_ABI_VERSION_INFO ? &info : NULL;
}

static int push(const char *text)
{
	return ((int (*)(const char *))core[NVTX_ABI_PUSH_A])(text);
}

static int pop(void)
{
	return ((int (*)(void))core[NVTX_ABI_POP])();
}

static uint64_t start(const char *text)
{
	return ((uint64_t(*)(const char *))core[NVTX_ABI_START_A])(text);
}

static void end(uint64_t id)
{
	((void (*)(uint64_t))core[NVTX_ABI_END])(id);
}

static void *domain(const char *name)
{
	return ((void *(*)(const char *))core2[NVTX_ABI_DOMAIN_CREATE_A])(name);
}

static const void *registered(void *in, const char *text)
{
	return ((const void *(*)(void *, const char *))core2[NVTX_ABI_DOMAIN_REGISTER_A])(in, text);
}

static int push_with(void *in, const struct nvtx_attributes *a)
{
	return ((int (*)(void *, const void *))core2[NVTX_ABI_DOMAIN_PUSH_EX])(in, a);
}

static int push_in(void *in, const char *text)
{
	struct nvtx_attributes a = {.version = 3,
				    .size = sizeof(a),
				    .message_type = NVTX_ABI_MESSAGE_ASCII,
				    .message.ascii = text};

	return push_with(in, &a);
}

static int pop_in(void *in)
{
	return ((int (*)(void *))core2[NVTX_ABI_DOMAIN_POP])(in);
}

/* In a child process: print the line and exit if a check fails. */
#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "line %d: %s\n", __LINE__, #what);                         \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* All regions of the run, in order: "+name", "-" and "!name", with their depth, in one line. Those
 * on tracks have the track before them; ends that were supplied a star. */
static const char *regions(char *text, size_t size)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	char track[16];
	size_t at = 0;

	text[0] = '\0';
	while (at < size && (ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_REGION)
			continue;
		snprintf(track, sizeof(track), "%u:", ev->tid - PASTA_TRACK);
		at += (size_t)snprintf(text + at, size - at, "%s%s%c%s%u%s", at ? " " : "",
				       ev->tid >= PASTA_TRACK ? track : "", " +-!"[ev->sub],
				       pasta_str(ev->region.name), ev -> region.depth,
				       ev->region.flags &PASTA_REGION_SUPPLIED_OUTER ? "*" : "");
	}
	pasta_stream_free(s);
	return text;
}

/* -- Ranges of threads -- */

static void nested(void)
{
	CHECK(InitializeInjectionNvtx2(get_table) == 1);
	CHECK(tool_version == 3);
	CHECK(push("a") == 0);
	CHECK(push("b") == 1);
	((void (*)(const char *))core[NVTX_ABI_MARK_A])("m");
	CHECK(pop() == 1);
	CHECK(push("c") == 1);
	CHECK(pop() == 1);
	CHECK(pop() == 0);
	CHECK(pop() == -1);
	pasta_agent_close();
}

static void ranges_nest_and_return_their_level(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(nested), 0);
	assert_string_equal(regions(text, sizeof(text)), "+a1 +b2 !m3 -2 +c2 -2 -1");
}

static void crossed(void)
{
	void *x, *y;

	InitializeInjectionNvtx2(get_table);
	x = domain("x");
	y = domain("y");
	CHECK(x && y && x != y);
	CHECK(push_in(x, "a") == 0);
	CHECK(push_in(y, "b") == 0);
	CHECK(push_in(y, "c") == 1);
	CHECK(pop_in(x) == 0); /* ends b and c, too */
	CHECK(pop_in(x) == -1);
	CHECK(push_in(NULL, "d") == 0);
	CHECK(pop_in(y) == 1);
	CHECK(pop_in(y) == 0);
	CHECK(pop_in(y) == -1);
	CHECK(pop() == 0); /* NULL is the default domain */
	pasta_agent_close();
}

static void a_range_ends_the_ranges_of_other_domains_inside_it_and_no_others(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(crossed), 0);
	assert_string_equal(regions(text, sizeof(text)), "+a1 +b2 +c3 -3* -2* -1 +d1 -1");
}

static void with_annotate(void)
{
	const struct pasta_annotate_ops *ops = pasta_annotate_attach();

	InitializeInjectionNvtx2(get_table);
	ops->region_begin("outer");
	CHECK(push("range") == 0);
	ops->region_begin("inner");
	ops->region_end();
	CHECK(pop() == 0);
	CHECK(pop() == -1); /* outer is a region of annotate.h */
	ops->region_end();
	pasta_agent_close();
}

static void ranges_and_annotated_regions_nest_in_each_other(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(with_annotate), 0);
	assert_string_equal(regions(text, sizeof(text)), "+outer1 +range2 +inner3 -3 -2 -1");
}

static void paused(void)
{
	InitializeInjectionNvtx2(get_table);
	CHECK(push("a") == 0);
	pasta_agent_set_active(false);
	CHECK(push("hidden") == 1);
	end(start("hidden"));
	pasta_agent_set_active(true);
	CHECK(push("b") == 2);
	CHECK(pop() == 2);
	CHECK(pop() == 1);
	CHECK(pop() == 0);
	pasta_agent_close();
}

static void levels_count_what_is_not_recorded(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(paused), 0);
	assert_string_equal(regions(text, sizeof(text)), "+a1 +b2 -2 -1");
}

static void deep(void)
{
	InitializeInjectionNvtx2(get_table);
	for (int i = 0; i < 1500; i++)
		CHECK(push("deep") == i);
	for (int i = 1500; i-- > 0;)
		CHECK(pop() == i);
	CHECK(pop() == -1);
	pasta_agent_close();
}

static void levels_count_ranges_that_are_too_deep_to_be_recorded(void **state)
{
	struct pasta_loss_summary a;
	struct pasta_stream *s;

	(void)state;
	assert_int_equal(in_child(deep), 0);
	s = open_run(NULL);
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &a);
	pasta_stream_free(s);
	assert_int_equal(a.by_reason[PASTA_LOSS_DEPTH], 2 * 476);
	assert_int_equal(a.expected, 2 * 1500);
}

static void forked(void)
{
	uint64_t id;
	int status;
	pid_t pid;

	InitializeInjectionNvtx2(get_table);
	CHECK(push("parent") == 0);
	id = start("range");
	pid = fork();
	if (!pid) {
		end(id); /* the parent's range */
		CHECK(pop() == 0);
		CHECK(push("child") == 0);
		end(start("own"));
		CHECK(pop() == 0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(!status);
	end(id);
	CHECK(pop() == 0);
	pasta_agent_close();
}

static void a_child_does_not_end_its_parents_ranges(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(forked), 0);
	assert_string_equal(regions(text, sizeof(text)),
			    "+parent1 1:+range1 +child1 1:+own1 1:-1 -1 1:-1 -1");
}

/* -- Ranges of the process -- */

static void overlapping(void)
{
	uint64_t a, b;

	InitializeInjectionNvtx2(get_table);
	CHECK(push("x") == 0);
	a = start("a");
	b = start("b");
	CHECK(a && b && a != b);
	end(a);
	end(a); /* has no effect */
	CHECK(pop() == 0);
	a = start("c"); /* on the track of a */
	end(b);
	end(a);
	end(UINT64_MAX);
	end(0);
	end(12345);
	pasta_agent_close();
}

static void ranges_that_overlap_have_tracks_of_their_own(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(overlapping), 0);
	assert_string_equal(regions(text, sizeof(text)), "+x1 1:+a1 2:+b1 1:-1 -1 1:+c1 2:-1 1:-1");
}

enum { THREADS = 8, ROUNDS = 2000 };
static _Atomic uint64_t handed[THREADS];

/* End the ranges that another thread starts, until it is done. */
static void *hand_on(void *arg)
{
	size_t own = (size_t)arg;

	for (int i = 0; i < ROUNDS; i++)
		end(atomic_exchange(&handed[(own + (size_t)i) % THREADS], start("handed")));
	return NULL;
}

static void handed_on(void)
{
	pthread_t threads[THREADS];

	InitializeInjectionNvtx2(get_table);
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, hand_on, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < THREADS; i++)
		end(handed[i]);
	pasta_agent_close();
}

static void ranges_end_once_on_any_thread(void **state)
{
	uint64_t begins = 0, ends = 0, open[64] = {0};
	struct pasta_stream *s;
	const struct pasta_event *ev;
	struct pasta_loss_summary a;

	(void)state;
	assert_int_equal(in_child(handed_on), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_REGION)
			continue;
		assert_in_range(ev->tid, PASTA_TRACK + 1, PASTA_TRACK + 2 * THREADS);
		begins += ev->sub == PASTA_REGION_BEGIN;
		ends += ev->sub == PASTA_REGION_END;
		open[ev->tid - PASTA_TRACK] += ev->sub == PASTA_REGION_BEGIN ? 1 : -1;
		assert_in_range(open[ev->tid - PASTA_TRACK], 0, 1);
	}
	pasta_stream_loss(s, &a);
	pasta_stream_free(s);
	assert_int_equal(begins, THREADS * ROUNDS);
	assert_int_equal(ends, THREADS * ROUNDS);
	assert_int_equal(a.dropped, 0);
}

static void too_many(void)
{
	uint64_t id[300];

	InitializeInjectionNvtx2(get_table);
	for (int i = 0; i < 300; i++)
		id[i] = start("one");
	for (int i = 0; i < 300; i++)
		end(id[i]);
	pasta_agent_close();
}

static void ranges_past_the_last_track_are_counted(void **state)
{
	struct pasta_loss_summary a;
	struct pasta_stream *s;

	(void)state;
	assert_int_equal(in_child(too_many), 0);
	s = open_run(NULL);
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &a);
	pasta_stream_free(s);
	assert_int_equal(a.by_reason[PASTA_LOSS_DEPTH], 2 * (300 - 256));
}

/* -- Texts -- */

static void texts(void)
{
	struct nvtx_attributes a = {.version = 3, .size = sizeof(a)};
	wchar_t wide[6000];
	char made[16];
	void *x;

	InitializeInjectionNvtx2(get_table);
	x = domain("x");
	a.message_type = NVTX_ABI_MESSAGE_REGISTERED;
	a.message.registered = registered(x, "kept");
	CHECK(a.message.registered && a.message.registered == registered(NULL, "kept"));
	push_with(x, &a);
	a.message_type = NVTX_ABI_MESSAGE_WIDE;
	a.message.wide = L"z\u00fc\u20ac\U0001f600";
	push_with(x, &a);
	a.message.wide = (const wchar_t[]){0xd800, 0x110000, 'x', 0}; /* not code points */
	push_with(x, &a);
	wmemset(wide, L'\u20ac', 6000);
	wide[5999] = 0;
	a.message.wide = wide;
	push_with(x, &a);
	a.message_type = 77;
	push_with(x, &a);
	a.message_type = NVTX_ABI_MESSAGE_ASCII;
	a.size = 8;
	push_with(x, &a);
	push_with(x, NULL);
	for (int i = 0; i < 3; i++) { /* another text at the same address */
		snprintf(made, sizeof(made), "made %d", i);
		push_in(x, made);
	}
	pasta_agent_close();
}

static void all_texts_become_utf8(void **state)
{
	static const char *const want[] = {"kept",	    "z\u00fc\u20ac\U0001f600",
					   "\ufffd\ufffdx", NULL, /* long */
					   "(no message)",  "(no message)",
					   "(no message)",  "made 0",
					   "made 1",	    "made 2"};
	const struct pasta_event *ev;
	struct pasta_stream *s;
	size_t n = 0;

	(void)state;
	assert_int_equal(in_child(texts), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_REGION)
			continue;
		assert_true(n < sizeof(want) / sizeof(*want));
		assert_string_equal(pasta_str(ev->region.domain), "x");
		if (want[n])
			assert_string_equal(pasta_str(ev->region.name), want[n]);
		else
			assert_int_equal(strlen(pasta_str(ev->region.name)), 4092);
		n++;
	}
	pasta_stream_free(s);
	assert_int_equal(n, sizeof(want) / sizeof(*want));
}

static void named(void)
{
	InitializeInjectionNvtx2(get_table);
	((void (*)(uint32_t, const char *))core[NVTX_ABI_NAME_THREAD_A])(pasta_agent_tid(), "me");
	((void (*)(uint32_t, const wchar_t *))core[NVTX_ABI_NAME_THREAD_W])(7, L"you");
	push("x");
	pop();
	pasta_agent_close();
}

static void thread_names_are_recorded(void **state)
{
	const struct pasta_event *ev;
	struct pasta_stream *s;
	char last[2][16] = {"", ""};

	(void)state;
	assert_int_equal(in_child(named), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_THREAD)
			snprintf(last[ev->tid == 7], sizeof(last[0]), "%s",
				 pasta_str(ev->thread.name));
	pasta_stream_free(s);
	assert_string_equal(last[0], "me");
	assert_string_equal(last[1], "you");
}

/* -- Injection -- */

static void odd(void)
{
	CHECK(InitializeInjectionNvtx2(NULL) == 0);
	callbacks.size = 8;
	CHECK(InitializeInjectionNvtx2(get_table) == 0);
	callbacks.size = sizeof(callbacks);
	core_count = NVTX_ABI_PUSH_A + 1; /* an older NVTX with fewer functions */
	CHECK(InitializeInjectionNvtx2(get_table) == 1);
	CHECK(core[NVTX_ABI_PUSH_A] && !core[NVTX_ABI_PUSH_W] && !core[NVTX_ABI_POP]);
	CHECK(core2[NVTX_ABI_DOMAIN_POP] && !core2[6]);
}

static void tables_that_are_too_small_are_not_written_past(void **state)
{
	(void)state;
	assert_int_equal(in_child(odd), 0);
}

static void unwanted(void)
{
	CHECK(InitializeInjectionNvtx2(get_table) == 0);
	CHECK(!core[NVTX_ABI_PUSH_A]);
}

static void without_recorded_kinds_nvtx_is_not_hooked(void **state)
{
	(void)state;
	setenv(PASTA_ENV_KINDS, "4000", 1); /* iterations */
	assert_int_equal(in_child(unwanted), 0);
	unsetenv(PASTA_ENV_KINDS);
}

#if HAVE_NVTX
#define SAME(ours, theirs) assert_int_equal(ours, theirs)
#define SAME_OFFSET(ours, theirs)                                                                  \
	assert_int_equal(offsetof(struct nvtx_attributes, ours),                                   \
			 offsetof(nvtxEventAttributes_t, theirs))

static void declarations_match_nvtx(void **state)
{
	(void)state;
	SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
	SAME_OFFSET(size, size);
	SAME_OFFSET(category, category);
	SAME_OFFSET(payload, payload);
	SAME_OFFSET(message_type, messageType);
	SAME_OFFSET(message, message);
	SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
	SAME(offsetof(struct nvtx_callbacks, get_functions),
	     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
	SAME(sizeof(struct nvtx_version_info), sizeof(NvtxExportTableVersionInfo));
	SAME(offsetof(struct nvtx_version_info, set_tool_version),
	     offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
	SAME(sizeof(nvtxRangeId_t), sizeof(uint64_t));
	SAME(NVTX_ABI_VERSION, NVTX_VERSION);
	SAME(NVTX_ABI_CALLBACKS, NVTX_ETID_CALLBACKS);
	SAME(NVTX_ABI_VERSION_INFO, NVTX_ETID_VERSIONINFO);
	SAME(NVTX_ABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
	SAME(NVTX_ABI_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
	SAME(NVTX_ABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
}

static void slots_match_nvtx(void **state)
{
	(void)state;
	SAME(NVTX_ABI_CORE, NVTX_CB_MODULE_CORE);
	SAME(NVTX_ABI_MARK_EX, NVTX_CBID_CORE_MarkEx);
	SAME(NVTX_ABI_MARK_A, NVTX_CBID_CORE_MarkA);
	SAME(NVTX_ABI_MARK_W, NVTX_CBID_CORE_MarkW);
	SAME(NVTX_ABI_START_EX, NVTX_CBID_CORE_RangeStartEx);
	SAME(NVTX_ABI_START_A, NVTX_CBID_CORE_RangeStartA);
	SAME(NVTX_ABI_START_W, NVTX_CBID_CORE_RangeStartW);
	SAME(NVTX_ABI_END, NVTX_CBID_CORE_RangeEnd);
	SAME(NVTX_ABI_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
	SAME(NVTX_ABI_PUSH_A, NVTX_CBID_CORE_RangePushA);
	SAME(NVTX_ABI_PUSH_W, NVTX_CBID_CORE_RangePushW);
	SAME(NVTX_ABI_POP, NVTX_CBID_CORE_RangePop);
	SAME(NVTX_ABI_NAME_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
	SAME(NVTX_ABI_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
	SAME(NVTX_ABI_CORE_COUNT, NVTX_CBID_CORE_SIZE);
	SAME(NVTX_ABI_CORE2, NVTX_CB_MODULE_CORE2);
	SAME(NVTX_ABI_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
	SAME(NVTX_ABI_DOMAIN_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
	SAME(NVTX_ABI_DOMAIN_END, NVTX_CBID_CORE2_DomainRangeEnd);
	SAME(NVTX_ABI_DOMAIN_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
	SAME(NVTX_ABI_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
	SAME(NVTX_ABI_DOMAIN_REGISTER_A, NVTX_CBID_CORE2_DomainRegisterStringA);
	SAME(NVTX_ABI_DOMAIN_REGISTER_W, NVTX_CBID_CORE2_DomainRegisterStringW);
	SAME(NVTX_ABI_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
	SAME(NVTX_ABI_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
	SAME(NVTX_ABI_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
	SAME(NVTX_ABI_CORE2_COUNT, NVTX_CBID_CORE2_SIZE);
}
#else
static void declarations_match_nvtx(void **state)
{
	(void)state;
	print_message("no nvtx3/nvToolsExt.h (CUDA's toolkit has it): not compared\n");
	skip();
}

static void slots_match_nvtx(void **state)
{
	(void)state;
	skip();
}
#endif

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ranges_nest_and_return_their_level),
		CASE(a_range_ends_the_ranges_of_other_domains_inside_it_and_no_others),
		CASE(ranges_and_annotated_regions_nest_in_each_other),
		CASE(levels_count_what_is_not_recorded),
		CASE(levels_count_ranges_that_are_too_deep_to_be_recorded),
		CASE(a_child_does_not_end_its_parents_ranges),
		CASE(ranges_that_overlap_have_tracks_of_their_own),
		CASE(ranges_end_once_on_any_thread),
		CASE(ranges_past_the_last_track_are_counted),
		CASE(all_texts_become_utf8),
		CASE(thread_names_are_recorded),
		CASE(tables_that_are_too_small_are_not_written_past),
		CASE(without_recorded_kinds_nvtx_is_not_hooked),
		CASE(declarations_match_nvtx),
		CASE(slots_match_nvtx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
