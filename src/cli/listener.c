/* listener.c - receives the counts of dropped events from processes that cannot write into the run.
 */
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

/* The listener counts the drops of at most this number of processes, and ignores messages of other
 * processes. */
enum { PROCESSES_MAX = 1 << 20 };

struct pasta_listener {
	char name[PASTA_CHANNEL_NAME], env[PASTA_CHANNEL_NAME + PASTA_CHANNEL_TOKEN + 2];
	/* closing the write end of this pipe ends the thread */
	int socket, end[2];
	pthread_t thread;
	pthread_mutex_t lock;
	/* for each process, the number of events that it dropped, as uint64_t */
	struct pasta_map *dropped;
	struct pasta_listener_totals totals;
};

/* Choose a random socket name and a random token. */
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
	/* the name of an abstract socket starts with a NUL */
	memcpy(at.sun_path + 1, l->name, size);
	return bind(l->socket, (const struct sockaddr *)&at,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size))
		       ? -errno
		       : 0;
}

/* Add a message to the totals. The message has the number of all events that its process has
 * dropped so far. */
static void listener_add_note(struct pasta_listener *l, struct pasta_channel_note *note)
{
	uint64_t *dropped, process = note->began ^ (uint64_t)note->pid << 40;

	note->text[sizeof(note->text) - 1] = '\0';
	pthread_mutex_lock(&l->lock);
	dropped = pasta_map_find(l->dropped, process);
	if (!dropped && l->totals.processes < PROCESSES_MAX) {
		dropped = pasta_map_add(l->dropped, process);
		l->totals.processes += dropped != NULL;
	}
	if (dropped && note->lost > *dropped) {
		l->totals.dropped += note->lost - *dropped;
		*dropped = note->lost;
	}
	if (!*l->totals.why)
		snprintf(l->totals.why, sizeof(l->totals.why), "%s", note->text);
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
	l->dropped = pasta_map_new(sizeof(uint64_t));
	pthread_mutex_init(&l->lock, NULL);
	if (!l->dropped || listener_make_name(l) || listener_bind(l) || pipe2(l->end, O_CLOEXEC))
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
	pasta_map_free(l->dropped);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

const char *pasta_listener_name(const struct pasta_listener *l)
{
	return l ? l->env : NULL;
}

void pasta_listener_read(struct pasta_listener *l, struct pasta_listener_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	if (!l)
		return;
	listener_read(l); /* read the messages that the thread has not read yet */
	pthread_mutex_lock(&l->lock);
	*totals = l->totals;
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
	pasta_map_free(l->dropped);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
