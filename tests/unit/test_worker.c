/* test_worker.c - a process that crashes, hangs or lies is ended, and nothing of it is believed. */
/* labels: onethread */
/* timeout: 300 */
#include "unit/support.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "process/run/worker.h"

/* -- A fake worker: this program; FAKE selects what it does ------------------------
 */

static int fake_request(int socket, struct pasta_calls **page)
{
	struct pasta_worker_message message;
	struct iovec iov = {&message, sizeof(message)};
	char room[CMSG_SPACE(2 * sizeof(int))];
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	int fds[2];

	if (recvmsg(socket, &msg, 0) != sizeof(message) || !CMSG_FIRSTHDR(&msg))
		_exit(99);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fds));
	*page = mmap(NULL, sizeof(**page), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	return fds[0];
}

static void fake_send(int socket, uint32_t verb, const int *fds, size_t count)
{
	struct pasta_worker_message message = {PASTA_WORKER_MAGIC, verb};
	struct iovec iov = {&message, sizeof(message)};
	char room[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (count) {
		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	sendmsg(socket, &msg, MSG_NOSIGNAL);
}

static int fake_answer(void)
{
	struct pasta_wire w = {0};

	pasta_wire_text(&w, "hello");
	return pasta_wire_seal(&w);
}

static int fake_file(size_t size, int seals)
{
	int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, seals))
		_exit(99);
	return fd;
}

static _Noreturn void fake_worker(int socket)
{
	const char *how = getenv("FAKE");
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct pasta_calls *page;
	int fds[4] = {fake_answer(), fake_answer(), fake_answer(), fake_answer()};

	fake_request(socket, &page);
	while (!strcmp(how, "stop"))
		raise(SIGSTOP);
	page->slots[3].tool = 2;
	page->slots[3].phase = PASTA_PHASE_MERGE;
	page->slots[3].calls = 1;
	if (!strcmp(how, "abort"))
		abort();
	while (!strcmp(how, "hang"))
		pause();
	if (!strcmp(how, "mad page")) {
		memset(page, 0xff, sizeof(*page));
		_exit(1);
	}
	if (!strcmp(how, "good"))
		fake_send(socket, PASTA_WORKER_LOAD, fds, 1);
	else if (!strcmp(how, "late")) {
		fake_send(socket, PASTA_WORKER_LOAD, fds, 1);
		signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
		raise(SIGSEGV);
	} else if (!strcmp(how, "many"))
		for (int i = 0; i < 50; i++)
			fake_send(socket, PASTA_WORKER_LOAD, fds, 4);
	else if (!strcmp(how, "other verb"))
		fake_send(socket, PASTA_WORKER_RUN, fds, 1);
	else if (!strcmp(how, "no file"))
		fake_send(socket, PASTA_WORKER_LOAD, fds, 0);
	else if (!strcmp(how, "unsealed"))
		fds[0] = fake_file(100, 0), fake_send(socket, PASTA_WORKER_LOAD, fds, 1);
	else if (!strcmp(how, "zeros"))
		fds[0] = fake_file(100, seals), fake_send(socket, PASTA_WORKER_LOAD, fds, 1);
	else if (!strcmp(how, "empty"))
		fds[0] = fake_file(0, seals), fake_send(socket, PASTA_WORKER_LOAD, fds, 1);
	else if (!strcmp(how, "huge"))
		fds[0] = fake_file((size_t)1 << 40, seals),
		fake_send(socket, PASTA_WORKER_LOAD, fds, 1);
	else if (!strcmp(how, "socket"))
		fake_send(socket, PASTA_WORKER_LOAD, &socket, 1);
	else
		send(socket, "garbage", 7, MSG_NOSIGNAL);
	_exit(0);
}

/* -- The tests ----------------------------------------------------------------------------------
 */

static const char *const tools[] = {"first", "second"};

static const char *program = "/proc/self/exe";

/* Start one that does this; it has ended when this returns. Those that end by themselves have time
 * to do so on a machine that is busy. */
static struct pasta_worker *ended(const char *how)
{
	struct pasta_wire request = {0};
	struct pasta_worker_start start = {.verb = PASTA_WORKER_LOAD,
					   .file = "x.so",
					   .tools = tools,
					   .tool_count = 2,
					   .request = &request};
	bool hangs = !strcmp(how, "hang") || !strcmp(how, "stop");
	struct pasta_worker_setup setup = {.program = program, .timeout = hangs ? 1 : 200};
	struct pasta_worker *w;
	struct pasta_error err = {0};

	pasta_worker_set_up(&setup);
	setenv("FAKE", how, 1);
	pasta_wire_text(&request, "hello");
	w = pasta_worker_start(&start, &err);
	free(request.data);
	assert_non_null(w);
	while (!pasta_worker_wait(w, 100))
		;
	return w;
}

static void assert_why(struct pasta_worker *w, bool failed, int code, const char *want,
		       size_t tool_wanted)
{
	char why[200];
	size_t tool;

	pasta_worker_why(w, why, sizeof(why), &tool);
	assert_string_equal(why, want);
	assert_int_equal(pasta_worker_failed(w), failed);
	assert_int_equal(tool, tool_wanted);
	if (code)
		assert_int_equal(pasta_worker_code(w), code);
}

static void an_answer_comes_back(void **state)
{
	struct pasta_worker *w = ended("good");
	struct pasta_wire_in in;
	uint8_t *bytes;

	assert_int_equal(pasta_worker_check(w), PASTA_WORKER_DONE);
	assert_int_equal(pasta_worker_answer(w, &bytes, &in), 0);
	assert_string_equal(pasta_wire_get_text(&in), "hello");
	free(bytes);
	assert_false(pasta_worker_failed(w));
	pasta_worker_free(w);
}

static void a_failure_is_described_with_the_tool_and_the_phase(void **state)
{
	struct pasta_worker *w = ended("abort");

	assert_why(w, true, -EFAULT, "the plug-in crashed in merge (SIGABRT)", 2);
	pasta_worker_free(w);
	w = ended("nothing");
	assert_why(w, true, -ECHILD, "the plug-in called exit in merge", 2);
	pasta_worker_free(w);
	w = ended("hang");
	assert_why(w, true, -ETIMEDOUT,
		   "the plug-in does not return from merge: ended after 1 s (--tool-timeout)", 2);
	pasta_worker_free(w);
	w = ended("stop");
	assert_why(w, true, -ETIMEDOUT,
		   "the plug-in's worker was stopped by SIGSTOP: ended after 1 s (--tool-timeout)",
		   0);
	pasta_worker_free(w);
}

static void one_that_ends_badly_after_its_answer_has_answered(void **state)
{
	struct pasta_worker *w = ended("late");
	struct pasta_wire_in in;
	uint8_t *bytes;

	assert_why(w, false, 0, "the plug-in crashed in merge (SIGSEGV)", 2);
	assert_int_equal(pasta_worker_answer(w, &bytes, &in), 0);
	free(bytes);
	pasta_worker_free(w);
}

static void a_page_of_nonsense_is_not_believed(void **state)
{
	struct pasta_worker *w = ended("mad page");
	uint64_t done, total;

	assert_why(
		w, true, -ECHILD,
		"the plug-in's worker ended without a result (status 1): check whether the plug-in "
		"closes file descriptors that it did not open",
		0);
	pasta_worker_progress(w, &done, &total);
	assert_true(done <= total);
	pasta_worker_free(w);
}

static void answers_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *how;
		int error;
	} cases[] = {{"other verb", -ENODATA}, {"no file", -ENODATA}, {"garbage", -ENODATA},
		     {"unsealed", -EINVAL},    {"socket", -EINVAL},   {"zeros", -EBADMSG},
		     {"empty", -EBADMSG},      {"huge", -E2BIG},      {"many", 0}};
	struct pasta_wire_in in;
	uint8_t *bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pasta_worker *w = ended(cases[i].how);
		int error = pasta_worker_answer(w, &bytes, &in);

		if (error != cases[i].error)
			fail_msg("%s: %d, not %d", cases[i].how, error, cases[i].error);
		free(bytes);
		pasta_worker_free(w);
	}
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void nothing_is_left_of_them(void **state)
{
	size_t before = open_descriptors();

	for (int i = 0; i < 3; i++) {
		pasta_worker_free(ended("many"));
		pasta_worker_free(ended("abort"));
	}
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
	struct pasta_worker *w;

	program = "/nowhere/accelprof";
	w = ended("good");
	program = "/proc/self/exe";
	assert_why(w, true, -ECHILD, "the plug-in's worker could not be started", 0);
	pasta_worker_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_back),
		cmocka_unit_test(a_failure_is_described_with_the_tool_and_the_phase),
		cmocka_unit_test(one_that_ends_badly_after_its_answer_has_answered),
		cmocka_unit_test(a_page_of_nonsense_is_not_believed),
		cmocka_unit_test(answers_that_are_none_are_refused),
		cmocka_unit_test(nothing_is_left_of_them),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error),
	};

	if (argc == 3 && !strcmp(argv[1], "--tool-worker"))
		fake_worker(atoi(argv[2]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
