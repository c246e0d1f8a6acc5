/* test_run.c - a run's folder and its run.json. */
/* labels: onethread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/read/run.h"
#include "process/read/runinfo.h"

static char top[64];

static int begin(void **state)
{
	strcpy(top, "/tmp/test-run-XXXXXX");
	return mkdtemp(top) && !chdir(top) ? 0 : -1;
}

static int end(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return chdir("/") || system(command);
}

static void spit(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_run_is_never_made_over_an_old_one(void **state)
{
	struct pasta_run a = {0}, b = {0}, c = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_run_create(&a, NULL, &err), 0);
	assert_int_equal(pasta_run_create(&b, NULL, &err), 0);
	assert_string_equal(strrchr(a.path, '/'), "/accelprof-run-1");
	assert_string_equal(strrchr(b.path, '/'), "/accelprof-run-2");
	assert_int_equal(pasta_run_create(&c, a.path, &err), -EEXIST);
	assert_null(c.path);
	pasta_run_free(&a);
	pasta_run_free(&b);
}

static void a_removed_run_leaves_what_was_there(void **state)
{
	struct pasta_run run = {0};
	struct pasta_error err = {0};

	mkdir("mine", 0777);
	assert_int_equal(pasta_run_create(&run, "mine", &err), 0);
	assert_int_equal(access("mine/control", F_OK), 0);
	pasta_run_remove(&run);
	assert_int_equal(rmdir("mine"), 0);
	pasta_run_free(&run);
	assert_int_equal(pasta_run_create(&run, "ours", &err), 0);
	pasta_run_remove(&run);
	assert_int_equal(access("ours", F_OK), -1);
	pasta_run_free(&run);
}

static void shards_are_listed_in_order(void **state)
{
	struct pasta_error err = {0};
	char **paths;
	size_t count;

	mkdir("s", 0777);
	spit("s/h-10.pst", "");
	spit("s/h-9.pst", "");
	spit("s/h-9.ring", "");
	spit("s/.pst", "");
	assert_int_equal(pasta_run_shards("s", &paths, &count, &err), 0);
	assert_int_equal(count, 2);
	assert_string_equal(paths[0], "s/h-9.pst");
	assert_string_equal(paths[1], "s/h-10.pst");
	assert_null(paths[2]);
	pasta_run_shards_free(paths);
	assert_int_equal(pasta_run_shards("absent", &paths, &count, &err), 0);
	assert_int_equal(count, 0);
	pasta_run_shards_free(paths);
}

static void a_new_control_page_is_healthy(void **state)
{
	struct pasta_run_health health;
	struct pasta_run run = {0};
	struct pasta_error err = {0};
	struct stat st;

	assert_int_equal(pasta_run_create(&run, "r", &err), 0);
	assert_int_equal(stat("r/control", &st), 0);
	assert_int_equal(st.st_size, 4096);
	assert_int_equal(pasta_run_health("r", &health), 0);
	assert_int_equal(health.failed, 0);
	spit("r/control", "rubbish");
	assert_int_equal(pasta_run_health("r", &health), -EBADMSG);
	assert_int_equal(pasta_run_health("absent", &health), -ENOENT);
	pasta_run_free(&run);
}

static void a_control_page_that_was_cut_is_an_error_and_no_crash(void **state)
{
	struct pasta_run_health health;
	struct pasta_run run = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_run_create(&run, "cut", &err), 0);
	assert_int_equal(pasta_run_add_failed("cut", 2, 5, "no room"), 0);
	assert_int_equal(pasta_run_add_failed("cut", 1, 1, "later"), 0);
	assert_int_equal(pasta_run_health("cut", &health), 0);
	assert_int_equal(health.failed, 3);
	assert_int_equal(health.dropped, 6);
	assert_string_equal(health.message, "no room");
	assert_int_equal(truncate("cut/control", 0), 0);
	assert_int_equal(pasta_run_add_failed("cut", 1, 1, "later"), -EIO);
	pasta_run_free(&run);
}

static void run_json_reads_back_as_it_was_written(void **state)
{
	char *command[] = {(char *)"prog", (char *)"a \"b\"", (char *)"", NULL};
	char *tools[] = {(char *)"regions", NULL};
	struct pasta_runinfo in = {.command = command,
				   .tools = tools,
				   .cwd = (char *)"/tmp",
				   .host = (char *)"höst",
				   .version = (char *)"1.2",
				   .kinds = PASTA_MASK(REGION) | PASTA_MASK(LOSS),
				   .has_counted = true,
				   .counted = PASTA_NEED_ACCESS_PAGE | PASTA_NEED_ACCESS_RAW,
				   .start = UINT64_C(1794711561960402369),
				   .end = UINT64_C(1794711561992256510),
				   .signaled = true,
				   .signal = 11,
				   .shards = 3,
				   .has_loss = true,
				   .loss = {.expected = UINT64_MAX, .captured = 2, .dropped = 1}};
	struct pasta_runinfo out = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_runinfo_save(&in, "run.json", &err), 0);
	assert_int_equal(pasta_runinfo_load(&out, ".", &err), 0);
	assert_string_equal(out.command[1], "a \"b\"");
	assert_string_equal(out.command[2], "");
	assert_null(out.command[3]);
	assert_string_equal(out.host, "höst");
	assert_true(out.kinds == in.kinds && out.start == in.start && out.end == in.end);
	assert_true(out.has_counted && out.counted == in.counted);
	assert_true(out.signaled && !out.exited && out.signal == 11 && out.shards == 3);
	assert_true(out.has_loss && out.loss.expected == UINT64_MAX && out.loss.dropped == 1);
	pasta_runinfo_free(&out);
}

static void put_launches(struct pasta_json *j, const void *launches)
{
	pasta_json_key(j, "accesses");
	pasta_json_map(j);
	pasta_json_key(j, "launches");
	if (*(const uint64_t *)launches)
		pasta_json_uint(j, *(const uint64_t *)launches);
	else
		pasta_json_null(j);
	pasta_json_map_end(j);
}

static bool sampled(const struct pasta_runinfo *in)
{
	struct pasta_runinfo out = {0};
	struct pasta_error err = {0};
	bool was;

	assert_int_equal(pasta_runinfo_save(in, "run.json", &err), 0);
	assert_int_equal(pasta_runinfo_load(&out, ".", &err), 0);
	was = out.sampled;
	pasta_runinfo_free(&out);
	return was;
}

static void a_run_that_counted_some_launches_has_sampled_them(void **state)
{
	static const uint64_t some = 3, every = 0;

	(void)state;
	assert_true(sampled(&(struct pasta_runinfo){.more = put_launches, .more_ctx = &some}));
	assert_false(sampled(&(struct pasta_runinfo){.more = put_launches, .more_ctx = &every}));
	assert_false(sampled(&(struct pasta_runinfo){0}));
}

static void a_file_that_is_not_a_run_json_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "{", "[]", "null", "{\"schema\": 1}", "{\"schema\": \"other/1\"}", "\xff\xfe"};
	struct pasta_runinfo info = {0};
	struct pasta_error err = {0};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		spit("run.json", bad[i]);
		assert_int_equal(pasta_runinfo_load(&info, ".", &err), -EINVAL);
	}
	spit("run.json", "{\"schema\": \"accelprof-run/2\"}");
	assert_int_equal(pasta_runinfo_load(&info, ".", &err), -EPROTONOSUPPORT);
	assert_int_equal(pasta_runinfo_load(&info, "absent", &err), -ENOENT);
	spit("run.json", "{\"schema\": \"accelprof-run/1\", \"command\": 7, \"exit\": [], "
			 "\"tools\": [1, null], \"start\": \"x\", \"loss\": 5}");
	assert_int_equal(pasta_runinfo_load(&info, ".", &err), 0);
	assert_null(info.command);
	assert_false(info.has_counted);
	pasta_runinfo_free(&info);
}

/* yajl frees nested lists by recursion, so a text that is nested too deeply is not parsed. */
static void a_run_json_that_is_nested_deep_is_refused(void **state)
{
	enum { DEEP = 300000 };
	static const char *const begins[] = {"[", "{\"a\":", "{\"schema\":[\"accelprof-run/1\",["};
	struct pasta_runinfo info = {0};
	struct pasta_error err = {0};

	for (size_t k = 0; k < 3; k++) {
		FILE *f = fopen("run.json", "we");

		for (int i = 0; i < DEEP; i++)
			fputs(begins[k], f);
		fclose(f);
		assert_int_equal(pasta_runinfo_load(&info, ".", &err), -EINVAL);
	}
	/* Brackets within a string do not count. */
	spit("run.json",
	     "{\"schema\": \"accelprof-run/1\", \"host\": "
	     "\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}");
	assert_int_equal(pasta_runinfo_load(&info, ".", &err), 0);
	pasta_runinfo_free(&info);
}

static void a_changed_run_json_is_read_and_reported(void **state)
{
	struct pasta_runinfo info = {.host = (char *)"here", .start = 12345, .end = 23456};
	struct pasta_error err = {0};
	char text[8192];
	size_t size;
	FILE *f;

	assert_int_equal(pasta_runinfo_save(&info, "run.json", &err), 0);
	f = fopen("run.json", "re");
	size = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[size] = '\0';
	for (size_t i = 0; i < size; i++) {
		struct pasta_runinfo read = {0};
		char was = text[i];
		int error;

		if (was < '0' || was > '9')
			continue;
		text[i] = was == '9' ? '8' : (char)(was + 1);
		spit("run.json", text);
		error = pasta_runinfo_load(&read, ".", &err);
		assert_true(error == -EBADMSG || error == -EPROTONOSUPPORT);
		pasta_runinfo_free(&read);
		text[i] = was;
	}
	spit("run.json", text);
	memset(&info, 0, sizeof(info));
	assert_int_equal(pasta_runinfo_load(&info, ".", &err), 0);
	assert_int_equal(info.start, 12345);
	pasta_runinfo_free(&info);
}

static void a_run_is_for_its_user_alone_unless_it_is_shared(void **state)
{
	struct pasta_run mine = {0}, shared = {.shared = true};
	struct pasta_error err = {0};
	mode_t before = umask(022);
	struct stat st;

	assert_int_equal(pasta_run_create(&mine, "mine", &err), 0);
	assert_int_equal(pasta_run_create(&shared, "shared", &err), 0);
	umask(before);
	assert_int_equal(stat("mine", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat("mine/control", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat("shared", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(stat("shared/shards", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	pasta_run_free(&mine);
	pasta_run_free(&shared);
}

static void a_run_is_not_made_where_others_could_change_it(void **state)
{
	struct pasta_run run = {0};
	struct pasta_error err = {0};

	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(chmod("d", 0777), 0);
	assert_int_equal(pasta_run_create(&run, "d", &err), -EPERM);
	assert_non_null(strstr(err.text, "all users can write"));
	if (!geteuid()) { /* only root can change the owner */
		assert_int_equal(chmod("d", 0755), 0);
		assert_int_equal(chown("d", 65534, 65534), 0);
		assert_int_equal(pasta_run_create(&run, "d", &err), -EPERM);
		assert_non_null(strstr(err.text, "another user"));
	}
	assert_int_equal(rmdir("d"), 0); /* rmdir succeeds only if it is empty */
	pasta_run_free(&run);
}

static void a_run_json_that_cannot_be_written_is_explained(void **state)
{
	struct pasta_runinfo info = {0};
	struct pasta_error err = {0};

	assert_int_equal(pasta_runinfo_save(&info, "no/such/run.json", &err), -ENOENT);
	assert_string_equal(err.text, "cannot write no/such/run.json: No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_is_never_made_over_an_old_one),
		TEST(a_removed_run_leaves_what_was_there),
		TEST(shards_are_listed_in_order),
		TEST(a_new_control_page_is_healthy),
		TEST(a_control_page_that_was_cut_is_an_error_and_no_crash),
		TEST(run_json_reads_back_as_it_was_written),
		TEST(a_run_that_counted_some_launches_has_sampled_them),
		TEST(a_file_that_is_not_a_run_json_is_refused),
		TEST(a_run_json_that_is_nested_deep_is_refused),
		TEST(a_changed_run_json_is_read_and_reported),
		TEST(a_run_is_for_its_user_alone_unless_it_is_shared),
		TEST(a_run_is_not_made_where_others_could_change_it),
		TEST(a_run_json_that_cannot_be_written_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
