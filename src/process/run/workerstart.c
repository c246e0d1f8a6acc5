/* workerstart.c - starts a worker: creates the shared page, sends the request, and forks. */
#include "process/run/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "process/io/files.h"

struct pasta_worker_setup pasta_worker_settings;

void pasta_worker_set_up(const struct pasta_worker_setup *how)
{
	pasta_worker_settings = *how;
}

bool pasta_worker_used(void)
{
	return pasta_worker_settings.program;
}

bool pasta_worker_interrupted(void)
{
	return pasta_worker_settings.stop && pasta_worker_settings.stop(pasta_worker_settings.ctx);
}

int64_t pasta_worker_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A process that ignores SIGCHLD cannot wait for its children, so SIGCHLD has its default
 * disposition while there are workers. After the last worker, the old disposition is restored,
 * because the program under study inherits it. */
static size_t worker_count;
static struct sigaction worker_chld_before;

static void worker_forking(void)
{
	const struct sigaction chld = {.sa_handler = SIG_DFL};

	if (!worker_count++)
		sigaction(SIGCHLD, &chld, &worker_chld_before);
}

void pasta_worker_reaped(void)
{
	if (!--worker_count)
		sigaction(SIGCHLD, &worker_chld_before, NULL);
}

/* The data that the child needs. The parent prepares it before the fork, because a lock that
 * another thread held during the fork stays locked forever in the child. */
struct worker_child {
	const struct pasta_worker_start *start;
	char *const *argv;
	pid_t parent;
	int socket, null;
};

static void worker_close_descriptors(const struct worker_child *b)
{
	const struct pasta_worker_start *start = b->start;
	size_t i;

	dup2(b->null, STDIN_FILENO);
	if (start->quiet)
		dup2(b->null, STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/* Mark all file descriptors as close-on-exec. accelprof opens its own descriptors this way,
	 * but may have inherited other descriptors. */
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	fcntl(b->socket, F_SETFD, 0);
	for (i = 0; i < start->fd_count; i++)
		fcntl(start->fds[i], F_SETFD, 0);
}

/* Starts accelprof as a worker, in the child process. Calls only async-signal-safe functions. */
static _Noreturn void worker_exec(const struct worker_child *b)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	struct rlimit memory = {pasta_worker_settings.memory, pasta_worker_settings.memory};
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != b->parent)
		_exit(PASTA_WORKER_NOT_EXECUTED);
	/* In its own session, the worker receives no signals from the terminal, and its kill(0,
	 * ...) does not reach accelprof. */
	setsid();
	worker_close_descriptors(b);
	if (pasta_worker_settings.memory && setrlimit(RLIMIT_AS, &memory))
		_exit(PASTA_WORKER_NOT_EXECUTED);
	execv(pasta_worker_settings.program, b->argv);
	_exit(PASTA_WORKER_NOT_EXECUTED);
}

static int worker_fork(struct pasta_worker *w, int socket)
{
	char name[] = "accelprof", verb[] = "--tool-worker", fd[16];
	char *argv[] = {name, verb, fd, NULL};
	struct worker_child b = {
		.start = &w->start, .argv = argv, .parent = getpid(), .socket = socket};
	int error = 0;

	snprintf(fd, sizeof(fd), "%d", socket);
	b.null = pasta_files_open_system("/dev/null", O_RDWR);
	if (b.null < 0)
		return b.null;
	worker_forking();
	w->pid = fork();
	if (w->pid == 0)
		worker_exec(&b);
	if (w->pid < 0) {
		error = -errno;
		pasta_worker_reaped();
	}
	close(b.null);
	return error;
}

/* Creates the shared page, filled with zeros. */
static int worker_page(struct pasta_worker *w)
{
	void *page;

	w->page = pasta_files_sealable();
	if (w->page < 0)
		return w->page;
	if (ftruncate(w->page, sizeof(*w->calls)))
		return -errno;
	page = mmap(NULL, sizeof(*w->calls), PROT_READ | PROT_WRITE, MAP_SHARED, w->page, 0);
	if (page == MAP_FAILED)
		return -errno;
	w->calls = page;
	return 0;
}

static int worker_send(const struct pasta_worker *w, int request)
{
	struct pasta_worker_message message = {PASTA_WORKER_MAGIC, w->start.verb};
	struct iovec iov = {&message, sizeof(message)};
	int fds[] = {request, w->page};
	union {
		char room[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr head;
	} control = {.room = {0}};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	/* the call does not block, because the socket has room for the first message */
	return sendmsg(w->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Sends the request before the fork, so that the request is available when the worker starts. */
static int worker_begin(struct pasta_worker *w)
{
	int pair[2], request = pasta_wire_seal(w->start.request), error;

	if (request < 0)
		return request;
	error = worker_page(w);
	if (!error && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		error = -errno;
	if (!error) {
		w->socket = pair[0];
		error = worker_send(w, request);
		error = error ? error : worker_fork(w, pair[1]);
		close(pair[1]);
	}
	close(request);
	return error;
}

struct pasta_worker *pasta_worker_start(const struct pasta_worker_start *start,
					struct pasta_error *err)
{
	struct pasta_worker *w = calloc(1, sizeof(*w));
	int error = w ? 0 : -ENOMEM;
	uint64_t seconds = start->patience ? start->patience : pasta_worker_settings.timeout;

	if (w) {
		w->start = *start;
		w->pid = w->socket = w->page = w->answer = -1;
		w->limit = seconds > INT32_MAX ? 0 : (int64_t)seconds * 1000;
		w->progress_at = pasta_worker_now();
		error = worker_begin(w);
		w->start.request = NULL;
		w->start.fds = NULL;
	}
	if (!error)
		return w;
	pasta_fail(err, error, "cannot start a process for %s: %s", start->file, strerror(-error));
	pasta_worker_free(w);
	return NULL;
}
