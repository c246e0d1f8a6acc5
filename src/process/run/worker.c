/* worker.c - processes that run the tools of plug-ins: started, watched, and ended. */
#include "process/run/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/io/files.h"

#define LOOK_EVERY 20	 /* ms */
#define PATIENCE 3000	 /* ms that a call may last after an interrupt */
#define REMARKABLE 10000 /* ms of one call, after which a person is told */
#define STANDSTILL 30000 /* ms without any progress, at least: that need not be a tool's fault */
#define NOT_EXECUTED 127

/* What we know of a thread's call. */
struct note {
	uint64_t calls;
	int64_t since; /* ms: the call, or after an interrupt the reading */
	uint32_t tool, phase;
	bool told;
};

struct pasta_worker {
	struct pasta_worker_start start;
	pid_t pid;
	int socket, page, answer; /* -1: none */
	struct pasta_calls *calls;
	struct note notes[PASTA_CALL_SLOTS];
	uint64_t moves; /* all that moves, and when it last did */
	int64_t moved;
	int64_t stopped; /* 0: not */
	int64_t limit;	 /* ms of a call; 0: none */
	enum pasta_worker_end end;
	int status; /* waitpid's */
	uint32_t tool, phase;
	bool halted; /* by SIGSTOP */
};

static struct pasta_worker_setup setup;

void pasta_worker_set_up(const struct pasta_worker_setup *how)
{
	setup = *how;
}

bool pasta_worker_used(void)
{
	return setup.program;
}

bool pasta_worker_asked_to_stop(void)
{
	return setup.stop && setup.stop(setup.ctx);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- Starting -- */

/* Who ignores SIGCHLD never learns how a child ended; the program under study still inherits that.
 */
static size_t living;
static struct sigaction chld_before;

static void living_begin(void)
{
	const struct sigaction chld = {.sa_handler = SIG_DFL};

	if (!living++)
		sigaction(SIGCHLD, &chld, &chld_before);
}

static void living_end(void)
{
	if (!--living)
		sigaction(SIGCHLD, &chld_before, NULL);
}

/* What the child needs, made before it is forked: other threads may hold any lock. */
struct birth {
	const struct pasta_worker_start *start;
	char *const *argv;
	pid_t parent;
	int socket, null;
};

static void drop_descriptors(const struct birth *b)
{
	const struct pasta_worker_start *start = b->start;
	size_t i;

	dup2(b->null, STDIN_FILENO);
	if (start->quiet)
		dup2(b->null, STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/* Ours are close-on-exec anyway; this is for those that we were started with. */
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	fcntl(b->socket, F_SETFD, 0);
	for (i = 0; i < start->fd_count; i++)
		fcntl(start->fds[i], F_SETFD, 0);
}

/* In the child, where only what is safe in a signal handler may be called. */
static _Noreturn void become(const struct birth *b)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	struct rlimit memory = {setup.memory, setup.memory};
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != b->parent)
		_exit(NOT_EXECUTED);
	/* Neither signals of the terminal nor kill(0, ...) go from one to the other. */
	setsid();
	drop_descriptors(b);
	if (setup.memory && setrlimit(RLIMIT_AS, &memory))
		_exit(NOT_EXECUTED);
	execv(setup.program, b->argv);
	_exit(NOT_EXECUTED);
}

static int worker_fork(struct pasta_worker *w, int socket)
{
	char name[] = "accelprof", verb[] = "--tool-worker", fd[16];
	char *argv[] = {name, verb, fd, NULL};
	struct birth b = {.start = &w->start, .argv = argv, .parent = getpid(), .socket = socket};
	int error = 0;

	snprintf(fd, sizeof(fd), "%d", socket);
	b.null = pasta_files_open_system("/dev/null", O_RDWR);
	if (b.null < 0)
		return b.null;
	living_begin();
	w->pid = fork();
	if (w->pid == 0)
		become(&b);
	if (w->pid < 0) {
		error = -errno;
		living_end();
	}
	close(b.null);
	return error;
}

/* A page of zeros that both map. */
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
	/* The first message has room. */
	return sendmsg(w->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The request is in the socket before the worker is there. */
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
	uint64_t seconds = start->patience ? start->patience : setup.timeout;

	if (w) {
		w->start = *start;
		w->pid = w->socket = w->page = w->answer = -1;
		w->limit = seconds > INT32_MAX ? 0 : (int64_t)seconds * 1000;
		w->moved = now_ms();
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

/* -- Ending -- */

/* With all that it has started and left in its session. It is not waited for before: until then
 * nobody else has its number. */
static void worker_reap(struct pasta_worker *w)
{
	if (w->pid <= 0)
		return;
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, &w->status, 0) < 0 && errno == EINTR)
		;
	w->pid = -1;
	living_end();
}

void pasta_worker_free(struct pasta_worker *w)
{
	if (!w)
		return;
	worker_reap(w);
	if (w->calls)
		munmap(w->calls, sizeof(*w->calls));
	if (w->socket >= 0)
		close(w->socket);
	if (w->page >= 0)
		close(w->page);
	if (w->answer >= 0)
		close(w->answer);
	free(w);
}

/* Whose call it was. What the page has is taken as far as it makes sense. */
static void blame(struct pasta_worker *w, const struct pasta_call_slot *slot)
{
	uint32_t tool = atomic_load(&slot->tool), phase = atomic_load(&slot->phase);

	w->tool = tool <= w->start.tool_count ? tool : 0;
	w->phase = phase < PASTA_PHASES ? phase : PASTA_PHASE_NONE;
}

/* The thread that ended it, if it left word, or else one that is in a call. Of threads in calls of
 * different tools none can be told to be it. */
static void blame_ended(struct pasta_worker *w)
{
	uint32_t ended = atomic_load(&w->calls->ended);
	size_t i, first = SIZE_MAX;
	bool same = true;

	if (ended && ended <= PASTA_CALL_SLOTS) {
		blame(w, &w->calls->slots[ended - 1]);
		return;
	}
	for (i = 0; i < PASTA_CALL_SLOTS; i++) {
		const struct pasta_call_slot *slot = &w->calls->slots[i];

		if (!atomic_load(&slot->tool) && atomic_load(&slot->phase) != PASTA_PHASE_LOAD)
			continue;
		if (first == SIZE_MAX)
			first = i;
		else if (atomic_load(&slot->tool) != atomic_load(&w->calls->slots[first].tool))
			same = false;
	}
	if (first != SIZE_MAX && same)
		blame(w, &w->calls->slots[first]);
}

static void worker_ended(struct pasta_worker *w)
{
	blame_ended(w);
	worker_reap(w);
	if (WIFSIGNALED(w->status))
		w->end = PASTA_WORKER_CRASHED;
	else if (w->answer >= 0 && !WEXITSTATUS(w->status))
		w->end = PASTA_WORKER_DONE;
	else
		w->end = PASTA_WORKER_EXITED;
}

static void worker_hangs(struct pasta_worker *w)
{
	worker_reap(w);
	w->end = PASTA_WORKER_HUNG;
}

/* -- Looking after it -- */

/* The first descriptor of a message; more are none of ours. */
static int take_descriptor(struct msghdr *msg)
{
	struct cmsghdr *c;
	int first = -1;
	size_t i;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

static void worker_receive(struct pasta_worker *w)
{
	struct pasta_worker_message message = {0};
	struct iovec iov = {&message, sizeof(message)};
	union {
		char room[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr head;
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(w->socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fd = n < 0 ? -1 : take_descriptor(&msg);

	if (fd < 0)
		return;
	if (w->answer < 0 && n == sizeof(message) && message.magic == PASTA_WORKER_MAGIC &&
	    message.verb == w->start.verb)
		w->answer = fd;
	else
		close(fd);
}

static const char *tool_name(const struct pasta_worker *w, uint32_t tool)
{
	return tool && tool <= w->start.tool_count ? w->start.tools[tool - 1] : NULL;
}

static void say_slow(struct pasta_worker *w, const struct note *note, int64_t ms)
{
	const char *name = tool_name(w, note->tool);
	char line[400];

	if (!setup.say || w->start.quiet)
		return;
	if (note->phase == PASTA_PHASE_LOAD)
		snprintf(line, sizeof(line), "loading %.300s has taken %d s until now",
			 w->start.file, (int)(ms / 1000));
	else
		snprintf(line, sizeof(line),
			 "tool %s is in %s for %d s now; Ctrl-C goes on without it",
			 name ? name : "(unknown)", pasta_phase_name(note->phase),
			 (int)(ms / 1000));
	setup.say(line);
}

/* Returns whether its call lasts too long. After an interrupt all reading is one call: what a slow
 * tool still has to be given would last for ever otherwise. */
static bool slot_hangs(struct pasta_worker *w, size_t i, int64_t now)
{
	const struct pasta_call_slot *slot = &w->calls->slots[i];
	struct note *note = &w->notes[i];
	uint64_t calls = atomic_load_explicit(&slot->calls, memory_order_relaxed);
	uint32_t tool = atomic_load_explicit(&slot->tool, memory_order_relaxed);
	uint32_t phase = atomic_load_explicit(&slot->phase, memory_order_relaxed);
	bool reading = w->stopped && phase == PASTA_PHASE_EVENT && note->phase == phase;
	bool in_call = tool || phase == PASTA_PHASE_LOAD;
	int64_t ms;

	if (!reading && (!in_call || calls != note->calls || phase != note->phase)) {
		note->since = now;
		note->told = false;
	}
	note->calls = calls;
	note->tool = tool;
	note->phase = phase;
	ms = now - note->since;
	if (in_call && ms > REMARKABLE && !note->told) {
		note->told = true;
		say_slow(w, note, ms);
	}
	if (!in_call && !reading)
		return false;
	if (w->stopped && now - w->stopped > PATIENCE && ms > PATIENCE)
		return true;
	return w->limit && in_call && ms > w->limit;
}

/* Whether nothing at all has moved for too long: it waits for what a tool holds, or was stopped. */
static bool worker_stands_still(struct pasta_worker *w, int64_t now)
{
	uint64_t moves = atomic_load(&w->calls->done) + atomic_load(&w->calls->beats);
	size_t i;

	for (i = 0; i < PASTA_CALL_SLOTS; i++)
		moves += w->notes[i].calls + w->notes[i].phase;
	if (moves != w->moves) {
		w->moves = moves;
		w->moved = now;
	}
	if (w->stopped && now - w->stopped > PATIENCE && now - w->moved > PATIENCE)
		return true;
	return w->limit && now - w->moved > w->limit && (w->halted || now - w->moved > STANDSTILL);
}

static void worker_watch(struct pasta_worker *w)
{
	int64_t now = now_ms();
	size_t i;

	for (i = 0; i < PASTA_CALL_SLOTS; i++)
		if (slot_hangs(w, i, now)) {
			blame(w, &w->calls->slots[i]);
			worker_hangs(w);
			return;
		}
	if (worker_stands_still(w, now)) {
		blame_ended(w);
		worker_hangs(w);
	}
}

enum pasta_worker_end pasta_worker_look(struct pasta_worker *w)
{
	siginfo_t info = {0};

	if (w->end)
		return w->end;
	worker_receive(w);
	if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT))
		info.si_pid = 0;
	w->halted = info.si_pid && info.si_code == CLD_STOPPED;
	if (info.si_pid && !w->halted) {
		worker_receive(w); /* what it sent just before */
		worker_ended(w);
	} else {
		worker_watch(w);
	}
	return w->end;
}

enum pasta_worker_end pasta_worker_wait(struct pasta_worker *w, int ms)
{
	int64_t until = now_ms() + ms;
	struct pollfd end = {.fd = w->socket, .events = POLLIN};
	int moment = ms < LOOK_EVERY ? ms : LOOK_EVERY;

	while (!pasta_worker_look(w) && now_ms() < until) {
		poll(&end, 1, moment);
		/* Who hung up is about to end, and the socket wakes us no more. */
		if (end.revents & POLLHUP) {
			end.fd = -1;
			moment = 1;
		}
	}
	return w->end;
}

void pasta_worker_stop(struct pasta_worker *w)
{
	if (w->stopped)
		return;
	w->stopped = now_ms();
	atomic_store(&w->calls->stop, 1);
}

void pasta_worker_progress(const struct pasta_worker *w, uint64_t *done, uint64_t *total)
{
	*total = atomic_load(&w->calls->total);
	*done = atomic_load(&w->calls->done);
	*done = *done < *total ? *done : *total;
}

/* -- What came of it -- */

int pasta_worker_answer(struct pasta_worker *w, uint8_t **bytes, struct pasta_wire_in *in)
{
	*bytes = NULL;
	return w->answer < 0 ? -ENODATA : pasta_wire_open(w->answer, bytes, in);
}

static const char *signal_name(int sig)
{
	const char *name = sigabbrev_np(sig);

	return name ? name : "?";
}

/* Where: "in event", "while it was loaded". */
static const char *place(const struct pasta_worker *w, char *text, size_t size)
{
	if (w->phase == PASTA_PHASE_LOAD)
		snprintf(text, size, "while it was loaded");
	else if (w->phase)
		snprintf(text, size, "in %s", pasta_phase_name(w->phase));
	else
		snprintf(text, size, "outside of its callbacks");
	return text;
}

static void why_hung(const struct pasta_worker *w, char *text, size_t size)
{
	char how[80];

	if (w->stopped)
		snprintf(how, sizeof(how), "ended %d s after the interrupt", PATIENCE / 1000);
	else
		snprintf(how, sizeof(how), "ended after %d s%s", (int)(w->limit / 1000),
			 w->start.patience ? "" : " (--tool-timeout)");
	if (w->halted)
		snprintf(text, size, "its process was stopped (SIGSTOP): %s", how);
	else if (w->phase == PASTA_PHASE_LOAD)
		snprintf(text, size, "it does not return from its constructors: %s", how);
	else if (w->tool || w->phase)
		snprintf(text, size, "it does not return from %s: %s", pasta_phase_name(w->phase),
			 how);
	else
		snprintf(text, size, "its process made no progress for long, and was ended");
}

const char *pasta_worker_why(const struct pasta_worker *w, char *text, size_t size, size_t *tool)
{
	char where[40];

	*tool = w->tool;
	text[0] = '\0';
	place(w, where, sizeof(where));
	if (w->end == PASTA_WORKER_CRASHED && WTERMSIG(w->status) == SIGKILL)
		snprintf(text, size, "it was killed %s (SIGKILL)", where);
	else if (w->end == PASTA_WORKER_CRASHED)
		snprintf(text, size, "it crashed %s (SIG%s)", where,
			 signal_name(WTERMSIG(w->status)));
	else if (w->end == PASTA_WORKER_HUNG)
		why_hung(w, text, size);
	else if (w->end == PASTA_WORKER_EXITED && (w->tool || w->phase))
		snprintf(text, size, "it called exit %s", where);
	else if (w->end == PASTA_WORKER_EXITED && WEXITSTATUS(w->status) == NOT_EXECUTED)
		snprintf(text, size, "its process could not be started%s",
			 setup.memory ? ": allow more with --tool-memory" : "");
	else if (w->end == PASTA_WORKER_EXITED)
		snprintf(
			text, size,
			"its process ended without a result (status %d): does it close descriptors "
			"that are not its own?",
			WEXITSTATUS(w->status));
	return text;
}

bool pasta_worker_failed(const struct pasta_worker *w)
{
	return w->answer < 0;
}

int pasta_worker_code(const struct pasta_worker *w)
{
	return w->end == PASTA_WORKER_HUNG	? -ETIMEDOUT
	       : w->end == PASTA_WORKER_CRASHED ? -EFAULT
						: -ECHILD;
}
