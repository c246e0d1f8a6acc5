/*
 * listener.h - receives the counts of dropped events from processes that cannot write into the run.
 *
 * The processes send datagrams (collect/channel.h). The program receives a random token in its
 * environment; messages without the token are ignored. Only one thread at a time may call these
 * functions.
 */
#ifndef PASTA_CLI_LISTENER_H
#define PASTA_CLI_LISTENER_H

#include <stdint.h>

struct pasta_listener;

/* Start a thread that receives messages. The caller must have blocked all signals. Returns NULL on
 * failure. All functions accept NULL as the listener, so that a run can go on without one. */
struct pasta_listener *pasta_listener_new(void);
/* Returns the value of PASTA_ENV_CHANNEL for the program. The text is valid as long as the listener
 * exists. Returns NULL if the listener is NULL. */
const char *pasta_listener_name(const struct pasta_listener *l);

struct pasta_listener_totals {
	uint32_t processes; /* processes that cannot record */
	/* number of events that these processes have dropped, over all processes */
	uint64_t dropped;
	char why[256]; /* reason for the drops, from the first message; "": none */
};

/* Read the totals of all messages so far. */
void pasta_listener_read(struct pasta_listener *l, struct pasta_listener_totals *totals);
void pasta_listener_free(struct pasta_listener *l);

#endif
