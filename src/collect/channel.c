/*
 * channel.c - reports the loss of a process that cannot write into the run's folder. Such a process
 * belongs to another user, or cannot create shared mappings. accelprof run receives the reports on
 * a datagram socket with an abstract name.
 */
#include "collect/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/clock.h"
#include "collect/guard.h"
#include "collect/state.h"
#include "core/lock.h"

#define NAP_NS 200000L
/* all waits of a process together take at most about a second */
enum { EACH = 64, PART = 9, NAPS = 5000 };

/* A forked child inherits these variables. The child uses the same socket, but sets the counts to
 * 0. */
static char channel_name[PASTA_CHANNEL_NAME], channel_token[PASTA_CHANNEL_TOKEN];
static _Atomic uint64_t channel_dropped; /* number of events that this process has dropped */
/* number of dropped events that were reported to accelprof */
static _Atomic uint64_t channel_sent;
static _Atomic int channel_naps; /* number of sends that had to wait for accelprof */
static uint64_t channel_began;
static int32_t channel_error;
static char channel_why[sizeof(((struct pasta_channel_note *)0)->text)];

void pasta_channel_begin(const char *name)
{
	const char *slash = name ? strchr(name, '/') : NULL;

	if (slash && (size_t)(slash - name) < sizeof(channel_name) &&
	    strlen(slash + 1) == sizeof(channel_token)) {
		memcpy(channel_name, name, (size_t)(slash - name));
		memcpy(channel_token, slash + 1, sizeof(channel_token));
	}
	channel_began = pasta_now_exact();
}

void pasta_channel_forked(void)
{
	atomic_store(&channel_dropped, 0);
	atomic_store(&channel_sent, 0);
	atomic_store(&channel_naps, 0);
	channel_error = 0;
	channel_began = pasta_now_exact();
}

/* The socket's queue has room for ten messages, and accelprof may read them slowly or be stopped.
 * All waits of a process together therefore take at most a second. */
static bool channel_nap(void)
{
	const struct timespec t = {.tv_nsec = NAP_NS};

	if (errno != EAGAIN || atomic_fetch_add(&channel_naps, 1) >= NAPS)
		return false;
	pasta_nap(&t);
	return true;
}

/* Called through pasta_aside, because this function opens a socket. */
static int channel_send(void *arg)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const struct pasta_channel_note *note = arg;
	size_t size = strlen(channel_name);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ssize_t sent;

	if (fd < 0)
		return -1;
	/* The name of an abstract socket starts with a NUL. */
	memcpy(to.sun_path + 1, channel_name, size);
	do {
		sent = sendto(fd, note, sizeof(*note), MSG_NOSIGNAL, (const void *)&to, length);
	} while (sent < 0 && channel_nap());
	close(fd);
	return sent == (ssize_t)sizeof(*note) ? 0 : -1;
}

static void channel_report(uint64_t dropped)
{
	struct pasta_channel_note note = {
		.magic = PASTA_CHANNEL_MAGIC, .pid = (uint32_t)getpid(), .error = channel_error};
	struct pasta_guard guard;

	note.began = channel_began;
	memcpy(note.token, channel_token, sizeof(note.token));
	note.lost = dropped;
	memcpy(note.text, channel_why, sizeof(note.text));
	pasta_guard_enter(&guard);
	if (!pasta_aside(channel_send, &note))
		atomic_store(&channel_sent, dropped);
	pasta_guard_leave(&guard);
}

void pasta_channel_fail(int error, const char *text)
{
	if (!*channel_name || channel_error)
		return;
	channel_error = error;
	strncpy(channel_why, text, sizeof(channel_why) - 1);
	channel_report(atomic_load(&channel_dropped));
}

/* Sending a message for each dropped event would be expensive. The last message is sent when the
 * process exits. A process that is killed or calls _exit has reported all of its first EACH dropped
 * events. At most one in PART of the process's later dropped events is missing from the reports. */
void pasta_channel_loss(uint64_t n)
{
	uint64_t now = atomic_fetch_add(&channel_dropped, n) + n;

	if (*channel_name && (now <= EACH || now - atomic_load(&channel_sent) > now / PART))
		channel_report(now);
}

void pasta_channel_end(void)
{
	uint64_t dropped = atomic_load(&channel_dropped);

	if (*channel_name && dropped != atomic_load(&channel_sent))
		channel_report(dropped);
}
