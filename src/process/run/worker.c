/* worker.c - watches workers: receives their answers, and detects crashes and calls that take too
 * long. */
#include "process/run/worker_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_EVERY 20 /* ms */
#define GRACE 3000     /* maximum duration in ms of a tool's call after an interrupt */
#define SLOW 10000     /* duration in ms of a tool's call after which the user is notified */
/* minimum time in ms without progress before a worker counts as stuck; it is long, because a slow
 * disk is not the tool's fault */
#define STUCK 30000

/* -- Ending -- */

/* Kills the worker and every process in its session, then waits for the worker. No other function
 * may wait for the worker, because the system could then reuse its process id. */
static void worker_reap(struct pasta_worker *w)
{
	if (w->pid <= 0)
		return;
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, &w->status, 0) < 0 && errno == EINTR)
		;
	w->pid = -1;
	pasta_worker_reaped();
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

/* Records a slot's tool and phase as the cause of a failure. A worker can write anything to the
 * page, so values that are out of range are ignored. */
static void worker_blame(struct pasta_worker *w, const struct pasta_call_slot *slot)
{
	uint32_t tool = atomic_load(&slot->tool), phase = atomic_load(&slot->phase);

	w->tool = tool <= w->start.tool_count ? tool : 0;
	w->phase = phase < PASTA_PHASES ? phase : PASTA_PHASE_NONE;
}

/* Finds the tool that ended the worker. This is the tool of the thread that stored its slot in
 * `ended`. If there is no such thread, it is the tool whose callback is running, unless callbacks
 * of several tools are running. */
static void worker_blame_ended(struct pasta_worker *w)
{
	uint32_t ended = atomic_load(&w->calls->ended);
	size_t i, first = SIZE_MAX;
	bool same = true;

	if (ended && ended <= PASTA_CALL_SLOTS) {
		worker_blame(w, &w->calls->slots[ended - 1]);
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
		worker_blame(w, &w->calls->slots[first]);
}

static void worker_ended(struct pasta_worker *w)
{
	worker_blame_ended(w);
	worker_reap(w);
	if (WIFSIGNALED(w->status))
		w->end = PASTA_WORKER_CRASHED;
	else if (w->answer >= 0 && !WEXITSTATUS(w->status))
		w->end = PASTA_WORKER_DONE;
	else
		w->end = PASTA_WORKER_EXITED;
}

static void worker_kill_hung(struct pasta_worker *w)
{
	worker_reap(w);
	w->end = PASTA_WORKER_HUNG;
}

/* -- Checking -- */

/* Returns the first file descriptor that came with a message, or -1 if there is none. Closes all
 * other descriptors. */
static int worker_descriptor(struct msghdr *msg)
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
	int fd = n < 0 ? -1 : worker_descriptor(&msg);

	if (fd < 0)
		return;
	if (w->answer < 0 && n == sizeof(message) && message.magic == PASTA_WORKER_MAGIC &&
	    message.verb == w->start.verb)
		w->answer = fd;
	else
		close(fd);
}

static const char *worker_tool_name(const struct pasta_worker *w, uint32_t tool)
{
	return tool && tool <= w->start.tool_count ? w->start.tools[tool - 1] : NULL;
}

static void worker_notify_slow(struct pasta_worker *w, const struct pasta_worker_call *call,
			       int64_t ms)
{
	const char *name = worker_tool_name(w, call->tool);
	char line[400];

	if (!pasta_worker_settings.notify || w->start.quiet)
		return;
	if (call->phase == PASTA_PHASE_LOAD)
		snprintf(line, sizeof(line), "loading %.300s has taken %d s so far", w->start.file,
			 (int)(ms / 1000));
	else
		snprintf(line, sizeof(line),
			 "tool %s has been running its function %s for %d s; press Ctrl-C to "
			 "continue without this tool",
			 name ? name : "(unknown)", pasta_phase_name(call->phase),
			 (int)(ms / 1000));
	pasta_worker_settings.notify(line);
}

/* Returns whether a thread's call takes too long. After an interrupt, all calls of the tool's
 * `event` count as one call. Otherwise a slow tool could take forever to handle the events that
 * were already read. */
static bool worker_call_hangs(struct pasta_worker *w, size_t i, int64_t now)
{
	const struct pasta_call_slot *slot = &w->calls->slots[i];
	struct pasta_worker_call *call = &w->seen[i];
	uint64_t calls = atomic_load_explicit(&slot->calls, memory_order_relaxed);
	uint32_t tool = atomic_load_explicit(&slot->tool, memory_order_relaxed);
	uint32_t phase = atomic_load_explicit(&slot->phase, memory_order_relaxed);
	bool reading = w->stopped && phase == PASTA_PHASE_EVENT && call->phase == phase;
	bool in_call = tool || phase == PASTA_PHASE_LOAD;
	int64_t ms;

	if (!reading && (!in_call || calls != call->calls || phase != call->phase)) {
		call->since = now;
		call->reported = false;
	}
	call->calls = calls;
	call->tool = tool;
	call->phase = phase;
	ms = now - call->since;
	if (in_call && ms > SLOW && !call->reported) {
		call->reported = true;
		worker_notify_slow(w, call, ms);
	}
	if (!in_call && !reading)
		return false;
	if (w->stopped && now - w->stopped > GRACE && ms > GRACE)
		return true;
	return w->limit && in_call && ms > w->limit;
}

/* Returns whether the worker has made no progress for too long. The worker may wait for a lock that
 * a tool holds, or SIGSTOP may have stopped it. */
static bool worker_is_stuck(struct pasta_worker *w, int64_t now)
{
	uint64_t progress = atomic_load(&w->calls->done) + atomic_load(&w->calls->beats);
	size_t i;

	for (i = 0; i < PASTA_CALL_SLOTS; i++)
		progress += w->seen[i].calls + w->seen[i].phase;
	if (progress != w->progress) {
		w->progress = progress;
		w->progress_at = now;
	}
	if (w->stopped && now - w->stopped > GRACE && now - w->progress_at > GRACE)
		return true;
	return w->limit && now - w->progress_at > w->limit &&
	       (w->halted || now - w->progress_at > STUCK);
}

static void worker_check_calls(struct pasta_worker *w)
{
	int64_t now = pasta_worker_now();
	size_t i;

	for (i = 0; i < PASTA_CALL_SLOTS; i++)
		if (worker_call_hangs(w, i, now)) {
			worker_blame(w, &w->calls->slots[i]);
			worker_kill_hung(w);
			return;
		}
	if (worker_is_stuck(w, now)) {
		worker_blame_ended(w);
		worker_kill_hung(w);
	}
}

enum pasta_worker_end pasta_worker_check(struct pasta_worker *w)
{
	siginfo_t info = {0};

	if (w->end)
		return w->end;
	worker_receive(w);
	if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT))
		info.si_pid = 0;
	w->halted = info.si_pid && info.si_code == CLD_STOPPED;
	if (info.si_pid && !w->halted) {
		worker_receive(w); /* receive an answer that the worker sent just before it ended */
		worker_ended(w);
	} else {
		worker_check_calls(w);
	}
	return w->end;
}

enum pasta_worker_end pasta_worker_wait(struct pasta_worker *w, int ms)
{
	int64_t until = pasta_worker_now() + ms;
	struct pollfd end = {.fd = w->socket, .events = POLLIN};
	int moment = ms < CHECK_EVERY ? ms : CHECK_EVERY;

	while (!pasta_worker_check(w) && pasta_worker_now() < until) {
		poll(&end, 1, moment);
		/* Don't poll the socket. The worker has closed it and is about to exit, so poll
		 * would return at once. */
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
	w->stopped = pasta_worker_now();
	atomic_store(&w->calls->stop, 1);
}

void pasta_worker_progress(const struct pasta_worker *w, uint64_t *done, uint64_t *total)
{
	*total = atomic_load(&w->calls->total);
	*done = atomic_load(&w->calls->done);
	*done = *done < *total ? *done : *total;
}

/* -- The outcome -- */

int pasta_worker_answer(struct pasta_worker *w, uint8_t **bytes, struct pasta_wire_in *in)
{
	*bytes = NULL;
	return w->answer < 0 ? -ENODATA : pasta_wire_open(w->answer, bytes, in);
}

static const char *worker_signal_name(int sig)
{
	const char *name = sigabbrev_np(sig);

	return name ? name : "?";
}

/* Writes the phase in which the worker failed, such as "in event" or "while it was loaded". */
static const char *worker_position(const struct pasta_worker *w, char *text, size_t size)
{
	if (w->phase == PASTA_PHASE_LOAD)
		snprintf(text, size, "while it was loaded");
	else if (w->phase)
		snprintf(text, size, "in %s", pasta_phase_name(w->phase));
	else
		snprintf(text, size, "outside of its callbacks");
	return text;
}

static void worker_why_hung(const struct pasta_worker *w, char *text, size_t size)
{
	char how[80];

	if (w->stopped)
		snprintf(how, sizeof(how), "ended %d s after the interrupt", GRACE / 1000);
	else
		snprintf(how, sizeof(how), "ended after %d s%s", (int)(w->limit / 1000),
			 w->start.patience ? "" : " (--tool-timeout)");
	if (w->halted)
		snprintf(text, size, "the plug-in's worker was stopped by SIGSTOP: %s", how);
	else if (w->phase == PASTA_PHASE_LOAD)
		snprintf(text, size, "the library's constructors do not return: %s", how);
	else if (w->tool || w->phase)
		snprintf(text, size, "the plug-in does not return from %s: %s",
			 pasta_phase_name(w->phase), how);
	else
		snprintf(text, size, "the plug-in's worker made no progress, and was killed");
}

const char *pasta_worker_why(const struct pasta_worker *w, char *text, size_t size, size_t *tool)
{
	char where[40];

	*tool = w->tool;
	text[0] = '\0';
	worker_position(w, where, sizeof(where));
	if (w->end == PASTA_WORKER_CRASHED && WTERMSIG(w->status) == SIGKILL)
		snprintf(text, size, "the plug-in was killed %s (SIGKILL)", where);
	else if (w->end == PASTA_WORKER_CRASHED)
		snprintf(text, size, "the plug-in crashed %s (SIG%s)", where,
			 worker_signal_name(WTERMSIG(w->status)));
	else if (w->end == PASTA_WORKER_HUNG)
		worker_why_hung(w, text, size);
	else if (w->end == PASTA_WORKER_EXITED && (w->tool || w->phase))
		snprintf(text, size, "the plug-in called exit %s", where);
	else if (w->end == PASTA_WORKER_EXITED &&
		 WEXITSTATUS(w->status) == PASTA_WORKER_NOT_EXECUTED)
		snprintf(text, size, "%s",
			 pasta_worker_settings.memory
				 ? "the plug-in's worker could not be started: increase the memory "
				   "limit with --tool-memory"
				 : "the plug-in's worker could not be started");
	else if (w->end == PASTA_WORKER_EXITED)
		snprintf(text, size,
			 "the plug-in's worker ended without a result (status %d): check whether "
			 "the plug-in closes file descriptors that it did not open",
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
