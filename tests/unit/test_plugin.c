/* test_plugin.c - what the registry and the loader refuse, and their messages. */
/* labels: onethread */
#include "unit/support.h"

#include <signal.h>

#include "process/run/plugin.h"
#include "process/run/tool.h"

static char messages[8][700];
static size_t message_count;

static void hear(const char *line)
{
	assert_true(message_count < 8);
	snprintf(messages[message_count++], sizeof(messages[0]), "%s", line);
}

static void on_refused(void *ctx, const char *name, const struct pasta_error *why)
{
	char line[700];

	assert_ptr_equal(ctx, messages);
	snprintf(line, sizeof(line), "%s: %s", name, why->text);
	hear(line);
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	return 0;
}

static const struct pasta_tool good = {PASTA_TOOL_HEAD,	   .name = "good",
				       .summary = "works", .events = PASTA_MASK(KERNEL),
				       .event = on_event,  .report = report};

static int begin(void **state)
{
	message_count = 0;
	return 0;
}

/* Returns the message about a tool of a library; "" if it is accepted. */
static const char *message_of(const struct pasta_tool *tool)
{
	struct pasta_tool_source from = {.file = "/x.so", .refuse = on_refused, .ctx = messages};

	message_count = 0;
	pasta_tool_from(&from);
	pasta_tool_register(tool);
	pasta_tool_from(NULL);
	assert_int_equal(from.accepted + from.refused, 1);
	assert_int_equal(from.refused, message_count);
	return message_count ? messages[0] : "";
}

#define assert_message(tool_, text)                                                                \
	do {                                                                                       \
		assert_non_null(strstr(message_of(tool_), text));                                  \
		assert_null(pasta_tool_find("bad"));                                               \
	} while (0)

static void nothing_is_read_of_another_version(void **state)
{
	struct pasta_tool *tool = calloc(1, sizeof(*tool));
	struct least {
		uint32_t size;
		uint16_t api_major, api_minor;
	} * least;

	/* A name that cannot be read, where this version has one. */
	assert_non_null(tool);
	*tool = good;
	tool->name = tool->summary = (const char *)8;
	tool->api_major = PASTA_API_MAJOR + 1;
	assert_message(
		tool,
		"(unknown): the tool was built for version 2.0 of the SDK, but this accelprof has 1.0");
	tool->api_major = PASTA_API_MAJOR;
	tool->api_minor++;
	assert_message(
		tool,
		"(unknown): the tool was built for version 1.1 of the SDK, but this accelprof has 1.0");
	tool->api_minor = PASTA_API_MINOR;
	tool->size = 24;
	assert_message(tool, "(unknown): the tool's descriptor has 24 bytes, fewer than ");
	free(tool);
	/* The descriptor ends at its stated size. */
	least = malloc(sizeof(*least));
	assert_non_null(least);
	*least = (struct least){.size = sizeof(*least), .api_minor = PASTA_API_MINOR};
	assert_message((const struct pasta_tool *)least, "build the tool again");
	free(least);
}

static void descriptors_are_checked_whole(void **state)
{
	static const char *const names[] = {NULL,  "",
					    "Bad", "a b",
					    "a.b", "../x",
					    "a/b", "a-name-that-has-one-more-than-forty-chars"};
	static struct pasta_tool bad;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bad = good;
		bad.name = names[i];
		assert_message(&bad, "(unknown): the tool's name must");
	}
#define BAD(field, value, text)                                                                    \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.name = "bad";                                                                  \
		bad.field = value;                                                                 \
		assert_message(&bad, text);                                                        \
	} while (0)
	BAD(summary, NULL, "bad: a tool must have a .summary");
	BAD(summary, "", "bad: a tool must have a .summary");
	BAD(summary, "two\nlines", "bad: a tool must have a .summary of one line");
	BAD(summary, "red\033[31m",
	    "bad: a tool must have a .summary of one line, without control");
	BAD(summary, "\x7f", "bad: a tool must have a .summary of one line, without control");
	BAD(event, NULL, "bad: a tool must define .event, and either .report or .groups");
	BAD(report, NULL, "bad: a tool must define .event, and either .report or .groups");
	BAD(events, 0, "bad: the tool subscribes to no events");
	BAD(needs, PASTA_NEED_EVERY_LAUNCH,
	    "bad: PASTA_NEED_EVERY_LAUNCH requires memory accesses");
	BAD(state_size, SIZE_MAX, "bad: the tool's .state_size is");
	BAD(state_size, ((size_t)1 << 30) + 1, "bad: the tool's .state_size is");
}

static void options_have_names_and_an_end(void **state)
{
	static struct pasta_option endless[70], most[65];
	static const struct pasta_option twice[] = {
		{.name = "a"}, {.name = "b"}, {.name = "a"}, {0}};
	static const struct pasta_option wrong[] = {{.name = "a=b"}, {0}};
	static const struct pasta_option loud[] = {{"a", "1", "x\ay", PASTA_OPTION_TEXT}, {0}};
	static const struct pasta_option odd[] = {{"a", "1\r", "x", PASTA_OPTION_TEXT}, {0}};
	static struct pasta_tool bad, fine;
	static char names[70][8];

	for (size_t i = 0; i < 70; i++) {
		snprintf(names[i], sizeof(names[i]), "o%zu", i);
		endless[i].name = names[i];
		if (i < 64)
			most[i].name = names[i];
	}
	BAD(options, endless, "bad: the tool's list of options has no end");
	BAD(options, twice, "bad: two options of the tool are named 'a'");
	BAD(options, wrong, "bad: option 1 of the tool must have a name");
	BAD(options, loud, "bad: option 'a' has a control character in its summary or default");
	BAD(options, odd, "bad: option 'a' has a control character in its summary or default");
	fine = good;
	fine.name = "fine";
	fine.options = most;
	assert_string_equal(message_of(&fine), "");
	assert_string_equal(pasta_tool_file(&fine), "/x.so");
}

static void a_name_is_taken_once_and_the_holder_is_named(void **state)
{
	static struct pasta_tool other;

	pasta_tool_register(&good);
	assert_null(pasta_tool_file(&good));
	other = good;
	assert_string_equal(message_of(&other), "good: another tool has the same name (built in): "
						"rename one of the two");
	other.name = "fine";
	assert_string_equal(message_of(&other), "fine: another tool has the same name (/x.so): "
						"rename one of the two");
	assert_ptr_equal(pasta_tool_find("good"), &good);
	assert_int_equal(pasta_tool_check(NULL), 0);
}

static void write_to(const char *name, const void *data, size_t size)
{
	FILE *file = fopen(in_dir(name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void what_is_no_library_is_named_with_what_to_do(void **state)
{
	unsigned char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	struct pasta_error err = {0};
	const char *file = NULL;

	write_to("text.so", "hello", 5);
	assert_int_equal(pasta_plugin_load(in_dir("text.so"), &file, &err), -ENOEXEC);
	assert_non_null(
		strstr(err.text,
		       "text.so is left out: the file is not a shared library: remove the file"));
	/* The error is repeated when the library is named again. */
	memset(&err, 0, sizeof(err));
	assert_int_equal(pasta_plugin_load(in_dir("text.so"), &file, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "the file is not a shared library"));
	write_to("cut.so", head, 20);
	assert_int_equal(pasta_plugin_load(in_dir("cut.so"), &file, &err), -ENOEXEC);
	head[18] = 0xfe;
	write_to("other.so", head, sizeof(head));
	assert_int_equal(pasta_plugin_load(in_dir("other.so"), &file, &err), -ENOEXEC);
	assert_non_null(strstr(
		err.text,
		"the library is for another processor: build the library again on this machine"));
	assert_int_equal(pasta_plugin_load(in_dir("absent.so"), &file, &err), -ENOENT);
	assert_int_equal(pasta_plugin_load(support_dir, &file, &err), -EINVAL);
	assert_non_null(strstr(err.text, "use --tool-path for folders"));
	assert_int_equal(pasta_plugin_load_named("good,./absent.so,x", &err), -ENOENT);
	assert_int_equal(pasta_plugin_load_named("good,other", &err), 0);
	assert_int_equal(pasta_plugin_load(in_dir("absent.so"), &file, NULL), -ENOENT);
	assert_null(file);
}

static void folders_are_read_in_order_and_each_error_is_reported_once(void **state)
{
	const char *dir = in_dir("many");
	char dirs[300];

	assert_int_equal(mkdir(dir, 0777), 0);
	write_to("many/b.so", "b", 1);
	write_to("many/a.so", "a", 1);
	write_to("many/a.txt", "a", 1);
	write_to("many/.so", "a", 1);
	write_to("many/so", "a", 1);
	assert_int_equal(symlink("a.so", in_dir("many/z.so")), 0);
	assert_int_equal(symlink("nowhere", in_dir("many/dangling.so")), 0);
	snprintf(dirs, sizeof(dirs), ":/nowhere/at/all:%s:%s:", dir, dir);
	pasta_plugin_load_dirs(dirs, hear);
	assert_int_equal(message_count, 5);
	assert_string_equal(messages[0],
			    "cannot look for tools in /nowhere/at/all: No such file or directory");
	assert_non_null(strstr(messages[1], "/a.so is left out"));
	assert_non_null(strstr(messages[2], "/b.so is left out"));
	assert_non_null(strstr(messages[3], "/dangling.so: No such file"));
	assert_non_null(strstr(messages[4], "/dangling.so: No such file"));
}

/* This program is one that dlopen refuses, after all checks before it. */
static void loading_leaves_signal_handlers_as_they_were(void **state)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction before[5], after;
	stack_t stack_before, stack_after;
	struct pasta_error err = {0};
	const char *file;

	for (size_t i = 0; i < 5; i++)
		sigaction(faults[i], NULL, &before[i]);
	sigaltstack(NULL, &stack_before);
	assert_int_equal(pasta_plugin_load("/proc/self/exe", &file, &err), -ENOENT);
	for (size_t i = 0; i < 5; i++) {
		sigaction(faults[i], NULL, &after);
		assert_true(after.sa_handler == before[i].sa_handler);
		assert_false((after.sa_flags ^ before[i].sa_flags) & (SA_RESETHAND | SA_ONSTACK));
	}
	sigaltstack(NULL, &stack_after);
	assert_ptr_equal(stack_after.ss_sp, stack_before.ss_sp);
	assert_int_equal(stack_after.ss_flags, stack_before.ss_flags);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_read_of_another_version, begin),
		cmocka_unit_test_setup(descriptors_are_checked_whole, begin),
		cmocka_unit_test_setup(options_have_names_and_an_end, begin),
		cmocka_unit_test_setup(a_name_is_taken_once_and_the_holder_is_named, begin),
		cmocka_unit_test_setup(loading_leaves_signal_handlers_as_they_were, begin),
		cmocka_unit_test_setup(what_is_no_library_is_named_with_what_to_do, begin),
		cmocka_unit_test_setup(folders_are_read_in_order_and_each_error_is_reported_once,
				       begin),
	};

	/* One folder for all: a library is known by its inode, which must not be used again. */
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
