/* listener.c - hears from processes that can write nothing into the run what they lost. */
#include "cli/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <pasta/pasta.h>

#include "collect/channel.h"

enum { PROCESSES_MAX = 1 << 20 }; /* past which only sums are made */

struct pasta_listener {
	char name[PASTA_CHANNEL_NAME], env[PASTA_CHANNEL_NAME + PASTA_CHANNEL_TOKEN + 2];
	int socket, end[2]; /* end: a pipe whose other end is closed to end the thread */
	pthread_t thread;
	pthread_mutex_t lock;
	struct pasta_map *lost; /* uint64_t, by process */
	struct pasta_listener_heard heard;
};

/* Random, both. */
static int listener_make_name(struct pasta_listener *l)
{
	uint64_t random[4];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(l->name, sizeof(l->name), "accelprof-%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	snprintf(l->env, sizeof(l->env), "%s/%016" PRIx64 "%016" PRIx64, l->name, random[2],
		 random[3]);
	return 0;
}

static bool listener_has_token(const struct pasta_listener *l,
			       const struct pasta_channel_note *note)
{
	return note->magic == PASTA_CHANNEL_MAGIC &&
	       !memcmp(note->token, strchr(l->env, '/') + 1, sizeof(note->token));
}

static int listener_bind(struct pasta_listener *l)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t size = strlen(l->name);

	l->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->socket < 0)
		return -errno;
	memcpy(at.sun_path + 1, l->name, size); /* an abstract name: it begins with a 0 */
	return bind(l->socket, (const struct sockaddr *)&at,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size))
		       ? -errno
		       : 0;
}

/* A later note of a process has all that an earlier one had. */
static void listener_add_note(struct pasta_listener *l, struct pasta_channel_note *note)
{
	uint64_t *lost, process = note->began ^ (uint64_t)note->pid << 40;

	note->text[sizeof(note->text) - 1] = '\0';
	pthread_mutex_lock(&l->lock);
	lost = pasta_map_find(l->lost, process);
	if (!lost && l->heard.processes < PROCESSES_MAX) {
		lost = pasta_map_add(l->lost, process);
		l->heard.processes += lost != NULL;
	}
	if (lost && note->lost > *lost) {
		l->heard.lost += note->lost - *lost;
		*lost = note->lost;
	}
	if (!*l->heard.why)
		snprintf(l->heard.why, sizeof(l->heard.why), "%s", note->text);
	pthread_mutex_unlock(&l->lock);
}

static void listener_read(struct pasta_listener *l)
{
	struct pasta_channel_note note;
	ssize_t n;

	while ((n = recv(l->socket, &note, sizeof(note), 0)) >= 0)
		if (n == (ssize_t)sizeof(note) && listener_has_token(l, &note))
			listener_add_note(l, &note);
}

static void *listener_main(void *arg)
{
	struct pasta_listener *l = arg;
	struct pollfd fds[2] = {{.fd = l->socket, .events = POLLIN}, {.fd = l->end[0]}};

	do {
		listener_read(l);
		poll(fds, 2, -1);
	} while (!fds[1].revents);
	return NULL;
}

struct pasta_listener *pasta_listener_new(void)
{
	struct pasta_listener *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->socket = l->end[0] = l->end[1] = -1;
	l->lost = pasta_map_new(sizeof(uint64_t));
	pthread_mutex_init(&l->lock, NULL);
	if (!l->lost || listener_make_name(l) || listener_bind(l) || pipe2(l->end, O_CLOEXEC))
		goto fail;
	if (!pthread_create(&l->thread, NULL, listener_main, l))
		return l;
fail:
	if (l->socket >= 0)
		close(l->socket);
	if (l->end[0] >= 0)
		close(l->end[0]);
	if (l->end[1] >= 0)
		close(l->end[1]);
	pasta_map_free(l->lost);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

const char *pasta_listener_name(const struct pasta_listener *l)
{
	return l ? l->env : NULL;
}

void pasta_listener_read(struct pasta_listener *l, struct pasta_listener_heard *heard)
{
	memset(heard, 0, sizeof(*heard));
	if (!l)
		return;
	listener_read(l); /* what has come since the thread looked */
	pthread_mutex_lock(&l->lock);
	*heard = l->heard;
	pthread_mutex_unlock(&l->lock);
}

void pasta_listener_free(struct pasta_listener *l)
{
	if (!l)
		return;
	close(l->end[1]);
	pthread_join(l->thread, NULL);
	close(l->end[0]);
	close(l->socket);
	pasta_map_free(l->lost);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
