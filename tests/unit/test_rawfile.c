/* test_rawfile.c - writes raw accesses from several threads and reads them; refuses damaged files.
 */
#include <fcntl.h>
#include <pthread.h>

#include "unit/agent_run.h"

#include "collect/accesses.h"
#include "core/rawblock.h"
#include "core/strings.h"
#include "process/read/rawfile.h"

enum { THREADS = 4, LAUNCHES = 3, TURNS = 50, ACCESSES = 2000, GROUP = 64 };
enum { EACH = TURNS * ACCESSES };

/* -- A program -- */

static struct pasta_accesses_launch *launches[LAUNCHES];

static struct pasta_access made(uint32_t thread, uint32_t i)
{
	return (struct pasta_access){.addr = (uint64_t)thread << 40 |
					     i * UINT64_C(2654435761) % 65536,
				     .size = 1u << i % 4,
				     .site = 1 + i % 7,
				     .group = i / GROUP,
				     .turn = i % 3,
				     .thread = (uint16_t)thread,
				     .kind = (uint8_t)(1 + i % 3),
				     .space = (uint8_t)(i % 5)};
}

static void *work(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		struct pasta_accesses_launch *l = launches[(turn + thread) % LAUNCHES];

		if (!pasta_accesses_thread(l, GROUP))
			_exit(97);
		for (uint32_t i = 0; i < ACCESSES; i++) {
			struct pasta_access a = made(thread, turn * ACCESSES + i);

			pasta_accesses_put(l, &a);
		}
	}
	return NULL;
}

static void many_threads(void)
{
	pthread_t threads[THREADS];

	for (uint64_t i = 0; i < LAUNCHES; i++)
		launches[i] = pasta_accesses_begin((i + 1) << 33 | (i + 1), 0, 7, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			_exit(98);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < LAUNCHES; i++)
		pasta_accesses_end(launches[i], true);
	pasta_agent_close();
}

static void one_batch(void)
{
	launches[0] = pasta_accesses_begin(1, 0, 7, NULL);
	pasta_accesses_thread(launches[0], GROUP);
	for (uint32_t i = 0; i < 100; i++) {
		struct pasta_access a = made(1, i);

		pasta_accesses_put(launches[0], &a);
	}
	pasta_accesses_end(launches[0], true);
	pasta_agent_close();
}

/* -- Reading -- */

static uint32_t seen[THREADS][EACH];

static int see(void *arg, const struct pasta_access *a)
{
	const struct pasta_event *ev = arg;
	uint32_t launch = (uint32_t)(ev->access_batch.corr >> 33) - 1;
	struct pasta_access expected;

	assert_true(a->thread < THREADS);
	assert_int_equal(a->launch, (uint32_t)ev->access_batch.corr);
	/* In the order of its thread: the next access of this launch that was not seen yet. */
	for (uint32_t i = a->group * GROUP; i < EACH; i++) {
		if (seen[a->thread][i] || (i / ACCESSES + a->thread) % LAUNCHES != launch)
			continue;
		expected = made(a->thread, i);
		expected.launch = a->launch;
		assert_memory_equal(a, &expected, sizeof(expected));
		seen[a->thread][i] = 1;
		return 0;
	}
	fail_msg("an access that no thread made");
	return -1;
}

static void accesses_come_back_in_the_order_of_their_threads(void **state)
{
	const struct pasta_event *ev;
	struct pasta_loss_summary account;
	struct pasta_error err = {0};
	struct pasta_stream *s;
	uint64_t count = 0, counted = 0;

	setenv(PASTA_ENV_ACCESSES, "2,raw", 1);
	assert_int_equal(in_child(many_threads), 0);
	s = open_run(NULL);
	assert_int_equal(pasta_rawfile_reset(s), 0);
	memset(seen, 0, sizeof(seen));
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_ACCESS_LAUNCH && ev->sub == PASTA_ACCESS_LAUNCH_ENDED)
			counted += ev->access_launch.accesses;
		if (ev->kind != PASTA_KIND_ACCESS_BATCH)
			continue;
		assert_int_equal(ev->tid, 7);
		count += ev->access_batch.count;
		if (pasta_accesses_each(ev, see, (void *)ev, &err))
			fail_msg("%s", err.text);
	}
	assert_int_equal(count, THREADS * EACH);
	assert_int_equal(counted, THREADS * EACH);
	pasta_stream_loss(s, &account);
	assert_int_equal(account.dropped, 0);
	pasta_stream_free(s);
}

/* -- Damaged files -- */

static struct pasta_event batch;
static struct pasta_stream *stream;
static char file[512];

/* Makes a run with one batch: its event, and its file. */
static void make_batch(void)
{
	const struct pasta_event *ev;

	setenv(PASTA_ENV_ACCESSES, "2,raw", 1);
	assert_int_equal(in_child(one_batch), 0);
	stream = open_run(NULL);
	assert_int_equal(pasta_rawfile_reset(stream), 0);
	memset(&batch, 0, sizeof(batch));
	while ((ev = pasta_stream_next(stream)))
		if (ev->kind == PASTA_KIND_ACCESS_BATCH)
			pasta_event_copy(&batch, ev);
	assert_int_equal(batch.access_batch.count, 100);
	snprintf(file, sizeof(file), "%s/%s", run_dir, pasta_str(batch.access_batch.path));
}

static int count_one(void *arg, const struct pasta_access *a)
{
	(void)a;
	++*(size_t *)arg;
	return 0;
}

/* Reading fails with this code and message. */
static void refused(const struct pasta_event *ev, int code, const char *why)
{
	struct pasta_error err = {0};
	size_t count = 0;

	assert_int_equal(pasta_accesses_each(ev, count_one, &count, &err), code);
	assert_int_equal(count, 0);
	if (!strstr(err.text, why))
		fail_msg("no '%s' in '%s'", why, err.text);
	assert_int_equal(pasta_accesses_each(ev, count_one, &count, NULL), code);
}

static void flip(off_t at)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void a_changed_byte_is_detected_at_any_position(void **state)
{
	size_t count = 0;

	make_batch();
	for (uint64_t at = 0; at < batch.access_batch.bytes; at++) {
		flip((off_t)at);
		refused(&batch, -EINVAL, "is damaged at byte 0: 100 accesses of a launch");
		flip((off_t)at);
	}
	assert_int_equal(pasta_accesses_each(&batch, count_one, &count, NULL), 0);
	assert_int_equal(count, 100);
	pasta_stream_free(stream);
}

static void a_truncated_file_is_reported_wherever_it_ends(void **state)
{
	make_batch();
	for (uint64_t size = batch.access_batch.bytes; size-- > 0;) {
		assert_int_equal(truncate(file, (off_t)size), 0);
		refused(&batch, -ENODATA, "was cut short: 100 accesses");
	}
	assert_int_equal(unlink(file), 0);
	refused(&batch, -ENOENT, "No such file");
	pasta_stream_free(stream);
}

static void an_event_that_contradicts_its_block_is_refused(void **state)
{
	struct pasta_event ev;

	make_batch();
	for (int what = 0; what < 4; what++) {
		ev = batch;
		ev.access_batch.corr += what == 0;
		ev.access_batch.count += what == 1;
		ev.access_batch.offset += what == 2;
		ev.access_batch.bytes -= what >= 2;
		refused(&ev, -EINVAL, "is damaged at byte");
	}
	ev = batch;
	ev.access_batch.offset = UINT64_MAX - 3;
	refused(&ev, -ENODATA, "was cut short");
	ev = batch;
	ev.access_batch.count = UINT64_MAX;
	refused(&ev, -EINVAL, "is damaged");
	ev.kind = PASTA_KIND_ACCESS_SUM;
	refused(&ev, -EINVAL, "only access_batch events");
	ev = batch;
	ev.proc = 99;
	refused(&ev, -ENOENT, "from the folder of their run");
	pasta_stream_free(stream);
}

static void a_name_only_opens_files_of_the_run(void **state)
{
	static const char *const names[] = {
		"",
		"/etc/passwd",
		"../accesses/x.acc",
		"accesses/",
		"accesses/..",
		"accesses/../control",
		"accesses/./x",
		"accesses/a/b.acc",
		"shards/x.pst",
	};
	char path[600];
	struct pasta_event ev;

	make_batch();
	ev = batch;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ev.access_batch.path = pasta_strings_add(names[i], strlen(names[i]));
		refused(&ev, -EINVAL, "which is not the path of a file of raw accesses");
	}
	ev.access_batch.path = pasta_strings_add("accesses/link.acc", 17);
	snprintf(path, sizeof(path), "%s/accesses/link.acc", run_dir);
	assert_int_equal(symlink(file, path), 0);
	refused(&ev, -ELOOP, "cannot read");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(&ev, -EINVAL, "the path is not a regular file");
	pasta_stream_free(stream);
}

/* The checksums are right, but the content is not. */
static void bytes_that_are_not_accesses_are_refused(void **state)
{
	struct pasta_raw_block head = {.corr = 1, .count = 100, .raw_size = 200};
	const uint8_t bytes[64] = {0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff};
	int error;

	for (head.size = 0; head.size <= sizeof(bytes); head.size++) {
		pasta_raw_block_seal(&head, bytes);
		assert_true(pasta_raw_block_ok(&head) && pasta_raw_bytes_ok(&head, bytes));
		assert_null(pasta_rawfile_decode(&head, bytes, &error));
		assert_int_equal(error, -EINVAL);
	}
	head.size = sizeof(bytes);
	head.count = PASTA_RAW_ACCESSES + 1;
	pasta_raw_block_seal(&head, bytes);
	assert_false(pasta_raw_block_ok(&head));
	head.count = 0;
	pasta_raw_block_seal(&head, bytes);
	assert_false(pasta_raw_block_ok(&head));
	head.count = 1;
	head.raw_size = UINT32_MAX;
	pasta_raw_block_seal(&head, bytes);
	assert_false(pasta_raw_block_ok(&head));
}

static int stop_at_ten(void *arg, const struct pasta_access *a)
{
	(void)a;
	return ++*(size_t *)arg == 10 ? 42 : 0;
}

static void a_walk_ends_when_its_callback_returns_an_error(void **state)
{
	size_t count = 0;

	make_batch();
	assert_int_equal(pasta_accesses_each(&batch, stop_at_ten, &count, NULL), 42);
	assert_int_equal(count, 10);
	pasta_stream_free(stream);
}

/* -- Processes -- */

static void fork_between(void)
{
	int status;
	pid_t pid;

	launches[0] = pasta_accesses_begin(1, 0, 7, NULL);
	pasta_accesses_thread(launches[0], GROUP);
	for (uint32_t i = 0; i < 50; i++)
		pasta_accesses_put(launches[0], &(struct pasta_access){.addr = i, .kind = 1});
	pid = fork();
	if (!pid) {
		one_batch();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(96);
	for (uint32_t i = 50; i < 70; i++)
		pasta_accesses_put(launches[0], &(struct pasta_access){.addr = i, .kind = 1});
	pasta_accesses_end(launches[0], true);
	pasta_agent_close();
}

static void a_forked_child_has_a_file_of_its_own(void **state)
{
	size_t counts[2] = {0}, files = 0;
	const struct pasta_event *ev;
	struct pasta_stream *s;

#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer confuses the child's writer with its parent's, at the same
		   address */
#endif
	setenv(PASTA_ENV_ACCESSES, "2,raw", 1);
	assert_int_equal(in_child(fork_between), 0);
	s = open_run(NULL);
	assert_int_equal(pasta_stream_shards(s), 2);
	assert_int_equal(pasta_rawfile_reset(s), 0);
	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_ACCESS_BATCH && ++files)
			assert_int_equal(
				pasta_accesses_each(ev, count_one, &counts[ev->proc], NULL), 0);
	assert_int_equal(files, 2);
	assert_int_equal(counts[0] + counts[1], 170);
	assert_true(counts[0] == 70 || counts[0] == 100);
	pasta_stream_free(s);
}

/* -- Write errors -- */

static void accesses_that_cannot_be_written_are_counted(void **state)
{
	struct pasta_loss_summary account;
	const struct pasta_event *ev;
	uint64_t dropped = 0, counted = 0;
	char path[200];
	struct pasta_stream *s;

	snprintf(path, sizeof(path), "%s/accesses", run_dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* a file instead of the folder */
	setenv(PASTA_ENV_ACCESSES, "2,raw", 1);
	assert_int_equal(in_child(many_threads), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		assert_int_not_equal(ev->kind, PASTA_KIND_ACCESS_BATCH);
		if (ev->kind == PASTA_KIND_ACCESS_LAUNCH && ev->sub == PASTA_ACCESS_LAUNCH_LOST) {
			assert_int_equal(ev->access_launch.flags, PASTA_ACCESS_LAUNCH_RAW_DROPPED);
			dropped += ev->access_launch.lost;
		}
		if (ev->kind == PASTA_KIND_ACCESS_LAUNCH)
			counted += ev->access_launch.accesses;
	}
	assert_int_equal(dropped, THREADS * EACH);
	assert_int_equal(counted, THREADS * EACH);
	pasta_stream_loss(s, &account);
	assert_int_equal(account.by_reason[PASTA_LOSS_RAW], THREADS * EACH);
	pasta_stream_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(accesses_come_back_in_the_order_of_their_threads),
		CASE(a_changed_byte_is_detected_at_any_position),
		CASE(a_truncated_file_is_reported_wherever_it_ends),
		CASE(an_event_that_contradicts_its_block_is_refused),
		CASE(a_name_only_opens_files_of_the_run),
		CASE(bytes_that_are_not_accesses_are_refused),
		CASE(a_walk_ends_when_its_callback_returns_an_error),
		CASE(a_forked_child_has_a_file_of_its_own),
		CASE(accesses_that_cannot_be_written_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
