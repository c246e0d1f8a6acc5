/* test_files.c - files are opened without following links, without hanging, and only if they are
 * the user's. */
/* labels: onethread */
#include "support.h"

#include "process/io/files.h"
#include "process/io/output.h"

static int folder = -1;

static int begin(void **state)
{
	if (make_dir(state))
		return -1;
	folder = pasta_files_folder(support_dir);
	return folder < 0;
}

static int end(void **state)
{
	close(folder);
	return remove_dir(state);
}

static void spit(const char *name, const char *text)
{
	struct bytes b = {0};

	put(&b, text, strlen(text));
	save(&b, b.size, in_dir(name));
	free(b.data);
}

static void check_text(const char *name, const char *expected)
{
	int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC), error;
	size_t size;
	char *text = pasta_files_text(fd, 1000, &size, &error);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	close(fd);
}

static void within_a_run_only_regular_files_are_opened_and_no_link_is_followed(void **state)
{
	uint64_t size = 0;
	int fd;

	spit("file", "hello");
	fd = pasta_files_open(folder, "file", &size);
	assert_true(fd >= 0);
	assert_int_equal(size, 5);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(symlink("file", in_dir("link")), 0);
	assert_int_equal(symlink("/dev/zero", in_dir("device")), 0);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
	assert_int_equal(pasta_files_open(folder, "link", NULL), -ELOOP);
	assert_int_equal(pasta_files_open(folder, "device", NULL), -ELOOP);
	assert_int_equal(pasta_files_open(folder, "fifo", NULL), -EINVAL);
	assert_int_equal(pasta_files_open(folder, "sub", NULL), -EINVAL);
	assert_int_equal(pasta_files_open(folder, "absent", NULL), -ENOENT);
	/* A path that a user names may be a link, but a FIFO is still not a shard. */
	fd = pasta_files_open_named(in_dir("link"), NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(pasta_files_open_named(in_dir("fifo"), NULL), -EINVAL);
	assert_int_equal(pasta_files_open_named("/dev/zero", NULL), -EINVAL);
}

static void a_path_within_a_run_does_not_lead_out_of_it(void **state)
{
	int fd;

	assert_int_equal(mkdir(in_dir("run"), 0700), 0);
	assert_int_equal(mkdir(in_dir("run/sub"), 0700), 0);
	spit("run/sub/file", "in");
	spit("outside", "out");
	fd = pasta_files_open_in(in_dir("run"), "sub/file", NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symlink("..", in_dir("run/up")), 0);
	assert_int_equal(symlink("run", in_dir("alias")), 0);
	assert_int_equal(pasta_files_open_in(in_dir("run"), "up/outside", NULL), -ELOOP);
	assert_int_equal(pasta_files_open_in(in_dir("run"), "../outside", NULL), -EINVAL);
	assert_int_equal(pasta_files_open_in(in_dir("run"), "sub/../../outside", NULL), -EINVAL);
	assert_int_equal(pasta_files_open_in(in_dir("run"), "sub/absent", NULL), -ENOENT);
	assert_int_equal(pasta_files_open_in(in_dir("nowhere"), "x", NULL), -ENOENT);
	/* The path of the run itself may be a link. */
	fd = pasta_files_open_in(in_dir("alias"), "sub/file", NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(pasta_files_subfolder(folder, "alias"), -ELOOP);
}

static void create_never_opens_an_existing_file(void **state)
{
	int fd;

	spit("there", "old");
	assert_int_equal(pasta_files_create(folder, "there", 0600), -EEXIST);
	assert_int_equal(symlink("nowhere", in_dir("dangling")), 0);
	assert_int_equal(pasta_files_create(folder, "dangling", 0600), -EEXIST);
	assert_int_not_equal(access(in_dir("nowhere"), F_OK), 0);
	fd = pasta_files_create(folder, "new", 0600);
	assert_true(fd >= 0);
	close(fd);
	check_text("there", "old");
}

static void temporary_names_differ_and_are_never_too_long(void **state)
{
	char longest[256], *a, *b;
	int fd;

	memset(longest, 'n', 255);
	longest[255] = '\0';
	fd = pasta_files_create_beside(folder, "report", 0600, &a);
	assert_true(fd >= 0);
	close(fd);
	fd = pasta_files_create_beside(folder, "report", 0600, &b);
	assert_true(fd >= 0);
	close(fd);
	assert_string_not_equal(a, b);
	free(b);
	fd = pasta_files_create_beside(folder, longest, 0600, &b);
	assert_true(fd >= 0);
	close(fd);
	assert_true(strlen(b) <= 255);
	free(a);
	free(b);
}

static void files_without_a_name_leave_none(void **state)
{
	char **names;
	size_t count;
	int fd = pasta_files_temporary(support_dir);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(pasta_files_list(folder, NULL, &names, &count), 0);
	assert_int_equal(count, 0);
	pasta_files_list_free(names);
	close(fd);
	fd = pasta_files_memory();
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(pasta_files_temporary(in_dir("absent")), -ENOENT);
}

static void only_the_file_that_was_opened_is_removed(void **state)
{
	int fd;

	spit("a", "one");
	fd = pasta_files_open_ours(folder, "a");
	assert_true(fd >= 0);
	assert_int_equal(rename(in_dir("a"), in_dir("b")), 0);
	spit("a", "another");
	assert_int_equal(pasta_files_remove(folder, "a", fd), -ESTALE);
	assert_int_equal(pasta_files_rename(folder, "a", fd, "c"), -ESTALE);
	assert_int_equal(link(in_dir("b"), in_dir("second")), 0);
	assert_int_equal(pasta_files_remove(folder, "b", fd), -EPERM);
	assert_int_equal(unlink(in_dir("second")), 0);
	assert_int_equal(pasta_files_remove(folder, "b", fd), 0);
	assert_int_not_equal(access(in_dir("b"), F_OK), 0);
	check_text("a", "another");
	close(fd);
}

static void a_rename_never_replaces(void **state)
{
	int fd;

	spit("a", "one");
	spit("b", "two");
	fd = pasta_files_open_ours(folder, "a");
	assert_int_equal(pasta_files_rename(folder, "a", fd, "b"), -EEXIST);
	check_text("b", "two");
	assert_int_equal(pasta_files_rename(folder, "a", fd, "c"), 0);
	check_text("c", "one");
	close(fd);
}

static void nothing_is_written_to_where_others_can_exchange_files(void **state)
{
	int fd;

	spit("a", "one");
	assert_int_equal(chmod(support_dir, 0720), 0);
	assert_false(pasta_files_folder_is_ours(folder));
	assert_int_equal(pasta_files_open_ours(folder, "a"), -EPERM);
	assert_int_equal(chmod(support_dir, 01777), 0);
	fd = pasta_files_open_ours(folder, "a");
	assert_true(fd >= 0);
	assert_int_equal(chmod(support_dir, 0702), 0);
	assert_int_equal(pasta_files_remove(folder, "a", fd), -EPERM);
	assert_int_equal(chmod(support_dir, 0700), 0);
	assert_int_equal(link(in_dir("a"), in_dir("b")), 0);
	assert_int_equal(pasta_files_open_ours(folder, "a"), -EPERM);
	close(fd);
}

static void nothing_of_another_user_is_written_to(void **state)
{
	if (geteuid())
		skip(); /* only root can change the owner */
	spit("a", "one");
	assert_int_equal(chown(in_dir("a"), 65534, 65534), 0);
	assert_int_equal(pasta_files_open_ours(folder, "a"), -EPERM);
	assert_int_equal(chown(in_dir("a"), 0, 0), 0);
	assert_int_equal(chown(support_dir, 65534, 65534), 0);
	assert_int_equal(pasta_files_open_ours(folder, "a"), -EPERM);
	assert_int_equal(chown(support_dir, 0, 0), 0);
}

static void a_stranger_s_link_is_not_written_through(void **state)
{
	int fd;

	spit("victim", "precious");
	assert_int_equal(symlink("victim", in_dir("link")), 0);
	fd = pasta_files_open_output(in_dir("link"));
	assert_true(fd >= 0);
	close(fd);
	spit("victim", "precious");
	if (geteuid())
		skip(); /* only root can change the owner */
	assert_int_equal(lchown(in_dir("link"), 65534, 65534), 0);
	assert_int_equal(chmod(support_dir, 01777), 0);
	assert_int_equal(pasta_files_open_output(in_dir("link")), -EPERM);
	check_text("victim", "precious");
}

static void text_is_read_up_to_a_limit(void **state)
{
	int fd, error;
	size_t size;

	spit("a", "twelve bytes");
	fd = open(in_dir("a"), O_RDONLY | O_CLOEXEC);
	assert_null(pasta_files_text(fd, 11, &size, &error));
	assert_int_equal(error, -EFBIG);
	free(pasta_files_text(fd, 12, &size, &error));
	assert_int_equal(error, 0);
	assert_int_equal(size, 12);
	close(fd);
}

static bool is_number(const char *name)
{
	return *name >= '0' && *name <= '9';
}

static void names_are_listed_in_order_of_their_numbers(void **state)
{
	static const char *const expected[] = {"1", "2", "10", "20", "100"};
	char **names;
	size_t count;

	spit("100", "");
	spit("2", "");
	spit("x", "");
	spit("10", "");
	spit("1", "");
	spit("20", "");
	assert_int_equal(pasta_files_list(folder, is_number, &names, &count), 0);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(names[i], expected[i]);
	assert_null(names[5]);
	pasta_files_list_free(names);
}

static void only_the_kernel_s_files_are_the_system_s(void **state)
{
	int fd = pasta_files_open_system("/dev/null", O_RDWR);

	assert_true(fd >= 0);
	close(fd);
	spit("a", "one");
	assert_int_equal(pasta_files_open_system(in_dir("a"), O_RDONLY), -EINVAL);
	assert_null(pasta_files_system("/etc/passwd"));
}

/* A name that contains only the PID could be guessed. */
static void an_output_goes_through_no_name_that_can_be_guessed(void **state)
{
	struct pasta_error err = {0};
	struct pasta_output *out;
	char guess[64], **names;
	size_t count;

	spit("victim", "precious");
	snprintf(guess, sizeof(guess), "report.%ld.tmp", (long)getpid());
	assert_int_equal(symlink("victim", in_dir(guess)), 0);
	out = pasta_output_open(in_dir("report"), &err);
	assert_non_null(out);
	fputs("hello", pasta_output_file(out));
	assert_int_equal(access(pasta_output_path(out), F_OK), 0);
	assert_int_equal(pasta_output_close(out, 0, &err), 0);
	check_text("report", "hello");
	check_text("victim", "precious");
	out = pasta_output_open(in_dir("report"), &err);
	fputs("half", pasta_output_file(out));
	assert_int_equal(pasta_output_close(out, -EIO, &err), -EIO);
	check_text("report", "hello");
	assert_int_equal(pasta_files_list(folder, NULL, &names, &count), 0);
	assert_int_equal(count, 3);
	pasta_files_list_free(names);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(within_a_run_only_regular_files_are_opened_and_no_link_is_followed),
		TEST(a_path_within_a_run_does_not_lead_out_of_it),
		TEST(create_never_opens_an_existing_file),
		TEST(temporary_names_differ_and_are_never_too_long),
		TEST(files_without_a_name_leave_none),
		TEST(only_the_file_that_was_opened_is_removed),
		TEST(a_rename_never_replaces),
		TEST(nothing_is_written_to_where_others_can_exchange_files),
		TEST(nothing_of_another_user_is_written_to),
		TEST(a_stranger_s_link_is_not_written_through),
		TEST(text_is_read_up_to_a_limit),
		TEST(names_are_listed_in_order_of_their_numbers),
		TEST(only_the_kernel_s_files_are_the_system_s),
		TEST(an_output_goes_through_no_name_that_can_be_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
